/**
 * Answers to callers. A command is answered when its record is durable; a refusal or a duplicate, when the records are
 * durable on which it rests, mostly at once. With a full disk no caller waits longer than `stalledAnswerMs`. An answer
 * decides neither the fate of its record nor how long the actor stays: the commit does.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { GroupCommit } from "../commit/GroupCommit.ts"
import type { AnyActor, AnyEnvelope } from "./Actor.ts"
import { type EngineRefusal, outcomeUnknown } from "./Actor.ts"

/** A record on its way to the journal: the actor's state after it, and the caller, until it is answered. */
export interface CommitEntry {
  readonly actor: AnyActor
  readonly record: JournalRecord
  readonly state: unknown
  envelope: AnyEnvelope | undefined
}

export interface AnswersOptions {
  readonly commit: GroupCommit<CommitEntry>
  /** The actor's last caller was refused, or answered without a record. */
  readonly onUnused: (actor: AnyActor) => void
  /** There is a command less to answer. */
  readonly onGiven: () => void
}

export class Answers {
  readonly #options: AnswersOptions
  #whenIdle: (() => void) | undefined
  /** Commands of all actors accepted and not answered yet, and batches that hold room. */
  unanswered = 0

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  /** Ends when no command waits for its answer; the caller must have closed the intake. */
  readonly idle = Effect.callback<void>((resume) => {
    if (this.unanswered === 0) resume(Effect.void)
    else this.#whenIdle = () => resume(Effect.void)
  })

  /** The actor has a command more to answer. */
  taken(actor: AnyActor): void {
    actor.unanswered++
    this.unanswered++
  }

  /** One command less to answer, or what else `idle` waited for. */
  given(): void {
    if (--this.unanswered === 0) this.#whenIdle?.()
    this.#options.onGiven()
  }

  #settle(actor: AnyActor): void {
    actor.unanswered--
    this.given()
  }

  refuse(actor: AnyActor, envelope: AnyEnvelope, refusal: EngineRefusal): void {
    this.#refuse(actor, envelope, refusal)
  }

  #refuse(actor: AnyActor, envelope: AnyEnvelope, error: LaurelError): void {
    this.#settle(actor)
    envelope.refused(error)
  }

  /** Refuses all that wait in the mailbox. */
  refuseAll(actor: AnyActor, error: EngineRefusal): void {
    const waiting = actor.mailbox.slice(actor.next)
    actor.mailbox = []
    actor.next = 0
    for (const envelope of waiting) this.refuse(actor, envelope, error)
  }

  /** Refuses once the records are durable that the decision rests on. `unknown`: after too long with a full disk. */
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

  /** Answers with an earlier record once that is durable. */
  duplicate(actor: AnyActor, envelope: AnyEnvelope, first: JournalRecord): undefined {
    const answer = () => {
      this.#settle(actor)
      envelope.answered(first, true)
    }
    const giveUp = () => this.refuse(actor, envelope, outcomeUnknown)
    this.#whenDurable(actor, first.sequence, answer, giveUp)
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
   * The record is durable. The entry lets go of its caller: an entry in V8's old generation, dead but not yet collected,
   * would keep the whole request alive through every scavenge, and that request the next ones.
   */
  committed(entry: CommitEntry): void {
    const { actor, envelope, record } = entry
    if (envelope === undefined) return
    entry.envelope = undefined
    this.#settle(actor)
    if (record.kept?.error === undefined) envelope.answered(record, false)
    else envelope.refused(record.kept.error)
  }

  /** The caller has waited too long for the commit: it gets no outcome. */
  abandon(entry: CommitEntry): void {
    const { actor, envelope } = entry
    if (envelope === undefined) return
    entry.envelope = undefined
    this.refuse(actor, envelope, outcomeUnknown)
  }
}
