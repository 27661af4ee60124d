/**
 * The pending deliveries of one endpoint: those in memory, and where the others are.
 *
 * - `ready` may be sent now, in order, and is bounded; the rest waits in the store. While the store
 *   has a due delivery (`behind`), or an overdue one is not written yet, new ones go to the store
 *   too: that keeps order. Those that come during a read follow what it finds.
 * - The store is read in passes by due time. A delivery that returns before the pass's place
 *   restarts the pass; a pass that reached the end is followed by one more.
 * - A pending delivery is in memory or in the store, never neither. It has one object at a time: a
 *   delivery that left memory is not read again before it is written.
 * - The queue alone changes the stage of a delivery (drawn in `Dispatcher.ts`).
 */
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import {
  type Delivery,
  type DeliveryStatus,
  type DropReason,
  type LogPlace,
  placeName,
} from "../store/Delivery.ts"
import type { DuePlace } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"

/** The deliveries in memory, over all endpoints. */
export interface Memory {
  deliveries: number
  bytes: number
}

export interface QueueOptions {
  readonly writer: Pick<DeliveryWriter, "touch">
  readonly memory: Memory
  readonly now: () => number
  /** How many of one endpoint may be ready; `webhookReadyMax` by default. */
  readonly readyMax?: number | undefined
}

const isInMemory = ({ stage }: Delivery): boolean =>
  stage === "ready" || stage === "sending" || stage === "revoked"

const isBefore = (one: DuePlace, other: DuePlace): boolean =>
  (one.dueAt - other.dueAt || one.sequence - other.sequence || one.index - other.index) < 0

export class Queue {
  readonly #options: QueueOptions
  readonly #isProven: () => boolean
  #ready: Array<Delivery> = []
  /** Those in memory, and those that left it and are not written yet, by place. */
  readonly #deliveries = new Map<string, Delivery>()
  /** How many of them are in memory: ready or under way. */
  #inMemory = 0
  #overdue = 0
  /**
   * Up to where the due ones of the store have been read; undefined: they are read from the first
   * on.
   */
  #readUpTo: DuePlace | undefined
  #isReading = false
  /** Those in memory that came during the read. */
  #arrived: Array<Delivery> = []
  /** Since the last read began, something due has come back. */
  #cameBack = false
  /** There may be due deliveries in the store that are not in memory. */
  behind = false
  /** When the earliest other one of the store is due. */
  nextDueAt = Number.POSITIVE_INFINITY

  /** `isProven`: whether the endpoint answers; otherwise little is kept in memory. */
  constructor(options: QueueOptions, isProven: () => boolean) {
    this.#options = options
    this.#isProven = isProven
  }

  get ready(): ReadonlyArray<Delivery> {
    return this.#ready
  }

