/**
 * Extends streaks by events, pays their milestones, and records their breaks and their warnings by
 * the clock.
 */
import type { ActionEntry } from "../project/ActionIndex.ts"
import { minusAmount, paysAt, plusAmount } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import {
  countsAt,
  isKeptBy,
  isShown,
  needName,
  needsOne,
  type Streak,
  type StreakNeed,
} from "../project/StreakDefinition.ts"
import type { Fact, TrackedEvent } from "../record/Record.ts"
import { isWarnable } from "../user/ReminderHours.ts"
import {
  isKept,
  isSettled,
  runsOf,
  type StreakState,
  streakNow,
  streakRisk,
  withPeriod,
} from "../user/Streak.ts"
import { periodAt, type Zones } from "../user/StreakPeriods.ts"
import { paidRuns } from "../user/StreakRepair.ts"
import { streakCountOf, type UserState, userZones } from "../user/User.ts"
import { reachStreakBadges } from "./Badges.ts"
import type { Draft } from "./Draft.ts"

/**
 * Adds the event to the streaks that it counts for, and notes the milestones and badges that each
 * present or past run reaches as it grows: they pay later (`Draft.payDue`). If an `imported` event
 * leaves a streak that is already over, the fact has the streak as broken: a later tick would
 * otherwise send a message.
 */
export const extendStreaks = (
  draft: Draft,
  { streaks }: ActionEntry,
  event: TrackedEvent,
): void => {
  if (streaks.length === 0) return
  const zones = userZones(draft.user, draft.project)
  for (const definition of streaks) {
    if (!countsAt(definition, draft.occurredAt)) continue
    const streak = draft.streakOf(definition.key)
    const period = periodAt(definition, zones, draft.occurredAt)
    const keeps =
      !isSettled(streak, period) &&
      (needsOne(definition) || countFor(draft, definition, period, event.action))
    if (!keeps && streak?.owed === undefined) continue
    const paid = new Set(streak?.paid)
    if (keeps) keepPeriod(draft, definition, zones, period, event, paid)
    if (streak?.owed !== undefined) reachOwed(draft, definition, zones, period, event, paid)
  }
}

/** The lengths of a run. */
interface Growth {
  readonly before: number
  readonly after: number
}

/** Counts the event for the needs of a period. Returns whether the period is then kept. */
const countFor = (draft: Draft, definition: Streak, period: number, action: string): boolean => {
  const { facts, user } = draft
  const { key, needs } = definition
  const counts = new Map<string, number>()
  for (const need of needs) {
    const by =
      need.metric === undefined
        ? Number(need.action === action)
        : draft.towards(need.metric, need.target)
    const name = needName(need)
    const before = by === 0 ? undefined : streakCountOf(user, key, period, name)
    if (before === undefined) continue
    const current = plusAmount(need, before, by)
    counts.set(name, current)
    const of = { key, period, need: name, current }
    facts.push({ kind: "streak.progressed", ...of, ...(by !== 1 && { by }) })
  }
  if (counts.size === 0) return false
  return isKeptBy(
    definition,
    (name) => counts.get(name) ?? streakCountOf(user, key, period, name) ?? 0,
  )
}

const keepPeriod = (
  draft: Draft,
  definition: Streak,
  zones: Zones,
  period: number,
  { imported }: TrackedEvent,
  paid: Set<number>,
): void => {
  const { key } = definition
  const { facts, now } = draft
  const streak = draft.streakOf(key)
  const next = withPeriod(streak, definition, zones, period, now)
  if (streak !== undefined && !continues(next, streak)) noteBreak(draft, key, streak)
  const before = streak === undefined ? 0 : streakNow(streak, definition, zones, now).current
  const { current } = streakNow(next, definition, zones, now)
  const kind = current > before ? "streak.extended" : "streak.counted"
  const over = imported === true && current === 0
  const after = over ? { ...next, broken: true } : next
  facts.push({ kind, key, current, streak: after })
  draft.setStreak(key, after)
  const parts = streak === undefined ? [] : [streak]
  for (const growth of reachMilestones(draft, definition, zones, parts, next, paid)) {
    reachStreakBadges(draft, key, growth.before, growth.after)
  }
}

/**
 * Notes the milestones whose payment was taken back, if the event counts for a kept period of a run
 * that is long enough.
 */
const reachOwed = (
  draft: Draft,
  definition: Streak,
  zones: Zones,
  period: number,
  { action }: TrackedEvent,
  paid: Set<number>,
): void => {
  const { key, needs } = definition
  const streak = draft.streakOf(key)!
  const adds = (need: StreakNeed) =>
    need.metric === undefined ? need.action === action : draft.towards(need.metric, need.target) > 0
  if (!isKept(streak, period) || (needs.length > 0 && !needs.some(adds))) return
  const run = runsOf(streak, definition, zones).find(({ last }) => period <= last)!
  reachBetween(draft, definition, paid, 0, run.days, streak.owed)
}

