/**
 * Assembles the delivery of webhooks: sender thread, store, endpoints, outbox.
 *
 * Shutdown: no new attempts begin, those under way get `shutdownGraceMs`, the rest is given up and stays pending. A last
 * flush writes all outcomes.
 */
import { Clock, Effect, type Scope } from "effect"
import type { FeedEntry } from "../engine/commit/Feed.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { type Broken, Storage } from "../storage/Storage.ts"
import { type DeliveryLog, deliveryLogOf } from "./DeliveryLog.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { makeBackground } from "./endpoint/Background.ts"
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
  /** Of all engines of the process, in place of those of `SharedDeliveryOptions`; absent: this dispatcher is alone. */
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

/** Delivers webhooks until the scope closes. */
export const make = Effect.fnUntraced(function* (
  options: WebhookOptions,
): Effect.fn.Return<DeliveryLog["Service"], Broken, Engine | Storage | Scope.Scope> {
  const engine = yield* Engine
  const storage = yield* Storage
  const { feed } = engine
  const { onBroken } = options
  const clock = yield* Clock.Clock
  const { now } = new SteadyTime(clock, engine.now)
  const schedule = options.schedule ?? defaultSchedule
  const retentionMs = options.retentionMs ?? limits.webhookRetentionMs
  // Where it fails the storage is broken, and the process ends.
  const isErased = ({ record }: FeedEntry) =>
    Effect.orElseSucceed(engine.isErased(record), () => false)

  // The parts, each made after those that it uses.
  const background = yield* makeBackground(onBroken)
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
  const parts = { engine, writer, store, background, now, wake, isErased }
  const commands = new EndpointCommands(parts)
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
    // Receivers compare signatures' times with their own clock.
    wallNow: () => clock.currentTimeMillisUnsafe(),
    wake,
    disable: commands.disable,
  })
  const eraser = new Eraser({ registry, writer, store, erasures, now, metrics })
  const jobs = new Jobs({ ...parts, registry, erasures, eraser })
  const outbox = new Outbox({
    ...parts,
    feed,
    registry,
    metrics,
    jobs,
    commands,
    pendingMax: options.pendingMax ?? limits.webhookPendingMax,
    pendingTotalMax: limits.webhookPendingTotalMax,
  })
  const logMax = options.logMax ?? limits.webhookLogMax
  const retention = new Retention({ writer, store, now: engine.now, logMax, retentionMs })

  const oldest = new OldestPending({
    registry,
    store,
    feed,
    outbox,
    now: engine.now,
  })

  // Subscriptions.
  metrics.observe({
    pending: () => writer.pending,
    inFlight: () => registry.inFlight,
    lagRecords: () => outbox.lagRecords,
    erasuresWaiting: () => eraser.waiting,
    oldestPendingMs: () => oldest.ageMs,
    endpoints: registry,
  })
  const purge = (number: number) => jobs.add({ kind: "purge", record: number, endpoint: number })
  registry.onDeleted(({ number }) => purge(number))
  writer.onWritten((deliveries) => {
    const concerned = new Set<Endpoint>()
    for (const delivery of deliveries) {
      const endpoint = registry.at(delivery.endpoint)
      if (endpoint === undefined) continue
      if (endpoint.queue.written(delivery)) wake(endpoint)
      concerned.add(endpoint)
    }
    for (const endpoint of concerned) {
      if (retention.isOver(endpoint))
        background(`trim ${endpoint.number}`, retention.trim(endpoint))
    }
  })

  writer.onRoom(() => {
    for (const endpoint of registry) wake(endpoint)
  })

  // The store as the last process left it.
  yield* feed.onProjectRecord(({ facts, subject }) => {
    if (subject.actor !== "project" || !facts.some(({ kind }) => kind.startsWith("webhook.")))
      return
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

  // Unfinished jobs, then new records and due deliveries.
  for (const number of yield* store.endpoints) {
    // Deleted just before the end, or while no dispatcher ran.
    if (registry.at(number) === undefined) purge(number)
  }
  for (const job of yield* store.jobs) {
    // The outbox adds the jobs of records that it has still to expand: those follow the deliveries before them.
    if (job.kind === "purge" || job.record <= cursor) jobs.run(job)
  }
  background("outbox", outbox.run)
  background("retire", dispatcher.retire)
  background("oldest", oldest.watch)
  background("retention", retention.sweepAll(registry))
  for (const endpoint of registry) {
    endpoint.queue.behind = endpoint.stats.stored.pending > 0
    wake(endpoint)
  }
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const grace = options.shutdownGraceMs ?? limits.webhookShutdownGraceMs
      // Outcomes that cannot be written are not waited for.
      const landed = Effect.timeoutOption(dispatcher.landed(registry), grace)
      yield* Effect.raceFirst(landed, writer.ended)
      for (const endpoint of registry) endpoint.release()
      const flushed = Effect.timeoutOption(writer.flushed, limits.commitDeadlineMs)
      yield* Effect.raceFirst(flushed, writer.ended)
    }),
  )
  return deliveryLogOf({ writer, registry, store, feed, isErased, onBroken })
})
