/** Sources of trackers: definitions with the rules for messages of Segment and PostHog. */
import { Analytics } from "@segment/analytics-node"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `trackerSources${places++}`)

const segment = (place: Place, batch: ReadonlyArray<object>) =>
  place.post("/v1/ingest/segment/batch", { batch })
const posthog = (place: Place, batch: ReadonlyArray<object>) =>
  place.post("/v1/ingest/posthog/batch/", { batch })

const actionsOf = async (place: Place, userId = "ada") => {
  const { json } = await place.get(`/v1/users/${userId}/history?kind=event.tracked`)
  return json.facts
    .map(({ cause }: { cause: { action: string; metadata: object } }) => [
      cause.action,
      cause.metadata,
    ])
    .toReversed()
}

const orderPaid = {
  event: "Order Completed",
  where: [{ path: "/properties/total", op: "gt", value: 0 }],
  action: "ORDER_PAID",
  metadata: { total: "/properties/total", page: "/context/page/path" },
}
const web = { key: "web", name: "Web", kind: "segment", mappings: [orderPaid] }
const track = (event: string, properties: object, messageId = event) => ({
  ...{ type: "track", userId: "ada", event, properties, messageId },
  context: { page: { path: "/shop" } },
})

describe("A source of a tracker", () => {
  it("makes an event of the messages that a mapping matches, and leaves the others as they were", async () => {
    const place = newPlace()
    await place.create("/v1/sources", web)
    const batch = [
      track("Order Completed", { total: 5, secret: 1 }),
      track("Order Completed", { total: 0 }, "free"),
      track("Lesson Done", { score: 1 }),
      { type: "page", userId: "ada", messageId: "p1" },
    ]
    expect((await segment(place, batch)).json).toMatchObject({ accepted: 3, ignored: 1 })
    expect(await actionsOf(place)).toEqual([
      ["ORDER_PAID", { total: 5, page: "/shop" }],
      ["ORDER_COMPLETED", { total: 0 }],
      ["LESSON_DONE", { score: 1 }],
    ])
    expect((await segment(place, batch)).json).toMatchObject({ accepted: 0, duplicates: 3 })
  })

  it("counts a message once, also if a mapping changed before it was sent again", async () => {
    const place = newPlace()
    await segment(place, [track("Order Completed", { total: 5 })])
    await place.create("/v1/sources", web)
    expect((await segment(place, [track("Order Completed", { total: 5 })])).json).toMatchObject({
      accepted: 0,
      duplicates: 1,
    })
    expect(await actionsOf(place)).toEqual([["ORDER_COMPLETED", { total: 5 }]])
  })

  it("takes the first mapping that matches, the user and the time of a pointer, and page views that it names", async () => {
    const place = newPlace()
    const mappings = [
      { event: "page", action: "PAGE_SEEN", metadata: { name: "/name" } },
      { event: "Sold", action: "SALE", userId: "/properties/seller", occurredAt: "/properties/at" },
      { action: "ANYTHING" },
    ]
    await place.create("/v1/sources", { ...web, mappings })
    const at = Math.floor(Date.now() / 1_000) - 3_600
    const batch = [
      { type: "page", userId: "ada", name: "Home", messageId: "p1" },
      { type: "screen", userId: "ada", name: "Home", messageId: "s1" },
      track("Sold", { seller: 42, at }),
      track("Sold", { at }, "nobody"),
      track("Else", {}),
    ]
    const { json } = await segment(place, batch)
    expect(json).toMatchObject({ accepted: 3, ignored: 1, rejected: 1 })
    expect(json.refusals[0]).toMatchObject({ index: 3, errors: [{ pointer: "/batch/3" }] })
    expect(await actionsOf(place)).toEqual([
      ["PAGE_SEEN", { name: "Home" }],
      ["ANYTHING", {}],
    ])
    const { facts } = (await place.get("/v1/users/42/history?kind=event.tracked")).json
    expect(facts[0].cause).toMatchObject({
      action: "SALE",
      occurredAt: new Date(at * 1_000).toISOString(),
    })
  })

  it("may ignore other events and aliases, and choose traits", async () => {
    const place = newPlace()
    const traits = {
      displayName: "/profile/nick",
      attributes: { plan: "/company/plan", tier: "/t" },
    }
    const tracker = { unmapped: "ignored", aliases: "ignored", traits }
    const { json: made } = await place.post("/v1/sources", { ...web, tracker })
    expect(made).toMatchObject({ tracker, path: "/v1/ingest/segment/batch", secret: null })
    await place.track("visitor", "TAP")
    const batch = [
      track("Lesson Done", {}),
      { type: "alias", userId: "ada", previousId: "visitor" },
      {
        ...{ type: "identify", userId: "ada", messageId: "i1" },
        traits: {
          name: "A",
          plan: "x",
          profile: { nick: "Ada" },
          company: { plan: "pro" },
          t: [1],
        },
      },
      { type: "identify", userId: "ada", messageId: "i2", traits: { name: "B" } },
    ]
    expect((await segment(place, batch)).json).toMatchObject({ accepted: 1, ignored: 3 })
    const { json: user } = await place.get("/v1/users/ada")
    expect([user.displayName, user.attributes]).toEqual(["Ada", { plan: "pro" }])
    expect((await place.get("/v1/users/visitor")).status).toBe(200)
    // A patch replaces the rules.
    await place.patch("/v1/sources/web", { tracker: { aliases: "ignored" } })
    expect((await place.get("/v1/sources/web")).json.tracker).toEqual({ aliases: "ignored" })
  })

  it("reads the messages of PostHog, too", async () => {
    const place = newPlace()
    const mappings = [
      { event: "$pageview", action: "PAGE_SEEN", metadata: { url: "/properties/$current_url" } },
      { event: "order completed", action: "ORDER_PAID" },
    ]
    const tracker = { traits: { attributes: { plan: "/plan" } } }
    await place.create("/v1/sources", { key: "ph", name: "Ph", kind: "posthog", mappings, tracker })
    const sent = (event: string, properties: object, uuid = event) => ({
      ...{ event, distinct_id: "ada", properties, uuid },
    })
    const batch = [
      sent("$pageview", { $current_url: "/a" }),
      sent("$pageleave", {}),
      sent("order completed", { total: 5, $lib: "x" }),
      sent("$identify", { $set: { name: "A", plan: "pro" } }),
    ]
    expect((await posthog(place, batch)).json).toMatchObject({ accepted: 3, ignored: 1 })
    expect(await actionsOf(place)).toEqual([
      ["PAGE_SEEN", { url: "/a" }],
      ["ORDER_PAID", { total: 5 }],
    ])
    expect((await place.get("/v1/users/ada")).json.attributes).toEqual({ plan: "pro" })
    // The rules of one tracker are not those of the other.
    await segment(place, [track("order completed", {}, "s")])
    expect((await actionsOf(place)).at(-1)).toEqual(["ORDER_COMPLETED", {}])
  })

  it("has no effect while it is not active, nor in another environment; of two the first applies", async () => {
    const [place, other] = [newPlace(), newPlace()]
    await place.create("/v1/sources", web)
    await place.patch("/v1/sources/web", { status: "paused" })
    await place.create("/v1/sources", { ...web, key: "second", mappings: [{ action: "SECOND" }] })
    const send = async (to: Place, id: string) => {
      await segment(to, [track("Order Completed", { total: 5 }, id)])
      return (await actionsOf(to)).at(-1)[0]
    }
    expect(await send(other, "a")).toBe("ORDER_COMPLETED")
    expect(await send(place, "b")).toBe("SECOND")
    await place.patch("/v1/sources/web", { status: "active" })
    expect(await send(place, "c")).toBe("ORDER_PAID")
    await place.delete("/v1/sources/web")
    await place.delete("/v1/sources/second")
    expect(await send(place, "d")).toBe("ORDER_COMPLETED")
  })

  it("tells what arrived, with the reasons of refusals that libraries do not show", async () => {
    const place = newPlace()
    await place.create("/v1/sources", web)
    await segment(place, [
      track("Order Completed", { total: 5 }),
      track("Order Completed", { total: 5 }),
      { type: "page" },
      { type: "track", event: "No User", messageId: "n" },
    ])
    const { receipts } = (await place.get("/v1/sources/web")).json
    expect(receipts).toMatchObject({
      deliveries: 1,
      events: 1,
      duplicates: 1,
      ignored: 1,
      refused: 1,
    })
    expect(receipts.failures).toMatchObject([
      {
        code: "invalid_request",
        mapping: null,
        detail: expect.stringContaining("/batch/3/anonymousId"),
      },
    ])
  })

  it("serves Segment's own library", async () => {
    const place = newPlace()
    await place.create("/v1/sources", web)
    const analytics = new Analytics({
      ...{ writeKey: place.key, host: server.url, path: "/v1/ingest/segment/batch", maxRetries: 0 },
    })
    analytics.track({ userId: "ada", event: "Order Completed", properties: { total: 7 } })
    await analytics.closeAndFlush()
    expect(await actionsOf(place)).toEqual([["ORDER_PAID", { total: 7 }]])
  })
})

