/** Awards badges to users by the criteria of the badges. */
import { Result } from "effect"
import { type CountingBadge, crossedBy, type Thresholds } from "../project/ActionIndex.ts"
import {
  amountOf,
  awardsOf,
  isOpenAt,
  minusAmount,
  plusAmount,
  statusAt,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Backfill } from "../record/Record.ts"
import { criterionNumber } from "../user/Progress.ts"
import type { UserState } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { type Decision, Draft } from "./Draft.ts"

/**
 * Counts or sums the event for badges by actions, and awards the badges whose target it reaches.
 * Counting continues after the award, so that later events count if an earlier one is revoked.
 */
export const countAction = (
  draft: Draft,
  badges: ReadonlyArray<CountingBadge>,
  metadata: Metadata | undefined,
): void => {
  for (const { awards, badge, criteria } of badges) {
    if (!isOpenAt(badge, draft.occurredAt) || !draft.membership.has(badge.segment)) continue
    const amount = amountOf(criteria, metadata)
    const before = draft.user?.badgeCounts.get(badge.id) ?? 0
    const current = plusAmount(criteria, before, amount)
    if (current === before) continue
    const by = minusAmount(current, before)
    const counted = { kind: "badge.counted", badgeId: badge.id, current } as const
    draft.facts.push(by === 1 ? counted : { ...counted, by })
    // As with balances, only crossing the target awards: a user above a lowered target gets the
    // badge by a backfill.
    for (const one of awards) {
      if (before < one.target && current >= one.target) draft.award(one)
    }
  }
}

/**
 * Awards the badges whose targets the balances and counts of the decision reached, until nothing
 * changes: what a badge pays may reach the target of another. Each award pays at most once, so this
 * ends.
 */
export const awardBadges = (draft: Draft): void => {
  const { index, questsCompleted, user } = draft
  const { thresholds } = index
  const spent = user?.pointsSpent ?? 0
  let xp = user?.xp ?? 0
  let points = (user?.points ?? 0) + spent
  let quests = user?.questsCompleted ?? 0
  // A new user reaches level 1 with the first event.
  let level = user === undefined ? 0 : undefined
  do {
    const [xpBefore, pointsBefore, questsBefore] = [xp, points, quests]
    xp = draft.xp
    points = draft.points + spent
    quests = questsCompleted
    award(draft, thresholds.xp, xpBefore, xp)
    award(draft, thresholds.points, pointsBefore, points)
    award(draft, thresholds.quest_count, questsBefore, quests)
    if (thresholds.level.targets.length > 0) {
      const levelBefore = level ?? draft.levelOf(xpBefore)
      level = draft.levelOf(xp)
      award(draft, thresholds.level, levelBefore, level)
    }
  } while (draft.xp !== xp || draft.points + spent !== points)
}

/** Awards the badges for a streak that grew from `before` to `after` days. */
export const awardStreakBadges = (
  draft: Draft,
  key: string,
  before: number,
  after: number,
): void => {
  const { streakThresholds } = draft.index
  for (const name of [key, ""]) {
    const thresholds = streakThresholds.get(name)
    if (thresholds !== undefined) award(draft, thresholds, before, after)
  }
}

const award = (draft: Draft, thresholds: Thresholds, before: number, after: number): void => {
  for (const one of crossedBy(thresholds, before, after)) draft.award(one)
}

/**
 * Awards a badge, in each tier, to a user who already qualifies and is in its segment now. No award
 * for other users. What it pays does not score in windows.
 */
export const decideBackfill = (
  user: UserState | undefined,
  project: ProjectState,
  command: Backfill,
  now: number,
): Result.Result<Decision, LaurelError<"conflict">> => {
  const badge = project.badges.get(command.badgeId)
  if (user === undefined || badge === undefined || statusAt(badge, now) !== "active") {
    return refuse("conflict", "The user does not exist, or the badge is not active.")
  }
  const draft = new Draft(user.id, user, project, now)
  const { counted } = command
  if (counted !== undefined && command.countedUpTo !== user.sequence) {
    return refuse("conflict", "The user's state changed after the count.")
  }
  let reached = criterionNumber(badge, user, (xp) => draft.levelOf(xp))
  if (counted !== undefined && counted !== reached) {
    draft.facts.push({ kind: "badge.counted", badgeId: badge.id, current: counted })
    reached = counted
  }
  for (const one of awardsOf(badge)) {
    if (reached !== undefined && reached >= one.target) draft.award(one)
  }
  awardBadges(draft)
  const overflow = draft.overflow()
  if (overflow !== undefined) return refuse("conflict", overflow.detail)
  draft.settle(false)
  return Result.succeed({ cause: command, facts: draft.facts })
}
