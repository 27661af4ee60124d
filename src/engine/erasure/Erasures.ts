/**
 * Tombstones: the erased users whose data the snapshot may still have, each with the sequence of
 * the erasure.
 *
 * Invariants:
 * - Every reader skips a user's data up to the erasure. No snapshot writes such data, and the next
 *   snapshot deletes it. Recovery reads the erasure from the journal again, until a snapshot has
 *   carried it out.
 * - An erasure that is not durable yet (`ahead`) is visible only to the user's own next commands.
 * - The answer to a batch with an Idempotency-Key that began before an erasure may name the user.
 *   So the tombstone stays until no such batch is under way, and the record of its answer leaves
 *   the user out: a later start may not know the erasure.
 */

import { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"

export interface Erasure {
  readonly environment: string
  readonly userId: string
  /** The sequence of the erasure's record, which is erased with all earlier ones of the user. */
  readonly sequence: number
}

/** The parts of an actor that an erasure needs. */
export interface ErasedActor {
  readonly subject: Subject
  /** The actor's own next commands find none of its records so far. */
  forgetAll(): void
}

interface Known extends Erasure {
  /** A snapshot has deleted the user's data. */
  carriedOut: boolean
}

export class Erasures {
  readonly #ahead = new Map<string, number>()
  readonly #durable = new Map<string, Known>()

  /** How many tombstones there are. */
  get size(): number {
    return this.#durable.size
  }

  /** The actor's erasure was appended. */
  appended(actor: ErasedActor, sequence: number): void {
    actor.forgetAll()
    this.#ahead.set(nameOf(actor.subject), sequence)
  }

  /** The erasure is durable. */
  committed({ subject }: Pick<ErasedActor, "subject">, sequence: number): void {
    if (subject.actor !== "user") return
    const { environment, userId } = subject
    this.#durable.set(nameOf(subject), { environment, userId, sequence, carriedOut: false })
  }

  /** Recovery has read a record; every record of the journal passes here in order. */
  replayed(actor: ErasedActor, { cause, sequence }: JournalRecord): void {
    if (cause.kind !== "erasure") return
    this.appended(actor, sequence)
    this.committed(actor, sequence)
  }

  /** The sequence up to which an actor's own commands see no records; 0: they see all. */
  aheadOf(subject: Subject): number {
    return this.#ahead.size === 0 ? 0 : (this.#ahead.get(nameOf(subject)) ?? 0)
  }

  /** The sequence up to which no reader sees the user's records; 0: readers see all. */
  throughOf(environment: string, userId: string): number {
    if (this.#durable.size === 0) return 0
    return this.#durable.get(userName(environment, userId))?.sequence ?? 0
  }

  /**
   * The sequence up to which a record that is appended now must not contain data of the user,
   * unless it is the user's own; 0: it may contain all.
   */
  knownThrough(environment: string, userId: string): number {
    if (this.#ahead.size + this.#durable.size === 0) return 0
    const name = userName(environment, userId)
    return Math.max(this.#ahead.get(name) ?? 0, this.#durable.get(name)?.sequence ?? 0)
  }

  /** A snapshot begins; returns the erasures that it must carry out. */
  begin(): ReadonlyArray<Erasure> {
    return [...this.#durable.values()].filter(({ carriedOut }) => !carriedOut)
  }

  /**
   * A snapshot has carried out `erasures`. No batch with a key is under way that began before
   * `runningSince`.
   */
  ended(erasures: ReadonlyArray<Erasure>, runningSince: number): void {
    for (const { environment, sequence, userId } of erasures) {
      const name = userName(environment, userId)
      const known = this.#durable.get(name)
      if (known?.sequence === sequence) known.carriedOut = true
      if (this.#ahead.get(name) === sequence) this.#ahead.delete(name)
    }
    for (const [name, { carriedOut, sequence }] of this.#durable) {
      if (carriedOut && sequence < runningSince) this.#durable.delete(name)
    }
  }
}

const nameOf = (subject: Subject): string =>
  subject.actor === "user" ? userName(subject.environment, subject.userId) : ""

// No id has a line break.
const userName = (environment: string, userId: string): string => `${environment}\n${userId}`

/**
 * Whether the user of a record was erased after it. The creation time of the user's state tells,
 * unless it is the millisecond of the record: then `hasRecord` looks the record up in the history.
 */
export const makeIsErased =
  (
    readUser: (
      environment: string,
      userId: string,
    ) => Effect.Effect<UserState | undefined, LaurelError<"storage_unavailable">>,
    hasRecord: (
      environment: string,
      userId: string,
      sequence: number,
    ) => Effect.Effect<boolean, LaurelError<"storage_unavailable">>,
  ) =>
  ({
    at,
    cause,
    sequence,
    subject,
  }: JournalRecord): Effect.Effect<boolean, LaurelError<"storage_unavailable">> => {
    if (subject.actor !== "user" || cause.kind === "erasure") return Effect.succeed(false)
    const { environment, userId } = subject
    return Effect.flatMap(readUser(environment, userId), (user) => {
      if (user === undefined) return Effect.succeed(true)
      if (user.createdAt !== at) return Effect.succeed(user.createdAt > at)
      if (user.sequence === sequence) return Effect.succeed(false)
      return Effect.map(hasRecord(environment, userId, sequence), (has) => !has)
    })
  }
