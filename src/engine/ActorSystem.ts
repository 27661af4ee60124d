/**
 * Runs actors: mailboxes, activation, supervision.
 *
 * `accept` gives an envelope to an actor. One that is warm and idle takes it at once, in the same turn of
 * the event loop: decide, apply, append, with no state in between to be seen. When something has to be
 * waited for (loading a cold actor, looking up an old id, a restart) the actor has a fiber until its mailbox
 * is empty again, and whatever arrives meanwhile queues there. `apply` runs before the record is appended:
 * a defect there can not reach the journal. The answer goes out when the record is durable (`committed`).
 *
 * A defect (a throw in decide or apply) is reported once and answered with `internal_error`; the actor's
 * state is thrown away and rebuilt from snapshot and journal before the next envelope, with a growing pause.
 * After `actorRestartsMax` in `actorRestartWindowMs` the actor refuses everything for that long. Nothing is
 * replayed that could do the same again: what failed was never appended.
 */
import { type Clock, Effect, Result, Semaphore } from "effect"
import { type LaurelError, laurelError } from "../domain/Errors.ts"
import type { JournalRecord } from "../domain/Record.ts"
import { limits } from "../Limits.ts"
import { Broken, type Storage } from "../storage/Storage.ts"
import type { Actor, AnyActor, AnyEnvelope, Envelope } from "./Actor.ts"
import { encodeRecord } from "./Codec.ts"
import { type GroupCommit, nowhere } from "./GroupCommit.ts"
import { findByKey, readActorValue } from "./History.ts"
import { hashText, type IdFilter } from "./IdFilter.ts"
import { decodePending, type PendingRecord } from "./Pending.ts"
import { rebuildActor } from "./Rebuild.ts"

/** What the journal's commit hands back: the actor's state after the record, and who waits. */
export interface CommitEntry extends PendingRecord {
  record: JournalRecord | undefined
  state: unknown
  envelope: AnyEnvelope | undefined
}

export interface ActorSystemOptions {
  readonly storage: Storage["Service"]
  readonly clock: Clock.Clock
  readonly idFilter: IdFilter
  readonly commit: () => GroupCommit<CommitEntry>
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  /** Why nothing may be accepted at the moment. */
  readonly refusal: () => LaurelError | undefined
  /** Called before a cold actor is loaded: makes room, or says why there is none. */
  readonly admit: (actor: AnyActor) => LaurelError | undefined
  readonly onBroken: (cause: Broken) => void
  readonly run: (effect: Effect.Effect<void>) => void
}

export class ActorSystem {
  readonly #options: ActorSystemOptions
  readonly #activations = Semaphore.makeUnsafe(limits.activationsConcurrentMax)
  #lastAt = 0
  #whenIdle: (() => void) | undefined
  /** Commands accepted and not answered yet, of all actors. */
  unanswered = 0

  constructor(options: ActorSystemOptions) {
    this.#options = options
  }

