/** The numbers by which badges are earned, as they stand for a user. */
import { type Badge, targetOf } from "../project/Badge.ts"
import type { UserState } from "./User.ts"

/** The number by which `badge` is earned, as it stands for a user; `undefined` for one that only a hand gives. */
export const criterionNumber = (
  { criteria, id }: Badge,
  user: UserState,
  levelOf: (xp: number) => number,
): number | undefined => {
  switch (criteria.kind) {
    case "xp":
      return user.xp
    case "points":
      return user.points
    case "level":
      return levelOf(user.xp)
    case "quest_count":
      return user.questsCompleted
    case "action_count":
      return user.badgeCounts.get(id) ?? 0
    case "streak": {
      if (criteria.streak !== null) return user.streaks.get(criteria.streak)?.best ?? 0
      let best = 0
      for (const streak of user.streaks.values()) best = Math.max(best, streak.best)
      return best
    }
    case "manual":
      return undefined
  }
}

/** Whether a user does not have `badge` and its number has reached the target. */
export const qualifies = (
  badge: Badge,
  user: UserState,
  levelOf: (xp: number) => number,
): boolean => {
  if (user.badges.has(badge.id)) return false
  const reached = criterionNumber(badge, user, levelOf)
  return reached !== undefined && reached >= targetOf(badge)
}
