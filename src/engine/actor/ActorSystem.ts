/**
 * Runs actors: takes commands into mailboxes, loads states, decides, appends records, restarts.
 *
 * Invariants:
 * - An actor handles one command at a time, in the order of arrival. `Actor.running` is true while
 *   the actor has a fiber or waits for its turn; commands that arrive meanwhile queue in its
 *   mailbox.
 * - Decide, apply and append of one command happen in one turn of the event loop. No other code
 *   sees a state between them.
 * - `apply` runs before the record is appended, so a defect in `apply` cannot reach the journal.
 * - The sequence of a record is greater than that of the actor's record before it (asserted).
 * - An answer goes out when its record is durable (`Answers`). A refusal or a repeat goes out
 *   when the records that it rests on are durable, which they usually are. With a full disk no
 *   caller waits longer than `stalledAnswerMs`.
 *
 * Ownership: this class changes an actor's state, mailbox and `running`. `ActorCache` owns the
 * actor's life in memory, `GroupCommit` the record from its append on, `Supervisor` loads and
 * restarts.
 *
 * Cost: an idle actor handles a command in the caller's turn, without a fiber; a user who is not
 * decoded is decoded first. An actor gets a fiber, until its mailbox is empty, only where it must
 * wait: for the look-up of an old id, for history, for a restart, or for a later turn because
 * decisions have filled the present one (`DecisionTurns`).
 *
 * Defects: a throw in decide or apply is answered with `internal_error`, and the actor restarts
 * (`Supervisor`). The command is not replayed: its record was never appended.
 */
import { Cause, Effect, Result } from "effect"
import { SettlementNeeded } from "../../domain/decide/Leagues.ts"
import { HistoryNeeded, type Past } from "../../domain/record/Past.ts"
import { type JournalRecord, revocationKey, type UserCommand } from "../../domain/record/Record.ts"
import type { Reference } from "../../domain/record/Reference.ts"
import { noneAbsorbed, type UserState } from "../../domain/user/User.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type Broken, brokenBy, isDamagedRecord } from "../../storage/Storage.ts"
import { owedTo } from "../boards/Winners.ts"
import type { GroupCommit } from "../commit/GroupCommit.ts"
import type { Deduplicator } from "../dedupe/Deduplicator.ts"
import type { IdempotencyKeys } from "../dedupe/Idempotency.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { encodeRecord } from "../records/Codec.ts"
import {
  type Actor,
  type AnyActor,
  type AnyEnvelope,
  type EngineRefusal,
  type Envelope,
  failedTooOften,
  type Intake,
  type LogAnnotations,
  recordDamaged,
  shuttingDown,
  statesFull,
  storageUnavailable,
  traceOf,
} from "./Actor.ts"
import type { ActorCache } from "./ActorCache.ts"
import { Answers, type CommitEntry } from "./Answers.ts"
import type { DecisionTurns } from "./DecisionTurns.ts"
import type { UserActor } from "./Environments.ts"
import { Merges, OwnEnvelope } from "./Merges.ts"
import { keptOf, recordOf } from "./NewRecord.ts"
import type { RecordFinder } from "./RecordFinder.ts"
import type { LoadParts } from "./Supervisor.ts"
import { Supervisor } from "./Supervisor.ts"

/* Finds the earlier record that a command is about, by its sequence or by the caller's id. */

interface ReferParts {
  readonly deduplicator: Deduplicator
  readonly history: RecordFinder
}

interface Referring<Command> {
  /** The command about the record found. */
  readonly command: Command
  readonly key: string | undefined
  /** `undefined` also where an earlier command already was about the record. */
  readonly found: JournalRecord | undefined
}

/** Runs while the actor handles the command: the actor decides nothing else meanwhile. */
const refer = Effect.fnUntraced(function* <State, Command>(
  actor: Actor<State, Command>,
  asked: Command,
  reference: Reference<Command>,
  parts: ReferParts,
): Effect.fn.Return<Referring<Command>, Broken> {
  const record = yield* findReferred(actor, reference, parts)
  const command = record === undefined ? asked : reference.about(record)
  const key = actor.kind.duplicateKey(command)
  if (record === undefined || key === undefined) return { command, key, found: record }
  const first = yield* firstOf(actor, key, parts)
  return { command, key, found: first === undefined ? record : undefined }
})

const findReferred = Effect.fnUntraced(function* (
  actor: AnyActor,
  { fits, key, sequence }: Pick<Reference<unknown>, "fits" | "key" | "sequence">,
  parts: ReferParts,
) {
  const named = yield* parts.history.findForActor(actor.subject, sequence)
  if (named !== undefined && fits(named)) return named
  return key === undefined ? undefined : yield* firstOf(actor, key, parts)
})