  /** Epoch milliseconds that never go back, whatever the clock does. */
  now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.currentTimeMillisUnsafe())
    return this.#lastAt
  }

  /** Time can not be earlier than a record that was found in the journal. */
  observe(at: number): void {
    this.#lastAt = Math.max(this.#lastAt, at)
  }

  accept<State, Command>(actor: Actor<State, Command>, envelope: Envelope<Command>): void {
    const refusal = this.#options.refusal() ?? this.#full(actor)
    if (refusal !== undefined) {
      envelope.refused(refusal)
      return
    }
    actor.unanswered++
    this.unanswered++
    if (actor.running || !actor.loaded || actor.crashed) {
      actor.mailbox.push(envelope)
      if (!actor.running) {
        this.#fork(actor, actor.crashed ? this.#rebuild(actor) : this.#activate(actor))
      }
      return
    }
    const wait = this.#take(actor, envelope)
    if (wait !== undefined) this.#fork(actor, wait)
  }

  #full(actor: AnyActor): LaurelError | undefined {
    if (actor.unanswered >= limits.mailboxMessagesMax) {
      return laurelError("overloaded", "This mailbox is full.", { retryAfterSeconds: 1 })
    }
    if (actor.downUntil > 0) {
      const waitMs = actor.downUntil - this.#options.clock.currentTimeMillisUnsafe()
      if (waitMs > 0) {
        const retryAfterSeconds = Math.ceil(waitMs / 1_000)
        return laurelError("overloaded", "This actor failed too often.", { retryAfterSeconds })
      }
      actor.downUntil = 0
    }
    return undefined
  }

  /** The record is durable: its state may be seen and its caller answered. */
  committed(entry: CommitEntry, record: JournalRecord): void {
    const { actor, envelope } = entry
    actor.durable = entry.state
    // The entry stays until the next snapshot, which needs none of these.
    entry.record = undefined
    entry.state = undefined
    entry.envelope = undefined
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
        Effect.sync(() => this.#options.onBroken(new Broken({ operation: "run an actor", cause }))),
      ),
    )
  }

  /** Handles one envelope at once, or returns what has to be waited for until it is handled. */
  #take<State, Command>(
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
  ): Effect.Effect<void, Broken> | undefined {
    const key = actor.kind.duplicateKey(envelope.command)
    if (key === undefined || !this.#options.idFilter.mayHave(hashText(key, actor.idSeed))) {
      return this.#handle(actor, envelope, key)
    }
    const first = actor.pending?.get(key)
    if (first !== undefined) {
      return this.#answerDuplicate(actor, envelope, decodePending(first))
    }
    return Effect.flatMap(findByKey(this.#options.storage, actor.subject, key), (record) => {
      const wait =
        record === undefined
          ? this.#handle(actor, envelope, key)
          : this.#answerDuplicate(actor, envelope, record)
      return wait ?? Effect.void
    })
  }

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
  ): Effect.Effect<void, Broken> | undefined {
    const commit = this.#options.commit()
    const { idempotency } = envelope
    try {
      const at = this.now()
      const decided = actor.kind.decide(actor.state, envelope.command, at)
      const refused = Result.isFailure(decided) ? decided.failure : undefined
      if (refused !== undefined && idempotency === undefined) {
        // The refusal may rest on what is not durable yet.
        commit.afterCommit(() => this.#refuse(actor, envelope, refused))
        return undefined
      }
      const { cause, facts } = Result.getOrElse(decided, () => nothingDecided)
      const record: JournalRecord = {
        sequence: commit.nextSequence,
        at,
        subject: actor.subject,
        cause,
        facts,
        ...(idempotency && { kept: { ...idempotency, ...(refused && { error: refused }) } }),
      }
      const state = actor.kind.apply(actor.state, record)
      const encoded = encodeRecord(record)
      if (encoded.length > limits.recordBytesMax) {
        this.#refuse(actor, envelope, laurelError("body_too_large", "The record is too large."))
        return undefined
      }
      const duplicateKey = refused === undefined ? key : undefined
      const entry: CommitEntry = {
        actor,
        sequence: record.sequence,
        key: duplicateKey,
        text: nowhere,
        textStart: 0,
        textBytes: 0,
        record,
        state,
        envelope,
      }
      commit.append(encoded, entry)
      actor.state = state
      if (duplicateKey !== undefined) {
        this.#options.idFilter.add(hashText(duplicateKey, actor.idSeed))
        actor.remember(entry)
      }
      return undefined
    } catch (error) {
      this.#refuse(actor, envelope, internalError)
      return this.#restart(actor, error)
    }
  }

  #activate<State, Command>(actor: Actor<State, Command>): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      const refusal = this.#options.admit(actor)
      if (refusal !== undefined) {
        this.#refuseAll(actor, refusal)
        return Effect.void
      }
      return Semaphore.withPermit(
        this.#activations,
        Effect.map(readActorValue(this.#options.storage, actor.subject), (value) =>
          actor.load(value === undefined ? actor.kind.empty : actor.kind.decode(value)),
        ),
      )
    })
  }

  #refuseAll(actor: AnyActor, error: LaurelError): void {
    const waiting = actor.mailbox.slice(actor.next)
    actor.mailbox = []
    actor.next = 0
    for (const envelope of waiting) this.#refuse(actor, envelope, error)
  }

  #restart<State, Command>(
    actor: Actor<State, Command>,
    error: unknown,
  ): Effect.Effect<void, Broken> {
    const self = this
    return Effect.gen(function* () {
      yield* Effect.logError("An actor failed; its state is rebuilt from disk", error).pipe(
        Effect.annotateLogs({ actor: actor.subject.actor }),
      )
      const now = self.#options.clock.currentTimeMillisUnsafe()
      if (now - actor.restartedAt > limits.actorRestartWindowMs) actor.restarts = 0
      actor.restartedAt = now
      actor.restarts++
      if (actor.restarts > limits.actorRestartsMax) return self.#giveUp(actor, now)
      yield* Effect.sleep(limits.actorRestartBackoffMs * 2 ** (actor.restarts - 1))
      yield* Effect.callback<void>((resume) =>
        self.#options.commit().afterCommit(() => resume(Effect.void)),
      )
      const rebuilt = yield* Effect.exit(self.#rebuild(actor))
      if (rebuilt._tag === "Failure") self.#giveUp(actor, now)
    })
  }

  #giveUp(actor: AnyActor, now: number): void {
    actor.downUntil = now + limits.actorRestartWindowMs
    actor.crashed = true
    this.#refuseAll(actor, internalError)
  }

  #rebuild(actor: AnyActor): Effect.Effect<void, Broken> {
    return Effect.suspend(() =>
      rebuildActor(this.#options.storage, this.#options.watermark(), actor),
    )
  }
}

const nothingDecided = { cause: { kind: "request" }, facts: [] } as const

const internalError = laurelError("internal_error", "Nothing was changed. The log has the cause.")
