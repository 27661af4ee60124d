/** The time of the next change of a user by the clock alone, so that idle users need no daily visit. */
import type { ProjectState } from "../project/Project.ts"
import { type Quest, questPeriodEnd } from "../project/Quest.ts"
import { type Zone, zoneOf } from "../values/Calendar.ts"
import { hasExpired, isMidway, type QuestState } from "./QuestState.ts"
import { streakBreaksAt, streakNow } from "./Streak.ts"
import { type UserState, userZones } from "./User.ts"

/**
 * The time at which a `tick` will next decide facts, epoch milliseconds: past if it would now, infinity for never.
 * Exact for the present definitions; an edit may move it.
 */
export const dueAt = (user: UserState, project: ProjectState, now: number): number => {
  let due = Number.POSITIVE_INFINITY
  const { streaks, timezone } = project.settings
  if (user.streaks.size > 0) {
    const zones = userZones(user, project)
    for (const { key } of streaks) {
      const streak = user.streaks.get(key)
      if (streak === undefined || streak.broken) continue
      const over = streakNow(streak, zones, now).current === 0
      due = Math.min(due, over ? now : streakBreaksAt(streak, zones, now))
    }
  }
  if (user.quests.size > 0) {
    const zone = zoneOf(timezone)
    for (const [questId, state] of user.quests) {
      due = Math.min(due, questEndsFor(project.quests.get(questId), state, zone, now))
    }
  }
  return due
}

const questEndsFor = (
  quest: Quest | undefined,
  state: QuestState,
  zone: Zone,
  now: number,
): number => {
  if (hasExpired(quest, state, zone, now)) return now
  if (quest === undefined || !isMidway(state)) return Number.POSITIVE_INFINITY
  return Math.min(quest.endsAt ?? Number.POSITIVE_INFINITY, questPeriodEnd(quest, zone, now))
}
