/**
 * Sources of events: deliveries that the libraries of Stripe and GitHub sign, sent to a real server.
 */
import { createHmac } from "node:crypto"
import { sign } from "@octokit/webhooks-methods"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import Stripe from "stripe"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { secretKey, sign as signMessage } from "../../src/webhooks/send/Signature.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-04T12:00:00.000Z")
const now = () => clock.currentTimeMillisUnsafe()
const move = (ms: number) => clock.set(new Date(now() + ms).toISOString())
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

let places = 0
const newPlace = async () => {
  const place = new Place(server, `sources${places++}`)
  await place.post("/v1/rules", { action: "ORDER_PAID", reward: { xp: 60 } })
  await place.post("/v1/rules", { action: "PULL_REQUEST_MERGED", reward: { xp: 25 } })
  return place
}

const stripeSecret = "whsec_test_0123456789abcdef"
const orderPaid = {
  event: "checkout.session.completed",
  where: [{ path: "/data/object/payment_status", op: "eq", value: "paid" }],
  action: "ORDER_PAID",
  userId: "/data/object/client_reference_id",
  metadata: { amount: "/data/object/amount_total", first: "/data/object/lines/0/sku" },
}
const shop = { key: "shop", name: "Shop", kind: "stripe", mappings: [orderPaid] }
const merged = {
  event: "pull_request",
  where: [
    { path: "/action", op: "eq", value: "closed" },
    { path: "/pull_request/merged", op: "eq", value: true },
  ],
  action: "PULL_REQUEST_MERGED",
  userId: "/pull_request/user/login",
}
const code = { key: "code", name: "Code", kind: "github", mappings: [merged] }

const session = (id: string, more: object = {}, object: object = {}) => ({
  id,
  object: "event",
  type: "checkout.session.completed",
  created: Math.floor(now() / 1_000) - 60,
  data: {
    object: {
      client_reference_id: "ada",
      payment_status: "paid",
      amount_total: 1_900,
      lines: [{ sku: "A" }],
      ...object,
    },
  },
  ...more,
})

const stripe = new Stripe("sk_test_unused")

/** The header that Stripe's own library makes. */
const stripeHeader = (payload: string, secret = stripeSecret, at = now()) =>
  stripe.webhooks.generateTestHeaderString({
    payload,
    secret,
    timestamp: Math.floor(at / 1_000),
  })

const newShop = async (more: object = {}) => {
  const place = await newPlace()
  const { json } = await place.post("/v1/sources", { ...shop, secret: stripeSecret, ...more })
  return { place, path: json.path as string, source: json }
}

/** Sends a delivery without an API key. */
const deliver = (path: string, payload: string | Buffer, headers: Record<string, string>) =>
  server.call("POST", path, { key: null, body: payload, headers })

const deliverStripe = (path: string, body: object, secret = stripeSecret, at = now()) => {
  const payload = JSON.stringify(body)
  return deliver(path, payload, { "stripe-signature": stripeHeader(payload, secret, at) })
}

const deliverGithub = async (
  path: string,
  secret: string,
  body: object,
  { event = "pull_request", id = "72d3162e-cc78-11e3-81ab-4c9367dc0958" } = {},
) => {
  const payload = JSON.stringify(body)
  return deliver(path, payload, {
    "x-hub-signature-256": await sign(secret, payload),
    "x-github-event": event,
    "x-github-delivery": id,
  })
}

const receiptsOf = async (place: Place, key: string) =>
  (await place.get(`/v1/sources/${key}`)).json.receipts

