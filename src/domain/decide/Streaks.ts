/** Extends streaks by events, and breaks them by the clock. */
import type { ActionEntry } from "../project/ActionIndex.ts"
import type { TrackedEvent } from "../record/Record.ts"
import { daysOf, type StreakState, streakNow, withEventAt } from "../user/Streak.ts"
import { userZone } from "../user/User.ts"
import type { Draft } from "./Draft.ts"

/**
 * Adds the event to the streaks that it counts for. For each streak with a present or past run that grew, calls
 * `grown` with the days before and after. A streak of `imported` history that is already over is noted as broken at once: a later
 * tick would send a message for each.
 */
export const extendStreaks = (
  draft: Draft,
  { streaks }: ActionEntry,
  { imported }: TrackedEvent,
  grown: (key: string, before: number, after: number) => void,
): void => {
  if (streaks.length === 0) return
  const { facts, now, occurredAt, user } = draft
  const zone = userZone(user, draft.project)
  for (const definition of streaks) {
    const { key } = definition
    const streak = user?.streaks.get(key)
    const next = withEventAt(streak, definition, zone, occurredAt, now)
    if (next === streak) continue
    if (streak !== undefined && !continues(next, streak)) noteBreak(draft, key, streak)
    const before = streak === undefined ? 0 : streakNow(streak, zone, now).current
    const { current } = streakNow(next, zone, now)
    const kind = current > before ? "streak.extended" : "streak.counted"
    const over = imported === true && current === 0
    facts.push({ kind, key, current, streak: over ? { ...next, broken: true } : next })
    for (const run of next.runs) {
      if (streak?.runs.includes(run)) continue
      const parts = streak?.runs.filter(({ first, last }) => first >= run.first && last <= run.last)
      const longest = Math.max(0, ...(parts ?? []).map(daysOf))
      if (daysOf(run) > longest) grown(key, longest, daysOf(run))
    }
  }
}

/** Whether the last run of `next` contains the start of that of `streak`: the same streak. */
const continues = (next: StreakState, streak: StreakState): boolean =>
  next.runs.at(-1)!.first <= streak.runs.at(-1)!.first

const noteBreak = (draft: Draft, key: string, streak: StreakState): void => {
  if (streak.broken) return
  const length = daysOf(streak.runs.at(-1)!)
  draft.facts.push({ kind: "streak.broken", key, length, streak: { ...streak, broken: true } })
}

/** Notes the streaks that broke by `draft.now`. */
export const breakStreaks = (draft: Draft): void => {
  const { project, user } = draft
  if (user === undefined) return
  const zone = userZone(user, project)
  for (const { key } of project.settings.streaks) {
    const streak = user.streaks.get(key)
    if (streak === undefined || streak.broken) continue
    if (streakNow(streak, zone, draft.now).current === 0) noteBreak(draft, key, streak)
  }
}