const firstOf = (
  actor: AnyActor,
  key: string,
  { deduplicator }: ReferParts,
): Effect.Effect<JournalRecord | undefined, Broken> => {
  const first = deduplicator.firstOf(actor, key, absorbedOf(actor))
  return Effect.isEffect(first) ? first : Effect.succeed(first)
}

/** The users who were merged into the actor's user. */
const absorbedOf = ({ state, subject }: AnyActor): UserState["absorbed"] =>
  subject.actor === "user" && state !== undefined ? state.absorbed : noneAbsorbed

/** The bytes of the states of all users, and their bound. */
interface StatesBound {
  readonly bytes: number
  readonly bytesMax: number
}

interface ActorSystemOptions extends LoadParts {
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  readonly deduplicator: Deduplicator
  readonly idempotency: IdempotencyKeys
  readonly actorCache: ActorCache
  readonly states: StatesBound
  readonly commit: GroupCommit<CommitEntry>
  readonly history: RecordFinder
  readonly intake: Intake
  readonly onBroken: (cause: Broken) => void
  /** Called after each answer. */
  readonly onAnswered: () => void
  /** Runs the fiber of an actor. */
  readonly run: (effect: Effect.Effect<void>) => void
  readonly metrics: EngineMetrics
  readonly turns: DecisionTurns
}

export class ActorSystem {
  readonly #options: ActorSystemOptions
  readonly #supervisor: Supervisor
  /**
   * Ends with true when every record appended so far is durable, or with false when the disk has
   * been full for too long.
   */
  readonly #committed: Effect.Effect<boolean>
  readonly #merges: Merges
  readonly answers: Answers
  readonly turns: DecisionTurns

