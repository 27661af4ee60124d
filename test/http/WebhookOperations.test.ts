/** The operations on webhooks and their logs, over HTTP. */

import { afterEach, describe, expect, it } from "vitest"
import { messageKinds } from "../../src/domain/message/MessageKind.ts"
import { exampleCursors } from "../../src/http/api/examples/exampleIds.ts"
import { limits } from "../../src/Limits.ts"
import { makeResolve } from "../../src/webhooks/send/Resolver.ts"
import { notReachable } from "../../src/webhooks/WebhookUrl.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { answer, isSignedBy, type Receiver } from "../webhooks/Receiver.ts"
import type { TestServer } from "./fixture.ts"
import { asking, endAll, kindsOf, receiving, starting, until, webhookUrls } from "./webhooks.ts"

afterEach(endAll)

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

interface Log {
  readonly deliveries: ReadonlyArray<Record<string, unknown>>
  readonly hasMore: boolean
  readonly nextCursor: string | null
}

const logging = (server: TestServer, id: string) => {
  const { ask } = asking(server)
  const log = (query = ""): Promise<Log> => ask("GET", `/v1/webhooks/${id}/deliveries${query}`)
  return {
    log,
    /** The log when it has `count` deliveries, none of them pending. */
    ended: async (count: number) => {
      const { deliveries } = await until(
        () => log("?limit=100"),
        ({ deliveries: all }) =>
          all.length >= count && all.every(({ status }) => status !== "pending"),
      )
      return deliveries
    },
  }
}

const refusal = async (
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) => {
  const { json, status } = await server.call(method, path, { body, headers })
  return [status, json.code]
}

