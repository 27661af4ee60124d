import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

const path = "/v1/leaderboards/top"
const users = Array.from({ length: 23 }, (_, n) => `u${n}`)
const gone = ["u3", "u8", "u15"]

type Rank = number | null
type Entry = { readonly userId: string; readonly rank: number; readonly groupRank?: number }
type Ranks = Record<string, Rank>

const ranksIn = (entries: ReadonlyArray<Entry>): Ranks =>
  Object.fromEntries(entries.map(({ rank, userId }) => [userId, rank]))

/** The ranks of all users, read in pages of `limit`. */
const onPages = async (place: Place, list: string, limit: number): Promise<Ranks> => {
  const ranks: Ranks = {}
  for (let offset = 0, more = true; more; offset += limit) {
    const { json } = await place.get(`${list}&limit=${limit}&offset=${offset}`)
    Object.assign(ranks, ranksIn(json.entries))
    more = json.hasMore
  }
  return ranks
}

/** The rank of each ranked user, by `read`. */
const ofEach = async (read: (userId: string) => Promise<Rank | undefined>): Promise<Ranks> => {
  const pairs = await Promise.all(users.map(async (id) => [id, await read(id)] as const))
  return Object.fromEntries(pairs.filter((pair) => typeof pair[1] === "number")) as Ranks
}

/** Scores with many ties, given in an order of their own; three users are hidden, disqualified and erased. */
const placeWith = async (name: string, ties: "shared" | "first"): Promise<Place> => {
  const place = new Place(server, name)
  const board = {
    key: "top",
    name: "Top",
    score: { currency: "xp" },
    windows: ["all_time", "daily"],
  }
  expect((await place.post("/v1/leaderboards", { ...board, ties, groupBy: "half" })).status).toBe(
    201,
  )
  for (const [n, id] of users.entries()) {
    await place.put(`/v1/users/${id}`, { attributes: { half: n % 2 } })
    const amount = 10 * (((n * 7) % 5) + 1)
    await place.post(`/v1/users/${id}/rewards`, { type: "xp", amount })
  }
  await place.put("/v1/users/u3", { hidden: true })
  await place.put(`${path}/entries/u8`, { disqualified: true })
  await place.delete("/v1/users/u15")
  return place
}

/** Expects each read of a window to say the same rank of each user. Returns the ranks. */
const expectOne = async (place: Place, window: string): Promise<Ranks> => {
  const list = `${path}/entries?${window}`
  const whole = ranksIn((await place.get(`${list}&limit=100`)).json.entries)
  expect(Object.keys(whole)).toHaveLength(users.length - gone.length)
  for (const limit of [1, 3, 7]) expect(await onPages(place, list, limit)).toEqual(whole)
  const around = async (id: string) => (await place.get(`${list}&around=${id}&limit=1`)).json
  expect(await ofEach(async (id) => (await around(id)).me?.rank)).toEqual(whole)
  const middle = async (id: string) =>
    ((await around(id)).entries as ReadonlyArray<Entry> | undefined)?.find(
      ({ userId }) => userId === id,
    )?.rank
  expect(await ofEach(middle)).toEqual(whole)
  const query = Object.fromEntries(new URLSearchParams(window))
  const found = (await place.post(`${path}/lookup`, { users, ...query })).json
  const entries = found.users.flatMap(({ entry }: { entry: Entry | null }) => entry ?? [])
  expect(ranksIn(entries)).toEqual(whole)
  const groups = ["0", "1"].map((group) => onPages(place, `${list}&group=${group}`, 4))
  const [even, odd] = await Promise.all(groups)
  expect({ ...even, ...odd }).toEqual(whole)
  return whole
}

describe("The rank of a user", () => {
  it.each([
    ["shared", 3],
    ["first", 5],
  ] as const)(
    "is the same on each page, around the user, in a look-up and in the group, with ties: %s",
    async (ties, day) => {
      clock.set(`2026-11-0${day}T12:00:00Z`)
      const place = await placeWith(`ranks-${ties}`, ties)
      const open = await expectOne(place, "window=all_time")
      expect(await expectOne(place, "window=daily")).toEqual(open)
      const distinct = new Set(Object.values(open)).size
      expect(distinct).toBe(ties === "first" ? users.length - gone.length : 5)
      clock.set(`2026-11-0${day + 1}T12:00:00Z`)
      await place.post("/v1/users/u0/rewards", { type: "xp", amount: 1 })
      expect(await expectOne(place, `window=daily&at=2026-11-0${day}`)).toEqual(open)
    },
  )

  it("is the same in the progress as on the leaderboard xp", async () => {
    const place = await placeWith("ranks-progress", "shared")
    const progress = async (id: string) => (await place.get(`/v1/users/${id}/progress`)).json.rank
    const whole = ranksIn((await place.get("/v1/leaderboard?limit=100")).json.entries)
    expect(Object.keys(whole)).toHaveLength(21)
    expect(await ofEach(progress)).toEqual(whole)
    const around = async (id: string) =>
      (await place.get(`/v1/leaderboard?around=${id}&limit=1`)).json.me?.rank
    expect(await ofEach(around)).toEqual(whole)
  })
})
