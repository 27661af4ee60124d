/**
 * How the facts of a record change a user's state: pure, synchronous, total. It needs nothing but the record,
 * no definitions, no clock, no calendar, so that replaying a journal gives what was.
 */
import { limits } from "../Limits.ts"
import type { Fact, JournalRecord } from "./Record.ts"
import {
  emptyProfile,
  noWindows,
  type Profile,
  type QuestState,
  type RuleUse,
  type UserState,
  type WindowScores,
} from "./User.ts"

// biome-ignore lint/suspicious/noExplicitAny: it is empty, so its values are of every type
const none: ReadonlyMap<string, any> = new Map()

/** The parts of a state while a record is folded in; each is copied when it is first changed. */
class Folding {
  xp: number
  scoreSequence: number
  points: number
  windows: UserState["windows"]
  profile: Profile
  badges: UserState["badges"]
  badgeCounts: UserState["badgeCounts"]
  badgeRecounts: UserState["badgeRecounts"]
  quests: UserState["quests"]
  questsCompleted: number
  streaks: UserState["streaks"]
  ruleUses: UserState["ruleUses"]
  createdAt: number | undefined

  constructor(user: UserState | undefined) {
    this.xp = user?.xp ?? 0
    this.scoreSequence = user?.scoreSequence ?? 0
    this.points = user?.points ?? 0
    this.windows = user?.windows ?? noWindows
    this.profile = user?.profile ?? emptyProfile
    this.badges = user?.badges ?? none
    this.badgeCounts = user?.badgeCounts ?? none
    this.badgeRecounts = user?.badgeRecounts ?? none
    this.quests = user?.quests ?? none
    this.questsCompleted = user?.questsCompleted ?? 0
    this.streaks = user?.streaks ?? none
    this.ruleUses = user?.ruleUses ?? none
    this.createdAt = user?.createdAt
  }

  fold(fact: Fact, record: JournalRecord): void {
    switch (fact.kind) {
      case "user.created":
        this.createdAt = record.at
        break
      case "user.updated":
        this.profile = fact.profile
        break
      case "xp.earned":
      case "xp.revoked":
        this.xp = fact.total
        this.scoreSequence = record.sequence
        break
      case "points.earned":
      case "points.revoked":
        this.points = fact.total
        break
      case "windows.credited":
        this.windows = {
          daily: credited(this.windows.daily, fact.daily, fact.amount, record.sequence),
          weekly: credited(this.windows.weekly, fact.weekly, fact.amount, record.sequence),
          monthly: credited(this.windows.monthly, fact.monthly, fact.amount, record.sequence),
        }
        break
      case "rule.used": {
        const use = ruleUse(this.ruleUses.get(fact.ruleId), fact)
        this.ruleUses = new Map(this.ruleUses).set(fact.ruleId, use)
        break
      }
      case "badge.counted":
        this.badgeCounts = new Map(this.badgeCounts).set(fact.badgeId, fact.current)
        if (record.cause.kind === "backfill") {
          const upTo = record.cause.countedUpTo ?? 0
          this.badgeRecounts = new Map(this.badgeRecounts).set(fact.badgeId, upTo)
        }
        break
      case "badge.earned": {
        const { badgeId, target } = fact
        const badge = { earnedAt: record.at, ...(target !== undefined && { target }) }
        this.badges = new Map(this.badges).set(badgeId, badge)
        break
      }
      case "badge.revoked":
        this.badges = without(this.badges, fact.badgeId)
        break
      case "streak.extended":
      case "streak.counted":
      case "streak.broken":
        this.streaks = new Map(this.streaks).set(fact.key, fact.streak)
        break
      case "quest.started":
      case "quest.progressed":
      case "quest.completed":
      case "quest.expired":
      case "quest.reverted":
        this.#quest(fact, record.at)
        break
    }
  }