describe("The definition of a source of a tracker", () => {
  it("has no secret, and no address without a key", async () => {
    const place = newPlace()
    expect(faultsOf(await place.post("/v1/sources", { ...web, secret: "x".repeat(32) }))).toEqual([
      ["/secret", "invalid_value"],
    ])
    const id = await place.create("/v1/sources", web)
    const rotated = await place.post("/v1/sources/web/rotate-secret", { secret: "x".repeat(32) })
    expect(problemOf(rotated)).toEqual([409, "invalid_transition"])
    const [, name] = place.key.split("lk_test_")
    const url = `${server.url}/v1/ingest/prj_${name}/sandbox/${id}`
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(404)
  })

  it("is refused with every fault, and other kinds need what a tracker's may lack", async () => {
    const place = newPlace()
    const tooMany = Object.fromEntries(
      Array.from({ length: limits.attributesMax + 1 }, (_, index) => [`a${index}`, "/a"]),
    )
    const tracker = { unmapped: "x", traits: { displayName: "no", attributes: tooMany } }
    expect(faultsOf(await place.post("/v1/sources", { ...web, tracker }))).toEqual([
      ["/tracker/traits/attributes", "too_long"],
      ["/tracker/unmapped", "invalid_value"],
      ["/tracker/traits/displayName", "invalid_format"],
    ])
    const hook = { ...web, kind: "github", tracker: {} }
    expect(faultsOf(await place.post("/v1/sources", hook))).toEqual([
      ["/tracker", "invalid_value"],
      ["/mappings/0/userId", "missing"],
    ])
    const full = { ...web, mappings: Array(limits.sourceMappingsMax).fill({ action: "A" }) }
    await place.create("/v1/sources", full)
    expect(
      faultsOf(
        await place.patch("/v1/sources/web", { mappings: [...full.mappings, { action: "A" }] }),
      ),
    ).toEqual([["/mappings", "too_long"]])
  })

  it("goes to another environment by a file of definitions", async () => {
    const [place, other] = [newPlace(), newPlace()]
    const tracker = { unmapped: "ignored", traits: { attributes: { plan: "/plan" } } }
    await place.create("/v1/sources", { ...web, tracker })
    await place.create("/v1/sources", { ...web, key: "plain" })
    const { json: file } = await place.get("/v1/definitions")
    expect(file.sources).toMatchObject([{ ...web, tracker }, { key: "plain" }])
    expect(file.sources[1].tracker).toBeUndefined()
    const apply = () =>
      other.post("/v1/definitions/apply", { definitions: { sources: file.sources } })
    expect((await apply()).status).toBe(200)
    expect((await other.get("/v1/sources/web")).json).toMatchObject({
      mappings: [orderPaid],
      tracker,
    })
    expect((await apply()).json.changes).toEqual([])
    const changed = [{ ...file.sources[1], key: "web" }]
    await other.post("/v1/definitions/apply", { definitions: { sources: changed } })
    expect((await other.get("/v1/sources/web")).json.tracker).toEqual({})
  })

  it("is tried on a batch or on one message, and changes nothing", async () => {
    const place = newPlace()
    const preview = (body: object, more: object = {}) =>
      place.post("/v1/sources/preview", {
        source: { ...{ kind: "segment" }, mappings: [orderPaid], ...more },
        body,
      })
    const batch = [
      track("Order Completed", { total: 5 }),
      { type: "track", event: "Lesson Done", anonymousId: "v" },
      { type: "identify", userId: "ada", traits: { name: "Ada", plan: "pro", email: "a@b.c" } },
      { type: "alias", userId: "ada", previousId: "v" },
      { type: "page" },
      { type: "track", event: "Lost" },
      7,
    ]
    const { json } = await preview({ batch })
    const nothing = { mapping: null, event: null, faults: [] }
    expect(json.results).toEqual([
      {
        ...{ message: 0, mapping: 0, faults: [] },
        event: {
          ...{ userId: "ada", action: "ORDER_PAID", id: "Order Completed", occurredAt: null },
          metadata: { total: 5, page: "/shop" },
        },
      },
      {
        ...nothing,
        message: 1,
        event: { userId: "v", action: "LESSON_DONE", id: null, occurredAt: null, metadata: {} },
      },
      {
        ...nothing,
        message: 2,
        profile: { userId: "ada", displayName: "Ada", attributes: { plan: "pro" } },
      },
      { ...nothing, message: 3, merge: { userId: "v", into: "ada" } },
      { ...nothing, message: 4 },
      {
        ...nothing,
        message: 5,
        faults: [expect.objectContaining({ pointer: "/batch/5/anonymousId" })],
      },
      { ...nothing, message: 6, faults: [expect.objectContaining({ pointer: "/batch/6" })] },
    ])
    const one = await preview(batch[1] as object, { tracker: { unmapped: "ignored" } })
    expect(one.json.results).toEqual([{ ...nothing, message: 0 }])
    expect((await place.get("/v1/users/ada")).status).toBe(404)
    expect((await place.get("/v1/actions")).json.actions).toEqual([])
  })

  it("selects no more than an event may carry", async () => {
    const place = newPlace()
    const list = Array.from({ length: 3_000 }, (_, index) => `item-${index}`)
    const mappings = [
      { action: "A", metadata: { list: "/properties/list", again: "/properties/list" } },
    ]
    await place.create("/v1/sources", { ...web, mappings })
    const { json } = await segment(place, [track("Big", { list }), track("Small", { list: [1] })])
    expect(json).toMatchObject({ accepted: 1, rejected: 1 })
    expect(json.refusals[0].errors[0]).toMatchObject({ code: "too_large" })
    // Only a parser makes members with this name.
    const odd = JSON.parse('{"__proto__":{"x":1},"a/b":2,"m~n":3}')
    const metadata = JSON.parse(
      '{"__proto__":"/properties/__proto__/x","slash":"/properties/a~1b","tilde":"/properties/m~0n"}',
    )
    const tried = await place.post("/v1/sources/preview", {
      source: { kind: "segment", mappings: [{ action: "A", metadata }] },
      body: { type: "track", event: "E", userId: "u", properties: odd },
    })
    expect(tried.json.results[0].event.metadata).toMatchObject({ slash: 2, tilde: 3 })
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })
})