describe("A webhook", () => {
  it("can be read, changed, disabled, enabled and deleted", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const url = "https://example.com/hook"
    const { secret, ...created } = await ask("POST", "/v1/webhooks", { url, events: ["xp.earned"] })
    const path = `/v1/webhooks/${created.id}`
    expect(await ask("GET", path)).toEqual({
      ...created,
      deliveries: { pending: 0, succeeded: 0, failed: 0, dropped: 0 },
      lastSuccessAt: null,
      failing: false,
    })
    expect(secret).toMatch(/^whsec_/)
    const changed = await ask("PATCH", path, {
      url: "https://EXAMPLE.com:443/other#x",
      events: ["quest.*", "quest.*", "*"],
      description: "Ours",
    })
    expect(changed).toEqual({
      ...created,
      url: "https://example.com/other",
      events: ["quest.*", "*"],
      description: "Ours",
      version: 2,
      updatedAt: expect.stringMatching(isoTime),
    })
    const disabled = await ask("PATCH", path, { status: "disabled", description: null })
    expect(disabled).toMatchObject({
      status: "disabled",
      disabledReason: "manual",
      disabledAt: expect.stringMatching(isoTime),
      description: null,
    })
    expect(await ask("PATCH", path, { status: "disabled" })).toMatchObject({
      disabledAt: disabled.disabledAt,
    })
    expect(await ask("PATCH", path, { status: "enabled" })).toMatchObject({
      status: "enabled",
      disabledReason: null,
      disabledAt: null,
    })
    const listed = await ask("GET", "/v1/webhooks")
    expect(listed).toMatchObject({ total: 1 })
    // The secret is shown only once.
    expect(JSON.stringify([changed, disabled, listed])).not.toContain("whsec_")
    expect((await server.call("DELETE", path)).status).toBe(204)
    expect(await refusal(server, "DELETE", path)).toEqual([404, "webhook_not_found"])
    expect(await ask("GET", "/v1/webhooks")).toMatchObject({ total: 0 })
  })

  it("that does not exist answers 404 to every operation", async () => {
    const server = await starting()
    const path = "/v1/webhooks/whk_none"
    const notFound = [404, "webhook_not_found"]
    expect(await refusal(server, "GET", path)).toEqual(notFound)
    expect(await refusal(server, "PATCH", path, {})).toEqual(notFound)
    expect(await refusal(server, "DELETE", path)).toEqual(notFound)
    for (const action of ["rotate-secret", "test", "deliveries/dlv_1/redeliver"]) {
      expect(await refusal(server, "POST", `${path}/${action}`)).toEqual(notFound)
    }
    const since = "2026-11-01T00:00:00Z"
    expect(await refusal(server, "POST", `${path}/recover`, { since })).toEqual(notFound)
    expect(await refusal(server, "GET", `${path}/deliveries`)).toEqual(notFound)
    expect(await refusal(server, "GET", `${path}/deliveries/dlv_1`)).toEqual(notFound)
  })

  it("has 1 to 50 kinds", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const of = (count: number) => Array.from({ length: count }, () => "quest.*")
    for (const [count, status] of [
      [0, 400],
      [50, 201],
      [51, 400],
    ] as const) {
      const body = { url: "https://example.com/", events: of(count) }
      expect((await server.call("POST", "/v1/webhooks", { body })).status).toBe(status)
    }
    for (const events of [of(0), of(51), ["xp"], ["xp.*.*"], ["*.earned"], ["XP.EARNED"]]) {
      const refused = await refusal(server, "PATCH", `/v1/webhooks/${id}`, { events })
      expect([events[0], ...refused]).toEqual([events[0], 400, "invalid_request"])
    }
  })

  it("of production is https, unless the operator says otherwise", async () => {
    const body = { url: "http://example.com/", events: ["*"] }
    const status = async (requireHttps: boolean, environmentName: "sandbox" | "production") => {
      const server = await starting({ webhookUrls: { ...webhookUrls, requireHttps } })
      const key = server.accounts.addKey("lk_of_it", { environmentName })
      return (await server.call("POST", "/v1/webhooks", { body, key })).status
    }
    expect(await status(true, "production")).toBe(400)
    expect(await status(true, "sandbox")).toBe(201)
    expect(await status(false, "production")).toBe(201)
  })

  it("of another environment answers 404", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const key = server.accounts.addKey("lk_test_other", { environment: "prj_other:sandbox" })
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/deliveries"],
      ["POST", "/test"],
    ]) {
      const { status } = await server.call(method!, `/v1/webhooks/${id}${path}`, { key })
      expect([method, path, status]).toEqual([method, path, 404])
    }
  })

  it("is refused a changed URL for the same reasons as a first URL", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "http://out.test/", events: ["*"] })
    for (const url of [
      "http://10.0.0.1/",
      "http://168.63.129.16/",
      "ftp://out.test/",
      "nonsense",
    ]) {
      for (const [method, path, body] of [
        ["POST", "/v1/webhooks", { url, events: ["*"] }],
        ["PATCH", `/v1/webhooks/${id}`, { url }],
      ] as const) {
        const { json, status } = await server.call(method, path, { body })
        expect([method, url, status, json.errors[0].pointer]).toEqual([method, url, 400, "/url"])
      }
    }
    expect(await ask("GET", `/v1/webhooks/${id}`)).toMatchObject({ url: "http://out.test/" })
  })

  it("gets the same answer for unknown names and names inside the network, and no name is looked up", async () => {
    const asked: Array<string> = []
    const server = await starting({
      webhooks: {
        resolve: async (host) => {
          asked.push(host)
          return host === "inside.test" ? ["10.0.0.1"] : []
        },
      },
    })
    for (const host of ["inside.test", "unknown.test"]) {
      const body = { url: `http://${host}/`, events: ["webhook.test"] }
      const { json, status } = await server.call("POST", "/v1/webhooks", { body })
      expect([host, status]).toEqual([host, 201])
      const changed = await server.call("PATCH", `/v1/webhooks/${json.id}`, {
        body: { url: body.url },
      })
      expect([host, changed.status]).toEqual([host, 200])
    }
    expect(asked).toEqual([])
  })

  it("may be at localhost if the setting allows 127.0.0.0/8, although ::1 stays refused", async () => {
    const server = await starting({ webhooks: { resolve: makeResolve() } })
    const receiver = await receiving()
    const { ask } = asking(server)
    const hook = { url: receiver.url("localhost"), events: ["webhook.test"] }
    const { id } = await ask("POST", "/v1/webhooks", hook)
    await ask("POST", `/v1/webhooks/${id}/test`)
    await receiver.atLeast(1)
    const inside = { ...hook, url: `http://[::1]:${receiver.port}/` }
    const { json, status } = await server.call("POST", "/v1/webhooks", { body: inside })
    expect([status, json.errors[0].detail]).toEqual([400, notReachable])
  })

  it("is refused with all faults of form and address", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    for (const [method, path, headers, pointers] of [
      ["POST", "/v1/webhooks", {}, ["/events/0", "/url"]],
      ["PATCH", `/v1/webhooks/${id}`, {}, ["/events/0", "/url"]],
      ["POST", "/v1/webhooks", { "idempotency-key": "" }, ["header/idempotency-key", "/url"]],
    ] as const) {
      const events = "idempotency-key" in headers ? ["*"] : ["nonsense"]
      const body = { url: "http://10.0.0.1/", events }
      const { json, status } = await server.call(method, path, { body, headers })
      expect([status, json.code]).toEqual([400, "invalid_request"])
      const found = json.errors.map(({ pointer }: { pointer: string }) => pointer.toLowerCase())
      expect(found).toEqual(pointers)
    }
    const several = { url: "http://user@10.0.0.1/", events: ["*"] }
    const reply = await server.call("POST", "/v1/webhooks", { body: several })
    const details = reply.json.errors.map(({ detail }: { detail: string }) => detail)
    expect(details).toEqual(["must not contain a user name or password", notReachable])
    const twice = { url: 7, events: ["*"] }
    const { json } = await server.call("POST", "/v1/webhooks", { body: twice })
    expect(json.errors).toHaveLength(1)
  })

  it("is changed by full keys only", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const key = server.accounts.addKey("lk_test_read", { scope: "read" })
    const status = async (method: string, path: string, body?: unknown) =>
      (await server.call(method, path, { key, body })).status
    for (const path of ["", "/deliveries"]) {
      expect(await status("GET", `/v1/webhooks/${id}${path}`)).toBe(200)
    }
    expect(await status("GET", "/v1/webhook-events")).toBe(200)
    expect(await status("PATCH", `/v1/webhooks/${id}`, {})).toBe(403)
    for (const action of ["test", "rotate-secret", "recover"]) {
      expect(await status("POST", `/v1/webhooks/${id}/${action}`, {})).toBe(403)
    }
  })
})

