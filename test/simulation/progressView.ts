/** A user's progress at a moment, as the model computes it. */
import type {
  BadgeProgress,
  QuestProgress,
  StreakProgress,
} from "../../src/domain/user/Progress.ts"
import { sumOf } from "./model/amounts.ts"
import { badgesOf, numberFor, type Place, tiersOf, timesHeld } from "./model/badges.ts"
import { statusOf } from "./model/Definitions.ts"
import type { Log } from "./model/log.ts"
import {
  claimOf,
  completedIn,
  latestPeriod,
  periodEndsAt,
  periodOf,
  standingIn,
  stepCount,
} from "./model/quests.ts"
import type { Membership } from "./model/segments.ts"
import { isInUse, streakOf } from "./model/streaks.ts"

export const progressView = (
  log: Log,
  place: Place,
  now: number,
  isIn: Membership["isIn"],
): {
  readonly badges: ReadonlyArray<BadgeProgress>
  readonly quests: ReadonlyArray<QuestProgress>
  readonly streaks: ReadonlyArray<StreakProgress>
} => ({
  badges: badgesShown(log, place, now, isIn),
  quests: questsShown(log, place, now, isIn),
  streaks: place.streaks.filter(isInUse).map((definition) => {
    const { key } = definition
    return { key, ...streakOf(log, definition, place.places, now) }
  }),
})

/** The badges that the user has, and those that can be earned and are not secret. */
const badgesShown = (
  log: Log,
  place: Place,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<BadgeProgress> => {
  const held = badgesOf(log)
  return place.badges.flatMap((badge): ReadonlyArray<BadgeProgress> => {
    const { criteria, id, key, name, secret } = badge
    const awards = held.get(id) ?? []
    const earnedAt = awards[0]?.earnedAt ?? null
    const earnedOf = (key: string) => awards.find(({ tier }) => tier === key)?.earnedAt ?? null
    const tiers = badge.tiers.map(({ icon, key, name, target }) => {
      return { key, name, icon, target, earnedAt: earnedOf(key) }
    })
    const isShown = ["active", "paused"].includes(statusOf(badge, now)) && !secret
    if (earnedAt === null && !(isShown && isIn(badge.segment))) return []
    if (criteria.kind === "manual")
      return [{ id, key, name, current: earnedAt === null ? 0 : 1, target: 1, earnedAt }]
    const open = tiersOf(badge).find(({ tier }) => earnedOf(tier) === null)
    const { target } = open ?? tiersOf(badge).at(-1)!
    const number = numberFor(log, badge, place, now) ?? 0
    if (badge.repeatable) {
      const current = sumOf([number, -target * Math.floor(number / target)])
      return [{ id, key, name, current, target, earnedAt, times: timesHeld(log, id) }]
    }
    const current = Math.min(number, target)
    return [{ id, key, name, current, target, earnedAt, ...(tiers.length > 0 && { tiers }) }]
  })
}

/**
 * The active quests, and those that the user has begun, in the present period or, after the end, in
 * the last one.
 */
const questsShown = (
  log: Log,
  { quests, settings: { timezone } }: Place,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<QuestProgress> =>
  quests.flatMap((quest) => {
    const { id, title } = quest
    const over = ["ended", "archived"].includes(statusOf(quest, now))
    const present = periodOf(quest, timezone, now)
    const period = over ? (latestPeriod(log, id) ?? present) : present
    const status = standingIn(log, quest, period, timezone, now)
    const isOpen = statusOf(quest, now) === "active" && isIn(quest.segment)
    if (status === "not_started" && !isOpen) return []
    const steps = quest.steps.map(({ key, target }) => {
      const counted = Math.min(target, stepCount(log, id, period, key))
      return { key, current: status === "completed" ? target : counted, target }
    })
    const canClaim =
      claimOf(log, id, period) === "open" &&
      period === present &&
      ["active", "ended"].includes(statusOf(quest, now))
    const ends = over ? quest.endsAt : periodEndsAt(quest, timezone, now)
    return [
      {
        questId: id,
        key: quest.key,
        title,
        status,
        steps,
        periodEndsAt: quest.set === "archived" ? null : ends,
        completedAt: completedIn(log, id, period),
        ...(canClaim && { claimable: true }),
      },
    ]
  })
