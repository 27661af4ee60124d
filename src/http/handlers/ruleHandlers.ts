import { Effect } from "effect"
import { makeId } from "../../accounts/KeyText.ts"
import type { RuleChange } from "../../domain/decide/RuleDefinitions.ts"
import type { Rule } from "../../domain/project/Definition.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { NewRule, RulePatch, Rules } from "../api/Rules.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations } from "./definitionOperations.ts"
import { allParts, factOf, named, partsChange, referenceFaults } from "./Shapes.ts"

export const ruleHandlers = (engine: Engine["Service"]): Handlers<typeof Rules> =>
  definitionOperations(engine, {
    plural: "rules",
    definitionsOf: ({ rules }) => rules,
    notFound: laurelError("rule_not_found", "No rule of this project has this id."),
    moreFaults: referenceFaults(engine),
    show: showRule,
    showFound: (rule) => Effect.succeed(showRule(rule)),
    create: (payload: typeof NewRule.Type) =>
      ({ kind: "createRule", rule: newRule(payload, makeId("rul")) }) as const,
    showCreated: (record) => showRule(factOf(record, "rule.created").rule),
    update: (ruleId, payload: typeof RulePatch.Type) =>
      ({ kind: "updateRule", ruleId, change: ruleChange(payload) }) as const,
    showUpdated: (record) => showRule(factOf(record, "rule.updated").rule),
    delete: (ruleId) => ({ kind: "deleteRule", ruleId }) as const,
  })

export const newRule = (payload: typeof NewRule.Type, id: string) => {
  const {
    multiplierMax: max = limits.multiplierMax,
    multiplierMin: min = 0,
    multiplierPath: path,
  } = payload
  return {
    id,
    action: payload.action,
    where: payload.where ?? [],
    reward: allParts(payload.reward),
    multiplier: path === undefined ? null : { path, min, max },
    limit: payload.limit ?? null,
    cooldownSeconds: payload.cooldownSeconds ?? null,
    enabled: payload.enabled ?? true,
  }
}

/** The change of a rule to the one that `payload` describes. */
export const ruleReplacement = (payload: typeof NewRule.Type): RuleChange => {
  const { id: _, multiplier: __, ...members } = newRule(payload, "")
  const { multiplierMax = null, multiplierMin = null, multiplierPath = null } = payload
  return { ...members, multiplierMax, multiplierMin, multiplierPath }
}

const ruleChange = (patch: typeof RulePatch.Type): RuleChange => {
  const { enabled, reward, where } = patch
  return named({
    ...patch,
    reward: reward && partsChange(reward),
    where: where === null ? [] : where,
    enabled: enabled === null ? true : enabled,
  })
}

const showRule = ({ countedSince: _, multiplier, ...rule }: Rule) => ({
  ...rule,
  multiplierPath: multiplier?.path ?? null,
  multiplierMin: multiplier?.min ?? null,
  multiplierMax: multiplier?.max ?? null,
  createdAt: isoTime(rule.createdAt),
  updatedAt: isoTime(rule.updatedAt),
})
