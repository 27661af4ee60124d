/**
 * Jobs that take longer than the expansion of a record: purge a deleted endpoint, recover missed
 * messages, erase a user. A job is written together with the cursor after its record. It is
 * idempotent and resumes after a restart. Jobs run concurrently, but only one recovery at a time.
 */
import { Effect, Semaphore } from "effect"
import { messageKindAt } from "../../domain/message/Message.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Background } from "../endpoint/Background.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { Erasures } from "../endpoint/Erasures.ts"
import type { Registry } from "../endpoint/Registry.ts"
import type { WebhookMetrics } from "../endpoint/WebhookMetrics.ts"
import type { Job } from "../store/Delivery.ts"
import {
  Delivery,
  type DeliveryStatus,
  deliveryStatuses,
  type LogPlace,
  placeName,
  userOf,
} from "../store/Delivery.ts"
import { type DeliveryStore, statsKey } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"

/*
 * Erases users from stored deliveries: drops pending deliveries, and blanks the replies of
 * receivers, which may repeat the message.
 *
 * The store has no index by user, since each delivery would pay for it. An erasure walks all
 * deliveries of its environment, and one walk serves all erasures that wait when it begins. There
 * is at most one walk per `webhookEraseGatherMs`, for any number of erasures. A walk holds an
 * endpoint's lock for one page at a time, so the endpoint's fiber can load due deliveries between
 * two pages.
 *
 * A delivery that changes its table during a walk is in a queue at that time: `Erasures` covers
 * deliveries in queues until the job ends.
 */

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

  /** The number of erasures that wait for the end of a walk. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Ends when the user is erased, except from attempts under way. `Erasures` must have the user.
   */
  erase(job: Erasure): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      this.#waiting.add(job)
      return Semaphore.withPermit(this.#walking, this.#turn(job))
    })
  }

  readonly #turn = Effect.fnUntraced(function* (this: Eraser, job: Erasure) {
    // The previous walk also served this erasure.
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

type JobOf<Kind extends Job["kind"]> = Extract<Job, { readonly kind: Kind }>

export interface JobsOptions {
  readonly engine: Engine["Service"]
  readonly registry: Registry
  readonly writer: DeliveryWriter
  readonly store: DeliveryStore
  readonly erasures: Erasures
  readonly eraser: Eraser
  readonly now: () => number
  readonly wake: (endpoint: Endpoint) => void
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
  readonly background: Background
}

export class Jobs {
  readonly #options: JobsOptions
  readonly #recovering = Semaphore.makeUnsafe(1)

  constructor(options: JobsOptions) {
    this.#options = options
  }

  /** Starts a new job. The next flush writes it. */
  add(job: Job): void {
    this.#options.writer.touchJob(job)
    this.run(job)
  }

  run(job: Job): void {
    const { background, erasures, writer } = this.#options
    if (job.kind === "erase") erasures.add(job.user, job.record)
    const done = Effect.sync(() => writer.touchJob(job, true))
    const work = Effect.suspend(() => this.#do(job))
    background(`${job.kind} ${job.record}`, Effect.andThen(work, done))
  }

  #do(job: Job): Effect.Effect<void, Broken> {
    switch (job.kind) {
      case "purge":
        return this.#purge(job)
      case "erase": {
        const { eraser, erasures } = this.#options
        return Effect.tap(eraser.erase(job), () =>
          Effect.sync(() => erasures.remove(job.user, job.record)),
        )
      }
      case "recover":
        return Semaphore.withPermit(this.#recovering, this.#recover(job))
    }
  }

  readonly #purge = Effect.fnUntraced(function* (this: Jobs, { endpoint }: JobOf<"purge">) {
    const { writer, store } = this.#options
    // A write under way may have deliveries of the endpoint.
    yield* writer.flushed
    for (const table of ["due", "deliveries", "attempts"] as const) {
      while (true) {
        const keys = yield* store.keysOf(table, endpoint, limits.webhookJobBatch)
        if (keys.length === 0) break
        writer.write(keys.map((key) => ({ table, key, value: null })))
        yield* writer.flushed
      }
    }
    writer.write([{ table: "endpoints", key: statsKey(endpoint), value: null }])
  })

  readonly #recover = Effect.fnUntraced(function* (this: Jobs, job: JobOf<"recover">) {
    const { writer, engine, registry, wake } = this.#options
    const { feed } = engine
    let { next } = job
    if (next === 0) next = yield* feed.sequenceAt(job.since)
    while (next <= job.record) {
      const endpoint = registry.at(job.endpoint)
      if (endpoint === undefined || !endpoint.isEnabled) break
      if (endpoint.stats.stored.pending >= limits.webhookRecoverPendingMax) {
        yield* Effect.sleep(limits.webhookRestartMs)
        continue
      }
      const from = next
      const read = Effect.match(feed.read(from, limits.webhookJobBatch), {
        onSuccess: (entries) => ({ entries, next: entries.at(-1)!.record.sequence + 1 }),
        onFailure: ({ first }) => ({ entries: [], next: first }),
      })
      const batch = yield* read
      next = batch.next
      yield* Semaphore.withPermit(endpoint.lock, this.#recoverBatch(endpoint, batch.entries, job))
      writer.touchJob({ ...job, next })
      wake(endpoint)
      yield* yieldToEventLoop
    }
  })

  readonly #recoverBatch = Effect.fnUntraced(function* (
    this: Jobs,
    endpoint: Endpoint,
    entries: ReadonlyArray<FeedEntry>,
    { record: until }: JobOf<"recover">,
  ) {
    const { writer, isErased, now, store } = this.#options
    yield* writer.flushed
    const [first = 0, last = 0] = [entries[0], entries.at(-1)].map(
      (entry) => entry?.record.sequence,
    )
    const missed: Array<{ readonly delivery: Delivery; readonly entry: FeedEntry }> = []
    const look = Effect.map(store.between(endpoint.number, first, last), (stored) => {
      for (const entry of entries) {
        const { record } = entry
        const { subject } = record
        if (record.sequence > until || subject.actor === "directory") continue
        if (subject.environment !== endpoint.environment) continue
        for (let index = 0; index < record.facts.length; index++) {
          const kind = messageKindAt(record, index)
          const asked = kind !== undefined && endpoint.kinds.has(kind)
          const place = { sequence: record.sequence, index }
          if (!asked || !endpoint.accepts(entry, index) || endpoint.queue.has(place)) continue
          const found = stored.get(placeName(place))
          if (found !== undefined && found.status !== "failed" && found.status !== "dropped") {
            continue
          }
          const name = { endpoint: endpoint.number, at: record.at, ...place }
          const delivery = found ?? new Delivery(name, kind, userOf(record))
          missed.push({ delivery, entry })
        }
      }
    })
    yield* writer.betweenWrites(look)
    for (const { delivery, entry } of missed) {
      if (yield* isErased(entry)) continue
      delivery.renew(now())
      endpoint.queue.offer(delivery, entry)
    }
  })
}
