/** Awards badges to users by the criteria of the badges. */
import { Result } from "effect"
import type { CountingBadge } from "../project/ActionIndex.ts"
import {
  amountOf,
  awardName,
  awardsOf,
  type Badge,
  isOpenAt,
  listedBadges,
  minusAmount,
  paysAt,
  plusAmount,
  repetitionsOf,
  statusAt,
} from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import { unscaled } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import { crossedBy, type Thresholds } from "../project/Thresholds.ts"
import type { Backfill, BadgeRef, Fact, FactOf } from "../record/Record.ts"
import { type MetricState, metricTotal } from "../user/MetricState.ts"
import { criterionNumber } from "../user/Progress.ts"
import { pointsEarned, timesOf, type UserState } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { type Decision, Draft } from "./Draft.ts"
import { LevelPayments } from "./Levels.ts"

/**
 * Counts or sums the event for badges by actions, and notes the badges whose target it reaches.
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
      const times = badge.repeatable
        ? repetitionsOf(badge, current) - repetitionsOf(badge, before)
        : Number(before < one.target && current >= one.target)
      if (times <= 0) continue
      draft.reach(one, times)
    }
  }
}

/**
 * Pays quests, milestones and levels of currencies, and awards the badges whose targets the balances
 * and counts of the decision reached, until nothing changes: what one pays may reach another, and a
 * badge may be the last one that another lists. Each award and each level pays at most once, and a
 * repeatable badge as often as the counts and metrics of the event reached its target, so this ends.
 * No payment counts for a quest or a streak.
 */
export const payAll = (draft: Draft, levels = new LevelPayments(draft)): void => {
  const { index, questsCompleted, user } = draft
  const { thresholds } = index
  const gone = user === undefined ? 0 : pointsEarned(user) - user.points
  draft.payDue()
  awardMetricBadges(draft)
  let xp = user?.xp ?? 0
  let points = (user?.points ?? 0) + gone
  let quests = user?.questsCompleted ?? 0
  // A new user reaches level 1 with the first event.
  let level = user === undefined ? 0 : undefined
  let seen = 0
  do {
    const [xpBefore, pointsBefore, questsBefore] = [xp, points, quests]
    xp = draft.xp
    points = draft.points + gone
    quests = questsCompleted
    award(draft, thresholds.xp, xpBefore, xp)
    award(draft, thresholds.points, pointsBefore, points)
    award(draft, thresholds.quest_count, questsBefore, quests)
    if (thresholds.level.targets.length > 0) {
      const levelBefore = level ?? draft.levelOf(xpBefore)
      level = draft.levelOf(xp)
      award(draft, thresholds.level, levelBefore, level)
    }
    if (index.dependents.size > 0) seen = awardDependents(draft, seen)
  } while (levels.pay() || draft.xp !== xp || draft.points + gone !== points)
}

/**
 * Awards the badges of whose lists the user got the last badge, by the facts from number `from` on and
 * by those that this adds. Returns the number of facts. Like a target, a list awards only who
 * completes it: a backfill awards others who have all badges.
 */
const awardDependents = (draft: Draft, from: number): number => {
  const { facts, index, user } = draft
  let at = from
  for (; at < facts.length; at++) {
    const fact = facts[at]!
    if (fact.kind !== "badge.earned" || user?.badges.has(fact.badgeId) === true) continue
    for (const { award, badgeIds } of index.dependents.get(fact.badgeId) ?? []) {
      if (badgeIds.every((id) => draft.hasBadge(id))) draft.award(award)
    }
  }
  return at
}

const awardMetricBadges = (draft: Draft): void => {
  if (draft.metrics === undefined) return
  for (const { metric, state: after } of draft.metrics.values()) {
    const ofMetric = draft.index.metricThresholds.get(metric.id)
    if (ofMetric === undefined) continue
    const { decimals, repeatable, thresholds } = ofMetric
    const numberOf = (state: MetricState | undefined) => unscaled(metricTotal(state) ?? 0, decimals)
    const before = numberOf(draft.user?.metrics.get(metric.id))
    award(draft, thresholds, before, numberOf(after))
    for (const badge of repeatable) {
      const times = repetitionsOf(badge, numberOf(after)) - repetitionsOf(badge, before)
      if (times > 0) draft.award(awardsOf(badge)[0], times)
    }
  }
}

/** Notes the badges for a streak that grew from `before` to `after` days. */
export const reachStreakBadges = (
  draft: Draft,
  key: string,
  before: number,
  after: number,
): void => {
  const { streakThresholds } = draft.index
  for (const name of [key, ""]) {
    const thresholds = streakThresholds.get(name)
    if (thresholds === undefined) continue
    for (const one of crossedBy(thresholds, before, after)) draft.reach(one)
  }
}

const award = (draft: Draft, thresholds: Thresholds, before: number, after: number): void => {
  for (const one of crossedBy(thresholds, before, after)) draft.award(one)
}

