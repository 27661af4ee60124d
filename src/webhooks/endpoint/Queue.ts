/**
 * The pending deliveries of one endpoint: those in memory, and where the others are.
 *
 * - `ready` may be sent now, in order, and is bounded; the rest waits in the store. Once something is there that
 *   is due (`behind`) or on its way there, everything new goes there too, until it has been read: so order
 *   is kept.
 * - The store is read in passes, from the first due one on, each read behind the last. What has come back to a
 *   place that the pass is beyond makes it begin anew; a pass that has come to the end is followed by one more.
 * - A pending delivery is in memory or can be found in the store, never neither. It has one object at a time:
 *   what has left memory is not read again before what became of it is written (`#leaving`).
 */
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import { type Delivery, type DropReason, placeName } from "../store/Delivery.ts"
import type { DuePlace } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"

/** What is in memory to be sent, over all endpoints. */
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

const isBefore = (one: DuePlace, other: DuePlace): boolean =>
  (one.dueAt - other.dueAt || one.sequence - other.sequence || one.index - other.index) < 0

export class Queue {
  readonly #options: QueueOptions
  readonly #isProven: () => boolean
  #ready: Array<Delivery> = []
  readonly #live = new Map<string, Delivery>()
  readonly #leaving = new Map<string, Delivery>()
  /** How many of those were due. */
  #leavingDue = 0
  /** Up to where the due ones of the store have been read; undefined: they are read from the first on. */
  #readUpTo: DuePlace | undefined
  /** Since the last read began, something due has come back. */
  #cameBack = false
  /** There may be due deliveries in the store that are not in memory. */
  behind = false
  /** When the earliest other one of the store is due. */
  nextDueAt = Number.POSITIVE_INFINITY

  /** `isProven`: whether what is sent is answered; else little is kept in memory. */
  constructor(options: QueueOptions, isProven: () => boolean) {
    this.#options = options
    this.#isProven = isProven
  }

  get ready(): ReadonlyArray<Delivery> {
    return this.#ready
  }

  /** Those in memory, waiting or under way. */
  get live(): Iterable<Delivery> {
    return this.#live.values()
  }

  /** How many are in memory, waiting or under way. */
  get inMemory(): number {
    return this.#live.size
  }

  /** How many are in memory, or on their way to the store. */
  get size(): number {
    return this.#live.size + this.#leaving.size
  }

  /** Whether nothing is in memory, and nothing in the store will be due. */
  get isEmpty(): boolean {
    return this.#live.size === 0 && !this.behind && this.nextDueAt === Number.POSITIVE_INFINITY
  }

  /** Whether a delivery is in memory, or what became of it is not written yet. */
  has(place: { readonly sequence: number; readonly index: number }): boolean {
    const name = placeName(place)
    return this.#live.has(name) || this.#leaving.has(name)
  }

  find(place: { readonly sequence: number; readonly index: number }): Delivery | undefined {
    return this.#live.get(placeName(place))
  }

  /** A delivery that was made or set on its way just now: kept, or left to the store. */
  offer(delivery: Delivery, entry: FeedEntry): void {
    const inOrder = !this.behind && this.#leavingDue === 0
    if (delivery.urgent || (inOrder && this.room > 0)) {
      this.keep(delivery, entry)
      this.#options.writer.touch(delivery)
    } else this.#leave(delivery)
  }

  /** How many more may be taken into memory. */
  get room(): number {
    return Math.max(0, this.#readyMax - this.#ready.length)
  }

  /** How many may be read from the store now: not each time one was sent, but when half of them were. */
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
    const { memory } = this.#options
    delivery.entry = entry
    this.#live.set(delivery.place, delivery)
    memory.deliveries++
    memory.bytes += entry.bytes
    if (delivery.urgent) this.#ready.unshift(delivery)
    else this.#ready.push(delivery)
  }

  /** A delivery in memory is set on its way anew, before all others; one that is under way already goes on. */
  hasten(delivery: Delivery): void {
    const at = this.#ready.indexOf(delivery)
    if (at === -1) return
    this.#ready.splice(at, 1)
    this.#ready.unshift(delivery)
    delivery.renew(this.#options.now())
    delivery.urgent = true
    this.#options.writer.touch(delivery)
  }

  /** Takes the delivery at a place of `ready`, to send it. */
  take(at: number): Delivery {
    // Of a long array, only the first can be taken without moving the others.
    return at === 0 ? this.#ready.shift()! : this.#ready.splice(at, 1)[0]!
  }

  /** A delivery is pending again, or has ended: it leaves memory, and is written. */
  settle(delivery: Delivery): void {
    this.#forget(delivery)
    this.#leave(delivery)
  }

  /** A delivery will not be sent. */
  drop(delivery: Delivery, reason: DropReason): void {
    this.#ready = this.#ready.filter((ready) => ready !== delivery)
    delivery.status = "dropped"
    delivery.reason = reason
    this.settle(delivery)
  }

  #forget(delivery: Delivery): void {
    const { memory } = this.#options
    if (!this.#live.delete(delivery.place)) return
    memory.deliveries--
    memory.bytes -= delivery.entry!.bytes
    delivery.entry = undefined
    delivery.urgent = false
  }

  #leave(delivery: Delivery): void {
    this.#leaving.set(delivery.place, delivery)
    delivery.leftDue = delivery.status === "pending" && delivery.dueAt <= this.#options.now()
    if (delivery.leftDue) this.#leavingDue++
    this.#options.writer.touch(delivery)
  }

  /** What became of a delivery is in the store. Whether there is something to do now. */
  written(delivery: Delivery): boolean {
    const name = delivery.place
    if (this.#leaving.get(name) !== delivery) return false
    this.#leaving.delete(name)
    if (delivery.leftDue) this.#leavingDue--
    if (delivery.status !== "pending") return false
    if (delivery.leftDue || delivery.dueAt <= this.#options.now()) {
      this.behind = true
      this.#cameBack = true
      if (this.#readUpTo !== undefined && isBefore(delivery, this.#readUpTo)) {
        this.#readUpTo = undefined
      }
    } else this.nextDueAt = Math.min(this.nextDueAt, delivery.dueAt)
    return true
  }

  /** The due ones of the store are read now: from the first on, or behind the place that is returned. */
  beginRead(): DuePlace | undefined {
    this.behind = false
    this.nextDueAt = Number.POSITIVE_INFINITY
    this.#cameBack = false
    return this.#readUpTo
  }

  /** They were read up to `place`; undefined: up to the end. What came back meanwhile may have been missed. */
  endRead(place: DuePlace | undefined): void {
    this.#readUpTo = this.#cameBack ? undefined : place
  }

  /** Leaves what is ready beyond the first `kept` to the store. */
  leaveReady(kept: number): void {
    for (const delivery of this.#ready.splice(kept)) this.settle(delivery)
  }

  /** Leaves all that is in memory to the store. */
  leaveAll(): void {
    this.#ready = []
    for (const delivery of [...this.#live.values()]) this.settle(delivery)
  }

  /** Forgets all that is in memory. */
  clear(): void {
    this.#ready = []
    for (const delivery of [...this.#live.values()]) this.#forget(delivery)
  }
}