describe("Replacing a secret", () => {
  it("signs with both secrets during the grace period", async () => {
    const server = await starting()
    const receiver = await receiving()
    const { ask, grant, register } = asking(server)
    const created = await register(receiver, ["reward.granted"])
    const path = `/v1/webhooks/${created.id}/rotate-secret`
    const signedBy = async (...secrets: ReadonlyArray<string>) => {
      const before = receiver.received.length
      await grant("ada")
      await receiver.atLeast(before + 1)
      const received = receiver.received.at(-1)!
      return secrets.map((secret) => isSignedBy(secret, received))
    }
    expect(await signedBy(created.secret)).toEqual([true])
    const first = await ask("POST", path)
    expect(first.secret).not.toBe(created.secret)
    const left = Date.parse(first.previousSecretExpiresAt) - Date.now()
    expect(left).toBeGreaterThan(86_000_000)
    expect(left).toBeLessThanOrEqual(86_400_000)
    expect(await signedBy(created.secret, first.secret)).toEqual([true, true])
    const second = await ask("POST", path)
    expect(await signedBy(created.secret, first.secret, second.secret)).toEqual([true, true, true])
    const third = await ask("POST", path, { graceSeconds: 0 })
    expect(third.previousSecretExpiresAt).toBeNull()
    const all = [created.secret, first.secret, second.secret, third.secret]
    expect(await signedBy(...all)).toEqual([false, false, false, true])
  })

  it("is refused when too many secrets sign, until the previous ones are ended", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const path = `/v1/webhooks/${id}/rotate-secret`
    for (let secrets = 1; secrets < limits.webhookSecretsMax; secrets++) await ask("POST", path)
    expect(await refusal(server, "POST", path)).toEqual([409, "quota_exceeded"])
    await ask("POST", path, { graceSeconds: 0 })
    await ask("POST", path)
  })

  it("has a bounded grace period, and returns the same secret to a repeat", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const path = `/v1/webhooks/${id}/rotate-secret`
    const most = limits.webhookGraceSecondsMax
    for (const graceSeconds of [-1, most + 1, 0.5, "1"]) {
      expect(await refusal(server, "POST", path, { graceSeconds })).toEqual([
        400,
        "invalid_request",
      ])
    }
    const headers = { "idempotency-key": "rotation" }
    const body = { graceSeconds: most }
    const first = await server.call("POST", path, { body, headers })
    const again = await server.call("POST", path, { body, headers })
    expect([first.status, again.json]).toEqual([200, first.json])
    expect(again.headers["idempotency-replayed"]).toBe("true")
  })
})

