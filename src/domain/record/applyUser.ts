/**
 * How the facts of a record change a user's state. Pure and synchronous. It reads only the record,
 * no definitions, clock or calendar, so a replay of the journal yields the same state. It throws
 * only for a record that breaks an invariant (`invariants.ts`).
 */
import { limits } from "../../Limits.ts"
import { withOwnBoost, withoutOwnBoost } from "../project/Boost.ts"
import { awardName } from "../project/Definition.ts"
import { withDay } from "../user/ActiveDays.ts"
import { levelName } from "../user/CurrencyLevel.ts"
import { noLots, sumOfDays } from "../user/Lots.ts"
import { type MetricState, metricTotal, plusEvent } from "../user/MetricState.ts"
import { isKept, noStreak, type StreakCounts, type StreakState } from "../user/Streak.ts"
import { type EarnedBadge, newcomer, pointsEarned, type UserState } from "../user/User.ts"
import { withPastZone } from "../values/Calendar.ts"
import {
  assertAfter,
  assertBalance,
  assertBehind,
  assertOwner,
  assertPart,
  assertTotal,
} from "../values/invariants.ts"
import { countEarning, foldBalance, forgive } from "./applyBalances.ts"
import { applyMerge } from "./applyMerge.ts"
import { countPurchase } from "./countPurchase.ts"
import { eventDayOf, gaveAt } from "./EventDay.ts"
import { type Folding, own } from "./Folding.ts"
import { foldBoards, windowsAfter } from "./foldBoards.ts"
import { foldGoal, isOfPart } from "./foldGoal.ts"
import { foldLeague, isOfLeague } from "./foldLeague.ts"
import { foldQuest } from "./foldQuest.ts"
import { foldReminder, isReminder, unansweredAfter } from "./foldReminder.ts"
import { foldRuleUse, reachByRules } from "./foldRules.ts"
import { countedEvent } from "./MetricRecount.ts"
import { decidedAt, type Fact, type FactOf, type JournalRecord, type UserFact } from "./Record.ts"

const fold = (state: Folding, before: UserState, fact: Fact, record: JournalRecord): void => {
  switch (fact.kind) {
    case "user.created":
      state.createdAt = decidedAt(record)
      break
    case "user.updated":
      if (fact.moved === true) state.pastZones = zonesAfter(before, decidedAt(record))
      state.profile = fact.profile
      break
    case "xp.earned":
      state.xp = fact.total
      state.scoreSequence = record.sequence
      countEarning(state, before, fact)
      break
    case "xp.revoked":
      state.xp = fact.total
      state.scoreSequence = fact.scoreSequence ?? record.sequence
      break
    case "points.spent":
    case "currency.spent":
      if (record.cause.kind === "spend" && state.lastSpend !== record.sequence) {
        state.lastSpend = follow("spend", before.lastSpend, fact, record)
      }
      foldBalance(state, before, fact, decidedAt(record))
      break
    case "streak.repaired":
      if (state.lastSpend !== record.sequence) {
        state.lastSpend = follow("spend", before.lastSpend, fact, record)
      }
      foldStreak(state, before, fact)
      break
    case "reward.granted":
      state.lastReward = follow("reward", before.lastReward, fact, record)
      break
    case "event.revoked":
    case "reward.revoked":
      forgive(state, before, fact.shortfall)
      break
    case "windows.credited":
      state.windows = windowsAfter(state.windows, fact, record.sequence)
      break
    case "board.scored":
    case "board.shares_kept":
    case "leaderboard.disqualified":
      foldBoards(own(state, before, "boards"), fact, record.sequence)
      break
    case "rule.used":
      foldRuleUse(state, before, fact)
      break
    case "badge.counted":
      foldCount(state, before, fact, record)
      break
    case "badge.earned":
    case "badge.revoked":
      foldBadge(own(state, before, "badges"), fact, gaveAt(record))
      break
    case "badge.paid":
      setPaid(own(state, before, "badgesPaid"), awardName(fact.badgeId, fact.tier), fact.paid)
      break
    case "level.paid":
      setPaid(own(state, before, "levelsPaid"), levelName(fact.currency, fact.level), fact.paid)
      break
    default:
      if (isOfLeague(fact)) foldLeague(own(state, before, "leagues"), fact, record.sequence)
      else if (isReminder(fact)) foldReminder(state, before, fact)
      else if (isOfPart(fact)) foldGoal(own(state, before, "goals"), fact, record.sequence)
      else if (!foldBalance(state, before, fact, decidedAt(record))) {
        foldProgress(state, before, fact, record)
      }
  }
}