  constructor(options: ActorSystemOptions) {
    this.#options = options
    this.turns = options.turns
    this.#committed = Effect.callback((resume) =>
      options.commit.afterCommit({
        committed: () => resume(Effect.succeed(true)),
        stalled: () => {
          resume(Effect.succeed(false))
          return false
        },
      }),
    )
    this.#supervisor = new Supervisor(options)
    const { commit, onAnswered } = options
    const onUnused = (actor: AnyActor): void => this.#leave(actor)
    this.answers = new Answers({ commit, onUnused, onGiven: onAnswered })
    this.#merges = new Merges({
      answers: this.answers,
      accept: (...command) => this.acceptForUser(...command, true),
      take: (actor, envelope) => this.#take(actor, envelope),
      handle: (actor, envelope, command) =>
        this.#handle(actor, envelope, undefined, undefined, command),
      orRefused: (...before) => this.#orRefused(...before),
      committed: this.#committed,
      standingIn: (environment) => options.environments.of(environment).standing,
      payoutsOf: (environment) => options.environments.of(environment).project.state.payouts,
      owedTo: (environment, user) =>
        owedTo(options.storage, options.environments.of(environment), user),
    })
  }

  /** Gives the command to its actor, or refuses it. */
  accept<State, Command>(actor: Actor<State, Command>, envelope: Envelope<Command>): void {
    const refusal = this.#options.intake.refusal()
    if (refusal === undefined) this.#receive(actor, envelope)
    else this.#turnAway(envelope, refusal)
  }

  /**
   * `accept` for a user. Makes the actor where there is none, unless the command is refused. A
   * command of a batch that has `entered` (`BatchRoom`) is refused only for its own user.
   */
  acceptForUser(
    environmentId: string,
    userId: string,
    envelope: Envelope<UserCommand>,
    entered = false,
  ): void {
    const { actorCache, environments, intake, metrics, states } = this.#options
    const refused = entered ? undefined : intake.refusal()
    if (refused !== undefined) {
      this.#turnAway(envelope, refused)
      return
    }
    const environment = environments.of(environmentId)
    let actor: UserActor | undefined = actorCache.use(environment, userId)
    if (actor === undefined) {
      if (states.bytes >= states.bytesMax && !environment.states.has(userId)) {
        metrics.stateRefused()
        this.#turnAway(envelope, statesFull)
        return
      }
      actor = actorCache.add(environment, userId)
    }
    this.#receive(actor, envelope)
  }

  /** Refuses a command before an actor has it. */
  #turnAway(envelope: AnyEnvelope, refusal: EngineRefusal): void {
    this.#options.metrics.refused(refusal)
    envelope.refused(refusal)
  }

  #receive<State, Command>(actor: Actor<State, Command>, envelope: Envelope<Command>): void {
    const refusal = actor.refusal(this.#options.now)
    if (refusal !== undefined) {
      this.#turnAway(envelope, refusal)
      return
    }
    this.answers.taken(actor)
    if (actor.running) {
      actor.mailbox.push(envelope)
      return
    }
    const { subject } = actor
    if (subject.actor === "user") {
      if (this.turns.isFull(subject.environment)) {
        actor.running = true
        this.turns.wait(subject.environment, (ended) => this.#takeInTurn(actor, envelope, ended))
        return
      }
      this.turns.taken()
    }
    if (!this.#isReady(actor)) {
      actor.mailbox.push(envelope)
      this.#forkLoading(actor)
      return
    }
    const wait = this.#take(actor, envelope)
    if (wait !== undefined) this.#fork(actor, wait)
    else if (actor.unanswered === 0) this.#leave(actor)
  }

  /** Releases an idle actor that has no state: no command created the user. */
  #leave(actor: AnyActor): void {
    const isVacant = actor.state === undefined && actor.unanswered === 0 && !actor.crashed
    if (isVacant && actor.restarts === 0) this.#options.actorCache.release(actor)
  }

  /**
   * Handles the command that has waited for its turn. Needs a fiber only if more must be waited
   * for.
   */
  #takeInTurn(actor: AnyActor, envelope: AnyEnvelope, ended: boolean): void {
    if (ended) {
      this.answers.refuse(actor, envelope, shuttingDown)
      this.#stop(actor)
      return
    }
    if (!this.#isReady(actor)) {
      // Ahead of the commands that came meanwhile.
      actor.mailbox.unshift(envelope)
      this.#forkLoading(actor)
      return
    }
    const wait = this.#take(actor, envelope)
    if (wait !== undefined || actor.mailbox.length > 0) {
      this.#fork(actor, Effect.andThen(wait ?? Effect.void, this.#turnOf(actor)))
      return
    }
    actor.running = false
    this.#leave(actor)
  }

  /** The actor's fiber: waits for `first`, then empties the mailbox. */
  #fork<State, Command>(actor: Actor<State, Command>, first: Effect.Effect<void, Broken>): void {
    const self = this
    actor.running = true
    const fiber = Effect.gen(function* () {
      yield* first
      while (actor.next < actor.mailbox.length) {
        const wait = self.#take(actor, actor.take())
        if (wait !== undefined) yield* wait
        if (actor.next < actor.mailbox.length) yield* self.#turnOf(actor)
      }
      actor.running = false
      self.#leave(actor)
    })
    this.#options.run(
      fiber.pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.#stop(actor))),
        Effect.catchCause((cause) =>
          Effect.sync(() => {
            if (!Cause.hasInterruptsOnly(cause)) {
              this.#options.onBroken(brokenBy("run an actor", cause))
            }
          }),
        ),
      ),
    )
  }

  /** The engine has ended: the actor has no fiber any more, so its waiting callers are refused. */
  #stop(actor: AnyActor): void {
    actor.running = false
    this.answers.refuseAll(actor, shuttingDown)
    this.#leave(actor)
  }

  /** Ends when the actor may decide its next command. Only users wait for a turn. */
  #turnOf({ subject }: AnyActor): Effect.Effect<void> {
    return subject.actor === "user" ? this.turns.turn(subject.environment) : Effect.void
  }

  /**
   * Handles one command at once, or returns an effect that handles it; the caller must run that.
   */
  #take<State, Command>(
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
  ): Effect.Effect<void, Broken> | undefined {
    if (actor.kind.concernsMerge(actor.state, envelope.command)) {
      return this.#merges.take(actor, envelope)
    }
    if (envelope.prepare !== undefined) {
      return this.#takePrepared(actor, envelope, envelope.prepare)
    }
    const key = actor.kind.duplicateKey(envelope.command)
    if (key === undefined) return this.#handle(actor, envelope, key)
    const reference = actor.kind.referenceOf(envelope.command)
    if (reference !== undefined) {
      const referring = this.#takeReferring(actor, envelope, reference)
      return this.#unlessDamaged(actor, envelope, referring)
    }
    const first = this.#options.deduplicator.firstOf(actor, key, absorbedOf(actor))
    if (first === undefined) return this.#handle(actor, envelope, key)
    if (!Effect.isEffect(first)) return this.#answerRepeat(actor, envelope, first)
    const looked = Effect.flatMap(this.#orRefused(actor, envelope, first), (record) => {
      const wait =
        record === undefined
          ? this.#handle(actor, envelope, key)
          : this.#answerRepeat(actor, envelope, record)
      return wait ?? Effect.void
    })
    return this.#unlessDamaged(actor, envelope, looked)
  }

  /**
   * Answers a command whose id the record `first` has. The filter of ids knows of most records that
   * they were not revoked, so that a look-up is rare.
   */
  #answerRepeat(
    actor: AnyActor,
    envelope: AnyEnvelope,
    first: JournalRecord,
  ): Effect.Effect<void, Broken> | undefined {
    const { deduplicator } = this.#options
    const key = revocationKey(first.sequence)
    const revocation = deduplicator.firstOf(actor, key, absorbedOf(actor))
    if (!Effect.isEffect(revocation)) {
      return this.answers.repeat(actor, envelope, first, revocation)
    }
    const looked = Effect.map(this.#orRefused(actor, envelope, revocation), (record) =>
      this.answers.repeat(actor, envelope, first, record),
    )
    return this.#unlessDamaged(actor, envelope, looked)
  }

  /** `work`, which looks up records before it handles `envelope`; refuses it if one is damaged. */
  #unlessDamaged(
    actor: AnyActor,
    envelope: AnyEnvelope,
    work: Effect.Effect<void, Broken>,
  ): Effect.Effect<void, Broken> {
    return Effect.catchIf(work, isDamagedRecord, () =>
      Effect.sync(() => this.answers.refuse(actor, envelope, recordDamaged)),
    )
  }

  /** `before`, which precedes the handling of `envelope`; refuses the caller if the engine ends. */
  #orRefused<A>(
    actor: AnyActor,
    envelope: AnyEnvelope,
    before: Effect.Effect<A, Broken>,
  ): Effect.Effect<A, Broken> {
    return Effect.onInterrupt(before, () =>
      Effect.sync(() => this.answers.refuse(actor, envelope, shuttingDown)),
    )
  }

  readonly #takePrepared = Effect.fnUntraced(function* <State, Command>(
    this: ActorSystem,
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    prepare: Effect.Effect<Command, Broken>,
  ) {
    const prepared = Effect.flatMap(this.#committed, (isCommitted) =>
      isCommitted ? prepare : Effect.undefined,
    )
    const command = yield* this.#orRefused(actor, envelope, prepared)
    if (command === undefined) {
      this.answers.refuse(actor, envelope, storageUnavailable)
      return
    }
    const wait = this.#handle(actor, envelope, undefined, undefined, command)
    if (wait !== undefined) yield* wait
  })

  /**
   * Looks up the record that a command is about. A second such command does not find the record.
   */
  readonly #takeReferring = Effect.fnUntraced(function* <State, Command>(
    this: ActorSystem,
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    reference: Reference<Command>,
  ) {
    const referring = refer(actor, envelope.command, reference, this.#options)
    const { command, found, key } = yield* this.#orRefused(actor, envelope, referring)
    const wait = this.#handle(actor, envelope, key, found, command)
    if (wait !== undefined) yield* wait
  })

  /**
   * Handles one command in one turn. The caller must run a returned effect: it recalls history for
   * the decision, or restarts the actor after a defect.
   */
  #handle<State, Command>(
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    key: string | undefined,
    found?: JournalRecord,
    command: Command = envelope.command,
    past?: Past,
  ): Effect.Effect<void, Broken> | undefined {
    const { commit } = this.#options
    const { annotations, idempotency } = envelope
    try {
      const at = this.#options.now()
      const { turns } = this
      const { meter } = turns
      const decided = actor.kind.decide(actor.state, command, at, found, meter, past, actor.subject)
      turns.decided(decided)
      const refused = Result.isFailure(decided) ? decided.failure : undefined
      if (refused instanceof SettlementNeeded) {
        const again = () => this.#handle(actor, envelope, key, found, command, past)
        return this.#settleFirst(actor, envelope, again)
      }
      if (refused instanceof HistoryNeeded) {
        const recalling = this.#handleRecalling(actor, envelope, key, found, command, refused)
        return this.#unlessDamaged(actor, envelope, recalling)
      }
      if (refused !== undefined && idempotency === undefined) {
        return this.answers.refuseWhenDurable(actor, envelope, refused, storageUnavailable)
      }
      const { subject } = actor
      if (refused !== undefined && subject.actor === "user" && actor.state === undefined) {
        const { project } = this.#options.environments.of(subject.environment)
        this.#receive(project, this.answers.keptByProject(actor, envelope, refused))
        return undefined
      }
      const { cause, facts } = Result.isSuccess(decided) ? decided.success : nothingDecided
      const sequence = this.#nextSequenceFor(actor)
      const record = recordOf(
        { sequence, at, subject, cause, facts },
        actor.kind.aheadMs(actor.state),
        idempotency && keptOf(idempotency, refused),
        traceOf(annotations),
      )
      const state = actor.kind.apply(actor.state, record)
      const encoded = encodeRecord(record)
      if (encoded.length > limits.recordBytesMax) {
        this.answers.refuse(
          actor,
          envelope,
          laurelError("body_too_large", "The record is too large."),
        )
        return undefined
      }
      const { deduplicator, pending } = this.#options
      const previous = actor.kind.sequenceOf(actor.state)
      commit.append(encoded, previous, { actor, record, state, envelope })
      actor.kind.appended(record)
      if (idempotency !== undefined) this.#options.idempotency.appended(record)
      actor.state = state
      if (facts.length > 0) actor.lastChange = sequence
      const duplicateKey = refused === undefined ? key : undefined
      const hash = duplicateKey === undefined ? undefined : deduplicator.add(actor, duplicateKey)
      pending.link(actor, hash)
      if (cause.kind === "erasure") deduplicator.erase(actor, sequence)
      return undefined
    } catch (error) {
      this.answers.refuse(actor, envelope, internalError)
      return this.#restart(actor, error, annotations)
    }
  }

  /**
   * Settles closed windows of leagues for the user by a tick, then handles `envelope` by `again`: in
   * the same turn, unless the tick met a defect. Then nothing is settled, and the caller is refused.
   */
  #settleFirst(
    actor: AnyActor,
    envelope: AnyEnvelope,
    again: () => Effect.Effect<void, Broken> | undefined,
  ): Effect.Effect<void, Broken> | undefined {
    const before = actor.lastChange
    this.answers.taken(actor)
    const tick = new OwnEnvelope({ kind: "tick" }, envelope.annotations)
    const wait = this.#handle(actor, tick, undefined)
    if (wait === undefined && actor.lastChange > before) return again()
    this.answers.refuse(actor, envelope, internalError)
    return wait
  }

  /**
   * The sequence of the actor's next record. A throw is a defect of this actor: nothing is
   * appended.
   */
  #nextSequenceFor({ lastAppended, state, kind }: AnyActor): number {
    const sequence = this.#options.commit.nextSequence
    const last = Math.max(lastAppended, kind.sequenceOf(state))
    if (sequence <= last) {
      throw new Error(`Record ${sequence} does not follow record ${last} of its actor`)
    }
    return sequence
  }

  /**
   * `#handle` with the history that the decision needs. The actor decides nothing else meanwhile.
   */
  readonly #handleRecalling = Effect.fnUntraced(function* <State, Command>(
    this: ActorSystem,
    actor: Actor<State, Command>,
    envelope: Envelope<Command>,
    key: string | undefined,
    found: JournalRecord | undefined,
    command: Command,
    needed: HistoryNeeded,
  ) {
    const past = yield* this.#options.history.recallForActor(actor, needed)
    const wait = this.#handle(actor, envelope, key, found, command, past)
    if (wait !== undefined) yield* wait
  })

  /** Whether the actor can decide now: it has its state, or could just decode it. */
  #isReady(actor: AnyActor): boolean {
    if (actor.crashed) return false
    if (actor.loaded) return true
    const bytes = this.#supervisor.loadAtOnce(actor)
    if (bytes === undefined) return false
    this.turns.loaded(bytes)
    this.#options.metrics.decoded()
    return true
  }

  #forkLoading(actor: AnyActor): void {
    const load = Effect.map(this.#supervisor.load(actor), () => {
      if (actor.crashed) this.answers.refuseAll(actor, failedTooOften(limits.actorRestartWindowMs))
    })
    this.#fork(actor, Effect.andThen(load, this.#turnOf(actor)))
  }

  #restart(
    actor: AnyActor,
    defect: unknown,
    annotations: LogAnnotations,
  ): Effect.Effect<void, Broken> {
    return Effect.map(this.#supervisor.restart(actor, defect, annotations), () => {
      // If the actor runs again, the commands that wait in its mailbox are handled as usual.
      if (actor.crashed) this.answers.refuseAll(actor, failedTooOften(limits.actorRestartWindowMs))
    })
  }
}

const nothingDecided = { cause: { kind: "request" }, facts: [] } as const

const internalError = laurelError("internal_error", "Nothing was changed. The log has the cause.")
