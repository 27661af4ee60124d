import { EventEmitter, once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Effect, Latch, Logger, Queue, Result, Stream } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { laurelError } from "../../../src/domain/values/Errors.ts"
import type { HttpRoute } from "../../../src/http/contract/Interpreter.ts"
import type { CompiledOperation } from "../../../src/http/contract/Operation.ts"
import { Router } from "../../../src/http/contract/Router.ts"
import { Pipeline } from "../../../src/http/pipeline/Pipeline.ts"
import { Exchange } from "../../../src/http/request/Exchange.ts"
import { RequestMetrics } from "../../../src/http/request/RequestMetrics.ts"
import { type StreamedReply, Streams } from "../../../src/http/stream/StreamedReply.ts"
import { StreamPlace, StreamPlaces } from "../../../src/http/stream/StreamPlaces.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { TestAccounts } from "../fixture.ts"

const stops: Array<() => void> = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A server with one operation, which answers `reply`. */
const serve = async (reply: StreamedReply, streamStallMs = 60_000) => {
  const accounts = new TestAccounts()
  accounts.addKey("lk_test_full")
  const errors: Array<string> = []
  const collect = Logger.make((entry) => {
    if (entry.logLevel === "Error") errors.push(Logger.formatLogFmt.log(entry))
  })
  const operation: CompiledOperation = {
    name: "test.stream",
    method: "GET",
    path: "/v1/pieces",
    status: 200,
    scopes: new Set(["full"]),
    userNamed: undefined,
    bodyBytesMax: 0,
    mediaTypes: new Set(),
    bodyOptional: false,
    moreFaults: () => [],
    params: () => Result.succeed({}),
    query: () => Result.succeed({}),
    headers: () => Result.succeed({}),
    payload: () => Result.succeed(undefined),
    cost: undefined,
    handleWithCallback: undefined,
    handle: () => Effect.succeed(reply),
  }
  const route: HttpRoute = { kind: "operation", method: "GET", path: "/v1/pieces", operation }
  const pipeline = new Pipeline({
    router: new Router([route]),
    accounts,
    metrics: new RequestMetrics(new Metrics()),
    run: (effect) => Effect.runFork(Effect.provide(effect, Logger.layer([collect]))),
    streamStallMs,
  })
  const server = createServer((request, response) =>
    pipeline.handle(new Exchange(request, response, false, pipeline)),
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  stops.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, pipeline, errors }
}

/** Requests the pieces on a socket of its own. `text` is the received text. */
const ask = async (port: number, { method = "GET", paused = false } = {}) => {
  const socket: Socket = connect(port, "127.0.0.1")
  stops.push(() => socket.destroy())
  const received = { text: "" }
  const waiting: Array<() => void> = []
  if (paused) socket.pause()
  socket.on("data", (chunk: Buffer) => {
    received.text += chunk.toString("latin1")
    for (const check of [...waiting]) check()
  })
  socket.on("error", () => {})
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()))
  socket.write(
    `${method} /v1/pieces HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer lk_test_full\r\n\r\n`,
  )
  const until = (words: string) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (received.text.includes(words)) resolve()
      }
      waiting.push(check)
      check()
    })
  return { socket, received, closed, until }
}

const onePlace = () => {
  const places = new StreamPlaces({ ...limits, streamsMax: 1, streamsOfEnvironmentMax: 1 })
  const place = places.take("prj_test:sandbox")
  if (!(place instanceof StreamPlace)) throw new Error(place.code)
  return { place, places }
}

const bodyOf = (reply: string) => reply.slice(reply.indexOf("\r\n\r\n") + 4)

const lastChunk = "0\r\n\r\n"

