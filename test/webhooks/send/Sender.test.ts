import { createServer, type Server, type Socket } from "node:net"
import { EnvHttpProxyAgent, fetch, getGlobalDispatcher, setGlobalDispatcher } from "undici"
import { afterEach, describe, expect, it, vi } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { AllowedRanges } from "../../../src/webhooks/send/AddressGuard.ts"
import { makeConnector } from "../../../src/webhooks/send/Connector.ts"
import type { Resolve } from "../../../src/webhooks/send/Resolver.ts"
import { type Outcome, Sender } from "../../../src/webhooks/send/Sender.ts"
import { makeSecret, secretKey } from "../../../src/webhooks/send/Signature.ts"
import { authority, expiredCertificate, receiverCertificate, receiverKey } from "../certificates.ts"
import { answer, Receiver } from "../Receiver.ts"

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const receiving = async (...tls: Parameters<typeof Receiver.start>) => {
  const receiver = await Receiver.start(...tls)
  ends.push(() => receiver.stop())
  return receiver
}

/** A server that does with each connection what a test wants. */
const listening = async (onConnection: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/hook`
}

const loopback: Resolve = async () => ["127.0.0.1"]

const sending = (
  url: string,
  {
    allow = ["127.0.0.0/8"],
    connectionsMax = 4,
    resolve = loopback,
    timeoutMs = 5_000,
    trusted,
  }: {
    readonly allow?: ReadonlyArray<string>
    readonly connectionsMax?: number
    readonly resolve?: Resolve
    readonly timeoutMs?: number
    readonly trusted?: string
  } = {},
) => {
  const connect = makeConnector({
    allowed: new AllowedRanges(allow),
    resolve,
    timeoutMs,
    ...(trusted !== undefined && { trusted }),
  })
  const sender = new Sender(url, { connect, timeoutMs, connectionsMax })
  ends.push(() => sender.close())
  return sender
}

const message = (body: string) => ({
  message: { id: "m", text: body },
  timestampSeconds: 1_700_000_000,
  keys: [secretKey(makeSecret())],
})

const send = (sender: Sender, body = '{"a":1}'): Promise<Outcome> =>
  new Promise((resolve) => {
    sender.send(message(body), resolve)
  })

const sendTo = (url: string, options: Parameters<typeof sending>[1] = {}) =>
  send(sending(url, options))

describe("An attempt", () => {
  it("posts the message, and reports status and reply", async () => {
    const receiver = await receiving()
    receiver.answer = answer(202, { "content-type": "text/plain" }, "thank you")
    const outcome = await sendTo(receiver.url())
    expect(outcome).toMatchObject({ status: 202, error: null, body: "thank you" })
    expect(outcome.durationMs).toBeGreaterThanOrEqual(0)
    const [received] = receiver.received
    expect(received).toMatchObject({ path: "/hook", body: '{"a":1}' })
    expect(received?.headers).toMatchObject({
      "content-type": "application/json",
      "content-length": "7",
      host: `127.0.0.1:${receiver.port}`,
    })
  })

  it("reuses a connection, and opens as many as it needs concurrently", async () => {
    const receiver = await receiving()
    const one = sending(receiver.url(), { connectionsMax: 1 })
    for (let round = 0; round < 5; round++) await send(one)
    expect(receiver.connections).toBe(1)
    const sender = sending(receiver.url())
    receiver.answer = answer(200, {}, "x".repeat(10_000))
    await Promise.all(Array.from({ length: 4 }, () => send(sender)))
    expect(receiver.connections).toBe(1 + 4)
  })

  it("is repeated if its idle connection was closed just before", async () => {
    let requests = 0
    const url = await listening((socket) =>
      socket.on("data", () => {
        requests++
        // The second request of a connection finds it closed.
        if (socket.bytesWritten > 0) socket.destroy()
        else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      }),
    )
    const sender = sending(url, { connectionsMax: 1 })
    expect(await send(sender)).toMatchObject({ status: 200 })
    expect(await send(sender)).toMatchObject({ status: 200 })
    expect(requests).toBe(3)
  })

  it("reports each status, and follows no redirect", async () => {
    const elsewhere = await receiving()
    const receiver = await receiving()
    for (const status of [200, 204, 299, 301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503]) {
      receiver.answer = answer(status, { location: elsewhere.url(), "retry-after": "7" })
      const outcome = await sendTo(receiver.url())
      expect(outcome).toMatchObject({ status, error: null, retryAfter: "7" })
    }
    expect(elsewhere.received).toEqual([])
  })

  it("skips preliminary responses", async () => {
    const url = await listening((socket) =>
      socket.once("data", () =>
        socket.write(
          "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        ),
      ),
    )
    expect(await sendTo(url)).toMatchObject({ status: 200, body: "ok" })
  })

  it("fails on endless preliminary responses, an unsolicited 100 or a switch of protocols", async () => {
    const hints = await listening((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 5)
      socket.on("close", () => clearInterval(timer))
    })
    expect(await sendTo(hints, { timeoutMs: 100 })).toMatchObject({
      status: null,
      error: "timeout",
    })
    const preliminary = [
      "100 Continue",
      "101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade",
    ]
    for (const line of preliminary) {
      const url = await listening((socket) =>
        socket.once("data", () => socket.write(`HTTP/1.1 ${line}\r\n\r\n`)),
      )
      const { error, status } = await sendTo(url, { timeoutMs: 5_000 })
      expect([line, status, error]).toEqual([line, null, "invalid_response"])
    }
  })

  it("fails when the connection is refused, reset or ended", async () => {
    const receiver = await receiving()
    const { port } = receiver
    await receiver.stop()
    ends.pop()
    expect(await sendTo(`http://127.0.0.1:${port}/`)).toMatchObject({
      status: null,
      error: "connection_refused",
    })
    const atOnce = await listening((socket) => socket.resetAndDestroy())
    expect(await sendTo(atOnce)).toMatchObject({ status: null, error: "connection_reset" })
    const afterRequest = await listening((socket) => socket.once("data", () => socket.end()))
    expect(await sendTo(afterRequest)).toMatchObject({ status: null, error: "connection_reset" })
    const inHeaders = await listening((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-")
        setTimeout(() => socket.resetAndDestroy(), 20)
      }),
    )
    expect(await sendTo(inHeaders)).toMatchObject({ status: null, error: "connection_reset" })
  })

  it("fails when the connection is reset while the message is sent", async () => {
    const url = await listening((socket) => socket.once("data", () => socket.resetAndDestroy()))
    const outcome = await send(sending(url), "x".repeat(8 * 1_024 * 1_024))
    expect(outcome).toMatchObject({ status: null, error: "connection_reset" })
  })

  it("counts a received status even if the body breaks off", async () => {
    for (const [status, words] of [
      [200, "200 OK"],
      [500, "500 No"],
    ] as const) {
      const url = await listening((socket) =>
        socket.once("data", () => {
          socket.write(`HTTP/1.1 ${words}\r\ncontent-length: 100\r\n\r\nonly this`)
          setTimeout(() => socket.resetAndDestroy(), 20)
        }),
      )
      expect(await sendTo(url)).toMatchObject({ status, error: null, body: "only this" })
    }
  })

  it("times out, wherever the receiver hangs", async () => {
    const silent = await listening(() => {})
    const inStatus = await listening((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 2")),
    )
    const drippingHeaders = await listening((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n")
        const timer = setInterval(() => socket.write("x: y\r\n"), 5)
        socket.on("close", () => clearInterval(timer))
      }),
    )
    for (const url of [silent, inStatus, drippingHeaders]) {
      const outcome = await sendTo(url, { timeoutMs: 100 })
      expect(outcome).toMatchObject({ status: null, error: "timeout" })
    }
    const neverResolved = await sendTo("http://receiver.test/", {
      timeoutMs: 100,
      resolve: () => new Promise(() => {}),
    })
    expect(neverResolved).toMatchObject({ status: null, error: "timeout" })
  })

  it("has its full time also after waiting for a connection", async () => {
    const timeoutMs = 1_000
    const receiver = await receiving()
    receiver.answer = (response) => {
      if (receiver.received.length > 1) response.writeHead(204).end()
    }
    const sender = sending(receiver.url(), { connectionsMax: 1, timeoutMs })
    const [hanging, waiting] = await Promise.all([send(sender), send(sender)])
    expect(hanging).toMatchObject({ status: null, error: "timeout" })
    expect(waiting).toMatchObject({ status: 204, error: null })
  })

  it("measures its duration from the sending, without the wait for a connection", async () => {
    const heldMs = 200
    const receiver = await receiving()
    let answeredAt = 0
    receiver.answer = (response) => {
      if (receiver.received.length > 1) response.writeHead(204).end()
      else {
        setTimeout(() => {
          answeredAt = performance.now()
          response.writeHead(204).end()
        }, heldMs)
      }
    }
    const sender = sending(receiver.url(), { connectionsMax: 1 })
    const [slow, quick] = await Promise.all([send(sender), send(sender)])
    const since = performance.now() - answeredAt
    expect(slow.durationMs).toBeGreaterThanOrEqual(heldMs - 1)
    expect(quick.durationMs).toBeLessThanOrEqual(Math.ceil(since))
  })

  it("waits for a connection after its sender was closed, unless it is aborted", async () => {
    const receiver = await receiving()
    let answerFirst = () => {}
    receiver.answer = (response) => {
      if (receiver.received.length > 1) response.writeHead(204).end()
      else answerFirst = () => response.writeHead(204).end()
    }
    const sender = sending(receiver.url(), { connectionsMax: 1 })
    const first = send(sender, '{"n":1}')
    const giveUp = sender.send(message('{"n":2}'), () => expect.unreachable())
    const third = send(sender, '{"n":3}')
    await receiver.atLeast(1)
    giveUp()
    sender.close()
    answerFirst()
    expect((await Promise.all([first, third])).map(({ status }) => status)).toEqual([204, 204])
    expect(receiver.received.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":3}'])
    while (receiver.open > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  it("leaves no idle connection open when its sender is closed", async () => {
    // No connection ends by a timer of its own.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    ends.push(() => vi.useRealTimers())
    const receiver = await receiving()
    const sender = sending(receiver.url())
    await send(sender)
    expect(receiver.open).toBe(1)
    sender.close()
    while (receiver.open > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  it("times out when TLS hangs", async () => {
    const url = (await listening(() => {})).replace("http:", "https:")
    expect(await sendTo(url, { timeoutMs: 100 })).toMatchObject({ status: null, error: "timeout" })
  })

  it("stops reading a body that never ends, and cuts the connection", async () => {
    let written = 0
    let closed = () => {}
    const closing = new Promise<void>((resolve) => {
      closed = resolve
    })
    const url = await listening((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        const chunk = `400\r\n${"x".repeat(1_024)}\r\n`
        const timer = setInterval(() => {
          for (let count = 0; count < 64 && socket.write(chunk); count++) written += 1_024
        }, 1)
        socket.on("close", () => {
          clearInterval(timer)
          closed()
        })
      }),
    )
    const outcome = await sendTo(url)
    expect(outcome).toMatchObject({
      status: 200,
      body: "x".repeat(limits.webhookReplyKeptBytesMax),
    })
    await closing
    expect(written).toBeGreaterThan(0)
  })

  it("truncates a slow body at its timeout; the status counts", async () => {
    const url = await listening((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n")
        const timer = setInterval(() => socket.write("."), 5)
        socket.on("close", () => clearInterval(timer))
      }),
    )
    let timeoutMs = 100
    let outcome = await sendTo(url, { timeoutMs })
    // A busy machine may take longer to receive the first part of the body.
    while (outcome.body === "") {
      timeoutMs *= 2
      outcome = await sendTo(url, { timeoutMs })
    }
    expect(outcome.status).toBe(200)
    expect(outcome.body).toMatch(/^\.+$/)
  })

  it("fails on endless header fields and on malformed HTTP", async () => {
    const endless = await listening((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n")
        const line = `x: ${"y".repeat(1_000)}\r\n`
        const timer = setInterval(() => socket.write(line.repeat(10)), 1)
        socket.on("close", () => clearInterval(timer))
      }),
    )
    expect(await sendTo(endless)).toMatchObject({ status: null, error: "invalid_response" })
    const nonsense = await listening((socket) =>
      socket.once("data", () => socket.write("SSH-2.0-OpenSSH_9.9\r\n")),
    )
    expect(await sendTo(nonsense)).toMatchObject({ status: null, error: "invalid_response" })
  })

  it("keeps the start of the reply as text without partial characters", async () => {
    const receiver = await receiving()
    const wide = `${"x".repeat(limits.webhookReplyKeptBytesMax - 2)}🏆 and more`
    receiver.answer = answer(500, {}, wide)
    expect(await sendTo(receiver.url())).toMatchObject({
      status: 500,
      body: "x".repeat(limits.webhookReplyKeptBytesMax - 2),
    })
    receiver.answer = answer(500, {}, "\u0000".repeat(5_000))
    const { body } = await sendTo(receiver.url())
    expect(body).toMatch(/^\0{100,200}$/)
    receiver.answer = answer(500, { "content-encoding": "gzip" }, "not really gzip")
    expect(await sendTo(receiver.url())).toMatchObject({ status: 500, body: "not really gzip" })
  })

  it("that is aborted reports nothing, and its connection closes", async () => {
    const receiver = await receiving()
    receiver.answer = () => {}
    const outcomes: Array<Outcome> = []
    const giveUp = sending(receiver.url()).send(message("{}"), (outcome) => outcomes.push(outcome))
    await receiver.atLeast(1)
    giveUp()
    while (receiver.open > 0) await new Promise((resolve) => setImmediate(resolve))
    expect(outcomes).toEqual([])
  })

  it("is not sent when the connection opens too late", async () => {
    const receiver = await receiving()
    let resolved = (_: ReadonlyArray<string>) => {}
    const sender = sending(receiver.url("receiver.test"), {
      timeoutMs: 50,
      resolve: () =>
        new Promise((resolve) => {
          resolved = resolve
        }),
    })
    expect(await send(sender)).toMatchObject({ status: null, error: "timeout" })
    resolved(["127.0.0.1"])
    while (receiver.connections === 0) await new Promise((resolve) => setImmediate(resolve))
    while (receiver.open > 0) await new Promise((resolve) => setImmediate(resolve))
    expect(receiver.received).toEqual([])
  })
})

describe("TLS", () => {
  const name = "receiver.test"

  it("is checked: authority, name and time", async () => {
    const good = await receiving({ key: receiverKey, cert: receiverCertificate })
    const expired = await receiving({ key: receiverKey, cert: expiredCertificate })
    expect(await sendTo(good.url(name), { trusted: authority })).toMatchObject({ status: 204 })
    const failures = [
      await sendTo(good.url(name)),
      await sendTo(good.url("other.test"), { trusted: authority }),
      await sendTo(good.url("127.0.0.1"), { trusted: authority }),
      await sendTo(expired.url(name), { trusted: authority }),
    ]
    for (const outcome of failures) {
      expect(outcome).toMatchObject({ status: null, error: "tls_failure" })
    }
    expect([good.received.length, expired.received.length]).toEqual([1, 0])
  })

  it("fails with a receiver that does not speak it", async () => {
    const receiver = await receiving()
    const url = receiver.url(name).replace("http:", "https:")
    expect(await sendTo(url, { trusted: authority })).toMatchObject({
      status: null,
      error: "tls_failure",
    })
  })
})

describe("The address of a connection", () => {
  it("is refused if it is not public, in any spelling", async () => {
    const receiver = await receiving()
    const { port } = receiver
    for (const host of [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "0177.0.0.1",
      "127.1",
      "①②⑦.⓪.⓪.①",
      "0",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "169.254.169.254",
      "10.0.0.1",
      "100.64.0.1",
      "[fe80::1]",
      "[fd00::1]",
      "224.0.0.1",
    ]) {
      const outcome = await sendTo(`http://${host}:${port}/`, { allow: [] })
      expect([host, outcome.error]).toEqual([host, "address_refused"])
    }
    expect(receiver.connections).toBe(0)
  })

  it("is checked in every answer of the name server", async () => {
    const receiver = await receiving()
    const answers: ReadonlyArray<ReadonlyArray<string>> = [
      ["127.0.0.1"],
      ["203.0.113.7", "127.0.0.1"],
      ["fd00::1", "::1"],
      ["::ffff:127.0.0.1"],
      ["169.254.169.254"],
      ["not an address"],
    ]
    for (const addresses of answers) {
      const outcome = await sendTo(receiver.url("receiver.test"), {
        allow: [],
        resolve: async () => addresses,
      })
      expect([addresses, outcome.error]).toEqual([addresses, "address_refused"])
    }
    expect(receiver.connections).toBe(0)
  })

  it("is used if it is allowed, while refused addresses of the same name get no connection", async () => {
    const receiver = await receiving()
    // The receiver listens at 127.0.0.1 alone.
    for (const [allow, reached] of [
      ["127.0.0.1/32", { status: 204 }],
      ["127.0.0.2/32", { error: "connection_refused" }],
    ] as const) {
      for (const addresses of [
        ["127.0.0.1", "127.0.0.2", "::1"],
        ["::1", "127.0.0.2", "127.0.0.1"],
      ]) {
        const outcome = await sendTo(receiver.url("receiver.test"), {
          allow: [allow],
          resolve: async () => addresses,
        })
        expect([allow, addresses, outcome]).toMatchObject([allow, addresses, reached])
      }
    }
    expect(receiver.connections).toBe(2)
  })

  it("is resolved once for each connection, and the connection goes to the checked address", async () => {
    const receiver = await receiving()
    let asked = 0
    // A name that is harmless when it is checked and leads elsewhere when it is used.
    const rebinding: Resolve = async () => (asked++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"])
    const outcome = await sendTo(receiver.url("receiver.test"), {
      allow: ["127.0.0.1/32"],
      resolve: rebinding,
    })
    expect([outcome.status, asked]).toEqual([204, 1])
    const again = await sendTo(receiver.url("receiver.test"), {
      allow: ["127.0.0.1/32"],
      resolve: rebinding,
    })
    expect([again.error, asked]).toEqual(["address_refused", 2])
  })

  it("is reached without a proxy, also if the environment sets one", async () => {
    const [proxy, receiver] = [await receiving(), await receiving()]
    const before = getGlobalDispatcher()
    const variables = [
      "http_proxy",
      "HTTP_PROXY",
      "https_proxy",
      "HTTPS_PROXY",
      "NODE_USE_ENV_PROXY",
    ]
    for (const variable of variables) vi.stubEnv(variable, proxy.url("127.0.0.1", ""))
    setGlobalDispatcher(new EnvHttpProxyAgent())
    ends.push(() => {
      setGlobalDispatcher(before)
      vi.unstubAllEnvs()
    })
    // A client that follows the environment asks the proxy.
    await fetch("http://receiver.test/", { dispatcher: getGlobalDispatcher() }).catch(() => {})
    expect(proxy.connections).toBe(1)
    expect(await sendTo(receiver.url("receiver.test"))).toMatchObject({ status: 204 })
    expect([proxy.connections, receiver.received.length]).toEqual([1, 1])
  })

  it("gives the same outcome for an unknown name and for a private address", async () => {
    const unknown = await sendTo("http://receiver.test/", { resolve: async () => [] })
    const inside = await sendTo("http://receiver.test/", { resolve: async () => ["10.0.0.1"] })
    expect(unknown).toMatchObject({ status: null, error: "address_refused" })
    expect(inside).toMatchObject({ status: null, error: "address_refused" })
  })

  it("gives a different outcome if no name server answers", async () => {
    const outcome = await sendTo("http://receiver.test/", {
      resolve: () => Promise.reject(new Error("SERVFAIL")),
    })
    expect(outcome).toMatchObject({ status: null, error: "dns_failure" })
  })
})
