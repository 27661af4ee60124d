/**
 * The callers' ids in the new records of users, for the part of a snapshot with the index of ids. A
 * user with new records is in a bucket with `hasRecords`, or is an actor without a state. A bucket
 * keeps that mark if it has records after the watermark, which a later snapshot stores.
 *
 * Each user is visited once, so no id is listed twice in a snapshot: buckets are visited from the
 * highest prefix down, and what splits meanwhile is below.
 */
import { Effect } from "effect"
import type { Environment, UserActor } from "../actor/Environments.ts"
import { IdList } from "../dedupe/IdRun.ts"
import { sequenceOf } from "../records/UserCodec.ts"
import type { EngineState } from "../state/EngineState.ts"
import type { Bucket } from "../users/Bucket.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import type { SnapshotTurns } from "./SliceWriter.ts"

interface NewIdsOptions {
  readonly state: EngineState
  readonly turns: SnapshotTurns
  /** The snapshot has everything up to here when it has ended. */
  readonly watermark: number
}

/** A user, and its last durable record. */
type UserWithRecords = readonly [userId: string, lastDurable: number]

export class NewIds {
  readonly #options: NewIdsOptions
  /** By environment. */
  readonly lists = new Map<string, IdList>()
  /** Actors with an index of records that the snapshot will have (`Actor.named`). */
  readonly #named: Array<UserActor> = []
  readonly #visited: Array<readonly [Environment, prefix: number, end: number]> = []

  constructor(options: NewIdsOptions) {
    this.#options = options
  }

  readonly collect = Effect.fnUntraced(function* (this: NewIds) {
    for (const environment of this.#options.state.environments) {
      yield* this.#settle(environment)
      const vacant = vacantOf(environment)
      yield* this.#add(environment, vacant)
      const visited = new Set(vacant.map(([userId]) => userId))
      const { table } = environment.states
      for (const bucket of table.downFrom(prefixesEnd)) {
        if (!bucket.hasRecords) continue
        this.#visited.push([environment, bucket.prefix, bucket.end])
        yield* this.#add(environment, this.#usersOf(environment, bucket, visited))
      }
    }
  })

  /** Brings the states of changed users into their buckets, so that these have all users. */
  readonly #settle = Effect.fnUntraced(function* (this: NewIds, environment: Environment) {
    const { turns } = this.#options
    for (let end = prefixesEnd; ; ) {
      const bucket = environment.states.table.dirtyBelow(end)
      if (bucket === undefined) return
      end = bucket.prefix
      environment.settleBucket(bucket.prefix)
      if (turns.isOver) yield* turns.next
    }
  })

  /** The users of a bucket with records after the last snapshot, except those in `visited`. */
  #usersOf(
    environment: Environment,
    bucket: Bucket<UserActor>,
    visited: ReadonlySet<string>,
  ): ReadonlyArray<UserWithRecords> {
    const { state, watermark: through } = this.#options
    const { watermark } = state.pending
    let last = 0
    const found: Array<UserWithRecords> = []
    const add = (userId: string, sequence: number) => {
      if (visited.has(userId)) return
      const actor = environment.users.get(userId)
      if (actor?.named !== undefined) this.#named.push(actor)
      // An actor that is not loaded yet knows none of its records. A state that is ahead of the
      // records that were read has none here.
      const lastDurable = actor?.loaded ? actor.lastDurable : sequence
      if (lastDurable <= state.pending.texts.lastSequence) found.push([userId, lastDurable])
    }
    for (let n = 0; n < bucket.count; n++) {
      const sequence = sequenceOf(bucket.bytes, bucket.stateStart(n), bucket.stateEnd(n))
      last = Math.max(last, sequence)
      if (sequence > watermark) add(bucket.idOf(n), sequence)
    }
    for (const [userId, { bytes }] of bucket.large ?? []) {
      const sequence = sequenceOf(bytes, 0, bytes.length)
      last = Math.max(last, sequence)
      if (sequence > watermark) add(userId, sequence)
    }
    bucket.hasRecords = bucket.changed.length > 0 || last > through
    return found
  }

  readonly #add = Effect.fnUntraced(function* (
    this: NewIds,
    environment: Environment,
    users: ReadonlyArray<UserWithRecords>,
  ) {
    const { turns } = this.#options
    for (const [userId, lastDurable] of users) {
      this.#addIdsOf(environment.id, userId, lastDurable)
      if (turns.isOver) yield* turns.next
    }
  })

  #addIdsOf(environment: string, userId: string, lastDurable: number): void {
    const { state, watermark } = this.#options
    const { erasures, pending } = state
    const erasedThrough = erasures.throughOf(environment, userId)
    for (const sequence of pending.backFrom(lastDurable, erasedThrough, watermark)) {
      const hash = pending.hashOf(sequence)
      if (hash !== undefined) this.#idsOf(environment).add(hash, sequence)
    }
  }

  #idsOf(environment: string): IdList {
    let list = this.lists.get(environment)
    if (list === undefined) {
      list = new IdList()
      this.lists.set(environment, list)
    }
    return list
  }

  /** The snapshot has ended. */
  ended(): void {
    for (const actor of this.#named) actor.named = undefined
  }

  /** Some of the part may not be stored: it is written again. */
  failed(): void {
    for (const [{ states }, prefix, end] of this.#visited) {
      for (const bucket of states.table.downFrom(end)) {
        if (bucket.prefix < prefix) break
        bucket.hasRecords = true
      }
    }
  }
}

/** The users without a state. */
const vacantOf = ({ vacant }: Environment): ReadonlyArray<UserWithRecords> => {
  const users: Array<UserWithRecords> = []
  for (const { durable, lastDurable, subject } of vacant) {
    if (durable === undefined && subject.actor === "user") users.push([subject.userId, lastDurable])
  }
  return users
}
