/**
 * Runs actors: mailboxes, activation, supervision.
 *
 * `accept` gives an envelope to an actor. One that is warm and idle takes it at once, in the same turn of
 * the event loop: decide, apply, append, with no state in between to be seen. When something has to be
 * waited for (loading a cold actor, looking up an old id, a restart) the actor has a fiber until its mailbox
 * is empty again, and whatever arrives meanwhile queues there. `apply` runs before the record is appended:
 * a defect there can not reach the journal. The answer goes out when the record is durable (`committed`).
 *
 * A defect (a throw in decide or apply) is answered with `internal_error`, and the actor is restarted
 * (`Supervisor`). Nothing is replayed that could do the same again: what failed was never appended.
 */
import { Cause, Effect, Result, Semaphore } from "effect"
import { type LaurelError, laurelError } from "../domain/Errors.ts"
import type { JournalRecord, Kept, Subject } from "../domain/Record.ts"
import { limits } from "../Limits.ts"
import { type Broken, type Storage, toBroken } from "../storage/Storage.ts"
import {
  type Actor,
  type AnyActor,
  type AnyEnvelope,
  type Envelope,
  failedTooOften,
  type LogAnnotations,
} from "./Actor.ts"
import { encodeRecord } from "./Codec.ts"
import type { Idempotency } from "./Engine.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { GroupCommit } from "./GroupCommit.ts"
import { readActorValue } from "./History.ts"
import type { KnownIds } from "./KnownIds.ts"
import type { PendingRecords } from "./PendingRecords.ts"
import { Supervisor } from "./Supervisor.ts"

/** What the journal's commit hands back: the actor's state after the record, and who waits. */
export interface CommitEntry {
  readonly actor: AnyActor
  readonly record: JournalRecord
  readonly state: unknown
  envelope: AnyEnvelope | undefined
}

export interface ActorSystemOptions {
  readonly storage: Storage["Service"]
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  readonly knownIds: KnownIds
  readonly commit: () => GroupCommit<CommitEntry>
  readonly pending: PendingRecords
  /** An actor's durable record with this sequence. */
  readonly findRecord: (
    subject: Subject,
    sequence: number,
  ) => Effect.Effect<JournalRecord | undefined, Broken>
  /** Why nothing may be accepted at the moment. */
  readonly refusal: () => LaurelError | undefined
  /** Called before a cold actor is loaded: makes room, or says why there is none. */
  readonly admit: (actor: AnyActor) => LaurelError | undefined
  readonly onBroken: (cause: Broken) => void
  readonly run: (effect: Effect.Effect<void>) => void
  readonly metrics: EngineMetrics
}

export class ActorSystem {
  readonly #options: ActorSystemOptions
  readonly #supervisor: Supervisor
  /** Ends when all that was appended by now is durable. */
  readonly #committed: Effect.Effect<void>
  readonly #activations = Semaphore.makeUnsafe(limits.activationsConcurrentMax)
  #whenIdle: (() => void) | undefined
  /** Commands accepted and not answered yet, of all actors. */
  unanswered = 0
  /** Actors that wait for their state from disk. */
  activating = 0

  constructor(options: ActorSystemOptions) {
    this.#options = options
    const { commit, metrics, now, pending, storage } = options
    const committed = Effect.callback<void>((resume) =>
      commit().afterCommit(() => resume(Effect.void)),
    )
    this.#committed = committed
    const watermark = () => pending.watermark
    this.#supervisor = new Supervisor({ storage, now, watermark, committed, metrics })
  }

  accept<State, Command>(actor: Actor<State, Command>, envelope: Envelope<Command>): void {
    const refusal = this.#options.refusal() ?? actor.refusal(this.#options.now)
    if (refusal !== undefined) {
      this.#options.metrics.refused(refusal)
      envelope.refused(refusal)
      return
    }
    actor.unanswered++
    this.unanswered++
    if (actor.running || !actor.loaded || actor.crashed) {
      actor.mailbox.push(envelope)
      if (!actor.running) {
        this.#fork(actor, actor.crashed ? this.#supervisor.rebuild(actor) : this.#activate(actor))
      }
      return
    }
    const wait = this.#take(actor, envelope)
    if (wait !== undefined) this.#fork(actor, wait)
  }

