/** `Prefer: return=minimal` of batches and imports. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let outcome: "unknown" | "failed" | undefined
beforeAll(async () => {
  server = await startServer({
    wrapEngine: (engine) => ({
      ...engine,
      tellUsers: (environment, messages) =>
        Effect.map(engine.tellUsers(environment, messages), (tally) => {
          if (outcome === undefined) return tally
          const code = outcome === "unknown" ? "storage_unavailable" : "internal_error"
          return { ...tally, refusals: [{ index: 0, error: laurelError(code, "It failed.") }] }
        }),
    }),
  })
  await server.call("POST", "/v1/rules", { body: { action: "DONE", reward: { xp: 10 } } })
})
afterAll(() => server.stop())

const event = (userId: string, more: object = {}) => ({ userId, action: "DONE", ...more })
const send = (
  events: ReadonlyArray<unknown>,
  headers: Record<string, string> = { prefer: "return=minimal" },
  path = "/v1/events/batch",
) => server.call("POST", path, { body: { events }, headers })
const xpOf = async (userId: string) => (await server.call("GET", `/v1/users/${userId}`)).json.xp

describe("A batch with Prefer: return=minimal", () => {
  it.each(["/v1/events/batch", "/v1/events/import"])("gets counts alone: %s", async (path) => {
    const userId = `counted-by-${path.slice(11)}`
    const events = [event(userId), event(userId, { id: "same" }), event(userId, { id: "same" })]
    const { headers, json, status } = await send(events, undefined, path)
    expect(status).toBe(200)
    expect(headers["preference-applied"]).toBe("return=minimal")
    expect(json).toEqual({ accepted: 2, duplicates: 1, differing: 0, rejected: 0, refusals: [] })
    expect(await xpOf(userId)).toBe(20)
  })

  it("gets each refusal with the index of its event, as other batches do", async () => {
    const events = [
      event("mixed"),
      { userId: "", acton: "DONE" },
      event("mixed", { action: "QUEST_COMPLETE" }),
      event("mixed"),
      event("mixed", { action: "QUEST_COMPLETE", metadata: { questId: "qst_none" } }),
      5,
    ]
    const { json } = await send(events)
    const { json: whole } = await send(events, {})
    expect([json.accepted, json.duplicates, json.rejected]).toEqual([2, 0, 4])
    expect(json.refusals).toEqual([1, 2, 4, 5].map((index) => ({ index, ...whole.results[index] })))
    expect(json.refusals[1].errors[0].pointer).toBe("/events/2/metadata/questId")
  })

  it("as NDJSON gets the pointers of its lines", async () => {
    const body = [event("l"), event("l", { action: "QUEST_COMPLETE" })]
      .map((each) => JSON.stringify(each))
      .join("\n")
    const { json } = await server.call("POST", "/v1/events/batch", {
      body: `${body}\n{broken`,
      headers: { "content-type": "application/x-ndjson", prefer: "return=minimal" },
    })
    expect([json.accepted, json.refusals.map(({ code }: { code: string }) => code)]).toEqual([
      1,
      ["invalid_request", "invalid_json"],
    ])
    expect(json.refusals[0]).toMatchObject({
      index: 1,
      errors: [{ pointer: "/1/metadata/questId" }],
    })
  })

  it("is refused as a whole in the same cases as other batches", async () => {
    outcome = "unknown"
    expect((await send([event("u"), event("u")])).json.code).toBe("storage_unavailable")
    outcome = "failed"
    expect((await send([event("u")])).json.code).toBe("internal_error")
    const { json, status } = await send([event("u"), event("u")])
    expect([status, json.refusals[0].code]).toEqual([200, "internal_error"])
    outcome = undefined
  })

  it("may have other preferences, also in repeated fields", async () => {
    const both = await send([event("p")], { prefer: "wait=5, return=minimal" })
    expect(both.headers["preference-applied"]).toBe("return=minimal")
    const body = JSON.stringify({ events: [event("p")] })
    const reply = await server.raw(
      [
        "POST /v1/events/batch HTTP/1.1",
        "Host: x",
        "Connection: close",
        "Authorization: Bearer lk_test_full",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        "Prefer: wait=5",
        "Prefer: return=minimal",
        "",
        body,
      ].join("\r\n"),
    )
    expect(reply).toMatch(/^HTTP\/1.1 200 /)
    expect(reply).toContain("Preference-Applied: return=minimal\r\n")
  })

  it.each([
    "return=representation",
    "return",
    "return=",
    'return="minimal',
    "respond-async",
    '=,;"',
  ])("of any other value has all outcomes: %s", async (prefer) => {
    const { headers, json, status } = await send([event("o")], { prefer })
    expect([status, json.results.length]).toEqual([200, 1])
    expect(headers["preference-applied"]).toBeUndefined()
  })

  it("is replayed in the form of the first reply under an Idempotency-Key", async () => {
    const minimal = { prefer: "return=minimal" }
    for (const path of ["/v1/events/batch", "/v1/events/import"]) {
      const short = { "idempotency-key": `short ${path}` }
      const first = await send([event("k"), 5], { ...short, ...minimal }, path)
      for (const preferred of [minimal, {}]) {
        const again = await send([event("k"), 5], { ...short, ...preferred }, path)
        expect(again.headers).toMatchObject({
          "idempotency-replayed": "true",
          "preference-applied": "return=minimal",
        })
        expect(again.json).toEqual(first.json)
      }
      const long = { "idempotency-key": `long ${path}` }
      const whole = await send([event("k")], long, path)
      const again = await send([event("k")], { ...long, ...minimal }, path)
      expect(again.headers["idempotency-replayed"]).toBe("true")
      expect(again.headers["preference-applied"]).toBeUndefined()
      expect(again.json).toEqual(whole.json)
    }
    expect(await xpOf("k")).toBe(40)
  })

  it("keeps no failure of the server under an Idempotency-Key", async () => {
    const headers = { prefer: "return=minimal", "idempotency-key": "failed" }
    outcome = "failed"
    const first = await send([event("f", { id: "a" }), event("f", { id: "b" })], headers)
    outcome = undefined
    expect(first.json.refusals[0].status).toBe(500)
    const again = await send([event("f", { id: "a" }), event("f", { id: "b" })], headers)
    expect(again.headers["idempotency-replayed"]).toBeUndefined()
    expect(again.json).toEqual({
      accepted: 0,
      duplicates: 2,
      differing: 0,
      rejected: 0,
      refusals: [],
    })
  })

  it("is refused without effect if a field is above its bound", async () => {
    const longest = `return=minimal;a=${"b".repeat(limits.preferCharactersMax - 17)}`
    expect(longest).toHaveLength(limits.preferCharactersMax)
    const taken = await send([event("bounded")], { prefer: longest })
    expect([taken.status, taken.json.accepted]).toEqual([200, 1])
    const { json, status } = await send([event("bounded")], { prefer: `${longest}b` })
    expect([status, json.errors]).toEqual([
      400,
      [{ pointer: "header/prefer", code: "too_long", detail: "must have at most 1000 characters" }],
    ])
    expect(await xpOf("bounded")).toBe(10)
  })
})
