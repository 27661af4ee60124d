/**
 * An actor: a state, and a mailbox of commands that it handles one at a time, in the order
 * accepted.
 *
 * Invariants:
 * - `state` includes every decision. `durable` follows when the journal has committed the records,
 *   and is the only state that callers see. States are immutable, so the two share their parts.
 * - `lastDurable` ≤ `lastAppended`. `lastVisible` is `lastAppended`, or 0 after an erasure.
 * - `lastVisible` and `lastDurable` lead to the actor's records that the snapshot lacks
 *   (`PendingRecords`). All three are the sequence of the state in an actor that was just decoded.
 * - A user's actor is evicted only when its bucket has its whole state (`ActorCache`). If the
 *   bucket lacks a durable change, `isChanged` is true and the bucket has the actor in `changed`.
 *
 * Ownership: `ActorSystem` changes state and mailbox, the commit pipeline `durable` and
 * `lastDurable`, `ActorCache` the links by which it orders actors by use.
 *
 * Cost of a warm, idle actor: this object, its state and its entry in the environment's map. A
 * fiber exists only while the actor must wait for something (`ActorSystem`).
 */
import type { Effect, Result } from "effect"
import type { Meter, UserRefusal } from "../../domain/decide/Decide.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import type { Repeat } from "../../domain/decide/Repeat.ts"
import type { HistoryNeeded, Past } from "../../domain/record/Past.ts"
import type {
  Cause,
  Fact,
  JournalRecord,
  Subject,
  UserCommand,
} from "../../domain/record/Record.ts"
import type { Reference } from "../../domain/record/Reference.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { NamedRecords } from "../dedupe/Deduplicator.ts"
import type { Idempotency, IdempotencyCode } from "../dedupe/Idempotency.ts"
import { idSeed } from "../dedupe/IdIndex.ts"
import type { StoredActor } from "../records/SnapshotValues.ts"

/* A command on its way to an actor, and the answer to it. */

export interface UserMessage<Command extends UserCommand = UserCommand> {
  readonly userId: string
  readonly command: Command
}

/** `replayed`: the answer is the one to an earlier request with the same Idempotency-Key. */
export interface Answer<A> {
  readonly reply: A
  readonly replayed: boolean
}

export type LogAnnotations = Readonly<Record<string, unknown>> | undefined

/**
 * The trace that the record keeps; `undefined`: the command's request has none (`LAUREL_TRACING`).
 */
export const traceOf = (annotations: LogAnnotations): string | undefined =>
  annotations?.parentSpanId === undefined
    ? undefined
    : `${annotations.traceId}-${annotations.parentSpanId}`

/** A command and its caller. Exactly one of the two callbacks is called, once. */
export interface Envelope<Command> {
  readonly command: Command
  readonly idempotency: Idempotency | undefined
  /**
   * Makes the command that is decided in place of `command`. It runs when the actor reaches the
   * envelope and all of the actor's records are durable; the actor decides nothing between it and
   * the command. Such a command has no `duplicateKey`.
   */
  readonly prepare?: Effect.Effect<Command, Broken> | undefined
  /** The log lines about the command carry these: the id of its request. */
  readonly annotations: LogAnnotations
  /** The record is durable. `repeat`: an earlier command with the same id made it. */
  readonly answered: (record: JournalRecord, repeat?: Repeat) => void
  readonly refused: (error: LaurelError) => void
}

// biome-ignore lint/suspicious/noExplicitAny: commands differ by kind
export type AnyEnvelope = Envelope<any>

export interface Decision {
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
}

