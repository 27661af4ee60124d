/**
 * Requests on their way from one runner to another, over real connections; an owner whose replies
 * the tests choose.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import http, { type IncomingMessage, type ServerResponse } from "node:http"
import net, { type AddressInfo } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { isRepeatable } from "../../src/cluster/Forward.ts"
import { Forwarder } from "../../src/cluster/Forwarder.ts"
import { internalHeaders, listenInternally } from "../../src/cluster/InternalPort.ts"
import type { Owner } from "../../src/cluster/Owners.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { hasBody } from "../../src/http/body/Body.ts"
import { clientAddress } from "../../src/http/request/ClientAddress.ts"
import type { Exchange, RequestHandler } from "../../src/http/request/Exchange.ts"
import { RequestMetrics } from "../../src/http/request/RequestMetrics.ts"
import { Listener, listen } from "../../src/http/server/Listener.ts"
import { limits } from "../../src/Limits.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"

const secret = "the secret"
let scope: Scope.Closeable
const ends: Array<() => unknown> = []

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const nobody = {
  draining: false,
  watch: { tracing: false },
  answered: () => {},
  missed: () => {},
}

type Answer = (exchange: Exchange, request: IncomingMessage, response: ServerResponse) => void

/** A runner that owns the partition, and how often it was asked. */
const ownerThat = async (answer: Answer, handles: () => boolean = () => true) => {
  const seen = { requests: 0, admin: 0 }
  const counting = (name: keyof typeof seen): RequestHandler => ({
    ...nobody,
    handle: (exchange) => {
      seen[name]++
      answer(exchange, exchange.request, exchange.response)
    },
  })
  const api = counting("requests")
  const admin = counting("admin")
  scope = await Effect.runPromise(Scope.make())
  const listener = await Effect.runPromise(
    Scope.provide(
      listenInternally({
        host: "127.0.0.1",
        port: 0,
        secret,
        graceMs: 0,
        handlerOf: (partition) => (partition === 1 && handles() ? api : undefined),
        adminOf: (partition) => (partition === 1 && handles() ? admin : undefined),
        directoryOf: () => undefined,
      }),
      scope,
    ),
  )
  const own = scope
  ends.push(() => Effect.runPromise(Scope.close(own, Exit.void)))
  const { port } = listener.server.address() as AddressInfo
  return { address: `127.0.0.1:${port}`, seen, listener }
}

/** Owners as this runner knows them; `become` tells of another one. */
class KnownOwners {
  failure: string | undefined
  runners: ReadonlyArray<string> = []
  #waiting: Array<() => void> = []
  renewals = 0
  /** Of partition 1. */
  owner: Owner | undefined
  others: Owner | undefined
  /** The partitions that this runner serves. */
  readonly served = new Set<number>()
  /** Whether `changed` also ends after its time. */
  endsByTime = true
  constructor(address?: string) {
    this.owner = address === undefined ? undefined : { address, epoch: 1 }
  }
  of(partition: number): Owner | undefined {
    return partition === 1 ? this.owner : this.others
  }
  renew(): Promise<void> {
    this.renewals++
    return Promise.resolve()
  }
  changed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.endsByTime) setTimeout(resolve, ms)
    })
  }
  become(address: string): void {
    this.#set({ address, epoch: (this.owner?.epoch ?? 0) + 1 })
  }
  announce(): void {
    this.#set({ ...this.owner! })
  }
  #set(owner: Owner): void {
    this.owner = owner
    for (const end of this.#waiting.splice(0)) end()
  }
}

/** A runner that forwards; its port. */
const runnerThatKnows = async (owners: KnownOwners, address = "here") => {
  const metrics = new RequestMetrics(new Metrics())
  const own = { address, serves: (partition: number) => owners.served.has(partition) }
  const forwarder = new Forwarder({ ...own, owners, secret, metrics, partitionOf: () => 1 })
  const listener = new Listener(forwarder, limits)
  await Effect.runPromise(listen(listener.server, { host: "127.0.0.1", port: 0 }))
  ends.push(async () => {
    listener.server.closeAllConnections()
    listener.server.close()
    await forwarder.connections.close()
  })
  return { forwarder, port: (listener.server.address() as AddressInfo).port }
}

/**
 * The address of a process that accepts no connection: it is paused, and its queue of connections
 * is full.
 */
