/** Users in replies. */

import { levelAt, levelProgress } from "../../domain/project/Level.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import {
  badgeProgress,
  badgesOf,
  questProgress,
  streakProgress,
} from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Progress, User } from "../api/UserShapes.ts"
import { showBadges } from "./Shapes.ts"

export const showUser = (user: UserState, project: ProjectState): typeof User.Type => {
  const { attributes, displayName, hidden, timezone } = user.profile
  return {
    id: user.id,
    displayName,
    timezone,
    attributes,
    hidden,
    xp: user.xp,
    level: levelAt(project.settings.levelCurve, user.xp),
    points: user.points,
    badges: showBadges(badgesOf(user, project)),
    createdAt: isoTime(user.createdAt),
    updatedAt: isoTime(user.updatedAt),
  }
}

/** How far the user is at `now`, epoch milliseconds. */
export const showProgress = (
  user: UserState,
  project: ProjectState,
  rank: number | null,
  now: number,
): typeof Progress.Type => ({
  userId: user.id,
  xp: user.xp,
  level: levelAt(project.settings.levelCurve, user.xp),
  levelProgress: levelProgress(project.settings.levelCurve, user.xp),
  rank,
  points: user.points,
  badges: badgeProgress(user, project).map((badge) => ({
    ...badge,
    earnedAt: isoTimeOrNull(badge.earnedAt),
  })),
  quests: questProgress(user, project, now).map((quest) => ({
    ...quest,
    periodEndsAt: isoTimeOrNull(quest.periodEndsAt),
    completedAt: isoTimeOrNull(quest.completedAt),
  })),
  streaks: streakProgress(user, project, now),
})
