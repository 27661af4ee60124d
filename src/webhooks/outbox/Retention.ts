/**
 * Bounds the log of each endpoint: keeps the newest `logMax` of each status, none older than `retentionMs`. A delivery
 * pending for longer, because its endpoint is disabled or never answers, is dropped as expired: the journal does not
 * keep its message for ever.
 */
import { Effect, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { DeliveryStatus } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import { jsonEntry } from "../store/deliveryEntries.ts"
import { statsKey } from "../store/EndpointStats.ts"
import type { RecordName } from "../store/SucceededLog.ts"

export interface RetentionOptions {
  readonly writer: DeliveryWriter
  readonly store: DeliveryStore
  /** The time that records are dated with, epoch milliseconds. */
  readonly now: () => number
  readonly logMax: number
  readonly retentionMs: number
}

type Ended = Exclude<DeliveryStatus, "pending">
const ended: ReadonlyArray<Ended> = ["succeeded", "failed", "dropped"]

export class Retention {
  readonly #options: RetentionOptions

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  /** Whether the log of an endpoint is too long. */
  isOver({ stats }: Endpoint): boolean {
    return ended.some(
      (status) => stats.stored[status] > this.#options.logMax + limits.webhookLogSlack,
    )
  }

  /** Sweeps all endpoints at intervals; never ends. */
  sweepAll(endpoints: Iterable<Endpoint>): Effect.Effect<never, Broken> {
    return Effect.gen({ self: this }, function* () {
      while (true) {
        for (const endpoint of [...endpoints]) yield* this.sweep(endpoint)
        yield* Effect.sleep(limits.webhookSweepIntervalMs)
      }
    })
  }

  /** Prunes the log of an endpoint to `logMax` deliveries of each status. */
  trim(endpoint: Endpoint): Effect.Effect<void, Broken> {
    const { writer, logMax } = this.#options
    const trimmed = Effect.gen({ self: this }, function* () {
      yield* writer.settledFlushed
      for (const status of ended) {
        let excess = endpoint.stats.stored[status] - logMax
        while (excess > 0) {
          const removed = yield* this.#remove(
            endpoint,
            status,
            Math.min(excess, limits.webhookFlushDeliveries),
            (record) => this.#isPassed(record),
          )
          if (removed === 0) break
          excess -= removed
        }
      }
    })
    return Semaphore.withPermit(endpoint.lock, trimmed)
  }

  /** Prunes ended deliveries older than `retentionMs`, and drops pending ones. */
  sweep(endpoint: Endpoint): Effect.Effect<void, Broken> {
    const { writer, retentionMs, store, now } = this.#options
    const before = now() - retentionMs
    const isOld = ({ at }: { readonly at: number }) => at < before
    const mayGo = (record: RecordName) => isOld(record) && this.#isPassed(record)
    /** Whether there may be more. */
    const expire = Effect.gen(function* () {
      const oldest = yield* store.oldest(endpoint.number, "pending", limits.webhookJobBatch)
      const old = oldest.filter(isOld)
      const waiting = old.filter((delivery) => !endpoint.queue.has(delivery))
      for (const delivery of waiting) endpoint.queue.drop(delivery, "expired")
      // Those in memory expire when they are loaded again.
      return waiting.length > 0 && waiting.length === old.length
    })
    const swept = Effect.gen({ self: this }, function* () {
      yield* writer.flushed
      for (const status of ended) {
        const removed = this.#remove(endpoint, status, limits.webhookFlushDeliveries, mayGo)
        while ((yield* removed) > 0);
      }
      while (yield* writer.betweenWrites(expire)) yield* writer.flushed
      yield* writer.flushed
    })
    return Semaphore.withPermit(endpoint.lock, swept)
  }

  /** Removes the oldest of a status that may go, at most `most`; how many those were. */
  readonly #remove = Effect.fnUntraced(function* (
    this: Retention,
    endpoint: Endpoint,
    status: Ended,
    most: number,
    mayGo: (record: RecordName) => boolean,
  ) {
    const { writer, store } = this.#options
    const { number, stats } = endpoint
    const removal = Effect.gen(function* () {
      const { count, entries } = yield* store.removal(number, status, most, mayGo)
      if (count === 0 || !writer.isThere(endpoint)) return 0
      // The numbers in memory may count deliveries of the next write.
      const stored = yield* store.stats(number)
      stored.stored[status] -= count
      yield* writer.writeNow([...entries, jsonEntry("endpoints", statsKey(number), stored)])
      stats.stored[status] -= count
      return count
    })
    const removed = yield* writer.betweenWrites(removal)
    if (removed > 0) yield* yieldToEventLoop
    return removed
  })

  /** Outcomes of records that may be expanded again must be kept. */
  #isPassed({ sequence }: RecordName): boolean {
    return sequence <= this.#options.writer.cursorWritten
  }
}