describe("A reply in pieces", () => {
  it("sends each piece at once, and ends complete", async () => {
    const gate = Latch.makeUnsafe(false)
    const stream = Stream.make("first", "", Buffer.from("sécond")).pipe(
      Stream.tap((piece) => (piece === "first" ? Effect.void : Latch.await(gate))),
    )
    const { port } = await serve({ contentType: "text/plain", stream })
    const { closed, received, until } = await ask(port)
    await until("first")
    expect(received.text).not.toContain("cond")
    expect(received.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(received.text).toMatch(/\r\nTransfer-Encoding: chunked\r\n/i)
    expect(received.text).toMatch(/\r\nX-Request-Id: req_/)
    expect(received.text).toMatch(/\r\nContent-Type: text\/plain\r\n/)
    Effect.runSync(Latch.open(gate))
    await closed
    expect(Buffer.from(received.text, "latin1").toString()).toContain("sécond")
    expect(received.text.endsWith(lastChunk)).toBe(true)
  })

  it("makes no more pieces than its caller takes", async () => {
    let made = 0
    const stream = Stream.fromEffectRepeat(Effect.sync(() => `${++made}`)).pipe(Stream.take(3))
    const taken: Array<string> = []
    const response = Object.assign(new EventEmitter(), {
      destroyed: false,
      writableNeedDrain: true,
      write: (piece: string) => {
        taken.push(piece)
        return false
      },
      end: () => {
        taken.push("end")
        response.emit("close")
      },
    })
    const exchange = {
      response,
      request: { method: "GET" },
      begin: () => true,
    } as unknown as Exchange
    const streams = new Streams((effect) => Effect.runFork(effect), 60_000)
    streams.send(exchange, 200, { contentType: "text/plain", stream }, [])
    for (const upTo of [1, 2, 3]) {
      await expect.poll(() => response.listenerCount("drain")).toBe(1)
      expect(made).toBe(upTo)
      response.emit("drain")
    }
    await expect.poll(() => taken).toEqual(["1", "2", "3", "end"])
  })

  it("brings all of a body that is larger than any buffer", async () => {
    const piece = "y".repeat(65_536)
    const stream = Stream.fromEffectRepeat(Effect.succeed(piece)).pipe(Stream.take(200))
    const { port } = await serve({ contentType: "text/plain", stream })
    const { closed, received } = await ask(port)
    await closed
    expect(bodyOf(received.text).split("y").length - 1).toBe(200 * piece.length)
  })

  it("has only its head for HEAD, and is not made", async () => {
    let made = 0
    const stream = Stream.fromEffectRepeat(Effect.sync(() => `${++made}`))
    const { place, places } = onePlace()
    const { port } = await serve({ contentType: "text/plain", stream, place })
    const { closed, received } = await ask(port, { method: "HEAD" })
    await closed
    expect(places.ofEnvironments.count).toBe(0)
    expect(received.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(bodyOf(received.text)).toBe("")
    expect(made).toBe(0)
  })

  it("stops being made when its caller goes away", async () => {
    const ended = Latch.makeUnsafe(false)
    const stream = Stream.concat(Stream.make("one"), Stream.never).pipe(
      Stream.ensuring(Latch.open(ended)),
    )
    const { errors, port } = await serve({ contentType: "text/plain", stream })
    const { socket, until } = await ask(port)
    await until("one")
    socket.destroy()
    await Effect.runPromise(Latch.await(ended))
    expect(errors).toEqual([])
  })

  it("is cut short where it fails, so that its caller can tell", async () => {
    const failure = laurelError("storage_unavailable", "The disk is gone.")
    const stream = Stream.concat(Stream.make("one"), Stream.fail(failure))
    const { errors, port } = await serve({ contentType: "text/plain", stream })
    const { closed, received } = await ask(port)
    await closed
    expect(received.text).not.toContain(lastChunk)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain("A streamed reply failed")
  })

  it("is cut when its caller takes nothing for too long", async () => {
    const ended = Latch.makeUnsafe(false)
    const stream = Stream.ensuring(
      Stream.fromEffectRepeat(Effect.sync(() => "x".repeat(65_536))),
      Latch.open(ended),
    )
    const { errors, port } = await serve({ contentType: "text/plain", stream }, 50)
    const { socket } = await ask(port, { paused: true })
    await Effect.runPromise(Latch.await(ended))
    expect(socket.destroyed).toBe(false)
    expect(errors[0]).toContain("client of a streamed reply stalled")
  })

  it("ends in good order with the server when it has no end of its own", async () => {
    const pieces = Effect.runSync(Queue.unbounded<string>())
    const stream = Stream.fromQueue(pieces)
    const { place, places } = onePlace()
    const { errors, pipeline, port } = await serve({ contentType: "text/plain", stream, place })
    const { closed, received, until } = await ask(port)
    Queue.offerUnsafe(pieces, "one")
    await until("one")
    pipeline.drain()
    await closed
    expect(received.text.endsWith(lastChunk)).toBe(true)
    expect(errors).toEqual([])
    expect(places.ofEnvironments.count).toBe(0)
  })

  it("is cut when it has lost its place and its caller does not read", async () => {
    const { place, places } = onePlace()
    const stalled = Latch.makeUnsafe(false)
    const stream = Stream.concat(
      Stream.make("piece"),
      Stream.fromEffect(Effect.andThen(Latch.open(stalled), Effect.never)),
    )
    const response = Object.assign(new EventEmitter(), {
      destroyed: false,
      write: () => true,
      end: () => {},
      destroy: () => response.emit("close"),
    })
    const request = { method: "GET", socket: new EventEmitter() }
    const exchange = { response, request, begin: () => true }
    const streams = new Streams((effect) => Effect.runFork(effect), 20)
    streams.send(
      exchange as unknown as Exchange,
      200,
      { contentType: "text/plain", stream, place },
      [],
    )
    await Effect.runPromise(Latch.await(stalled))
    const cut = once(response, "close")
    place.evict()
    expect(places.ofEnvironments.count).toBe(0)
    await cut
  })

  it("continues during a shutdown if it is finite", async () => {
    const gate = Latch.makeUnsafe(false)
    const stream = Stream.concat(
      Stream.make("one"),
      Stream.fromEffect(Effect.as(Latch.await(gate), "two")),
    )
    const { pipeline, port } = await serve({ contentType: "text/plain", stream })
    const { closed, received, until } = await ask(port)
    await until("one")
    pipeline.drain()
    Effect.runSync(Latch.open(gate))
    await closed
    expect(received.text).toContain("two")
    expect(received.text.endsWith(lastChunk)).toBe(true)
  })
})
