/**
 * Erasures that are not carried out: users who were erased, and whose earlier records the journal
 * still has.
 *
 * Invariants:
 * - Every reader skips a user's data up to the erasure, from the moment that the erasure is durable
 *   until the data is gone.
 * - An erasure is a job in the table `erasures`. The snapshot that deletes the user's state writes
 *   the job no later than the state, so each erasure is in the journal after the watermark or a
 *   stored job. `ErasureRuns` carries jobs out and deletes them. Until then each start loads them.
 * - An erasure that is not durable yet (`ahead`) is visible only to the user's own next commands.
 *
 * Cost: a look-up in a map for each reader of a user's records; an entry for each erasure of about
 * the last day.
 */

import { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { compositeKey, everyKey, keyParts } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { eachBody, encodeValue, jsonOf } from "../../storage/Values.ts"

export interface Erasure {
  readonly environment: string
  readonly userId: string
  /** The sequence of the erasure's record, which is erased with all earlier ones of the user. */
  readonly sequence: number
  /** The time of the erasure, epoch milliseconds. */
  readonly at: number
}

/** The parts of an actor that an erasure needs. */
export interface ErasedActor {
  readonly subject: Subject
  /** The actor's own next commands find none of its records so far. */
  forgetAll(): void
}

interface Job extends Erasure {
  /** It is in the table. */
  stored: boolean
}

const table = "erasures"

const keyOf = ({ environment, sequence, userId }: Erasure): Uint8Array =>
  compositeKey(environment, userId, sequence)

/** The entry that stores the job of an erasure. */
export const jobEntry = (erasure: Erasure): Entry => ({
  table,
  key: keyOf(erasure),
  value: encodeValue(JSON.stringify({ at: erasure.at })),
})

/** The entry that deletes the job of an erasure, which was carried out. */
export const jobRemoval = (erasure: Erasure): Entry => ({
  table,
  key: keyOf(erasure),
  value: null,
})

export class Erasures {
  /** By user, the latest erasure that was appended. */
  readonly #ahead = new Map<string, number>()
  /** By user, the latest durable erasure. */
  readonly #through = new Map<string, number>()
  /** The durable erasures, by sequence. */
  readonly #jobs = new Map<number, Job>()

  /** The erasures of a storage whose jobs are not carried out. */
  static open(storage: Storage["Service"]): Effect.Effect<Erasures, Broken> {
    const erasures = new Erasures()
    const loaded = eachBody(storage, { table, ...everyKey }, (key, body) => {
      const [environment, userId, sequence] = keyParts(key) as [string, string, number]
      const { at } = jsonOf<Pick<Erasure, "at">>(body)
      erasures.#add({ environment, userId, sequence, at, stored: true })
    })
    return Effect.as(loaded, erasures)
  }

  #add(job: Job): void {
    this.#jobs.set(job.sequence, job)
    const name = userName(job.environment, job.userId)
    for (const latest of [this.#ahead, this.#through]) {
      latest.set(name, Math.max(latest.get(name) ?? 0, job.sequence))
    }
  }

  /** How many erasures are not carried out. */
  get size(): number {
    return this.#jobs.size
  }

  /** The actor's erasure was appended. */
  appended(actor: ErasedActor, sequence: number): void {
    actor.forgetAll()
    this.#ahead.set(nameOf(actor.subject), sequence)
  }

  /** A record is durable. */
  committed({ at, cause, sequence, subject }: JournalRecord): void {
    if (cause.kind !== "erasure" || subject.actor !== "user") return
    const { environment, userId } = subject
    const stored = this.#jobs.get(sequence)?.stored === true
    this.#add({ environment, userId, sequence, at, stored })
  }

  /** Recovery has read a record; every record of the journal passes here in order. */
  replayed(actor: ErasedActor, record: JournalRecord): void {
    if (record.cause.kind !== "erasure") return
    actor.forgetAll()
    this.committed(record)
  }

  /** The sequence up to which an actor's own commands see no records; 0: they see all. */
  aheadOf(subject: Subject): number {
    return this.#ahead.size === 0 ? 0 : (this.#ahead.get(nameOf(subject)) ?? 0)
  }

  /** The sequence up to which no reader sees the user's records; 0: readers see all. */
  throughOf(environment: string, userId: string): number {
    if (this.#through.size === 0) return 0
    return this.#through.get(userName(environment, userId)) ?? 0
  }

  /** A snapshot begins; returns the erasures whose jobs it must store. */
  begin(): ReadonlyArray<Erasure> {
    return [...this.#jobs.values()].filter(({ stored }) => !stored)
  }

  /** A snapshot has stored the jobs of `erasures`. */
  stored(erasures: ReadonlyArray<Erasure>): void {
    for (const { sequence } of erasures) this.#jobs.get(sequence)!.stored = true
  }

  /**
   * The stored jobs of erasures up to `through`, in the order of the erasures; none if all of them
   * are later than `before` (epoch milliseconds). So the erasures since the last run are carried
   * out together, however many there are.
   */
  due(before: number, through: number): ReadonlyArray<Erasure> {
    const ready = [...this.#jobs.values()].filter(
      ({ sequence, stored }) => stored && sequence <= through,
    )
    if (!ready.some(({ at }) => at <= before)) return []
    return ready.sort((one, other) => one.sequence - other.sequence)
  }

  /** The erasures were carried out, and their jobs are deleted. */
  ended(erasures: ReadonlyArray<Erasure>): void {
    for (const { environment, sequence, userId } of erasures) {
      this.#jobs.delete(sequence)
      const name = userName(environment, userId)
      for (const latest of [this.#ahead, this.#through]) {
        if (latest.get(name) === sequence) latest.delete(name)
      }
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
