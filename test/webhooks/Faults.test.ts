/**
 * Receivers' faults, one by one: the outcome of the delivery, and that the next message to the same
 * endpoint arrives once the receiver is well. All faults run at the same time, each in an environment of its own.
 */
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { DisabledReason } from "../../src/domain/project/Project.ts"
import type { Resolve } from "../../src/webhooks/send/Resolver.ts"
import type { AttemptError } from "../../src/webhooks/send/Sender.ts"
import type { Delivery, DeliveryStatus } from "../../src/webhooks/store/Delivery.ts"
import { reward } from "../engine/fixture.ts"
import { authority, expiredCertificate, receiverCertificate, receiverKey } from "./certificates.ts"
import { type Started, startInMemory, until, webhook } from "./fixture.ts"

const timeoutMs = 2_000

interface Fault {
  /** Its fault on a connection. */
  readonly connection?: (socket: Socket) => void
  /** Its fault on a whole request. */
  readonly request?: (socket: Socket) => void
  readonly host?: string
  readonly tls?: { readonly cert: string; readonly silent?: true }
  readonly closed?: true
  /** It accepts no connection, and the system's queue of those that wait is full. */
  readonly deaf?: true
}

interface End {
  readonly status: DeliveryStatus
  readonly reply: number | null
  readonly error: AttemptError | null
  readonly attempts: number
  readonly disabled?: DisabledReason
}

const says =
  (...parts: ReadonlyArray<string>) =>
  (socket: Socket): void => {
    for (const part of parts) socket.write(part.replaceAll("\n", "\r\n"))
  }
/** Says something, and then another thing for ever. */
const repeats =
  (first: string, part: string, times = 1) =>
  (socket: Socket): void => {
    says(first)(socket)
    const text = part.replaceAll("\n", "\r\n")
    const timer = setInterval(() => {
      for (let count = 0; count < times && socket.write(text); count++);
    }, 2)
    socket.on("close", () => clearInterval(timer))
  }
const thenResets =
  (first: string) =>
  (socket: Socket): void => {
    says(first)(socket)
    setTimeout(() => socket.resetAndDestroy(), 10)
  }
const replies = (line: string, more = "") => ({
  request: says(`HTTP/1.1 ${line}\n${more}content-length: 2\n\nno`),
})

const noStatus = (error: AttemptError): End => ({
  status: "failed",
  reply: null,
  error,
  attempts: 2,
})
const refused = (reply: number): End => ({ status: "failed", reply, error: null, attempts: 2 })
const arrived: End = { status: "succeeded", reply: 200, error: null, attempts: 1 }
const elsewhere = "location: http://127.0.0.1:1/\n"

