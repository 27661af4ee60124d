/**
 * Bounds the log of each endpoint: keeps the newest `logMax` deliveries of each status, and none
 * older than `retentionMs`. A delivery that is pending for longer, because its endpoint is disabled
 * or never answers, is dropped as expired: the journal does not keep its message forever.
 */
import { Effect, Semaphore } from "effect"
import type { Feed } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { DeliveryStatus } from "../store/Delivery.ts"
import { type DeliveryStore, statsKey } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import { jsonEntry } from "../store/DeliveryWriter.ts"
import type { RecordName } from "../store/SucceededLog.ts"
import type { Outbox } from "./Outbox.ts"

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
    /** Drops old pending deliveries. Returns whether there may be more. */
    const expire = Effect.gen(function* () {
      const oldest = yield* store.oldest(endpoint.number, "pending", limits.webhookJobBatch)
      const old = oldest.filter(isOld)
      const waiting = old.filter((delivery) => !endpoint.queue.has(delivery))
      for (const delivery of waiting) endpoint.queue.drop(delivery, "expired")
      // Deliveries in memory expire when they are loaded again.
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

  /**
   * Removes at most `most` of the oldest deliveries of a status that may be removed. Returns their
   * number.
   */
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
      // The counts in memory may include deliveries of the next write.
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

  /** Whether the record will not be expanded again. Otherwise its outcomes must be kept. */
  #isPassed({ sequence }: RecordName): boolean {
    return sequence <= this.#options.writer.cursorWritten
  }
}

/*
 * Finds the oldest message that an enabled webhook has not delivered, every `webhookOldestMs`.
 * Cost: one read for each endpoint with pending deliveries. Deliveries that are not written yet are
 * younger than that interval and are ignored.
 */

export interface OldestPendingOptions {
  readonly registry: Iterable<Endpoint>
  readonly store: Pick<DeliveryStore, "oldest">
  readonly feed: Pick<Feed, "find" | "head">
  readonly outbox: Pick<Outbox, "next">
  /** The time that records are dated with, epoch milliseconds. */
  readonly now: () => number
}

export class OldestPending {
  readonly #options: OldestPendingOptions
  #at: number | undefined

  constructor(options: OldestPendingOptions) {
    this.#options = options
  }

  /** The age of the oldest undelivered message; 0 if there is none. */
  get ageMs(): number {
    return this.#at === undefined ? 0 : Math.max(0, this.#options.now() - this.#at)
  }

  /** Looks at intervals. Never ends. */
  readonly watch: Effect.Effect<never, Broken> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.look
      yield* Effect.sleep(limits.webhookOldestMs)
    }
  })

  readonly look: Effect.Effect<void, Broken> = Effect.gen({ self: this }, function* () {
    const { feed, outbox, registry, store } = this.#options
    let oldest = Number.POSITIVE_INFINITY
    const { next } = outbox
    if (next <= feed.head) {
      const waiting = (yield* feed.find([next])).get(next)
      // An erased record has no time.
      oldest = waiting?.record.at || oldest
    }
    let looked = 0
    for (const { isEnabled, number, stats } of [...registry]) {
      if (!isEnabled || stats.stored.pending === 0) continue
      const [pending] = yield* store.oldest(number, "pending", 1)
      oldest = Math.min(oldest, pending?.at ?? oldest)
      if (++looked % limits.webhookJobBatch === 0) yield* yieldToEventLoop
    }
    this.#at = Number.isFinite(oldest) ? oldest : undefined
  })
}
