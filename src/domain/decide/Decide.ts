/**
 * Decides a user's command. Pure and synchronous. `at` is the server's time; the decision is made at
 * the environment's time (`timeIn`). `found` is the record that a revocation names. A decision
 * throws only if a balance breaks an invariant (`invariants.ts`).
 *
 * Before a decision, the actor answers repeats from their first record (`Repeat.ts`). A decision
 * that needs more of the user's history than the state has fails with `HistoryNeeded`; the actor
 * reads the history and decides again with this `past`.
 *
 * What has expired by the time of a decision is gone before it, and its facts come first. A decision on
 * a user for whom a closed window of a league is not settled fails with `SettlementNeeded`: the actor
 * decides a tick, which settles it, and then decides again.
 *
 * Order of effects of an event: experiments that the user enters; segments, on the state before it; metrics; rules in the order of
 * their creation; streaks; quest steps; counts of badges. Then all that was reached pays: quests,
 * milestones, badges (which see everything earned before); level, levels of currencies. Rules and quests pay times the
 * boosts that ran when the event occurred. `userId` names the user also before the first record;
 * by default that of `user`.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { namesAction } from "../project/ActionIndex.ts"
import { statusAt } from "../project/Definition.ts"
import { type ProjectState, timeIn } from "../project/Project.ts"
import { afterExpiry } from "../record/applyBalances.ts"
import type { LeagueFact, LeagueSeat } from "../record/LeagueFact.ts"
import type { Erasing } from "../record/MergeRecord.ts"
import type { HistoryNeeded, Past } from "../record/Past.ts"
import {
  type Erasure,
  type Fact,
  type FactOf,
  type GrantedReward,
  givenBy,
  isRepair,
  type JournalRecord,
  type ProfileChange,
  type Repairing,
  type Revocable,
  type Revocation,
  type Tick,
  type TrackedEvent,
  type UserCommand,
} from "../record/Record.ts"
import { endedLots } from "../user/Expiry.ts"
import { sumOfDays } from "../user/Lots.ts"
import { balanceOf, emptyProfile, isAlias, type UserState } from "../user/User.ts"
import { isSameTimeZone } from "../values/Calendar.ts"
import { invalidRequest, type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { questCompleteAction } from "../values/Ids.ts"
import { assertBalance } from "../values/invariants.ts"
import { eventDay, remindOfAbsence } from "./Activity.ts"
import { countAction, decideBackfill, payAll } from "./Badges.ts"
import { missBoards } from "./Boards.ts"
import { boostRefusal } from "./Boosts.ts"
import { decideDisqualification, decideLeagueDisqualification } from "./Disqualification.ts"
import { behind, type Decision, Draft } from "./Draft.ts"
import { currencyReferenceFaults, freezeReferenceFaults } from "./definitionChecks.ts"
import { contributionsOf, type GoalTotals, noGoals } from "./Goals.ts"
import {
  afterLeagues,
  type LeagueSeats,
  noSeats,
  rewardsIn,
  seatsOf,
  settleLeagues,
  settlementNeeded,
  withoutRewards,
} from "./Leagues.ts"
import { withLevelChanges } from "./Levels.ts"
import {
  countedOf,
  decideAbsorb,
  decideMerge,
  decideMergeEnd,
  leadingTo,
  type MergeRefusal,
  type Standing,
} from "./Merge.ts"
import { countMetrics, takeRecount } from "./Metrics.ts"
import { decideOpening } from "./Opening.ts"
import { beginPauses, decidePause, type PauseRefusal, settlePauses } from "./Pauses.ts"
import { decidePayment, type PaymentRefusal } from "./Payments.ts"
import { decidePurchase, type PurchaseRefusal, type Sold } from "./Purchases.ts"
import { completeByEvent, countSteps, decideStart, expireQuests } from "./Quests.ts"
import { decideRanks } from "./Ranks.ts"
import { followReminders, remindOfEndings, remindOfLeagues } from "./Reminders.ts"
import { decideRepair, type RepairRefusal } from "./Repairs.ts"
import { decideRevocation, type RevocationRefusals } from "./Revocation.ts"
import { applyRules } from "./Rules.ts"
import { type AmountRefusal, decideSpending, type SpendRefusal } from "./Spending.ts"
import { breakStreaks, extendStreaks, warnStreaks } from "./Streaks.ts"
import { decideJoin, decideLeave } from "./TeamMembers.ts"

/** Counts the work of decisions, refused ones included. */
export interface Meter {
  /** In the unit of `Matching.work`. */
  work: number
}

