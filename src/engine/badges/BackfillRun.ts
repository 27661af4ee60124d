/**
 * One run that awards a badge to users who qualify already. It looks at all users who existed when
 * it began, bucket by bucket. Users who come later need no run, since the badge precedes them.
 *
 * Only users who qualify get a command, so a run writes no more records than it awards badges. For
 * a badge that counts actions, a run first counts the user's history. Then, while the actor handles
 * the command, it counts the events since, so the count is right under constant activity.
 *
 * Cost: a decode of each user's state, and for a counting badge a read of each history, or of the
 * whole journal where that costs less (`JournalCount`). A run yields to the event loop after every
 * `backfillTurnUsersMax` users.
 */

import { Data, Effect, Schedule, Stream } from "effect"
import type { DoneReply } from "../../domain/message/UserReply.ts"
import { type Badge, isCountingBadge } from "../../domain/project/Definition.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { ActionCount, type CountedBadge } from "../../domain/record/ActionCount.ts"
import type { Backfill } from "../../domain/record/Record.ts"
import { Membership } from "../../domain/user/Membership.ts"
import { qualifies } from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Answer, UserMessage } from "../actor/Actor.ts"
import type { Environment } from "../actor/Environments.ts"
import type { UserHistory } from "../read/UserHistory.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { type Counted, isWorthwhile, JournalCount } from "./JournalCount.ts"

/** The engine no longer takes commands. */
export class Ended extends Data.TaggedError("Ended") {}

export interface BackfillRunParts {
  readonly now: () => number
  readonly storage: Storage["Service"]
  readonly history: UserHistory
  /** `prepare` as in `Envelope`. */
  readonly askUser: (
    environment: string,
    message: UserMessage<Backfill>,
    prepare?: Effect.Effect<Backfill, Broken>,
  ) => Effect.Effect<Answer<DoneReply>, LaurelError>
}

export class BackfillRun {
  /** The badge. */
  readonly definitionId: string
  /** How many users there were when the run began, and how many were looked at. */
  readonly total: number
  checked = 0
  awarded = 0
  readonly #parts: BackfillRunParts
  readonly #environment: Environment
  readonly #notify: boolean
  /** The counts of one pass over the journal, if that was worthwhile. */
  #journal: JournalCount | undefined

  constructor(parts: BackfillRunParts, environment: Environment, badgeId: string, notify: boolean) {
    this.#parts = parts
    this.#environment = environment
    this.#notify = notify
    this.definitionId = badgeId
    this.total = environment.counts.users
  }

