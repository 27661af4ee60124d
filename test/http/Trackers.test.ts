/** Events from the libraries of event trackers, which send to a real server. */
import { Analytics } from "@segment/analytics-node"
import { PostHog } from "posthog-node"
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
const newPlace = async () => {
  const place = new Place(server, `trackers${places++}`)
  await place.post("/v1/rules", { action: "ORDER_COMPLETED", reward: { xp: 60 } })
  return place
}

const segment = (place: Place, batch: ReadonlyArray<object>) =>
  place.post("/v1/ingest/segment/batch", { batch, writeKey: place.key, sentAt: "2026-01-01" })
const posthog = (place: Place, batch: ReadonlyArray<object>) =>
  place.post("/v1/ingest/posthog/batch/", { batch, api_key: "unused" })

const time = () => new Date(Date.now() - 1_000).toISOString()

describe("Segment's library", () => {
  it("sends events, traits and aliases with the key as its write key", async () => {
    const place = await newPlace()
    const analytics = new Analytics({
      writeKey: place.key,
      host: server.url,
      path: "/v1/ingest/segment/batch",
      maxRetries: 0,
    })
    const errors: Array<unknown> = []
    analytics.on("error", (error) => errors.push(error))
    analytics.track({
      anonymousId: "visitor-1",
      event: "Order Completed",
      properties: { total: 5 },
    })
    await analytics.flush()
    analytics.alias({ previousId: "visitor-1", userId: "ada" })
    analytics.identify({
      userId: "ada",
      traits: { name: "Ada", email: "ada@example.com", plan: "pro", avatar: "https://e.com/a.png" },
    })
    analytics.track({ userId: "ada", event: "Order Completed", properties: { total: 7 } })
    analytics.page({ userId: "ada", name: "Home" })
    await analytics.closeAndFlush()
    expect(errors).toEqual([])

    const { json: user } = await place.get("/v1/users/ada")
    expect(user).toMatchObject({
      displayName: "Ada",
      attributes: { plan: "pro", avatarUrl: "https://e.com/a.png" },
      xp: 120,
    })
    expect(Object.keys(user.attributes).toSorted()).toEqual(["avatarUrl", "plan"])
    const { facts } = (await place.get("/v1/users/ada/history?kind=event.tracked")).json
    expect(facts.map((fact: { cause: { metadata: object } }) => fact.cause.metadata)).toEqual([
      { total: 7 },
      { total: 5 },
    ])
  })
})

describe("PostHog's library", () => {
  it("sends events, traits and aliases with the key in a header", async () => {
    const place = await newPlace()
    const client = new PostHog("unused", {
      host: `${server.url}/v1/ingest/posthog`,
      fetch: (url, { headers, ...options }) =>
        fetch(url, {
          ...(options as RequestInit),
          headers: { ...headers, authorization: `Bearer ${place.key}` },
        }) as never,
      disableCompression: true,
      fetchRetryCount: 0,
    })
    const errors: Array<unknown> = []
    client.on("error", (error: unknown) => errors.push(error))
    client.capture({ distinctId: "visitor-1", event: "order completed", properties: { total: 5 } })
    await client.flush()
    client.alias({ distinctId: "ada", alias: "visitor-1" })
    client.identify({ distinctId: "ada", properties: { name: "Ada", plan: "pro" } })
    client.capture({ distinctId: "ada", event: "order completed", properties: { total: 7 } })
    await client.shutdown()
    expect(errors).toEqual([])

    const { json: user } = await place.get("/v1/users/ada")
    expect(user).toMatchObject({ displayName: "Ada", attributes: { plan: "pro" }, xp: 120 })
    const { facts } = (await place.get("/v1/users/ada/history?kind=event.tracked")).json
    expect(facts.map((fact: { cause: { metadata: object } }) => fact.cause.metadata)).toEqual([
      { total: 7 },
      { total: 5 },
    ])
  })
})

