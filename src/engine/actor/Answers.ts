/**
 * Answers to callers.
 *
 * - A command is answered when its record is durable. A refusal or a repeat is answered when the
 *   records that it rests on are durable, which they usually are.
 * - With a full disk no caller waits longer than `stalledAnswerMs`. The caller then learns that the
 *   outcome is unknown; the record still goes to the disk.
 * - Each caller gets exactly one answer.
 */
import { Effect, Result } from "effect"
import type { KeepRefusal } from "../../domain/decide/Project.ts"
import { decideRepeat } from "../../domain/decide/Repeat.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { GroupCommit } from "../commit/GroupCommit.ts"
import {
  type AnyActor,
  type AnyEnvelope,
  type EngineRefusal,
  type Envelope,
  outcomeUnknown,
} from "./Actor.ts"

/**
 * A record on its way to the journal, with the actor's state after it. `envelope`: until the caller
 * has an answer.
 */
export interface CommitEntry {
  readonly actor: AnyActor
  readonly record: JournalRecord
  readonly state: unknown
  envelope: AnyEnvelope | undefined
}

interface AnswersOptions {
  readonly commit: GroupCommit<CommitEntry>
  /** The actor's last caller was refused, or answered without a record. */
  readonly onUnused: (actor: AnyActor) => void
  /** Called after each answer. */
  readonly onGiven: () => void
}

export class Answers {
  readonly #options: AnswersOptions
  #whenIdle: (() => void) | undefined
  /**
   * Commands of all actors that were accepted and have no answer yet, and batches that hold room.
   */
  unanswered = 0

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  /** Ends when every command has its answer. The intake must be closed before. */
  readonly idle = Effect.callback<void>((resume) => {
    if (this.unanswered === 0) resume(Effect.void)
    else this.#whenIdle = () => resume(Effect.void)
  })

  /** The actor has accepted a command. */
  taken(actor: AnyActor): void {
    actor.unanswered++
    this.unanswered++
  }

  /** A command has its answer, or a batch has given up its room. */
  given(): void {
    if (--this.unanswered === 0) this.#whenIdle?.()
    this.#options.onGiven()
  }

  #settle(actor: AnyActor): void {
    actor.unanswered--
    this.given()
  }

  /** Another actor has accepted or refused the command. */
  passedOn(actor: AnyActor): void {
    this.#settle(actor)
  }

  refuse(actor: AnyActor, envelope: AnyEnvelope, refusal: EngineRefusal): void {
    this.#refuse(actor, envelope, refusal)
  }

  /** Refuses with what another actor decided. */
  refuseWith(actor: AnyActor, envelope: AnyEnvelope, refusal: LaurelError): void {
    this.#refuse(actor, envelope, refusal)
  }

  /** Answers with `record`, which is durable or tells what is. */
  answer(actor: AnyActor, envelope: AnyEnvelope, record: JournalRecord): void {
    this.#settle(actor)
    envelope.answered(record)
  }

  #refuse(actor: AnyActor, envelope: AnyEnvelope, error: LaurelError): void {
    this.#settle(actor)
    envelope.refused(error)
  }

  /** Refuses all commands in the mailbox. */
  refuseAll(actor: AnyActor, error: EngineRefusal): void {
    const waiting = actor.mailbox.slice(actor.next)
    actor.mailbox = []
    actor.next = 0
    for (const envelope of waiting) this.refuse(actor, envelope, error)
  }

  /**
   * Refuses with `error` once the records that the decision rests on are durable, or with `unknown`
   * if the disk has been full for too long.
   */
  refuseWhenDurable(
    actor: AnyActor,
    envelope: AnyEnvelope,
    error: LaurelError,
    unknown: EngineRefusal,
  ): undefined {
    const refuse = (because: LaurelError) => this.#refuse(actor, envelope, because)
    this.#whenDurable(
      actor,
      actor.kind.restsOn(actor),
      () => refuse(error),
      () => refuse(unknown),
    )
  }

  /**
   * The command by which the project keeps `refusal` for a user who does not exist. The answer to
   * it is the answer to `envelope`.
   */
  keptByProject(
    actor: AnyActor,
    envelope: AnyEnvelope,
    refusal: LaurelError,
  ): Envelope<KeepRefusal> {
    const { annotations, idempotency } = envelope
    const refused = (error: LaurelError): void => {
      this.#refuse(actor, envelope, error)
      this.#options.onUnused(actor)
    }
    return {
      command: { kind: "keepRefusal", refusal },
      idempotency,
      annotations,
      answered: () => refused(refusal),
      refused,
    }
  }

  /**
   * Answers a repeat with its first record, or refuses it, once that record and its `revocation`
   * are durable.
   */
  repeat(
    actor: AnyActor,
    envelope: AnyEnvelope,
    first: JournalRecord,
    revocation: JournalRecord | undefined,
  ): undefined {
    const repeat = decideRepeat(envelope.command, first, revocation !== undefined)
    const answer = () => {
      if (Result.isFailure(repeat)) {
        this.#refuse(actor, envelope, repeat.failure)
        return
      }
      this.#settle(actor)
      envelope.answered(first, repeat.success)
    }
    const giveUp = () => this.refuse(actor, envelope, outcomeUnknown)
    // A revocation comes after the record that it revokes.
    this.#whenDurable(actor, (revocation ?? first).sequence, answer, giveUp)
  }

  #whenDurable(actor: AnyActor, sequence: number, answer: () => void, giveUp: () => void): void {
    const { commit } = this.#options
    if (sequence <= commit.durableSequence) {
      answer()
      return
    }
    const later = (settle: () => void): void => {
      settle()
      this.#options.onUnused(actor)
    }
    commit.afterCommit({
      committed: () => later(answer),
      stalled: () => {
        later(giveUp)
        return false
      },
    })
  }

  /**
   * The record is durable. The entry drops its caller: a dead entry in V8's old generation would
   * keep the whole request alive through every scavenge until the entry is collected.
   */
  committed(entry: CommitEntry): void {
    const { actor, envelope, record } = entry
    if (envelope === undefined) return
    entry.envelope = undefined
    this.#settle(actor)
    if (record.kept?.error === undefined) envelope.answered(record)
    else envelope.refused(record.kept.error)
  }

  /** The caller has waited too long for the commit: it learns that the outcome is unknown. */
  abandon(entry: CommitEntry): void {
    const { actor, envelope } = entry
    if (envelope === undefined) return
    entry.envelope = undefined
    this.refuse(actor, envelope, outcomeUnknown)
  }
}
