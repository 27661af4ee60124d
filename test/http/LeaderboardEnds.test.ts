import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `ends${places++}`)

const path = "/v1/leaderboards/season"
const later = (days: number) =>
  new Date(Date.parse("2026-11-03T12:00:00Z") + days * 86_400_000).toISOString()

const create = (place: Place, more: object = {}) =>
  place.create("/v1/leaderboards", {
    name: "Season",
    score: { currency: "points" },
    windows: ["all_time", "weekly"],
    ...more,
  })

const close = (place: Place, headers: Readonly<Record<string, string>> = {}, board = "season") =>
  place.call("POST", `/v1/leaderboards/${board}/close`, { headers })

const score = (place: Place, userId: string, points: number) =>
  place.post(`/v1/users/${userId}/rewards`, { reward: { points } })

/** Reads entries until the window is closed and its prizes are paid. */
const closedEntries = async (place: Place, query = "") => {
  for (;;) {
    const { json } = await place.get(`${path}/entries${query}`)
    if (json.closed && !json.paying) return json
  }
}

describe("A leaderboard that is closed early", () => {
  it("has final ranks, and its entries say who has won what", async () => {
    const place = newPlace()
    const reward = { xp: 100 }
    const prizes = [
      { window: "all_time", ranks: [1, 1], reward },
      { window: "all_time", percent: 50, reward: { xp: 10 } },
      { window: "weekly", ranks: [2, 3], reward: { xp: 1 } },
    ]
    await create(place, { prizes })
    for (const [userId, points] of Object.entries({ ada: 9, bob: 5, cyd: 5 })) {
      await score(place, userId, points)
    }
    const open = (await place.get(`${path}/entries`)).json
    expect(open).toMatchObject({ closed: false, paying: false })
    expect(open.entries[0].prizes).toEqual([])
    const { json, status } = await close(place)
    expect([status, json.status, json.version]).toEqual([200, "ended", 2])
    const final = await closedEntries(place)
    const shown = (entries: ReadonlyArray<Record<string, unknown>>) =>
      entries.map(({ prizes, rank, score, userId }) => [
        rank,
        userId,
        score,
        (prizes as ReadonlyArray<{ xp: number }>).map(({ xp }) => xp),
      ])
    expect(shown(final.entries)).toEqual([
      [1, "ada", 9, [100, 10]],
      [2, "bob", 5, [10]],
      [2, "cyd", 5, [10]],
    ])
    const week = await closedEntries(place, "?window=weekly")
    expect(shown(week.entries)).toEqual([
      [1, "ada", 9, []],
      [2, "bob", 5, [1]],
      [2, "cyd", 5, [1]],
    ])
    expect(week.window.endsAt).toBe(json.endsAt)
    expect((await place.get("/v1/users/bob")).json.xp).toBe(11)
    await score(place, "cyd", 50)
    expect((await place.get(`${path}/entries`)).json.entries).toEqual(final.entries)
    expect((await place.get(`${path}/stats`)).json).toMatchObject({ closed: true, participants: 3 })
    const found = (await place.post(`${path}/lookup`, { users: ["cyd"] })).json
    expect(found).toMatchObject({ closed: true, users: [{ rankAmong: 1, entry: { rank: 2 } }] })
  })

  it("cannot be closed again, nor get another end, but another name", async () => {
    const place = newPlace()
    await create(place)
    const key = { "idempotency-key": "close-1" }
    expect((await close(place, key)).status).toBe(200)
    expect((await close(place, key)).status).toBe(200)
    const again = await close(place)
    expect(problemOf(again)).toEqual([409, "invalid_transition"])
    for (const endsAt of [later(9), null]) {
      const refused = await place.patch(path, { endsAt })
      expect(refused.json.errors).toEqual([
        {
          pointer: "/endsAt",
          code: "invalid_value",
          detail: "cannot change, since the leaderboard has ended: its ranks are final",
        },
      ])
    }
    expect((await place.patch(path, { name: "Last season" })).json).toMatchObject({
      name: "Last season",
      status: "ended",
    })
  })

  it("must have begun, must not be xp, and has the version that If-Match asks for", async () => {
    const place = newPlace()
    await create(place, { startsAt: later(1) })
    expect((await close(place)).json).toMatchObject({
      status: 409,
      detail: "The leaderboard is scheduled: it cannot be closed.",
    })
    expect((await close(place, {}, "xp")).status).toBe(409)
    expect((await close(place, {}, "none")).status).toBe(404)
    await place.create("/v1/streaks", { key: "daily", name: "Daily" })
    const streak = { name: "Streak", score: { streak: "daily" }, windows: ["all_time"] }
    await place.create("/v1/leaderboards", streak)
    expect((await close(place, {}, "streak")).status).toBe(409)
    await place.create("/v1/leaderboards", { name: "Other", score: { currency: "points" } })
    const stale = await close(place, { "if-match": '"7"' }, "other")
    expect(problemOf(stale)).toEqual([412, "version_conflict"])
    expect((await close(place, { "if-match": '"1"' }, "other")).status).toBe(200)
  })
})