/** Revokes a badge or a tier that the user has, once. `revoked`: by the name of the award. */
export const revokeBadge = (
  { facts, user }: Draft,
  { badgeId, key, name, tier }: BadgeRef,
  revoked: Map<string, BadgeRef>,
): void => {
  const award = awardName(badgeId, tier?.key)
  const awards = user?.badges.get(badgeId) ?? []
  if (awards.every((one) => one.tier !== (tier?.key ?? "")) || revoked.has(award)) return
  const ref = { badgeId, key, name, ...(tier !== undefined && { tier }) }
  revoked.set(award, ref)
  const isLast = awards.every((one) => revoked.has(awardName(badgeId, one.tier)))
  facts.push({ kind: "badge.revoked", ...ref, ...(isLast && { last: true }) })
}

/**
 * Revokes the badges and tiers whose number, with the state `after`, is below the target at which
 * they were earned, and was higher before; of a repeatable badge, the repetitions that the number no
 * longer reaches. Awards a revoked one again if its criteria are still met; this pays nothing.
 *
 * A badge is decided after those that it lists, so it stays if each of them stays or is awarded again.
 */
export const revokeUnearned = (
  draft: Draft,
  after: UserState,
  revoked: Map<string, BadgeRef>,
): void => {
  const { project } = draft
  const user = draft.user!
  const badges = new Map(user.badges)
  const left = { ...after, badges }
  const regained: Array<Fact> = []
  const decided = new Set<string>()
  const decide = (badgeId: string): void => {
    const awards = user.badges.get(badgeId)
    if (awards === undefined || decided.has(badgeId)) return
    decided.add(badgeId)
    const badge = project.badges.get(badgeId)
    if (badge !== undefined) {
      for (const key of listedBadges(badge.criteria)) {
        decide(definitionWithKey(project.badges, key)?.id ?? "")
      }
    }
    const number = badge && criterionNumber(badge, left, project)
    const isGone = number !== undefined && revokeBelow(draft, badge!, number, revoked)
    const [first, ...others] =
      number === undefined ? [] : regainedOf(draft, badge!, number, revoked)
    const isKept = awards.some(({ tier }) => !revoked.has(awardName(badgeId, tier)))
    if (first !== undefined) regained.push(isKept ? first : { ...first, first: true }, ...others)
    else if (isGone || !isKept) badges.delete(badgeId)
  }
  for (const badgeId of user.badges.keys()) decide(badgeId)
  draft.facts.push(...regained)
}

/**
 * Revokes what is earned at targets above `number`, if the number was higher before. Returns whether
 * no repetition of a repeatable badge is left.
 */
const revokeBelow = (
  draft: Draft,
  badge: Badge,
  number: number,
  revoked: Map<string, BadgeRef>,
): boolean => {
  const user = draft.user!
  if (number >= criterionNumber(badge, user, draft.project)!) return false
  let isGone = false
  for (const { target, tier, times } of user.badges.get(badge.id)!) {
    if (target === undefined) continue
    if (times !== undefined) {
      const kept = Math.floor(number / target)
      if (kept >= times) continue
      isGone = kept === 0
      const last = isGone && ({ last: true } as const)
      draft.facts.push({ kind: "badge.revoked", ...refTo(badge, tier), times: kept, ...last })
    } else if (number < target) revokeBadge(draft, refTo(badge, tier), revoked)
  }
  return isGone
}

/** The awards among the revoked ones whose targets the number still reaches. */
const regainedOf = (
  { membership, now }: Draft,
  badge: Badge,
  number: number,
  revoked: ReadonlyMap<string, BadgeRef>,
): ReadonlyArray<FactOf<"badge.earned">> => {
  if (revoked.size === 0 || !paysAt(badge, now)) return []
  return awardsOf(badge).flatMap(({ target, tier }): ReadonlyArray<FactOf<"badge.earned">> => {
    const isRevoked = revoked.has(awardName(badge.id, tier?.key))
    if (!isRevoked || number < target || !membership.has(badge.segment)) return []
    const ref = refTo(badge, tier?.key ?? "")
    return [{ kind: "badge.earned", ...ref, source: "criteria", target }]
  })
}

/** The badge, or its tier with this key, as facts name it. An edit may have removed the tier. */
const refTo = ({ id, key, name, tiers }: Badge, tier: string): BadgeRef => ({
  badgeId: id,
  key,
  name,
  ...(tier !== "" && {
    tier: { key: tier, name: tiers.find((one) => one.key === tier)?.name ?? tier },
  }),
})

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
  let reached = criterionNumber(badge, user, project)
  if (counted !== undefined && counted !== reached) {
    draft.facts.push({ kind: "badge.counted", badgeId: badge.id, current: counted })
    reached = counted
  }
  for (const one of awardsOf(badge)) {
    if (reached === undefined) break
    const lacks = badge.repeatable
      ? repetitionsOf(badge, reached) - timesOf(user, badge)
      : Number(reached >= one.target)
    if (lacks > 0) draft.award(one, lacks)
  }
  payAll(draft)
  const overflow = draft.overflow()
  if (overflow !== undefined) return refuse("conflict", overflow.detail)
  draft.settle(false)
  return Result.succeed({ cause: command, facts: draft.facts })
}
