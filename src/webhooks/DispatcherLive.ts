/**
 * Assembles the delivery of webhooks: sender thread, store, endpoints, outbox.
 *
 * Shutdown: no new attempts begin. Attempts under way have `shutdownGraceMs` to end; the others are
 * aborted and their deliveries stay pending. A last flush writes all outcomes.
 */
import { Clock, Effect, type Scope } from "effect"
import type { FeedEntry } from "../engine/commit/Feed.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { type Broken, Storage } from "../storage/Storage.ts"
import { type DeliveryLog, deliveryLogOf } from "./DeliveryLog.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { type Background, makeBackground } from "./endpoint/Background.ts"
import type { Endpoint } from "./endpoint/Endpoint.ts"
import { EndpointCommands } from "./endpoint/Endpoint.ts"
import { Erasures } from "./endpoint/Erasures.ts"
import { Registry } from "./endpoint/Registry.ts"
import { defaultSchedule, longestPause, type RetrySchedule } from "./endpoint/RetrySchedule.ts"
import { WebhookMetrics } from "./endpoint/WebhookMetrics.ts"
import { Eraser, Jobs } from "./outbox/Jobs.ts"
import { Outbox } from "./outbox/Outbox.ts"
import { OldestPending, Retention } from "./outbox/Retention.ts"
import {
  makeSharedDelivery,
  type SharedDelivery,
  type SharedDeliveryOptions,
} from "./SharedDelivery.ts"
import { SteadyTime } from "./send/SteadyTime.ts"
import { DeliveryStore } from "./store/DeliveryStore.ts"
import { DeliveryWriter } from "./store/DeliveryWriter.ts"

export interface WebhookOptions extends SharedDeliveryOptions {
  /**
   * Shared by all engines of the process, in place of `SharedDeliveryOptions`; absent: this
   * dispatcher makes its own.
   */
  readonly shared?: SharedDelivery
  readonly schedule?: RetrySchedule
  readonly pendingMax?: number
  readonly logMax?: number
  readonly retentionMs?: number
  readonly readyMax?: number
  readonly flushIntervalMs?: number
  readonly flushDeliveries?: number
  readonly shutdownGraceMs?: number
  readonly random?: () => number
  readonly metrics?: Metrics
  readonly onBroken: (cause: Broken) => void
}

/** The parts of a dispatcher. */
interface Parts {
  readonly engine: Engine["Service"]
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
  readonly background: Background
  readonly store: DeliveryStore
  readonly writer: DeliveryWriter
  readonly metrics: WebhookMetrics
  readonly dispatcher: Dispatcher
  readonly registry: Registry
  readonly eraser: Eraser
  readonly jobs: Jobs
  readonly outbox: Outbox
  readonly retention: Retention
  readonly oldest: OldestPending
}

/** Delivers webhooks until the scope closes. */
export const make = Effect.fnUntraced(function* (
  options: WebhookOptions,
): Effect.fn.Return<DeliveryLog["Service"], Broken, Engine | Storage | Scope.Scope> {
  const parts = yield* makeParts(options)
  subscribe(parts)
  const cursor = yield* loadStore(parts)
  yield* startWork(parts, cursor)
  yield* Effect.addFinalizer(() => shutDown(parts, options))
  const { isErased, registry, store, writer } = parts
  const { onBroken } = options
  return deliveryLogOf({ writer, registry, store, feed: parts.engine.feed, isErased, onBroken })
})

/** Makes each part after the parts that it uses. */
const makeParts = Effect.fnUntraced(function* (
  options: WebhookOptions,
): Effect.fn.Return<Parts, never, Engine | Storage | Scope.Scope> {
  const engine = yield* Engine
  const storage = yield* Storage
  const { feed } = engine
  const clock = yield* Clock.Clock
  const { now } = new SteadyTime(clock, engine.now)
  const schedule = options.schedule ?? defaultSchedule
  const logMax = options.logMax ?? limits.webhookLogMax
  const retentionMs = options.retentionMs ?? limits.webhookRetentionMs
  // A failure means that the storage is broken, and the process ends.
  const isErased = ({ record }: FeedEntry) =>
    Effect.orElseSucceed(engine.isErased(record), () => false)
  const background = yield* makeBackground(options.onBroken)
  const store = new DeliveryStore(storage)
  const writer = new DeliveryWriter({ ...options, storage, now })
  const erasures = new Erasures()
  const { makeSender, memory, slots } = options.shared ?? (yield* makeSharedDelivery(options))
  const metrics = new WebhookMetrics(options.metrics ?? new Metrics())
  const dispatcher = new Dispatcher({
    feed,
    store,
    erasures,
    now,
    recordNow: engine.now,
    longestPauseMs: longestPause(schedule),
    retentionMs,
    isErased,
    background,
    hasRoom: () => writer.hasRoom,
  })
  const { wake } = dispatcher
  const common = { engine, writer, store, background, now, wake, isErased }
  const commands = new EndpointCommands(common)
  const registry = new Registry(engine, {
    writer,
    slots,
    metrics,
    memory,
    erasures,
    makeSender,
    schedule,
    random: options.random ?? Math.random,
    readyMax: options.readyMax,
    now,
    // Receivers compare the time of a signature with their own clocks.
    wallNow: () => clock.currentTimeMillisUnsafe(),
    wake,
    disable: commands.disable,
  })
  const eraser = new Eraser({ registry, writer, store, erasures, now, metrics })
  const jobs = new Jobs({ ...common, registry, erasures, eraser })
  const outbox = new Outbox({
    ...common,
    feed,
    registry,
    metrics,
    jobs,
    commands,
    pendingMax: options.pendingMax ?? limits.webhookPendingMax,
    pendingTotalMax: limits.webhookPendingTotalMax,
  })
  const retention = new Retention({ writer, store, now: engine.now, logMax, retentionMs })
  const oldest = new OldestPending({ registry, store, feed, outbox, now: engine.now })
  return { ...common, metrics, dispatcher, registry, eraser, jobs, outbox, retention, oldest }
})

