/** Awards badges to users by the criteria of the badges. */
import { Result } from "effect"
import { type CountingBadge, crossedBy, type Thresholds } from "../project/ActionIndex.ts"
import {
  amountOf,
  isOpenAt,
  minusAmount,
  plusAmount,
  statusAt,
  targetOf,
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
  for (const { badge, criteria } of badges) {
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
    if (before < criteria.target && current >= criteria.target)
      draft.giveBadge(badge.id, "criteria", criteria.target)
  }
}

/** Awards the badges whose targets the balances and counts of the decision reached. */
export const awardBadges = (draft: Draft): void => {
  const { index, points, questsCompleted, user, xp } = draft
  const { thresholds } = index
  award(draft, thresholds.xp, user?.xp ?? 0, xp)
  const spent = user?.pointsSpent ?? 0
  award(draft, thresholds.points, (user?.points ?? 0) + spent, points + spent)
  award(draft, thresholds.quest_count, user?.questsCompleted ?? 0, questsCompleted)
  if (thresholds.level.targets.length > 0) {
    // A new user reaches level 1 with the first event.
    const before = user === undefined ? 0 : draft.levelOf(user.xp)
    award(draft, thresholds.level, before, draft.levelOf(xp))
  }
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
  for (const badge of crossedBy(thresholds, before, after)) {
    draft.giveBadge(badge.id, "criteria", targetOf(badge))
  }
}

/**
 * Awards a badge to a user who already qualifies and is in its segment now. No award for other
 * users.
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
  const target = targetOf(badge)
  let reached = criterionNumber(badge, user, (xp) => draft.levelOf(xp))
  if (counted !== undefined && counted !== reached) {
    draft.facts.push({ kind: "badge.counted", badgeId: badge.id, current: counted })
    reached = counted
  }
  if (reached !== undefined && reached >= target) draft.giveBadge(badge.id, "criteria", target)
  return Result.succeed({ cause: command, facts: draft.facts })
}
