/**
 * Expands durable records into deliveries, in order. Its cursor is written together with the
 * deliveries (`DeliveryWriter.ts`). It follows the journal while any webhook exists; otherwise it
 * costs nothing. In the same order it runs the commands of records: redeliver, recover, erase a
 * user, delete a webhook.
 *
 * Records of users who were erased since make no deliveries.
 *
 * After a crash, records up to `reached` are expanded again, but deliveries that the store already
 * has are skipped. These are read before anything is sent, since later they move between the
 * tables.
 *
 * An enabled endpoint gets the messages of records after its creation, of the kinds that it asks
 * for when the record is expanded. With `pendingMax` pending deliveries it is full: further
 * deliveries are counted as dropped, and can be recovered.
 */
import { Effect, Latch } from "effect"
import { messageKindAt } from "../../domain/message/Message.ts"
import type { Feed, FeedEntry } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Endpoint, EndpointCommands } from "../endpoint/Endpoint.ts"
import type { Registry } from "../endpoint/Registry.ts"
import type { WebhookMetrics } from "../endpoint/WebhookMetrics.ts"
import { Delivery, placeName, userHash, userOf } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import type { Jobs } from "./Jobs.ts"

export interface OutboxOptions {
  readonly feed: Feed
  readonly registry: Registry
  readonly writer: DeliveryWriter
  readonly now: () => number
  readonly wake: (endpoint: Endpoint) => void
  readonly jobs: Pick<Jobs, "add">
  readonly commands: Pick<EndpointCommands, "redeliver">
  /** Whether the user of a record was erased since. */
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
  readonly store: DeliveryStore
  readonly metrics: Pick<WebhookMetrics, "missed">
  /** The largest number of pending deliveries of one endpoint, and of all endpoints. */
  readonly pendingMax: number
  readonly pendingTotalMax: number
}

