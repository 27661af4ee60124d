/**
 * Writes new and changed deliveries in batches. One transaction has the deliveries, the counts of
 * their endpoints and the outbox's cursor. A flush happens every `webhookFlushIntervalMs`, or
 * earlier when many deliveries wait. An idle dispatcher writes nothing.
 *
 * - A newly expanded delivery in memory is deferred: if it succeeds soon, it is written once. The
 *   cursor stays before the oldest deferred delivery, and `reached` is the last expanded record.
 * - Deliveries of records before the cursor are in the same transaction or an earlier one. A crash
 *   loses deliveries only together with the cursor. The outbox then makes them again with the same
 *   ids, except deliveries between the cursor and `reached` that the store has. Messages that were
 *   sent since the last flush are sent again; none is lost or counted twice.
 * - There is one write at a time. While the disk is full or PostgreSQL does not answer, the write
 *   is repeated. Once `webhookUnwrittenMax` deliveries are unwritten, the outbox waits and no
 *   attempt begins: the outcomes would be lost with the process.
 * - Counts follow the written state (`Delivery.stored`), so they are right after a crash.
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

/** Repeats `write` while the store is unavailable. */
export const awaitSpace = <A>(write: Effect.Effect<A, StorageError>): Effect.Effect<A, Broken> =>
  Effect.catchTag(write, "Unavailable", () =>
    Effect.andThen(
      Effect.sleep(limits.unavailableRetryMs),
      Effect.suspend(() => awaitSpace(write)),
    ),
  )

/*
 * New deliveries in memory whose first write is deferred: a delivery that succeeds soon is written
 * once. They are in journal order, since the cursor stays before the oldest of them.
 */

class DeferredDeliveries {
  readonly #deliveries = new Set<Delivery>()
  #newest = 0

  get size(): number {
    return this.#deliveries.size
  }

  /** The record of the oldest deferred delivery. */
  get oldest(): number | undefined {
    const [oldest] = this.#deliveries
    return oldest?.sequence
  }

  /**
   * Moves deliveries out of `dirty` that need not be written yet, and moves deliveries into `dirty`
   * that were expanded at `before` or earlier.
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

  /** Moves all deferred deliveries into `dirty`. */
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
 * Adds the entries that write a delivery and remove its old keys. The caller writes the blocks of
 * succeeded deliveries (`SucceededLog.ts`).
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

/** An endpoint whose counts are kept. */
export interface Account {
  readonly number: number
  readonly stats: EndpointStats
}

export interface DeliveryWriterOptions {
  readonly storage: Storage["Service"]
  readonly onBroken: (cause: Broken) => void
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly flushIntervalMs?: number
  /** With this many unwritten deliveries, a flush does not wait for the interval. */
  readonly flushDeliveries?: number
}

/** What one flush writes in one transaction. */
interface Write {
  readonly dirty: ReadonlySet<Delivery>
  readonly groups: ReadonlyMap<number, ReadonlyArray<Delivery>>
  /** The counts of each endpoint after this transaction. */
  readonly stats: ReadonlyMap<Account, EndpointStats>
  readonly jobs: ReadonlyMap<number, Job | null>
  readonly entries: Array<Entry>
  /** Opened when the flush has ended. */
  readonly flushed: Latch.Latch
  readonly cursor: number
  readonly reached: number
  /**
   * The number of encoded deliveries and counts. The event loop runs after every
   * `webhookFlushTurnDeliveries`.
   */
  encoded: number
}

export class DeliveryWriter {
  readonly #options: DeliveryWriterOptions
  readonly #store: DeliveryStore
  readonly #flushDeliveries: number
  #dirty = new Set<Delivery>()
  /** Recently expanded deliveries in memory, in the order of the journal. */
  readonly #deferred = new DeferredDeliveries()
  /** The next flush also writes the deferred deliveries. */
  #all = false
  /** The existing endpoints by number. Deliveries of other endpoints are not written. */
  readonly #open = new Map<number, Account>()
  /** The endpoints whose counts the next flush writes. */
  #accounts = new Set<Account>()
  #jobs = new Map<number, Job | null>()
  #others: Array<Entry> = []
  /** Opened at the end of the next flush that begins. */
  #nextFlush = Latch.makeUnsafe()
  readonly #listeners: Array<(deliveries: ReadonlyArray<Delivery>) => void> = []
  #pending = 0
  #cursor = 0
  #cursorWritten = 0
  #reached = 0
  #reachedWritten = 0
  /** Held by a write, and by reads that need a consistent state. */
  readonly #writing = Semaphore.makeUnsafe(1)
  #cursorWrittenAt = 0
  /** Open while there is something to write. */
  readonly #changed = Latch.makeUnsafe()
  /** Open while the next flush must not wait for the interval. */
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
   * Begins after the record `cursor`, with `pending` pending deliveries in total. `reached` is the
   * last record of which the store may have deliveries. It is not changed in the store before the
   * cursor passes it.
   */
  begin(cursor: number, reached: number, pending: number): void {
    this.#cursor = cursor
    this.#cursorWritten = cursor
    this.#reached = reached
    this.#reachedWritten = reached
    this.#pending = pending
  }

