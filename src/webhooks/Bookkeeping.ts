/**
 * Writes what becomes of deliveries, behind them: the deliveries that were made or changed, the numbers of their
 * endpoints and the cursor of the outbox, all in one transaction, every `webhookFlushIntervalMs` or when
 * many wait. So a delivery that succeeds at once is written once, and an idle dispatcher writes nothing.
 *
 * - What the cursor has passed is in the same transaction or an earlier one: a crash takes back deliveries only
 *   together with the cursor, and they are made again, with the same names. What was sent in between is sent
 *   once more; nothing is lost and nothing is counted twice.
 * - One write at a time. Without space it is tried again until it goes through; the outbox waits meanwhile,
 *   since no more than `webhookUnwrittenMax` deliveries may be unwritten.
 * - Numbers are counted from what is written (`Delivery.stored`), so they are right after every crash.
 */
import { Cause, Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import { nextTurn } from "../storage/nextTurn.ts"
import { Broken, type Entry, type Storage } from "../storage/Storage.ts"
import { encodeValue } from "../storage/Values.ts"
import {
  attemptKey,
  type Delivery,
  type DeliveryStatus,
  deliveryKey,
  dueKey,
  encodeDelivery,
} from "./Delivery.ts"
import { cursorKey, type Job, jobKey, type Tally, tallyKey } from "./DeliveryStore.ts"

/** Whose numbers are kept. */
export interface Account {
  readonly number: number
  readonly tally: Tally
}

export interface BookkeepingOptions {
  readonly storage: Storage["Service"]
  /** The endpoint with this number, as long as it exists: what belongs to no endpoint is not written. */
  readonly accountOf: (endpoint: number) => Account | undefined
  /** These are in the store as they are now. */
  readonly onWritten: (deliveries: ReadonlyArray<Delivery>) => void
  readonly onBroken: (cause: Broken) => void
  readonly now: () => number
  readonly flushIntervalMs?: number
}

export class Bookkeeping {
  readonly #options: BookkeepingOptions
  #dirty = new Set<Delivery>()
  #accounts = new Set<Account>()
  #jobs = new Map<number, Job | null>()
  #others: Array<Entry> = []
  /** Told when what was there before is on disk. */
  #waiting: Array<() => void> = []
  #pending = 0
  #cursor = 0
  #cursorWritten = 0
  #cursorWrittenAt = 0
  #changed = false
  #onChange: (() => void) | undefined
  #onMany: (() => void) | undefined
  #roomy: Array<() => void> = []

  constructor(options: BookkeepingOptions) {
    this.#options = options
  }

  /** Begins behind this record, with so many deliveries pending in all. */
  begin(cursor: number, pending: number): void {
    this.#cursor = cursor
    this.#cursorWritten = cursor
    this.#pending = pending
  }

  /** How many deliveries of all endpoints are pending, as far as they are written. */
  get pending(): number {
    return this.#pending
  }

  /** How many deliveries are not written yet. */
  get unwritten(): number {
    return this.#dirty.size
  }

  /** A delivery was made or has changed. */
  touch(delivery: Delivery): void {
    this.#dirty.add(delivery)
    this.#change()
  }

  /** An endpoint's tally was changed, other than by its deliveries. */
  touchAccount(account: Account): void {
    this.#accounts.add(account)
    this.#change()
  }

  /** Something is to be done, or is further now; `done` when there is nothing more to do. */
  touchJob(job: Job, done = false): void {
    this.#jobs.set(job.record, done ? null : job)
    this.#change()
  }

  /**
   * Every record up to this one is expanded. It is written with the next flush; alone only now and then, since
   * expanding once more what made no deliveries does no harm, unless `atOnce`: it would make some now.
   */
  passed(sequence: number, atOnce: boolean): void {
    this.#cursor = sequence
    const now = this.#options.now()
    if (atOnce || now - this.#cursorWrittenAt >= limits.webhookCursorIntervalMs) this.#change()
  }

  /** Writes entries with the next flush. */
  write(entries: ReadonlyArray<Entry>): void {
    this.#others.push(...entries)
    this.#change()
  }

  #change(): void {
    this.#changed = true
    const { size } = this.#dirty
    const many = size >= limits.webhookFlushDeliveries ? this.#onMany : undefined
    const wake = this.#onChange ?? many
    this.#onChange = undefined
    if (many !== undefined) this.#onMany = undefined
    wake?.()
  }

  /** Ends when there is room for more unwritten deliveries. */
  readonly room: Effect.Effect<void> = Effect.callback((resume) => {
    if (this.#dirty.size < limits.webhookUnwrittenMax) resume(Effect.void)
    else this.#roomy.push(() => resume(Effect.void))
  })

  /** Ends when all that waits is on disk, without waiting for the interval. */
  readonly flushed: Effect.Effect<void> = Effect.callback((resume) => {
    if (!this.#changed && !this.#busy && this.#cursor === this.#cursorWritten) {
      resume(Effect.void)
      return
    }
    this.#waiting.push(() => resume(Effect.void))
    this.#changed = true
    const wake = this.#onChange ?? this.#onMany
    this.#onChange = undefined
    this.#onMany = undefined
    wake?.()
  })

  #busy = false

  /** Writes what comes, until the scope closes. What is not written then is lost together with the cursor. */
  readonly run: Effect.Effect<void, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const interval = this.#options.flushIntervalMs ?? limits.webhookFlushIntervalMs
    while (true) {
      yield* this.#changes
      const pressing = this.#waiting.length > 0 || this.#dirty.size >= limits.webhookFlushDeliveries
      if (!pressing) yield* Effect.timeoutOption(this.#many, interval)
      this.#busy = true
      yield* this.#flush
      this.#busy = false
    }
  }).pipe(
    Effect.catchCause((cause) => Effect.sync(() => this.#broken(cause))),
    Effect.forkScoped,
    Effect.asVoid,
  )

  readonly #changes = Effect.callback<void>((resume) => {
    if (this.#changed) resume(Effect.void)
    else this.#onChange = () => resume(Effect.void)
  })

  /** Ends when there is more than should wait. */
  readonly #many = Effect.callback<void>((resume) => {
    this.#onMany = () => resume(Effect.void)
    return Effect.sync(() => {
      this.#onMany = undefined
    })
  })

  readonly #flush = Effect.gen({ self: this }, function* () {
    const dirty = this.#dirty
    const accounts = this.#accounts
    const jobs = this.#jobs
    const entries = this.#others
    const waiting = this.#waiting
    const cursor = this.#cursor
    this.#changed = false
    this.#dirty = new Set()
    this.#accounts = new Set()
    this.#jobs = new Map()
    this.#others = []
    this.#waiting = []
    // What is counted from now on belongs to what the next transaction writes.
    const tallies = new Map<Account, Tally>()
    for (const { endpoint } of dirty) {
      const account = this.#options.accountOf(endpoint)
      if (account !== undefined) accounts.add(account)
    }
    for (const account of accounts) tallies.set(account, structuredClone(account.tally))
    let encoded = 0
    for (const delivery of dirty) {
      const account = this.#options.accountOf(delivery.endpoint)
      const tally = account && tallies.get(account)
      if (account === undefined || tally === undefined) continue
      const before = account.tally.stored.pending
      const earlier = delivery.stored?.status
      pushEntries(entries, delivery)
      count(account.tally, earlier, delivery.status)
      count(tally, earlier, delivery.status)
      this.#pending += account.tally.stored.pending - before
      if (++encoded % limits.webhookFlushTurnDeliveries === 0) yield* nextTurn
    }
    for (const [{ number }, tally] of tallies) {
      entries.push(jsonEntry("endpoints", tallyKey(number), tally))
      if (++encoded % limits.webhookFlushTurnDeliveries === 0) yield* nextTurn
    }
    for (const [record, job] of jobs) {
      const key = jobKey(record)
      entries.push(
        job === null ? { table: "outbox", key, value: null } : jsonEntry("outbox", key, job),
      )
    }
    if (cursor !== this.#cursorWritten) entries.push(jsonEntry("outbox", cursorKey, cursor))
    yield* this.#written(entries)
    this.#cursorWritten = cursor
    this.#cursorWrittenAt = this.#options.now()
    // What has changed while it was written is told after the next write.
    this.#options.onWritten([...dirty].filter((delivery) => !this.#dirty.has(delivery)))
    const roomy = this.#roomy
    this.#roomy = []
    for (const resume of [...waiting, ...roomy]) resume()
  })

  #written(entries: ReadonlyArray<Entry>): Effect.Effect<void, Broken> {
    const { storage } = this.#options
    return Effect.catchTag(storage.writeEntries(entries), "NoSpace", () =>
      Effect.andThen(
        Effect.sleep(limits.noSpaceRetryMs),
        Effect.suspend(() => this.#written(entries)),
      ),
    )
  }

  #broken(cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) return
    const error = Cause.squash(cause)
    this.#options.onBroken(
      error instanceof Broken ? error : new Broken({ operation: "write deliveries", cause: error }),
    )
  }
}

