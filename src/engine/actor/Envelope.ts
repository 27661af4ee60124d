/** A command on its way to an actor, and the answer to it. */
import type { Effect } from "effect"
import type { JournalRecord, UserCommand } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { Idempotency } from "../dedupe/Idempotency.ts"

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
