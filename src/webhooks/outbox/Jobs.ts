/**
 * Jobs that take longer than one record's turn: purge a deleted endpoint, recover missed messages, erase a user. A job is
 * written with the cursor that passed its record, resumes after a restart, and is idempotent. Jobs run side by side;
 * recoveries one at a time.
 */
import { Effect, Semaphore } from "effect"
import { messageKindAt } from "../../domain/message/Message.ts"
import type { FeedEntry } from "../../engine/commit/FeedEntry.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Background } from "../endpoint/Background.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { Erasures } from "../endpoint/Erasures.ts"
import type { Registry } from "../endpoint/Registry.ts"
import { Delivery, placeName, userOf } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import { statsKey } from "../store/EndpointStats.ts"
import type { Job } from "../store/Job.ts"
import type { Eraser } from "./Eraser.ts"

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

  /** Does a job, which is written with the next flush. */
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
    // A write under way may have deliveries of it.
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
