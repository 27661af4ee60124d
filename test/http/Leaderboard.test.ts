import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { fullKey, startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")

const get = (query: string) => server.call("GET", `/v1/leaderboard?${query}`)
const read = async (query: string) => (await get(query)).json
const grant = (userId: string, amount: number) =>
  server.call("POST", `/v1/users/${userId}/rewards`, { body: { type: "xp", amount } })
const faultsOf = async (query: string) => {
  const { json, status } = await get(query)
  return [
    status,
    ...(json.errors ?? []).map(({ code, pointer }: Record<string, string>) => [pointer, code]),
  ]
}

beforeAll(async () => {
  server = await startServer({ clock })
  await server.call("PATCH", "/v1/project", { body: { timezone: "Europe/Berlin" } })
  await server.call("PUT", "/v1/users/ada", { body: { displayName: "Ada" } })
  await grant("ada", 100)
  await grant("bob", 300)
  await grant("cyd", 300)
  clock.set("2026-11-04T12:00:00Z")
  await grant("ada", 100)
  await grant("bob", 50)
  await grant("new", 50)
})

afterAll(() => server.stop())

describe("GET /v1/leaderboard with a window", () => {
  it("lists users with the xp earned in the window, level, name and previous rank", async () => {
    expect(await read("window=daily")).toEqual({
      window: {
        kind: "daily",
        startsAt: "2026-11-03T23:00:00.000Z",
        endsAt: "2026-11-04T23:00:00.000Z",
      },
      entries: [
        { rank: 1, userId: "ada", displayName: "Ada", xp: 100, level: 2, previousRank: 3 },
        { rank: 2, userId: "bob", displayName: null, xp: 50, level: 3, previousRank: 1 },
        { rank: 2, userId: "new", displayName: null, xp: 50, level: 1, previousRank: null },
      ],
      total: 3,
      limit: 20,
      offset: 0,
      hasMore: false,
    })
    const weekly = await read("window=weekly&limit=1")
    expect(weekly.window).toEqual({
      kind: "weekly",
      startsAt: "2026-11-01T23:00:00.000Z",
      endsAt: "2026-11-08T23:00:00.000Z",
    })
    expect([weekly.entries[0].userId, weekly.entries[0].xp, weekly.hasMore]).toEqual([
      "bob",
      350,
      true,
    ])
    expect((await read("window=monthly")).window).toEqual({
      kind: "monthly",
      startsAt: "2026-10-31T23:00:00.000Z",
      endsAt: "2026-11-30T23:00:00.000Z",
    })
  })

  it("shows a past window for any date or time in it", async () => {
    const past = await read("window=daily&at=2026-11-03")
    expect(
      past.entries.map(({ rank, userId, xp }: Record<string, unknown>) => [rank, userId, xp]),
    ).toEqual([
      [1, "bob", 300],
      [1, "cyd", 300],
      [3, "ada", 100],
    ])
    expect(past.window).toEqual({
      kind: "daily",
      startsAt: "2026-11-02T23:00:00.000Z",
      endsAt: "2026-11-03T23:00:00.000Z",
    })
    // The first and the last moment of the day in Berlin.
    for (const at of [
      "2026-11-02T23:00:00Z",
      "2026-11-03T22:59:59.999Z",
      "2026-11-04T00:59:59%2B02:00",
    ]) {
      expect(await read(`window=daily&at=${at}`)).toEqual(past)
    }
    expect((await read("window=daily&at=2026-11-03T23:00:00Z")).entries[0].userId).toBe("ada")
    expect((await read("window=daily&at=2026-11-02")).entries).toEqual([])
    expect((await read("window=weekly&at=2026-11-03")).total).toBe(4)
  })

  it("accepts dates from the first kept window to the end of the present one", async () => {
    expect(await faultsOf("window=daily&at=2026-11-04")).toEqual([200])
    expect(await faultsOf("window=daily&at=2026-11-05")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
    expect(await faultsOf("window=weekly&at=2026-11-08")).toEqual([200])
    expect(await faultsOf("window=weekly&at=2026-11-09")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
    expect(await faultsOf("window=monthly&at=2026-11-30")).toEqual([200])
    expect(await faultsOf("window=monthly&at=2026-12-01")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
    // 31 days, 12 weeks, 12 months.
    expect(await faultsOf("window=daily&at=2026-10-04")).toEqual([200])
    expect(await faultsOf("window=daily&at=2026-10-03")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
    expect(await faultsOf("window=weekly&at=2026-08-10")).toEqual([200])
    expect(await faultsOf("window=weekly&at=2026-08-09")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
    expect(await faultsOf("window=monthly&at=2025-11-01")).toEqual([200])
    expect(await faultsOf("window=monthly&at=2025-10-31")).toEqual([
      400,
      ["query/at", "out_of_range"],
    ])
  })

  it("returns all faults of a query at once", async () => {
    expect(await faultsOf("window=hourly&at=soon&around=&limit=0")).toEqual([
      400,
      ["query/window", "invalid_value"],
      ["query/at", "invalid_format"],
      ["query/around", "too_short"],
      ["query/limit", "out_of_range"],
    ])
  })
})

describe("GET /v1/leaderboard around a user", () => {
  it("centres the page on the user, and has the user's own entry", async () => {
    const page = await read("window=weekly&around=ada&limit=1")
    expect(page.entries.map(({ userId }: Record<string, unknown>) => userId)).toEqual(["ada"])
    expect(page).toMatchObject({ offset: 2, limit: 1, total: 4, hasMore: true })
    expect(page.me).toEqual({
      rank: 3,
      userId: "ada",
      displayName: "Ada",
      xp: 200,
      level: 2,
      previousRank: null,
    })
    const last = await read("window=weekly&around=new&limit=2")
    expect([last.offset, last.me.rank, last.hasMore]).toEqual([2, 4, false])
    const past = await read("window=daily&at=2026-11-03&around=ada&limit=2")
    expect([past.offset, past.me.rank]).toEqual([1, 3])
  })

  it("shows the first page for a user who is not listed, and answers 404 for an unknown user", async () => {
    const page = await read("window=daily&around=cyd&limit=2")
    expect([page.me, page.offset, page.entries.length]).toEqual([null, 0, 2])
    const { json, status } = await get("around=nobody")
    expect([status, json.code]).toEqual([404, "user_not_found"])
    expect("me" in (await read("window=daily"))).toBe(false)
  })

  it("is refused together with an offset", async () => {
    expect(await faultsOf("around=ada&offset=5")).toEqual([400, ["query/offset", "invalid_value"]])
  })
})

describe("A hidden user", () => {
  it("is not listed in any window, and returns to the open windows when no longer hidden", async () => {
    await server.call("PUT", "/v1/users/bob", { body: { hidden: true } })
    const listed = async () =>
      Promise.all(
        ["window=all_time", "window=daily", "window=daily&at=2026-11-03"].map(async (query) =>
          (await read(query)).entries.some(
            ({ userId }: Record<string, unknown>) => userId === "bob",
          ),
        ),
      )
    expect(await listed()).toEqual([false, false, false])
    const { me } = await read("window=daily&around=bob")
    expect(me).toBeNull()
    await server.call("PUT", "/v1/users/bob", { body: { hidden: false } })
    expect(await listed()).toEqual([true, true, false])
  })
})

describe("After a restart", () => {
  it("the windows are the same", async () => {
    const storage = new MemoryState()
    const first = await startServer({ clock, storage })
    const send = (running: TestServer, userId: string, amount: number) =>
      running.call("POST", `/v1/users/${userId}/rewards`, {
        key: fullKey,
        body: { type: "xp", amount },
      })
    await send(first, "ada", 10)
    await first.stop()
    clock.set("2026-11-20T12:00:00Z")
    const second = await startServer({ clock, storage })
    await send(second, "bob", 5)
    const board = async (query: string) =>
      (await second.call("GET", `/v1/leaderboard?${query}`)).json.entries.map(
        ({ userId, xp }: Record<string, unknown>) => [userId, xp],
      )
    expect(await board("window=daily&at=2026-11-04")).toEqual([["ada", 10]])
    expect(await board("window=daily")).toEqual([["bob", 5]])
    expect(await board("window=monthly")).toEqual([
      ["ada", 10],
      ["bob", 5],
    ])
    await second.stop()
  })
})
