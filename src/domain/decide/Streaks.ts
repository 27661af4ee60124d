/** Extends streaks by events, and records their breaks by the clock. */
import type { ActionEntry } from "../project/ActionIndex.ts"
import type { TrackedEvent } from "../record/Record.ts"
import { runsOf, type StreakState, streakNow, withEventAt } from "../user/Streak.ts"
import { userZones } from "../user/User.ts"
import type { Draft } from "./Draft.ts"

/**
 * Adds the event to the streaks that it counts for. Calls `grown` for each present or past run that
 * grew, with its days before and after. If an `imported` event leaves a streak that is already
 * over, the fact has the streak as broken: a later tick would otherwise send a message.
 */
export const extendStreaks = (
  draft: Draft,
  { streaks }: ActionEntry,
  { imported }: TrackedEvent,
  grown: (key: string, before: number, after: number) => void,
): void => {
  if (streaks.length === 0) return
  const { facts, now, occurredAt, user } = draft
  const zones = userZones(user, draft.project)
  for (const definition of streaks) {
    const { key } = definition
    const streak = user?.streaks.get(key)
    const next = withEventAt(streak, definition, zones, occurredAt, now)
    if (next === streak) continue
    if (streak !== undefined && !continues(next, streak)) noteBreak(draft, key, streak)
    const before = streak === undefined ? 0 : streakNow(streak, zones, now).current
    const { current } = streakNow(next, zones, now)
    const kind = current > before ? "streak.extended" : "streak.counted"
    const over = imported === true && current === 0
    facts.push({ kind, key, current, streak: over ? { ...next, broken: true } : next })
    const runsBefore = streak === undefined ? [] : runsOf(streak, definition, zones)
    for (const { days, first, last } of runsOf(next, definition, zones)) {
      const parts = runsBefore.filter((run) => run.first >= first && run.last <= last)
      const longest = Math.max(0, ...parts.map((run) => run.days))
      if (days > longest) grown(key, longest, days)
    }
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

/** Adds the facts of the streaks that have broken by `draft.now`. */
export const breakStreaks = (draft: Draft): void => {
  const { project, user } = draft
  if (user === undefined) return
  const zones = userZones(user, project)
  for (const { key } of project.settings.streaks) {
    const streak = user.streaks.get(key)
    if (streak === undefined || streak.broken) continue
    if (streakNow(streak, zones, draft.now).current === 0) noteBreak(draft, key, streak)
  }
}
