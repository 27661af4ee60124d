import { describe, expect, it } from "@effect/vitest"
import { FeedEntry } from "../../../src/engine/commit/FeedEntry.ts"
import { limits } from "../../../src/Limits.ts"
import { Queue } from "../../../src/webhooks/endpoint/Queue.ts"
import { Delivery } from "../../../src/webhooks/store/Delivery.ts"

const entry = new FeedEntry({} as FeedEntry["record"], 100)

/** A queue that was offered so many deliveries, each due. */
const queueOf = (count: number, { isProven = true, ofOthers = 0 } = {}) => {
  const written: Array<Delivery> = []
  const memory = { deliveries: ofOthers, bytes: 0 }
  const writer = { touch: (delivery: Delivery) => void written.push(delivery) }
  const queue = new Queue({ writer, memory, now: () => 1 }, () => isProven)
  for (let sequence = 1; sequence <= count; sequence++) {
    queue.offer(new Delivery({ endpoint: 1, sequence, at: 0, index: 0 }, "xp.earned", ""), entry)
  }
  return { queue, memory, written }
}

const readyMax = limits.webhookReadyMax

describe("The queue of an endpoint", () => {
  it("keeps as many deliveries in memory as it may, and leaves the next one to the store", () => {
    const full = queueOf(readyMax)
    expect([full.queue.ready.length, full.queue.room, full.queue.size]).toEqual([
      readyMax,
      0,
      readyMax,
    ])
    const over = queueOf(readyMax + 1)
    expect([over.queue.ready.length, over.queue.size]).toEqual([readyMax, readyMax + 1])
    expect(over.written).toHaveLength(readyMax + 1)
  })

  it("keeps few in memory until the endpoint has answered", () => {
    const { queue } = queueOf(readyMax, { isProven: false })
    expect(queue.ready).toHaveLength(limits.webhookReadyFailingMax)
  })

  it("keeps the second half of all memory for endpoints that hold little", () => {
    const half = limits.webhookReadyTotalMax / 2
    const few = limits.webhookReadyFailingMax
    expect(queueOf(few + 1, { ofOthers: half - few }).queue.ready).toHaveLength(few)
    expect(queueOf(few + 1, { ofOthers: half - few - 1 }).queue.ready).toHaveLength(few + 1)
    expect(queueOf(1, { ofOthers: limits.webhookReadyTotalMax }).queue.ready).toHaveLength(0)
    expect(queueOf(1, { ofOthers: limits.webhookReadyTotalMax - 1 }).queue.ready).toHaveLength(1)
  })

  it("loads when half of a piece was sent, and at most a piece", () => {
    const piece = limits.webhookLoadMax
    expect(queueOf(0).queue.roomToLoad).toBe(piece)
    expect(queueOf(piece / 2).queue.roomToLoad).toBe(0)
    expect(queueOf(piece / 2 - 1).queue.roomToLoad).toBe(piece / 2 + 1)
  })

  it("is taken from in any order", () => {
    const { memory, queue } = queueOf(5)
    const taken = [0, 1, 2].map((at) => queue.take(at).sequence)
    expect([taken, queue.ready.map(({ sequence }) => sequence)]).toEqual([
      [1, 3, 5],
      [2, 4],
    ])
    expect(memory.deliveries).toBe(5)
  })

  it("counts no memory for deliveries that left it", () => {
    const { memory, queue } = queueOf(3)
    expect(memory).toEqual({ deliveries: 3, bytes: 3 * entry.bytes })
    queue.settle(queue.take(0))
    expect(memory).toEqual({ deliveries: 2, bytes: 2 * entry.bytes })
    queue.leaveAll()
    expect(memory).toEqual({ deliveries: 0, bytes: 0 })
  })

  it("leaves those that come during a read to the store: older ones may be on their way", () => {
    const { queue } = queueOf(0)
    queue.behind = true
    const [older, newer, newest] = [1, 2, 3].map(
      (sequence) => new Delivery({ endpoint: 1, sequence, at: 0, index: 0 }, "xp.earned", ""),
    )
    const from = queue.beginRead()
    queue.offer(newer!, entry)
    queue.written(newer!)
    queue.keep(older!, entry)
    queue.endRead(from)
    expect([queue.ready, queue.behind]).toEqual([[older], true])
    queue.beginRead()
    queue.keep(newer!, entry)
    queue.endRead(undefined)
    queue.offer(newest!, entry)
    expect([queue.ready, queue.behind]).toEqual([[older, newer, newest], false])
  })

  it("moves a hastened delivery to the front, once, and leaves one under way alone", () => {
    const { queue, written } = queueOf(3)
    const [first, , third] = queue.ready
    queue.hasten(third!)
    expect(queue.ready.map(({ sequence }) => sequence)).toEqual([3, 1, 2])
    expect([third!.urgent, third!.dueAt, written.at(-1)]).toEqual([true, 1, third])
    queue.take(1)
    queue.hasten(first!)
    expect(queue.ready.map(({ sequence }) => sequence)).toEqual([3, 2])
    expect(first!.urgent).toBe(false)
  })
})
