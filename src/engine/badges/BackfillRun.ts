/**
 * One run of a badge's award: looks at the users that there were when it began, those in memory first, then
 * those of the snapshot. Later ones need no run: the badge was there before them.
 *
 * Only users who qualify are asked, so a run writes no more than it awards. For a badge that counts actions,
 * each user's history is counted first, and events since in the user's own turn, so that the count is right under
 * constant activity. It yields to the event loop after every `backfillTurnUsersMax` users.
 */

import { Data, Effect, Schedule, Stream } from "effect"
import type { DoneReply } from "../../domain/message/UserReply.ts"
import { type Badge, type CountingCriterion, isCounting } from "../../domain/project/Definition.ts"
import { levelAt } from "../../domain/project/Level.ts"
import type { Backfill } from "../../domain/record/Record.ts"
import { ActionCount } from "../../domain/record/Record.ts"
import { qualifies } from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { compositeKey, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Storage, StoredEntry } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Answer, UserMessage } from "../actor/Actor.ts"
import type { Environment } from "../actor/Environments.ts"
import type { UserHistory } from "../read/UserHistory.ts"
import { decodeUser } from "../records/UserCodec.ts"

/** The engine takes no commands any more. */
export class Ended extends Data.TaggedError("Ended") {}

export interface BackfillRunParts {
  readonly storage: Storage["Service"]
  readonly history: UserHistory
  /** `prepare` as in `Envelope`. */
  readonly askUser: (
    environment: string,
    message: UserMessage<Backfill>,
    prepare?: Effect.Effect<Backfill, Broken>,
  ) => Effect.Effect<Answer<DoneReply>, LaurelError>
}

/** The count in a user's history up to the record with the sequence `upTo`. */
interface Counted {
  readonly current: number
  readonly upTo: number
}

export class BackfillRun {
  readonly badgeId: string
  /** How many users there were when it began, and how many of them were looked at. */
  readonly total: number
  checked = 0
  awarded = 0
  readonly #parts: BackfillRunParts
  readonly #environment: Environment
  readonly #notify: boolean

  constructor(parts: BackfillRunParts, environment: Environment, badgeId: string, notify: boolean) {
    this.#parts = parts
    this.#environment = environment
    this.#notify = notify
    this.badgeId = badgeId
    this.total = environment.counts.users
  }

