/** A user's progress by the criterion of a badge. */
import { type Badge, targetOf } from "../project/Badge.ts"
import { pointsEarned, type UserState } from "./User.ts"

/** The user's number for `badge`'s criterion; `undefined` for a manual badge. */
export const criterionNumber = (
  { criteria, id }: Badge,
  user: UserState,
  levelOf: (xp: number) => number,
): number | undefined => {
  switch (criteria.kind) {
    case "xp":
      return user.xp
    case "points":
      return pointsEarned(user)
    case "level":
      return levelOf(user.xp)
    case "quest_count":
      return user.questsCompleted
    case "action_count":
    case "action_sum":
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

/** Whether the user lacks `badge` and has reached its target. */
export const qualifies = (
  badge: Badge,
  user: UserState,
  levelOf: (xp: number) => number,
): boolean => {
  if (user.badges.has(badge.id)) return false
  const reached = criterionNumber(badge, user, levelOf)
  return reached !== undefined && reached >= targetOf(badge)
}
