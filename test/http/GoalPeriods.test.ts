/** The periods of recurring goals in replies, histories and messages, over HTTP. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0

const placeIn = async (timezone: string): Promise<Place> => {
  const place = new Place(server, `periods${places++}`)
  await place.patch("/v1/project", { timezone })
  await advance(place, "2030-01-08T10:00:00Z")
  return place
}

const advance = async (place: Place, advanceTo: string) => {
  expect((await place.post("/v1/test-clock", { advanceTo })).status).toBe(200)
}

const goal = { key: "run", name: "Run", score: { currency: "xp" }, target: 10 }
const weekly = { ...goal, recurrence: "weekly", reward: { points: 5 } }

/** Reaches the target, and waits until the reward is paid. */
const complete = async (place: Place) => {
  const sent = await place.post("/v1/users/ada/rewards", { type: "xp", amount: 10 })
  const paid = async () => (await place.get("/v1/goals/run")).json.progress.rewarded === 1
  await vi.waitUntil(paid, { timeout: 30_000 })
  return sent.json
}

/** The facts of a user's history about goals, oldest first. */
const factsOf = async (place: Place, userId = "ada") => {
  const { json } = await place.get(`/v1/users/${userId}/history?limit=100`)
  const facts: ReadonlyArray<{ kind: string; period?: object; cause: { period?: object } }> =
    json.facts
  return facts.filter(({ kind }) => kind.startsWith("goal.")).toReversed()
}

// Monday begins at 23:00 UTC of Sunday in Berlin.
const first = { startsAt: "2030-01-06T23:00:00.000Z", endsAt: "2030-01-13T23:00:00.000Z" }
const second = { startsAt: "2030-01-13T23:00:00.000Z", endsAt: "2030-01-20T23:00:00.000Z" }

describe("The period of a recurring goal", () => {
  it("tells the weeks of a history apart, as of their decision, and is in replies", async () => {
    const place = await placeIn("Europe/Berlin")
    await place.create("/v1/goals", weekly)
    expect((await complete(place)).goals).toMatchObject([{ key: "run", period: first }])
    await advance(place, "2030-01-15T10:00:00Z")
    expect((await complete(place)).goals).toMatchObject([{ key: "run", period: second }])
    // What was decided keeps the bounds of the former zone.
    await place.patch("/v1/project", { timezone: "America/New_York" })
    const facts = await factsOf(place)
    const kinds = ["goal.contributed", "goal.completed", "goal.rewarded"]
    expect(facts.map(({ kind, period }) => [kind, period])).toEqual(
      [first, second].flatMap((period) => kinds.map((kind) => [kind, period])),
    )
    const paid = facts.filter(({ kind }) => kind === "goal.rewarded")
    expect(paid.map(({ cause }) => cause)).toMatchObject([
      { kind: "goal", key: "run", period: first },
      { kind: "goal", key: "run", period: second },
    ])
  })

  it("is the same after an undo, and of a merge", async () => {
    const place = await placeIn("Europe/Berlin")
    await place.create("/v1/goals", weekly)
    const grant = async (userId: string) => {
      const body = { type: "xp", amount: 2 }
      return (await place.post(`/v1/users/${userId}/rewards`, body)).json.rewardId
    }
    const undone = await grant("ada")
    await place.delete(`/v1/users/ada/rewards/${undone}`)
    await grant("ada")
    await grant("bob")
    expect((await place.post("/v1/users/bob/merge", { into: "ada" })).status).toBe(200)
    const facts = await factsOf(place)
    expect(facts.length).toBeGreaterThanOrEqual(3)
    expect(new Set(facts.map(({ period }) => JSON.stringify(period)))).toEqual(
      new Set([JSON.stringify(first)]),
    )
  })

  it("is null for a goal that does not recur", async () => {
    const place = await placeIn("Europe/Berlin")
    await place.create("/v1/goals", { ...goal, endsAt: "2030-02-01T00:00:00Z" })
    await place.post("/v1/users/ada/rewards", { type: "xp", amount: 3 })
    expect((await factsOf(place)).map(({ period }) => period)).toEqual([null, null])
  })
})
