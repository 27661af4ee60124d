/**
 * An actor: a state, and a mailbox of commands that are applied to it one at a time, in the order accepted.
 *
 * - `state` is ahead: it includes every decision. `durable` follows when the journal has committed, and is the only
 *   one that callers see. States are immutable, so both can share their parts.
 * - A fiber exists only while the mailbox holds something (`ActorSystem`); the object stays as long as the
 *   actor is warm, linked into the order of use (`ActorCache`).
 * - `lastVisible` and `lastDurable` lead to its records that are not in the snapshot yet (`PendingRecords`). An actor is
 *   evicted only when the snapshot has everything up to `lastAppended`: its value on disk is then its whole state, even
 *   if a caller still waits for an answer.
 *
 * Cost of a warm, idle actor: this object, its state and its entry in the environment's map.
 */
import type { Effect, Result } from "effect"
import type { Meter, UserRefusal } from "../../domain/decide/Decide.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import type { HistoryNeeded, Past } from "../../domain/record/Past.ts"
import type {
  Cause,
  Fact,
  JournalRecord,
  Reference,
  Subject,
  UserCommand,
} from "../../domain/record/Record.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { Idempotency, IdempotencyCode } from "../dedupe/Idempotency.ts"
import { idSeed } from "../dedupe/IdIndex.ts"

/* A command on its way to an actor, and the answer to it. */

export interface UserMessage<Command extends UserCommand = UserCommand> {
  readonly userId: string
  readonly command: Command
}

/** `replayed`: the answer is that of an earlier request with the same Idempotency-Key. */
export interface Answer<A> {
  readonly reply: A
  readonly replayed: boolean
}

export type LogAnnotations = Readonly<Record<string, unknown>> | undefined

/** The trace that a record keeps, where the command's request has one (`LAUREL_TRACING`). */
export const traceOf = (annotations: LogAnnotations): string | undefined =>
  annotations?.parentSpanId === undefined
    ? undefined
    : `${annotations.traceId}-${annotations.parentSpanId}`

/** A command and its caller. Exactly one of the two callbacks is called, once. */
export interface Envelope<Command> {
  readonly command: Command
  readonly idempotency: Idempotency | undefined
  /**
   * Replaces the command just before it is decided: in the actor's own turn, with all of the actor's records durable
   * and nothing in between. Such a command has no `duplicateKey`.
   */
  readonly prepare?: Effect.Effect<Command, Broken> | undefined
  /** Added to log lines about the command: the id of its request. */
  readonly annotations: LogAnnotations
  /** The record is durable. `duplicate`: an earlier command with the same id wrote it. */
  readonly answered: (record: JournalRecord, duplicate: boolean) => void
  readonly refused: (error: LaurelError) => void
}

// biome-ignore lint/suspicious/noExplicitAny: commands differ by kind
export type AnyEnvelope = Envelope<any>

export interface Decision {
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
}

/** The two pure functions that make a kind of actor, and what is needed to find and load one. */
export interface ActorKind<State, Command> {
  /**
   * The decision on `command`, or its refusal. Total: a throw is a defect and crashes the actor. `found` is
   * the record that the command is about (`referenceOf`), if the actor has it; `meter` counts what it costs.
   * A decision that needs more than the state fails with `HistoryNeeded`, and is made again with that `past`.
   */
  readonly decide: (
    state: State,
    command: Command,
    now: number,
    found: JournalRecord | undefined,
    meter: Meter,
    past: Past | undefined,
  ) => Result.Result<Decision, LaurelError | HistoryNeeded>
  readonly apply: (state: State, record: JournalRecord) => State
  /** The state before the first record. */
  readonly empty: State
  /** Decodes the snapshot's value. */
  readonly decode: (value: Uint8Array) => State
  /** The actor's value for the snapshot; `undefined` for none. */
  readonly encode: (actor: Actor<State, Command>) => Uint8Array | string | undefined
  /** The sequence of the last record in a state, 0 for none. */
  readonly sequenceOf: (state: State) => number
  /** The name under which a repeat of the command is a duplicate; `undefined` where there is none. */
  readonly duplicateKey: (command: Command) => string | undefined
  /** The earlier record that the command is about; `undefined` where there is none. Such a command has a `duplicateKey`. */
  readonly referenceOf: (command: Command) => Reference<Command> | undefined
  /** The sequence of the latest record, durable or not, that a decision of this actor rests on; 0 for none. */
  readonly restsOn: (actor: Actor<State, Command>) => number
  /** Called when a record is durable, in order. */
  readonly committed: (actor: Actor<State, Command>, record: JournalRecord) => void
}