describe("The end of a leaderboard", () => {
  it("can move to later and earlier moments than before, but not to the past", async () => {
    const place = newPlace()
    await create(place, { endsAt: later(3) })
    for (const endsAt of [later(5), later(1), null, later(2)]) {
      expect((await place.patch(path, { endsAt })).json).toMatchObject({ endsAt, status: "active" })
    }
    const past = await place.patch(path, { endsAt: later(-1) })
    expect(past.json.errors).toEqual([
      {
        pointer: "/endsAt",
        code: "out_of_range",
        detail: "must be in the future: close the leaderboard to end it now",
      },
    ])
  })

  it("is needed for prizes of all time: xp and a leaderboard of streaks have none", async () => {
    const place = newPlace()
    const prizes = [{ window: "all_time", ranks: [1, 1], reward: { xp: 1 } }]
    const xp = await place.patch("/v1/leaderboards/xp", { prizes })
    expect(xp.json.errors).toMatchObject([{ pointer: "/prizes/0/window", code: "not_allowed" }])
    await place.create("/v1/streaks", { key: "daily", name: "Daily" })
    const streak = { name: "Streak", score: { streak: "daily" }, windows: ["all_time"], prizes }
    const refused = await place.post("/v1/leaderboards", streak)
    expect(refused.json.errors).toMatchObject([{ pointer: "/prizes", code: "not_allowed" }])
  })
})

describe("The grace of a leaderboard", () => {
  it("keeps a window open for late events, at most 720 minutes, and is fixed once published", async () => {
    const place = newPlace()
    const board = { name: "Season", score: { metric: "taps" }, windows: ["daily"] }
    await place.create("/v1/metrics", {
      key: "taps",
      name: "Taps",
      aggregate: "count",
      actions: ["TAP"],
    })
    for (const graceMinutes of [-1, 721]) {
      const refused = await place.post("/v1/leaderboards", { ...board, graceMinutes })
      expect(faultsOf(refused)).toEqual([["/graceMinutes", "out_of_range"]])
    }
    await place.create("/v1/leaderboards", { ...board, graceMinutes: 720 })
    expect((await place.get(path)).json.graceMinutes).toBe(720)
    expect(faultsOf(await place.patch(path, { graceMinutes: 60 }))).toEqual([
      ["/graceMinutes", "invalid_value"],
    ])
    const late = { userId: "ada", action: "TAP", occurredAt: "2026-11-03T12:00:00Z" }
    const yesterday = async () => {
      const { json } = await place.get(`${path}/entries?window=daily&at=2026-11-03`)
      return [json.closed, json.entries.map(({ score }: { score: number }) => score)]
    }
    clock.set("2026-11-04T11:59:00Z")
    await place.post("/v1/events", late)
    expect(await yesterday()).toEqual([false, [1]])
    clock.set("2026-11-04T12:00:00Z")
    await place.post("/v1/events", late)
    expect(await yesterday()).toEqual([true, [1]])
  })
})
