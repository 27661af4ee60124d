/**
 * Keeps the log of each endpoint bounded: of each status the newest, and none older than its time. What waits
 * for longer than that, because its endpoint is disabled or never answers, is dropped: its message can not be
 * read back for ever.
 */
import { Effect, Semaphore } from "effect"
import { limits } from "../Limits.ts"
import { nextTurn } from "../storage/nextTurn.ts"
import type { Broken, Entry } from "../storage/Storage.ts"
import type { Bookkeeping } from "./Bookkeeping.ts"
import { type DeliveryStatus, deliveryKey } from "./Delivery.ts"
import type { DeliveryStore, LogPlace } from "./DeliveryStore.ts"
import type { Endpoint } from "./Endpoint.ts"

export interface RetentionOptions {
  readonly bookkeeping: Bookkeeping
  readonly store: DeliveryStore
  readonly wallNow: () => number
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

  /** Whether an endpoint keeps more than it may. */
  isOver({ tally }: Endpoint): boolean {
    return ended.some(
      (status) => tally.stored[status] > this.#options.logMax + limits.webhookLogSlack,
    )
  }

  /** Brings an endpoint back to what it may keep. */
  trim(endpoint: Endpoint): Effect.Effect<void, Broken> {
    const { bookkeeping, logMax, store } = this.#options
    const trimmed = Effect.gen({ self: this }, function* () {
      yield* bookkeeping.settledFlushed
      for (const status of ended) {
        let excess = endpoint.tally.stored[status] - logMax
        while (excess > 0) {
          const most = Math.min(excess, limits.webhookJobBatch)
          const places = yield* store.oldestPlaces(endpoint.number, status, most)
          // What may be expanded again must be known to have been sent.
          const oldest = places.filter(({ sequence }) => sequence <= bookkeeping.cursorWritten)
          if (oldest.length === 0) break
          yield* this.#remove(endpoint, status, oldest)
          excess -= oldest.length
        }
      }
    })
    return Semaphore.withPermit(endpoint.lock, trimmed)
  }

  /** Removes what is too old, and drops what has waited too long. */
  sweep(endpoint: Endpoint): Effect.Effect<void, Broken> {
    const { bookkeeping, retentionMs, store, wallNow } = this.#options
    const before = wallNow() - retentionMs
    const oldOf = (status: DeliveryStatus) =>
      Effect.map(store.oldest(endpoint.number, status, limits.webhookJobBatch), (oldest) =>
        oldest.filter(({ at }) => at < before),
      )
    const swept = Effect.gen({ self: this }, function* () {
      yield* bookkeeping.flushed
      for (const status of ended) {
        for (let old = yield* oldOf(status); old.length > 0; old = yield* oldOf(status)) {
          yield* this.#remove(endpoint, status, old)
        }
      }
      for (let old = yield* oldOf("pending"); old.length > 0; old = yield* oldOf("pending")) {
        const waiting = old.filter((delivery) => !endpoint.queue.has(delivery))
        for (const delivery of waiting) endpoint.queue.drop(delivery, "expired")
        yield* bookkeeping.flushed
        // What is in memory is looked at when it is sent.
        if (waiting.length < old.length) break
      }
    })
    return Semaphore.withPermit(endpoint.lock, swept)
  }

  readonly #remove = Effect.fnUntraced(function* (
    this: Retention,
    endpoint: Endpoint,
    status: Ended,
    places: ReadonlyArray<LogPlace>,
  ) {
    const { bookkeeping, store } = this.#options
    const entries: Array<Entry> = places.map(({ index, sequence }) => ({
      table: "deliveries",
      key: deliveryKey(endpoint.number, status, sequence, index),
      value: null,
    }))
    for (const key of yield* store.attemptKeys(endpoint.number, places)) {
      entries.push({ table: "attempts", key, value: null })
    }
    endpoint.tally.stored[status] -= places.length
    bookkeeping.touchAccount(endpoint)
    bookkeeping.write(entries)
    yield* bookkeeping.settledFlushed
    yield* nextTurn
  })
}
