/** Repeats of callers' ids over HTTP: outcomes, what differs, and what was revoked since. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "DONE", reward: { xp: 10 } } })
})
afterAll(() => server.stop())

const post = async (path: string, body: unknown, headers = {}) => {
  const { json, status, text } = await server.call("POST", path, { body, headers })
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
  return json
}
const lesson = (userId: string, number: number, more: object = {}) => ({
  userId,
  action: "DONE",
  id: "lesson",
  metadata: { lesson: number, parts: { b: 1, a: [1, 2] } },
  ...more,
})
const differing = { duplicate: true, differs: ["/metadata/lesson"] }
const xpOf = async (userId: string) => (await server.call("GET", `/v1/users/${userId}`)).json.xp

describe("A repeated event", () => {
  it("has the first outcome, and names the members that are not those of the first", async () => {
    const first = await post("/v1/events", lesson("single", 7))
    expect(first).not.toHaveProperty("differs")
    expect(first).not.toHaveProperty("revoked")
    expect(await post("/v1/events", lesson("single", 7))).toEqual({ ...first, duplicate: true })
    // The same values, spelled in another way.
    const spelled = `{"metadata":{"parts":{"a":[1.0,2e0],"b":1},"lesson":70e-1},"id":"lesson","action":"DONE","userId":"single"}`
    expect(await post("/v1/events", spelled)).toEqual({ ...first, duplicate: true })
    const other = lesson("single", 8, { action: "READ" })
    expect(await post("/v1/events", other)).toEqual({
      ...first,
      duplicate: true,
      differs: ["/action", "/metadata/lesson"],
    })
    const { metadata: _, ...bare } = lesson("single", 7)
    expect((await post("/v1/events", bare)).differs).toEqual(["/metadata"])
    expect(await xpOf("single")).toBe(10)
  })

  it("may have a fresh time; two times are compared as moments", async () => {
    const at = (ms: number) => new Date(Date.now() - ms).toISOString()
    await post("/v1/events", lesson("timed", 7))
    const dated = lesson("timed", 7, { occurredAt: at(1_000) })
    expect(await post("/v1/events", dated)).not.toHaveProperty("differs")

    const time = at(60_000)
    await post("/v1/events", lesson("dated", 7, { occurredAt: time }))
    const inBerlin = `${new Date(Date.parse(time) + 3_600_000).toISOString().slice(0, -1)}+01:00`
    for (const [occurredAt, differs] of [
      [time, undefined],
      [inBerlin, undefined],
      [undefined, undefined],
      [at(0), ["/occurredAt"]],
    ] as const) {
      const { duplicate, ...reply } = await post("/v1/events", lesson("dated", 7, { occurredAt }))
      expect([occurredAt, duplicate, reply.differs]).toEqual([occurredAt, true, differs])
    }
  })

  it("tells that the first was revoked; its id stays used", async () => {
    const first = await post("/v1/events", lesson("undone", 7))
    await server.call("DELETE", `/v1/users/undone/events/${first.eventId}`)
    const again = { ...first, duplicate: true, revoked: true }
    expect(await post("/v1/events", lesson("undone", 7))).toEqual(again)
    const differs = ["/metadata/lesson"]
    expect(await post("/v1/events", lesson("undone", 8))).toEqual({ ...again, differs })
    expect(await xpOf("undone")).toBe(0)
  })

  it("names at most differencesMax members", async () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]))
    await post("/v1/events", lesson("many", 0, { metadata: {} }))
    for (const count of [limits.differencesMax, limits.differencesMax + 1]) {
      const { differs } = await post("/v1/events", lesson("many", 0, { metadata: many(count) }))
      expect(differs).toHaveLength(limits.differencesMax)
    }
  })

  it("is reported by a simulation, with what differs", async () => {
    await post("/v1/events", lesson("tried", 7))
    const simulated = await post("/v1/project/simulate", lesson("tried", 8))
    expect(simulated).toMatchObject(differing)
    expect(simulated).not.toHaveProperty("revoked")
  })

  it("of the same id at the same time is compared with the event that was first", async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, number) => post("/v1/events", lesson("raced", number))),
    )
    const firsts = replies.filter(({ duplicate }) => !duplicate)
    expect(firsts).toHaveLength(1)
    const again = replies.filter(({ duplicate }) => duplicate)
    expect(again).toEqual(again.map(() => ({ ...firsts[0], ...differing })))
  })
})

describe("Repeated events in a batch", () => {
  const paths = ["/v1/events/batch", "/v1/events/import"]
  const counts = { accepted: 1, duplicates: 2, differing: 1, rejected: 0 }
  const ndjson = { "content-type": "application/x-ndjson" }
  const forms = [
    ["JSON", (events: ReadonlyArray<unknown>) => ({ events }), {}],
    [
      "NDJSON",
      (events: ReadonlyArray<unknown>) => events.map((one) => JSON.stringify(one)).join("\n"),
      ndjson,
    ],
  ] as const

  it.each(paths)("are compared one by one, in JSON and NDJSON: %s", async (path) => {
    for (const [form, bodyOf, headers] of forms) {
      const userId = `${form}-${path.slice(11)}`
      const body = bodyOf([lesson(userId, 7), lesson(userId, 8), lesson(userId, 7)])
      const { results, ...rest } = await post(path, body, headers)
      expect(rest).toEqual(counts)
      const [first, second, third] = results
      expect(second).toEqual({ ...first, ...differing })
      expect(third).toEqual({ ...first, duplicate: true })
      // An import repeats what was sent, and is repeated, by any other way.
      const alone = await post("/v1/events", lesson(userId, 7))
      expect({ ok: true, ...alone }).toEqual({ ...first, duplicate: true })
    }
  })

  it.each(paths)("are counted with Prefer: return=minimal: %s", async (path) => {
    const userId = `minimal-${path.slice(11)}`
    const events = [lesson(userId, 7), lesson(userId, 8), lesson(userId, 7)]
    const minimal = { prefer: "return=minimal" }
    expect(await post(path, { events }, minimal)).toEqual({ ...counts, refusals: [] })
    const again = { accepted: 0, duplicates: 3, differing: 1, rejected: 0, refusals: [] }
    expect(await post(path, { events }, minimal)).toEqual(again)
  })

  it("have the same members when the batch is replayed by its Idempotency-Key", async () => {
    const key = { "idempotency-key": "batch-of-repeats" }
    const { eventId } = await post("/v1/events", lesson("replayed", 7, { id: "gone" }))
    await server.call("DELETE", `/v1/users/replayed/events/${eventId}`)
    const { eventId: later } = await post("/v1/events", lesson("replayed", 7, { id: "later" }))
    const events = ["gone", "later", "new"].map((id) => lesson("replayed", 8, { id }))
    const body = { events: [{ userId: "" }, ...events, { userId: "replayed", action: "DONE" }] }
    const first = await post("/v1/events/batch", body, key)
    expect(first).toMatchObject({ accepted: 2, duplicates: 2, differing: 2, rejected: 1 })
    expect(first.results.slice(1, 4)).toMatchObject([
      { ...differing, revoked: true },
      differing,
      { duplicate: false },
    ])
    // What happens after the batch does not change its reply.
    await server.call("DELETE", `/v1/users/replayed/events/${later}`)
    const again = await server.call("POST", "/v1/events/batch", { body, headers: key })
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.json).toEqual(first)
  })
})

describe("A repeated reward", () => {
  const path = "/v1/users/rich/rewards"

  it("has the first outcome, what differs, and whether the first was revoked", async () => {
    const grant = { type: "xp", amount: 5, id: "welcome", reason: "Hello" }
    const first = await post(path, grant)
    expect(await post(path, grant)).toEqual({ ...first, duplicate: true })
    const other = { type: "points", amount: 6, id: "welcome" }
    const again = {
      ...first,
      duplicate: true,
      differs: ["/type", "/amount", "/reason"],
    }
    expect(await post(path, other)).toEqual(again)
    await server.call("DELETE", `${path}/welcome`)
    expect(await post(path, other)).toEqual({ ...again, revoked: true })
    expect(await xpOf("rich")).toBe(0)
  })
})

describe("A repeated spend", () => {
  const path = "/v1/users/payer/points/spend"
  const spend = (body: unknown, headers = {}) => server.call("POST", path, { body, headers })

  it("has the first outcome for the same content, and is 409 id_reused for any other", async () => {
    await post("/v1/users/payer/rewards", { type: "points", amount: 20 })
    const order = { amount: 6, reason: "A hint", id: "order-1" }
    const first = await post(path, order)
    expect(await post(path, order)).toEqual({ ...first, duplicate: true })
    for (const [body, differs] of [
      [{ ...order, amount: 7 }, ["/amount"]],
      [{ amount: 6, id: "order-1" }, ["/reason"]],
      [{ amount: 7, reason: "", id: "order-1" }, ["/amount", "/reason"]],
    ] as const) {
      for (const headers of [{}, { "idempotency-key": `spend ${differs}` }]) {
        const { headers: sent, json, status } = await spend(body, headers)
        expect([status, json.code, json.differs]).toEqual([409, "id_reused", differs])
        expect(sent["content-type"]).toContain("application/problem+json")
      }
    }
    await server.call("DELETE", `${path}/order-1`)
    expect(await post(path, order)).toEqual({ ...first, duplicate: true, revoked: true })
    expect((await spend({ ...order, amount: 7 })).json.code).toBe("id_reused")
    expect((await server.call("GET", "/v1/users/payer")).json.points).toBe(20)
  })

  it("at the same time with other content is refused for all but one content", async () => {
    await post("/v1/users/payer/rewards", { type: "points", amount: 100 })
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, n) => spend({ amount: 1 + (n % 4), id: "raced" })),
    )
    const paid = replies.filter(({ status }) => status === 200).map(({ json }) => json)
    expect(paid).toHaveLength(10)
    expect(paid.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    expect(new Set(paid.map(({ amount }) => amount)).size).toBe(1)
    const refused = replies.filter(({ status }) => status !== 200).map(({ json }) => json)
    expect(refused).toMatchObject(refused.map(() => ({ code: "id_reused", differs: ["/amount"] })))
  })
})