  #quest(
    fact: Extract<Fact, { readonly period: number; readonly questId: string }>,
    at: number,
  ): void {
    const before = this.quests.get(fact.questId) ?? notStarted
    const quests = new Map(this.quests)
    switch (fact.kind) {
      case "quest.started": {
        const { times } = before
        quests.set(fact.questId, { ...notStarted, period: fact.period, startedAt: at, times })
        break
      }
      case "quest.progressed": {
        const steps = { ...before.steps, [fact.step]: fact.current }
        quests.set(fact.questId, { ...before, steps })
        break
      }
      case "quest.completed":
        quests.set(fact.questId, { ...before, completedAt: at, times: fact.times })
        this.questsCompleted++
        break
      case "quest.expired":
        quests.set(fact.questId, { ...before, expired: true })
        break
      case "quest.reverted": {
        const { from, period, steps, times, to } = fact
        if (from === "completed" && to !== "completed") this.questsCompleted--
        // A completion in an earlier period; where the user stands in the present one stays.
        if (period !== before.period) quests.set(fact.questId, { ...before, times })
        else if (to !== "not_started") {
          const completedAt = to === "completed" ? before.completedAt : null
          quests.set(fact.questId, { ...before, steps, completedAt, times })
        } else if (times > 0) quests.set(fact.questId, { ...notStarted, period, times })
        else quests.delete(fact.questId)
        break
      }
    }
    this.quests = quests
  }
}

const notStarted: QuestState = {
  period: 0,
  steps: {},
  startedAt: null,
  completedAt: null,
  expired: false,
  times: 0,
}

const without = <A>(map: ReadonlyMap<string, A>, key: string): ReadonlyMap<string, A> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}

const credited = (
  scores: WindowScores,
  index: number | undefined,
  amount: number,
  sequence: number,
): WindowScores => {
  if (index === undefined) return scores
  const same = index === scores.index
  return {
    index,
    xp: same ? scores.xp + amount : amount,
    sequence,
    indexBefore: same ? scores.indexBefore : scores.index,
    xpBefore: same ? scores.xpBefore : scores.xp,
    sequenceBefore: same ? scores.sequenceBefore : scores.sequence,
  }
}

const ruleUse = (
  use: RuleUse = { periods: [], lastAt: 0 },
  {
    occurredAt,
    period,
    times,
  }: { readonly occurredAt: number; readonly period: number; readonly times: number },
): RuleUse => {
  const used = use.periods.find(([of]) => of === period)?.[1] ?? 0
  const periods = use.periods.filter(([of]) => of !== period)
  // Also when nothing is left of it: else an older one, which is forgotten, would look unused.
  periods.push([period, Math.max(0, used + times)])
  periods.sort(([one], [other]) => one - other)
  return {
    periods: periods.slice(-limits.rulePeriodsMax),
    lastAt: Math.max(use.lastAt, occurredAt),
  }
}

/** The state after `record`; `undefined` as long as the user was never created (a refusal that was only kept), and once it is erased. */
export const applyUser = (
  user: UserState | undefined,
  record: JournalRecord,
): UserState | undefined => {
  if (record.cause.kind === "erasure" && record.facts.length > 0) return undefined
  const folding = new Folding(user)
  for (const fact of record.facts) folding.fold(fact, record)
  if (folding.createdAt === undefined || record.subject.actor !== "user") return undefined
  return {
    id: record.subject.userId,
    sequence: record.sequence,
    xp: folding.xp,
    scoreSequence: folding.scoreSequence,
    points: folding.points,
    windows: folding.windows,
    profile: folding.profile,
    badges: folding.badges,
    badgeCounts: folding.badgeCounts,
    badgeRecounts: folding.badgeRecounts,
    quests: folding.quests,
    questsCompleted: folding.questsCompleted,
    streaks: folding.streaks,
    ruleUses: folding.ruleUses,
    createdAt: folding.createdAt,
    updatedAt: record.facts.length === 0 ? user!.updatedAt : record.at,
  }
}
