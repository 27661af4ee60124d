import type { RuleChange } from "../../domain/decide/RuleDefinitions.ts"
import type { Rule } from "../../domain/project/Definition.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { NewRule, RulePatch, Rules } from "../api/Rules.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  named,
  newMembers,
  partsChange,
  patchOf,
  replacementOf,
  showDefinition,
  wholeReward,
} from "./Shapes.ts"

export const ruleHandlers = (engine: Engine["Service"]): Handlers<typeof Rules> =>
  kindOperations(engine, "rule", { made: newRule, changed: ruleChange, show: showRule })

export const newRule = (payload: typeof NewRule.Type, id: string) => {
  const {
    multiplierMax: max = limits.multiplierMax,
    multiplierMin: min = 0,
    multiplierPath: path,
  } = payload
  return {
    id,
    ...newMembers(payload),
    name: payload.name ?? null,
    action: payload.action,
    where: payload.where ?? [],
    reward: allParts(payload.reward),
    multiplier: path === undefined ? null : { path, min, max },
    limit: payload.limit ?? null,
    cooldownSeconds: payload.cooldownSeconds ?? null,
  }
}

/**
 * The change of a rule to the one that `payload` describes. Key and metadata stay,
 * and so does the status if `payload` has none.
 */
export const ruleReplacement = (payload: typeof NewRule.Type): RuleChange => {
  const { multiplier: _, reward, ...members } = replacementOf(newRule(payload, ""), payload)
  const { multiplierMax = null, multiplierMin = null, multiplierPath = null } = payload
  const multiplier = { multiplierMax, multiplierMin, multiplierPath }
  return { ...members, reward: wholeReward(reward), ...multiplier }
}

const ruleChange = (patch: typeof RulePatch.Type): RuleChange => {
  const { reward, where } = patch
  return named({
    ...patchOf(patch),
    reward: reward && partsChange(reward),
    where: where === null ? [] : where,
  })
}

const showRule = ({ countedSince: _, multiplier, ...rule }: Rule, now: number) => ({
  ...showDefinition(rule, now),
  multiplierPath: multiplier?.path ?? null,
  multiplierMin: multiplier?.min ?? null,
  multiplierMax: multiplier?.max ?? null,
})
