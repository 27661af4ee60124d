/**
 * What two users are together, after the one was merged into the other.
 *
 * - Balances, counts and sums add up, also what is pending, and what counts in the period of a
 *   limit. A maximum stays a maximum, days are the days of both (`user/MetricState.ts`, `user/Streak.ts`).
 *   A metric that a backfill counted is recounted in the background from both histories.
 * - The active days are those of both.
 * - A badge or a quest that one of them has, both have. How often it paid adds up, and so it does for
 *   a level: so it does not pay again, and the undo of one payment leaves the other.
 * - Personal boosts of both run for both; of many, those that end last.
 * - An experiment that one of them has entered, both have (`UnitedExperiments.ts`).
 * - Scores of open windows add up. Those of closed windows stay as they were. Who is disqualified on a
 *   leaderboard makes both so.
 * - The user who stays keeps its teams. If it has no team of a kind, it joins the other user's team of
 *   that kind.
 * - Profile, time zones and the time of the creation are those of the user who stays.
 *
 * A part of the state that this file does not know does not compile.
 */
import { limits } from "../../Limits.ts"
import { type BoardClose, closeOf } from "../project/BoardClose.ts"
import { isCountingBadge, plusAmount } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { unitedParts as unitedGoalParts } from "../user/GoalPart.ts"
import {
  type DayLot,
  type DayLots,
  type Expiring,
  noLots,
  openLotsAt,
  type PendingLots,
  pendingLotsAt,
  withDayLot,
  withPending,
} from "../user/Lots.ts"
import { emptyOn, unitedMetric } from "../user/MetricState.ts"
import { unitedPurchases } from "../user/Purchases.ts"
import { balanceAt } from "../user/Refill.ts"
import { isKept, type StreakCounts } from "../user/Streak.ts"
import { teamIn } from "../user/TeamMembership.ts"
import { payingShares, stillKept } from "../user/TeamShares.ts"
import { unitedStreak } from "../user/UnitedStreak.ts"
import {
  type AbsorbedUser,
  type BoardScores,
  type EarnedAward,
  type EarnedBadge,
  noBoardScores,
  noWindows,
  type QuestState,
  type RuleUse,
  type UserState,
  userZones,
  type WindowScores,
} from "../user/User.ts"
import type { TimedWindow } from "../values/Calendar.ts"
import { type PeriodCounts, withCount } from "../values/Periods.ts"
import type {
  UnitedBoard,
  UnitedPart,
  UnitedParts,
  UnitedScore,
  UnitedWindows,
  ValueOf,
} from "./MergeRecord.ts"
import type { JournalRecord } from "./Record.ts"
import { unitedExperiments } from "./UnitedExperiments.ts"

/** The user who stays, the one who is merged, and when. */
export interface Pair {
  readonly into: UserState
  readonly from: UserState
  readonly project: ProjectState
  readonly now: number
}

/** How the values of a key that both users have become one. */
type Unite<Value> = (mine: Value, theirs: Value, key: string, pair: Pair) => Value

/** The lots of one currency are united together. */
type LotPart = "pending" | "expiring"

/** The parts that have a function of their own. */
type OwnPart = LotPart | "experiments"

const rules: { readonly [Part in Exclude<UnitedPart, OwnPart>]: Unite<ValueOf<Part>> } = {
  balances: (mine, theirs) => ({
    ...mine,
    amount: mine.amount + theirs.amount,
    spent: mine.spent + theirs.spent,
  }),
  earnings: (mine, theirs) => unitedCounts(mine, theirs, limits.earnPeriodsMax),
  badges: (mine, theirs) => unitedBadge(mine, theirs),
  badgesPaid: (mine, theirs) => mine + theirs,
  levelsPaid: (mine, theirs) => mine + theirs,
  badgeCounts: (mine, theirs, badgeId, { project }) => {
    const badge = project.badges.get(badgeId)
    const sum = badge !== undefined && isCountingBadge(badge) ? badge.criteria : {}
    return plusAmount(sum, mine, theirs)
  },
  quests: (mine, theirs) => unitedQuest(mine, theirs),
  streaks: (mine, theirs, key, { into, now, project }) => {
    const definition = definitionWithKey(project.streaks, key)
    if (definition === undefined) return mine
    return unitedStreak(mine, theirs, definition, userZones(into, project), now)
  },
  streakCounts: (mine, theirs) => unitedStreakCounts(mine, theirs),
  ruleUses: (mine, theirs, ruleId, { project }) =>
    unitedUse(mine, theirs, project.rules.get(ruleId)?.countedSince),
  rulesReached: (mine, theirs) => ({
    times: mine.times + theirs.times,
    firstDay: Math.min(mine.firstDay, theirs.firstDay),
  }),
  metrics: (mine, theirs, metricId, { project }) => {
    const metric = project.metrics.get(metricId)
    return metric === undefined ? mine : unitedMetric(mine, theirs, metric.aggregate)
  },
  teams: (mine, theirs, kind, { into, project }) =>
    teamIn(into, project, kind) === undefined ? theirs : mine,
  purchases: (mine, theirs) => unitedPurchases(mine, theirs),
  reminded: (mine, theirs) => Math.max(mine, theirs),
  goals: (mine, theirs) => unitedGoalParts(mine, theirs),
}

