/**
 * Finds users whose erasure is a tombstone: the journal after an older snapshot may have been
 * erased from since. So a follower that was away, a copy that an archive filled, and a restore to a
 * moment after an archive all lead to the state that the records had led to.
 *
 * A tombstone names the user's record before it, and only records up to an erasure become
 * tombstones. So the user whose state ends with that record was erased: nobody else's state ends
 * with it. The user is erased where the first of its tombstones is, which names nobody. A run of
 * erasures may have been interrupted: records of the user that are left count no more, and its erasure
 * only makes the job that erases them.
 *
 * Cost: one read of a record for a tombstone. If that record was pruned or erased, and the snapshot
 * may have its user, a pass over the heads of all states.
 */
import { Effect } from "effect"
import { deletionOf } from "../../domain/decide/Decide.ts"
import { placesOf } from "../../domain/decide/Leagues.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { Broken, Damaged, type StoredRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment } from "../actor/Environments.ts"
import { decodeRecord } from "../records/Codec.ts"
import { RecordReader } from "../records/RecordReader.ts"
import type { EngineState } from "../state/EngineState.ts"

interface Found {
  readonly environment: Environment
  readonly userId: string
}

type State = Pick<EngineState, "environments" | "now" | "pending" | "storage">

export class LostErasures {
  readonly #state: State
  readonly #reader: RecordReader
  /** No state that was loaded ends with a later record; `undefined`: unknown yet. */
  #loadedThrough: number | undefined
  /** Users who were erased here, until their erasure or a new user of the id is passed. */
  readonly #erased = new Set<string>()

  constructor(state: State) {
    this.#state = state
    this.#reader = new RecordReader(state.storage, state.pending)
  }

  /** The erasure for which the tombstone stands; `undefined`: it erases nobody. */
  readonly of = Effect.fnUntraced(function* (
    this: LostErasures,
    { previous, sequence }: StoredRecord,
  ): Effect.fn.Return<JournalRecord | undefined, Broken> {
    if (previous === 0) return undefined
    const found = yield* this.#userAt(previous)
    const user = found?.environment.durableOf(found.userId)
    if (found === undefined || user?.sequence !== previous) return undefined
    const { environment, userId } = found
    this.#erased.add(nameOf(environment.id, userId))
    return {
      sequence,
      at: this.#state.now(),
      subject: { actor: "user", environment: environment.id, userId },
      cause: { kind: "erasure" },
      facts: [deletionOf(user, placesOf(user))],
    }
  }).bind(this)

  /** What the next record means; `undefined`: it was erased, or its user is erased already. */
  meaningOf({ body }: StoredRecord): JournalRecord | undefined {
    if (body.length === 0) return undefined
    const record = decodeRecord(body)
    const { cause, facts, subject } = record
    if (this.#erased.size === 0 || subject.actor !== "user") return record
    const name = nameOf(subject.environment, subject.userId)
    if (!this.#erased.has(name)) return record
    const isErasure = cause.kind === "erasure"
    const isNew = facts.some(({ kind }) => kind === "user.created")
    if (!(isErasure || isNew)) return undefined
    this.#erased.delete(name)
    return isErasure ? { ...record, facts: [deletionOfNobody] } : record
  }

  readonly #userAt = Effect.fnUntraced(function* (
    this: LostErasures,
    sequence: number,
  ): Effect.fn.Return<Found | undefined, Broken> {
    // Where the record is damaged, only the states tell whose it is.
    const record = yield* Effect.orElseSucceed(this.#reader.record("", sequence), () => undefined)
    if (record !== undefined) {
      const { subject } = record
      if (subject.actor !== "user") return undefined
      const environment = this.#state.environments.of(subject.environment)
      return { environment, userId: subject.userId }
    }
    if (sequence > (this.#loadedThrough ?? sequence)) return undefined
    const found = yield* this.#search(sequence)
    if (found.length > 1) return yield* ambiguous(sequence)
    return found[0]
  })

  /**
   * The users whose durable states end with this record. There may be several where journals were
   * gathered: each has a record of this number.
   */
  readonly #search = Effect.fnUntraced(function* (this: LostErasures, sequence: number) {
    const found: Array<Found> = []
    let through = 0
    let endsAt = performance.now() + limits.foldTurnMs
    for (const environment of this.#state.environments) {
      const add = (userId: string) => {
        // A user who was decoded at first may be found again in its bucket.
        const isKnown = found.some(
          (one) => one.environment === environment && one.userId === userId,
        )
        if (!isKnown) found.push({ environment, userId })
      }
      // A decoded user is newer than its bucket.
      const { states, users } = environment
      for (const [userId, { durable, loaded }] of users) {
        if (!loaded || durable === undefined) continue
        through = Math.max(through, durable.sequence)
        if (durable.sequence === sequence) add(userId)
      }
      for (const bucket of states.table.buckets()) {
        let place = 0
        for (const last of bucket.sequences()) {
          through = Math.max(through, last)
          if (last === sequence) {
            const userId = [...bucket.ids()][place]!
            if (users.get(userId)?.loaded !== true) add(userId)
          }
          place++
        }
        if (performance.now() < endsAt) continue
        yield* yieldToEventLoop
        endsAt = performance.now() + limits.foldTurnMs
      }
    }
    this.#loadedThrough ??= through
    return found
  })
}

const nameOf = (environment: string, userId: string): string => `${environment}\n${userId}`

/** The counts have lost the user already. */
const deletionOfNobody: Fact = {
  kind: "user.deleted",
  inProgress: [],
  completed: [],
  badges: [],
  alias: true,
}

const ambiguous = (sequence: number): Effect.Effect<never, Broken> => {
  const words = `A user was erased, and several have a last record ${sequence}. Restore an archive from after the erasure`
  return Effect.fail(new Broken({ operation: "read", cause: new Damaged(words) }))
}