describe("The log of a webhook", () => {
  it("shows each delivery with its attempts and the start of the replies", async () => {
    const server = await starting({ webhooks: { schedule: [0, 0, 0] } })
    const receiver = await receiving()
    const { ask, grant, register } = asking(server)
    const { id } = await register(receiver, ["reward.granted"])
    let attempts = 0
    receiver.answer = (response) => {
      attempts++
      response.writeHead(attempts < 3 ? 503 : 200).end(`attempt ${attempts}`)
    }
    await grant("ada")
    const [delivery] = await logging(server, id).ended(1)
    const messageId = receiver.received[0]!.headers["webhook-id"]
    const shown = {
      id: String(messageId).replace("msg_", "dlv_"),
      messageId,
      type: "reward.granted",
      status: "succeeded",
      attempts: 3,
      nextAttemptAt: null,
      lastResponse: {
        at: expect.stringMatching(isoTime),
        durationMs: expect.any(Number),
        status: 200,
        error: null,
      },
      dropReason: null,
      createdAt: receiver.received[0]!.message.timestamp,
    }
    expect(delivery).toEqual(shown)
    const one = await ask("GET", `/v1/webhooks/${id}/deliveries/${delivery!.id}`)
    const { message, responses, ...rest } = one
    expect(rest).toEqual(shown)
    expect(message).toEqual(receiver.received[0]!.message)
    expect(
      responses.map(({ body, status }: { body: string; status: number }) => [status, body]),
    ).toEqual([
      [503, "attempt 1"],
      [503, "attempt 2"],
      [200, "attempt 3"],
    ])
    expect(await ask("GET", `/v1/webhooks/${id}`)).toMatchObject({
      deliveries: { pending: 0, succeeded: 1, failed: 0, dropped: 0 },
      lastSuccessAt: shown.lastResponse.at,
    })
    for (const other of ["dlv_0mi8k3f2a4c92_1", "nonsense", String(messageId)]) {
      const path = `/v1/webhooks/${id}/deliveries/${other}`
      expect(await refusal(server, "GET", path)).toEqual([404, "delivery_not_found"])
      expect(await refusal(server, "POST", `${path}/redeliver`)).toEqual([
        404,
        "delivery_not_found",
      ])
    }
  })

  it("is read in pages, newest first, of all deliveries or of one status", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { grant, register } = asking(server)
    receiver.answer = (response, { message }) => {
      const { userId } = message.data
      response.writeHead(userId === "bad" ? 500 : 204).end()
    }
    const { id } = await register(receiver, ["reward.granted"])
    for (let round = 0; round < 7; round++) {
      await grant("good")
      await grant("bad")
    }
    const { ended, log } = logging(server, id)
    const all = await ended(14)
    const statuses = all.map(({ status }) => status)
    expect(statuses).toEqual(all.map((_, index) => (index % 2 === 0 ? "failed" : "succeeded")))
    for (const [query, expected] of [
      ["", all],
      ["&status=failed", all.filter(({ status }) => status === "failed")],
      ["&status=succeeded", all.filter(({ status }) => status === "succeeded")],
      ["&status=pending", []],
    ] as const) {
      const paged = []
      let cursor = ""
      while (true) {
        const { deliveries, hasMore, nextCursor } = await log(`?limit=3${query}${cursor}`)
        expect(nextCursor !== null).toBe(hasMore)
        paged.push(...deliveries)
        expect(deliveries.length).toBeLessThanOrEqual(3)
        if (nextCursor === null) break
        cursor = `&cursor=${nextCursor}`
      }
      expect(paged).toEqual(expected)
    }
    const { nextCursor } = await log("?limit=3&status=failed")
    for (const query of [
      `cursor=${nextCursor}`,
      `status=succeeded&cursor=${nextCursor}`,
      "status=sent",
      "cursor=x",
      `cursor=${exampleCursors.history}`,
      `cursor=${exampleCursors.deliveries}`,
      "limit=0",
      "limit=101",
      "offset=1",
    ]) {
      const path = `/v1/webhooks/${id}/deliveries?${query}`
      expect(await refusal(server, "GET", path)).toEqual([400, "invalid_request"])
    }
  })
})

