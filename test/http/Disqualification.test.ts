import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

const day = 24 * 3_600_000
let now = Date.parse("2026-11-03T12:00:00Z")
const pass = (days: number) => {
  now += days * day
  clock.set(new Date(now).toISOString())
}
/** Moves the clock to a Tuesday. */
const beginWeek = () => {
  do pass(1)
  while (new Date(now).getUTCDay() !== 2)
}
/** The day before now. */
const yesterday = () => `?window=daily&at=${new Date(now - day).toISOString().slice(0, 10)}`

let places = 0
const newPlace = async () => {
  const place = new Place(server, `disqualified${places++}`)
  await place.create("/v1/leaderboards", { name: "Points", score: { currency: "points" } })
  return place
}

const score = (place: Place, userId: string, amount: number) =>
  place.post(`/v1/users/${userId}/rewards`, { reward: { xp: amount, points: amount } })

const rowsOf = async (place: Place, board: string, query = "") =>
  (await place.get(`/v1/leaderboards/${board}/entries${query}`)).json.entries.map(
    ({ rank, score, userId }: Record<string, unknown>) => [rank, userId, score],
  )

const set = (place: Place, board: string, userId: string, disqualified: boolean) =>
  place.put(`/v1/leaderboards/${board}/entries/${userId}`, { disqualified })

describe.each(["xp", "points"])("A user who is disqualified on the leaderboard %s", (board) => {
  const other = board === "xp" ? "points" : "xp"

  it("leaves its open and past windows before ranking, and no other leaderboard", async () => {
    beginWeek()
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 3)
    pass(1)
    await score(place, "ada", 1)
    await score(place, "bob", 2)
    expect(await rowsOf(place, board, yesterday())).toHaveLength(2)
    const { json, status } = await set(place, board, "ada", true)
    expect([status, json]).toEqual([200, { leaderboard: board, userId: "ada", disqualified: true }])
    expect(await rowsOf(place, board)).toEqual([[1, "bob", 5]])
    expect(await rowsOf(place, board, "?window=weekly")).toEqual([[1, "bob", 5]])
    expect(await rowsOf(place, board, "?window=daily")).toEqual([[1, "bob", 2]])
    expect(await rowsOf(place, board, yesterday())).toEqual([[1, "bob", 3]])
    expect(await rowsOf(place, other)).toEqual([
      [1, "ada", 6],
      [2, "bob", 5],
    ])
    expect((await place.get(`/v1/leaderboards/${board}/stats`)).json.participants).toBe(1)
    const found = await place.post(`/v1/leaderboards/${board}/lookup`, { users: ["ada", "bob"] })
    expect(found.json.users).toMatchObject([
      { userId: "bob", rankAmong: 1, disqualified: false },
      { userId: "ada", rankAmong: null, entry: null, disqualified: true },
    ])
  })

  it("still scores, and is listed again in open windows with all scores", async () => {
    beginWeek()
    const place = await newPlace()
    await score(place, "ada", 5)
    await set(place, board, "ada", true)
    await score(place, "ada", 4)
    await score(place, "bob", 1)
    expect(await rowsOf(place, board)).toEqual([[1, "bob", 1]])
    pass(1)
    await score(place, "bob", 1)
    await set(place, board, "ada", false)
    expect(await rowsOf(place, board)).toEqual([
      [1, "ada", 9],
      [2, "bob", 2],
    ])
    expect(await rowsOf(place, board, "?window=weekly")).toEqual([
      [1, "ada", 9],
      [2, "bob", 2],
    ])
    expect(await rowsOf(place, board, yesterday())).toEqual([[1, "bob", 1]])
    const facts = (await place.get("/v1/users/ada/history")).json.facts.filter(
      ({ kind }: { kind: string }) => kind === "leaderboard.disqualified",
    )
    expect(facts).toMatchObject([
      { disqualified: false, cause: { kind: "disqualify" } },
      { disqualified: true, leaderboard: { key: board } },
    ])
  })

  it("makes the user so into whom it is merged", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 3)
    await score(place, "cyd", 1)
    await set(place, board, "ada", true)
    expect((await place.post("/v1/users/ada/merge", { into: "bob" })).status).toBe(200)
    expect(await rowsOf(place, board)).toEqual([[1, "cyd", 1]])
    expect(await rowsOf(place, other)).toEqual([
      [1, "bob", 8],
      [2, "cyd", 1],
    ])
    expect((await set(place, board, "ada", false)).json.userId).toBe("bob")
    expect(await rowsOf(place, board)).toEqual([
      [1, "bob", 8],
      [2, "cyd", 1],
    ])
  })

  it("stays hidden, if it is, and leaves nothing once erased", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await place.put("/v1/users/ada", { hidden: true })
    await set(place, board, "ada", true)
    await place.put("/v1/users/ada", { hidden: false })
    expect(await rowsOf(place, board)).toEqual([])
    await place.put("/v1/users/ada", { hidden: true })
    await set(place, board, "ada", false)
    expect(await rowsOf(place, board)).toEqual([])
    await place.put("/v1/users/ada", { hidden: false })
    expect(await rowsOf(place, board)).toEqual([[1, "ada", 5]])
    await set(place, board, "ada", true)
    await place.delete("/v1/users/ada")
    await score(place, "ada", 2)
    expect(await rowsOf(place, board)).toEqual([[1, "ada", 2]])
  })
})

it("A disqualification is refused for an unknown user or leaderboard, and changes nothing twice", async () => {
  const place = await newPlace()
  expect(problemOf(await set(place, "points", "nobody", true))).toEqual([404, "user_not_found"])
  await score(place, "ada", 5)
  expect(problemOf(await set(place, "none", "ada", true))).toEqual([404, "leaderboard_not_found"])
  await set(place, "points", "ada", true)
  const { total } = (await place.get("/v1/users/ada/history")).json
  expect((await set(place, "points", "ada", true)).json.disqualified).toBe(true)
  expect((await place.get("/v1/users/ada/history")).json.total).toBe(total)
  await place.delete("/v1/leaderboards/points")
  expect(problemOf(await set(place, "points", "ada", false))).toEqual([
    404,
    "leaderboard_not_found",
  ])
})
