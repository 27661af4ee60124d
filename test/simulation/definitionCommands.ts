/** The command that, if it is accepted, leads to a fact about a definition. */
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import { questStatusAt } from "../../src/domain/project/Definition.ts"
import type { ProjectState } from "../../src/domain/project/Project.ts"
import type { ProjectFact } from "../../src/domain/record/Record.ts"

export const commandOf = (project: ProjectState, fact: ProjectFact): ProjectCommand => {
  switch (fact.kind) {
    case "rule.created":
      return { kind: "createRule", rule: fact.rule }
    case "rule.updated": {
      const { action, cooldownSeconds, enabled, id, limit, multiplier, reward, where } = fact.rule
      const change = {
        action,
        cooldownSeconds,
        enabled,
        limit,
        reward,
        where,
        multiplierPath: multiplier?.path ?? null,
        multiplierMin: multiplier?.min ?? null,
        multiplierMax: multiplier?.max ?? null,
      }
      return { kind: "updateRule", ruleId: id, change }
    }
    case "rule.deleted":
      return { kind: "deleteRule", ruleId: fact.ruleId }
    case "badge.created": {
      const { criteria, description, icon, id, name, secret } = fact.badge
      return { kind: "createBadge", badge: { criteria, description, icon, id, name, secret } }
    }
    case "badge.updated": {
      const { archived, criteria, id } = fact.badge
      return archived
        ? { kind: "deleteBadge", badgeId: id }
        : { kind: "updateBadge", badgeId: id, change: { criteria } }
    }
    case "quest.created":
      return { kind: "createQuest", quest: fact.quest }
    case "quest.updated": {
      const { createdAt: _, id, set, updatedAt: __, version: ___, ...change } = fact.quest
      const before = project.quests.get(id)
      if (set === "archived") return { kind: "deleteQuest", questId: id }
      if (before?.set === set) return { kind: "updateQuest", questId: id, change }
      const now = fact.quest.updatedAt
      const published = questStatusAt({ ...fact.quest, set: "published" }, now)
      const status = set === "paused" ? "paused" : published
      return { kind: "updateQuest", questId: id, change: { ...change, status } }
    }
    case "project.updated": {
      const { levelCurve, streaks, timezone } = fact.settings
      return { kind: "updateSettings", change: { levelCurve, streaks, timezone } }
    }
    default:
      throw new Error(`Nobody asks for ${fact.kind}`)
  }
}
