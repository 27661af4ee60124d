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
import { factOf, foundOr, named, pageItems, referenceFaults } from "./Shapes.ts"

export const ruleHandlers = (engine: Engine["Service"]): Handlers<typeof Rules> => ({
  create: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, idempotency, payload }) => {
      const command = { kind: "createRule", rule: newRule(payload, makeId("rul")) } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const body = showRule(factOf(reply, "rule.created").rule)
        return { body, replayed, location: `/v1/rules/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query }) =>
      Effect.map(engine.readProject(caller.environment), ({ rules }) => {
        const { items, page } = pageItems(rules.values(), query, showRule)
        return { body: { rules: items, ...page } }
      }),
  },
  get: {
    handle: ({ caller, params }) =>
      Effect.gen(function* () {
        const { rules } = yield* engine.readProject(caller.environment)
        return { body: showRule(yield* foundOr(rules.get(params.id), ruleNotFound)) }
      }),
  },
  update: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, params, payload }) => {
      const change = ruleChange(payload)
      const command = { kind: "updateRule", ruleId: params.id, change } as const
      return Effect.map(engine.askProject(caller.environment, command), ({ reply }) => ({
        body: showRule(factOf(reply, "rule.updated").rule),
      }))
    },
  },
  delete: {
    handle: ({ caller, params }) => {
      const command = { kind: "deleteRule", ruleId: params.id } as const
      return Effect.as(engine.askProject(caller.environment, command), { body: undefined })
    },
  },
})

const ruleNotFound = laurelError("rule_not_found", "No rule of this project has this id.")

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
    reward: { xp: 0, points: 0, badgeId: null, ...payload.reward },
    multiplier: path === undefined ? null : { path, min, max },
    limit: payload.limit ?? null,
    cooldownSeconds: payload.cooldownSeconds ?? null,
    enabled: payload.enabled ?? true,
  }
}

/** The change of a rule to what `payload` describes. */
export const ruleReplacement = (payload: typeof NewRule.Type): RuleChange => {
  const { id: _, multiplier: __, ...members } = newRule(payload, "")
  const { multiplierMax = null, multiplierMin = null, multiplierPath = null } = payload
  return { ...members, multiplierMax, multiplierMin, multiplierPath }
}

const ruleChange = (patch: typeof RulePatch.Type): RuleChange => {
  const { enabled, reward, where } = patch
  const { points, xp } = reward ?? {}
  return named({
    ...patch,
    reward:
      reward &&
      named({ ...reward, xp: xp === null ? 0 : xp, points: points === null ? 0 : points }),
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