/** A kind of actor: its two pure functions, and how its state is stored and its records found. */
export interface ActorKind<State, Command> {
  /** How far the time of the actor's environment is ahead of the server's, in milliseconds. */
  readonly aheadMs: (state: State) => number
  /**
   * The decision on `command`, or its refusal, when the server's time is `at`. Total: a throw is a defect and crashes the actor.
   * `found` is the record that the command is about (`referenceOf`), if the actor has it; `meter`
   * counts the cost of the decision. A decision that needs more than the state fails with
   * `HistoryNeeded`; the caller then decides again with that `past`. `subject` is the actor's.
   */
  readonly decide: (
    state: State,
    command: Command,
    at: number,
    found: JournalRecord | undefined,
    meter: Meter,
    past: Past | undefined,
    subject: Subject,
  ) => Result.Result<Decision, LaurelError | HistoryNeeded>
  readonly apply: (state: State, record: JournalRecord) => State
  /** Called when a record of the actor was appended: the state has it, and it is not durable yet. */
  readonly appended: (record: JournalRecord) => void
  /** Whether `Merges` takes the command. */
  readonly concernsMerge: (state: State, command: Command) => boolean
  /** The state before the first record. */
  readonly empty: State
  /** The form of its state in the snapshot; `undefined`: states of users are in buckets. */
  readonly stored:
    | {
        readonly decode: (value: StoredActor) => State
        readonly encode: (state: State) => string
      }
    | undefined
  /** The sequence of the last record in a state, 0 for none. */
  readonly sequenceOf: (state: State) => number
  /** The name by which a repeat of the command is a duplicate; `undefined`: it has none. */
  readonly duplicateKey: (command: Command) => string | undefined
  /**
   * The earlier record that the command is about; `undefined`: it is about none. A command with a
   * reference also has a `duplicateKey`.
   */
  readonly referenceOf: (command: Command) => Reference<Command> | undefined
  /**
   * The sequence of the latest record that a decision of this actor rests on, durable or not; 0:
   * none.
   */
  readonly restsOn: (actor: Actor<State, Command>) => number
  /** Called for each record of the actor, in order, when it is durable. */
  readonly committed: (actor: Actor<State, Command>, record: JournalRecord) => void
}

export class Actor<State, Command> {
  readonly subject: Subject
  readonly kind: ActorKind<State, Command>
  state: State
  durable: State
  loaded = false
  /** The actor failed too often: its state must be loaded again before the next command. */
  crashed = false
  running = false
  mailbox: Array<Envelope<Command>> = []
  /** The place of the next envelope in `mailbox`. */
  next = 0
  /** Commands accepted and not answered yet: in the mailbox, or waiting for the commit. */
  unanswered = 0
  /** The sequence of its last record, durable or not; 0: none. An erasure does not reset it. */
  lastAppended = 0
  /**
   * The last record that its own next commands may find: `lastAppended`, but 0 after an erasure.
   */
  lastVisible = 0
  /** The sequence of its last durable record; 0: none. */
  lastDurable = 0
  /**
   * The sequence of the last record that it appended with facts; 0: none. A kept refusal has no
   * facts, so no decision rests on it.
   */
  lastChange = 0
  /** Whether its bucket lacks its durable state. */
  isChanged = false
  /** Of a project or the directory: the checksum of its stored value; `undefined`: unknown. */
  storedChecksum: number | undefined
  /**
   * By hash of a name, the latest pending record with it. Made when it is worth its cost
   * (`Deduplicator`).
   */
  named: NamedRecords | undefined
  /** The seed for hashes of this actor's ids (`hashText`). */
  readonly idSeed: number
  /** Of a user: the upper half of the hash of its id, which leads to its bucket. */
  readonly hash: number
  /** The user's number on the leaderboards (`Members`). */
  member: number | undefined
  restarts = 0
  restartedAt = 0
  downUntil = 0
  /** Its place in the order of use (`ActorCache`). */
  usedAt = 0
  newer: AnyActor | undefined
  older: AnyActor | undefined

  constructor(subject: Subject, kind: ActorKind<State, Command>, hash = 0) {
    this.subject = subject
    this.kind = kind
    this.hash = hash
    this.idSeed = subject.actor === "user" ? idSeed(subject.environment, subject.userId) : 0
    this.state = kind.empty
    this.durable = kind.empty
  }

  /** The refusal by a full mailbox or a failed actor; `undefined`: the actor takes commands. */
  refusal(now: () => number): LaurelError<"overloaded"> | undefined {
    if (this.unanswered >= limits.mailboxMessagesMax) {
      return laurelError("overloaded", "The user's mailbox is full.", { retryAfterSeconds: 1 })
    }
    if (this.downUntil > 0) {
      const waitMs = this.downUntil - now()
      if (waitMs > 0) return failedTooOften(waitMs)
      this.downUntil = 0
    }
    return undefined
  }

  /** Takes the next envelope out of the mailbox, which is not empty. */
  take(): Envelope<Command> {
    const envelope = this.mailbox[this.next++]!
    if (this.next === this.mailbox.length) {
      this.mailbox = []
      this.next = 0
    }
    return envelope
  }

  /** The actor begins with this durable state. */
  load(state: State): void {
    this.resume(state, state)
  }

