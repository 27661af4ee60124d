import { Effect } from "effect"
import type { Rule } from "../../domain/Rule.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Rules } from "../api/Rules.ts"
import { makeId } from "../Ids.ts"
import type { Handlers } from "../Interpreter.ts"
import { factOf, isoTime, pageInfo, pageItems, pageOf } from "./Shapes.ts"

export const ruleHandlers = (engine: Engine["Service"]): Handlers<typeof Rules> => ({
  create: {
    handle: ({ caller, idempotency, payload }) => {
      const { action, enabled = true, reward } = payload
      const rule = { id: makeId("rul"), action, reward, enabled }
      const asked = engine.askProject(caller.environment, { kind: "createRule", rule }, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const body = showRule(factOf(reply, "rule.created").rule)
        return { body, replayed, location: `/v1/rules/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query }) =>
      Effect.map(engine.readProject(caller.environment), ({ rules }) => {
        const page = pageOf(query)
        const { items, total } = pageItems(rules.values(), page)
        return { body: { rules: items.map(showRule), ...pageInfo(page, total, items.length) } }
      }),
  },
})

const showRule = (rule: Rule) => ({
  id: rule.id,
  action: rule.action,
  reward: { xp: rule.reward.xp },
  enabled: rule.enabled,
  createdAt: isoTime(rule.createdAt),
  updatedAt: isoTime(rule.updatedAt),
})