/** Facts of streaks, metrics and quests: a user may have many of each. */
const foldProgress = (
  state: Folding,
  before: UserState,
  fact: Fact,
  record: JournalRecord,
): void => {
  switch (fact.kind) {
    case "boost.earned":
    case "boost.revoked": {
      const { endsAt, key, startsAt } = fact
      const change = fact.kind === "boost.earned" ? withOwnBoost : withoutOwnBoost
      state.boosts = change(state.boosts, { key, startsAt, endsAt })
      break
    }
    case "experiment.exposed": {
      const { experimentId, kind: _, key: __, name: ___, ...exposure } = fact
      own(state, before, "experiments").set(experimentId, { ...exposure, at: decidedAt(record) })
      break
    }
    case "item.purchased":
    case "item.refunded":
      foldPurchase(state, before, fact, record)
      break
    case "user.opened":
      foldOpening(state, before, fact, record)
      break
    case "streak.progressed":
    case "streak.extended":
    case "streak.counted":
    case "streak.broken":
    case "streak.at_risk":
    case "streak.paused":
    case "streak.pause_seen":
    case "streak.repair_undone":
    case "streak.milestone_reached":
    case "streak.milestone_revoked":
    case "streak.freezes_earned":
    case "streak.freezes_revoked":
      foldStreak(state, before, fact)
      break
    case "activity.reverted":
      state.activity = fact.activity
      break
    case "metric.changed":
      foldMetric(own(state, before, "metrics"), fact, record)
      break
    case "quest.started":
    case "quest.progressed":
    case "quest.completed":
    case "quest.claimed":
    case "quest.claim_revoked":
    case "quest.expired":
    case "quest.claim_lapsed":
    case "quest.reverted":
      state.questsCompleted += foldQuest(own(state, before, "quests"), fact, gaveAt(record))
      break
    case "team.joined": {
      const { number, teamId, teamKind } = fact
      const membership = { teamId, number, joinedAt: decidedAt(record) }
      own(state, before, "teams").set(teamKind, membership)
      break
    }
    case "team.left":
      own(state, before, "teams").delete(fact.teamKind)
      break
    case "user.merging":
    case "user.merged":
    case "user.aliased":
    case "user.unmerged":
    case "user.erasing":
      Object.assign(state, applyMerge(state, fact, record))
      break
  }
}

/** The last record of a kind after `record`, which names the `last` one before it. */
const follow = (
  what: string,
  last: number,
  { before = 0 }: { readonly before?: number },
  { sequence }: JournalRecord,
): number => {
  assertBehind(what, sequence, before, last)
  return sequence
}

const foldPurchase = (
  state: Folding,
  before: UserState,
  fact: FactOf<"item.purchased" | "item.refunded">,
  record: JournalRecord,
): void => {
  const isBought = fact.kind === "item.purchased"
  if (isBought) state.lastPurchase = follow("purchase", before.lastPurchase, fact, record)
  else forgive(state, before, fact.shortfall)
  countPurchase(own(state, before, "purchases"), fact, isBought ? 1 : -1)
}

const foldOpening = (
  state: Folding,
  before: UserState,
  { badges, balances, levels = [], lots = {}, points, streaks, xp }: FactOf<"user.opened">,
  { sequence }: JournalRecord,
): void => {
  state.xp = xp
  if (xp > 0) state.scoreSequence = sequence
  state.points = points
  for (const [key, balance] of Object.entries(balances)) {
    assertBalance(`earned ${key}`, balance.amount + balance.spent)
    if (key === "points") state.pointsSpent = balance.spent
    else if (key !== "xp") own(state, before, "balances").set(key, balance)
  }
  for (const [key, open] of Object.entries(lots)) {
    assertPart(key, sumOfDays(open), balances[key]!.amount)
    own(state, before, "expiring").set(key, { open, expired: noLots })
  }
  for (const name of levels) own(state, before, "levelsPaid").set(name, 1)
  for (const [key, streak] of Object.entries(streaks)) {
    own(state, before, "streaks").set(key, streak)
  }
  for (const { badgeId, earnedAt, tier: { key: tier = "" } = {} } of badges) {
    const earned = own(state, before, "badges")
    earned.set(badgeId, [...(earned.get(badgeId) ?? []), { tier, earnedAt }])
    own(state, before, "badgesPaid").set(awardName(badgeId, tier), 1)
  }
}