/** The codes with which the decision may refuse each kind of command. */
export interface UserRefusals {
  readonly event:
    | "invalid_request"
    | "quest_not_found"
    | "quest_not_active"
    | "quest_locked"
    | "quest_incomplete"
    | "balance_overflow"
  readonly reward:
    | "badge_not_found"
    | "badge_not_active"
    | "currency_not_found"
    | "streak_not_found"
    | "boost_not_found"
    | "boost_not_active"
    | "quota_exceeded"
    | "balance_overflow"
  readonly spend: SpendRefusal | "id_reused"
  /** A spend that repairs a streak. */
  readonly repair: RepairRefusal | AmountRefusal | "id_reused"
  readonly purchase: PurchaseRefusal | "id_reused"
  readonly revocation: RevocationRefusals[Revocable]
  readonly profile: never
  readonly erasure: "user_not_found"
  readonly backfill: "conflict"
  readonly start: "quest_not_found" | "quest_not_active" | "quest_locked" | "conflict"
  readonly opening: "invalid_request" | "opening_closed"
  readonly pause: PauseRefusal
  readonly disqualify: "user_not_found" | "leaderboard_not_found"
  readonly disqualifyInLeague: "user_not_found" | "league_not_found"
  readonly ranks: "user_not_found" | "conflict"
  readonly join: "team_not_found"
  readonly leave: "team_not_found" | "member_not_found"
  readonly payment: PaymentRefusal
  readonly tick: "user_not_found" | "conflict"
  readonly merge: MergeRefusal
  readonly absorb: "user_not_found" | "balance_overflow" | "conflict"
  readonly mergeEnd: "conflict"
  readonly erasing: "user_not_found"
}

/**
 * The codes for a command: by its kind, and for a revocation by the kind of record that it revokes.
 */
export type UserRefusal<Command extends UserCommand> = Command extends Revocation
  ? RevocationRefusals[Command["of"]]
  : Command extends Repairing
    ? UserRefusals["repair"]
    : UserRefusals[Command["kind"]]

/**
 * The decision on a kind of command. A code that `UserRefusals` does not list for the kind does not
 * compile.
 */
type DecidedKind<Kind extends keyof UserRefusals> = Result.Result<
  Decision,
  LaurelError<UserRefusals[Kind]>
>

/** The decision on a kind of command that may need more of the user's history. */
type Asking<Kind extends keyof UserRefusals> = Result.Result<
  Decision,
  LaurelError<UserRefusals[Kind]> | HistoryNeeded
>

/** Decides `command` for `user` (`undefined`: unknown) under the definitions of `project`. */
export function decideUser<Command extends UserCommand>(
  user: UserState | undefined,
  project: ProjectState,
  command: Command,
  at: number,
  found?: JournalRecord,
  meter?: Meter,
  past?: Past,
  userId?: string,
  standing?: Standing,
  seats?: LeagueSeats,
  sold?: Sold,
  goals?: GoalTotals,
): Result.Result<Decision, LaurelError<UserRefusal<Command>> | HistoryNeeded>
export function decideUser(
  user: UserState | undefined,
  project: ProjectState,
  command: UserCommand,
  at: number,
  found?: JournalRecord,
  meter?: Meter,
  past?: Past,
  userId = user?.id ?? "",
  standing: Standing = () => undefined,
  seats: LeagueSeats = noSeats,
  sold: Sold = () => 0,
  goals: GoalTotals = noGoals,
): Result.Result<Decision, LaurelError<UserRefusals[keyof UserRefusals]> | HistoryNeeded> {
  const now = timeIn(project, at)
  const lots = command.kind === "erasure" ? noFacts : expiredFacts(user, project, now)
  const over = isOfGone(command) ? noFacts : settleLeagues(user, project, seats)
  if (over.length > 0 && command.kind !== "tick") return Result.fail(settlementNeeded)
  let present = user
  if (present !== undefined && lots.length > 0) present = afterExpiry(present, lots, now)
  if (present !== undefined && over.length > 0) present = afterLeagues(present, over)
  const decided = decideKind(present, project, command, now, {
    found,
    meter,
    past,
    userId,
    expired: lots,
    over,
    standing,
    seats,
    sold,
    goals,
  })
  if (Result.isFailure(decided)) return decided
  const { cause, facts } = decided.success
  // A decision that changes nothing, and so writes no record, leaves that to a later one.
  const isLater = lots.length === 0 || (facts.length === 0 && command.kind !== "tick")
  const all = isLater ? facts : [...lots, ...facts]
  const told = command.kind === "erasure" ? all : withLevelChanges(user, project, all, now)
  return told === facts ? decided : Result.succeed({ cause, facts: told })
}