export class Actor<State, Command> {
  readonly subject: Subject
  readonly kind: ActorKind<State, Command>
  state: State
  durable: State
  loaded = false
  /** Failed too often: its state must be rebuilt from snapshot and journal before it is used again. */
  crashed = false
  running = false
  mailbox: Array<Envelope<Command>> = []
  /** The place of the next envelope in `mailbox`. */
  next = 0
  /** Commands accepted and not answered yet: in the mailbox, or waiting for the commit. */
  unanswered = 0
  /** The sequence of its last record, durable or not, 0 for none. An erasure does not reset it. */
  lastAppended = 0
  /** The same, but 0 again after an erasure: the last record that its own next commands may find. */
  lastVisible = 0
  /** The sequence of its last durable record, 0 for none. */
  lastDurable = 0
  /** The checksum of its stored value (`Entry.replaces`); `undefined`: unknown. */
  storedChecksum: number | undefined
  /** Of pending records that have a name, the latest by its hash, once it was worth making (`Deduplicator`). */
  named: Map<number, number> | undefined
  /** Where the hashes of this actor's ids begin (`BloomFilter`). */
  readonly idSeed: number
  /** A user's number on the leaderboard. */
  member: number | undefined
  restarts = 0
  restartedAt = 0
  downUntil = 0
  usedAt = 0
  newer: AnyActor | undefined
  older: AnyActor | undefined

  constructor(subject: Subject, kind: ActorKind<State, Command>) {
    this.subject = subject
    this.kind = kind
    this.idSeed = subject.actor === "user" ? idSeed(subject.environment, subject.userId) : 0
    this.state = kind.empty
    this.durable = kind.empty
  }

  /** The refusal of a full mailbox or a failed actor; `undefined`: commands are accepted. */
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

  /** The actor begins with this state, which is durable. */
  load(state: State): void {
    this.resume(state, state)
  }

  /** The actor begins with `durable`, and ahead of that with `state`. */
  resume(durable: State, state: State): void {
    this.state = state
    this.durable = durable
    this.loaded = true
    this.crashed = false
  }

  /** A record is durable: `state` is the one after it. */
  follow(record: JournalRecord, state: State): void {
    this.durable = state
    this.kind.committed(this, record)
  }

  /** Its own next commands see nothing of what it had before. */
  forgetAll(): void {
    this.lastVisible = 0
    this.named = undefined
  }
}

/** The refusal for `waitMs` after too many failures of an actor. */
export const failedTooOften = (waitMs: number): LaurelError<"overloaded"> =>
  laurelError("overloaded", "The user's actor failed too often.", {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  })

// biome-ignore lint/suspicious/noExplicitAny: commands and states differ by kind
export type AnyActor = Actor<any, any>

/* The codes of the engine's verbs, and the refusals of commands of any kind. */

/** The only code of a read: the storage failed. */
export type StorageCode = "storage_unavailable"

/** The codes with which the intake refuses commands, and a batch as a whole. */
export type IntakeCode = StorageCode | "shutting_down" | "overloaded"

/** The codes of the engine itself for commands of any kind. */
export type EngineCode = IntakeCode | "internal_error"

/** The codes of a command asked with `Asked`: only an Idempotency-Key can be reused or in progress. */
type KeyCode<Asked> = Asked extends Idempotency ? IdempotencyCode : never

/** All codes of a user's command. Its record may be too large: rules, quests and badges add to it. */
export type UserCode<Command extends UserCommand, Asked = undefined> =
  | EngineCode
  | "body_too_large"
  | UserRefusal<Command>
  | KeyCode<Asked>

/** All codes of a command to an environment. Its record holds little beyond a body, except the results of a batch. */
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
export const overloaded = laurelError("overloaded", "Nothing was changed.", {
  retryAfterSeconds: 1,
})

/* Whether the engine takes commands at the moment, and else why not. */

export interface IntakeOptions {
  readonly commit: { readonly stalled: boolean; readonly accepting: boolean }
  /** `pendingOfAll`: durable records that await a snapshot, of all engines of the process. */
  readonly changed: { readonly pendingOfAll: number }
}

export class Intake {
  readonly #options: IntakeOptions
  #closed = false

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Takes no more: the engine shuts down. */
  close(): void {
    this.#closed = true
  }

  /** The refusal of all commands; `undefined`: commands are accepted. */
  refusal(): LaurelError<IntakeCode> | undefined {
    if (this.#closed) return shuttingDown
    const { changed, commit } = this.#options
    if (commit.stalled) return storageUnavailable
    const full = !commit.accepting || changed.pendingOfAll >= limits.snapshotPendingRecordsMax
    return full ? overloaded : undefined
  }
}