const foldBadge = (
  badges: Map<string, EarnedBadge>,
  fact: FactOf<"badge.earned" | "badge.revoked">,
  earnedAt: number,
): void => {
  const { badgeId } = fact
  const tier = fact.tier?.key ?? ""
  const awards = badges.get(badgeId) ?? []
  const others = awards.filter((award) => award.tier !== tier)
  const { times } = fact
  const before = awards[0]
  if (times !== undefined && times > 0 && before !== undefined) {
    // A repeatable badge keeps the time at which it was earned first.
    const target = fact.kind === "badge.earned" ? fact.target : before.target
    badges.set(badgeId, [{ ...before, ...(target !== undefined && { target }), times }])
  } else if (fact.kind === "badge.earned") {
    const { target } = fact
    const more = {
      ...(target !== undefined && { target }),
      ...(times !== undefined && { times }),
    }
    badges.set(badgeId, [...others, { tier, earnedAt, ...more }])
  } else if (others.length > 0) badges.set(badgeId, others)
  else badges.delete(badgeId)
}

const setPaid = (all: Map<string, number>, name: string, paid: number): void => {
  assertBalance(`payments of ${name}`, paid)
  if (paid > 0) all.set(name, paid)
  else all.delete(name)
}

const foldCount = (
  state: Folding,
  before: UserState,
  { badgeId, current }: FactOf<"badge.counted">,
  { cause }: JournalRecord,
): void => {
  own(state, before, "badgeCounts").set(badgeId, current)
  if (cause.kind !== "backfill") return
  own(state, before, "badgeRecounts").set(badgeId, cause.countedUpTo ?? 0)
}

const foldMetric = (
  metrics: Map<string, MetricState>,
  fact: FactOf<"metric.changed">,
  record: JournalRecord,
): void => {
  const { metricId, total } = fact
  const counted = countedEvent(fact, record)
  const after = counted === undefined ? fact.state : plusEvent(metrics.get(metricId), counted)
  if (after === null || after === undefined) {
    assertTotal(metricId, total ?? 0, 0)
    metrics.delete(metricId)
  } else {
    assertTotal(metricId, total, metricTotal(after))
    metrics.set(metricId, after)
  }
}

type StreakFact = Extract<
  UserFact,
  {
    readonly kind: `streak.${string}`
  }
>

const foldStreak = (state: Folding, before: UserState, fact: StreakFact): void => {
  const { key } = fact
  switch (fact.kind) {
    case "streak.progressed": {
      const counts = countsAfter(state.streakCounts.get(key) ?? [], fact)
      setCounts(own(state, before, "streakCounts"), key, counts)
      break
    }
    case "streak.extended":
    case "streak.counted":
    case "streak.broken": {
      const { streak } = fact
      own(state, before, "streaks").set(key, streak)
      const counts = state.streakCounts.get(key)
      if (counts === undefined) break
      const open = counts.filter(({ period }) => !isKept(streak, period))
      setCounts(own(state, before, "streakCounts"), key, open)
      break
    }
    case "streak.at_risk": {
      const streak = state.streaks.get(key)
      if (streak === undefined) break
      own(state, before, "streaks").set(key, { ...streak, warned: fact.period })
      break
    }
    case "streak.pause_seen": {
      const streak = state.streaks.get(key) ?? noStreak
      own(state, before, "streaks").set(key, { ...streak, seen: fact.seen })
      break
    }
    case "streak.paused":
    case "streak.repaired":
    case "streak.repair_undone":
    case "streak.freezes_earned":
    case "streak.freezes_revoked": {
      // The decision may have paid or revoked a milestone before.
      const { owed: _, paid: __, ...streak } = fact.streak
      const { owed = [], paid = [] } = state.streaks.get(key) ?? {}
      own(state, before, "streaks").set(key, withMilestones(streak, paid, owed))
      break
    }
    case "streak.milestone_reached":
    case "streak.milestone_revoked": {
      const streak = state.streaks.get(key)
      if (streak === undefined) break
      const { target } = fact
      const { owed = [], paid = [], ...others } = streak
      const left = [...paid]
      // After a merge, a target may be there twice: an undo takes back one payment.
      if (fact.kind === "streak.milestone_reached") left.push(target)
      else left.splice(left.indexOf(target), left.includes(target) ? 1 : 0)
      const open = owed.filter((one) => one !== target)
      if (!left.includes(target)) open.push(target)
      own(state, before, "streaks").set(key, withMilestones(others, left, open))
      break
    }
  }
}

