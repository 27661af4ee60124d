import { Effect } from "effect"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { type CallOptions, startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

const beginning = "2026-11-04T12:00:00.000Z"
const day = 86_400_000

let server: TestServer | undefined
beforeEach(async () => {
  await server?.stop()
  server = await startServer({ clock: new RunningClock(beginning) })
})
afterAll(() => server?.stop())

const call = (method: string, path: string, options?: CallOptions) =>
  server!.call(method, path, options)
const get = (options?: CallOptions) => call("GET", "/v1/test-clock", options)
const advance = (advanceTo: unknown, options: CallOptions = {}) =>
  call("POST", "/v1/test-clock", { body: { advanceTo }, ...options })
const tap = (options: CallOptions = {}) =>
  call("POST", "/v1/events", { body: { userId: "ada", action: "TAP" }, ...options })

const productionKey = () =>
  server!.accounts.addKey("lk_live_full", {
    environment: "prj_test:production",
    environmentName: "production",
  })

describe("The test clock of a sandbox", () => {
  it("is at the server's time before the first advance", async () => {
    const { json, status } = await get()
    expect(status).toBe(200)
    expect(json).toEqual({
      now: expect.stringMatching(/^2026-11-04T12:00:/),
      advancedByMs: 0,
      advancedTo: null,
      status: "ready",
    })
  })

  it("advances, and every operation has its time from then on", async () => {
    const body = { key: "daily", name: "Daily" }
    expect((await call("POST", "/v1/streaks", { body })).status).toBe(201)
    const quest = { title: "Advent", reward: { xp: 5 }, endsAt: "2026-11-20T00:00:00.000Z" }
    const made = await call("POST", "/v1/quests", { body: quest })
    expect((await tap()).json.streaks).toEqual([{ key: "daily", current: 1, best: 1 }])
    const advanced = await advance("2026-12-01T00:00:00Z")
    expect([advanced.status, advanced.json]).toEqual([
      200,
      {
        now: expect.stringMatching(/^2026-12-01T00:00:/),
        advancedByMs: expect.any(Number),
        advancedTo: "2026-12-01T00:00:00.000Z",
        status: "ready",
      },
    ])
    expect(Math.floor(advanced.json.advancedByMs / day)).toBe(26)
    expect((await get()).json).toMatchObject({
      advancedTo: "2026-12-01T00:00:00.000Z",
      status: "ready",
    })
    const { json: event } = await tap()
    expect(event.receivedAt).toMatch(/^2026-12-01T00:0/)
    expect(event.streaks).toEqual([{ key: "daily", current: 1, best: 1 }])
    expect((await call("GET", `/v1/quests/${made.json.id}`)).json.status).toBe("ended")
    const { json: history } = await call("GET", "/v1/users/ada/history")
    const broken = history.facts.find(({ kind }: { kind: string }) => kind === "streak.broken")
    expect(broken.at).toMatch(/^2026-11-06T00:00:/)
    const board = await call("GET", "/v1/leaderboard?window=daily")
    expect(board.json.window.startsAt).toBe("2026-12-01T00:00:00.000Z")
    const old = { userId: "ada", action: "TAP", occurredAt: beginning }
    expect((await call("POST", "/v1/events", { body: old })).status).toBe(200)
    const next = { userId: "ada", action: "TAP", occurredAt: "2026-12-01T01:00:00.000Z" }
    expect((await call("POST", "/v1/events", { body: next })).status).toBe(400)
  })

  it("starts and ends rules and badges, which pay for what occurred in their period", async () => {
    const period = { startsAt: "2026-11-10T00:00:00.000Z", endsAt: "2026-11-20T00:00:00.000Z" }
    const rule = { key: "sale", action: "TAP", reward: { xp: 5 }, ...period }
    const criteria = { kind: "action_count", action: "TAP", target: 2 }
    expect((await call("POST", "/v1/rules", { body: rule })).json.status).toBe("scheduled")
    const badge = { key: "sale", name: "Sale", criteria, ...period }
    expect((await call("POST", "/v1/badges", { body: badge })).json.status).toBe("scheduled")
    const statuses = async () => [
      (await call("GET", "/v1/rules/sale")).json.status,
      (await call("GET", "/v1/badges/sale")).json.status,
    ]
    const gives = async (occurredAt?: string) => {
      const body = { userId: "ada", action: "TAP", ...(occurredAt && { occurredAt }) }
      const { json } = await call("POST", "/v1/events", { body })
      return [json.xp.earned, json.badges.length]
    }
    expect(await gives()).toEqual([0, 0])
    await advance("2026-11-10T00:00:00Z")
    expect(await statuses()).toEqual(["active", "active"])
    expect(await gives()).toEqual([5, 0])
    await advance("2026-11-20T00:00:00Z")
    expect(await statuses()).toEqual(["ended", "ended"])
    expect(await gives()).toEqual([0, 0])
    expect(await gives("2026-11-09T23:59:59.999Z")).toEqual([0, 0])
    expect(await gives("2026-11-19T23:59:59.999Z")).toEqual([5, 1])
    expect(await gives("2026-11-10T00:00:00.000Z")).toEqual([5, 0])
  })

  it("refuses a time that is not ahead, that is too far, or that is no time", async () => {
    const latest = Date.parse(beginning) + limits.testClockAheadMsMax
    for (const wrong of [beginning, "2026-11-04", 5, new Date(latest + day).toISOString()]) {
      const { json, status } = await advance(wrong)
      expect([wrong, status, json.errors[0].pointer]).toEqual([wrong, 400, "/advanceTo"])
    }
    expect((await call("POST", "/v1/test-clock", { body: {} })).status).toBe(400)
    expect((await get()).json.advancedByMs).toBe(0)
    expect((await advance(new Date(latest).toISOString())).status).toBe(200)
  })

  it("advances once for each Idempotency-Key, and once for each target", async () => {
    const headers = { "Idempotency-Key": "k" }
    const to = "2026-11-10T00:00:00.000Z"
    expect((await advance(to, { headers })).status).toBe(200)
    const again = await advance(to, { headers })
    expect([again.status, again.headers["idempotency-replayed"]]).toEqual([200, "true"])
    expect((await advance(to)).status).toBe(200)
    expect((await get()).json.advancedTo).toBe(to)
  })

  it("is at or after the target of every advance that succeeded, of many at once", async () => {
    const targets = [9, 3, 7, 1, 8, 2, 6].map((days) =>
      new Date(Date.parse(beginning) + days * day).toISOString(),
    )
    const replies = await Promise.all(targets.map((to) => advance(to)))
    const succeeded = targets.filter((_, index) => replies[index]!.status === 200)
    expect(succeeded.length).toBeGreaterThan(0)
    for (const { status } of replies) expect([200, 400, 409]).toContain(status)
    const { json } = await get()
    expect(json.status).toBe("ready")
    for (const to of succeeded) expect(json.now >= to).toBe(true)
  })

  it("is advanced by keys with the scope full only, and read by keys with the scope read", async () => {
    const { accounts } = server!
    const read = accounts.addKey("lk_test_read", { scope: "read" })
    const ingest = accounts.addKey("lk_test_ingest", { scope: "ingest" })
    const page = accounts.addKey("lk_pub_test", { kind: "publishable" })
    expect((await get({ key: read })).status).toBe(200)
    for (const key of [ingest, page]) {
      expect((await get({ key })).json.code).toBe("insufficient_scope")
    }
    for (const key of [read, ingest, page]) {
      expect((await advance("2026-12-01T00:00:00Z", { key })).json.code).toBe("insufficient_scope")
    }
    expect((await get()).json.advancedByMs).toBe(0)
  })
})

describe("A request for an advance", () => {
  it("is answered after a while if the advance goes on", async () => {
    const clock = new RunningClock(beginning)
    const asked = Promise.withResolvers<void>()
    const slow = await startServer({
      clock,
      wrapEngine: (engine) => ({
        ...engine,
        testClockReady: () => {
          asked.resolve()
          return Effect.never
        },
      }),
    })
    let isAnswered = false
    const reply = slow
      .call("POST", "/v1/test-clock", { body: { advanceTo: "2026-12-01T00:00:00Z" } })
      .finally(() => {
        isAnswered = true
      })
    await asked.promise
    const wait = limits.testClockWaitMs
    clock.set(new Date(Date.parse(beginning) + wait / 2).toISOString())
    expect((await slow.call("GET", "/v1/test-clock")).status).toBe(200)
    expect(isAnswered).toBe(false)
    clock.set(new Date(Date.parse(beginning) + 2 * wait).toISOString())
    expect((await reply).status).toBe(200)
    await slow.stop()
  })
})

describe("Production", () => {
  it("has no test clock, and keeps its time while the sandbox advances", async () => {
    const key = productionKey()
    const refused = [await get({ key }), await advance("2026-12-01T00:00:00Z", { key })]
    for (const { json, status } of refused) {
      expect([status, json.code]).toEqual([403, "sandbox_only"])
    }
    expect((await advance("2026-12-01T00:00:00Z")).status).toBe(200)
    expect((await tap({ key })).json.receivedAt).toMatch(/^2026-11-04T12:0/)
    expect((await tap()).json.receivedAt).toMatch(/^2026-12-01T00:0/)
    expect(server!.errors).toEqual([])
  })
})