/** Whether the command ends the life of its user. The places in leagues stay as they are. */
const isOfGone = ({ kind }: UserCommand): boolean => kind === "erasure" || kind === "mergeEnd"

/**
 * What else a decision needs. `expired`: the facts of what has expired before it. `over`: those that
 * settle closed windows of leagues, only for a tick.
 */
interface Beside {
  readonly found: JournalRecord | undefined
  readonly meter: Meter | undefined
  readonly past: Past | undefined
  readonly userId: string
  readonly expired: ReadonlyArray<FactOf<"currency.expired">>
  readonly over: ReadonlyArray<LeagueFact>
  readonly standing: Standing
  readonly seats: LeagueSeats
  readonly sold: Sold
  readonly goals: GoalTotals
}

const decideKind = (
  user: UserState | undefined,
  project: ProjectState,
  command: UserCommand,
  now: number,
  beside: Beside,
): Result.Result<Decision, LaurelError<UserRefusals[keyof UserRefusals]> | HistoryNeeded> => {
  const { found, goals, past, seats, sold, standing, userId } = beside
  switch (command.kind) {
    case "event":
      return decideEvent(user, project, command, now, beside) satisfies Asking<"event">
    case "reward":
      return decideReward(user, project, command, now, beside) satisfies DecidedKind<"reward">
    case "spend":
      return isRepair(command)
        ? (decideRepair(user, project, command, now) satisfies DecidedKind<"repair">)
        : (decideSpending(user, project, command, now) satisfies DecidedKind<"spend">)
    case "purchase":
      return decidePurchase(user, project, command, now, sold) satisfies DecidedKind<"purchase">
    case "revocation":
      return decideRevocation(
        user,
        project,
        command,
        now,
        found,
        past,
        goals,
      ) satisfies Asking<"revocation">
    case "profile":
      return decideProfile(userId, user, project, command, now) satisfies DecidedKind<"profile">
    case "erasure":
      return decideErasure(user, project, command, beside) satisfies DecidedKind<"erasure">
    case "backfill":
      return decideBackfill(user, project, command, now) satisfies DecidedKind<"backfill">
    case "start":
      return decideStart(userId, user, project, command, now) satisfies DecidedKind<"start">
    case "opening":
      return decideOpening(user, project, command, now) satisfies DecidedKind<"opening">
    case "pause":
      return decidePause(user, project, command, now) satisfies DecidedKind<"pause">
    case "disqualify":
      return decideDisqualification(user, project, command) satisfies DecidedKind<"disqualify">
    case "disqualifyInLeague":
      return decideLeagueDisqualification(
        user,
        project,
        command,
      ) satisfies DecidedKind<"disqualifyInLeague">
    case "ranks":
      return decideRanks(user, project, command) satisfies DecidedKind<"ranks">
    case "join":
      return decideJoin(userId, user, project, command, now, goals) satisfies DecidedKind<"join">
    case "leave":
      return decideLeave(user, project, command, goals) satisfies DecidedKind<"leave">
    case "payment":
      return decidePayment(user, project, command, now) satisfies DecidedKind<"payment">
    case "tick":
      return decideTick(user, project, command, now, beside) satisfies DecidedKind<"tick">
    case "merge":
      return decideMerge(user, command, standing) satisfies DecidedKind<"merge">
    case "absorb":
      return decideAbsorb(
        user,
        project,
        { ...command, state: command.state && presentState(command.state, project, now) },
        now,
        seats,
        goals,
      ) satisfies DecidedKind<"absorb">
    case "mergeEnd":
      return decideMergeEnd(user, project, command, seats) satisfies DecidedKind<"mergeEnd">
    case "erasing":
      return decideErasing(user, command) satisfies DecidedKind<"erasing">
  }
}

