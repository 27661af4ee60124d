/** The command that, if it is accepted, leads to a fact about a definition. */
import type { CriterionParts } from "../../src/domain/decide/BadgeDefinitions.ts"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import {
  type Badge,
  type Definition,
  type Status,
  statusAt,
} from "../../src/domain/project/Definition.ts"
import type { ProjectState } from "../../src/domain/project/Project.ts"
import type { ProjectFact } from "../../src/domain/record/Record.ts"

export const commandOf = (project: ProjectState, fact: ProjectFact): ProjectCommand => {
  switch (fact.kind) {
    case "rule.created":
      return { kind: "createRule", rule: fact.rule }
    case "rule.updated": {
      const { action, cooldownSeconds, endsAt, id, limit, multiplier, reward, startsAt, where } =
        fact.rule
      const { segment } = fact.rule
      if (fact.rule.set === "archived") return { kind: "deleteRule", ruleId: id }
      const change = {
        action,
        cooldownSeconds,
        segment,
        startsAt,
        endsAt,
        ...statusOf(project.rules.get(id), fact.rule),
        limit,
        reward,
        where,
        multiplierPath: multiplier?.path ?? null,
        multiplierMin: multiplier?.min ?? null,
        multiplierMax: multiplier?.max ?? null,
      }
      return { kind: "updateRule", ruleId: id, change }
    }
    case "segment.created":
      return { kind: "createSegment", segment: fact.segment }
    case "segment.updated": {
      const { conditions, id, match, set } = fact.segment
      if (set === "archived") return { kind: "deleteSegment", segmentId: id }
      return { kind: "updateSegment", segmentId: id, change: { conditions, match } }
    }
    case "badge.created":
      return { kind: "createBadge", badge: { ...fact.badge, criteria: asked(fact.badge) } }
    case "badge.updated": {
      const { id, reward, set, tiers } = fact.badge
      if (set === "archived") return { kind: "deleteBadge", badgeId: id }
      const status = statusOf(project.badges.get(id), fact.badge)
      const change = {
        criteria: asked(fact.badge),
        tiers,
        reward: { ...reward, currencies: reward.currencies },
      }
      return { kind: "updateBadge", badgeId: id, change: { ...change, ...status } }
    }
    case "metric.created":
      return { kind: "createMetric", metric: fact.metric }
    case "metric.updated": {
      const { id, name, set } = fact.metric
      if (set === "archived") return { kind: "deleteMetric", metricId: id }
      return { kind: "updateMetric", metricId: id, change: { name } }
    }
    case "quest.created":
      return { kind: "createQuest", quest: fact.quest }
    case "quest.updated": {
      const {
        createdAt: _,
        id,
        key: __,
        set,
        updatedAt: ___,
        version: ____,
        ...change
      } = fact.quest
      if (set === "archived") return { kind: "deleteQuest", questId: id }
      const status = statusOf(project.quests.get(id), fact.quest)
      return { kind: "updateQuest", questId: id, change: { ...change, ...status } }
    }
    case "boost.created":
      return { kind: "createBoost", boost: fact.boost }
    case "boost.updated": {
      const { currencies, endsAt, factor, id, segment, set, startsAt, timeZone, weekly } =
        fact.boost
      if (set === "archived") return { kind: "deleteBoost", boostId: id }
      const status = statusOf(project.boosts.get(id), fact.boost)
      const change = { currencies, endsAt, factor, segment, startsAt, timeZone, weekly, ...status }
      return { kind: "updateBoost", boostId: id, change }
    }
    case "leaderboard.created":
      return { kind: "createLeaderboard", leaderboard: fact.leaderboard }
    case "leaderboard.updated": {
      const { id, set } = fact.leaderboard
      if (set === "archived") return { kind: "deleteLeaderboard", leaderboardId: id }
      const change = statusOf(project.leaderboards.get(id), fact.leaderboard)
      return { kind: "updateLeaderboard", leaderboardId: id, change }
    }
    case "item.created":
      return { kind: "createItem", item: fact.item }
    case "item.updated": {
      const { id, limit, price, set, stock } = fact.item
      if (set === "archived") return { kind: "deleteItem", itemId: id }
      const change = { limit, price, stock, ...statusOf(project.items.get(id), fact.item) }
      return { kind: "updateItem", itemId: id, change }
    }
    case "experiment.created":
      return { kind: "createExperiment", experiment: fact.experiment }
    case "experiment.updated": {
      const { id, set, variants } = fact.experiment
      if (set === "archived") return { kind: "deleteExperiment", experimentId: id }
      const change = { variants, ...statusOf(project.experiments.get(id), fact.experiment) }
      return { kind: "updateExperiment", experimentId: id, change }
    }
    case "currency.created":
      return { kind: "createCurrency", currency: fact.currency }
    case "currency.updated": {
      const { earnLimit, expiry, id, levels, max, pendingDays, refill, set } = fact.currency
      return set === "archived"
        ? { kind: "deleteCurrency", currencyId: id }
        : {
            kind: "updateCurrency",
            currencyId: id,
            change: { earnLimit, expiry, levels, max, pendingDays, refill },
          }
    }
    case "streak.created":
      return { kind: "createStreak", streak: fact.streak }
    case "streak.updated": {
      const { atRisk, id, match, milestones, needs, pauses, repair, set } = fact.streak
      if (set === "archived") return { kind: "deleteStreak", streakId: id }
      const status = statusOf(project.streaks.get(id), fact.streak)
      const change = { atRisk, match, milestones, needs, pauses, repair, ...status }
      return { kind: "updateStreak", streakId: id, change }
    }
    case "team.created":
    case "team.updated": {
      const { attributes, id: teamId, kind, name } = fact.team
      return { kind: "putTeam", teamId, team: { kind, name, attributes } }
    }
    case "team.deleted":
      return { kind: "deleteTeam", teamId: fact.teamId }
    case "project.updated": {
      const { levelCurve, reminders = null, timezone } = fact.settings
      return { kind: "updateSettings", change: { levelCurve, reminders, timezone } }
    }
    default:
      throw new Error(`Nobody asks for ${fact.kind}`)
  }
}

/** The criteria as a caller gives them: the target of a list of badges follows from the list. */
const asked = ({ criteria }: Badge): CriterionParts => {
  if (criteria.kind !== "badges") return criteria
  const { target: _, ...given } = criteria
  return given
}

/** The status of the definition after the edit, if the edit changes the stored one. */
const statusOf = (before: Definition | undefined, after: Definition): { status?: Status } => {
  if (before?.set === after.set) return {}
  if (after.set === "paused") return { status: "paused" }
  return { status: statusAt({ ...after, set: "published" }, after.updatedAt) }
}