describe("A source of Stripe", () => {
  it("turns a delivery that Stripe's library signs into an event, once", async () => {
    const { path, place } = await newShop()
    const body = session("evt_1")
    const first = await deliverStripe(path, body)
    expect([first.status, first.json]).toEqual([
      200,
      { received: true, events: 1, duplicates: 0, refused: 0 },
    ])
    // Stripe signs each retry with a new time.
    move(3_000)
    expect((await deliverStripe(path, body)).json).toMatchObject({ events: 0, duplicates: 1 })
    expect((await place.get("/v1/users/ada")).json).toMatchObject({ xp: 60 })
    expect(await receiptsOf(place, "shop")).toMatchObject({
      deliveries: 2,
      events: 1,
      duplicates: 1,
      ignored: 0,
      forged: 0,
      failures: [],
    })
  })

  it("gives the event Stripe's time, and the metadata that the pointers lead to", async () => {
    const { path, place } = await newShop()
    const body = session("evt_1", {}, { lines: [] })
    await deliverStripe(path, body)
    const { json: history } = await place.get("/v1/users/ada/history")
    expect(history.facts.at(-1)).toMatchObject({
      cause: {
        kind: "event",
        id: "evt_1:ORDER_PAID",
        action: "ORDER_PAID",
        metadata: { amount: 1_900 },
        occurredAt: new Date(body.created * 1_000).toISOString(),
      },
    })
  })

  it("ignores deliveries that match no mapping, and all while it is paused", async () => {
    const { path, place } = await newShop()
    for (const body of [
      session("evt_1", { type: "invoice.paid" }),
      session("evt_2", {}, { payment_status: "unpaid" }),
      { id: "evt_3", type: "checkout.session.completed" },
      {},
    ]) {
      const { json, status } = await deliverStripe(path, body)
      expect([status, json]).toEqual([
        200,
        { received: true, events: 0, duplicates: 0, refused: 0 },
      ])
    }
    await place.patch("/v1/sources/shop", { status: "paused" })
    expect((await deliverStripe(path, session("evt_4"))).json).toMatchObject({ events: 0 })
    await place.patch("/v1/sources/shop", { status: "active" })
    expect((await deliverStripe(path, session("evt_4"))).json).toMatchObject({ events: 1 })
    expect(await receiptsOf(place, "shop")).toMatchObject({ deliveries: 6, ignored: 5 })
  })

  it("refuses a delivery that is forged, changed or old, and remembers only how many", async () => {
    const { path, place } = await newShop()
    const payload = JSON.stringify(session("evt_1"))
    const header = stripeHeader(payload)
    const old = stripeHeader(payload, stripeSecret, now() - limits.sourceToleranceMs - 2_000)
    const early = stripeHeader(payload, stripeSecret, now() + limits.sourceToleranceMs + 2_000)
    const cases: ReadonlyArray<readonly [payload: string, header: string | undefined]> = [
      [payload, undefined],
      [payload, ""],
      [payload, "t=1,v1="],
      [payload, header.replace("v1=", "v0=")],
      [payload, `${header}${",".repeat(limits.sourceSignatureCharactersMax)}`],
      [payload, header.replace(/t=\d+/, "t=9e99")],
      [payload, header.replace(/.$/, (last) => (last === "0" ? "1" : "0"))],
      [`${payload} `, header],
      [payload.replace("1900", "9900"), header],
      [payload, stripeHeader(payload, "whsec_another_secret_of_somebody")],
      [payload, old],
      [payload, early],
      // Not JSON either: it is never parsed.
      ["{".repeat(1_000), header],
    ]
    for (const [body, signature] of cases) {
      const headers = signature === undefined ? {} : { "stripe-signature": signature }
      expect(problemOf(await deliver(path, body, headers))).toEqual([400, "invalid_signature"])
    }
    expect(await receiptsOf(place, "shop")).toMatchObject({
      deliveries: 0,
      forged: cases.length,
      failures: [],
    })
    expect((await place.get("/v1/users/ada")).status).toBe(404)
    // Just in time, and beside a signature of another secret.
    const late = stripeHeader(payload, stripeSecret, now() - limits.sourceToleranceMs + 2_000)
    const both = late.replace(",v1=", `,v1=${"0".repeat(64)},v1=`)
    const { json } = await deliver(path, payload, { "stripe-signature": both })
    expect(json).toMatchObject({ events: 1 })
  })

  it("needs the secret that Stripe shows with the endpoint", async () => {
    const place = await newPlace()
    const { json } = await place.post("/v1/sources", shop)
    expect(json).toMatchObject({ secret: null, secretState: { set: false } })
    expect(problemOf(await deliverStripe(json.path, session("evt_1")))).toEqual([
      400,
      "invalid_signature",
    ])
    const rotate = (body: object) => place.post("/v1/sources/shop/rotate-secret", body)
    expect(faultsOf(await rotate({}))).toEqual([["/secret", "missing"]])
    expect((await rotate({ secret: stripeSecret })).json).toEqual({
      secret: stripeSecret,
      previousValidUntil: null,
    })
    expect((await deliverStripe(json.path, session("evt_1"))).json).toMatchObject({ events: 1 })
  })
})