export class Outbox {
  readonly #options: OutboxOptions
  /** The last record that is expanded. */
  #cursor = 0
  /** The store has no deliveries of records after this sequence. */
  #reached = 0
  /** The stored deliveries of the records from the cursor to `reached`, by endpoint and place. */
  readonly #written = new Map<number, ReadonlyMap<string, Written>>()
  #hasRun = false
  /** Open while there may be webhooks. */
  readonly #wanted = Latch.makeUnsafe()
  readonly #touched = new Set<Endpoint>()
  /** The number of deliveries that this turn of the event loop made. */
  #made = 0

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** The number of durable records that are not expanded. */
  get lagRecords(): number {
    return Math.max(0, this.#options.feed.head - this.next + 1)
  }

  /**
   * Begins after `cursor`, the last record whose deliveries are all written; 0 begins with the
   * first webhook. The store may have deliveries of records up to `reached`. Nothing may be written
   * meanwhile.
   */
  readonly begin = Effect.fnUntraced(function* (this: Outbox, cursor: number, reached: number) {
    this.#cursor = cursor
    this.#reached = reached
    for (const endpoint of this.#options.registry) {
      const first = Math.max(cursor, endpoint.number) + 1
      if (first > reached) continue
      const found = yield* this.#options.store.between(endpoint.number, first, reached)
      const written = [...found.values()].map(
        ({ at, place, stored }) => [place, { at, stored: stored! }] as const,
      )
      this.#written.set(endpoint.number, new Map(written))
    }
  })

  /** Continues, since there may be webhooks now. */
  wake(): void {
    this.#wanted.openUnsafe()
  }

  readonly run = Effect.gen({ self: this }, function* () {
    if (this.#hasRun) yield* this.#beginAgain
    this.#hasRun = true
    while (true) {
      this.#wanted.closeUnsafe()
      if (this.#options.registry.size === 0) yield* this.#wanted.await
      else yield* Effect.scoped(this.#follow)
    }
  })

  /**
   * The oldest record that has deliveries which are not written, or whose message a pending
   * delivery needs; infinite without webhooks.
   */
  readonly needed: Effect.Effect<number, Broken> = Effect.gen({ self: this }, function* () {
    const { registry, store, writer } = this.#options
    if (registry.size === 0) return Number.POSITIVE_INFINITY
    let needed = Math.min(this.#cursor + 1, writer.oldestDeferred ?? Number.POSITIVE_INFINITY)
    let looked = 0
    for (const { number, stats } of [...registry]) {
      if (stats.stored.pending === 0) continue
      needed = Math.min(needed, (yield* store.oldestPending(number)) ?? needed)
      if (++looked % limits.webhookJobBatch === 0) yield* yieldToEventLoop
    }
    return needed
  })

  /** Begins again after a failure. Some deliveries of the record in which it failed may exist. */
  readonly #beginAgain = Effect.suspend(() => {
    const { writer } = this.#options
    const begun = this.begin(this.#cursor, Math.max(this.#reached, this.#cursor + 1))
    return Effect.andThen(writer.flushed, writer.betweenWrites(begun))
  })

  /**
   * The next record to expand; infinite without webhooks. Earlier records need no expansion, since
   * no webhook is older.
   */
  get next(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { number } of this.#options.registry) oldest = Math.min(oldest, number)
    return Math.max(this.#cursor, oldest) + 1
  }

  readonly #follow = Effect.gen({ self: this }, function* () {
    const { writer, feed, registry } = this.#options
    const follower = yield* feed.follow(this.next)
    while (registry.size > 0) {
      const entries = yield* follower.take(limits.outboxTakeRecordsMax)
      for (const entry of entries) {
        const { sequence, subject } = entry.record
        const asked = subject.actor !== "directory" && isAbout(entry)
        // An erasure may run twice, so only commands of projects cause a flush at once.
        const atOnce = asked && subject.actor === "project"
        if (asked) yield* this.#obey(entry, subject.environment)
        let dropped = false
        if (subject.actor !== "directory" && registry.has(subject.environment)) {
          // No erasure can follow the newest record.
          const isErased = sequence < feed.head && (yield* this.#options.isErased(entry))
          if (!isErased) {
            if (sequence > this.#reached && this.#written.size > 0) this.#written.clear()
            dropped = this.#expand(entry, subject.environment)
          }
        }
        this.#cursor = sequence
        writer.passed(sequence, atOnce || dropped)
        if (writer.unwritten >= limits.webhookUnwrittenMax) {
          this.#wakeTouched()
          yield* writer.room
        } else if (this.#made >= limits.outboxTurnDeliveries) {
          this.#made = 0
          this.#wakeTouched()
          yield* yieldToEventLoop
        }
      }
      this.#wakeTouched()
      yield* yieldToEventLoop
    }
  }).pipe(
    Effect.catchTag("FeedGone", ({ first }) => {
      const missed = { from: this.next, until: first - 1 }
      this.#options.metrics.missed(first - missed.from)
      this.#cursor = first - 1
      return Effect.annotateLogs(
        Effect.logError("Records were pruned before the outbox read them; their webhooks are lost"),
        missed,
      )
    }),
  )

  #wakeTouched(): void {
    for (const endpoint of this.#touched) this.#options.wake(endpoint)
    this.#touched.clear()
  }

  readonly #obey = Effect.fnUntraced(function* (
    this: Outbox,
    { record }: FeedEntry,
    environment: string,
  ) {
    const { commands, jobs, registry } = this.#options
    registry.sync(environment)
    for (const fact of record.facts) {
      switch (fact.kind) {
        case "user.deleted": {
          if (record.subject.actor !== "user" || !registry.has(environment)) break
          const user = userHash(environment, record.subject.userId)
          jobs.add({ kind: "erase", record: record.sequence, environment, user })
          break
        }
        case "webhook.redelivered": {
          const endpoint = registry.find(environment, fact.webhookId)
          if (endpoint !== undefined) yield* commands.redeliver(endpoint, fact)
          break
        }
        case "webhook.recovered": {
          const endpoint = registry.find(environment, fact.webhookId)?.number
          const { since } = fact
          if (endpoint === undefined) break
          jobs.add({ kind: "recover", record: record.sequence, endpoint, since, next: 0 })
          break
        }
      }
    }
  })

  /**
   * Makes the deliveries of one record that the store does not have. Returns whether some were
   * dropped.
   */
  #expand(entry: FeedEntry, environment: string): boolean {
    const { record } = entry
    const { sequence } = record
    const { now, registry } = this.#options
    let user: string | undefined
    let dropped = false
    for (let index = 0; index < record.facts.length; index++) {
      const kind = messageKindAt(record, index)
      if (kind === undefined) continue
      for (const endpoint of registry.askingFor(environment, kind)) {
        if (!endpoint.isEnabled || !endpoint.accepts(entry, index)) continue
        const written =
          this.#written.size === 0
            ? undefined
            : this.#written.get(endpoint.number)?.get(placeName({ sequence, index }))
        if (written?.at === record.at) continue
        if (this.#isFull(endpoint)) {
          dropped = true
          endpoint.stats.ended.dropped++
          this.#options.writer.touchAccount(endpoint)
          continue
        }
        user ??= userOf(record)
        const name = { endpoint: endpoint.number, sequence, at: record.at, index }
        const delivery = new Delivery(name, kind, user)
        // The journal was truncated before the record that had this place: the new delivery
        // replaces the old one.
        delivery.stored = written?.stored
        // The time of the record, so that the delivery is also due for a later owner whose clock is
        // behind.
        delivery.dueAt = record.at
        delivery.expandedAt = now()
        delivery.urgent = kind === "webhook.test"
        endpoint.queue.offer(delivery, entry)
        this.#made++
        this.#touched.add(endpoint)
      }
    }
    return dropped
  }

  /**
   * The larger of two counts: pending deliveries in memory may not be written yet, and written ones
   * may not be in memory.
   */
  #isFull({ queue, stats }: Endpoint): boolean {
    const { writer, pendingMax, pendingTotalMax } = this.#options
    const waiting = Math.max(stats.stored.pending, queue.inMemory)
    return waiting >= pendingMax || writer.pending >= pendingTotalMax
  }
}

/** A stored delivery: the time of its record, and its keys. */
interface Written {
  readonly at: number
  readonly stored: NonNullable<Delivery["stored"]>
}

/** Whether a record has a command for the outbox. */
const isAbout = ({ record }: FeedEntry): boolean => {
  for (const { kind } of record.facts) {
    if (kind === "user.deleted" || kind.startsWith("webhook.")) return true
  }
  return false
}
