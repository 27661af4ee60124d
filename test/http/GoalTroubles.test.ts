/** Shared goals whose target, period, teams and contributors change in the middle. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `goaltroubles${places++}`)

const goal = {
  key: "together",
  name: "Together",
  score: { currency: "xp" },
  target: 100,
  reward: { points: 5 },
}

const earn = async (place: Place, userId: string, xp: number, id?: string) => {
  const body = { type: "xp", amount: xp, ...(id !== undefined && { id }) }
  const { json, status } = await place.post(`/v1/users/${userId}/rewards`, body)
  expect(status).toBe(200)
  return json
}

const progressOf = async (place: Place) => (await place.get("/v1/goals/together")).json.progress

const pointsOf = async (place: Place, ...userIds: ReadonlyArray<string>) => {
  const points: Array<number> = []
  for (const userId of userIds) points.push((await place.get(`/v1/users/${userId}`)).json.points)
  return points
}

const rewarded = (place: Place, path = "/v1/goals/together") =>
  vi.waitUntil(
    async () => {
      const { json } = await place.get(path)
      return (json.progress ?? json).rewarded !== null
    },
    { timeout: 30_000 },
  )

const toldOf = async (place: Place, userId: string) => {
  const { json } = await place.get(`/v1/users/${userId}/history`)
  return json.facts.flatMap(({ kind, percent }: { kind: string; percent: number }) =>
    kind === "goal.progressed" || kind === "goal.completed" ? [percent] : [],
  )
}

const inOneHour = async (place: Place, hours = 1): Promise<string> => {
  const { now } = (await place.get("/v1/test-clock")).json
  return new Date(Date.parse(now) + hours * 3_600_000).toISOString()
}

describe("A target that is reached", () => {
  it("again after an undo tells no share twice, and an id that was undone contributes nothing", async () => {
    const place = newPlace()
    await place.create("/v1/goals", goal)
    await earn(place, "ada", 45)
    await earn(place, "bob", 35, "lesson")
    expect((await place.delete("/v1/users/bob/rewards/lesson")).status).toBe(200)
    expect(await progressOf(place)).toMatchObject({ total: 45, contributors: 1 })
    expect(await earn(place, "bob", 35, "lesson")).toMatchObject({ duplicate: true, revoked: true })
    expect(await progressOf(place)).toMatchObject({ total: 45, contributors: 1 })
    await earn(place, "bob", 35, "again")
    expect(await toldOf(place, "bob")).toEqual([75])
    await earn(place, "cyd", 20, "last")
    await rewarded(place)
    for (const [userId, id] of [
      ["cyd", "last"],
      ["bob", "again"],
    ]) {
      const undone = await place.delete(`/v1/users/${userId}/rewards/${id}`)
      expect([undone.status, undone.json.goals]).toEqual([200, undefined])
    }
    await earn(place, "dan", 50)
    expect(await progressOf(place)).toMatchObject({ total: 100, contributors: 3, rewarded: 3 })
    expect(await pointsOf(place, "ada", "bob", "cyd", "dan")).toEqual([5, 5, 5, 0])
    expect(await toldOf(place, "cyd")).toEqual([100])
  })

  it("stays so when the goal is raised, extended, paused and published again, and pays nobody twice", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, endsAt: await inOneHour(place) })
    await earn(place, "ada", 100)
    await rewarded(place)
    await place.post("/v1/test-clock", { advanceTo: await inOneHour(place, 2) })
    const change = { endsAt: await inOneHour(place), target: 500, reward: { points: 50 } }
    expect((await place.patch("/v1/goals/together", change)).json.status).toBe("active")
    await earn(place, "bob", 100)
    await place.patch("/v1/goals/together", { status: "paused" })
    await place.patch("/v1/goals/together", { status: "active", target: 10 })
    await earn(place, "ada", 100)
    expect(await progressOf(place)).toMatchObject({ total: 100, percent: 100, rewarded: 1 })
    expect(await pointsOf(place, "ada", "bob")).toEqual([5, 0])
  })
})

describe("A goal that is over", () => {
  it("and extended counts from then on, and pays those who contributed before its first end", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, endsAt: await inOneHour(place) })
    await earn(place, "ada", 60, "early")
    await place.post("/v1/test-clock", { advanceTo: await inOneHour(place, 2) })
    await earn(place, "bob", 60)
    // Nothing is taken back while it is over.
    await place.delete("/v1/users/ada/rewards/early")
    expect(await progressOf(place)).toMatchObject({ total: 60, contributors: 1, percent: 60 })
    await place.patch("/v1/goals/together", { endsAt: await inOneHour(place) })
    await earn(place, "cyd", 40)
    await rewarded(place)
    expect(await progressOf(place)).toMatchObject({ total: 100, contributors: 2, rewarded: 2 })
    expect(await pointsOf(place, "ada", "bob", "cyd")).toEqual([5, 0, 5])
  })

  it("is not completed by a lower target, but is once it is extended", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, endsAt: await inOneHour(place) })
    await earn(place, "ada", 60)
    await place.post("/v1/test-clock", { advanceTo: await inOneHour(place, 2) })
    await place.patch("/v1/goals/together", { target: 50 })
    expect(await progressOf(place)).toMatchObject({ total: 60, completedAt: null })
    await place.patch("/v1/goals/together", { endsAt: await inOneHour(place) })
    await rewarded(place)
    expect(await pointsOf(place, "ada")).toEqual([5])
  })
})

describe("Contributors who change", () => {
  it("are one after a merge, with one reward, and enough together", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, minContribution: 10 })
    await earn(place, "ada", 6)
    await earn(place, "bob", 5)
    await earn(place, "eve", 5)
    await place.post("/v1/users/bob/merge", { into: "ada" })
    await earn(place, "cyd", 84)
    await rewarded(place)
    expect(await progressOf(place)).toMatchObject({ total: 100, contributors: 3, rewarded: 2 })
    expect(await pointsOf(place, "ada", "bob", "cyd", "eve")).toEqual([5, 5, 5, 0])
    // Both had the reward: together they keep what they have, and get nothing more.
    await place.post("/v1/users/cyd/merge", { into: "ada" })
    expect(await pointsOf(place, "ada")).toEqual([10])
    expect(await progressOf(place)).toMatchObject({ total: 100, rewarded: 2 })
  })

  it("of a team that is renamed get the reward; a new team with the id of a deleted one starts from 0", async () => {
    const place = newPlace()
    const path = "/v1/goals/together/teams/owls"
    await place.put("/v1/teams/owls", { kind: "club", name: "Owls" })
    for (const userId of ["ada", "bob"]) await place.put(`/v1/teams/owls/members/${userId}`, {})
    await place.create("/v1/goals", { ...goal, scope: "team", teamKind: "club" })
    await earn(place, "ada", 60)
    await place.put("/v1/teams/owls", { kind: "club", name: "Night owls" })
    expect((await place.get(path)).json).toMatchObject({ team: { name: "Night owls" }, total: 60 })
    await earn(place, "bob", 40)
    await rewarded(place, path)
    expect(await pointsOf(place, "ada", "bob")).toEqual([5, 5])
    expect((await place.delete("/v1/teams/owls")).status).toBe(204)
    await place.put("/v1/teams/owls", { kind: "club", name: "Owls again" })
    await place.put("/v1/teams/owls/members/ada", {})
    expect((await place.get(path)).json).toMatchObject({ total: 0, completedAt: null })
    await earn(place, "ada", 100)
    await rewarded(place, path)
    expect(await pointsOf(place, "ada", "bob")).toEqual([10, 5])
  })
})
