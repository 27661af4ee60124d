/**
 * Runs merges of users, and leads commands to aliases on to the user who stays.
 * `domain/decide/Merge.ts` has the design: the three records, what a crash leaves, and why there are
 * no circles.
 *
 * Invariants:
 * - A frozen user takes no command but the end of its merge: every other one goes on with the merge
 *   first. So the frozen state does not change until the user who stays has absorbed it.
 * - The actor of the frozen user waits for the user who stays, never the other way round, except
 *   that an erasure waits for its aliases. A frozen user that is in the list `absorbed` asks no more,
 *   so none of them waits for the erasure.
 * - The rows of the frozen user on closed boards go with the end of the merge. Prizes that payouts still
 *   owe it are paid to the user who stays before that (`#payOwed`).
 * - A merge or an erasure that cannot go on now, for lack of room or space, stays as it is and
 *   refuses the command. The next command goes on, or the agenda after `mergeRetryMs`.
 *
 * Ownership: it runs in the fiber of the actor whose command it takes.
 */
import { Effect } from "effect"
import { absorbedAlready, leadingTo, type Standing } from "../../domain/decide/Merge.ts"
import type { Payout } from "../../domain/project/Payout.ts"
import type { Payment } from "../../domain/record/Payment.ts"
import type { JournalRecord, UserCommand } from "../../domain/record/Record.ts"
import type { LeadsTo, UserState } from "../../domain/user/User.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Broken } from "../../storage/Storage.ts"
import {
  type AnyActor,
  type AnyEnvelope,
  type Envelope,
  type LogAnnotations,
  outcomeUnknown,
  recordDamaged,
  storageUnavailable,
} from "./Actor.ts"
import type { Answers } from "./Answers.ts"

type Work = Effect.Effect<void, Broken>

interface MergesOptions {
  readonly answers: Answers
  /** As `ActorSystem.acceptForUser`, whether or not the intake is closed. */
  readonly accept: (environment: string, userId: string, envelope: Envelope<UserCommand>) => void
  /** Takes the command as usual. */
  readonly take: (actor: AnyActor, envelope: AnyEnvelope) => Work | undefined
  /** Decides `command`, by default that of the envelope, in this turn. */
  readonly handle: (
    actor: AnyActor,
    envelope: AnyEnvelope,
    command?: UserCommand,
  ) => Work | undefined
  /** `before`, which precedes the handling of `envelope`; refuses the caller if the engine ends. */
  readonly orRefused: <A>(
    actor: AnyActor,
    envelope: AnyEnvelope,
    before: Effect.Effect<A, Broken>,
  ) => Effect.Effect<A, Broken>
  /** Ends with true when every record appended so far is durable. */
  readonly committed: Effect.Effect<boolean>
  readonly standingIn: (environment: string) => Standing
  /** The payouts that are under way, durable or not. */
  readonly payoutsOf: (environment: string) => ReadonlyMap<string, Payout>
  /** What the durable payouts under way have for a user. */
  readonly owedTo: (
    environment: string,
    user: UserState,
  ) => Effect.Effect<ReadonlyArray<Payment>, Broken>
}

/** Whether a command of the user is one for `Merges`. */
export const concernsMerge = (user: UserState | undefined, command: UserCommand): boolean =>
  (user !== undefined && (user.leadsTo !== null || user.erasing > 0)) ||
  command.kind === "merge" ||
  (command.kind === "erasure" && user !== undefined && user.absorbed.length > 0)

export class Merges {
  readonly #options: MergesOptions

  constructor(options: MergesOptions) {
    this.#options = options
  }

  /** Takes a command at once, or returns an effect that takes it. */
  take(actor: AnyActor, envelope: AnyEnvelope): Work | undefined {
    const { erasing, leadsTo } = stateOf(actor)
    if (erasing > 0) return this.#eraseOn(actor, envelope)
    if (leadsTo?.done === true) return this.#takeForAlias(actor, envelope, leadsTo)
    if (leadsTo != null) return this.#goOn(actor, envelope)
    return envelope.command.kind === "erasure"
      ? this.#eraseAll(actor, envelope)
      : this.#merge(actor, envelope)
  }