describe("A source of GitHub", () => {
  const pull = { action: "closed", pull_request: { merged: true, user: { login: "grace" } } }

  it("turns a delivery that GitHub's library signs into an event, once", async () => {
    const place = await newPlace()
    const { json: source } = await place.post("/v1/sources", code)
    expect(source.secret).toMatch(/^[\w-]{43}$/)
    const { json, status } = await deliverGithub(source.path, source.secret, pull)
    expect([status, json]).toEqual([200, { received: true, events: 1, duplicates: 0, refused: 0 }])
    expect((await deliverGithub(source.path, source.secret, pull)).json).toMatchObject({
      duplicates: 1,
    })
    expect(
      (await deliverGithub(source.path, source.secret, pull, { id: "another" })).json,
    ).toMatchObject({ events: 1 })
    expect((await place.get("/v1/users/grace")).json.xp).toBe(50)
  })

  it("accepts the ping of a new webhook, and deliveries of other events", async () => {
    const place = await newPlace()
    const { json: source } = await place.post("/v1/sources", code)
    for (const [event, body] of [
      ["ping", { zen: "Keep it logically awesome." }],
      ["issues", pull],
      ["pull_request", { ...pull, action: "opened" }],
    ] as const) {
      const reply = await deliverGithub(source.path, source.secret, body, { event })
      expect([reply.status, reply.json.events]).toEqual([200, 0])
    }
  })

  it("refuses a signature of another secret, of another body, and in another form", async () => {
    const place = await newPlace()
    const { json: source } = await place.post("/v1/sources", code)
    const payload = JSON.stringify(pull)
    const sha1 = `sha1=${createHmac("sha1", source.secret).update(payload).digest("hex")}`
    for (const signature of [
      await sign("another secret of somebody", payload),
      await sign(source.secret, `${payload}\n`),
      (await sign(source.secret, payload)).replace("sha256=", ""),
      (await sign(source.secret, payload)).toUpperCase(),
      sha1,
    ]) {
      const headers = { "x-hub-signature-256": signature, "x-github-event": "pull_request" }
      expect(problemOf(await deliver(source.path, payload, headers))).toEqual([
        400,
        "invalid_signature",
      ])
    }
    const headers = { "x-hub-signature": sha1, "x-github-event": "pull_request" }
    expect(problemOf(await deliver(source.path, payload, headers))[0]).toBe(400)
    expect((await receiptsOf(place, "code")).forged).toBe(6)
  })
})