/**
 * Whether a merge changes the parts that are no such maps (`withMerged`), or the user who stays keeps
 * them.
 */
export const otherParts = {
  id: "kept",
  sequence: "united",
  xp: "united",
  scoreSequence: "united",
  points: "united",
  pointsSpent: "united",
  windows: "united",
  boosts: "united",
  boards: "united",
  leagues: "united",
  profile: "kept",
  badgeRecounts: "kept",
  questsCompleted: "united",
  pastZones: "kept",
  lastReward: "kept",
  lastSpend: "kept",
  lastPurchase: "kept",
  leadsTo: "kept",
  absorbed: "united",
  erasing: "kept",
  createdAt: "kept",
  updatedAt: "united",
  lastEventAt: "united",
  activity: "united",
  remindedOn: "united",
  unanswered: "united",
} as const satisfies Record<Exclude<keyof UserState, UnitedPart>, "united" | "kept">

/** The values that change: those of the keys that the merged user has. */
export const unitedParts = (pair: Pair): UnitedParts => {
  const streaks = unitedOf("streaks", pair)
  const parts: { -readonly [Part in UnitedPart]?: UnitedParts[Part] } = {
    balances: unitedBalances(pair),
    earnings: unitedOf("earnings", pair),
    ...unitedLots(pair),
    badges: unitedOf("badges", pair),
    badgesPaid: unitedOf("badgesPaid", pair),
    levelsPaid: unitedOf("levelsPaid", pair),
    badgeCounts: unitedOf("badgeCounts", pair),
    quests: unitedOf("quests", pair),
    streaks,
    streakCounts: openCounts(pair, new Map(streaks)),
    ruleUses: unitedOf("ruleUses", pair),
    rulesReached: unitedOf("rulesReached", pair),
    metrics: unitedMetrics(pair),
    experiments: unitedExperiments(pair),
    teams: unitedOf("teams", pair),
    purchases: unitedOf("purchases", pair),
    reminded: unitedOf("reminded", pair),
    goals: unitedOf("goals", pair),
  }
  for (const part of Object.keys(parts) as ReadonlyArray<UnitedPart>) {
    if (parts[part]?.length === 0) delete parts[part]
  }
  return parts
}

const unitedOf = <Part extends Exclude<UnitedPart, OwnPart>>(
  part: Part,
  pair: Pair,
): ReadonlyArray<readonly [string, ValueOf<Part>]> => {
  const mine = pair.into[part] as ReadonlyMap<string, ValueOf<Part>>
  const theirs = pair.from[part] as ReadonlyMap<string, ValueOf<Part>>
  const unite = rules[part] as Unite<ValueOf<Part>>
  return Array.from(theirs, ([key, value]) => {
    const own = mine.get(key)
    return [key, own === undefined ? value : unite(own, value, key, pair)] as const
  })
}

/** With what `refill` has added to both until now. */
const unitedBalances = (pair: Pair): NonNullable<UnitedParts["balances"]> => {
  const { from, into, now, project } = pair
  return Array.from(from.balances.keys(), (key) => {
    const { refilled: _theirs, ...theirs } = balanceAt(from, project, key, now)
    const { refilled: _mine, ...mine } = balanceAt(into, project, key, now)
    return [
      key,
      into.balances.has(key) ? rules.balances(mine, theirs, key, pair) : plus(mine, theirs),
    ]
  })
}

/**
 * The history of both is counted again where a backfill counted that of one of them, or has not
 * ended: the events of before the metric have no facts, and now count in the time zones of the user
 * who stays.
 */