  /**
   * The actor begins with `durable`, and with `state`, which also has the records not yet durable.
   */
  resume(durable: State, state: State): void {
    this.state = state
    this.durable = durable
    this.loaded = true
    this.crashed = false
  }

  /** The actor was decoded: its records end with this one, which is durable. */
  leadTo(sequence: number): void {
    this.lastAppended = sequence
    this.lastVisible = sequence
    this.lastDurable = sequence
  }

  /** A record is durable; `state` is the state after it. */
  follow(record: JournalRecord, state: State): void {
    this.durable = state
    this.kind.committed(this, record)
  }

  /** The actor's own next commands find none of its records so far. */
  forgetAll(): void {
    this.lastVisible = 0
    this.named = undefined
  }
}

/** The refusal of a new user when the states of all users take too much memory. */
export const statesFull = laurelError(
  "overloaded",
  "The server's memory for users is full: LAUREL_STATE_MIB_MAX.",
  { retryAfterSeconds: 60 },
)

/** The refusal by an actor that failed too often and takes commands again after `waitMs`. */
export const failedTooOften = (waitMs: number): LaurelError<"overloaded"> =>
  laurelError("overloaded", "The user's actor failed too often.", {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  })

// biome-ignore lint/suspicious/noExplicitAny: commands and states differ by kind
export type AnyActor = Actor<any, any>

/* The error codes of the engine's verbs, and the refusals that any command may get. */

/** The only code of a read: the storage failed. */
export type StorageCode = "storage_unavailable"

/** The codes with which the intake refuses a command or a whole batch. */
export type IntakeCode = StorageCode | "shutting_down" | "overloaded"

/** The codes with which the engine itself refuses a command of any kind. */
export type EngineCode = IntakeCode | "internal_error"

/**
 * The further codes of a command with an Idempotency-Key: only a key can be reused or in progress.
 */
type KeyCode<Asked> = Asked extends Idempotency ? IdempotencyCode : never

/**
 * All codes of a user's command. The record may be too large: rules, quests and badges add facts.
 */
export type UserCode<Command extends UserCommand, Asked = undefined> =
  | EngineCode
  | "body_too_large"
  | UserRefusal<Command>
  | KeyCode<Asked>

/**
 * All codes of a command to an environment. Only the record of a batch's results can be too large.
 */
export type ProjectCode<Command extends ProjectCommand, Asked = undefined> =
  | EngineCode
  | (Command extends { readonly kind: "keepBatch" } ? "body_too_large" : never)
  | ProjectRefusals[Command["kind"]]
  | KeyCode<Asked>

/** A refusal by the engine itself. */
export type EngineRefusal = LaurelError<EngineCode | "body_too_large">

export const shuttingDown = laurelError("shutting_down", "Retry when the server is back.", {
  retryAfterSeconds: 5,
})
export const outcomeUnknown = laurelError(
  "storage_unavailable",
  "The outcome is unknown: repeat the request with the same id or Idempotency-Key.",
  { retryAfterSeconds: 5 },
)
export const storageUnavailable = laurelError("storage_unavailable", "Nothing was changed.", {
  retryAfterSeconds: 5,
})
/** The refusal of what needs a damaged record of the journal. */
export const recordDamaged = laurelError(
  "storage_unavailable",
  "A record that the answer needs is damaged. Nothing was changed.",
  { retryAfterSeconds: 3_600 },
)
export const overloaded = laurelError("overloaded", "Nothing was changed.", {
  retryAfterSeconds: 1,
})

/* Whether the engine takes commands now, and if not, why. */

interface IntakeOptions {
  readonly commit: { readonly stalled: boolean; readonly accepting: boolean }
  /** `pendingOfAll`: how many durable records of all engines of the process await a snapshot. */
  readonly changed: { readonly pendingOfAll: number }
}

export class Intake {
  readonly #options: IntakeOptions
  #closed = false

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Refuses every further command: the engine shuts down. */
  close(): void {
    this.#closed = true
  }

  /** The refusal that every command gets now; `undefined`: the engine takes commands. */
  refusal(): LaurelError<IntakeCode> | undefined {
    if (this.#closed) return shuttingDown
    const { changed, commit } = this.#options
    if (commit.stalled) return storageUnavailable
    const full = !commit.accepting || changed.pendingOfAll >= limits.snapshotPendingRecordsMax
    return full ? overloaded : undefined
  }
}