/** Notes the milestones of the runs that are longer in `next`, and returns these runs. */
export const reachMilestones = (
  draft: Draft,
  definition: Streak,
  zones: Zones,
  before: ReadonlyArray<StreakState>,
  next: StreakState,
  paid: Set<number>,
): ReadonlyArray<Growth> => {
  const growths: Array<Growth> = []
  const runsBefore = before.flatMap((streak) => paidRuns(streak, definition, zones))
  for (const { days, first, last } of runsOf(next, definition, zones)) {
    const parts = runsBefore.filter((run) => run.first >= first && run.last <= last)
    const longest = Math.max(0, ...parts.map((run) => run.days))
    if (days <= longest) continue
    reachBetween(draft, definition, paid, longest, days)
    growths.push({ before: longest, after: days })
  }
  return growths
}

/** Notes the milestones that a streak has reached because two users became one. */
export const reachUnitedStreak = (
  draft: Draft,
  key: string,
  parts: ReadonlyArray<StreakState | undefined>,
): void => {
  const definition = definitionWithKey(draft.project.streaks, key)
  const next = draft.user?.streaks.get(key)
  const before = parts.filter((part) => part !== undefined)
  if (definition === undefined || next === undefined || before.length < 2) return
  const paid = new Set(before.flatMap((streak) => streak.paid ?? []))
  reachMilestones(draft, definition, userZones(draft.user, draft.project), before, next, paid)
}

/**
 * Notes the milestones between two lengths of a run, each once in the life of the user; `only` these
 * targets, if they are given. Notes them in `paid`.
 */
const reachBetween = (
  draft: Draft,
  definition: Streak,
  paid: Set<number>,
  before: number,
  after: number,
  only?: ReadonlyArray<number>,
): void => {
  if (definition.milestones.length === 0 || !paysAt(definition, draft.occurredAt)) return
  const { id: streakId, key, name } = definition
  for (const { reward, target } of definition.milestones) {
    if (target <= before || target > after || paid.has(target)) continue
    if (only?.includes(target) === false) continue
    paid.add(target)
    draft.facts.push({ kind: "streak.milestone_reached", streakId, key, name, target })
    draft.owe(reward, { streakId })
  }
}

/**
 * Whether the last run of `next` contains the start of the last run of `streak`: it is the same
 * streak.
 */
const continues = (next: StreakState, streak: StreakState): boolean => next.first <= streak.first

const noteBreak = (draft: Draft, key: string, streak: StreakState): void => {
  if (streak.broken) return
  const { length } = streak
  draft.facts.push({ kind: "streak.broken", key, length, streak: { ...streak, broken: true } })
}

/** What a record did to a streak that an undo takes back. */
type StreakGain = Extract<
  Fact,
  { readonly kind: "streak.progressed" | "streak.milestone_reached" | "streak.milestone_revoked" }
>

/** Takes back a count of a period that is not kept, or a milestone. A kept period stays. */
export const undoneStreak = (user: UserState, fact: StreakGain): ReadonlyArray<Fact> => {
  const { key } = fact
  if (fact.kind === "streak.progressed") {
    const { by = 1, ...counted } = fact
    const count = streakCountOf(user, key, fact.period, fact.need) ?? 0
    return count > 0 ? [{ ...counted, current: minusAmount(count, by) }] : []
  }
  const isPaid = user.streaks.get(key)?.paid?.includes(fact.target) === true
  return isPaid ? [{ ...fact, kind: "streak.milestone_revoked" }] : []
}

/** Adds the facts of the streaks that have broken by `draft.now`. */
export const breakStreaks = (draft: Draft): void => {
  const { project, user } = draft
  if (user === undefined || user.streaks.size === 0) return
  const zones = userZones(user, project)
  for (const definition of project.streaks.values()) {
    if (!isShown(definition)) continue
    const { key } = definition
    const streak = draft.streakOf(key)
    if (streak === undefined || streak.broken) continue
    const { current } = streakNow(streak, definition, zones, draft.now)
    if (current === 0) noteBreak(draft, key, streak)
  }
}

/** Adds the warnings that are due at `draft.now`. A warning that comes after its period is left out. */
export const warnStreaks = (draft: Draft): void => {
  const { facts, now, project, user } = draft
  if (user === undefined || user.streaks.size === 0 || !isWarnable(user, project)) return
  const zones = userZones(user, project)
  for (const definition of project.streaks.values()) {
    const { key } = definition
    const streak = draft.streakOf(key)
    const risk = streak && streakRisk(streak, definition, zones, now)
    if (risk === undefined || risk.at > now) continue
    const { current, freezes } = streakNow(streak!, definition, zones, now)
    const { endsAt, period } = risk
    facts.push({ kind: "streak.at_risk", key, period, current, freezes, endsAt })
  }
}