/** What has expired of a user's currencies by `now`, and no record has yet. */
const expiredFacts = (
  user: UserState | undefined,
  project: ProjectState,
  now: number,
): ReadonlyArray<FactOf<"currency.expired">> =>
  endedLots(user, project, now).map(([currency, today, ended]) => {
    const amount = sumOfDays(ended)
    const total = balanceOf(user, currency).amount - amount
    assertBalance(currency, total)
    return { kind: "currency.expired", currency, amount, total, today }
  })

/** The state without what has expired by `now`. */
export const presentState = (user: UserState, project: ProjectState, now: number): UserState =>
  afterExpiry(user, expiredFacts(user, project, now), now)

const noFacts: ReadonlyArray<never> = []

const decideEvent = (
  user: UserState | undefined,
  project: ProjectState,
  command: TrackedEvent,
  now: number,
  { goals, meter, past, seats, userId }: Beside,
): Asking<"event"> => {
  const untimely = occurredAtFault(command, now)
  if (untimely !== undefined) return Result.fail(untimely)
  const draft = new Draft(userId, user, project, now, command.occurredAt, past, seats, goals)
  draft.keepLots()
  if (command.imported !== true) {
    draft.enterExperiments()
    followReminders(draft)
  }
  const entry = draft.index.byAction.get(command.action) ?? draft.index.other
  if (command.action === questCompleteAction) {
    beginPauses(draft, entry.streaks, true)
    extendStreaks(draft, entry, command)
    const refusal = completeByEvent(draft, command)
    if (refusal !== undefined) return Result.fail(refusal)
  } else {
    const { badges, metrics, rules, steps, work } = entry.matching(command.metadata)
    if (meter !== undefined) meter.work += work
    countMetrics(draft, metrics, command.metadata)
    applyRules(draft, rules, command)
    beginPauses(draft, entry.streaks, true)
    extendStreaks(draft, entry, command)
    countSteps(draft, steps, command.metadata)
    countAction(draft, badges, command.metadata)
  }
  payAll(draft)
  if (draft.needed !== undefined) return Result.fail(draft.needed)
  if (meter !== undefined) meter.work += segmentConditionWork * draft.membership.conditions
  const isMatched = namesAction(draft.index, command.action)
  const day = eventDay(draft)
  if (isMatched) return draft.finish(command, "event.tracked", day)
  return draft.finish(
    command,
    "event.tracked",
    day === undefined ? notMatched : { ...notMatched, ...day },
  )
}

/** The cost of a condition of a segment, in the unit of `Matching.work`. */
const segmentConditionWork = 20

const occurredAtFault = (
  { imported, occurredAt }: TrackedEvent,
  now: number,
): LaurelError<"invalid_request"> | undefined => {
  if (occurredAt === undefined) return undefined
  const detail =
    occurredAt > now + limits.occurredAtFutureMs
      ? "must be at most 5 minutes in the future"
      : imported !== true && occurredAt < now - limits.occurredAtPastMs
        ? "must be at most 30 days in the past"
        : undefined
  return detail === undefined
    ? undefined
    : invalidRequest([{ pointer: "/occurredAt", code: "out_of_range", detail }])
}

const notMatched = { matched: false } as const

const decideReward = (
  user: UserState | undefined,
  project: ProjectState,
  command: GrantedReward,
  now: number,
  { goals, seats, userId }: Beside,
): DecidedKind<"reward"> => {
  const draft = new Draft(userId, user, project, now, now, undefined, seats, goals)
  draft.enterExperiments()
  const gives = givenBy(command)
  const badge = gives.badgeId === null ? undefined : project.badges.get(gives.badgeId)
  if (gives.badgeId !== null) {
    if (badge === undefined || badge.set === "archived") {
      return refuse("badge_not_found", "badgeId matches no badge of this project.")
    }
    const status = statusAt(badge, now)
    if (status !== "active") {
      return refuse("badge_not_active", `The badge's status is ${status}.`)
    }
    if (badge.repeatable) {
      return refuse("badge_not_active", "The badge is repeatable: only its criteria award it.")
    }
  }
  const [unknown] = currencyReferenceFaults(project, gives.currencies, "/reward/currencies")
  if (unknown !== undefined) {
    return refuse("currency_not_found", `${unknown.pointer} ${unknown.detail}.`)
  }
  const [missing] = freezeReferenceFaults(project, gives.freezes, "/reward/freezes")
  if (missing !== undefined) {
    return refuse("streak_not_found", `${missing.pointer} ${missing.detail}.`)
  }
  const refusal = gives.boost === undefined ? undefined : boostRefusal(draft, gives.boost)
  if (refusal !== undefined) return Result.fail(refusal)
  draft.earn(gives, "reward")
  payAll(draft)
  return draft.finish(command, "reward.granted", behind(user?.lastReward))
}

