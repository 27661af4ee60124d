/**
 * The part of a snapshot with the states of users: it writes each dirty bucket, and each new id.
 *
 * Invariants:
 * - Buckets are written from the highest prefix down. So a right half of a split is stored before
 *   the key of its ancestor is overwritten, and after a crash between the two the ancestor still
 *   has its users (`BucketTable.load`).
 * - A value has only durable states (asserted). A state may be newer than the watermark: recovery
 *   skips the records that it includes.
 * - While a frozen board is not stored, no bucket is copied. So no value has a record after the
 *   closing of a window whose board a start would build from values.
 * - Names and secret are in the transaction of the first value that needs them, or before.
 * - Ids are stored before the watermark passes the records that created their users.
 *
 * Pace: with a pace, slices are small, and the pauses between them spread the buckets over its
 * time, so that the flushes of the journal do not wait for the disk. `hurry` ends the pauses.
 *
 * Cost: the event loop encodes the users that changed and copies whole buckets.
 *
 * An example, with sequences. The snapshot has the watermark 100. Of bucket `A` (prefix 0, depth 0)
 * a value is stored, as of 100, with Ada, Bob and Cyd.
 *
 * 1. Record 101 creates Dan, and `A` splits: `L` (prefix 0, depth 1) has Ada and Bob, `R` (prefix
 *    2^31, depth 1) Cyd and Dan. Both are dirty. `R` has no value; `A`'s key is that of `L`.
 * 2. Record 102 changes Ada. A snapshot begins: its watermark will be 102.
 * 3. The first slice has `R` as of 102. Record 103 changes Bob: `L` is dirty anyway.
 * 4. The server crashes before the second slice. Stored are `A` (as of 100), `R` (as of 102) and
 *    the watermark 100.
 * 5. A start reads both values. Cyd's and Dan's hashes are covered by `R`, which is deeper than
 *    `A`: their states come from `R`, those of Ada and Bob from `A`. The piece of `A` left of `R`
 *    is dirty, since its value is still under the key of `A`.
 * 6. Records 101 to 103 are replayed. Dan's state is as of 101, so 101 is not applied to it. Ada's
 *    is older than 102, Bob's than 103: both are applied.
 * 7. The next snapshot writes `L` as of 103 over the key of `A`, and the watermark 103.
 */
import { Effect, Latch } from "effect"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { StorageError } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import type { Environment, UserActor } from "../actor/Environments.ts"
import type { EngineState } from "../state/EngineState.ts"
import type { Bucket } from "../users/Bucket.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { bucketEntries } from "../users/StoredBucket.ts"
import { sortInTurns } from "../users/sortInTurns.ts"
import type { SliceWriter, SnapshotTurns } from "./SliceWriter.ts"

interface UserPartOptions {
  readonly state: EngineState
  readonly slices: SliceWriter
  readonly turns: SnapshotTurns
  /** Stores the frozen boards. */
  readonly writeBoards: Effect.Effect<void, StorageError>
}

/** What a failed snapshot may not have written after all. */
interface Written {
  readonly environment: Environment
  readonly prefix: number
  readonly gone: ReadonlySet<string> | undefined
}

export class UserPart {
  readonly #options: UserPartOptions
  #written: Array<Written> = []
  readonly #hurried = Latch.makeUnsafe(false)
  #startedAt = 0
  #paceMs = 0
  #total = 0
  #done = 0

  constructor(options: UserPartOptions) {
    this.#options = options
  }

  /** No pauses from now on, until the next snapshot begins. */
  hurry(): void {
    this.#hurried.openUnsafe()
  }

  /** Prepares a part whose pauses take `paceMs`. */
  begin(paceMs: number): void {
    this.#written = []
    this.#paceMs = paceMs
    this.#done = 0
    this.#hurried.closeUnsafe()
  }