const unitedMetrics = (pair: Pair): NonNullable<UnitedParts["metrics"]> => {
  const { from, into, project } = pair
  const metrics = new Map(unitedOf("metrics", pair))
  for (const { aggregate, id, set } of project.metrics.values()) {
    const isUnderWay = project.backfills.get(id)?.finishedAt === null
    const isCounted = [into, from].some((user) => user.metrics.get(id)?.backfilled !== undefined)
    if (set === "archived" || !(isUnderWay || isCounted)) continue
    const state = metrics.get(id) ?? into.metrics.get(id) ?? emptyOn(0, aggregate)
    const backfilled = Math.max(into.sequence, from.sequence)
    metrics.set(id, { ...state, recalculating: true, backfilled })
  }
  return [...metrics]
}

const plus = (
  mine: { readonly amount: number; readonly spent: number },
  theirs: { readonly amount: number; readonly spent: number; readonly since?: number },
) => ({ ...theirs, amount: mine.amount + theirs.amount, spent: mine.spent + theirs.spent })

/** Lots as of the merge: those that are no longer pending are open. */
const unitedLots = ({ from, into, now }: Pair): Pick<UnitedParts, LotPart> => {
  const pending: Array<readonly [string, PendingLots | null]> = []
  const expiring: Array<readonly [string, Expiring | null]> = []
  for (const key of new Set([...from.pending.keys(), ...from.expiring.keys()])) {
    const waiting = [into, from].map((user) => pendingLotsAt(user, key, now))
    const left = waiting[1]!.reduce(withPending, waiting[0]!)
    pending.push([key, left.length > 0 ? left : null])
    const open = unitedDays(openLotsAt(into, key, now), openLotsAt(from, key, now))
    const ended = [into, from].map((user) => user.expiring.get(key)?.expired ?? noLots)
    const expired = unitedDays(ended[0]!, ended[1]!)
    expiring.push([key, open.length + expired.length > 0 ? { open, expired } : null])
  }
  return { pending, expiring }
}

/** Lots that share a day become one, which ends with the later day. */
const unitedDays = (mine: DayLots, theirs: DayLots): DayLots => {
  const united: Array<DayLot> = []
  for (const lot of [...mine, ...theirs].sort(([one], [other]) => one - other)) {
    const [from, to, amount] = lot
    const last = united.at(-1)
    if (last === undefined || from > last[1]) united.push(lot)
    else united[united.length - 1] = [last[0], Math.max(last[1], to), last[2] + amount]
  }
  return united.reduce(withDayLot, noLots as DayLots)
}

const unitedCounts = (
  mine: PeriodCounts,
  theirs: PeriodCounts,
  periodsMax: number,
): PeriodCounts => {
  let counts = mine
  for (const [period, count] of theirs) {
    const own = counts.find(([of]) => of === period)?.[1] ?? 0
    counts = withCount(counts, period, own + count, periodsMax)
  }
  return counts
}

/** Of a tier that both have, the one that was earned first. The times of a repeatable one add up. */
const unitedBadge = (mine: EarnedBadge, theirs: EarnedBadge): EarnedBadge => {
  const byTier = new Map<string, EarnedAward>()
  for (const award of [...mine, ...theirs]) {
    const known = byTier.get(award.tier)
    const first = known === undefined || award.earnedAt < known.earnedAt ? award : known
    const times = (award.times ?? 0) + (known?.times ?? 0)
    const united = times > 0 ? { ...first, times: Math.min(limits.badgeTimesMax, times) } : first
    byTier.set(award.tier, united)
  }
  return [...byTier.values()].sort((one, other) => one.earnedAt - other.earnedAt)
}

/** The sum of two counts or sums. */
const sumOf = (mine: number, theirs: number): number => plusAmount({ sumPath: "" }, mine, theirs)

