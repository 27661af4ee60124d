/**
 * The delivery of webhooks in this process: outbox, endpoints, bookkeeping, jobs and retention, put together.
 *
 * At the end no new attempts begin; those under way may finish for `shutdownGraceMs`, and what has not finished
 * is given up and stays pending. The last thing is to write what became of all.
 */
import { Cause, Clock, Effect, Fiber, type Scope } from "effect"
import type { FeedEntry } from "../engine/commit/Feed.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { type Broken, Storage } from "../storage/Storage.ts"
import { yieldToEventLoop } from "../storage/yieldToEventLoop.ts"
import { type DeliveryLog, deliveryLogOf, endsWhenBroken } from "./DeliveryLog.ts"
import { Dispatcher } from "./Dispatcher.ts"
import type { Endpoint, Shared } from "./endpoint/Endpoint.ts"
import { disable, redeliver } from "./endpoint/EndpointCommands.ts"
import { Erasures } from "./endpoint/Erasures.ts"
import { Registry } from "./endpoint/Registry.ts"
import { defaultSchedule, longestPause, type RetrySchedule } from "./endpoint/RetrySchedule.ts"
import { Slots } from "./endpoint/Slots.ts"
import { WebhookMetrics } from "./endpoint/WebhookMetrics.ts"
import { Eraser } from "./outbox/Eraser.ts"
import { Jobs } from "./outbox/Jobs.ts"
import { Outbox } from "./outbox/Outbox.ts"
import { Retention } from "./outbox/Retention.ts"
import { AllowedRanges } from "./send/AddressGuard.ts"
import { makeResolve, type Resolve } from "./send/Resolver.ts"
import type { MessageSender } from "./send/Sender.ts"
import { SenderThread } from "./send/SenderThread.ts"
import { SteadyTime } from "./send/SteadyTime.ts"
import { DeliveryStore } from "./store/DeliveryStore.ts"
import { DeliveryWriter } from "./store/DeliveryWriter.ts"
import { repairedEntry, repairTables } from "./store/TableRepair.ts"

export interface WebhookOptions {
  /** Ranges that are allowed though they are not public. */
  readonly allowed?: AllowedRanges
  readonly schedule?: RetrySchedule
  readonly pendingMax?: number
  readonly logMax?: number
  readonly retentionMs?: number
  readonly timeoutMs?: number
  readonly attemptsAtOnceMax?: number
  readonly readyMax?: number
  readonly flushIntervalMs?: number
  readonly flushDeliveries?: number
  readonly shutdownGraceMs?: number
  readonly resolve?: Resolve
  /** Certificates that are trusted instead of the usual ones, in PEM. */
  readonly trusted?: string
  readonly random?: () => number
  readonly metrics?: Metrics
  /** In place of HTTP. */
  readonly makeSender?: (url: string) => MessageSender
  readonly onBroken: (cause: Broken) => void
}