  /**
   * Runs `work` between two writes, so that its reads of the store are consistent with the queues
   * if it asks the queues right after the reads. Otherwise `work` could read a delivery as it was
   * before a write and no longer find it in its queue after the write. `work` must not wait for a
   * write.
   */
  betweenWrites<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Semaphore.withPermit(this.#writing, work)
  }

  /** Whether the endpoint still exists. */
  isThere(account: Account): boolean {
    return this.#open.get(account.number) === account
  }

  /** Writes entries in a separate transaction. Only within `betweenWrites`. */
  writeNow(entries: ReadonlyArray<Entry>): Effect.Effect<void, Broken> {
    return awaitSpace(this.#options.storage.writeEntries(entries))
  }

  /** The number of pending deliveries of all endpoints in the store. */
  get pending(): number {
    return this.#pending
  }

  /** Calls `listener` after each flush with the written deliveries that have not changed since. */
  onWritten(listener: (deliveries: ReadonlyArray<Delivery>) => void): void {
    this.#listeners.push(listener)
  }

  /** Adds an endpoint. */
  open(account: Account): void {
    this.#open.set(account.number, account)
  }

  /** Removes a deleted endpoint, with its pending deliveries. */
  forget(account: Account): void {
    this.#open.delete(account.number)
    this.#pending -= account.stats.stored.pending
    this.#accounts.delete(account)
  }

  /** The number of unwritten deliveries, without the deferred ones. */
  get unwritten(): number {
    return this.#dirty.size
  }

  /** The cursor on disk: records up to it will not be expanded again. */
  get cursorWritten(): number {
    return this.#cursorWritten
  }

  /** The oldest record with a deferred delivery. */
  get oldestDeferred(): number | undefined {
    return this.#deferred.oldest
  }

  /** Notes a new or changed delivery. */
  touch(delivery: Delivery): void {
    this.#deferred.delete(delivery)
    this.#dirty.add(delivery)
    this.#change()
  }

  /** Notes that the counts of an endpoint changed for another reason than its deliveries. */
  touchAccount(account: Account): void {
    this.#accounts.add(account)
    this.#change()
  }

  /** Notes that a job was added, made progress, or is `done`. */
  touchJob(job: Job, done = false): void {
    this.#jobs.set(job.record, done ? null : job)
    this.#change()
  }

  /**
   * Moves the cursor: every record up to `sequence` is expanded. The next flush writes the cursor.
   * The cursor alone causes a flush only every `webhookCursorIntervalMs`, since records without
   * deliveries may be expanded again. `atOnce` causes a flush now, for a record that must not take
   * effect twice.
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
   * Ends when nothing will be written any more: the storage is broken, or another server has the
   * partition.
   */
  readonly ended: Effect.Effect<void> = Effect.suspend(() => this.#ended.await)

  /** Flushes without waiting for the interval. Ends when everything is on disk. */
  readonly flushed: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isSettled && this.#cursor === this.#cursorWritten) return Effect.void
    this.#all = true
    return this.#flushSoon()
  })

  /** `flushed`, except that deferred deliveries stay deferred. */
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
      // The outbox may be within a record: its remaining deliveries and the cursor belong to the
      // same write.
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

  /** Takes all unwritten state. Later changes belong to the next write. */
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
   * Adds the entries of all deliveries, and counts the deliveries both in the current and in the
   * written counts.
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

  /** Adds the entries of counts, jobs and the cursor. */
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