/** Of two periods of a recurring quest, the later one counts. */
const unitedQuest = (mine: QuestState, theirs: QuestState): QuestState => {
  const times = mine.times + theirs.times
  if (mine.period !== theirs.period) {
    return { ...(mine.period > theirs.period ? mine : theirs), times }
  }
  const both = [mine, theirs]
  const steps: Record<string, number> = { ...mine.steps }
  for (const [step, count] of Object.entries(theirs.steps)) {
    steps[step] = sumOf(Object.hasOwn(steps, step) ? steps[step]! : 0, count)
  }
  const started = both.filter(({ startedAt }) => startedAt !== null)
  const completed = both.filter(({ completedAt }) => completedAt !== null)
  const also = Math.max(0, completed.length - 1) + (mine.also ?? 0) + (theirs.also ?? 0)
  const paid = both.filter(({ claim }) => claim === "paid").length
  const alsoPaid = Math.max(0, paid - 1) + (mine.alsoPaid ?? 0) + (theirs.alsoPaid ?? 0)
  // One claim pays for both: it is open if none has paid, and no completion paid by itself.
  const isOpen = completed.length > 0 && completed.every(({ claim }) => claim === "open")
  return {
    period: mine.period,
    steps,
    startedAt: started.length === 0 ? null : Math.min(...started.map((one) => one.startedAt!)),
    completedAt:
      completed.length === 0 ? null : Math.min(...completed.map((one) => one.completedAt!)),
    expired: completed.length === 0 && started.length > 0 && started.every((one) => one.expired),
    times,
    ...(both.some(({ joined }) => joined) && { joined: true }),
    ...(paid > 0 ? { claim: "paid" } : isOpen && { claim: "open" }),
    ...(also > 0 && { also }),
    ...(alsoPaid > 0 && { alsoPaid }),
  }
}

/** The counts of periods that the united streaks have not kept. */
const openCounts = (
  { from, into }: Pair,
  streaks: ReadonlyMap<string, ValueOf<"streaks">>,
): NonNullable<UnitedParts["streakCounts"]> => {
  const keys = new Set([...from.streakCounts.keys(), ...streaks.keys()])
  return [...keys].flatMap((key) => {
    const mine = into.streakCounts.get(key)
    const theirs = from.streakCounts.get(key)
    if (mine === undefined && theirs === undefined) return []
    const streak = streaks.get(key) ?? into.streaks.get(key)
    const counts = unitedStreakCounts(mine ?? [], theirs ?? [])
    const open = counts.filter(({ period }) => !isKept(streak, period))
    return [[key, open.length > 0 ? open : null] as const]
  })
}

const unitedStreakCounts = (mine: StreakCounts, theirs: StreakCounts): StreakCounts => {
  const byPeriod = new Map(mine.map(({ counts, period }) => [period, counts]))
  for (const { counts, period } of theirs) {
    const own = byPeriod.get(period) ?? {}
    const united: Record<string, number> = { ...own }
    for (const [need, count] of Object.entries(counts)) {
      united[need] = sumOf(Object.hasOwn(own, need) ? own[need]! : 0, count)
    }
    byPeriod.set(period, united)
  }
  return Array.from(byPeriod, ([period, counts]) => ({ period, counts }))
    .sort((one, other) => one.period - other.period)
    .slice(-limits.streakCountsMax)
}

/** Uses that were counted in different forms are those of the present form. */
const unitedUse = (mine: RuleUse, theirs: RuleUse, since: number | undefined): RuleUse => {
  const times = {
    lastAt: Math.max(mine.lastAt, theirs.lastAt),
    firstAt: Math.min(mine.firstAt, theirs.firstAt),
  }
  if (mine.since !== theirs.since) return { ...(theirs.since === since ? theirs : mine), ...times }
  return {
    ...mine,
    ...times,
    periods: unitedCounts(mine.periods, theirs.periods, limits.rulePeriodsMax),
  }
}

/** The windows afterwards. A closed window of the merged user counts no more. */
export const unitedWindows = (
  mine: UserState["windows"],
  theirs: UserState["windows"],
  closes: BoardClose,
): UnitedWindows => {
  const unite = (kind: TimedWindow): ReadonlyArray<UnitedScore> => {
    const scores = new Map(scoresOf(mine[kind]).map((score) => [score.index, score]))
    for (const { index, xp } of scoresOf(theirs[kind])) {
      if (index <= closes[kind]) continue
      scores.set(index, { index, xp: (scores.get(index)?.xp ?? 0) + xp, sequence: 0 })
    }
    return [...scores.values()].sort((one, other) => other.index - one.index).slice(0, 2)
  }
  const days = unite("days")
  return {
    daily: unite("daily"),
    weekly: unite("weekly"),
    monthly: unite("monthly"),
    ...(days.length > 0 && { days }),
  }
}