const failing = async (receiver: Receiver, server: TestServer) => {
  const { grant, register } = asking(server)
  receiver.answer = answer(500)
  const { id } = await register(receiver, ["reward.granted"])
  for (const user of ["ada", "bob", "carl"]) await grant(user)
  const { ended } = logging(server, id)
  const [delivery] = await ended(3)
  receiver.answer = answer(204)
  const path = `/v1/webhooks/${id}/deliveries/${delivery!.id}/redeliver`
  return { id: id as string, ended, delivery: delivery!, path }
}

describe("Redelivery", () => {
  it("sends the same message with the same id, at once, and not again for the same key", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { delivery, ended, path } = await failing(receiver, server)
    const headers = { "idempotency-key": "once" }
    const sent = await server.call("POST", path, { headers })
    expect([sent.status, sent.json]).toEqual([
      202,
      { deliveryId: delivery!.id, messageId: delivery!.messageId },
    ])
    const again = await server.call("POST", path, { headers })
    expect([again.status, again.json]).toEqual([202, sent.json])
    await receiver.atLeast(4)
    const after = await until(
      () => ended(3),
      (log) => log[0]?.status === "succeeded",
    )
    expect(after[0]).toMatchObject({ id: delivery!.id, attempts: 2 })
    expect(receiver.received).toHaveLength(4)
    const of = receiver.received.filter(
      ({ headers: { "webhook-id": messageId } }) => messageId === delivery!.messageId,
    )
    expect(of.map(({ body }) => body)).toEqual([of[0]!.body, of[0]!.body])
    await server.call("POST", path)
    await receiver.atLeast(5)
  })

  it("does not wait for the circuit to close, even if the message is already queued in memory", async () => {
    const server = await starting({ webhooks: { schedule: [0, 3_600_000] } })
    const receiver = await receiving()
    const { grant, register } = asking(server)
    const { id } = await register(receiver, ["reward.granted"])
    receiver.answer = answer(500)
    for (let user = 0; user < limits.webhookBreakerFailures + 2; user++) await grant(`u${user}`)
    const failed = limits.webhookBreakerFailures
    const { log } = logging(server, id)
    const untried = await until(
      async () => (await log()).deliveries.filter(({ attempts }) => attempts === 0),
      ({ length }) => receiver.received.length === failed && length === 2,
    )
    receiver.answer = answer(204)
    const [, delivery] = untried
    const path = `/v1/webhooks/${id}/deliveries/${delivery!.id}`
    expect((await server.call("POST", `${path}/redeliver`)).status).toBe(202)
    await receiver.atLeast(failed + 1)
    expect(receiver.received.at(-1)!.message.id).toBe(delivery!.messageId)
    const { json } = await until(
      () => server.call("GET", path),
      (reply) => reply.json.status !== "pending",
    )
    expect(json).toMatchObject({ status: "succeeded", attempts: 1 })
  })

  it("answers a repeat as before, even if the message can no longer be sent", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ask } = asking(server)
    const { id, path } = await failing(receiver, server)
    const redeliver = (key: string) =>
      server.call("POST", path, { headers: { "idempotency-key": key } })
    const first = await redeliver("first")
    await receiver.atLeast(4)
    const repeats = async () => {
      const { headers, json, status } = await redeliver("first")
      expect([status, json]).toEqual([202, first.json])
      expect(headers["idempotency-replayed"]).toBe("true")
    }
    await ask("DELETE", "/v1/users/carl")
    expect([
      (await redeliver("second")).status,
      receiver.received.at(-1)!.message.data.userId,
    ]).toEqual([410, "carl"])
    await repeats()
    await ask("DELETE", `/v1/webhooks/${id}`)
    expect((await redeliver("third")).status).toBe(404)
    await repeats()
    // An earlier refusal is not kept as an answer.
    expect((await redeliver("second")).status).toBe(404)
  })

  it("is refused when the journal no longer has the message", async () => {
    const storage = new MemoryState()
    const first = await starting({ storage, webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ended, id } = await failing(receiver, first)
    const [delivery] = await ended(3)
    await first.stop()
    storage.firstSequence += storage.records.length - 1
    storage.records = storage.records.slice(-1)
    const second = await starting({ storage })
    await asking(second).grant("later")
    await receiver.atLeast(4)
    const path = `/v1/webhooks/${id}/deliveries/${delivery!.id}`
    expect((await second.call("GET", path)).json).toEqual(expect.objectContaining(delivery))
    const older = (await logging(second, id).ended(4)).at(-1)!
    const { json } = await second.call("GET", `/v1/webhooks/${id}/deliveries/${older.id}`)
    expect(json.message).toBeNull()
    const gone = `/v1/webhooks/${id}/deliveries/${older.id}/redeliver`
    expect(await refusal(second, "POST", gone)).toEqual([410, "gone"])
  })

  it("is refused if the user was erased, even after a new user with the same id", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ask, grant, register } = asking(server)
    const { id } = await register(receiver)
    const { ended } = logging(server, id)
    await grant("ada")
    const old = await ended(3)
    await ask("DELETE", "/v1/users/ada")
    const [deletion] = await ended(4)
    const again = (delivery: Log["deliveries"][number]) =>
      server.call("POST", `/v1/webhooks/${id}/deliveries/${delivery.id}/redeliver`)
    for (const delivery of old) {
      const { json, status } = await again(delivery)
      expect([status, json.code, json.detail]).toEqual([
        410,
        "gone",
        "The message's user was erased.",
      ])
      expect(await ask("GET", `/v1/webhooks/${id}/deliveries/${delivery.id}`)).toMatchObject({
        message: null,
      })
    }
    await grant("ada")
    expect((await again(old[0]!)).status).toBe(410)
    const [newer] = await ended(7)
    for (const delivery of [deletion!, newer!]) expect((await again(delivery)).status).toBe(202)
    await receiver.atLeast(9)
    await ended(7)
    const sentTwice = receiver.received.map(({ message }) => message.id).toSorted()
    const once = (await logging(server, id).log()).deliveries.map(({ messageId }) => messageId)
    expect(sentTwice).toEqual([...once, deletion!.messageId, newer!.messageId].toSorted())
  })

  it("is refused while the webhook is disabled", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ask } = asking(server)
    const { id, path } = await failing(receiver, server)
    await ask("PATCH", `/v1/webhooks/${id}`, { status: "disabled" })
    expect(await refusal(server, "POST", path)).toEqual([409, "webhook_disabled"])
    const headers = { "idempotency-key": "refused" }
    const kept = await server.call("POST", path, { headers })
    expect(await refusal(server, "POST", `/v1/webhooks/${id}/test`)).toEqual([
      409,
      "webhook_disabled",
    ])
    const since = "2026-11-01T00:00:00Z"
    expect(await refusal(server, "POST", `/v1/webhooks/${id}/recover`, { since })).toEqual([
      409,
      "webhook_disabled",
    ])
    await ask("PATCH", `/v1/webhooks/${id}`, { status: "enabled" })
    const again = await server.call("POST", path, { headers })
    expect([kept.json.code, again.json.code]).toEqual(["webhook_disabled", "webhook_disabled"])
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(receiver.received).toHaveLength(3)
  })
})

