import { describe, expect, it } from "@effect/vitest"
import { FeedEntry } from "../../../src/engine/commit/Feed.ts"
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
  it("keeps deliveries in memory up to its limit, and leaves the next one to the store", () => {
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

  it("keeps few deliveries in memory until the endpoint has answered", () => {
    const { queue } = queueOf(readyMax, { isProven: false })
    expect(queue.ready).toHaveLength(limits.webhookReadyFailingMax)
  })

  it("reserves the second half of all memory for endpoints with few deliveries in memory", () => {
    const half = limits.webhookReadyTotalMax / 2
    const few = limits.webhookReadyFailingMax
    expect(queueOf(few + 1, { ofOthers: half - few }).queue.ready).toHaveLength(few)
    expect(queueOf(few + 1, { ofOthers: half - few - 1 }).queue.ready).toHaveLength(few + 1)
    expect(queueOf(1, { ofOthers: limits.webhookReadyTotalMax }).queue.ready).toHaveLength(0)
    expect(queueOf(1, { ofOthers: limits.webhookReadyTotalMax - 1 }).queue.ready).toHaveLength(1)
  })

  it("loads at most a piece, after half of a piece was sent", () => {
    const piece = limits.webhookLoadMax
    expect(queueOf(0).queue.roomToLoad).toBe(piece)
    expect(queueOf(piece / 2).queue.roomToLoad).toBe(0)
    expect(queueOf(piece / 2 - 1).queue.roomToLoad).toBe(piece / 2 + 1)
  })

  it("lets deliveries be taken in any order", () => {
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

  describe("while due deliveries are read from the store", () => {
    const setUp = () => {
      const made = queueOf(0)
      const { queue } = made
      const deliveries = [1, 2, 3].map(
        (sequence) => new Delivery({ endpoint: 1, sequence, at: 0, index: 0 }, "xp.earned", ""),
      ) as [Delivery, Delivery, Delivery]
      queue.behind = true
      queue.beginRead()
      return { ...made, deliveries }
    }

    it("sends deliveries that arrive meanwhile after the deliveries that the read finds", () => {
      const { queue, deliveries } = setUp()
      const [older, newer, newest] = deliveries
      queue.offer(newer, entry)
      expect([queue.ready, queue.has(newer), queue.inMemory]).toEqual([[], true, 1])
      queue.keep(older, entry)
      queue.endRead(undefined)
      queue.offer(newest, entry)
      expect([queue.ready, queue.behind]).toEqual([deliveries, false])
    })

    it("leaves arriving deliveries to the store if the store has more than the read has found", () => {
      const { memory, queue, deliveries, written } = setUp()
      const [older, newer] = deliveries
      queue.offer(newer, entry)
      queue.keep(older, entry)
      queue.behind = true
      queue.endRead(older)
      expect([queue.ready, written, newer.stage]).toEqual([[older], [newer, newer], "overdue"])
      expect(memory.deliveries).toBe(1)
      queue.written(newer)
      expect([queue.has(newer), queue.behind]).toEqual([false, true])
    })

    it("drops, hastens and returns arriving deliveries like the others", () => {
      const { memory, queue, deliveries } = setUp()
      const [first, second, third] = deliveries
      for (const delivery of deliveries) queue.offer(delivery, entry)
      queue.drop(first, "gone")
      queue.hasten(second)
      expect(queue.ready).toEqual([second])
      queue.leaveAll()
      queue.endRead(undefined)
      expect([queue.ready, third.stage, memory.deliveries]).toEqual([[], "overdue", 0])
    })
  })

  it("moves a hastened delivery to the front once, and does not change one under way", () => {
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
