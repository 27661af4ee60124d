/**
 * The pending deliveries of one endpoint: the deliveries in memory, and the progress of reading the
 * others from the store.
 *
 * - `ready` has the deliveries that may be sent now, in order. It is bounded; other deliveries wait
 *   in the store. To keep the order, new deliveries also go to the store while the store has a due
 *   delivery (`behind`) or an overdue delivery is not written. Deliveries that arrive during a read
 *   are sent after the deliveries that were read.
 * - The store is read in passes by due time. A delivery that returns to the store before the place
 *   of the pass restarts the pass. A delivery that returns during a read causes another pass.
 * - A pending delivery is in memory or in the store or in both. It has one object at a time: a
 *   delivery that left memory is not read again before it is written.
 * - Only the queue changes the stage of a delivery (drawn in `Dispatcher.ts`).
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

/** The deliveries in memory of all endpoints. */
export interface Memory {
  deliveries: number
  bytes: number
}

export interface QueueOptions {
  readonly writer: Pick<DeliveryWriter, "touch">
  readonly memory: Memory
  readonly now: () => number
  /** The largest number of ready deliveries of one endpoint; absent: `webhookReadyMax`. */
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
  /** The deliveries that are in memory, or left memory and are not written yet, by place. */
  readonly #deliveries = new Map<string, Delivery>()
  /** The number of deliveries in memory: ready or under way. */
  #inMemory = 0
  #overdue = 0
  /**
   * The place up to which due deliveries were read from the store; `undefined`: the next read
   * begins with the first.
   */
  #readUpTo: DuePlace | undefined
  #isReading = false
  /** The deliveries in memory that arrived during the read. */
  #arrived: Array<Delivery> = []
  /** A due delivery has returned to the store since the last read began. */
  #cameBack = false
  /** The store may have due deliveries that are not in memory. */
  behind = false
  /** When the earliest delivery in the store is due that is not due yet. */
  nextDueAt = Number.POSITIVE_INFINITY

  /** `isProven`: whether the endpoint answers. Otherwise few deliveries are kept in memory. */
  constructor(options: QueueOptions, isProven: () => boolean) {
    this.#options = options
    this.#isProven = isProven
  }

  get ready(): ReadonlyArray<Delivery> {
    return this.#ready
  }

  /** The deliveries in memory: ready or under way. */
  get held(): ReadonlyArray<Delivery> {
    return [...this.#deliveries.values()].filter(isInMemory)
  }

  /** The number of deliveries in memory: ready or under way. */
  get inMemory(): number {
    return this.#inMemory
  }

  /** The number of deliveries that are in memory, or left memory and are not written yet. */
  get size(): number {
    return this.#deliveries.size
  }

  /** Whether no delivery is in memory, and none in the store is or becomes due. */
  get isEmpty(): boolean {
    return this.#inMemory === 0 && !this.behind && this.nextDueAt === Number.POSITIVE_INFINITY
  }

  /** Whether a delivery is in memory, or left memory and is not written yet. */
  has(place: LogPlace): boolean {
    return this.#deliveries.has(placeName(place))
  }

  /** The delivery at a place, if it is in memory. */
  find(place: LogPlace): Delivery | undefined {
    const delivery = this.#deliveries.get(placeName(place))
    return delivery !== undefined && isInMemory(delivery) ? delivery : undefined
  }

  /** Takes a new or renewed delivery into memory, or leaves it for the store. */
  offer(delivery: Delivery, entry: FeedEntry): void {
    const inOrder = !this.behind && this.#overdue === 0
    if (delivery.urgent || (inOrder && this.room > 0)) {
      if (this.#isReading && !delivery.urgent) this.#hold(delivery, entry, this.#arrived)
      else this.keep(delivery, entry)
      this.#options.writer.touch(delivery)
    } else this.#leave(delivery)
  }

  /** How many more deliveries memory can take. */
  get room(): number {
    return Math.max(0, this.#readyMax - this.#ready.length - this.#arrived.length)
  }

  /**
   * How many deliveries may be read from the store now. It is 0 until half of the ready deliveries
   * are sent, so that reads are few and large.
   */
  get roomToLoad(): number {
    const most = Math.min(this.#readyMax, limits.webhookLoadMax)
    const room = most - this.#ready.length
    return room > this.#ready.length ? room : 0
  }

  /**
   * The largest number of ready deliveries. The second half of the shared memory is for endpoints
   * with few deliveries in memory.
   */
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

  /**
   * Makes a ready delivery due now and moves it to the front. A delivery under way does not change.
   */
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

  /** Takes the delivery at an index of `ready`, to send it. */
  take(at: number): Delivery {
    // Removing the first element of a long array does not move the others.
    const delivery = at === 0 ? this.#ready.shift()! : this.#ready.splice(at, 1)[0]!
    delivery.stage = "sending"
    return delivery
  }

  /** Ends a delivery, or makes it pending until `dueAt`. It leaves memory and is written. */
  settle(delivery: Delivery, status: DeliveryStatus = "pending", dueAt = delivery.dueAt): void {
    delivery.status = status
    delivery.dueAt = dueAt
    this.#forget(delivery)
    this.#leave(delivery)
  }

  /** Drops a delivery in memory or in the store: it will not be sent. */
  drop(delivery: Delivery, reason: DropReason): void {
    if (delivery.stage === "ready") {
      this.#ready = this.#ready.filter((ready) => ready !== delivery)
      this.#arrived = this.#arrived.filter((arrived) => arrived !== delivery)
    }
    delivery.reason = reason
    this.settle(delivery, "dropped")
  }

  /** Drops a delivery in memory whose user is erased: now, or when its attempt ends. */
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

  /** Notes that a delivery was written. Returns whether the endpoint has work now. */
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
   * Begins a read of due deliveries from the store: after the returned place, or from the first
   * delivery if it is `undefined`.
   */
  beginRead(): DuePlace | undefined {
    this.#isReading = true
    this.behind = false
    this.nextDueAt = Number.POSITIVE_INFINITY
    this.#cameBack = false
    return this.#readUpTo
  }

  /**
   * Ends a read of due deliveries up to `place`; `undefined`: to the end. The read may have missed
   * deliveries that returned to the store meanwhile.
   */
  endRead(place: DuePlace | undefined): void {
    this.#isReading = false
    this.#readUpTo = this.#cameBack ? undefined : place
    const arrived = this.#arrived
    this.#arrived = []
    if (this.behind || this.#overdue > 0) for (const delivery of arrived) this.settle(delivery)
    else this.#ready.push(...arrived)
  }

  /** Returns ready deliveries after the first `kept` to the store. */
  leaveReady(kept: number): void {
    for (const delivery of this.#ready.splice(kept)) this.settle(delivery)
  }

  /** Returns all deliveries in memory to the store. */
  leaveAll(): void {
    this.#ready = []
    this.#arrived = []
    for (const delivery of this.held) this.settle(delivery)
  }

  /** Forgets all deliveries in memory. */
  clear(): void {
    this.#ready = []
    this.#arrived = []
    for (const delivery of this.held) {
      this.#forget(delivery)
      this.#deliveries.delete(delivery.place)
    }
  }
}