  #takeForAlias(actor: AnyActor, envelope: AnyEnvelope, leadsTo: LeadsTo): Work | undefined {
    const { accept, answers, handle } = this.#options
    const command: UserCommand = envelope.command
    switch (command.kind) {
      case "merge":
        return command.into === leadsTo.into
          ? this.#repeat(actor, envelope, leadsTo)
          : handle(actor, envelope)
      case "erasure":
        if (command.aliasOf !== undefined) return handle(actor, envelope)
        break
      case "payment": {
        const { createdAt, id } = stateOf(actor) as UserState
        // The payment may be for an earlier user with this id, who was erased.
        if (command.to !== id || createdAt <= (command.madeAt ?? 0)) break
        answers.refuseWith(actor, envelope, merged)
        return undefined
      }
      case "ranks":
      case "tick":
      case "backfill":
        answers.refuseWith(actor, envelope, merged)
        return undefined
    }
    accept(environmentOf(actor), leadsTo.into, envelope)
    answers.passedOn(actor)
    return undefined
  }

  /** Answers a merge that has ended before. */
  #repeat(actor: AnyActor, envelope: AnyEnvelope, { at, frozen, into }: LeadsTo): Work {
    const { answers, committed, orRefused } = this.#options
    return Effect.map(orRefused(actor, envelope, committed), (isCommitted) => {
      if (!isCommitted) {
        answers.refuse(actor, envelope, storageUnavailable)
        return
      }
      const { subject } = actor
      const cause = { kind: "mergeEnd", into, done: true } as const
      answers.answer(actor, envelope, { sequence: frozen, at, subject, cause, facts: [] })
    })
  }

  /** Goes on with the merge of a frozen user, then takes the command. */
  readonly #goOn = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
  ): Effect.fn.Return<void, Broken> {
    const { answers, orRefused, take } = this.#options
    const refused = yield* orRefused(actor, envelope, this.#absorb(actor, envelope))
    const ended =
      refused === undefined ? this.#end(actor, envelope) : this.#giveUp(actor, envelope, refused)
    const refusal = yield* orRefused(actor, envelope, ended)
    // The merge cannot go on now, or its end met a defect.
    if (stateOf(actor).leadsTo?.done === false) {
      answers.refuseWith(actor, envelope, refusal ?? failed)
      return
    }
    const wait = take(actor, envelope)
    if (wait !== undefined) yield* wait
  })

  /** Ends the merge of a frozen user whom the other has absorbed; returns the refusal, if any. */
  readonly #end = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
  ): Effect.fn.Return<LaurelError | undefined, Broken> {
    const settled = new Set<string>()
    while (this.#isOpen(actor, settled)) {
      const refusal = yield* this.#payOwed(actor, envelope, settled)
      if (refusal !== undefined) return refusal
    }
    yield* this.#decide(actor, endOf(actor, true), envelope).decided
    return undefined
  })

  readonly #merge = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
  ): Effect.fn.Return<void, Broken> {
    const { answers, handle, orRefused } = this.#options
    yield* orRefused(actor, envelope, this.#decide(actor, envelope.command, envelope).decided)
    if (stateOf(actor).leadsTo == null) {
      // The freeze was refused: it is refused again, and now kept for the Idempotency-Key.
      const wait = handle(actor, envelope)
      if (wait !== undefined) yield* wait
      return
    }
    const refused = yield* orRefused(actor, envelope, this.#absorb(actor, envelope))
    if (refused === undefined) {
      // The end answers the caller.
      const settled = new Set<string>()
      while (this.#isOpen(actor, settled)) {
        const unpaid = yield* orRefused(actor, envelope, this.#payOwed(actor, envelope, settled))
        if (unpaid === undefined) continue
        answers.refuseWith(actor, envelope, unpaid)
        return
      }
      const wait = handle(actor, envelope, endOf(actor, true))
      if (wait !== undefined) yield* wait
      return
    }
    const refusal = yield* orRefused(actor, envelope, this.#giveUp(actor, envelope, refused))
    answers.refuseWith(actor, envelope, refusal)
  })

  /**
   * The user who stays has refused: ends the merge without effect, unless it may go on later. Returns
   * the refusal for the caller, who may rely on it: the user is not frozen after a crash.
   */
  readonly #giveUp = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
    refusal: LaurelError,
  ): Effect.fn.Return<LaurelError, Broken> {
    if (isPassing(refusal)) return refusal
    const ended = this.#decide(actor, endOf(actor, false), envelope)
    yield* ended.decided
    return (yield* ended.answer) === undefined ? refusal : outcomeUnknown
  })

  /** Asks the user who stays; returns the refusal, if any. */
  #absorb(actor: AnyActor, { annotations }: AnyEnvelope): Effect.Effect<LaurelError | undefined> {
    const state = stateOf(actor) as UserState
    const { frozen, into } = state.leadsTo!
    const environment = environmentOf(actor)
    const standing = this.#options.standingIn(environment)
    const there = standing(leadingTo(into, standing))
    if (there?.absorbed.some((one) => one.frozen === frozen) === true) return Effect.undefined
    const command: UserCommand = { kind: "absorb", from: state.id, frozen, state }
    return Effect.map(this.#ask(environment, into, command, annotations), (refusal) =>
      refusal?.code === absorbedAlready ? undefined : refusal,
    )
  }

  /** Whether a payout is under way that `#payOwed` has not looked at. */
  #isOpen(actor: AnyActor, settled: ReadonlySet<string>): boolean {
    for (const id of this.#options.payoutsOf(environmentOf(actor)).keys()) {
      if (!settled.has(id)) return true
    }
    return false
  }

  /**
   * Pays the user who stays what payouts owe the frozen one, and lists these in `settled`. Returns the
   * refusal, if any. A window may close meanwhile: the caller asks `#isOpen` in the turn of the end.
   */
  readonly #payOwed = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    { annotations }: AnyEnvelope,
    settled: Set<string>,
  ): Effect.fn.Return<LaurelError | undefined, Broken> {
    const { committed, owedTo, payoutsOf } = this.#options
    const environment = environmentOf(actor)
    const open = [...payoutsOf(environment).keys()]
    // A payout is paid by the durable board.
    if (!(yield* committed)) return storageUnavailable
    const user = stateOf(actor) as UserState
    for (const payment of yield* owedTo(environment, user)) {
      const refusal = yield* this.#ask(environment, user.leadsTo!.into, payment, annotations)
      // A defect may be mended, a damaged record of who stays may not.
      const mayPass = refusal !== undefined && refusal.detail !== recordDamaged.detail
      if (mayPass && (isPassing(refusal) || refusal.code === "internal_error")) return refusal
    }
    for (const id of open) settled.add(id)
    return undefined
  })

  /** Begins the erasure of a user and its aliases. */
  readonly #eraseAll = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
  ): Effect.fn.Return<void, Broken> {
    const { orRefused } = this.#options
    const begun = this.#decide(actor, { kind: "erasing" }, envelope).decided
    yield* orRefused(actor, envelope, begun)
    if (stateOf(actor).erasing > 0) yield* this.#eraseOn(actor, envelope)
    else this.#options.answers.refuseWith(actor, envelope, failed)
  })

  /** Erases the aliases and the user, then takes the command unless it is the erasure. */
  readonly #eraseOn = Effect.fnUntraced(function* (
    this: Merges,
    actor: AnyActor,
    envelope: AnyEnvelope,
  ): Effect.fn.Return<void, Broken> {
    const { answers, handle, orRefused, take } = this.#options
    const { absorbed, id } = stateOf(actor) as UserState
    const aliases = new Set(absorbed.map(({ userId }) => userId))
    aliases.delete(id)
    const erasure: UserCommand = { kind: "erasure", aliasOf: id }
    const erased = Effect.forEach(
      aliases,
      (alias) => this.#ask(environmentOf(actor), alias, erasure, envelope.annotations),
      { concurrency: "unbounded" },
    )
    const refusals = yield* orRefused(actor, envelope, erased)
    const refusal = refusals.find((one) => one !== undefined && one.code !== "user_not_found")
    if (refusal !== undefined) {
      answers.refuseWith(actor, envelope, refusal)
      return
    }
    if (envelope.command.kind !== "erasure") {
      const last = this.#decide(actor, { kind: "erasure" }, envelope).decided
      yield* orRefused(actor, envelope, last)
      if (stateOf(actor).erasing > 0) {
        answers.refuseWith(actor, envelope, failed)
        return
      }
    }
    const wait =
      envelope.command.kind === "erasure" ? handle(actor, envelope) : take(actor, envelope)
    if (wait !== undefined) yield* wait
  })

  /** Asks another user's actor; returns the refusal, if any. */
  #ask(
    environment: string,
    userId: string,
    command: UserCommand,
    annotations: LogAnnotations,
  ): Effect.Effect<LaurelError | undefined> {
    return Effect.callback((resume) =>
      this.#options.accept(environment, userId, {
        command,
        idempotency: undefined,
        annotations,
        answered: () => resume(Effect.undefined),
        refused: (error) => resume(Effect.succeed(error)),
      }),
    )
  }

  /**
   * Decides a command of the actor itself. `decided` ends when it is decided, `answer` when its
   * record is durable, with the refusal, if any.
   */
  #decide(actor: AnyActor, command: UserCommand, caller: AnyEnvelope | undefined) {
    const { answers, handle } = this.#options
    const own = new OwnEnvelope(command, caller?.annotations)
    const decided = Effect.suspend(() => {
      answers.taken(actor)
      return handle(actor, own) ?? Effect.void
    })
    return { decided, answer: own.answer }
  }
}