describe("A webhook whose attempts fail", () => {
  it("is shown as failing until an attempt succeeds", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { id, path } = await failing(receiver, server)
    const { ask } = asking(server)
    expect(await ask("GET", `/v1/webhooks/${id}`)).toMatchObject({ failing: true })
    await ask("POST", path)
    await until(
      () => ask("GET", `/v1/webhooks/${id}`),
      ({ deliveries }) => deliveries.succeeded === 1,
    )
    expect(await ask("GET", `/v1/webhooks/${id}`)).toMatchObject({ failing: false })
  })
})

describe("Recovering", () => {
  it("reports a missing since, with an empty body and without one", async () => {
    const server = await starting()
    const { ask } = asking(server)
    const { id } = await ask("POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    for (const body of [undefined, {}]) {
      const { json, status } = await server.call("POST", `/v1/webhooks/${id}/recover`, { body })
      expect([status, json.errors]).toEqual([
        400,
        [{ pointer: "/since", code: "missing", detail: "is required" }],
      ])
    }
  })

  it("sends failed and missed messages since a time, and no succeeded ones", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ask, grant } = asking(server)
    const { ended, id } = await failing(receiver, server)
    await grant("dora")
    await ended(4)
    await ask("PATCH", `/v1/webhooks/${id}`, { status: "disabled" })
    await grant("emil")
    await grant("fred")
    await ask("PATCH", `/v1/webhooks/${id}`, { status: "enabled" })
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const before = receiver.received.length
    const body = { since }
    const reply = await server.call("POST", `/v1/webhooks/${id}/recover`, { body })
    expect([reply.status, reply.json]).toEqual([
      202,
      { since, until: expect.stringMatching(isoTime) },
    ])
    await receiver.atLeast(before + 5)
    const log = await ended(6)
    expect(log.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "succeeded"))
    const users = receiver.received.slice(before).map(({ message }) => message.data.userId)
    expect(users.toSorted()).toEqual(["ada", "bob", "carl", "emil", "fred"])
  })

  it("begins at the requested time, which must not be in the future", async () => {
    const server = await starting({ webhooks: { schedule: [0] } })
    const receiver = await receiving()
    const { ask, grant } = asking(server)
    const { id } = await failing(receiver, server)
    // Later than all that failed.
    const failedBy = Date.now()
    while (Date.now() === failedBy) await new Promise((next) => setImmediate(next))
    const since = new Date().toISOString()
    receiver.answer = answer(500)
    await grant("late")
    await logging(server, id).ended(4)
    receiver.answer = answer(204)
    const before = receiver.received.length
    await ask("POST", `/v1/webhooks/${id}/recover`, { since })
    await receiver.atLeast(before + 1)
    await until(
      () => logging(server, id).ended(4),
      (log) => log[0]?.status === "succeeded",
    )
    expect(receiver.received.slice(before).map(({ message }) => message.data.userId)).toEqual([
      "late",
    ])
    const future = new Date(Date.now() + 60_000).toISOString()
    for (const wrong of [{ since: future }, { since: "yesterday" }, {}, { since, x: 1 }]) {
      const path = `/v1/webhooks/${id}/recover`
      expect(await refusal(server, "POST", path, wrong)).toEqual([400, "invalid_request"])
    }
  })
})