export const jsonEntry = (table: Entry["table"], key: Uint8Array, value: unknown): Entry => ({
  table,
  key,
  value: encodeValue(JSON.stringify(value)),
})

const nothing = encodeValue("")

/** What must be written of a delivery, and what is to be found under its old keys no more. */
const pushEntries = (entries: Array<Entry>, delivery: Delivery): void => {
  const { dueAt, endpoint, index, sequence, status, stored } = delivery
  if (stored !== undefined && stored.status !== status) {
    const key = deliveryKey(endpoint, stored.status, sequence, index)
    entries.push({ table: "deliveries", key, value: null })
  }
  if (stored?.status === "pending" && (status !== "pending" || stored.dueAt !== dueAt)) {
    const key = dueKey(endpoint, stored.dueAt, sequence, index)
    entries.push({ table: "due", key, value: null })
  }
  const value = encodeValue(encodeDelivery(delivery))
  entries.push({ table: "deliveries", key: deliveryKey(endpoint, status, sequence, index), value })
  if (status === "pending") {
    entries.push({ table: "due", key: dueKey(endpoint, dueAt, sequence, index), value: nothing })
  }
  for (const [number, result] of delivery.earlier) {
    entries.push(jsonEntry("attempts", attemptKey(delivery, number), result))
  }
  delivery.earlier = []
  delivery.stored = { status, dueAt }
}

/** A delivery has gone from one status to another. */
const count = (
  { ended, stored }: Tally,
  before: DeliveryStatus | undefined,
  after: DeliveryStatus,
): void => {
  if (before === after) return
  stored[after]++
  if (before !== undefined) stored[before]--
  if (after !== "pending") ended[after]++
}
