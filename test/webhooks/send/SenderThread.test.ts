import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { afterEach, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import type { Resolve } from "../../../src/webhooks/send/Resolver.ts"
import type { MessageSender, Outcome } from "../../../src/webhooks/send/Sender.ts"
import { SenderThread } from "../../../src/webhooks/send/SenderThread.ts"
import { makeSecret, secretKey } from "../../../src/webhooks/send/Signature.ts"
import { answer, isSignedBy, Receiver } from "../Receiver.ts"

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const receiving = async () => {
  const receiver = await Receiver.start()
  ends.push(() => receiver.stop())
  return receiver
}

/** A thread whose workers a test can end. */
const starting = ({ resolve = async () => ["127.0.0.1"] }: { readonly resolve?: Resolve } = {}) => {
  const workers: Array<Worker> = []
  const failures: Array<unknown> = []
  const thread = new SenderThread({
    settings: { allowed: ["127.0.0.0/8"], timeoutMs: limits.webhookTimeoutMs, trusted: undefined },
    resolve,
    onFailure: (cause) => failures.push(cause),
    startWorker: (workerData) => {
      const url = new URL("../../../src/webhooks/send/SenderWorker.ts", import.meta.url)
      const worker = new Worker(url, { workerData })
      workers.push(worker)
      return worker
    },
  })
  ends.push(() => thread.close())
  return { thread, workers, failures }
}

const secret = makeSecret()
const keys = [secretKey(secret)]

const send = (sender: MessageSender, id = "msg_1", signedWith = keys): Promise<Outcome> =>
  new Promise((resolve) => {
    const timestampSeconds = Math.floor(Date.now() / 1_000)
    sender.send(
      { message: { id, text: `{"id":"${id}"}` }, timestampSeconds, keys: signedWith },
      resolve,
    )
  })

describe("The thread that sends", () => {
  it("sends signed messages to several receivers, and reports each reply", async () => {
    const [one, other] = [await receiving(), await receiving()]
    other.answer = answer(503, { "retry-after": "7" }, "later")
    const { thread, workers } = starting()
    const outcomes = await Promise.all([
      send(thread.sender(one.url())),
      send(thread.sender(other.url()), "msg_2"),
    ])
    expect(outcomes).toMatchObject([
      { status: 204, error: null },
      { status: 503, error: null, body: "later", retryAfter: "7" },
    ])
    expect(workers).toHaveLength(1)
    const [received] = one.received
    expect(isSignedBy(secret, received!)).toBe(true)
    expect(received!.headers["webhook-id"]).toBe("msg_1")
  })

  it("signs with the current keys", async () => {
    const receiver = await receiving()
    const { thread } = starting()
    const sender = thread.sender(receiver.url())
    const next = makeSecret()
    await send(sender)
    await send(sender, "msg_2", [secretKey(next), ...keys])
    await send(sender, "msg_3", [secretKey(next)])
    const verified = receiver.received.map((received) =>
      [secret, next].map((each) => isSignedBy(each, received)),
    )
    expect(verified).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ])
  })

  it("lets the main thread resolve names, and checks the addresses itself", async () => {
    const receiver = await receiving()
    const asked: Array<string> = []
    const { thread } = starting({
      resolve: async (host) => {
        asked.push(host)
        if (host === "unknown.test") throw new Error("unknown")
        return host === "inside.test" ? ["10.0.0.1"] : ["127.0.0.1"]
      },
    })
    const to = (host: string) => send(thread.sender(receiver.url(host)))
    expect(await to("receiver.test")).toMatchObject({ status: 204 })
    expect(await to("inside.test")).toMatchObject({ status: null, error: "address_refused" })
    expect(await to("unknown.test")).toMatchObject({ status: null, error: "dns_failure" })
    expect(asked).toEqual(["receiver.test", "inside.test", "unknown.test"])
  })

  it("reports nothing about an aborted attempt, and cuts its connection", async () => {
    const receiver = await receiving()
    const { thread } = starting()
    let outcomes = 0
    const cut = new Promise((resolve) => {
      receiver.answer = (_, __, socket) => {
        socket.on("close", resolve)
        giveUp()
      }
    })
    const message = { message: { id: "msg_1", text: "{}" }, timestampSeconds: 1, keys }
    const giveUp = thread.sender(receiver.url()).send(message, () => outcomes++)
    await cut
    expect(outcomes).toBe(0)
  })

  it("that crashes fails the attempts under way; another thread sends later ones", async () => {
    const receiver = await receiving()
    const { failures, thread, workers } = starting()
    const sender = thread.sender(receiver.url())
    await send(sender)
    receiver.answer = () => void workers[0]!.terminate()
    expect(await send(sender, "msg_2")).toMatchObject({ status: null, error: "connection_failed" })
    expect(failures).toHaveLength(1)
    receiver.answer = answer(204)
    expect(await send(sender, "msg_3")).toMatchObject({ status: 204 })
    expect(workers).toHaveLength(2)
  })

  it("is not started for an attempt that is aborted at once, or by an unused sender", async () => {
    const receiver = await receiving()
    const { thread, workers } = starting()
    const sender = thread.sender(receiver.url())
    sender.send({ message: { id: "msg_1", text: "{}" }, timestampSeconds: 1, keys }, () => {})()
    sender.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(workers).toEqual([])
    expect(await send(sender)).toMatchObject({ status: 204 })
    expect(receiver.received).toHaveLength(1)
  })

  it("ends when it is closed, with all attempts under way, and reports no crash", async () => {
    const receiver = await receiving()
    const { failures, thread, workers } = starting()
    let outcomes = 0
    const arrived = new Promise<void>((resolve) => {
      receiver.answer = () => resolve()
    })
    const message = { message: { id: "msg_1", text: "{}" }, timestampSeconds: 1, keys }
    thread.sender(receiver.url()).send(message, () => outcomes++)
    await arrived
    const ended = once(workers[0]!, "exit")
    await thread.close()
    await ended
    expect([outcomes, failures.length]).toEqual([0, 0])
  })
})
