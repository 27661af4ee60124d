/** Recaps over HTTP: what a user did in a range of days. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { limitedInFile } from "../limited.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

limitedInFile({ recapRecordsMax: 12, recapBadgesMax: 2 })

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = async () => {
  const place = new Place(server, `recap${places++}`)
  await place.post("/v1/rules", { action: "RUN", reward: { xp: 60, points: 1 } })
  await place.post("/v1/rules", { action: "SWIM", reward: { xp: 10 } })
  return place
}

const dayMs = 86_400_000
const dateIn = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)
const did = (place: Place, userId: string, action: string, daysAgo: number) =>
  place.post("/v1/events/import", {
    events: [{ userId, action, occurredAt: `${dateIn(-daysAgo)}T00:00:00.000Z` }],
  })
const recapOf = (place: Place, userId: string, query = "") =>
  place.get(`/v1/users/${userId}/recap${query}`)

describe("A recap", () => {
  it("sums up the days of the range, without those outside", async () => {
    const place = await newPlace()
    await place.post("/v1/users/bob/rewards", { type: "xp", amount: 500 })
    await place.call("PUT", "/v1/users/ann", { body: { displayName: "Ann" } })
    for (const [action, daysAgo] of [
      ["RUN", 9],
      ["SWIM", 5],
      ["RUN", 5],
      ["SWIM", 3],
      ["SWIM", 3],
      ["RUN", 1],
    ] as const) {
      await did(place, "ann", action, daysAgo)
    }
    const { json } = await recapOf(place, "ann", `?from=${dateIn(-5)}&to=${dateIn(-3)}`)
    expect(json).toEqual({
      userId: "ann",
      displayName: "Ann",
      from: dateIn(-5),
      to: dateIn(-3),
      truncated: false,
      totals: {
        events: 4,
        activeDays: 2,
        currencies: { xp: 90, points: 1 },
        badges: 0,
        quests: 0,
      },
      level: { from: 1, to: 1 },
      bestDay: { date: dateIn(-5), xp: 70, events: 2 },
      streaks: [],
      actions: [
        { action: "SWIM", count: 3 },
        { action: "RUN", count: 1 },
      ],
      firsts: [{ action: "SWIM", at: `${dateIn(-5)}T00:00:00.000Z` }],
      badges: [],
      standing: { rank: 2, total: 2, topPercent: 100 },
    })
  })

  it("has the level, the badges, the quests and the longest streaks of the range", async () => {
    const place = await newPlace()
    await place.post("/v1/streaks", { name: "Daily", needs: [{ action: "RUN", target: 1 }] })
    await place.post("/v1/badges", {
      name: "Runner",
      criteria: { kind: "action_count", action: "RUN", target: 2 },
    })
    await place.post("/v1/quests", {
      title: "Once around",
      reward: { points: 2 },
      steps: [{ key: "run", action: "RUN", target: 1 }],
    })
    await place.post("/v1/events", { userId: "ann", action: "RUN" })
    await place.post("/v1/events", { userId: "ann", action: "RUN" })
    const { json } = await recapOf(place, "ann", `?from=${dateIn(-1)}`)
    expect(json).toMatchObject({
      totals: { badges: 1, quests: 1 },
      level: { from: 1, to: 2 },
      streaks: [{ key: "daily", best: 1 }],
      badges: [{ key: "runner", name: "Runner" }],
    })
    const before = await recapOf(place, "ann", `?from=${dateIn(-3)}&to=${dateIn(-1)}`)
    expect(before.json).toMatchObject({
      totals: { events: 0, badges: 0, quests: 0 },
      level: { from: 1, to: 1 },
      bestDay: null,
      streaks: [],
      firsts: [],
    })
  })

  it("has a run of the past that late events made the longest, in the range of these events", async () => {
    const place = await newPlace()
    await place.post("/v1/streaks", { name: "Daily", needs: [{ action: "RUN" }] })
    for (const daysAgo of [0, 1, 7, 6, 5, 20]) await did(place, "ann", "RUN", daysAgo)
    const bestIn = async (from: number, to: number) =>
      (await recapOf(place, "ann", `?from=${dateIn(from)}&to=${dateIn(to)}`)).json.streaks
    expect(await bestIn(-30, 0)).toEqual([{ key: "daily", best: 3 }])
    expect(await bestIn(-1, 0)).toEqual([{ key: "daily", best: 2 }])
    expect(await bestIn(-4, -2)).toEqual([])
  })

  it("has a run that a later pause made the longest, in the range of the pause", async () => {
    const place = await newPlace()
    const day = { key: "daily", name: "Daily", needs: [{ action: "RUN" }] }
    await place.post("/v1/streaks", day)
    for (const daysAgo of [9, 8, 6, 5]) await did(place, "ann", "RUN", daysAgo)
    const bestIn = async (from: number, to: number) =>
      (await recapOf(place, "ann", `?from=${dateIn(from)}&to=${dateIn(to)}`)).json.streaks
    expect(await bestIn(-30, 0)).toEqual([{ key: "daily", best: 2 }])
    const pause = { from: dateIn(-7), to: dateIn(-7) }
    await place.post("/v1/users/ann/streaks/daily/pauses", pause)
    expect(await bestIn(-30, 0)).toEqual([{ key: "daily", best: 4 }])
    expect(await bestIn(-30, -1)).toEqual([{ key: "daily", best: 2 }])
    // A pause that makes no run longer does not count as a streak of the range.
    const next = { from: dateIn(1), to: dateIn(1) }
    await place.post("/v1/users/ann/streaks/daily/pauses", next)
    expect(await bestIn(0, 0)).toEqual([{ key: "daily", best: 4 }])
  })

  it("lacks revoked events, and what was lost with them", async () => {
    const place = await newPlace()
    await place.post("/v1/badges", {
      name: "Runner",
      criteria: { kind: "action_count", action: "RUN", target: 2 },
    })
    const first = await place.post("/v1/events", { userId: "ann", action: "RUN" })
    await place.post("/v1/events", { userId: "ann", action: "RUN" })
    expect((await recapOf(place, "ann")).json.totals).toMatchObject({ events: 2, badges: 1 })
    await place.delete(`/v1/users/ann/events/${first.json.eventId}`)
    expect((await recapOf(place, "ann")).json).toMatchObject({
      totals: { events: 1, activeDays: 1, currencies: { xp: 60, points: 1 }, badges: 0 },
      bestDay: { xp: 60, events: 1 },
      badges: [],
    })
    await place.post("/v1/events", { userId: "ann", action: "RUN" })
    expect((await recapOf(place, "ann")).json.totals).toMatchObject({ events: 2, badges: 1 })
  })

  it("says when the history is longer than what it reads", async () => {
    const place = await newPlace()
    const most = limits.recapRecordsMax
    await did(place, "ann", "SWIM", 9)
    for (let n = 1; n < most; n++) await did(place, "ann", "RUN", 0)
    const whole = (await recapOf(place, "ann")).json
    expect([whole.truncated, whole.totals.events]).toEqual([false, most])
    expect(whole.firsts.map(({ action }: { action: string }) => action)).toEqual(["SWIM", "RUN"])
    await did(place, "ann", "RUN", 0)
    const cut = (await recapOf(place, "ann")).json
    expect([cut.truncated, cut.totals.events, cut.firsts]).toEqual([true, most, null])
  })

  it("lists the latest badges up to a limit, and counts all of them", async () => {
    const place = await newPlace()
    for (const name of ["One", "Two", "Three"]) {
      const { json } = await place.post("/v1/badges", { name, criteria: { kind: "manual" } })
      await place.post("/v1/users/ann/rewards", { type: "badge", badgeId: json.id })
      const { badges, totals } = (await recapOf(place, "ann")).json
      expect(badges.length).toBe(Math.min(totals.badges, limits.recapBadgesMax))
    }
    const { badges, totals } = (await recapOf(place, "ann")).json
    expect(totals.badges).toBe(3)
    expect(badges.map(({ key }: { key: string }) => key)).toEqual(["three", "two"])
  })

  it("is refused for an unknown user and a range beyond the bounds", async () => {
    const place = await newPlace()
    await did(place, "ann", "RUN", 0)
    expect(problemOf(await recapOf(place, "bob"))).toEqual([404, "user_not_found"])
    const most = limits.recapDaysMax
    expect((await recapOf(place, "ann", `?from=${dateIn(-most)}`)).status).toBe(200)
    for (const [query, expected] of [
      [`?from=${dateIn(-most - 1)}`, [["query/from", "out_of_range"]]],
      [`?from=${dateIn(-1)}&to=${dateIn(-2)}`, [["query/from", "out_of_range"]]],
      [`?to=${dateIn(1)}`, [["query/to", "out_of_range"]]],
      ["?from=2026-02-30", [["query/from", "invalid_format"]]],
      ["?form=2026-02-01", [["query/form", "unknown_member"]]],
    ] as const) {
      expect(faultsOf(await recapOf(place, "ann", query))).toEqual(expected)
    }
  })
})