describe("A source of Standard Webhooks", () => {
  const order = {
    key: "order",
    name: "Order",
    kind: "json",
    mappings: [
      { ...orderPaid, event: "order.paid", where: [], userId: "/data/customer", metadata: {} },
    ],
  }
  const body = {
    type: "order.paid",
    timestamp: "2026-11-04T11:58:00.000Z",
    data: { customer: "ada" },
  }
  const send = (
    path: string,
    secret: string,
    id: string,
    at = now(),
    payload = JSON.stringify(body),
  ) => {
    const time = new Date(at)
    return deliver(path, payload, {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, time, payload),
    })
  }

  it("turns a delivery that the reference library signs into an event, once", async () => {
    const place = await newPlace()
    const { json: source } = await place.post("/v1/sources", order)
    expect(source.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect((await send(source.path, source.secret, "msg_1")).json).toMatchObject({ events: 1 })
    expect((await send(source.path, source.secret, "msg_1")).json).toMatchObject({ duplicates: 1 })
    const { json: history } = await place.get("/v1/users/ada/history")
    expect(history.facts.at(-1).cause).toMatchObject({
      id: "msg_1:ORDER_PAID",
      occurredAt: body.timestamp,
    })
  })

  it("refuses what is forged, changed or old", async () => {
    const place = await newPlace()
    const { json: source } = await place.post("/v1/sources", order)
    const other = "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcg=="
    const far = limits.sourceToleranceMs + 2_000
    const payload = JSON.stringify(body)
    const signed = new Webhook(source.secret).sign("msg_1", new Date(now()), payload)
    const time = String(Math.floor(now() / 1_000))
    const forged = (id: string, stamp: string, signature: string) =>
      deliver(source.path, payload, {
        "webhook-id": id,
        "webhook-timestamp": stamp,
        "webhook-signature": signature,
      })
    for (const reply of [
      await send(source.path, other, "msg_1"),
      await send(source.path, source.secret, "msg_1", now() - far),
      await send(source.path, source.secret, "msg_1", now() + far),
      // The id and the time are signed, too.
      await forged("msg_2", time, signed),
      await forged("msg_1", String(Number(time) - 1), signed),
      await forged("msg_1", "soon", signed),
      await forged("msg_1", time, signed.slice(3)),
      await forged("msg_1", time, ""),
      await deliver(source.path, payload, { "webhook-signature": signed }),
    ]) {
      expect(problemOf(reply)).toEqual([400, "invalid_signature"])
    }
    expect((await forged("msg_1", time, `v2,x v1,${"A".repeat(43)}= ${signed}`)).json.events).toBe(
      1,
    )
  })

  it("uses no short key where the secret is no base64", async () => {
    const place = await newPlace()
    const secret = "whsec_!!!!!!!!!!!!!!!!"
    const { json: source } = await place.post("/v1/sources", { ...order, secret })
    const payload = JSON.stringify(body)
    const time = String(Math.floor(now() / 1_000))
    const deliverWith = (key: string | Buffer) =>
      deliver(source.path, payload, {
        "webhook-id": "msg_1",
        "webhook-timestamp": time,
        "webhook-signature": `v1,${createHmac("sha256", key).update(`msg_1.${time}.${payload}`).digest("base64")}`,
      })
    expect((await deliverWith(Buffer.alloc(0))).status).toBe(400)
    expect((await deliverWith(secret)).status).toBe(200)
  })

  it("takes the messages that another environment of Laurel sends", async () => {
    const place = await newPlace()
    const level = { event: "level.changed", action: "LEVELLED_UP", userId: "/data/userId" }
    const { json: source } = await place.post("/v1/sources", { ...order, mappings: [level] })
    const message = JSON.stringify({
      type: "level.changed",
      timestamp: body.timestamp,
      data: { userId: "grace", from: 1, to: 2 },
    })
    const seconds = Math.floor(now() / 1_000)
    const { json } = await deliver(source.path, message, {
      "webhook-id": "msg_9",
      "webhook-timestamp": String(seconds),
      "webhook-signature": signMessage([secretKey(source.secret)], "msg_9", seconds, message),
    })
    expect(json).toMatchObject({ events: 1 })
  })
})