/** Delivers webhooks until the scope closes. */
export const make = Effect.fnUntraced(function* (
  options: WebhookOptions,
): Effect.fn.Return<DeliveryLog["Service"], Broken, Engine | Storage | Scope.Scope> {
  const engine = yield* Engine
  const { feed } = engine
  const storage = yield* Storage
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const { onBroken } = options
  const store = new DeliveryStore(storage)
  const { now } = new SteadyTime(clock, engine.now)
  /** For signatures, which receivers hold against their own clock. */
  const wallNow = () => clock.currentTimeMillisUnsafe()
  const schedule = options.schedule ?? defaultSchedule
  const retentionMs = options.retentionMs ?? limits.webhookRetentionMs
  const host = {
    allowed: options.allowed ?? new AllowedRanges([]),
    resolve: options.resolve ?? makeResolve(),
  }
  const fork = (effect: Effect.Effect<void>) => {
    const fiber = runFork(effect)
    if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, scope)
  }
  const watched = (effect: Effect.Effect<void, Broken>): Effect.Effect<void> =>
    Effect.catch(effect, (broken) => Effect.sync(() => onBroken(broken)))
  const wake = (endpoint: Endpoint) => dispatcher.wake(endpoint)

  const trimming = new Set<Endpoint>()
  const trim = (endpoint: Endpoint) => {
    if (trimming.has(endpoint) || !retention.isOver(endpoint)) return
    trimming.add(endpoint)
    const trimmed = Effect.sync(() => trimming.delete(endpoint))
    fork(watched(Effect.ensuring(retention.trim(endpoint), trimmed)))
  }
  const writer = new DeliveryWriter({
    storage,
    accountOf: (number) => registry.at(number),
    onWritten: (deliveries) => {
      const concerned = new Set<Endpoint>()
      for (const delivery of deliveries) {
        const endpoint = registry.at(delivery.endpoint)
        if (endpoint === undefined) continue
        if (endpoint.queue.written(delivery)) wake(endpoint)
        concerned.add(endpoint)
      }
      for (const endpoint of concerned) trim(endpoint)
    },
    onBroken,
    now,
    ...(options.flushIntervalMs !== undefined && { flushIntervalMs: options.flushIntervalMs }),
    ...(options.flushDeliveries !== undefined && { flushDeliveries: options.flushDeliveries }),
  })
  const erasures = new Erasures()
  const slots = new Slots(options.attemptsAtOnceMax ?? limits.webhookAttemptsAtOnceMax)
  const metrics = new WebhookMetrics(options.metrics ?? new Metrics(), {
    pending: () => writer.pending,
    inFlight: () => slots.inUse,
    lagRecords: () => outbox.lagRecords,
    erasuresWaiting: () => eraser.waiting,
  })
  const shared: Shared = {
    writer,
    slots,
    metrics,
    memory: { deliveries: 0, bytes: 0 },
    erasures,
    makeSender: options.makeSender ?? (yield* overHttp(options, host, fork)),
    schedule,
    random: options.random ?? Math.random,
    readyMax: options.readyMax,
    now,
    wallNow,
    wake,
    disable: (endpoint, reason) => {
      endpoint.givenUp = true
      registry.refresh(endpoint.environment)
      fork(disable(engine, endpoint, reason))
    },
  }
  const registry: Registry = new Registry(engine, shared, (endpoint) => {
    const { number } = endpoint
    writer.forget(endpoint)
    jobs.add({ kind: "purge", record: number, endpoint: number })
  })
  // Where it fails the storage is broken, and the process ends.
  const isErased = ({ record }: FeedEntry) =>
    Effect.orElseSucceed(engine.isErased(record), () => false)
  const eraser: Eraser = new Eraser({ registry, writer, store, erasures, now, metrics })
  const parts = {
    engine,
    eraser,
    registry,
    writer,
    store,
    erasures,
    now,
    wake,
    isErased,
    fork,
    onBroken,
  }
  const dispatcher: Dispatcher = new Dispatcher({
    feed,
    store,
    erasures,
    now,
    recordNow: engine.now,
    longestPauseMs: longestPause(schedule),
    retentionMs,
    isErased,
    fork,
    onBroken,
  })
  const logMax = options.logMax ?? limits.webhookLogMax
  const retention = new Retention({ writer, store, now: engine.now, logMax, retentionMs })
  const jobs: Jobs = new Jobs(parts)
  const outbox: Outbox = new Outbox({
    feed,
    registry,
    writer,
    metrics,
    now,
    wake,
    addJob: (job) => jobs.add(job),
    redeliver: (endpoint, { at, index, sequence }) =>
      watched(redeliver(parts, endpoint, { at, index, sequence })),
    isErased,
    stored: ({ number }, first, last) =>
      endsWhenBroken(store.between(number, first, last), onBroken),
    pendingMax: options.pendingMax ?? limits.webhookPendingMax,
    pendingTotalMax: limits.webhookPendingTotalMax,
  })

  let unmarked = false
  const markTables = () => {
    // Without webhooks nothing is written.
    if (unmarked && registry.size > 0) writer.write([repairedEntry])
    unmarked &&= registry.size === 0
  }
  yield* feed.onProjectRecord(({ facts, subject }) => {
    if (subject.actor !== "project" || !facts.some(({ kind }) => kind.startsWith("webhook.")))
      return
    registry.sync(subject.environment)
    markTables()
    outbox.wake()
  })
  unmarked = yield* repaired(storage, store)
  yield* registry.load(store)
  const cursor = (yield* store.cursor) ?? 0
  const reached = (yield* store.reached) ?? 0
  yield* outbox.begin(cursor, reached)
  let pending = 0
  for (const { stats } of registry) pending += stats.stored.pending
  writer.begin(cursor, reached, pending)
  yield* writer.run
  markTables()
  yield* feed.hold(neededFrom(registry, store, outbox, writer))
  for (const number of yield* store.endpoints) {
    // Deleted just before the end, or while nobody delivered.
    if (registry.at(number) === undefined) {
      jobs.add({ kind: "purge", record: number, endpoint: number })
    }
  }
  for (const job of yield* store.jobs) {
    // The outbox asks again for what records ask for that it has still to expand: not before what they tell of is made.
    if (job.kind === "purge" || job.record <= cursor) jobs.run(job)
  }
  yield* Effect.forkScoped(supervised("The outbox", outbox.run))
  yield* Effect.forkScoped(dispatcher.retire)
  yield* Effect.forkScoped(
    supervised("The retention of deliveries", sweepAll(registry, retention, onBroken)),
  )
  for (const endpoint of registry) {
    endpoint.queue.behind = endpoint.stats.stored.pending > 0
    wake(endpoint)
  }
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const grace = options.shutdownGraceMs ?? limits.webhookShutdownGraceMs
      yield* Effect.timeoutOption(dispatcher.landed(registry), grace)
      for (const endpoint of registry) endpoint.release()
      yield* Effect.timeoutOption(writer.flushed, limits.commitDeadlineMs)
    }),
  )
  return deliveryLogOf({ writer, host, registry, store, feed, isErased, onBroken })
})

