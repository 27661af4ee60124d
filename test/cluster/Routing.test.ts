/** Requests that the copy of the directory does not know yet. */
import type { Socket } from "node:net"
import { Effect, Latch } from "effect"
import { describe, expect, it } from "vitest"
import { noOwner } from "../../src/cluster/Forward.ts"
import { Routing } from "../../src/cluster/PartitionRouter.ts"
import type { Exchange, RequestHandler } from "../../src/http/request/Exchange.ts"
import { limits } from "../../src/Limits.ts"

const request = { headers: {}, socket: {} as Socket, url: "/v1/events" }

/** A copy that learns `partition` with the next read. */
const routingTo = (partition: number | undefined) => {
  const read = Latch.makeUnsafe(false)
  const found = { of: undefined as number | undefined, reads: 0 }
  const renewed = Effect.suspend(() => {
    found.reads++
    return read.await
  })
  const routing = new Routing({ of: () => found.of }, { renewed }, { failure: undefined })
  const learn = () => {
    found.of = partition
    read.openUnsafe()
  }
  return { found, learn, routing }
}

describe("A request whose key the copy does not know", () => {
  it("is routed once the copy was read again", async () => {
    const { found, learn, routing } = routingTo(3)
    const partition = routing.find(request)
    expect(partition).toBeInstanceOf(Promise)
    learn()
    expect(await partition).toBe(3)
    expect(routing.find(request)).toBe(3)
    expect(found.reads).toBe(1)
  })

  it("goes to partition 1 if the directory does not have it either", async () => {
    const { learn, routing } = routingTo(undefined)
    const partition = routing.find(request)
    learn()
    expect(await partition).toBe(1)
  })

  it("waits up to the limit of waiting requests, and is refused beyond it", async () => {
    const { learn, routing } = routingTo(3)
    const all = Array.from({ length: limits.directoryWaitingMax }, () => routing.find(request))
    await expect(routing.find(request)).rejects.toBe(noOwner)
    learn()
    expect(new Set(await Promise.all(all))).toEqual(new Set([3]))
    const { learn: learnNone, routing: other } = routingTo(undefined)
    learnNone()
    for (let n = 0; n <= limits.directoryWaitingMax; n++) expect(await other.find(request)).toBe(1)
  })

  it("also waits at the owner to which another runner has sent it", async () => {
    const { learn, routing } = routingTo(3)
    const handled: Array<Exchange> = []
    const handler: RequestHandler = {
      draining: false,
      watch: { tracing: false },
      answered: () => {},
      missed: () => {},
      handle: (exchange) => handled.push(exchange),
    }
    expect(routing.atOwner(1, handler, request)).toBe(handler)
    const waiting = routing.atOwner(3, handler, request)
    const exchange = {} as Exchange
    waiting.handle(exchange)
    await new Promise((resolve) => setImmediate(resolve))
    expect(handled).toEqual([])
    learn()
    await expect.poll(() => handled).toEqual([exchange])
    expect(routing.atOwner(3, handler, request)).toBe(handler)
  })
})
