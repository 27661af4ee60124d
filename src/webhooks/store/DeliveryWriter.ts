/**
 * Writes deliveries in batches: those that are new or changed, the numbers of their endpoints, and
 * the outbox's cursor, in one transaction, every `webhookFlushIntervalMs` or when many wait. An
 * idle dispatcher writes nothing.
 *
 * - A newly expanded delivery that is in memory is deferred (`DeliveryWriter.ts`): if it succeeds
 *   soon, it is written once. The cursor stays before the oldest of those, and `reached` says how
 *   far records are expanded.
 * - Deliveries of records before the cursor are in the same transaction or an earlier one. A crash
 *   loses deliveries only together with the cursor; the outbox makes them again with the same ids,
 *   except those between the cursor and `reached` that the store has. Messages sent in between are
 *   sent again; none is lost or counted twice.
 * - One write at a time. A full disk is retried until the write succeeds. Meanwhile the outbox
 *   waits and no attempt begins, once `webhookUnwrittenMax` deliveries are unwritten: their
 *   outcomes would be lost with the process.
 * - Numbers are counted from what is written (`Delivery.stored`), so they are right after a crash.
 */
import { Cause, Effect, Latch, type Scope, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import {
  type Broken,
  brokenBy,
  type Entry,
  type Storage,
  type StorageError,
} from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import {
  attemptKey,
  type Delivery,
  deliveryKey,
  dueKey,
  encodeDelivery,
  type Job,
  jobKey,
} from "./Delivery.ts"
import {
  copyOf,
  count,
  cursorKey,
  DeliveryStore,
  type EndpointStats,
  reachedKey,
  statsKey,
} from "./DeliveryStore.ts"
import { blocksOf, type Row, rowOf } from "./SucceededLog.ts"

/** Runs `write`, again and again while the disk is full. */
export const awaitSpace = <A>(write: Effect.Effect<A, StorageError>): Effect.Effect<A, Broken> =>
  Effect.catchTag(write, "Unavailable", () =>
    Effect.andThen(
      Effect.sleep(limits.unavailableRetryMs),
      Effect.suspend(() => awaitSpace(write)),
    ),
  )

/*
 * New deliveries that are in memory and not written yet: one that succeeds soon is written once. In
 * journal order, since the cursor stays before the oldest.
 */

class DeferredDeliveries {
  readonly #deliveries = new Set<Delivery>()
  #newest = 0

  get size(): number {
    return this.#deliveries.size
  }

  /** The record of the oldest. */
  get oldest(): number | undefined {
    const [oldest] = this.#deliveries
    return oldest?.sequence
  }

  /**
   * Takes those out of `dirty` that need not be written yet, and adds those that were expanded by
   * `before`.
   */
  setAside(dirty: Set<Delivery>, before: number): void {
    for (const delivery of dirty) {
      if (!mayWait(delivery) || delivery.sequence < this.#newest) continue
      dirty.delete(delivery)
      this.#deliveries.add(delivery)
      this.#newest = delivery.sequence
    }
    for (const delivery of this.#deliveries) {
      if (delivery.expandedAt! > before) break
      this.#deliveries.delete(delivery)
      dirty.add(delivery)
    }
    if (this.#deliveries.size === 0) this.#newest = 0
  }

  /** Adds all to `dirty`. */
  takeAll(dirty: Set<Delivery>): void {
    for (const delivery of this.#deliveries) dirty.add(delivery)
    this.#deliveries.clear()
    this.#newest = 0
  }

  delete(delivery: Delivery): void {
    this.#deliveries.delete(delivery)
  }
}

const mayWait = ({ entry, expandedAt, stored }: Delivery): boolean =>
  expandedAt !== undefined && entry !== undefined && stored === undefined

/* The entries that write deliveries to the store. */

export const jsonEntry = (table: Entry["table"], key: Uint8Array, value: unknown): Entry => ({
  table,
  key,
  value: encodeValue(JSON.stringify(value)),
})

const byEndpoint = (
  deliveries: Iterable<Delivery>,
): ReadonlyMap<number, ReadonlyArray<Delivery>> => {
  const groups = new Map<number, Array<Delivery>>()
  for (const delivery of deliveries) {
    const group = groups.get(delivery.endpoint)
    if (group === undefined) groups.set(delivery.endpoint, [delivery])
    else group.push(delivery)
  }
  return groups
}

const nothing = encodeValue("")

/**
 * Adds the entries that write a delivery and remove its old keys. The caller writes and updates the
 * blocks of succeeded ones (`SucceededLog.ts`).
 */
export const pushEntries = (entries: Array<Entry>, delivery: Delivery): void => {
  const { dueAt, endpoint, index, sequence, status, stored } = delivery
  if (stored !== undefined && stored.status !== status && stored.status !== "succeeded") {
    const key = deliveryKey(endpoint, stored.status, sequence, index)
    entries.push({ table: "deliveries", key, value: null })
  }
  if (stored?.status === "pending" && (status !== "pending" || stored.dueAt !== dueAt)) {
    const key = dueKey(endpoint, stored.dueAt, sequence, index)
    entries.push({ table: "due", key, value: null })
  }
  if (status !== "succeeded") {
    const key = deliveryKey(endpoint, status, sequence, index)
    entries.push({ table: "deliveries", key, value: encodeValue(encodeDelivery(delivery)) })
  }
  if (status === "pending") {
    entries.push({ table: "due", key: dueKey(endpoint, dueAt, sequence, index), value: nothing })
  }
  for (const [number, result] of delivery.earlier) {
    entries.push(jsonEntry("attempts", attemptKey(delivery, number), result))
  }
  if (delivery.earlier.length > 0) delivery.earlier = []
  delivery.stored = { status, dueAt }
}

/** Whose numbers are kept. */
export interface Account {
  readonly number: number
  readonly stats: EndpointStats
}

export interface DeliveryWriterOptions {
  readonly storage: Storage["Service"]
  readonly onBroken: (cause: Broken) => void
  /** Milliseconds that only go forward. */
  readonly now: () => number
  readonly flushIntervalMs?: number
  /** How many deliveries do not wait for that. */
  readonly flushDeliveries?: number
}

/** What one flush writes in one transaction. */
interface Write {
  readonly dirty: ReadonlySet<Delivery>
  readonly groups: ReadonlyMap<number, ReadonlyArray<Delivery>>
  /** The numbers of each endpoint as of this transaction. */
  readonly stats: ReadonlyMap<Account, EndpointStats>
  readonly jobs: ReadonlyMap<number, Job | null>
  readonly entries: Array<Entry>
  /** Opened when the flush has ended. */
  readonly flushed: Latch.Latch
  readonly cursor: number
  readonly reached: number
  /**
   * How many deliveries and numbers are encoded: the event loop runs after every
   * `webhookFlushTurnDeliveries`.
   */
  encoded: number
}

export class DeliveryWriter {
  readonly #options: DeliveryWriterOptions
  readonly #store: DeliveryStore
  readonly #flushDeliveries: number
  #dirty = new Set<Delivery>()
  /** Those that were expanded not long ago and wait in memory, in the order of the journal. */
  readonly #deferred = new DeferredDeliveries()
  /** The next flush writes those, too. */
  #all = false
  /** The endpoints that exist, by number: deliveries of others are not written. */
  readonly #open = new Map<number, Account>()
  /** Those whose numbers are to be written. */
  #accounts = new Set<Account>()
  #jobs = new Map<number, Job | null>()
  #others: Array<Entry> = []
  /** Opened by the end of the next flush that begins. */
  #nextFlush = Latch.makeUnsafe()
  readonly #listeners: Array<(deliveries: ReadonlyArray<Delivery>) => void> = []
  #pending = 0
  #cursor = 0
  #cursorWritten = 0
  #reached = 0
  #reachedWritten = 0
  /** Held by a write, and by reads that must not see half of one. */
  readonly #writing = Semaphore.makeUnsafe(1)
  #cursorWrittenAt = 0
  /** Open while anything is to be written. */
  readonly #changed = Latch.makeUnsafe()
  /** Open while that must not wait for the interval. */
  readonly #pressing = Latch.makeUnsafe()
  readonly #hasRoom = Latch.makeUnsafe(true)
  readonly #roomListeners: Array<() => void> = []
  readonly #ended = Latch.makeUnsafe()
  #busy = false

  constructor(options: DeliveryWriterOptions) {
    this.#options = options
    this.#flushDeliveries = options.flushDeliveries ?? limits.webhookFlushDeliveries
    this.#store = new DeliveryStore(options.storage)
  }

  /**
   * Begins behind the record `cursor`, with `pending` deliveries pending in all. `reached`: the
   * last record of which the store may have deliveries; until the cursor is there again, it stays
   * as it is in the store.
   */
  begin(cursor: number, reached: number, pending: number): void {
    this.#cursor = cursor
    this.#cursorWritten = cursor
    this.#reached = reached
    this.#reachedWritten = reached
    this.#pending = pending
  }

  /**
   * Runs `work` between two writes: all that it reads from the store, and what it asks the queues
   * without a pause after reading, is of one moment. Without it a delivery can be read as it was
   * before a write, and be gone from its queue after it. `work` must not wait for a write.
   */
  betweenWrites<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Semaphore.withPermit(this.#writing, work)
  }

  /** Whether the endpoint still exists. */
  isThere(account: Account): boolean {
    return this.#open.get(account.number) === account
  }

  /** Writes entries in a transaction of their own; within `betweenWrites`. */
  writeNow(entries: ReadonlyArray<Entry>): Effect.Effect<void, Broken> {
    return awaitSpace(this.#options.storage.writeEntries(entries))
  }

  /** How many deliveries of all endpoints are pending, as far as they are written. */
  get pending(): number {
    return this.#pending
  }

  /**
   * Calls `listener` after each flush with the deliveries that are in the store as they are now.
   */
  onWritten(listener: (deliveries: ReadonlyArray<Delivery>) => void): void {
    this.#listeners.push(listener)
  }

  /** The endpoint exists. */
  open(account: Account): void {
    this.#open.set(account.number, account)
  }

  /** The endpoint is deleted, and its pending deliveries with it. */
  forget(account: Account): void {
    this.#open.delete(account.number)
    this.#pending -= account.stats.stored.pending
    this.#accounts.delete(account)
  }

  /** How many deliveries are to be written. */
  get unwritten(): number {
    return this.#dirty.size
  }

  /** The cursor, as it is on disk: records up to it will not be expanded again. */
  get cursorWritten(): number {
    return this.#cursorWritten
  }

  /** The oldest record that is expanded only in memory. */
  get oldestDeferred(): number | undefined {
    return this.#deferred.oldest
  }

  /** A delivery was made or has changed. */
  touch(delivery: Delivery): void {
    this.#deferred.delete(delivery)
    this.#dirty.add(delivery)
    this.#change()
  }

  /** An endpoint's numbers changed, other than by its deliveries. */
  touchAccount(account: Account): void {
    this.#accounts.add(account)
    this.#change()
  }

  /** A job was added, made progress, or is `done`. */
  touchJob(job: Job, done = false): void {
    this.#jobs.set(job.record, done ? null : job)
    this.#change()
  }

  /**
   * Every record up to this one is expanded. It is written with the next flush; alone only now and
   * then, since expanding once more what made no deliveries does no harm, unless `atOnce`: it would
   * do something twice.
   */
  passed(sequence: number, atOnce: boolean): void {
    this.#cursor = sequence
    if (atOnce) this.#all = true
    const now = this.#options.now()
    if (atOnce || now - this.#cursorWrittenAt >= limits.webhookCursorIntervalMs) this.#change()
  }

  /** Writes entries with the next flush. */
  write(entries: ReadonlyArray<Entry>): void {
    this.#others.push(...entries)
    this.#change()
  }

  #change(): void {
    const { size } = this.#dirty
    if (size >= this.#flushDeliveries) this.#pressing.openUnsafe()
    if (size >= limits.webhookUnwrittenMax) this.#hasRoom.closeUnsafe()
    this.#changed.openUnsafe()
  }

  /** Ends when there is room for more unwritten deliveries. */
  readonly room: Effect.Effect<void> = Effect.suspend(() => this.#hasRoom.await)

  get hasRoom(): boolean {
    return this.#hasRoom.isOpen()
  }

  /** Calls `listener` when there is room again. */
  onRoom(listener: () => void): void {
    this.#roomListeners.push(listener)
  }

  /**
   * Ends when nothing will be written any more: the storage is broken, or another server has it.
   */
  readonly ended: Effect.Effect<void> = Effect.suspend(() => this.#ended.await)

  /** Ends when everything is on disk, without waiting for the interval. */
  readonly flushed: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isSettled && this.#cursor === this.#cursorWritten) return Effect.void
    this.#all = true
    return this.#flushSoon()
  })

  /** The same, but for deferred deliveries. */
  readonly settledFlushed: Effect.Effect<void> = Effect.suspend(() =>
    this.#isSettled ? Effect.void : this.#flushSoon(),
  )

  get #isSettled(): boolean {
    return !this.#changed.isOpen() && !this.#busy
  }

  #flushSoon(): Effect.Effect<void> {
    this.#pressing.openUnsafe()
    this.#changed.openUnsafe()
    return this.#nextFlush.await
  }

  /**
   * Flushes until the scope closes. A crash loses unwritten deliveries together with the cursor.
   */
  readonly run: Effect.Effect<void, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const interval = this.#options.flushIntervalMs ?? limits.webhookFlushIntervalMs
    while (true) {
      if (this.#deferred.size === 0) yield* this.#changed.await
      else yield* Effect.timeoutOption(this.#changed.await, limits.webhookDeferMs)
      if (!this.#pressing.isOpen()) yield* Effect.timeoutOption(this.#pressing.await, interval)
      this.#busy = true
      // The outbox may be in the middle of a record: its other deliveries and the cursor belong to
      // the same write.
      yield* Effect.yieldNow
      yield* this.betweenWrites(this.#flush)
      this.#busy = false
    }
  }).pipe(
    Effect.catchCause((cause) => Effect.sync(() => this.#broken(cause))),
    Effect.forkScoped,
    Effect.asVoid,
  )

  readonly #flush = Effect.gen({ self: this }, function* () {
    const write = this.#startWrite()
    yield* this.#addDeliveries(write)
    yield* this.#addRest(write)
    yield* this.writeNow(write.entries)
    this.#finishWrite(write)
  })

  /** Takes everything that is to be written; later changes belong to the next write. */
  #startWrite(): Write {
    const dirty = this.#dirty
    const passed = this.#cursor
    if (this.#all) this.#deferred.takeAll(dirty)
    else this.#deferred.setAside(dirty, this.#options.now() - limits.webhookDeferMs)
    this.#all = false
    const groups = byEndpoint(dirty)
    const accounts = this.#accounts
    for (const endpoint of groups.keys()) {
      const account = this.#open.get(endpoint)
      if (account !== undefined) accounts.add(account)
    }
    const stats = new Map<Account, EndpointStats>()
    for (const account of accounts) {
      // A deleted endpoint must not return.
      if (this.isThere(account)) stats.set(account, copyOf(account.stats))
    }
    const write: Write = {
      dirty,
      groups,
      stats,
      jobs: this.#jobs,
      entries: this.#others,
      flushed: this.#nextFlush,
      cursor: Math.min(passed, (this.oldestDeferred ?? Number.POSITIVE_INFINITY) - 1),
      reached: Math.max(this.#reached, passed),
      encoded: 0,
    }
    this.#changed.closeUnsafe()
    this.#pressing.closeUnsafe()
    this.#dirty = new Set()
    this.#accounts = new Set()
    this.#jobs = new Map()
    this.#others = []
    this.#nextFlush = Latch.makeUnsafe()
    return write
  }

  /**
   * Adds the entries of all deliveries, and counts the deliveries in both the current and the
   * written numbers.
   */
  readonly #addDeliveries = Effect.fnUntraced({ self: this }, function* (write: Write) {
    const { entries, groups } = write
    for (const [endpoint, deliveries] of groups) {
      const account = this.#open.get(endpoint)
      const stats = account && write.stats.get(account)
      if (account === undefined || stats === undefined) continue
      const again = deliveries.filter(({ stored }) => stored?.status === "succeeded")
      // Before the entries that write these deliveries again.
      entries.push(...(yield* this.#store.withoutSucceeded(endpoint, again)))
      const rows: Array<Row> = []
      // The endpoint may be deleted at any pause.
      let counts = this.isThere(account)
      for (const delivery of deliveries) {
        const { status, stored } = delivery
        pushEntries(entries, delivery)
        // The entry has the present state, including changes since this write began.
        this.#dirty.delete(delivery)
        if (status === "succeeded") rows.push(rowOf(delivery))
        count(account.stats, stored?.status, status)
        count(stats, stored?.status, status)
        if (counts && status === "pending") this.#pending++
        if (counts && stored?.status === "pending") this.#pending--
        if (++write.encoded % limits.webhookFlushTurnDeliveries === 0) {
          yield* yieldToEventLoop
          counts = this.isThere(account)
        }
      }
      entries.push(...blocksOf(endpoint, rows))
    }
  })

  /** Adds the entries of numbers, jobs and the cursor. */
  readonly #addRest = Effect.fnUntraced({ self: this }, function* (write: Write) {
    const { cursor, entries, jobs, reached, stats } = write
    for (const [{ number }, numbers] of stats) {
      entries.push(jsonEntry("endpoints", statsKey(number), numbers))
      if (++write.encoded % limits.webhookFlushTurnDeliveries === 0) yield* yieldToEventLoop
    }
    for (const [record, job] of jobs) {
      const key = jobKey(record)
      entries.push(
        job === null ? { table: "outbox", key, value: null } : jsonEntry("outbox", key, job),
      )
    }
    if (cursor !== this.#cursorWritten) entries.push(jsonEntry("outbox", cursorKey, cursor))
    if (this.#isAhead(write)) entries.push(jsonEntry("outbox", reachedKey, reached))
  })

  /** Whether the write has to say that records after its cursor are expanded. */
  #isAhead({ cursor, reached }: Write): boolean {
    return cursor < reached && reached !== this.#reachedWritten
  }

  /** Everything of `write` is on disk. */
  #finishWrite(write: Write): void {
    if (this.#isAhead(write)) this.#reachedWritten = write.reached
    this.#cursorWritten = write.cursor
    this.#reached = write.reached
    this.#cursorWrittenAt = this.#options.now()
    // A delivery that has changed since is reported after the next flush.
    const written = [...write.dirty].filter((delivery) => !this.#dirty.has(delivery))
    for (const listener of this.#listeners) listener(written)
    write.flushed.openUnsafe()
    if (this.hasRoom || this.#dirty.size >= limits.webhookUnwrittenMax) return
    this.#hasRoom.openUnsafe()
    for (const listener of this.#roomListeners) listener()
  }

  #broken(cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) return
    this.#ended.openUnsafe()
    this.#options.onBroken(brokenBy("write deliveries", cause))
  }
}