const decideProfile = (
  userId: string,
  user: UserState | undefined,
  project: ProjectState,
  command: ProfileChange,
  now: number,
): DecidedKind<"profile"> => {
  const draft = new Draft(userId, user, project, now)
  if (command.change.timezone !== undefined) breakStreaks(draft)
  const before = user?.profile ?? emptyProfile
  const profile = { ...before, ...command.change }
  const moved = user !== undefined && isMove(before.timezone, profile.timezone)
  draft.facts.push({ kind: "user.updated", profile, ...(moved && { moved }) })
  return Result.succeed({ cause: command, facts: draft.facts })
}

const isMove = (before: string | null, after: string | null): boolean =>
  before === null || after === null ? before !== after : !isSameTimeZone(before, after)

const decideErasure = (
  user: UserState | undefined,
  project: ProjectState,
  { aliasOf, kind }: Erasure,
  { seats, standing }: Beside,
): DecidedKind<"erasure"> => {
  if (user === undefined) return Result.fail(userNotFound)
  // The id may be that of another user by now.
  const isNoAlias = aliasOf !== undefined && leadingTo(user.id, standing) !== aliasOf
  if (isNoAlias || (user.leadsTo !== null && aliasOf === undefined))
    return Result.fail(userNotFound)
  return Result.succeed({
    cause: { kind },
    facts: [deletionOf(user, seatsOf(user, project, seats))],
  })
}

const decideErasing = (user: UserState | undefined, command: Erasing): DecidedKind<"erasing"> =>
  user === undefined
    ? Result.fail(userNotFound)
    : Result.succeed({ cause: command, facts: [{ kind: "user.erasing" }] })

const decideTick = (
  user: UserState | undefined,
  project: ProjectState,
  command: Tick,
  now: number,
  beside: Beside,
): DecidedKind<"tick"> => {
  if (user === undefined) return Result.fail(userNotFound)
  const { expired, over } = beside
  const rewards = rewardsIn(over)
  const draft = new Draft(user.id, user, project, now)
  if (user.streaks.size > 0) beginPauses(draft, project.streaks.values(), false)
  const paused = draft.facts.length > 0
  breakStreaks(draft)
  warnStreaks(draft)
  expireQuests(draft)
  remindOfAbsence(draft)
  remindOfEndings(draft)
  // A place that this record gives has no rank yet.
  if (over.length === 0) remindOfLeagues(draft, beside.seats)
  for (const given of rewards) draft.earn(...given)
  if ((paused || rewards.length > 0) && settlePauses(draft) !== undefined) {
    if (over.length === 0) return Result.fail(nothingDue)
    if (rewards.length === 0) return Result.succeed({ cause: { kind: command.kind }, facts: over })
    return decideTick(user, project, command, now, { ...beside, over: over.map(withoutRewards) })
  }
  if (rewards.length > 0) missBoards(draft)
  const { recount, ...cause } = command
  if (recount !== undefined) takeRecount(draft, user, recount)
  const facts = over.length === 0 ? draft.facts : [...over, ...draft.facts]
  // A refusal writes no record.
  if (facts.length === 0 && expired.length === 0) return Result.fail(nothingDue)
  return Result.succeed({ cause, facts })
}

/**
 * The fact of an erasure, for the counts of the environment; it does not identify the user. An alias
 * was no longer counted.
 */
export const deletionOf = (user: UserState, seats: ReadonlyArray<LeagueSeat> = []): Fact => {
  const units = Array.from(user.purchases, ([itemId, { times }]) => [itemId, times] as const)
  const bought = units.filter(([, times]) => times > 0)
  const goals = contributionsOf(user)
  return {
    kind: "user.deleted",
    ...countedOf(user),
    ...(isAlias(user) && { alias: true }),
    ...(seats.length > 0 && { seats }),
    ...(bought.length > 0 && { units: bought }),
    ...(goals.length > 0 && { goals }),
  }
}

const userNotFound = laurelError(
  "user_not_found",
  "No event or reward of this user was accepted yet.",
)

const nothingDue = laurelError("conflict", "Nothing is due for the user.")
