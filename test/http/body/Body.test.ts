/** A body is the same, however its bytes arrive, and whether they pass through a stream or not. */
import { createServer, IncomingMessage } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Result } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import type { LaurelError } from "../../../src/domain/values/Errors.ts"
import { readBody } from "../../../src/http/body/Body.ts"
import { ServerRequest } from "../../../src/http/server/ServerRequest.ts"

const bytesMax = 20
const text = '{"a":"äöü"}'
const bytes = Buffer.from(text)

type Told =
  | { readonly kind: "head" }
  | { readonly kind: "piece"; readonly bytes: number }
  | { readonly kind: "done"; readonly body: Result.Result<Buffer, LaurelError> }

/**
 * A server that reads each body after `delay`, and a connection to it. `next` is the next body that
 * it reads.
 */
const open = async (kind: typeof IncomingMessage, delay = (read: () => void): void => read()) => {
  const seen: Array<Told> = []
  let waiting: ((told: Told) => void) | undefined
  const tell = (told: Told): void => {
    if (waiting === undefined) seen.push(told)
    else {
      waiting(told)
      waiting = undefined
    }
  }
  const server = createServer({ IncomingMessage: kind }, (request, response) => {
    tell({ kind: "head" })
    const done = (body: Result.Result<Buffer, LaurelError>): void => {
      response.end()
      tell({ kind: "done", body })
    }
    delay(() =>
      readBody(request, bytesMax, done, (length) => {
        tell({ kind: "piece", bytes: length })
        return undefined
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  socket.setNoDelay(true).resume()
  stop = () => {
    socket.destroy()
    server.close()
  }
  return {
    socket,
    next: () =>
      new Promise<Told>((resolve) => {
        const told = seen.shift()
        if (told === undefined) waiting = resolve
        else resolve(told)
      }),
  }
}

let stop = (): void => {}
afterEach(() => stop())

const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes.length}\r\n\r\n`
const whole = { kind: "done", body: Result.succeed(bytes) }

describe.each([
  ["a stream", IncomingMessage],
  ["the parser", ServerRequest],
])("a body from %s", (_, kind) => {
  it("that comes with its head is one piece", async () => {
    const { next, socket } = await open(kind)
    socket.write(Buffer.concat([Buffer.from(head), bytes]))
    expect(await next()).toEqual({ kind: "head" })
    expect(await next()).toEqual({ kind: "piece", bytes: bytes.length })
    expect(await next()).toEqual(whole)
  })

  it("may be cut anywhere", async () => {
    for (let cut = 0; cut < bytes.length; cut++) {
      const { next, socket } = await open(kind)
      socket.write(Buffer.concat([Buffer.from(head), bytes.subarray(0, cut)]))
      expect(await next()).toEqual({ kind: "head" })
      // The rest is sent only when the server has the first part.
      if (cut > 0) expect(await next()).toEqual({ kind: "piece", bytes: cut })
      socket.write(bytes.subarray(cut))
      expect(await next()).toEqual({ kind: "piece", bytes: bytes.length - cut })
      expect(await next()).toEqual(whole)
      stop()
    }
  })

  it("may arrive in chunks with its head, or after it", async () => {
    const chunks = [...bytes].map((byte) =>
      Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]),
    )
    const chunkedHead = Buffer.from(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    const end = Buffer.from("0\r\n\r\n")
    const { next, socket } = await open(kind)
    const untilDone = async (): Promise<Told> => {
      const told = await next()
      return told.kind === "done" ? told : untilDone()
    }
    socket.write(Buffer.concat([chunkedHead, ...chunks, end]))
    expect(await untilDone()).toEqual(whole)
    socket.write(Buffer.concat([chunkedHead, ...chunks.slice(0, 3)]))
    expect(await next()).toEqual({ kind: "head" })
    // The next piece is sent only when the server has the one before.
    for (let at = 0; at < 3; at++) expect(await next()).toEqual({ kind: "piece", bytes: 1 })
    for (const chunk of chunks.slice(3)) socket.write(chunk)
    socket.write(end)
    expect(await untilDone()).toEqual(whole)
  })

  it("may be followed by the next request in the same packet", async () => {
    const { next, socket } = await open(kind)
    const request = Buffer.concat([Buffer.from(head), bytes])
    socket.write(Buffer.concat([request, request]))
    const told = [
      await next(),
      await next(),
      await next(),
      await next(),
      await next(),
      await next(),
    ]
    expect(told.filter(({ kind }) => kind === "done")).toEqual([whole, whole])
  })

  it.each([
    ["with its head", bytesMax + 1],
    ["after it", 1],
  ])("that is too large is refused once, when it comes %s", async (_, first) => {
    const { next, socket } = await open(kind)
    const chunk = (length: number) => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(first)}`)
    expect(await next()).toEqual({ kind: "head" })
    if (first <= bytesMax) {
      expect(await next()).toEqual({ kind: "piece", bytes: first })
      socket.write(chunk(bytesMax))
    }
    const told = await next()
    expect(told).toMatchObject({ kind: "done", body: { failure: { code: "body_too_large" } } })
    socket.write(`${chunk(1)}0\r\n\r\n${head}`)
    // The first body got no further calls.
    expect(await next()).toEqual({ kind: "head" })
  })
})

describe("a body that is asked for late", () => {
  const openLate = () => open(ServerRequest, setImmediate)

  it("is read whole, even if all of it has already arrived", async () => {
    const { next, socket } = await openLate()
    socket.write(Buffer.concat([Buffer.from(head), bytes]))
    expect(await next()).toEqual({ kind: "head" })
    expect(await next()).toEqual({ kind: "piece", bytes: bytes.length })
    expect(await next()).toEqual(whole)
  })

  it("is empty when the request has none", async () => {
    const { next, socket } = await openLate()
    socket.write("POST / HTTP/1.1\r\nHost: x\r\n\r\n")
    expect(await next()).toEqual({ kind: "head" })
    expect(await next()).toEqual({ kind: "done", body: Result.succeed(Buffer.alloc(0)) })
  })
})