/** A command of an actor to itself. */
export class OwnEnvelope implements Envelope<UserCommand> {
  readonly command: UserCommand
  readonly idempotency = undefined
  readonly annotations: LogAnnotations
  #outcome: { readonly refusal: LaurelError | undefined } | undefined
  #resume: (() => void) | undefined

  constructor(command: UserCommand, annotations: LogAnnotations) {
    this.command = command
    this.annotations = annotations
  }

  readonly answer: Effect.Effect<LaurelError | undefined> = Effect.callback((resume) => {
    const settle = () => resume(Effect.succeed(this.#outcome?.refusal))
    if (this.#outcome === undefined) this.#resume = settle
    else settle()
  })

  answered(_record: JournalRecord): void {
    this.#settle(undefined)
  }

  refused(error: LaurelError): void {
    this.#settle(error)
  }

  #settle(refusal: LaurelError | undefined): void {
    this.#outcome = { refusal }
    this.#resume?.()
  }
}

const nobody = { erasing: 0, leadsTo: null } as const

const stateOf = ({ state }: AnyActor): UserState | typeof nobody => state ?? nobody

/** The command that ends the merge of a frozen user. */
const endOf = (actor: AnyActor, done: boolean): UserCommand => ({
  kind: "mergeEnd",
  into: stateOf(actor).leadsTo!.into,
  done,
})

const environmentOf = ({ subject }: AnyActor): string =>
  subject.actor === "directory" ? "" : subject.environment

/** Whether the command may be accepted later. */
const isPassing = ({ code }: LaurelError): boolean =>
  code === "overloaded" || code === "storage_unavailable" || code === "shutting_down"

const failed = laurelError("internal_error", "A merge could not go on. The log has the cause.")

const merged = laurelError("conflict", "The user was merged into another.")