  readonly write = Effect.fnUntraced(function* (
    this: UserPart,
  ): Effect.fn.Return<void, StorageError> {
    const { slices, state } = this.#options
    const { environments } = state
    if (this.#paceMs > 0) slices.bytesMax = limits.snapshotPacedBytesMax
    for (const environment of environments) yield* this.#settle(environment)
    this.#startedAt = yield* monotonicMs
    this.#total = 0
    for (const { states } of environments) this.#total += states.table.dirty
    for (const environment of environments) {
      yield* this.#writeBuckets(environment)
      yield* this.#writeIds(environment)
    }
    slices.bytesMax = limits.snapshotSliceBytesMax
  })

  /** Brings changed states into their buckets, so that the number of dirty buckets is known. */
  readonly #settle = Effect.fnUntraced(function* (this: UserPart, environment: Environment) {
    const { turns } = this.#options
    for (let end = prefixesEnd; ; ) {
      const bucket = environment.states.table.dirtyBelow(end)
      if (bucket === undefined) return
      end = bucket.prefix
      environment.settleBucket(bucket.prefix)
      if (turns.isOver) yield* turns.next
    }
  })

  readonly #writeBuckets = Effect.fnUntraced(function* (
    this: UserPart,
    environment: Environment,
  ): Effect.fn.Return<void, StorageError> {
    const { slices, turns, writeBoards } = this.#options
    const { table } = environment.states
    for (let end = prefixesEnd; ; ) {
      if (turns.isOver) yield* turns.next
      const bucket = table.dirtyBelow(end)
      if (bucket === undefined) return
      if (bucket.changed.length > 0) {
        // The bucket may split, so the highest one is looked for again.
        environment.settleBucket(bucket.prefix)
        continue
      }
      if (hasFrozen(environment)) {
        yield* writeBoards
        continue
      }
      end = bucket.prefix
      this.#addBucket(environment, bucket)
      if (!slices.isFull) continue
      yield* slices.handOn
      yield* this.#pause
    }
  })

  #addBucket(environment: Environment, bucket: Bucket<UserActor>): void {
    const { slices, state } = this.#options
    const { changed } = state
    const { id, states } = environment
    let last = 0
    for (const sequence of bucket.sequences()) last = Math.max(last, sequence)
    if (last > changed.lastDurable) {
      const words = `A state as of record ${last} is beyond the last durable record`
      throw new Error(`${words}, ${changed.lastDurable}`)
    }
    for (const entry of states.unstored(id)) slices.add(entry)
    this.#written.push({ environment, prefix: bucket.prefix, gone: bucket.gone })
    states.table.written(bucket)
    for (const entry of bucketEntries(id, bucket)) slices.add(entry)
    this.#done++
  }

  /** Waits until as much of the pace has passed as of the buckets is written. */
  readonly #pause = Effect.suspend(() => {
    if (this.#paceMs === 0) return Effect.void
    const dueAt = this.#startedAt + (this.#paceMs * this.#done) / Math.max(this.#total, this.#done)
    const { changed } = this.#options.state
    return Effect.flatMap(monotonicMs, (now) => {
      if (now >= dueAt) return Effect.void
      const urged = Effect.race(this.#hurried.await, changed.requested)
      const hurried = Effect.map(urged, () => {
        this.#paceMs = 0
        this.#options.slices.bytesMax = limits.snapshotSliceBytesMax
      })
      return Effect.race(Effect.sleep(dueAt - now), hurried)
    })
  })

  /**
   * The ids of new users, in the order of their keys, so that a slice changes few pages of LMDB.
   */
  readonly #writeIds = Effect.fnUntraced(function* (
    this: UserPart,
    environment: Environment,
  ): Effect.fn.Return<void, StorageError> {
    const { slices, state, turns } = this.#options
    const { fresh, id } = environment
    for (const userId of yield* sortInTurns(fresh, compareCodePoints)) {
      if (!state.environments.isThere(id, userId)) continue
      slices.add({ table: "userIds", key: compositeKey(id, userId), value: noValue })
      if (turns.isOver) yield* turns.next
      if (slices.isFull) yield* slices.handOn
    }
  })

  /** Some of the part may not be stored: it is written again. */
  failed(): void {
    for (const { environment, gone, prefix } of this.#written) {
      environment.states.table.forget(prefix, gone)
    }
    for (const environment of this.#options.state.environments) environment.states.failed()
  }
}

const noValue = encodeValue(new Uint8Array())

/** Whether a closed window has a board that is not stored. */
const hasFrozen = ({ boards }: Environment): boolean => {
  for (const [, set] of boards.sets()) if (set.hasFrozen) return true
  return false
}
