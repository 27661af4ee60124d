/**
 * Erases users from stored deliveries: drops pending ones, and blanks the replies of receivers, which may repeat what was
 * sent.
 *
 * The store has no index by user, which each delivery would pay for. An erasure walks all deliveries of its environment,
 * and one walk serves all erasures that wait when it begins: N erasures cost as many walks as fit between the first and the
 * last, at most one per `webhookEraseGatherMs`. A walk holds an endpoint's lock for one page at a time, so the endpoint's
 * fiber loads due deliveries between two pages.
 *
 * A delivery that changes its table during a walk is in a queue meanwhile: `Erasures` covers those until the job ends.
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

  /** Ends when the user is erased, except from attempts in flight; `Erasures` must know the user. */
  erase(job: Erasure): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      this.#waiting.add(job)
      return Semaphore.withPermit(this.#walking, this.#turn(job))
    })
  }

  readonly #turn = Effect.fnUntraced(function* (this: Eraser, job: Erasure) {
    // The previous walk served this erasure, too.
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
          // Endpoints load, and the writer flushes.
          yield* yieldToEventLoop
          if (writer.unwritten >= limits.webhookUnwrittenMax) yield* writer.room
        }
      }
    }
    yield* writer.settledFlushed
    const durationMs = now() - startedAt
    if (durationMs < limits.webhookEraseGatherMs) return
    yield* Effect.logInfo("Users erased from webhook deliveries").pipe(
      Effect.annotateLogs({ environment, users, pages, durationMs }),
    )
  })

  /** Drops deliveries in memory; those in flight when they end, which may be after the walk. */
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

  /** Runs `work` while no delivery of the endpoint is loaded from the store or moves within it. */
  #alone<A>(endpoint: Endpoint, work: Effect.Effect<A, Broken>): Effect.Effect<A, Broken> {
    return Semaphore.withPermit(endpoint.lock, this.#options.writer.betweenWrites(work))
  }
}