const subscribe = (parts: Parts): void => {
  const { background, dispatcher, eraser, metrics, oldest, outbox, registry, retention, writer } =
    parts
  metrics.observe({
    pending: () => writer.pending,
    inFlight: () => registry.inFlight,
    lagRecords: () => outbox.lagRecords,
    erasuresWaiting: () => eraser.waiting,
    oldestPendingMs: () => oldest.ageMs,
    endpoints: registry,
  })
  registry.onDeleted(({ number }) => purge(parts, number))
  writer.onWritten((deliveries) => {
    const concerned = new Set<Endpoint>()
    for (const delivery of deliveries) {
      const endpoint = registry.at(delivery.endpoint)
      if (endpoint === undefined) continue
      if (endpoint.queue.written(delivery)) dispatcher.wake(endpoint)
      concerned.add(endpoint)
    }
    for (const endpoint of concerned) {
      if (retention.isOver(endpoint)) {
        background(`trim ${endpoint.number}`, retention.trim(endpoint))
      }
    }
  })
  writer.onRoom(() => {
    for (const endpoint of registry) dispatcher.wake(endpoint)
  })
}

/** Adds the job that removes a deleted endpoint from the store. */
const purge = ({ jobs }: Parts, number: number): void =>
  jobs.add({ kind: "purge", record: number, endpoint: number })

/**
 * Reads the state that the last process left in the store, and starts the writer. Returns the
 * outbox's cursor.
 */
const loadStore = Effect.fnUntraced(function* (
  parts: Parts,
): Effect.fn.Return<number, Broken, Scope.Scope> {
  const { outbox, registry, store, writer } = parts
  const { feed } = parts.engine
  yield* feed.onProjectRecord(({ facts, subject }) => {
    if (subject.actor !== "project") return
    if (!facts.some(({ kind }) => kind.startsWith("webhook."))) return
    registry.sync(subject.environment)
    outbox.wake()
  })
  yield* registry.load(store)
  const cursor = (yield* store.cursor) ?? 0
  const reached = (yield* store.reached) ?? 0
  yield* outbox.begin(cursor, reached)
  let pending = 0
  for (const { stats } of registry) pending += stats.stored.pending
  writer.begin(cursor, reached, pending)
  yield* writer.run
  yield* feed.hold(outbox.needed)
  return cursor
})

/** Continues unfinished jobs, then starts the outbox and the endpoints with due deliveries. */
const startWork = Effect.fnUntraced(function* (
  parts: Parts,
  cursor: number,
): Effect.fn.Return<void, Broken> {
  const { background, dispatcher, jobs, oldest, outbox, registry, retention, store } = parts
  for (const number of yield* store.endpoints) {
    // The endpoint was deleted just before the last process ended, or while no dispatcher ran.
    if (registry.at(number) === undefined) purge(parts, number)
  }
  for (const job of yield* store.jobs) {
    // The outbox adds the other jobs when it expands their records, after the deliveries of earlier
    // records.
    if (job.kind === "purge" || job.record <= cursor) jobs.run(job)
  }
  background("outbox", outbox.run)
  background("retire", dispatcher.retire)
  background("oldest", oldest.watch)
  background("retention", retention.sweepAll(registry))
  for (const endpoint of registry) {
    endpoint.queue.behind = endpoint.stats.stored.pending > 0
    dispatcher.wake(endpoint)
  }
})

const shutDown = Effect.fnUntraced(function* (
  { dispatcher, registry, writer }: Parts,
  { shutdownGraceMs = limits.webhookShutdownGraceMs }: WebhookOptions,
) {
  // If outcomes cannot be written any more, nothing waits for them.
  const landed = Effect.timeoutOption(dispatcher.landed(registry), shutdownGraceMs)
  yield* Effect.raceFirst(landed, writer.ended)
  for (const endpoint of registry) endpoint.release()
  const flushed = Effect.timeoutOption(writer.flushed, limits.commitDeadlineMs)
  yield* Effect.raceFirst(flushed, writer.ended)
})