const machineWithoutAnswer = async (): Promise<string> => {
  const script = `const server = require("net").createServer()
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port))`
  const stdio = ["ignore", "pipe", "inherit"] as const
  const child = spawn(process.execPath, ["-e", script], { stdio: [...stdio] })
  ends.push(() => child.kill("SIGKILL"))
  const [line] = (await once(child.stdout!, "data")) as [Buffer]
  child.kill("SIGSTOP")
  const port = Number(String(line))
  while (true) {
    const socket = net.connect(port, "127.0.0.1").on("error", () => {})
    ends.push(() => socket.destroy())
    const connected = once(socket, "connect").then(() => true)
    // Where this process was late, it first learns of a connection that was made in time.
    const late = new Promise<false>((resolve) => {
      setTimeout(() => setImmediate(resolve, false), 300)
    })
    if (!(await Promise.race([connected, late]))) return `127.0.0.1:${port}`
  }
}

interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

const ask = (
  port: number,
  { body, ...options }: http.RequestOptions & { readonly body?: string | Buffer },
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, agent: false, ...options }, (reply) => {
      let text = ""
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
      })
      reply.on("error", reject)
      reply.on("end", () =>
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: text }),
      )
    })
    request.on("error", reject)
    request.end(body)
  })

const echo: Answer = (exchange, request) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  const tell = () => {
    const { headers, method, url } = request
    const address = clientAddress(undefined)(request)
    const bytes = Buffer.concat(chunks).length
    const told = { method, url, headers, address, bytes, id: exchange.requestId }
    exchange.reply(201, "application/json", JSON.stringify(told), ["X-Own", "yes"])
  }
  // A request without a body has no events of a stream.
  if (hasBody(request)) request.on("end", tell)
  else tell()
}