  /** The record is durable: its state may be seen and its caller answered. */
  committed({ actor, envelope, record, state }: CommitEntry): void {
    actor.durable = state
    actor.kind.committed(actor, record)
    if (envelope === undefined) return
    this.#settle(actor)
    if (record.kept?.error === undefined) envelope.answered(record, false)
    else envelope.refused(record.kept.error)
  }

  /** The caller has waited too long for the commit, whose outcome it is not told. */
  abandon(entry: CommitEntry): void {
    const { actor, envelope } = entry
    if (envelope === undefined) return
    entry.envelope = undefined
    this.#settle(actor)
    envelope.refused(
      laurelError(
        "storage_unavailable",
        "The outcome is unknown: repeat the request with the same id or Idempotency-Key.",
        { retryAfterSeconds: 5 },
      ),
    )
  }

  #settle(actor: AnyActor): void {
    actor.unanswered--
    if (--this.unanswered === 0) this.#whenIdle?.()
  }

  /** Ends when no command waits for its answer; the caller sees to it that none is accepted. */
  readonly idle = Effect.callback<void>((resume) => {
    if (this.unanswered === 0) resume(Effect.void)
    else this.#whenIdle = () => resume(Effect.void)
  })

  #refuse(actor: AnyActor, envelope: AnyEnvelope, error: LaurelError): void {
    this.#settle(actor)
    envelope.refused(error)
  }

  /** The actor's fiber: waits for `first`, then empties the mailbox. */
  #fork<State, Command>(actor: Actor<State, Command>, first: Effect.Effect<void, Broken>): void {
    const self = this
    actor.running = true
    const fiber = Effect.gen(function* () {
      yield* first
      while (actor.next < actor.mailbox.length) {
        const envelope = actor.mailbox[actor.next++]!
        if (actor.next === actor.mailbox.length) {
          actor.mailbox = []
          actor.next = 0
        }
        const wait = self.#take(actor, envelope)
        if (wait !== undefined) yield* wait
      }
      actor.running = false
    })
    this.#options.run(
      Effect.catchCause(fiber, (cause) =>
        Effect.sync(() => this.#options.onBroken(toBroken("run an actor", Cause.squash(cause)))),
      ),
    )
  }

  /** Handles one envelope at once, or returns what has to be waited for until it is handled. */
  #take<State, Command>(
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
  ): Effect.Effect<void, Broken> | undefined {
    if (envelope.prepare !== undefined) {
      return this.#takePrepared(actor, envelope, envelope.prepare)
    }
    const key = actor.kind.duplicateKey(envelope.command)
    if (key === undefined) return this.#handle(actor, envelope, key)
    const reference = actor.kind.referenceOf(envelope.command)
    if (reference !== undefined) return this.#takeReferring(actor, envelope, key, reference)
    const first = this.#options.knownIds.firstOf(actor, key)
    if (first === undefined) return this.#handle(actor, envelope, key)
    if (!Effect.isEffect(first)) return this.#answerDuplicate(actor, envelope, first)
    return Effect.flatMap(first, (record) => {
      const wait =
        record === undefined
          ? this.#handle(actor, envelope, key)
          : this.#answerDuplicate(actor, envelope, record)
      return wait ?? Effect.void
    })
  }

  readonly #takePrepared = Effect.fnUntraced(function* <State, Command>(
    this: ActorSystem,
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    prepare: Effect.Effect<Command, Broken>,
  ) {
    yield* this.#committed
    const command = yield* prepare
    const wait = this.#handle(actor, { ...envelope, command }, undefined)
    if (wait !== undefined) yield* wait
  })

  /** Looks up the record that a command is about; a second such command finds it no more. */
  readonly #takeReferring = Effect.fnUntraced(function* <State, Command>(
    this: ActorSystem,
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    key: string,
    reference: number,
  ) {
    const { findRecord, knownIds } = this.#options
    const known = knownIds.firstOf(actor, key)
    const first = Effect.isEffect(known) ? yield* known : known
    const found = first === undefined ? yield* findRecord(actor.subject, reference) : undefined
    const wait = this.#handle(actor, envelope, key, found)
    if (wait !== undefined) yield* wait
  })

  #answerDuplicate<Command>(
    actor: AnyActor,
    envelope: Envelope<Command>,
    first: JournalRecord,
  ): undefined {
    this.#options.commit().afterCommit(() => {
      this.#settle(actor)
      envelope.answered(first, true)
    })
  }

  /** One command, in one turn. What it returns must be waited for: the actor failed and restarts. */
  #handle<State, Command>(
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    key: string | undefined,
    found?: JournalRecord,
  ): Effect.Effect<void, Broken> | undefined {
    const commit = this.#options.commit()
    const { idempotency } = envelope
    try {
      const at = this.#options.now()
      const decided = actor.kind.decide(actor.state, envelope.command, at, found)
      const refused = Result.isFailure(decided) ? decided.failure : undefined
      if (refused !== undefined && idempotency === undefined) {
        // The refusal may rest on what is not durable yet.
        commit.afterCommit(() => this.#refuse(actor, envelope, refused))
        return undefined
      }
      const { cause, facts } = Result.isSuccess(decided) ? decided.success : nothingDecided
      const { subject } = actor
      const sequence = commit.nextSequence
      const record: JournalRecord =
        idempotency === undefined
          ? { sequence, at, subject, cause, facts }
          : { sequence, at, subject, cause, facts, kept: keptOf(idempotency, refused) }
      const state = actor.kind.apply(actor.state, record)
      const encoded = encodeRecord(record)
      if (encoded.length > limits.recordBytesMax) {
        this.#refuse(actor, envelope, laurelError("body_too_large", "The record is too large."))
        return undefined
      }
      const { knownIds, pending } = this.#options
      commit.append(encoded, { actor, record, state, envelope })
      actor.state = state
      const duplicateKey = refused === undefined ? key : undefined
      const hash = duplicateKey === undefined ? undefined : knownIds.add(actor, duplicateKey)
      pending.link(actor, hash)
      if (cause.kind === "erasure") knownIds.erase(actor, sequence)
      return undefined
    } catch (error) {
      this.#refuse(actor, envelope, internalError)
      return this.#restart(actor, error, envelope.annotations)
    }
  }

  #activate<State, Command>(actor: Actor<State, Command>): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      const refusal = this.#options.admit(actor)
      if (refusal !== undefined) {
        this.#refuseAll(actor, refusal)
        return Effect.void
      }
      this.activating++
      return Semaphore.withPermit(
        this.#activations,
        Effect.map(readActorValue(this.#options.storage, actor.subject), (value) => {
          actor.load(value === undefined ? actor.kind.empty : actor.kind.decode(value))
          this.#options.metrics.activated()
        }),
      ).pipe(Effect.ensuring(Effect.sync(() => this.activating--)))
    })
  }

  #refuseAll(actor: AnyActor, error: LaurelError): void {
    const waiting = actor.mailbox.slice(actor.next)
    actor.mailbox = []
    actor.next = 0
    for (const envelope of waiting) this.#refuse(actor, envelope, error)
  }

  #restart(actor: AnyActor, defect: unknown, annotations: LogAnnotations): Effect.Effect<void> {
    return Effect.map(this.#supervisor.restart(actor, defect, annotations), () => {
      // Nothing is wrong with those that wait.
      if (actor.crashed) this.#refuseAll(actor, failedTooOften(limits.actorRestartWindowMs))
    })
  }
}

const keptOf = ({ fingerprint, key }: Idempotency, error: LaurelError | undefined): Kept =>
  error === undefined ? { key, fingerprint } : { key, fingerprint, error }

const nothingDecided = { cause: { kind: "request" }, facts: [] } as const

const internalError = laurelError("internal_error", "Nothing was changed. The log has the cause.")
