/** Import of events with earlier times. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isSilent } from "../../src/domain/record/Record.ts"
import { decodeRecord } from "../../src/engine/records/Codec.ts"
import { limits } from "../../src/Limits.ts"
import { rule } from "../engine/fixture.ts"
import { Random, seeds } from "../simulation/random.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { waitMs } from "../waitMs.ts"
import { startServer, type TestServer } from "./fixture.ts"

const storage = new MemoryState()
let server: TestServer
beforeAll(async () => {
  server = await startServer({ storage })
  await Effect.runPromise(server.engine.askProject("prj_test:sandbox", rule("DONE", 10)))
})
afterAll(() => server.stop())

const path = "/v1/events/import"
const event = (userId: string, more: object = {}) => ({ userId, action: "DONE", ...more })
const send = (events: unknown, headers = {}) =>
  server.call("POST", path, { body: { events }, headers })
const recordsOf = (userId: string) =>
  storage.records
    .map(({ body }) => decodeRecord(body))
    .filter(({ subject }) => subject.actor === "user" && subject.userId === userId)

describe("POST /v1/events/import", () => {
  it("applies the rules to events of any age", async () => {
    const times = [
      "1970-01-01T00:00:00.000Z",
      "0001-01-01T00:00:00.000Z",
      "2019-06-30T23:59:59.999Z",
    ]
    const { json, status } = await send(times.map((occurredAt) => event("old", { occurredAt })))
    expect([status, json.accepted]).toEqual([200, 3])
    expect(
      json.results.map((result: { readonly occurredAt: string }) => result.occurredAt),
    ).toEqual(times)
    expect((await server.call("GET", "/v1/users/old")).json.xp).toBe(30)
    const tooEarly = { events: [event("old", { occurredAt: times[2] })] }
    const batch = await server.call("POST", "/v1/events/batch", { body: tooEarly })
    expect(batch.json.results[0]).toMatchObject({ status: 400, code: "invalid_request" })
  })

  it("dates badges and quests with the events that earned and completed them", async () => {
    const action = "DATED"
    const body = { name: "Dated", criteria: { kind: "action_count", action, target: 2 } }
    await server.call("POST", "/v1/badges", { body })
    const steps = [{ key: "do", action, target: 2 }]
    const startsAt = "0001-01-01T00:00:00.000Z"
    const quest = { key: "dated", title: "Dated", reward: { xp: 1 }, steps, startsAt }
    await server.call("POST", "/v1/quests", { body: quest })
    const times = [startsAt, "2019-06-30T23:59:59.999Z"]
    for (const [userId, order] of [
      ["dated", times],
      ["dated-backwards", times.toReversed()],
    ] as const) {
      const { json } = await send(order.map((occurredAt) => event(userId, { action, occurredAt })))
      const [, at] = order
      expect(json.results[1].badges).toMatchObject([{ name: "Dated", earnedAt: at }])
      const { json: user } = await server.call("GET", `/v1/users/${userId}`)
      expect(user.badges).toMatchObject([{ name: "Dated", earnedAt: at }])
      const { json: quests } = await server.call("GET", `/v1/users/${userId}/progress`)
      expect(quests.quests).toMatchObject([{ key: "dated", completedAt: at }])
    }
  })

  it("pays a limited rule for each period, in each order of arrival, and says why a rule paid nothing", async () => {
    const limited = { action: "DAILY", reward: { xp: 10 }, limit: { times: 1, per: "day" } }
    const { json: made } = await server.call("POST", "/v1/rules", { body: limited })
    const days = Array.from({ length: 100 }, (_, day) =>
      new Date(Date.parse("2026-01-01T12:00:00Z") + day * 86_400_000).toISOString(),
    )
    const [seed = 1] = seeds(1)
    const orders = { up: days, down: days.toReversed(), shuffled: new Random(seed).shuffled(days) }
    for (const [userId, order] of Object.entries(orders)) {
      await send(order.map((occurredAt) => event(userId, { action: "DAILY", occurredAt })))
      const { json } = await send([event(userId, { action: "DAILY", occurredAt: order[50] })])
      const withheld = [{ ruleId: made.id, reason: "limit" }]
      expect(json.results[0], `seed ${seed}`).toMatchObject({
        xp: { earned: 0, total: 1_000 },
        withheld,
      })
    }
  })

  it("accepts times in the future as far as other events do", async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const { json } = await send([
      event("ahead", { occurredAt: at(limits.occurredAtFutureMs) }),
      // The clock runs on until the server reads it.
      event("ahead", { occurredAt: at(limits.occurredAtFutureMs + waitMs) }),
    ])
    expect([json.accepted, json.rejected]).toEqual([1, 1])
    expect(json.results[1].errors).toMatchObject([
      { pointer: "/events/1/occurredAt", code: "out_of_range" },
    ])
  })

  it("sends no messages, unlike other events", async () => {
    await send([event("silent")])
    await server.call("POST", "/v1/events", { body: event("loud") })
    expect(recordsOf("silent").map(isSilent)).toEqual([true])
    expect(recordsOf("loud").map(isSilent)).toEqual([false])
  })

  it("shares ids with other events, and answers a repeat as the first time", async () => {
    await server.call("POST", "/v1/events", { body: event("twice", { id: "a" }) })
    const headers = { "idempotency-key": "import-1" }
    const first = await send([event("twice", { id: "a" }), event("twice")], headers)
    expect([first.json.accepted, first.json.duplicates]).toEqual([1, 1])
    const again = await send([event("twice", { id: "a" }), event("twice")], headers)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.json).toEqual(first.json)
    const elsewhere = await server.call("POST", "/v1/events/batch", {
      body: { events: [event("twice", { id: "a" }), event("twice")] },
      headers,
    })
    expect(elsewhere.status).toBe(422)
    expect((await server.call("GET", "/v1/users/twice")).json.xp).toBe(20)
  })

  it("accepts NDJSON, and 1 to 1,000 events", async () => {
    const body = `${JSON.stringify(event("line"))}\n${JSON.stringify(event("line"))}\n`
    const lines = await server.call("POST", path, {
      body,
      headers: { "content-type": "application/x-ndjson" },
    })
    expect(lines.json.accepted).toBe(2)
    expect((await send([])).status).toBe(400)
    const most = Array.from({ length: limits.batchItemsMax }, () => event("many"))
    expect((await send(most)).json.accepted).toBe(limits.batchItemsMax)
    expect((await send([...most, event("many")])).status).toBe(400)
  })

  it("is not for keys that only ingest or read", async () => {
    for (const scope of ["ingest", "read"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}`, { scope })
      const { json, status } = await server.call("POST", path, { key, body: { events: [] } })
      expect([status, json.code]).toEqual([403, "insufficient_scope"])
    }
  })
})
