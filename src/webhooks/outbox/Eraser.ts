/**
 * Takes what the store has of erased users out of deliveries: pending ones are dropped, and no answer that may repeat
 * what was sent is kept.
 *
 * The store has no index by user, which each delivery would pay for. So an erasure walks all deliveries of its
 * environment, and one walk serves all erasures that wait when it begins: N erasures cost as many walks as fit between
 * the first and the last, at most one per `webhookEraseGatherMs`. An endpoint's lock is held for one page at a time,
 * so its fiber loads what is due between two pages.
 *
 * What changes place during a walk is in a queue meanwhile, and `Erasures` sees to that until the job has ended.
 */
import { Effect, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { Erasures } from "../endpoint/Erasures.ts"
import type { Registry } from "../endpoint/Registry.ts"
import type { WebhookMetrics } from "../endpoint/WebhookMetrics.ts"
import { type DeliveryStatus, deliveryStatuses, type LogPlace } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import type { Job } from "../store/Job.ts"

export interface EraserOptions {
  readonly registry: Registry
  readonly writer: DeliveryWriter
  readonly store: DeliveryStore
  readonly erasures: Erasures
  readonly now: () => number
  readonly metrics: Pick<WebhookMetrics, "erasureWalked">
}

type Erasure = Extract<Job, { readonly kind: "erase" }>

export class Eraser {
  readonly #options: EraserOptions
  readonly #walking = Semaphore.makeUnsafe(1)
  readonly #waiting = new Set<Erasure>()
  #endedAt = Number.NEGATIVE_INFINITY

  constructor(options: EraserOptions) {
    this.#options = options
  }

  /** How many erasures are waiting for the end of a walk. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Ends when nothing of the user is left, but for what is in flight; `Erasures` must know the user. */
  erase(job: Erasure): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      this.#waiting.add(job)
      return Semaphore.withPermit(this.#walking, this.#turn(job))
    })
  }

  readonly #turn = Effect.fnUntraced(function* (this: Eraser, job: Erasure) {
    // The walk before was for this one, too.
    if (!this.#waiting.has(job)) return
    const pause = this.#endedAt + limits.webhookEraseGatherMs - this.#options.now()
    if (pause > 0) yield* Effect.sleep(pause)
    const together = [...this.#waiting].filter(({ environment }) => environment === job.environment)
    yield* this.#walk(job.environment, together.length)
    for (const each of together) this.#waiting.delete(each)
    this.#endedAt = this.#options.now()
  })

  readonly #walk = Effect.fnUntraced(function* (this: Eraser, environment: string, users: number) {
    const { writer, metrics, now, registry } = this.#options
    const startedAt = now()
    const endpoints = [...registry.of(environment)]
    for (const endpoint of endpoints) yield* this.#eraseInMemory(endpoint)
    yield* writer.settledFlushed
    let pages = 0
    for (const endpoint of endpoints) {
      for (const status of deliveryStatuses) {
        let from: LogPlace | undefined = { sequence: 0, index: 0 }
        while (from !== undefined) {
          from = yield* this.#page(endpoint, status, from)
          pages++
          metrics.erasureWalked()
          // Others load, and what was found is written.
          yield* yieldToEventLoop
          if (writer.unwritten >= limits.webhookUnwrittenMax) yield* writer.room
        }
      }
    }
    yield* writer.settledFlushed
    const durationMs = now() - startedAt
    if (durationMs < limits.webhookEraseGatherMs) return
    yield* Effect.logInfo("Erased users were taken out of the deliveries of webhooks").pipe(
      Effect.annotateLogs({ environment, users, pages, durationMs }),
    )
  })

  /** Drops what waits in memory; what is in flight is dropped when it ends, since it may end after the walk. */
  #eraseInMemory(endpoint: Endpoint): Effect.Effect<void, Broken> {
    const { writer, erasures, store } = this.#options
    const { queue } = endpoint
    const erased = Effect.gen({ self: this }, function* () {
      for (const delivery of queue.held.filter((each) => erasures.has(each))) {
        queue.revoke(delivery)
        yield* store.blank(delivery)
        writer.touch(delivery)
      }
    })
    return this.#alone(endpoint, erased)
  }

  /** Erases a page of the deliveries of a status, from `from` on; where the next one begins. */
  #page(
    endpoint: Endpoint,
    status: DeliveryStatus,
    from: LogPlace,
  ): Effect.Effect<LogPlace | undefined, Broken> {
    const { writer, erasures, store } = this.#options
    const { number, queue } = endpoint
    const read = Effect.gen({ self: this }, function* () {
      const page = yield* store.oldest(number, status, limits.webhookJobBatch, from)
      for (const delivery of page) {
        if (!erasures.has(delivery) || queue.has(delivery)) continue
        yield* store.blank(delivery)
        if (status === "pending") queue.drop(delivery, "erased")
        else writer.touch(delivery)
      }
      const last = page.at(-1)
      return last && { sequence: last.sequence, index: last.index + 1 }
    })
    return this.#alone(endpoint, read)
  }

  /** Nobody else takes deliveries of the endpoint from the store meanwhile, and none moves within it. */
  #alone<A>(endpoint: Endpoint, work: Effect.Effect<A, Broken>): Effect.Effect<A, Broken> {
    return Semaphore.withPermit(endpoint.lock, this.#options.writer.betweenWrites(work))
  }
}