/** The scores on the boards on which the merged user has some. */
export const unitedBoards = ({
  from,
  into,
  project,
}: Pair): ReadonlyArray<readonly [string, UnitedBoard]> =>
  Array.from(from.boards, ([boardId, theirs]) => {
    const mine = into.boards.get(boardId) ?? noBoardScores
    return [
      boardId,
      {
        counted: mine.counted + theirs.counted,
        missed: mine.missed + theirs.missed,
        windows: unitedWindows(mine.windows, theirs.windows, closeOf(project.boardCloses, boardId)),
        ...unitedShare(mine.share, theirs.share, closeOf(project.boardCloses, boardId)),
        ...unitedKept({ from, into, project }, boardId),
        ...((mine.disqualified ?? theirs.disqualified) && { disqualified: true }),
      },
    ] as const
  })

/** The shares of both that are not paid. A share of the user who stays may lose its place in `unitedShare`. */
const unitedKept = (
  { from, into, project }: Pick<Pair, "from" | "into" | "project">,
  boardId: string,
) => {
  const kept = stillKept(
    project,
    boardId,
    [into, from].flatMap((user) => [
      ...(user.boards.get(boardId)?.kept ?? []),
      ...payingShares(user, project, boardId),
    ]),
  )
  return kept.length > 0 && { kept }
}

const noShare = { total: 0, windows: noWindows }

/** The share of the user who stays; of the other one only for the same team, or if there is none. */
const unitedShare = (
  mine: BoardScores["share"],
  theirs: BoardScores["share"],
  closes: BoardClose,
) => {
  const team = (mine ?? theirs)?.team
  if (team === undefined) return {}
  const own = mine?.team === team ? mine : noShare
  const other = theirs?.team === team ? theirs : noShare
  const windows = unitedWindows(own.windows, other.windows, closes)
  // Once the board is over, the shares that may be paid are kept (`unitedKept`).
  return { share: { team, total: own.total + (closes.over ? 0 : other.total), windows } }
}

const scoresOf = (scores: WindowScores): ReadonlyArray<UnitedScore> => {
  const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = scores
  return [
    { index, xp, sequence },
    { index: indexBefore, xp: xpBefore, sequence: sequenceBefore },
  ].filter((score) => score.sequence > 0)
}

/**
 * The merged user, and those whom it had taken in, for the list of the user who stays. `merged` 0:
 * the record of this merge.
 */
export const absorbedWith = (from: UserState, frozen: number): ReadonlyArray<AbsorbedUser> => {
  const { absorbed, badgeRecounts, id, lastPurchase, lastReward, lastSpend } = from
  return [
    ...absorbed.map((one) => {
      const recounts = recountsThrough(one, badgeRecounts)
      return { ...one, merged: 0, ...(recounts.size > 0 && { badgeRecounts: [...recounts] }) }
    }),
    {
      userId: id,
      frozen,
      merged: 0,
      ...(lastReward > 0 && { lastReward }),
      ...(lastSpend > 0 && { lastSpend }),
      ...(lastPurchase > 0 && { lastPurchase }),
      ...(badgeRecounts.size > 0 && { badgeRecounts: [...badgeRecounts] }),
    },
  ]
}

/** Who of the user's former selves the record is of; `undefined`: it is the user's own, or no one's. */
export const absorbedBy = (
  { absorbed }: Pick<UserState, "absorbed">,
  { sequence, subject }: Pick<JournalRecord, "sequence" | "subject">,
): AbsorbedUser | undefined =>
  absorbed.length === 0 || subject.actor !== "user"
    ? undefined
    : absorbed.findLast(({ frozen, userId }) => userId === subject.userId && sequence <= frozen)

/** By badge, the last record that a backfill has counted, among the records of the same id. */
export const recountsOf = (
  user: UserState,
  record: Pick<JournalRecord, "sequence" | "subject">,
): ReadonlyMap<string, number> => {
  const absorbed = absorbedBy(user, record)
  return absorbed === undefined ? user.badgeRecounts : recountsThrough(absorbed, user.badgeRecounts)
}

/** A backfill after the merge has counted the records of both. */
const recountsThrough = (
  { badgeRecounts, merged }: AbsorbedUser,
  since: UserState["badgeRecounts"],
): ReadonlyMap<string, number> => {
  const recounts = new Map(badgeRecounts)
  for (const [badgeId, upTo] of since) if (upTo >= merged) recounts.set(badgeId, upTo)
  return recounts
}