/** Repairs the tables as soon as there is space for it. */
const repaired = (
  storage: Storage["Service"],
  store: DeliveryStore,
): Effect.Effect<boolean, Broken> =>
  Effect.flatMap(store.endpoints, (endpoints) => repairTables(storage, store, endpoints)).pipe(
    Effect.catchTag("NoSpace", () =>
      Effect.andThen(
        Effect.sleep(limits.noSpaceRetryMs),
        Effect.suspend(() => repaired(storage, store)),
      ),
    ),
  )

/** Begins again after a failure, which is reported. */
const supervised = (name: string, work: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchCause(work, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.failCause(cause)
      : Effect.logError(`${name} failed and begins again`, cause).pipe(
          Effect.andThen(Effect.sleep(limits.webhookRestartMs)),
          Effect.andThen(Effect.suspend(() => supervised(name, work))),
        ),
  )

interface Host {
  readonly allowed: AllowedRanges
  readonly resolve: Resolve
}

/** Makes senders in a thread of their own, which ends with the scope. */
const overHttp = (
  { timeoutMs = limits.webhookTimeoutMs, trusted }: WebhookOptions,
  { allowed, resolve }: Host,
  fork: (effect: Effect.Effect<void>) => void,
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(
        () =>
          new SenderThread({
            settings: { allowed: allowed.cidrs, timeoutMs, trusted },
            resolve,
            onFailure: (cause) =>
              fork(Effect.logError("The thread that sends webhooks failed", cause)),
          }),
      ),
      (thread) => Effect.promise(() => thread.close()),
    ),
    (thread) => (url: string) => thread.sender(url),
  )

/** The oldest record that is not expanded, or that a pending delivery tells of. */
const neededFrom = (
  registry: Registry,
  store: DeliveryStore,
  outbox: Outbox,
  writer: DeliveryWriter,
): Effect.Effect<number, Broken> =>
  Effect.gen(function* () {
    if (registry.size === 0) return Number.POSITIVE_INFINITY
    let needed = Math.min(outbox.cursor + 1, writer.oldestDeferred ?? Number.POSITIVE_INFINITY)
    let looked = 0
    for (const { number, stats } of [...registry]) {
      if (stats.stored.pending === 0) continue
      needed = Math.min(needed, (yield* store.oldestPending(number)) ?? needed)
      if (++looked % limits.webhookJobBatch === 0) yield* yieldToEventLoop
    }
    return needed
  })

const sweepAll = Effect.fnUntraced(function* (
  registry: Registry,
  retention: Retention,
  onBroken: (cause: Broken) => void,
) {
  while (true) {
    for (const endpoint of [...registry]) {
      yield* Effect.catch(retention.sweep(endpoint), (broken) =>
        Effect.sync(() => onBroken(broken)),
      )
    }
    yield* Effect.sleep(limits.webhookSweepIntervalMs)
  }
})
