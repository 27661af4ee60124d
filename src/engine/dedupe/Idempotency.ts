/**
 * Idempotency keys: the first answer to a request is a record, which is kept for
 * `idempotencyRetentionMs`.
 *
 * Invariants:
 * - Of two requests with one key, at most one runs at a time, and the later one gets the first
 *   answer or a refusal.
 * - A request of one command has its key in the record of that command (`Kept`), so no crash can
 *   separate the two. The answer to a batch is a record of its own after those of the events: a
 *   retry after a crash between them finds the events as duplicates, by ids derived from the key.
 * - A key is `running` from the acceptance of its request until its record is durable, or until the
 *   request ends without a record. It is `recent` from then until the snapshot has the record;
 *   after that it is an entry of the snapshot (`KeptAnswers.ts`). A caller who is answered before
 *   the commit, because the disk is full, does not free the key.
 * - An answer about a user who was erased since counts as absent. The answer to a batch names
 *   records and no users (`BatchAnswer`), and that to an erasure names nobody.
 * - The refusal of a command to a user who does not exist is kept in a record of the project. A
 *   record of the user would not be in the chain that an erasure follows.
 *
 * Cost: a map entry for each running or recent key; a look-up in the snapshot for each other key.
 * Expired answers are deleted by `AnswerExpiry`.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import type { Erasures } from "../erasure/Erasures.ts"
import { isErasure, keptEntries, readKept } from "./KeptAnswers.ts"

/**
 * A request's Idempotency-Key: for 24 hours a request with the same key and fingerprint gets the
 * first answer again. The fingerprint covers method, path, condition and body.
 */
export interface Idempotency {
  readonly key: string
  readonly fingerprint: string
  /** The caller has reserved the key (`Engine.reserve`): the answer is kept without a look-up. */
  readonly reserved?: true
}

/**
 * `fresh`: the caller runs the request, then must call `release`. Otherwise `record` has the first
 * answer.
 */
export type Reservation =
  | { readonly fresh: true; readonly release: () => void }
  | { readonly fresh: false; readonly record: JournalRecord }

export type IdempotencyCode = "idempotency_in_progress" | "idempotency_key_reused"

type Store = Storage["Service"]

interface IdempotencyOptions {
  readonly storage: Store
  readonly now: () => number
  readonly erasures: Erasures
}

interface Running {
  readonly fingerprint: string
  /** Its record was appended: only the commit ends the request. */
  appended: boolean
}

export class IdempotencyKeys {
  readonly #options: IdempotencyOptions
  readonly #running = new Map<string, Running>()
  readonly #recent = new Map<string, JournalRecord>()

  constructor(options: IdempotencyOptions) {
    this.#options = options
  }

  reserve(
    environment: string,
    { key, fingerprint }: Idempotency,
  ): Effect.Effect<Reservation, LaurelError<IdempotencyCode> | Broken> {
    const self = this
    const name = `${environment}\n${key}`
    return Effect.gen(function* () {
      const running = self.#running.get(name)
      if (running !== undefined) {
        return yield* Effect.fail(
          running.fingerprint === fingerprint
            ? laurelError("idempotency_in_progress", "Retry when the first request has ended.", {
                retryAfterSeconds: 1,
              })
            : reused,
        )
      }
      const started = { fingerprint, appended: false }
      self.#running.set(name, started)
      const release = () => {
        // After the commit another request may run under this name.
        if (!started.appended && self.#running.get(name) === started) self.#running.delete(name)
      }
      const record = yield* Effect.onError(
        Effect.suspend(() => {
          const recent = self.#recent.get(name)
          return recent === undefined ? self.#stored(environment, key) : Effect.succeed(recent)
        }),
        () => Effect.sync(release),
      )
      if (
        record === undefined ||
        self.#isErased(record) ||
        record.at + limits.idempotencyRetentionMs <= self.#options.now()
      ) {
        return { fresh: true, release }
      }
      release()
      if (record.kept?.fingerprint !== fingerprint) return yield* Effect.fail(reused)
      return { fresh: false, record }
    })
  }

  /** A record that keeps an answer was appended. */
  appended(record: JournalRecord): void {
    const running = this.#running.get(nameOf(record) ?? "")
    if (running !== undefined) running.appended = true
  }

  /** A record is durable. */
  committed(record: JournalRecord): void {
    const name = nameOf(record)
    if (name === undefined) return
    this.#recent.set(name, record)
    this.#running.delete(name)
  }

  /** The snapshot has everything up to this sequence. */
  snapshotted(watermark: number): void {
    for (const [name, { sequence }] of this.#recent) {
      if (sequence <= watermark) this.#recent.delete(name)
    }
  }

  #stored(environment: string, key: string) {
    return Effect.map(readKept(this.#options.storage, environment, key), (kept) => kept?.record)
  }

  /** Whether the user of a kept answer was erased since. */
  #isErased(record: JournalRecord): boolean {
    const { sequence, subject } = record
    if (subject.actor !== "user" || isErasure(record)) return false
    return sequence <= this.#options.erasures.throughOf(subject.environment, subject.userId)
  }

  /** The entries of recent answers up to this sequence, for the snapshot. */
  *entries(watermark: number): Generator<Entry> {
    for (const record of this.#recent.values()) {
      if (record.sequence > watermark) continue
      if (!this.#isErased(record)) yield* keptEntries(record)
    }
  }
}

/** The name under which a record's answer is kept; `undefined`: the record keeps no answer. */
const nameOf = ({ kept, subject }: JournalRecord): string | undefined =>
  kept === undefined || subject.actor === "directory"
    ? undefined
    : `${subject.environment}\n${kept.key}`

const reused = laurelError(
  "idempotency_key_reused",
  "The first request with this key had a different method, path, condition or body.",
)