describe("A tracker's batch", () => {
  it("creates no user by an alias of an unknown one, and one by an alias of a known one", async () => {
    const place = await newPlace()
    const alias = (previousId: string) => [{ type: "alias", userId: "eve", previousId }]
    expect((await segment(place, alias("nobody"))).json).toMatchObject({
      refusals: [{ code: "user_not_found" }],
    })
    expect((await place.get("/v1/users/eve")).status).toBe(404)
    await place.track("visitor", "ORDER_COMPLETED")
    expect((await segment(place, alias("visitor"))).json).toMatchObject({ accepted: 1 })
    expect((await place.get("/v1/users/eve")).status).toBe(200)
  })

  it("counts once, however often it is sent", async () => {
    const place = await newPlace()
    const event = { type: "track", userId: "ada", event: "Order Completed", timestamp: time() }
    const batch = [{ ...event, messageId: "m1" }, { ...event, messageId: "m2" }, { type: "page" }]
    const first = await segment(place, batch)
    expect([first.status, first.json]).toEqual([
      200,
      { success: true, accepted: 2, duplicates: 0, ignored: 1, rejected: 0, refusals: [] },
    ])
    expect((await segment(place, batch)).json).toMatchObject({ accepted: 0, duplicates: 2 })
    expect((await place.get("/v1/users/ada")).json.xp).toBe(120)
  })

  it("makes an action of each name, and names what is wrong without refusing the rest", async () => {
    const place = await newPlace()
    const names = ["Order Completed", "orderCompleted", "order-completed ", "Ⓡ order  completed!"]
    const good = names.map((event, index) => ({
      type: "track",
      userId: "ada",
      event,
      messageId: `m${index}`,
    }))
    const bad = [
      { type: "track", userId: "ada", event: "注文" },
      { type: "track", userId: "ada", event: "7 orders" },
      { type: "track", event: "Order Completed" },
      { type: "track", userId: "ada", event: "Order Completed", timestamp: "yesterday" },
      { type: "track", userId: "ada", event: "Order Completed", properties: [] },
      { type: "identify", userId: "", traits: { name: "" } },
      { type: "alias", userId: "ada" },
      { type: "alias", userId: "ada", previousId: "nobody" },
      7 as unknown as object,
    ]
    const { json } = await segment(place, [...good, ...bad])
    expect([json.accepted, json.rejected]).toEqual([good.length, bad.length])
    const pointers = json.refusals.map(
      ({
        code,
        errors,
        index,
      }: {
        code: string
        errors: Array<{ pointer: string }>
        index: number
      }) => [index, code, ...errors.map(({ pointer }) => pointer)],
    )
    expect(pointers).toEqual([
      [4, "invalid_request", "/batch/4/event"],
      [5, "invalid_request", "/batch/5/event"],
      [6, "invalid_request", "/batch/6/anonymousId"],
      [7, "invalid_request", "/batch/7/timestamp"],
      [8, "invalid_request", "/batch/8/properties"],
      [9, "invalid_request", "/batch/9/userId", "/batch/9/traits/displayName"],
      [10, "invalid_request", "/batch/10/previousId"],
      [11, "user_not_found"],
      [12, "invalid_request", "/batch/12"],
    ])
    expect((await place.get("/v1/users/ada")).json.xp).toBe(60 * good.length)
  })

  it("takes a time in the future as now", async () => {
    const place = await newPlace()
    const timestamp = new Date(Date.now() + 86_400_000).toISOString()
    const { json } = await segment(place, [
      { type: "track", userId: "ada", event: "Order Completed", timestamp },
    ])
    expect(json).toMatchObject({ accepted: 1 })
    const { facts } = (await place.get("/v1/users/ada/history?kind=event.tracked")).json
    expect(Date.parse(facts[0].cause.occurredAt)).toBeLessThanOrEqual(Date.now())
  })

  it("keeps attributes that its traits do not name, over two changes in one batch", async () => {
    const place = await newPlace()
    await place.put("/v1/users/ada", { attributes: { team: "red", plan: "free" } })
    const identify = (traits: object) => ({ type: "identify", userId: "ada", traits })
    await segment(place, [
      identify({ plan: "pro" }),
      identify({ seats: 5, address: { city: "B" } }),
    ])
    expect((await place.get("/v1/users/ada")).json.attributes).toEqual({
      team: "red",
      plan: "pro",
      seats: 5,
    })
  })

  it("changes no profile and merges nobody with a key that may only ingest", async () => {
    const place = await newPlace()
    const key = server.accounts.addKey("lk_test_ingests", {
      environment: `prj_trackers${places - 1}:sandbox`,
      scope: "ingest",
    })
    const { json } = await server.call("POST", "/v1/ingest/segment/batch", {
      key,
      body: {
        batch: [
          { type: "track", userId: "ada", event: "Order Completed" },
          { type: "identify", userId: "ada", traits: { name: "Ada" } },
          { type: "alias", userId: "bob", previousId: "ada" },
        ],
      },
    })
    expect(json.accepted).toBe(1)
    expect(json.refusals.map(({ code }: { code: string }) => code)).toEqual([
      "insufficient_scope",
      "insufficient_scope",
    ])
    expect((await place.get("/v1/users/ada")).json.displayName).toBe(null)
  })

  it("has bounds, and PostHog's own names are ignored", async () => {
    const place = await newPlace()
    const page = { type: "page" }
    const full = Array.from({ length: limits.batchItemsMax }, () => page)
    expect((await segment(place, full)).json.ignored).toBe(limits.batchItemsMax)
    expect(faultsOf(await segment(place, [...full, page]))).toEqual([["/batch", "too_long"]])
    const large = (bytes: number) => segment(place, [{ type: "page", text: "a".repeat(bytes) }])
    expect((await large(limits.trackerBodyBytesMax - 1_000)).status).toBe(200)
    expect(problemOf(await large(limits.trackerBodyBytesMax))).toEqual([413, "body_too_large"])
    const { json } = await posthog(place, [{ event: "$pageview", distinct_id: "ada" }])
    expect(json.ignored).toBe(1)
    expect(faultsOf(await place.post("/v1/ingest/posthog/batch/", {}))).toEqual([
      ["/batch", "invalid_type"],
    ])
  })
})
