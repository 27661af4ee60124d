/**
 * Erased users whose data the snapshot may still have: a tombstone by user, with the sequence of the erasure. Every
 * reader skips the user's data up to it; no snapshot writes such data, and the next one deletes it. Recovery finds
 * the erasure in the journal again.
 *
 * An erasure that is decided and not durable yet (`ahead`) counts for the user's own next commands only.
 *
 * The answer of a keyed batch that began before an erasure may name the user, so the tombstone stays until no such
 * batch is under way. The record of the answer leaves the user out: a start behind the erasure's snapshot does not know the
 * erasure.
 */

import { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"

export interface Erasure {
  readonly environment: string
  readonly userId: string
  /** The record of the erasure: it goes with all before it. */
  readonly sequence: number
}

/** An actor, as an erasure needs it. */
export interface ErasedActor {
  readonly subject: Subject
  /** Its own next commands find none of its records. */
  forgetAll(): void
}

interface Known extends Erasure {
  /** The snapshot has nothing of it any more. */
  carriedOut: boolean
}

export class Erasures {
  readonly #ahead = new Map<string, number>()
  readonly #durable = new Map<string, Known>()

  /** How many are remembered. */
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

  /** A record was found in the journal; all before it was, too. */
  replayed(actor: ErasedActor, { cause, sequence }: JournalRecord): void {
    if (cause.kind !== "erasure") return
    this.appended(actor, sequence)
    this.committed(actor, sequence)
  }

  /** Up to where an actor's own commands see nothing; 0: they see everything. */
  aheadOf(subject: Subject): number {
    return this.#ahead.size === 0 ? 0 : (this.#ahead.get(nameOf(subject)) ?? 0)
  }

  /** Up to where nothing of a user is shown; 0: everything is. */
  throughOf(environment: string, userId: string): number {
    if (this.#durable.size === 0) return 0
    return this.#durable.get(userName(environment, userId))?.sequence ?? 0
  }

  /** Up to where a record that is appended now may name nothing of a user, the user's own records apart; 0: it may name everything. */
  knownThrough(environment: string, userId: string): number {
    if (this.#ahead.size + this.#durable.size === 0) return 0
    const name = userName(environment, userId)
    return Math.max(this.#ahead.get(name) ?? 0, this.#durable.get(name)?.sequence ?? 0)
  }

  /** The erasures that the beginning snapshot carries out. */
  begin(): ReadonlyArray<Erasure> {
    return [...this.#durable.values()].filter(({ carriedOut }) => !carriedOut)
  }

  /** A snapshot has carried `erasures` out; no keyed batch is under way that began before `runningSince`. */
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
 * Whether the user of a record was erased after it. The user's state decides, unless the user was created in the
 * millisecond of the record: then `hasRecord` looks into the history.
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