const withMilestones = (
  streak: StreakState,
  paid: ReadonlyArray<number>,
  owed: ReadonlyArray<number>,
): StreakState => ({
  ...streak,
  ...(paid.length > 0 && { paid }),
  ...(owed.length > 0 && { owed }),
})

const setCounts = (all: Map<string, StreakCounts>, key: string, counts: StreakCounts): void => {
  if (counts.length === 0) all.delete(key)
  else all.set(key, counts)
}

/** The counts of the latest periods after a fact. A period without counts is left out. */
const countsAfter = (
  before: StreakCounts,
  { current, need, period }: FactOf<"streak.progressed">,
): StreakCounts => {
  const { [need]: _, ...others } = before.find((one) => one.period === period)?.counts ?? {}
  const counts = current > 0 ? { ...others, [need]: current } : others
  const rest = before.filter((one) => one.period !== period)
  if (Object.keys(counts).length === 0) return rest
  return [...rest, { period, counts }]
    .sort((one, other) => one.period - other.period)
    .slice(-limits.streakCountsMax)
}

const zonesAfter = ({ pastZones, profile }: UserState, at: number): UserState["pastZones"] =>
  withPastZone(pastZones, profile.timezone, at)

const lastEventAfter = ({ lastEventAt }: UserState, record: JournalRecord): number => {
  const { cause } = record
  if (cause.kind !== "event") return lastEventAt
  const at = decidedAt(record)
  return Math.max(lastEventAt, Math.min(cause.occurredAt ?? at, at))
}

/**
 * The state after `record`. `undefined`: the record erased the user, or is not of a user's life.
 */
export const applyUser = (
  user: UserState | undefined,
  record: JournalRecord,
): UserState | undefined => {
  if (record.cause.kind === "erasure") return undefined
  if (record.subject.actor !== "user") return undefined
  if (user === undefined && !record.facts.some(({ kind }) => kind === "user.created")) {
    return undefined
  }
  const { userId } = record.subject
  if (user !== undefined) assertOwner(userId, user.id, record.sequence)
  const before = user ?? newcomer
  assertAfter(record.sequence, before.sequence)
  const state: Folding = {
    id: userId,
    sequence: record.sequence,
    xp: before.xp,
    scoreSequence: before.scoreSequence,
    points: before.points,
    pointsSpent: before.pointsSpent,
    balances: before.balances,
    earnings: before.earnings,
    pending: before.pending,
    expiring: before.expiring,
    windows: before.windows,
    boards: before.boards,
    leagues: before.leagues,
    profile: before.profile,
    badges: before.badges,
    badgesPaid: before.badgesPaid,
    levelsPaid: before.levelsPaid,
    badgeCounts: before.badgeCounts,
    badgeRecounts: before.badgeRecounts,
    quests: before.quests,
    questsCompleted: before.questsCompleted,
    pastZones: before.pastZones,
    streaks: before.streaks,
    streakCounts: before.streakCounts,
    ruleUses: before.ruleUses,
    rulesReached: before.rulesReached,
    lastReward: before.lastReward,
    lastSpend: before.lastSpend,
    lastPurchase: before.lastPurchase,
    purchases: before.purchases,
    goals: before.goals,
    metrics: before.metrics,
    teams: before.teams,
    boosts: before.boosts,
    experiments: before.experiments,
    leadsTo: before.leadsTo,
    absorbed: before.absorbed,
    erasing: before.erasing,
    createdAt: before.createdAt,
    updatedAt: record.facts.length === 0 ? before.updatedAt : decidedAt(record),
    lastEventAt: lastEventAfter(before, record),
    activity: before.activity,
    remindedOn: before.remindedOn,
    reminded: before.reminded,
    unanswered: unansweredAfter(before, record),
  }
  const day = eventDayOf(record)
  if (day !== undefined) {
    state.activity = withDay(before.activity, day)
    reachByRules(state, before, record, day)
  }
  for (const fact of record.facts) fold(state, before, fact, record)
  assertBalance("xp", state.xp)
  assertBalance("points", state.points)
  assertBalance("spent points", state.pointsSpent)
  // A refund may return all spent points (`Draft.overflow`).
  assertBalance("earned points", pointsEarned(state))
  return state
}