  /** Looks at all users; looks at no more once the badge is paused or archived. */
  readonly work: Effect.Effect<void, Broken | Ended> = Effect.gen({ self: this }, function* () {
    yield* this.#readJournal()
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = this.#environment.usersFrom(prefix)
      prefix = next
      for (const states of turnsOf(users)) yield* this.#turn(states)
    }
  })

  /** Counts all events for a counting badge in one pass over the journal, if that is worthwhile. */
  readonly #readJournal = Effect.fnUntraced(function* (
    this: BackfillRun,
  ): Effect.fn.Return<void, Broken> {
    const { counts, id, project } = this.#environment
    const { storage } = this.#parts
    const badge = project.durable.badges.get(this.definitionId)
    if (badge === undefined || !isCountingBadge(badge)) return
    // Gathered journals have older records of the environment.
    if (storage.journalOf?.(id, 1) !== undefined) return
    const first = yield* storage.firstSequence
    const last = Math.max(storage.lastSequence, project.durable.sequence)
    if (!isWorthwhile(counts.actions.copy(), last - first)) return
    this.#journal = yield* JournalCount.read(storage, badge, id, first)
  })

  readonly #turn = Effect.fnUntraced(function* (
    this: BackfillRun,
    users: ReadonlyArray<UserState>,
  ): Effect.fn.Return<void, Broken | Ended> {
    const project = this.#environment.project.durable
    const badge = project.badges.get(this.definitionId)
    if (badge?.set !== "published") return
    const now = timeIn(project, this.#parts.now())
    const award = (user: UserState): Effect.Effect<unknown, Broken | Ended> => {
      if (isCountingBadge(badge)) return this.#count(user, badge)
      if (!qualifies(badge, user, project)) return Effect.void
      const { id: userId } = user
      const isIn = new Membership({ userId, user, project, now }).has(badge.segment)
      return isIn ? this.#ask(user) : Effect.void
    }
    const concurrency = limits.backfillUsersConcurrentMax
    yield* Effect.forEach(users, award, { concurrency, discard: true })
    this.checked += users.length
    yield* yieldToEventLoop
  })

  /**
   * Asks the user until the badge is awarded or refused for good. `badge`: one that counts, with
   * `counted`, the count of the user's history so far.
   */
  #ask(user: UserState, badge?: CountedBadge, counted?: Counted) {
    const { definitionId: badgeId } = this
    const command: Backfill = { kind: "backfill", badgeId, notify: this.#notify }
    const prepare = badge && Effect.suspend(() => this.#prepare(command, user, badge, counted))
    const message = { userId: user.id, command }
    const asked = Effect.map(
      this.#parts.askUser(this.#environment.id, message, prepare),
      ({ reply }) => {
        if (reply.badges.length > 0) this.awarded++
      },
    )
    return insist(asked)
  }

  /**
   * Brings the count up to date while the user's actor handles the command (`Envelope.prepare`).
   */
  readonly #prepare = Effect.fnUntraced(function* (
    this: BackfillRun,
    command: Backfill,
    { createdAt, id }: UserState,
    badge: CountedBadge,
    counted: Counted | undefined,
  ): Effect.fn.Return<Backfill, Broken> {
    const user = this.#environment.users.get(id)?.durable
    // The user was erased: the decision refuses the command.
    if (user === undefined) return command
    const same = user.createdAt === createdAt
    const { current, upTo } = yield* this.#countUpTo(user, badge, same ? counted : undefined)
    return { ...command, counted: current, countedUpTo: upTo }
  })

  /** Counts the user's history, and asks the user if badge or count must change. */
  readonly #count = Effect.fnUntraced(function* (
    this: BackfillRun,
    user: UserState,
    badge: Badge & CountedBadge,
  ): Effect.fn.Return<void, Broken | Ended> {
    const isAlone = user.absorbed.length === 0
    // The badge precedes the user: every event was counted when it came.
    if (isAlone && user.createdAt > badge.updatedAt) return
    // The journal counts the events of merged users by their former ids.
    const known = isAlone && this.#journal?.badge === badge ? this.#journal.of(user.id) : undefined
    const counted = yield* this.#countUpTo(user, badge, known)
    const isRight = counted.current === (user.badgeCounts.get(badge.id) ?? 0)
    const project = this.#environment.project.durable
    if (isRight && !qualifies(badge, user, project, counted.current)) return
    yield* this.#ask(user, badge, counted)
  })

  /** The count of the user's whole history, continued from the `earlier` count if possible. */
  readonly #countUpTo = Effect.fnUntraced(function* (
    this: BackfillRun,
    user: UserState,
    badge: CountedBadge,
    earlier?: Counted,
  ): Effect.fn.Return<Counted, Broken> {
    const upTo = user.sequence
    if (earlier !== undefined) {
      const { count, reached } = yield* this.#countAfter(user, badge, earlier.upTo)
      // The earlier count is that of an erased user with the same id.
      if (!reached) return { current: count.current, upTo }
      count.plus(earlier.current)
      if (!count.open) return { current: count.current, upTo }
    }
    const { count } = yield* this.#countAfter(user, badge, 0)
    return { current: count.current, upTo }
  })

  /**
   * Counts the user's records after the sequence `after`. `reached`: the user has records up to it.
   */
  #countAfter(
    { id, sequence }: UserState,
    badge: CountedBadge,
    after: number,
  ): Effect.Effect<{ readonly count: ActionCount; readonly reached: boolean }, Broken> {
    const count = new ActionCount(badge)
    let reached = false
    const records = this.#parts.history.read(this.#environment.id, id, sequence + 1)
    const counted = Stream.runForEachWhile(records, (chunk) =>
      Effect.sync(() => {
        for (const record of chunk) {
          reached = record.sequence <= after
          if (reached) return false
          count.add(record)
        }
        return true
      }),
    )
    return Effect.map(counted, () => ({ count, reached }))
  }
}

export function* turnsOf<A>(items: ReadonlyArray<A>): Generator<ReadonlyArray<A>> {
  for (let at = 0; at < items.length; at += limits.backfillTurnUsersMax) {
    yield items.slice(at, at + limits.backfillTurnUsersMax)
  }
}

/** Asks until the command is accepted or refused for good; returns the refusal, if any. */
export const insist = (
  ask: Effect.Effect<unknown, LaurelError>,
): Effect.Effect<LaurelError | undefined, Ended> =>
  ask.pipe(
    Effect.retry({ schedule: Schedule.spaced(limits.backfillRetryMs), while: isPassing }),
    Effect.as(undefined),
    Effect.catch((refusal) =>
      refusal.code === "shutting_down" ? Effect.fail(new Ended()) : Effect.succeed(refusal),
    ),
  )

const isPassing = ({ code }: LaurelError): boolean =>
  code === "overloaded" || code === "storage_unavailable"