describe("The secret of a source", () => {
  it("stays valid for its grace period after it was replaced", async () => {
    const { path, place } = await newShop()
    const second = "whsec_test_the_second_secret"
    const rotated = await place.post("/v1/sources/shop/rotate-secret", {
      secret: second,
      graceSeconds: 60,
    })
    const until = Date.parse(rotated.json.previousValidUntil)
    expect(until).toBeGreaterThan(now() + 30_000)
    expect(until).toBeLessThanOrEqual(now() + 60_000)
    expect((await place.get("/v1/sources/shop")).json.secretState).toEqual({
      set: true,
      previousValidUntil: rotated.json.previousValidUntil,
    })
    for (const [id, secret] of [
      ["evt_1", stripeSecret],
      ["evt_2", second],
    ] as const) {
      expect((await deliverStripe(path, session(id), secret)).json).toMatchObject({ events: 1 })
    }
    move(60_001)
    expect(problemOf(await deliverStripe(path, session("evt_3"), stripeSecret))[1]).toBe(
      "invalid_signature",
    )
    expect((await deliverStripe(path, session("evt_3"), second)).json.events).toBe(1)
    expect((await place.get("/v1/sources/shop")).json.secretState.previousValidUntil).toBeNull()
  })

  it("ends at once with graceSeconds 0, and at most some are valid at once", async () => {
    const { path, place } = await newShop()
    const rotate = (secret: string, graceSeconds = 60) =>
      place.post("/v1/sources/shop/rotate-secret", { secret, graceSeconds })
    for (let number = 1; number < limits.sourceSecretsMax; number++) {
      expect((await rotate(`whsec_another_secret_${number}`)).status).toBe(200)
    }
    expect(problemOf(await rotate("whsec_one_secret_too_many"))).toEqual([409, "quota_exceeded"])
    expect((await deliverStripe(path, session("evt_1"))).status).toBe(200)
    expect((await rotate("whsec_the_only_secret", 0)).json.previousValidUntil).toBeNull()
    expect((await deliverStripe(path, session("evt_2"))).status).toBe(400)
    expect((await deliverStripe(path, session("evt_2"), "whsec_the_only_secret")).status).toBe(200)
  })

  it("is in no reply but that of its creation, and in no file", async () => {
    const { place, source } = await newShop()
    expect(source.secret).toBe(stripeSecret)
    for (const path of [
      "/v1/sources",
      "/v1/sources/shop",
      "/v1/definitions",
      "/v1/facts",
      "/v1/project",
    ]) {
      expect((await place.get(path)).text).not.toContain(stripeSecret)
    }
    const { text } = await place.patch("/v1/sources/shop", { name: "Store" })
    expect(text).not.toContain(stripeSecret)
    expect(server.logs.join()).not.toContain(stripeSecret)
  })

  it("is kept by an idempotent creation, which shows it again", async () => {
    const place = await newPlace()
    const create = () =>
      place.call("POST", "/v1/sources", { body: code, headers: { "idempotency-key": "once" } })
    const first = (await create()).json
    expect((await create()).json).toEqual(first)
    expect((await place.get("/v1/sources")).json.total).toBe(1)
  })
})