describe("A test", () => {
  it("is sent at once, whatever the webhook's kinds and earlier deliveries", async () => {
    const server = await starting({ webhooks: { schedule: [0, 3_600] } })
    const receiver = await receiving()
    const { ask, grant, register } = asking(server)
    const { id } = await register(receiver, ["reward.granted"])
    receiver.answer = answer(500)
    for (let user = 0; user < limits.webhookBreakerFailures + 2; user++) await grant(`u${user}`)
    await receiver.atLeast(limits.webhookBreakerFailures)
    receiver.answer = answer(204)
    const sent = await ask("POST", `/v1/webhooks/${id}/test`)
    await receiver.until(() => kindsOf(receiver).includes("webhook.test"))
    const received = receiver.received.find(({ message }) => message.type === "webhook.test")!
    expect(received.headers["webhook-id"]).toBe(sent.messageId)
    const { status } = await until(
      () => ask("GET", `/v1/webhooks/${id}/deliveries/${sent.deliveryId}`),
      (delivery) => delivery.status !== "pending",
    )
    expect(status).toBe("succeeded")
  })

  it("reaches the tested webhook only", async () => {
    const server = await starting()
    const [one, other] = [await receiving(), await receiving()]
    const { ask, grant, register } = asking(server)
    const { id } = await register(one, ["user.deleted"])
    await register(other, ["*"])
    await ask("POST", `/v1/webhooks/${id}/test`)
    await grant("ada")
    await Promise.all([one.atLeast(1), other.atLeast(3)])
    expect(kindsOf(one)).toEqual(["webhook.test"])
    expect(kindsOf(other)).not.toContain("webhook.test")
  })
})

describe("The catalogue", () => {
  it("describes every kind, with a schema and an example", async () => {
    const { ask } = asking(await starting())
    const { kinds } = await ask("GET", "/v1/webhook-events")
    expect(kinds.map(({ kind }: { kind: string }) => kind)).toEqual(messageKinds)
    for (const { description, example, kind, schema } of kinds) {
      expect(description).toMatch(/ .*\.$/)
      expect([kind, example.type, schema.type]).toEqual([kind, kind, "object"])
      // A badge with tiers is not repeatable.
      const members = Object.keys(schema.properties.data.properties).filter(
        (name) => name !== "times" || example.data.tier === undefined,
      )
      expect(Object.keys(example.data).toSorted()).toEqual(members.toSorted())
    }
  })
})