  /** Looks at all users, unless the badge is archived on the way. */
  readonly all = Effect.fnUntraced(function* (
    this: BackfillRun,
  ): Effect.fn.Return<void, Broken | Ended> {
    const { id, users } = this.#environment
    const warm: Array<string> = []
    for (const { durable } of users.values()) if (durable !== undefined) warm.push(durable.id)
    for (const ids of turnsOf(warm)) {
      yield* this.#turn(ids.flatMap((userId) => users.get(userId)?.durable ?? []))
    }
    const seen = new Set(warm)
    const range = { table: "users", ...rangeOf(compositeKey(id)) } as const
    yield* Stream.runForEach(this.#parts.storage.readEntries(range), (entries) =>
      Effect.forEach(
        turnsOf(entries),
        (turn) => Effect.flatMap(this.#decode(turn, seen), (states) => this.#turn(states)),
        { discard: true },
      ),
    )
  })

  /** The users of snapshot values who were not `seen`, as they are now where they are in memory. */
  readonly #decode = Effect.fnUntraced(function* (
    this: BackfillRun,
    entries: ReadonlyArray<StoredEntry>,
    seen: ReadonlySet<string>,
  ): Effect.fn.Return<ReadonlyArray<UserState>, Broken> {
    const states: Array<UserState> = []
    for (const [key, value] of entries) {
      const stored = decodeUser(yield* decodeValue(value, { table: "users", key }))
      if (seen.has(stored.id)) continue
      const actor = this.#environment.users.get(stored.id)
      const state = actor?.loaded === true ? actor.durable : stored
      if (state !== undefined) states.push(state)
    }
    return states
  })

  readonly #turn = Effect.fnUntraced(function* (
    this: BackfillRun,
    users: ReadonlyArray<UserState>,
  ): Effect.fn.Return<void, Broken | Ended> {
    const { badges, settings } = this.#environment.project.durable
    const badge = badges.get(this.badgeId)
    if (badge === undefined || badge.archived) return
    const { criteria } = badge
    const levelOf = (xp: number) => levelAt(settings.levelCurve, xp)
    const award = (user: UserState): Effect.Effect<unknown, Broken | Ended> => {
      if (isCounting(criteria)) return this.#count(user, badge, criteria)
      return qualifies(badge, user, levelOf) ? this.#ask(user) : Effect.void
    }
    const concurrency = limits.backfillUsersConcurrentMax
    yield* Effect.forEach(users, award, { concurrency, discard: true })
    this.checked += users.length
    yield* yieldToEventLoop
  })

  /** Asks until the badge is given or refused for good; `counted` so far of the user's history, where it counts. */
  #ask(user: UserState, criteria?: CountingCriterion, counted?: Counted) {
    const { badgeId } = this
    const command: Backfill = { kind: "backfill", badgeId, notify: this.#notify }
    const prepare =
      criteria && Effect.suspend(() => this.#prepare(command, user, criteria, counted))
    const message = { userId: user.id, command }
    const asked = Effect.map(
      this.#parts.askUser(this.#environment.id, message, prepare),
      ({ reply }) => {
        if (reply.badges.length > 0) this.awarded++
      },
    )
    return insist(asked)
  }

  /** In the user's own turn: brings the count up to date. */
  readonly #prepare = Effect.fnUntraced(function* (
    this: BackfillRun,
    command: Backfill,
    { createdAt, id }: UserState,
    criteria: CountingCriterion,
    counted: Counted | undefined,
  ): Effect.fn.Return<Backfill, Broken> {
    const user = this.#environment.users.get(id)?.durable
    // An erased user is refused.
    if (user === undefined) return command
    const same = user.createdAt === createdAt
    const { current, upTo } = yield* this.#countUpTo(user, criteria, same ? counted : undefined)
    return { ...command, counted: current, countedUpTo: upTo }
  })

  /** Counts the user's history, and gives the badge or the count. */
  readonly #count = Effect.fnUntraced(function* (
    this: BackfillRun,
    user: UserState,
    badge: Badge,
    criteria: CountingCriterion,
  ): Effect.fn.Return<void, Broken | Ended> {
    // The badge was there before the user: every event was counted as it came.
    if (user.createdAt > badge.updatedAt) return
    const counted = yield* this.#countUpTo(user, criteria)
    const isRight = counted.current === (user.badgeCounts.get(badge.id) ?? 0)
    if (isRight && (user.badges.has(badge.id) || counted.current < criteria.target)) return
    yield* this.#ask(user, criteria, counted)
  })

  /** The count of all the user's history, continued from the `earlier` one where possible. */
  readonly #countUpTo = Effect.fnUntraced(function* (
    this: BackfillRun,
    user: UserState,
    criteria: CountingCriterion,
    earlier?: Counted,
  ): Effect.fn.Return<Counted, Broken> {
    const upTo = user.sequence
    if (earlier !== undefined) {
      const newer = yield* this.#countAfter(user, criteria, earlier.upTo)
      newer.plus(earlier.current)
      if (!newer.open) return { current: newer.current, upTo }
    }
    const { current } = yield* this.#countAfter(user, criteria, 0)
    return { current, upTo }
  })

  /** Counts the user's records after the sequence `after`. */
  #countAfter(
    { id, sequence }: UserState,
    criteria: CountingCriterion,
    after: number,
  ): Effect.Effect<ActionCount, Broken> {
    const count = new ActionCount(criteria)
    const records = this.#parts.history.read(this.#environment.id, id, sequence + 1)
    const counted = Stream.runForEachWhile(records, (chunk) =>
      Effect.sync(() => {
        for (const record of chunk) {
          if (record.sequence <= after) return false
          count.add(record)
        }
        return true
      }),
    )
    return Effect.as(counted, count)
  }
}

function* turnsOf<A>(items: ReadonlyArray<A>): Generator<ReadonlyArray<A>> {
  for (let at = 0; at < items.length; at += limits.backfillTurnUsersMax) {
    yield items.slice(at, at + limits.backfillTurnUsersMax)
  }
}

/** Asks until it is done or refused for good; the refusal, if any. */
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
