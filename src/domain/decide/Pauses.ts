/**
 * Pauses of streaks: those of definitions begin for users (`user/StreakPauses.ts`), and requests pause
 * the streak of one user. A pause covers days for good, also days that are past. It may revive a
 * streak or join two runs; what the longer run reaches is paid as by an event, but does not score.
 * A pause takes nothing, so nothing undoes it.
 */
import { Result } from "effect"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { countsAt, isShown, type Streak } from "../project/StreakDefinition.ts"
import type { StreakPausing } from "../record/StreakFact.ts"
import { noStreak, type StreakState, streakNow, withPause } from "../user/Streak.ts"
import { beginningPauses, takesPauses } from "../user/StreakPauses.ts"
import { type DayRange, joined, type Zones } from "../user/StreakPeriods.ts"
import { type UserState, userZones } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import { payAll, reachStreakBadges } from "./Badges.ts"
import { noChange } from "./Decided.ts"
import { type Decision, Draft } from "./Draft.ts"
import { reachMilestones } from "./Streaks.ts"

/** Lets the pauses begin that do by `draft.now`. */
export const beginPauses = (
  draft: Draft,
  definitions: Iterable<Streak>,
  withEvent: boolean,
): void => {
  for (const definition of definitions) {
    if (definition.pauses.length === 0) continue
    if (!withEvent || countsAt(definition, draft.occurredAt)) begin(draft, definition, withEvent)
  }
}

const begin = (draft: Draft, definition: Streak, withEvent: boolean): void => {
  const { facts, membership, now, project, user } = draft
  const { key, pauses } = definition
  const zones = userZones(user, project)
  const streak = draft.streakOf(key)
  const beginning = beginningPauses(streak, definition, zones, now, withEvent)
  if (beginning.length === 0) return
  const present = pauses.map(({ number }) => number)
  const before = (streak?.seen ?? []).filter((number) => present.includes(number))
  const seen = [...before, ...beginning.map(({ number }) => number)]
  const own = beginning.filter(({ segment }) => membership.has(segment))
  if (own.length === 0) facts.push({ kind: "streak.pause_seen", key, seen })
  draft.setStreak(key, { ...(streak ?? noStreak), seen })
  for (const { from, to } of own) cover(draft, definition, zones, [from, to])
}

/** Covers the days, and notes what the streak reaches by them, which pays later. */
const cover = (draft: Draft, definition: Streak, zones: Zones, days: DayRange): void => {
  const { key } = definition
  const before = draft.streakOf(key) ?? noStreak
  const streak = withPause(before, definition, zones, days, draft.now)
  const { current } = streakNow(streak, definition, zones, draft.now)
  const [from, to] = days
  draft.facts.push({ kind: "streak.paused", key, from, to, current, streak })
  const paid = new Set(before.paid)
  draft.setStreak(key, streak)
  for (const growth of reachMilestones(draft, definition, zones, [before], streak, paid)) {
    reachStreakBadges(draft, key, growth.before, growth.after)
  }
  if (paid.size > (before.paid?.length ?? 0)) draft.setStreak(key, withPaid(streak, paid))
}

const withPaid = ({ owed = [], ...streak }: StreakState, paid: Set<number>): StreakState => {
  const left = owed.filter((target) => !paid.has(target))
  return { ...streak, paid: [...paid], ...(left.length > 0 && { owed: left }) }
}

/** Pays what the pauses of a draft reach besides milestones. Returns a refusal to pay. */
export const settlePauses = (draft: Draft): LaurelError<"balance_overflow"> | undefined => {
  payAll(draft)
  const overflow = draft.overflow()
  if (overflow === undefined) draft.settle(false)
  return overflow
}

export type PauseRefusal = "user_not_found" | "streak_not_found" | "conflict" | "balance_overflow"

/** Decides a request to pause the streak of a user. Days that are covered already change nothing. */
export const decidePause = (
  user: UserState | undefined,
  project: ProjectState,
  command: StreakPausing,
  now: number,
): Result.Result<Decision, LaurelError<PauseRefusal>> => {
  const { from, to } = command
  if (user === undefined) {
    return refuse("user_not_found", "No event or reward of this user was accepted yet.")
  }
  const definition = definitionOf(project.streaks, command.streak)
  if (definition === undefined || !isShown(definition)) {
    return refuse("streak_not_found", "No streak of this project has this id or key.")
  }
  if (!takesPauses(definition, now)) return refuse("conflict", "The streak has ended.")
  const cause: StreakPausing = { kind: "pause", streak: definition.key, from, to }
  const { pauses = [] } = user.streaks.get(definition.key) ?? {}
  if (noChange(joined([...pauses, [from, to]]), pauses)) {
    return Result.succeed({ cause, facts: [] })
  }
  const draft = new Draft(user.id, user, project, now)
  cover(draft, definition, userZones(user, project), [from, to])
  const overflow = settlePauses(draft)
  return overflow === undefined
    ? Result.succeed({ cause, facts: draft.facts })
    : Result.fail(overflow)
}