  /** Those in memory: ready or under way. */
  get held(): ReadonlyArray<Delivery> {
    return [...this.#deliveries.values()].filter(isInMemory)
  }

  /** How many are in memory: ready or under way. */
  get inMemory(): number {
    return this.#inMemory
  }

  /** How many are in memory, or left it and are not written yet. */
  get size(): number {
    return this.#deliveries.size
  }

  /** Whether nothing is in memory, and nothing in the store will be due. */
  get isEmpty(): boolean {
    return this.#inMemory === 0 && !this.behind && this.nextDueAt === Number.POSITIVE_INFINITY
  }

  /** Whether a delivery is in memory, or left it and is not written yet. */
  has(place: LogPlace): boolean {
    return this.#deliveries.has(placeName(place))
  }

  /** The delivery at a place, if it is in memory. */
  find(place: LogPlace): Delivery | undefined {
    const delivery = this.#deliveries.get(placeName(place))
    return delivery !== undefined && isInMemory(delivery) ? delivery : undefined
  }

  /** Takes a new or renewed delivery into memory, or leaves it to the store. */
  offer(delivery: Delivery, entry: FeedEntry): void {
    const inOrder = !this.behind && this.#overdue === 0
    if (delivery.urgent || (inOrder && this.room > 0)) {
      if (this.#isReading && !delivery.urgent) this.#hold(delivery, entry, this.#arrived)
      else this.keep(delivery, entry)
      this.#options.writer.touch(delivery)
    } else this.#leave(delivery)
  }

  /** How many more may be taken into memory. */
  get room(): number {
    return Math.max(0, this.#readyMax - this.#ready.length - this.#arrived.length)
  }

  /**
   * How many may be read from the store now: not each time one was sent, but when half of them
   * were.
   */
  get roomToLoad(): number {
    const most = Math.min(this.#readyMax, limits.webhookLoadMax)
    const room = most - this.#ready.length
    return room > this.#ready.length ? room : 0
  }

  /** The second half of all memory is for those that have little there. */
  get #readyMax(): number {
    const { memory, readyMax = limits.webhookReadyMax } = this.#options
    const filled = Math.max(
      memory.deliveries / limits.webhookReadyTotalMax,
      memory.bytes / limits.webhookReadyBytesMax,
    )
    if (filled >= 1) return 0
    return filled < 0.5 && this.#isProven() ? readyMax : limits.webhookReadyFailingMax
  }

  /** Takes a pending delivery into memory. */
  keep(delivery: Delivery, entry: FeedEntry): void {
    this.#hold(delivery, entry, this.#ready)
  }

  #hold(delivery: Delivery, entry: FeedEntry, list: Array<Delivery>): void {
    const { memory } = this.#options
    delivery.entry = entry
    delivery.stage = "ready"
    this.#deliveries.set(delivery.place, delivery)
    this.#inMemory++
    memory.deliveries++
    memory.bytes += entry.bytes
    if (delivery.urgent) list.unshift(delivery)
    else list.push(delivery)
  }

  /** Moves a ready delivery to the front, due now; one under way stays as it is. */
  hasten(delivery: Delivery): void {
    const list = this.#arrived.includes(delivery) ? this.#arrived : this.#ready
    const at = list.indexOf(delivery)
    if (at === -1) return
    list.splice(at, 1)
    this.#ready.unshift(delivery)
    delivery.renew(this.#options.now())
    delivery.urgent = true
    this.#options.writer.touch(delivery)
  }

  /** Takes the delivery at a place of `ready`, to send it. */
  take(at: number): Delivery {
    // Of a long array, only the first can be taken without moving the others.
    const delivery = at === 0 ? this.#ready.shift()! : this.#ready.splice(at, 1)[0]!
    delivery.stage = "sending"
    return delivery
  }

  /** A delivery ends, or is pending until `dueAt`: it leaves memory, and is written. */
  settle(delivery: Delivery, status: DeliveryStatus = "pending", dueAt = delivery.dueAt): void {
    delivery.status = status
    delivery.dueAt = dueAt
    this.#forget(delivery)
    this.#leave(delivery)
  }

  /** A delivery, in memory or in the store, will not be sent. */
  drop(delivery: Delivery, reason: DropReason): void {
    if (delivery.stage === "ready") {
      this.#ready = this.#ready.filter((ready) => ready !== delivery)
      this.#arrived = this.#arrived.filter((arrived) => arrived !== delivery)
    }
    delivery.reason = reason
    this.settle(delivery, "dropped")
  }

  /** The user of a delivery in memory is erased: it is dropped, now or when its attempt ends. */
  revoke(delivery: Delivery): void {
    if (delivery.stage === "ready") this.drop(delivery, "erased")
    else if (delivery.stage === "sending") delivery.stage = "revoked"
  }

  #forget(delivery: Delivery): void {
    const { memory } = this.#options
    if (!isInMemory(delivery)) return
    delivery.stage = "stored"
    this.#inMemory--
    memory.deliveries--
    memory.bytes -= delivery.entry!.bytes
    delivery.entry = undefined
    delivery.urgent = false
  }

  #leave(delivery: Delivery): void {
    const isOverdue = delivery.status === "pending" && delivery.dueAt <= this.#options.now()
    delivery.stage = isOverdue ? "overdue" : "leaving"
    if (isOverdue) this.#overdue++
    this.#deliveries.set(delivery.place, delivery)
    this.#options.writer.touch(delivery)
  }

  /** A delivery was written. Answers whether the endpoint has work now. */
  written(delivery: Delivery): boolean {
    const { place, stage } = delivery
    if (stage !== "leaving" && stage !== "overdue") return false
    if (this.#deliveries.get(place) !== delivery) return false
    this.#deliveries.delete(place)
    delivery.stage = "stored"
    if (stage === "overdue") this.#overdue--
    if (delivery.status !== "pending") return false
    if (stage === "overdue" || delivery.dueAt <= this.#options.now()) {
      this.behind = true
      this.#cameBack = true
      if (this.#readUpTo !== undefined && isBefore(delivery, this.#readUpTo)) {
        this.#readUpTo = undefined
      }
    } else this.nextDueAt = Math.min(this.nextDueAt, delivery.dueAt)
    return true
  }

  /**
   * The due ones of the store are read now: from the first on, or behind the place that is
   * returned.
   */
  beginRead(): DuePlace | undefined {
    this.#isReading = true
    this.behind = false
    this.nextDueAt = Number.POSITIVE_INFINITY
    this.#cameBack = false
    return this.#readUpTo
  }

  /**
   * The due ones were read up to `place`; undefined: to the end. The read may have missed those
   * that returned meanwhile.
   */
  endRead(place: DuePlace | undefined): void {
    this.#isReading = false
    this.#readUpTo = this.#cameBack ? undefined : place
    const arrived = this.#arrived
    this.#arrived = []
    if (this.behind || this.#overdue > 0) for (const delivery of arrived) this.settle(delivery)
    else this.#ready.push(...arrived)
  }

  /** Leaves ready deliveries beyond the first `kept` to the store. */
  leaveReady(kept: number): void {
    for (const delivery of this.#ready.splice(kept)) this.settle(delivery)
  }

  /** Leaves all that is in memory to the store. */
  leaveAll(): void {
    this.#ready = []
    this.#arrived = []
    for (const delivery of this.held) this.settle(delivery)
  }

  /** Forgets all that is in memory. */
  clear(): void {
    this.#ready = []
    this.#arrived = []
    for (const delivery of this.held) {
      this.#forget(delivery)
      this.#deliveries.delete(delivery.place)
    }
  }
}