const faults: Readonly<Record<string, readonly [Fault, End]>> = {
  "nobody listens": [{ closed: true }, noStatus("connection_refused")],
  "the name is unknown": [{ host: "unknown.test" }, noStatus("address_refused")],
  "the name servers give no answer": [{ host: "unanswered.test" }, noStatus("dns_failure")],
  "the name server is silent": [{ host: "silent.test" }, noStatus("timeout")],
  "the name leads inside": [{ host: "inside.test" }, noStatus("address_refused")],
  "the certificate has expired": [
    { host: "receiver.test", tls: { cert: expiredCertificate } },
    noStatus("tls_failure"),
  ],
  "the certificate is of another": [
    { host: "other.test", tls: { cert: receiverCertificate } },
    noStatus("tls_failure"),
  ],
  "the connection is reset at once": [
    { connection: (socket) => socket.resetAndDestroy() },
    noStatus("connection_reset"),
  ],
  "the connection is reset while the message comes": [
    { connection: (socket) => socket.once("data", () => socket.resetAndDestroy()) },
    noStatus("connection_reset"),
  ],
  "nothing is read or said": [{ connection: (socket) => socket.pause() }, noStatus("timeout")],
  "the request is not answered": [{ request: () => {} }, noStatus("timeout")],
  "the connection ends after the request": [
    { request: (socket) => socket.end() },
    noStatus("connection_reset"),
  ],
  "the status stops midway": [{ request: says("HTTP/1.1 20") }, noStatus("timeout")],
  "header fields drip": [{ request: repeats("HTTP/1.1 200 OK\n", "x: y\n") }, noStatus("timeout")],
  "header fields never end": [
    { request: repeats("HTTP/1.1 200 OK\n", `x: ${"y".repeat(1_000)}\n`, 10) },
    noStatus("invalid_response"),
  ],
  "header fields break off": [
    { request: thenResets("HTTP/1.1 200 OK\nx: ") },
    noStatus("connection_reset"),
  ],
  "the reply is not HTTP": [{ request: says("SSH-2.0-OpenSSH\n") }, noStatus("invalid_response")],
  "the connection is not accepted": [{ deaf: true }, noStatus("timeout")],
  "the TLS handshake is not answered": [
    { host: "receiver.test", tls: { cert: receiverCertificate, silent: true } },
    noStatus("timeout"),
  ],
  "an unsolicited 100 and no more": [
    { request: says("HTTP/1.1 100 Continue\n\n") },
    noStatus("invalid_response"),
  ],
  "an unsolicited 100, then 200": [
    { request: says("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\ncontent-length: 0\n\n") },
    noStatus("invalid_response"),
  ],
  "101": [
    { request: says("HTTP/1.1 101 Switching Protocols\nupgrade: x\nconnection: upgrade\n\n") },
    noStatus("invalid_response"),
  ],
  "103 for ever": [{ request: repeats("", "HTTP/1.1 103 Early Hints\n\n") }, noStatus("timeout")],
  "103, then 200": [
    { request: says("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\ncontent-length: 0\n\n") },
    arrived,
  ],
  "301": [replies("301 Moved Permanently", elsewhere), refused(301)],
  "302": [replies("302 Found", elsewhere), refused(302)],
  "304": [{ request: says("HTTP/1.1 304 Not Modified\n\n") }, refused(304)],
  "307": [replies("307 Temporary Redirect", elsewhere), refused(307)],
  "308": [replies("308 Permanent Redirect", elsewhere), refused(308)],
  "400": [replies("400 Bad Request"), refused(400)],
  "401": [replies("401 Unauthorized"), refused(401)],
  "404": [replies("404 Not Found"), refused(404)],
  "410": [replies("410 Gone"), { ...refused(410), attempts: 1, disabled: "gone" }],
  "413": [replies("413 Content Too Large"), refused(413)],
  "429 without Retry-After": [replies("429 Too Many Requests"), refused(429)],
  "500": [replies("500 Internal Server Error"), refused(500)],
  "502": [replies("502 Bad Gateway"), refused(502)],
  "503": [replies("503 Service Unavailable"), refused(503)],
  "the body of 200 breaks off": [
    { request: thenResets("HTTP/1.1 200 OK\ncontent-length: 100\n\nonly this") },
    arrived,
  ],
  "the body of 500 breaks off": [
    { request: thenResets("HTTP/1.1 500 No\ncontent-length: 100\n\nonly this") },
    refused(500),
  ],
  "the body of 200 never ends": [
    { request: repeats("HTTP/1.1 200 OK\n\n", "x".repeat(4_096), 64) },
    arrived,
  ],
  "the body of 500 never ends": [
    { request: repeats("HTTP/1.1 500 No\n\n", "x".repeat(4_096), 64) },
    refused(500),
  ],
  "the body of 200 drips": [{ request: repeats("HTTP/1.1 200 OK\n\n", ".") }, arrived],
  "the body of 200 does not come": [
    { request: says("HTTP/1.1 200 OK\ncontent-length: 9\n\n") },
    arrived,
  ],
}

/** A receiver in a thread that stands still until it is `well`, with as many connections waiting as may. */
class DeafPatient {
  readonly received: Array<string> = []
  readonly #heard = new Int32Array(new SharedArrayBuffer(4))
  readonly #waiting: Array<Socket> = []
  #worker: Worker | undefined