describe("The address of a source", () => {
  it("is gone when the source is archived, and leads nowhere else", async () => {
    const { path, place, source } = await newShop()
    const other = await newShop()
    const [, , , project = "", environment = ""] = path.split("/")
    const otherProject = other.path.split("/")[3]!
    for (const wrong of [
      `/v1/ingest/${otherProject}/${environment}/${source.id}`,
      `/v1/ingest/${project}/production/${source.id}`,
      `/v1/ingest/${project}/staging/${source.id}`,
      `/v1/ingest/${project}/${environment}/src_none`,
      `/v1/ingest/${project}/${environment}/shop`,
      `/v1/ingest/prj_none/${environment}/${source.id}`,
      `/v1/ingest/__proto__/${environment}/constructor`,
      `/v1/ingest/${project}/${environment}/%2e%2e`,
    ]) {
      expect(problemOf(await deliverStripe(wrong, session("evt_1")))).toEqual([
        404,
        "source_not_found",
      ])
    }
    expect((await deliverStripe(`/api${path}`, session("evt_1"))).status).toBe(200)
    await place.delete("/v1/sources/shop")
    expect(problemOf(await deliverStripe(path, session("evt_2")))).toEqual([
      404,
      "source_not_found",
    ])
    expect((await place.get("/v1/sources/shop")).json).toMatchObject({
      status: "archived",
      secretState: { set: false },
    })
    expect(problemOf(await place.post("/v1/sources/shop/rotate-secret", { secret: stripeSecret }))) //
      .toEqual([409, "invalid_transition"])
  })

  it("takes nothing from the rate limit until a signature is valid", async () => {
    const { path, source } = await newShop()
    const taken: Array<number> = []
    const { consume } = server.accounts
    server.accounts.consume = (caller, amount) => {
      if (caller.keyId === source.id) taken.push(amount)
      return consume.call(server.accounts, caller, amount)
    }
    const payload = JSON.stringify(session("evt_1"))
    const wrong = stripeHeader(payload, "whsec_another_secret_of_somebody")
    await deliver(path, payload, { "stripe-signature": wrong })
    await deliver(path, payload, {})
    await deliver(path, payload, { "content-type": "text/plain" })
    await deliver(path, "x".repeat(limits.sourceBodyBytesMax + 1), { "stripe-signature": wrong })
    expect(taken).toEqual([])
    expect((await deliverStripe(path, session("evt_1"))).status).toBe(200)
    expect(taken).toEqual([1])
    server.accounts.consume = consume
  })

  it("takes JSON up to a limit", async () => {
    const { path, place } = await newShop()
    const largest = "x".repeat(limits.sourceBodyBytesMax)
    const body = JSON.stringify(session("evt_1", { padding: "" }))
    const padded = body.replace('"padding":""', () => {
      const room = limits.sourceBodyBytesMax - Buffer.byteLength(body)
      return `"padding":"${largest.slice(0, room)}"`
    })
    expect(Buffer.byteLength(padded)).toBe(limits.sourceBodyBytesMax)
    const send = (payload: string) =>
      deliver(path, payload, { "stripe-signature": stripeHeader(payload) })
    expect((await send(padded)).json).toMatchObject({ events: 1 })
    expect(problemOf(await send(`${padded} `))).toEqual([413, "body_too_large"])
    expect(problemOf(await send("[".repeat(100_000)))).toEqual([400, "invalid_json"])
    const form = await deliver(path, "payload=1", {
      "content-type": "application/x-www-form-urlencoded",
    })
    expect(problemOf(form)).toEqual([415, "unsupported_media_type"])
    const { failures } = await receiptsOf(place, "shop")
    expect(failures).toMatchObject([{ mapping: null, deliveryId: null, code: "invalid_json" }])
  })
})

