/** Ten thousand attempts to sign in from many addresses, while people work and events arrive. */
import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { connect } from "node:net"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { Authenticator } from "../accounts/passkeys/authenticator.ts"
import { Browser, type DashboardServer, password, startDashboard } from "./fixture.ts"

const attempts = 10_000
const connections = 64
/** The number of replies to attackers for which each other visitor pauses. */
const repliesBetween = 50

/** Counts the hashes that Node's thread pool computes. */
const hashes = { started: 0, running: 0, most: 0 }
const { argon2 } = crypto

let server: DashboardServer
let owner: Browser
let key: string

beforeAll(async () => {
  server = await startDashboard()
  owner = await server.owner()
  const made = await Effect.runPromise(
    server.keys.create({
      project: "shop",
      environment: "sandbox",
      scope: "full",
    }),
  )
  key = made.key
  const counted: typeof argon2 = (algorithm, parameters, callback) => {
    hashes.started++
    hashes.most = Math.max(hashes.most, ++hashes.running)
    const ended: typeof callback = (error, tag) => {
      hashes.running--
      callback(error, tag)
    }
    // The hash of a wrong password takes time but no processor, which the server and the attackers
    // need.
    if (String(parameters.message) === "wrong") setTimeout(ended, 30, null, Buffer.alloc(32))
    else argon2(algorithm, parameters, ended)
  }
  crypto.argon2 = counted
  syncBuiltinESMExports()
})
afterAll(async () => {
  crypto.argon2 = argon2
  syncBuiltinESMExports()
  await server.stop()
})

/**
 * Sends one attempt after the other over a connection from `localAddress`, while `next` has one.
 * Waits for each reply.
 */
const attemptAll = (
  localAddress: string,
  next: () => number | undefined,
  onStatus: (status: number) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(server.url)
    const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress })
    socket.setEncoding("latin1")
    const send = () => {
      const count = next()
      if (count === undefined) {
        socket.end()
        resolve()
        return
      }
      const body = `email=somebody-${count}%40example.com&password=wrong`
      socket.write(
        `POST /dashboard/sign-in HTTP/1.1\r\nHost: localhost:${port}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    }
    let received = ""
    socket.on("data", (text: string) => {
      received += text
      const end = received.indexOf("\r\n\r\n") + 4
      const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(received) ?? []
      if (end < 4 || received.length < end + Number(length)) return
      onStatus(Number(received.slice("HTTP/1.1 ".length, "HTTP/1.1 ".length + 3)))
      received = ""
      send()
    })
    socket.on("connect", send)
    socket.on("error", reject)
    socket.on("close", () => reject(new Error("the server closed the connection")))
  })

/** Sends attempts over all connections, each from its own address. Counts the statuses. */
const flood = async (onReply: () => void): Promise<Record<number, number>> => {
  const statuses: Record<number, number> = {}
  let sent = 0
  const next = () => (sent < attempts ? sent++ : undefined)
  const onStatus = (status: number) => {
    statuses[status] = (statuses[status] ?? 0) + 1
    onReply()
  }
  const all = Array.from({ length: connections }, (_, index) =>
    attemptAll(`127.0.1.${index + 1}`, next, onStatus),
  )
  await Promise.all(all)
  return statuses
}

// Only Linux has every address of 127.0.0.0/8 by default.
describe.runIf(process.platform === "linux")("Ten thousand attempts to sign in", () => {
  it("cost a bounded number of hashes, lose no event, and do not lock out known visitors", async () => {
    let replies = 0
    let isOver = false
    let waiting: Array<{ readonly from: number; readonly resolve: () => void }> = []
    const onReply = () => {
      replies++
      waiting = waiting.filter(({ from, resolve }) => {
        if (replies < from && replies < attempts) return true
        resolve()
        return false
      })
    }
    const moreReplies = () =>
      new Promise<void>((resolve) => {
        if (isOver) resolve()
        else waiting.push({ from: replies + repliesBetween, resolve })
      })
    /** Repeats until the flood is over. Returns the number of successes, and the other replies. */
    const beside = async (
      once: () => Promise<number>,
      expected: number,
      most = Number.POSITIVE_INFINITY,
    ) => {
      const others: Array<number> = []
      let went = 0
      while (!isOver && went < most) {
        const status = await once()
        if (status === expected) went++
        else others.push(status)
        await moreReplies()
      }
      return { went, others }
    }
    const url = server.url.replace("127.0.0.1", "localhost")
    const knownDevice = () => {
      const browser = new Browser(url)
      browser.cookies.set("laurel-device", owner.cookies.get("laurel-device")!)
      return browser
    }
    const account = { email: "ada@example.com", password }
    const authenticator = await addPasskey(url)
    // More attempts would end the session of the pages.
    const signIns = limits.sessionsPerAccountMax / 2 - 1
    let mostReplies = 0
    const send = async () => {
      const before = replies
      const { status } = await fetch(`${server.url}/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ userId: "ada", action: "LESSON_DONE" }),
      })
      mostReplies = Math.max(mostReplies, replies - before)
      return status
    }
    hashes.started = 0
    const flooded = flood(onReply).finally(() => {
      isOver = true
    })
    const [statuses, pages, passwords, passkeys, events] = await Promise.all([
      flooded,
      beside(async () => (await owner.get("/dashboard/account")).status, 200),
      beside(
        async () => (await knownDevice().post("/dashboard/sign-in", account)).status,
        303,
        signIns,
      ),
      beside(() => signInByPasskey(new Browser(url), authenticator), 303, signIns),
      beside(send, 200),
    ])
    const { "400": wrong = 0, "429": paused = 0, "503": refused = 0, ...others } = statuses
    expect(others).toEqual({})
    expect(wrong + paused + refused).toBe(attempts)
    expect(refused).toBeGreaterThan(attempts / 2)
    // A refusal for lack of room cost no hash, and at most two hashes ran at once.
    expect(hashes.started).toBe(wrong + passwords.went)
    expect(hashes.most).toBe(limits.passwordHashesConcurrentMax)
    for (const [who, { others, went }] of Object.entries({ pages, passwords, passkeys, events })) {
      expect({ who, others }).toEqual({ who, others: [] })
      expect(went).toBeGreaterThan(0)
    }
    // An event waits for a bounded number of other requests, not for all of them.
    expect(mostReplies).toBeLessThan(50 * connections)
  })
})

/** A passkey of the owner. */
const addPasskey = async (url: string): Promise<Authenticator> => {
  const browser = new Browser(url)
  for (const [name, text] of owner.cookies) browser.cookies.set(name, text)
  const authenticator = new Authenticator(url)
  const options = JSON.parse((await browser.post("/dashboard/account/passkeys/options")).text)
  const passkey = authenticator.create(options)
  const fields = { with: "passkey", passkey, passkeyName: "laptop" }
  expect((await browser.post("/dashboard/account/passkeys", fields)).status).toBe(303)
  return authenticator
}

const signInByPasskey = async (browser: Browser, authenticator: Authenticator) => {
  const { status, text } = await browser.post("/dashboard/sign-in/passkey")
  if (status !== 200) return status
  const passkey = authenticator.use(JSON.parse(text))
  return (await browser.post("/dashboard/sign-in", { with: "passkey", passkey })).status
}