  async listen(_port?: number): Promise<number> {
    const code = `
      const { parentPort, workerData } = require("node:worker_threads")
      const server = require("node:http").createServer((request, response) => {
        request.setEncoding("utf8")
        let body = ""
        request.on("data", (text) => { body += text })
        request.on("end", () => {
          parentPort.postMessage(body)
          response.writeHead(204).end()
        })
      })
      server.listen({ host: "127.0.0.1", port: 0, backlog: ${deafBacklog} }, () => {
        parentPort.postMessage(server.address().port)
        Atomics.wait(workerData, 0, 0)
      })`
    this.#worker = new Worker(code, { eval: true, workerData: this.#heard })
    const [port] = await once(this.#worker, "message")
    this.#worker.on("message", (body) => this.received.push(JSON.parse(body).data.userId))
    // Linux accepts one connection more than the backlog.
    for (let count = 0; count <= deafBacklog; count++) {
      const socket = connect(port, "127.0.0.1")
      this.#waiting.push(socket)
      await once(socket, "connect")
    }
    return port
  }

  heal(): void {
    for (const socket of this.#waiting) socket.destroy()
    Atomics.store(this.#heard, 0, 1)
    Atomics.notify(this.#heard, 0)
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }
}

const deafBacklog = 1

/** A receiver that has a fault until it is `well`. */
class Patient {
  well = false
  readonly received: Array<string> = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(fault: Fault) {
    const serve = (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on("error", () => {})
      if (!this.well && fault.connection !== undefined) {
        fault.connection(socket)
        return
      }
      let request = ""
      socket.on("data", (chunk: Buffer) => {
        request += chunk.toString()
        const [head = "", body = ""] = request.split("\r\n\r\n")
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
        if (!(Buffer.byteLength(body) >= length)) return
        request = ""
        this.received.push(JSON.parse(body).data.userId)
        const answer = this.well ? undefined : fault.request
        if (answer === undefined) socket.write("HTTP/1.1 204 No Content\r\n\r\n")
        else answer(socket)
      })
    }
    const { tls } = fault
    this.#server =
      tls === undefined
        ? createServer(serve)
        : createTlsServer({ key: receiverKey, cert: tls.cert }, serve).on(
            "tlsClientError",
            () => {},
          )
    if (tls?.silent) this.#server = this.#silent(this.#server)
  }

  /** A server that does not answer TLS handshakes while it is faulty. */
  #silent(secure: Server): Server {
    return createServer((socket) => {
      this.#sockets.add(socket)
      socket.on("error", () => {})
      if (this.well) secure.emit("connection", socket)
      else socket.resume()
    })
  }

  listen(port = 0): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(port, "127.0.0.1", () => {
        const address = this.#server.address()
        resolve(typeof address === "object" ? address!.port : 0)
      })
    })
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  heal(): void {
    this.well = true
    const server = this.#server as Server & { setSecureContext?: (of: object) => void }
    server.setSecureContext?.({ key: receiverKey, cert: receiverCertificate })
    for (const socket of this.#sockets) socket.destroy()
  }
}

interface Course {
  readonly hurt: Delivery
  readonly fine: Delivery
  readonly disabled: DisabledReason | null
  readonly received: ReadonlyArray<string>
}

const healed = new Set<string>()
const resolve: Resolve = async (host) => {
  if (healed.has(host) || host === "receiver.test") return ["127.0.0.1"]
  if (host === "inside.test") return ["10.0.0.1"]
  if (host === "silent.test") return new Promise(() => {})
  if (host === "other.test") return ["127.0.0.1"]
  if (host === "unknown.test") return []
  throw new Error(`${host} gets no answer`)
}

let started: Started
const patients: Array<Patient | DeafPatient> = []
const courses = new Map<string, Promise<Course>>()

const course = (name: string, fault: Fault): Effect.Effect<Course> =>
  Effect.gen(function* () {
    const { deliveries, engine } = started
    const environment = `prj_${patients.length}:sandbox`
    const patient = fault.deaf ? new DeafPatient() : new Patient(fault)
    patients.push(patient)
    let port = yield* Effect.promise(() => patient.listen())
    if (fault.closed) yield* Effect.promise(() => patient.close())
    const { host = "127.0.0.1", tls } = fault
    const url = `${tls === undefined ? "http" : "https"}://${host}:${port}/${patients.length}`
    const made = webhook(url, ["reward.granted"])
    const webhookId = made.webhook.id
    yield* engine.askProject(environment, made)
    const log = deliveries.list(environment, webhookId, {
      status: undefined,
      before: undefined,
      limit: 9,
    })
    const ended = (count: number) =>
      until(
        log,
        ({ deliveries: all }) =>
          all.length === count && all.every(({ status }) => status !== "pending"),
      )
    const state = Effect.map(
      engine.readProject(environment),
      ({ webhooks }) => webhooks.get(webhookId)!,
    )
    yield* engine.askUser(environment, reward("hurt", 1))
    const [hurt] = (yield* ended(1)).deliveries
    let disabled: DisabledReason | null = null
    if (hurt!.last?.status === 410) {
      const found = yield* until(state, ({ status }) => status === "disabled")
      disabled = found.disabledReason
      const change = { status: "enabled" } as const
      yield* engine.askProject(environment, { kind: "updateWebhook", webhookId, change })
    }
    patient.heal()
    healed.add(host)
    if (fault.closed) port = yield* Effect.promise(() => patient.listen(port))
    if (name === "the certificate is of another") {
      const change = { url: url.replace(host, "receiver.test") }
      yield* engine.askProject(environment, { kind: "updateWebhook", webhookId, change })
    }
    yield* engine.askUser(environment, reward("fine", 1))
    const [fine] = (yield* ended(2)).deliveries
    return { hurt: hurt!, fine: fine!, disabled, received: patient.received }
  }).pipe(Effect.orDie)

beforeAll(async () => {
  started = await Effect.runPromise(
    startInMemory(undefined, { schedule: [0, 0], timeoutMs, trusted: authority, resolve }),
  )
  for (const [name, [fault]] of Object.entries(faults)) {
    courses.set(name, Effect.runPromise(course(name, fault)))
  }
})
afterAll(async () => {
  await Effect.runPromise(started.close())
  for (const patient of patients) await patient.close()
})

describe("A delivery", () => {
  it.each(Object.entries(faults))("has the right outcome when: %s", async (name, [, end]) => {
    const { disabled, fine, hurt, received } = await courses.get(name)!
    expect({
      status: hurt.status,
      reply: hurt.last?.status,
      error: hurt.last?.error,
      attempts: hurt.attempts,
      disabled,
    }).toEqual({ disabled: null, ...end })
    expect([fine.status, fine.last?.status]).toEqual(["succeeded", 204])
    expect(received.at(-1)).toBe("fine")
  })
})