describe("What a mapping finds", () => {
  const read = async (mapping: object, body: object, more: object = {}) => {
    const place = await newPlace()
    const { json } = await place.post("/v1/sources/preview", {
      source: { kind: "stripe", mappings: [{ ...orderPaid, where: [], ...mapping }] },
      body,
      ...more,
    })
    return json.results[0]
  }

  it("becomes the members of the event", async () => {
    const body = session("evt_1")
    expect(await read({}, body)).toEqual({
      mapping: 0,
      event: {
        userId: "ada",
        action: "ORDER_PAID",
        id: "evt_1:ORDER_PAID",
        occurredAt: new Date(body.created * 1_000).toISOString(),
        metadata: { amount: 1_900, first: "A" },
      },
      faults: [],
    })
    const { event } = await read(
      { userId: "/number", id: "/a~1b/~0c", occurredAt: "/at", metadata: { all: "/data" } },
      { ...body, number: 42, "a/b": { "~c": 7 }, at: "2026-01-02T03:04:05+01:00" },
    )
    expect(event).toEqual({
      userId: "42",
      action: "ORDER_PAID",
      id: "7",
      occurredAt: "2026-01-02T02:04:05.000Z",
      metadata: { all: body.data },
    })
  })

  it("counts now, if its time is in the future, and reads milliseconds", async () => {
    const future = Math.floor(now() / 1_000) + 3_600
    expect((await read({}, session("evt_1", { created: future }))).event.occurredAt).toBeNull()
    const past = now() - 5_000
    expect((await read({}, session("evt_1", { created: past }))).event.occurredAt).toBe(
      new Date(past).toISOString(),
    )
  })

  it.each([
    ["/userId", { userId: "/nothing" }, {}],
    ["/userId", { userId: "/data" }, {}],
    ["/userId", { userId: "/data/object/lines/length" }, {}],
    ["/userId", { userId: "/data/object/lines/-" }, {}],
    ["/userId", { userId: "/data/object/lines/00/sku" }, {}],
    ["/userId", { userId: "/__proto__/constructor/name" }, {}],
    ["/userId", { userId: "/text" }, { text: "" }],
    ["/userId", { userId: "/text" }, { text: ".." }],
    ["/userId", { userId: "/text" }, { text: "x".repeat(129) }],
    ["/userId", { userId: "/text" }, { text: 1.5 }],
    ["/id", { id: "/nothing" }, {}],
    ["/id", {}, { id: null }],
    ["/id", {}, { id: "x".repeat(128) }],
    ["/occurredAt", { occurredAt: "/text" }, { text: "yesterday" }],
    ["/occurredAt", { occurredAt: "/text" }, { text: -1 }],
    ["/metadata", { metadata: { all: "" } }, { text: "x".repeat(limits.metadataBytesMax) }],
  ])("is refused by the checks of events: %s %j", async (pointer, mapping, body) => {
    const result = await read(mapping, session("evt_1", body))
    expect(result.event).toBeNull()
    expect(result.faults.map((fault: { pointer: string }) => fault.pointer)).toEqual([pointer])
  })

  it("is told by the source, and fails no other mapping and no delivery", async () => {
    const { path, place } = await newShop({
      mappings: [
        { action: "BROKEN", userId: "/data/object/nobody" },
        { action: "ORDER_PAID", userId: "/data/object/client_reference_id" },
        // A second event of the same user and action would be a repeat of the first.
        { action: "ORDER_PAID", userId: "/data/object/client_reference_id" },
      ],
    })
    expect((await deliverStripe(path, session("evt_1"))).json).toEqual({
      received: true,
      events: 1,
      duplicates: 1,
      refused: 1,
    })
    const { failures } = await receiptsOf(place, "shop")
    expect(failures).toEqual([
      {
        at: expect.stringMatching(isoTime),
        deliveryId: "evt_1",
        event: "checkout.session.completed",
        mapping: 0,
        code: "invalid_request",
        detail: "/userId leads to nothing that is a user's id: a text or a whole number",
      },
    ])
    for (let number = 0; number <= limits.sourceFailuresMax; number++) {
      await deliverStripe(path, session(`evt_more_${number}`))
    }
    const latest = (await receiptsOf(place, "shop")).failures
    expect([latest.length, latest[0].deliveryId]).toEqual([
      limits.sourceFailuresMax,
      `evt_more_${limits.sourceFailuresMax}`,
    ])
  })
})

