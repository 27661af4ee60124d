import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "DONE", reward: { xp: 10 } } })
})
afterAll(() => server.stop())

const path = "/v1/events/batch"
const event = (userId: string, more: object = {}) => ({ userId, action: "DONE", ...more })
const send = (events: unknown, more: object = {}) =>
  server.call("POST", path, { body: { events, ...more } })
const sendLines = (body: string | Buffer) =>
  server.call("POST", path, { body, headers: { "content-type": "application/x-ndjson" } })
const lines = (events: ReadonlyArray<unknown>) =>
  events.map((each) => JSON.stringify(each)).join("\n")
const xpOf = async (userId: string) => (await server.call("GET", `/v1/users/${userId}`)).json.xp

describe("a batch", () => {
  it("answers every event in the order of the request", async () => {
    const { json, status } = await send([event("a"), event("b"), event("a")])
    expect(status).toBe(200)
    const { results, ...counts } = json
    expect(counts).toEqual({ accepted: 3, duplicates: 0, differing: 0, rejected: 0 })
    expect(
      results.map(({ userId, xp }: (typeof json.results)[number]) => [userId, xp.total]),
    ).toEqual([
      ["a", 10],
      ["b", 10],
      ["a", 20],
    ])
  })

  it("applies the events after a refused one, and points to each fault", async () => {
    const { json } = await send([
      event("mixed"),
      { userId: "", acton: "DONE" },
      event("mixed", { action: "QUEST_COMPLETE" }),
      event("mixed", { action: "QUEST_COMPLETE", metadata: { questId: "qst_none" } }),
      5,
      event("mixed", { id: "same" }),
      event("mixed", { id: "same" }),
    ])
    const { accepted, duplicates, rejected, results } = json
    expect([accepted, duplicates, rejected]).toEqual([2, 1, 4])
    expect(results.map(({ ok }: (typeof json.results)[number]) => ok)).toEqual([
      true,
      false,
      false,
      false,
      false,
      true,
      true,
    ])
    expect(results[1]).toEqual({
      ok: false,
      status: 400,
      code: "invalid_request",
      detail: "The event is invalid.",
      errors: expect.arrayContaining([
        { pointer: "/events/1/userId", code: "too_short", detail: "must not be empty" },
        { pointer: "/events/1/acton", code: "unknown_member", detail: "is unknown" },
        { pointer: "/events/1/action", code: "missing", detail: "is required" },
      ]),
    })
    expect(results[2].errors[0].pointer).toBe("/events/2/metadata/questId")
    expect([results[3].status, results[3].code, results[3].errors]).toEqual([
      404,
      "quest_not_found",
      [],
    ])
    expect(results[4].errors).toEqual([
      { pointer: "/events/4", code: "invalid_type", detail: "must be an object" },
    ])
    expect([results[5].duplicate, results[6].duplicate]).toEqual([false, true])
    expect(await xpOf("mixed")).toBe(20)
  })

  it("has 1 to 1000 events", async () => {
    const many = (count: number) => Array.from({ length: count }, () => event("many"))
    expect((await send(many(limits.batchItemsMax))).json.accepted).toBe(1_000)
    for (const [events, code] of [
      [[], "too_short"],
      [many(limits.batchItemsMax + 1), "too_long"],
      [{}, "invalid_type"],
      [undefined, "missing"],
    ] as const) {
      const { json, status } = await send(events)
      expect([status, json.errors[0].pointer, json.errors[0].code]).toEqual([400, "/events", code])
    }
    expect((await send([event("x")], { evnts: 1 })).json.errors[0].pointer).toBe("/evnts")
    expect(await xpOf("many")).toBe(10_000)
  })

  it("has at most 8 MiB, and not a byte more", async () => {
    const body = JSON.stringify({ events: [event("big")] })
    const largest = body + " ".repeat(limits.batchBodyBytesMax - body.length)
    expect((await server.call("POST", path, { body: largest })).status).toBe(200)
    for (const headers of [{}, { "transfer-encoding": "chunked" }] as const) {
      const { json, status } = await server.call("POST", path, {
        body: `${largest} `,
        headers: { ...headers },
      })
      expect([status, json.code]).toEqual([413, "body_too_large"])
    }
    expect(await xpOf("big")).toBe(10)
  })

  it("of the maximum size is applied in order, although it is decoded in many turns", async () => {
    const text = "x".repeat(8_000)
    const events = Array.from({ length: 1_000 }, (_, i) =>
      event(`large-${i % 7}`, { metadata: { i, text } }),
    )
    const { json, status } = await send(events)
    expect([status, json.accepted]).toEqual([200, 1_000])
    const totals = json.results.map(({ xp }: (typeof json.results)[number]) => xp.total)
    expect(totals).toEqual(events.map((_, i) => 10 * (Math.floor(i / 7) + 1)))
  })

  it("with only faulty events gets a small reply", async () => {
    const name = "ü".repeat(300)
    const bad = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + name, 1]))
    const { json, text } = await send(Array.from({ length: 1_000 }, () => bad))
    expect(json.rejected).toBe(1_000)
    expect(json.results[0].errors).toHaveLength(limits.batchEventFaultsMax)
    expect(Buffer.byteLength(text)).toBeLessThan(limits.recordBytesMax)
  })
})

describe("a batch as NDJSON", () => {
  it("has one event per line, with any line ending and any number of blank lines", async () => {
    const events = [event("n1"), event("n2")]
    const bodies = [
      lines(events),
      `${lines(events)}\n`,
      lines(events).replaceAll("\n", "\r\n"),
      `${lines(events).replaceAll("\n", "\r\n")}\r\n`,
      `\n\n${lines(events).replaceAll("\n", "\n\n \t\n")}\n\r\n\n`,
    ]
    for (const body of bodies) {
      const { json } = await sendLines(body)
      expect([json.accepted, json.results.length]).toEqual([2, 2])
    }
    expect(await xpOf("n1")).toBe(50)
  })

  it("refuses broken lines alone, pointing at the event", async () => {
    const body = [
      JSON.stringify(event("l")),
      "{broken",
      "",
      '{"userId":"l"}',
      JSON.stringify(event("l", { action: "QUEST_COMPLETE" })),
      JSON.stringify(event("l", { metadata: { amount: 0 } })).replace("0}", "1e400}"),
      JSON.stringify(event("not UTF-8: ÿ")),
      JSON.stringify(event("l")),
    ].join("\n")
    const { json } = await sendLines(Buffer.from(body, "latin1"))
    const told = json.results.map(({ code, errors }: (typeof json.results)[number]) => [
      code,
      errors?.[0]?.pointer,
    ])
    expect(told).toEqual([
      [undefined, undefined],
      ["invalid_json", undefined],
      ["invalid_request", "/2/action"],
      ["invalid_request", "/3/metadata/questId"],
      ["invalid_request", "/4/metadata"],
      ["invalid_json", undefined],
      [undefined, undefined],
    ])
  })

  it("has 1 to 1000 lines", async () => {
    const many = (count: number) => lines(Array.from({ length: count }, () => event("nd")))
    expect((await sendLines(many(1_000))).json.accepted).toBe(1_000)
    expect((await sendLines(`${many(1_000)}\n`)).json.accepted).toBe(1_000)
    expect((await sendLines(many(1_001))).json.errors[0].code).toBe("too_long")
    expect((await sendLines("")).json.errors[0].code).toBe("too_short")
  })

  it("is refused by the operation for single events", async () => {
    const { status } = await server.call("POST", "/v1/events", {
      body: lines([event("x")]),
      headers: { "content-type": "application/x-ndjson" },
    })
    expect(status).toBe(415)
  })
})