describe("A forwarded request", () => {
  it("arrives as it was sent, with the client's address and without the fields for one connection", async () => {
    const owner = await ownerThat(echo)
    const { port } = await runnerThatKnows(new KnownOwners(owner.address))
    const reply = await ask(port, {
      method: "POST",
      path: "/v1/events?a=%20b",
      headers: {
        authorization: "Bearer k",
        "x-request-id": "mine",
        connection: "x-hop, keep-alive",
        "x-hop": "1",
        te: "trailers",
        "laurel-internal-peer": "10.0.0.1",
        "laurel-internal-partition": "7",
        "x-forwarded-for": "192.0.2.1",
      },
      body: "12345",
    })
    expect([reply.status, reply.headers["x-own"], reply.headers["x-request-id"]]).toEqual([
      201,
      "yes",
      "mine",
    ])
    const told = JSON.parse(reply.body)
    expect(told).toMatchObject({
      method: "POST",
      url: "/v1/events?a=%20b",
      address: "127.0.0.1",
      bytes: 5,
      id: "mine",
    })
    expect(told.headers).toMatchObject({
      authorization: "Bearer k",
      "x-forwarded-for": "192.0.2.1",
    })
    expect(told.headers["laurel-internal-partition"]).toBe("1")
    expect(told.headers["laurel-internal-peer"]).toBe("127.0.0.1")
    for (const name of ["x-hop", "te"]) expect(told.headers[name]).toBeUndefined()
  })

  it.each([
    ["none", 0],
    ["the largest that is kept", limits.forwardKeptBytesMax],
    ["one byte more, streamed", limits.forwardKeptBytesMax + 1],
    ["a large one", 8 * 1024 * 1024],
  ])("carries its body: %s", async (_, bytes) => {
    const owner = await ownerThat(echo)
    const { port } = await runnerThatKnows(new KnownOwners(owner.address))
    const body = Buffer.alloc(bytes, 97)
    const announced = await ask(port, {
      method: "POST",
      path: "/x",
      headers: { "content-length": bytes },
      body,
    })
    const chunked = await ask(port, {
      method: "POST",
      path: "/x",
      headers: { "transfer-encoding": "chunked" },
      body,
    })
    expect([JSON.parse(announced.body).bytes, JSON.parse(chunked.body).bytes]).toEqual([
      bytes,
      bytes,
    ])
  })

  it("passes on each part of a stream as it arrives, and its end reaches the owner", async () => {
    let left: Promise<unknown> | undefined
    const owner = await ownerThat((_, __, response) => {
      left = once(response, "close")
      response.writeHead(200, { "Content-Type": "text/event-stream" })
      response.write("data: 1\n\n")
      // A peer that has left is noticed when something is sent to it: it may have closed its side
      // alone.
      const timer = setInterval(() => response.write(": open\n\n"), 10)
      response.once("close", () => clearInterval(timer))
    })
    const { forwarder, port } = await runnerThatKnows(new KnownOwners(owner.address))
    const request = http.get({
      host: "127.0.0.1",
      port,
      path: "/v1/stream",
      headers: { accept: "text/event-stream" },
    })
    const [reply] = (await once(request, "response")) as [IncomingMessage]
    const [chunk] = (await once(reply.setEncoding("utf8"), "data")) as [string]
    // The comments of a slow moment come with it.
    expect(chunk).toMatch(/^data: 1\n\n/)
    request.on("error", () => {})
    request.destroy()
    await left
    expect(forwarder.outcomes).toMatchObject({ left: 1, answered: 0 })
  })

  it("closes its connection when its runner stops, at once if the reply is a stream", async () => {
    const owner = await ownerThat((exchange, request, response) => {
      if (request.url !== "/v1/stream") return echo(exchange, request, response)
      response.writeHead(200, { "Content-Type": "text/event-stream" })
      response.write("data: 1\n\n")
    })
    const { forwarder, port } = await runnerThatKnows(new KnownOwners(owner.address))
    const agent = new http.Agent({ keepAlive: true })
    ends.push(() => agent.destroy())
    const first = await ask(port, { agent, path: "/v1/users/ada" })
    expect(first.headers.connection).toBe("keep-alive")
    const headers = { accept: "text/event-stream" }
    const open = http.get({ host: "127.0.0.1", port, path: "/v1/stream", headers })
    const [reply] = (await once(open, "response")) as [IncomingMessage]
    await once(reply, "data")
    forwarder.drain()
    await once(reply.resume(), "end")
    const last = await ask(port, { agent, path: "/v1/users/ada" })
    expect([last.status, last.headers.connection]).toEqual([201, "close"])
    const late = await ask(port, { path: "/v1/stream", headers })
    expect(late.status).toBe(200)
    expect(forwarder.inProgress).toBe(0)
  })

  it("to the admin server reaches the owner's admin server, and a client's header alone does not", async () => {
    const owner = await ownerThat(echo)
    const { forwarder, port } = await runnerThatKnows(new KnownOwners(owner.address))
    const admin = new Listener(
      { ...nobody, handle: (exchange) => forwarder.forwardAdmin(exchange, 1) },
      limits,
    )
    await Effect.runPromise(listen(admin.server, { host: "127.0.0.1", port: 0 }))
    ends.push(() => {
      admin.server.closeAllConnections()
      admin.server.close()
    })
    const { port: adminPort } = admin.server.address() as AddressInfo
    const reply = await ask(adminPort, { method: "POST", path: "/admin/keys", body: "{}" })
    expect([reply.status, JSON.parse(reply.body)]).toMatchObject([
      201,
      { url: "/admin/keys", address: "127.0.0.1", bytes: 2 },
    ])
    expect(owner.seen).toEqual({ requests: 0, admin: 1 })
    await ask(port, { path: "/v1/x", headers: { "laurel-internal-admin": "1" } })
    expect(owner.seen).toEqual({ requests: 1, admin: 1 })
  })

  it.each([
    ["an owner", undefined],
    ["the first claim", ""],
  ])("waits for %s, and is sent to the one that comes", async (_, nobodysAddress) => {
    const owner = await ownerThat(echo)
    const owners = new KnownOwners(nobodysAddress)
    const { forwarder, port } = await runnerThatKnows(owners)
    const reply = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (forwarder.waiting === 0) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    expect((await reply).status).toBe(201)
    expect(owner.seen.requests).toBe(1)
  })

  it("leaves half of the waiting places to other partitions while its own has no owner", async () => {
    const { forwarder } = await runnerThatKnows(new KnownOwners())
    let waiting = 0
    while (forwarder.change(1) !== undefined) waiting++
    expect(waiting).toBe(limits.ownerWaitingMax / 2)
    expect(forwarder.change(2)).toBeInstanceOf(Promise)
    expect(forwarder.waiting).toBe(waiting + 1)
  })

  it("finds a server ready once each partition had a live owner, and then while one partition has", async () => {
    const owners = new KnownOwners("here")
    const { forwarder, port } = await runnerThatKnows(owners)
    const ready = async () => {
      const { body, status } = await ask(port, { path: "/readyz" })
      const { code, detail } = JSON.parse(body) as Record<string, string>
      return [status, code, detail]
    }
    const starting = (count: number) => [
      503,
      "starting",
      `${count} of ${limits.clusterPartitions} partitions have a server that serves them.`,
    ]
    const others = limits.clusterPartitions - 1
    // The owners of record before the start of all servers.
    owners.others = { address: "there", epoch: 1 }
    expect(await ready()).toEqual(starting(0))
    owners.served.add(1)
    expect(await ready()).toEqual(starting(1))
    owners.served.clear()
    owners.runners = ["here", "there"]
    expect(await ready()).toEqual(starting(others))
    owners.served.add(1)
    expect(await ready()).toEqual([200, undefined, undefined])
    owners.runners = ["here"]
    expect((await ready())[0]).toBe(200)
    owners.served.clear()
    expect(await ready()).toEqual(starting(0))
    owners.served.add(1)
    owners.failure = "connection refused"
    expect((await ready()).slice(0, 2)).toEqual([503, "storage_unavailable"])
    owners.failure = undefined
    forwarder.isStopping = true
    expect((await ready()).slice(0, 2)).toEqual([503, "shutting_down"])
  })

  it("finds a server ready after a while if a partition gets no owner", async () => {
    const owners = new KnownOwners("here")
    const { forwarder } = await runnerThatKnows(owners)
    owners.served.add(1)
    const from = performance.now()
    const time = vi.spyOn(performance, "now")
    time.mockImplementation(() => from + limits.readinessWaitMs - 10_000)
    expect(forwarder.notReady).toMatchObject({ code: "starting" })
    time.mockImplementation(() => from + limits.readinessWaitMs)
    expect(forwarder.notReady).toBeUndefined()
    owners.served.clear()
    expect(forwarder.notReady).toMatchObject({ code: "starting" })
    time.mockRestore()
  })

  it("gets the error for an outage of PostgreSQL if no owner can be reached because of it", async () => {
    const owners = new KnownOwners()
    const { forwarder, port } = await runnerThatKnows(owners)
    const codeOf = async () => JSON.parse((await ask(port, { path: "/v1/events" })).body).code
    // It waits for no owner.
    forwarder.drain()
    expect(await codeOf()).toBe("starting")
    owners.failure = "connection refused"
    expect(await codeOf()).toBe("storage_unavailable")
  })

  it("waits while no runner has claimed the partition", async () => {
    const owner = await ownerThat(echo)
    const owners = new KnownOwners("")
    const { forwarder, port } = await runnerThatKnows(owners)
    expect(forwarder.notReady).toBeDefined()
    const reply = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (forwarder.waiting === 0) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    expect((await reply).status).toBe(201)
  })

  it("goes to the next owner at once, not to its own port, if this runner was the last owner", async () => {
    const here = await ownerThat(echo, () => false)
    const owner = await ownerThat(echo)
    const owners = new KnownOwners(here.address)
    owners.endsByTime = false
    const { forwarder, port } = await runnerThatKnows(owners, here.address)
    const reply = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (forwarder.waiting === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(owners.renewals).toBe(1)
    owners.become(owner.address)
    expect((await reply).status).toBe(201)
    expect([here.seen.requests, owner.seen.requests]).toEqual([0, 1])
    // While it serves the partition, its port is that of an owner.
    const own = await ownerThat(echo)
    const known = new KnownOwners(own.address)
    known.served.add(1)
    const serving = await runnerThatKnows(known, own.address)
    expect((await ask(serving.port, { path: "/v1/events" })).status).toBe(201)
  })

  it("goes to the next owner if the last owner refuses it or is gone", async () => {
    const former = await ownerThat(echo, () => false)
    const owner = await ownerThat(echo)
    const owners = new KnownOwners(former.address)
    const { forwarder, port } = await runnerThatKnows(owners)
    const refused = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (owners.renewals === 0) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    expect((await refused).status).toBe(201)
    const gone = net.createServer().listen(0, "127.0.0.1")
    await once(gone, "listening")
    const { port: goneAt } = gone.address() as AddressInfo
    gone.close()
    await once(gone, "close")
    owners.become(`127.0.0.1:${goneAt}`)
    const unreached = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (owners.renewals === 1) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    expect((await unreached).status).toBe(201)
    expect([former.seen.requests, owner.seen.requests]).toEqual([0, 2])
    expect(forwarder.outcomes).toMatchObject({ answered: 2, repeated: 0, unknown: 0 })
  })

  it("is sent as soon as the owner announces that it serves the partition", async () => {
    let serves = false
    const owner = await ownerThat(echo, () => serves)
    const owners = new KnownOwners(owner.address)
    owners.endsByTime = false
    const { forwarder, port } = await runnerThatKnows(owners)
    const reply = ask(port, { method: "POST", path: "/v1/events", body: "{}" })
    while (forwarder.waiting === 0) await new Promise((resolve) => setImmediate(resolve))
    serves = true
    owners.announce()
    expect((await reply).status).toBe(201)
    expect([owner.seen.requests, owners.renewals]).toEqual([1, 1])
  })

  it.each([
    ["its owner announces itself", (owners: KnownOwners) => owners.announce()],
    ["a new owner is known", (owners: KnownOwners) => owners.become(owners.owner!.address)],
  ])("does not wait where, before the refusal arrives, %s", async (_, happens) => {
    const owner = await ownerThat((exchange, request, response) => {
      if (owner.seen.requests > 1) return echo(exchange, request, response)
      happens(owners)
      exchange.refuse(laurelError("misdirected_request", "Another server owns the partition."), [
        internalHeaders.notOwner,
        "1",
      ])
    })
    const owners = new KnownOwners(owner.address)
    owners.endsByTime = false
    const { port } = await runnerThatKnows(owners)
    expect((await ask(port, { path: "/v1/users/ada" })).status).toBe(201)
    expect(owner.seen.requests).toBe(2)
  })

  const cutting: Answer = (_, request) => {
    request.resume()
    request.on("end", () => request.socket.destroy())
  }

  it("that was sent without a reply is sent again only if that is safe", async () => {
    const former = await ownerThat(cutting)
    const owner = await ownerThat(echo)
    const owners = new KnownOwners(former.address)
    const { forwarder, port } = await runnerThatKnows(owners)
    const unsafe = await ask(port, { method: "POST", path: "/v1/rules", body: "{}" })
    expect([unsafe.status, JSON.parse(unsafe.body)]).toMatchObject([
      503,
      { code: "storage_unavailable", detail: expect.stringContaining("outcome is unknown") },
    ])
    expect(unsafe.headers["retry-after"]).toBe("5")
    const { requests } = former.seen
    const safe = ask(port, { method: "POST", path: "/v1/events", body: '{"id":"1"}' })
    while (former.seen.requests === requests) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    expect((await safe).status).toBe(201)
    expect(forwarder.outcomes).toMatchObject({ unknown: 1, repeated: 1, answered: 1 })
  })

  it("does not wait for a former owner", async () => {
    const stopped = await ownerThat(() => {})
    const owner = await ownerThat(echo)
    const owners = new KnownOwners(stopped.address)
    const { forwarder, port } = await runnerThatKnows(owners)
    const read = ask(port, { path: "/v1/users/ada" })
    const write = ask(port, { method: "POST", path: "/v1/rules", body: "{}" })
    while (stopped.seen.requests < 2) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    forwarder.leaveFormerOwners()
    expect([(await read).status, (await write).status]).toEqual([201, 503])
  })

  it("is executed once, by the next owner, if the last owner's machine is gone", async () => {
    const lost = await machineWithoutAnswer()
    const replies: Array<() => void> = []
    const owner = await ownerThat((exchange) => {
      replies.push(() => exchange.reply(201, "application/json", "{}"))
    })
    const owners = new KnownOwners(lost)
    const { forwarder, port } = await runnerThatKnows(owners)
    const failed = once(forwarder.connections.to(lost, false), "connectionError")
    const write = ask(port, { method: "POST", path: "/v1/users/ada/points", body: "{}" })
    while (forwarder.inProgress === 0) await new Promise((resolve) => setImmediate(resolve))
    owners.become(owner.address)
    forwarder.leaveFormerOwners()
    while (replies.length === 0) await new Promise((resolve) => setImmediate(resolve))
    // The attempt at the lost machine ends while the next owner carries the request out.
    await failed
    for (const reply of replies) reply()
    expect((await write).status).toBe(201)
    expect(owner.seen.requests).toBe(1)
    expect(forwarder.outcomes).toMatchObject({ answered: 1, unknown: 0, repeated: 0 })
  })

  it("with a large body gets its reply if the owner refuses before it has read the whole body", async () => {
    const owner = await ownerThat((exchange) =>
      exchange.refuse(laurelError("unauthorized", "No such key.")),
    )
    const { forwarder, port } = await runnerThatKnows(new KnownOwners(owner.address))
    const socket = net.connect(port, "127.0.0.1")
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    const bytes = 4 * 1024 * 1024
    socket.write(`POST /v1/events/batch HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`)
    // As many clients do: the reply is read once the body is sent.
    socket.pause()
    socket.end(Buffer.alloc(bytes, 97), () => socket.resume())
    await once(socket, "close")
    expect(text).toMatch(/^HTTP\/1\.1 401 /)
    expect(forwarder.inProgress).toBe(0)
  })

  it("is cut off if half of its reply is missing", async () => {
    const owner = await ownerThat((_, __, response) => {
      response.writeHead(200, { "Content-Length": "10" })
      response.write("12345", () => response.socket?.destroy())
    })
    const { port } = await runnerThatKnows(new KnownOwners(owner.address))
    await expect(ask(port, { path: "/v1/export" })).rejects.toThrow(/aborted|hang up|reset/)
  })
})

describe("The port for other runners", () => {
  it("accepts the largest header fields that other ports accept, plus the forwarder's own", async () => {
    const owner = await ownerThat(echo)
    const { port } = await runnerThatKnows(new KnownOwners(owner.address))
    const status = async (bytes: number) =>
      (await ask(port, { path: "/x", headers: { padding: "x".repeat(bytes) } })).status
    let bytes = limits.headerBytesMax
    while ((await status(bytes)) === 431) bytes--
    expect(bytes).toBeGreaterThan(limits.headerBytesMax - 200)
    expect(await status(bytes)).toBe(201)
  })

  it("refuses requests without the secret, and requests for a partition that it does not serve", async () => {
    const owner = await ownerThat(echo)
    const [, port] = owner.address.split(":")
    const from = (headers: http.OutgoingHttpHeaders) =>
      ask(Number(port), { path: "/v1/leaderboard", headers })
    for (const given of [{}, { "laurel-internal-secret": "wrong" }]) {
      expect((await from({ ...given, "laurel-internal-partition": "1" })).status).toBe(401)
    }
    const known = { "laurel-internal-secret": secret }
    for (const partition of ["0", "2", "x", ""]) {
      const reply = await from({ ...known, "laurel-internal-partition": partition })
      expect([reply.status, reply.headers["laurel-internal-not-owner"]]).toEqual([421, "1"])
    }
    expect(owner.seen.requests).toBe(0)
  })
})

describe("A request that may be sent twice", () => {
  const may = (method: string, path: string, body: string, headers = {}) =>
    isRepeatable({ method, headers } as IncomingMessage, path, Buffer.from(body))

  it("changes nothing, or is recognised by Laurel", () => {
    expect(may("GET", "/v1/users/a", "")).toBe(true)
    expect(may("HEAD", "/v1/users/a", "")).toBe(true)
    expect(may("POST", "/v1/rules", "{}", { "idempotency-key": "k" })).toBe(true)
    expect(may("POST", "/v1/events", '{"id":"1"}')).toBe(true)
    expect(may("POST", "/v1/events/batch", '{"events":[{"id":"1"},{"id":"2"}]}')).toBe(true)
  })

  it("is no other request", () => {
    expect(may("POST", "/v1/rules", "{}")).toBe(false)
    expect(may("DELETE", "/v1/users/a", "", { "idempotency-key": "k" })).toBe(false)
    expect(may("PUT", "/v1/project", "{}")).toBe(false)
    expect(may("POST", "/v1/events", "{}")).toBe(false)
    expect(may("POST", "/v1/events", '{"id":7}')).toBe(false)
    expect(may("POST", "/v1/events", '{"id":')).toBe(false)
    expect(may("POST", "/v1/events", "null")).toBe(false)
    expect(may("POST", "/v1/events/batch", '{"events":[{"id":"1"},{}]}')).toBe(false)
    expect(may("POST", "/v1/events/batch", "[]")).toBe(false)
    const streamed = { method: "POST", headers: { "idempotency-key": "k" } }
    expect(isRepeatable(streamed as unknown as IncomingMessage, "/v1/rules", undefined)).toBe(false)
  })
})