describe("A source as a definition", () => {
  it("is checked as a whole", async () => {
    const place = await newPlace()
    const bad = {
      name: "",
      kind: "paypal",
      secret: "short",
      segment: "beginners",
      mappings: [
        { action: "lower", userId: "data/id", id: "/a~2", occurredAt: "/a".repeat(17) },
        {
          ...{ where: [{ path: "/a", op: "in", value: 3 }], action: "A", userId: "/u" },
          metadata: { a: "b" },
        },
      ],
    }
    expect(faultsOf(await place.post("/v1/sources", bad)).toSorted()).toEqual(
      [
        ["/kind", "invalid_value"],
        ["/mappings/0/action", "invalid_format"],
        ["/mappings/0/id", "invalid_format"],
        ["/mappings/0/occurredAt", "invalid_format"],
        ["/mappings/0/userId", "invalid_format"],
        ["/mappings/1/metadata/a", "invalid_format"],
        ["/mappings/1/where/0/value", "invalid_type"],
        ["/name", "too_short"],
        ["/secret", "invalid_format"],
        ["/segment", "unknown_member"],
      ].toSorted(),
    )
    expect((await place.get("/v1/sources")).json.total).toBe(0)
  })

  it("has bounds on its mappings, their metadata, and the number of sources", async () => {
    const place = await newPlace()
    const mapping = { action: "A", userId: "/id" }
    const many = (count: number, one: object = mapping) => Array.from({ length: count }, () => one)
    const names = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, "/id"]))
    const full = [
      ...many(limits.sourceMappingsMax - 1),
      { ...mapping, metadata: names(limits.sourceMetadataMax) },
    ]
    const send = (mappings: ReadonlyArray<object>) =>
      place.post("/v1/sources", { ...code, mappings })
    expect(faultsOf(await send(many(limits.sourceMappingsMax + 1)))).toEqual([
      ["/mappings", "too_long"],
    ])
    expect(
      faultsOf(await send([{ ...mapping, metadata: names(limits.sourceMetadataMax + 1) }])),
    ).toEqual([["/mappings/0/metadata", "too_long"]])
    expect((await send(full)).status).toBe(201)
    for (let number = 1; number < limits.sourcesMax; number++) {
      expect((await place.post("/v1/sources", { ...code, key: `k${number}` })).status).toBe(201)
    }
    expect(problemOf(await place.post("/v1/sources", { ...code, key: "more" }))).toEqual([
      409,
      "quota_exceeded",
    ])
    await place.delete("/v1/sources/k1")
    expect((await place.post("/v1/sources", { ...code, key: "more" })).status).toBe(201)
  })

  it("keeps its kind, also in a file, and its secret through edits and files", async () => {
    const { path, place } = await newShop()
    expect(faultsOf(await place.patch("/v1/sources/shop", { kind: "github" }))).toEqual([
      ["/kind", "unknown_member"],
    ])
    const apply = (source: object) =>
      place.post("/v1/definitions/apply", { definitions: { sources: [source] } })
    expect(faultsOf(await apply({ ...shop, kind: "github" }))).toEqual([
      ["/definitions/sources/0/kind", "invalid_value"],
    ])
    const more = { ...orderPaid, action: "ORDER_PAID_TOO" }
    expect((await apply({ ...shop, mappings: [orderPaid, more] })).json.updated).toBe(1)
    expect((await deliverStripe(path, session("evt_1"))).json.events).toBe(2)
    const { json } = await apply({ ...code, name: "Of the file" })
    expect(json.created).toBe(1)
    expect((await place.get("/v1/sources/code")).json.secretState.set).toBe(false)
    const { json: made } = await place.post("/v1/sources/code/rotate-secret", {})
    expect(made.secret).toMatch(/^[\w-]{43}$/)
  })
})

describe("A restart", () => {
  it("keeps sources, their secrets and which deliveries were counted", async () => {
    const storage = new MemoryState()
    const first = await startServer({ clock, storage })
    const { json } = await new Place(first, "lasting").post("/v1/sources", {
      ...shop,
      secret: stripeSecret,
    })
    const payload = JSON.stringify(session("evt_1"))
    const send = (to: TestServer, secret = stripeSecret) =>
      to.call("POST", json.path, {
        key: null,
        body: payload,
        headers: { "stripe-signature": stripeHeader(payload, secret) },
      })
    expect((await send(first)).json).toMatchObject({ events: 1 })
    await first.stop()
    const second = await startServer({ clock, storage })
    const place = new Place(second, "lasting")
    expect((await send(second)).json).toMatchObject({ events: 0, duplicates: 1 })
    expect((await send(second, "whsec_another_secret_of_somebody")).status).toBe(400)
    expect(await receiptsOf(place, "shop")).toMatchObject({ deliveries: 1, forged: 1 })
    await second.stop()
  })
})

describe("A server that cannot store", () => {
  it("answers so that the service sends the delivery again", async () => {
    const failing = await startServer({
      clock,
      wrapEngine: (engine) => ({
        ...engine,
        askUsers: () =>
          Effect.fail({
            _tag: "LaurelError",
            code: "storage_unavailable",
            detail: "Nothing was changed.",
          } as const),
      }),
    })
    const place = new Place(failing, "failing")
    const { json } = await place.post("/v1/sources", { ...shop, secret: stripeSecret })
    const payload = JSON.stringify(session("evt_1"))
    const reply = await failing.call("POST", json.path, {
      key: null,
      body: payload,
      headers: { "stripe-signature": stripeHeader(payload) },
    })
    expect(problemOf(reply)).toEqual([503, "storage_unavailable"])
    await failing.stop()
  })
})
