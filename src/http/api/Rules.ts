/** What actions are worth. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limitPeriods } from "../../domain/project/Rule.ts"
import { limits } from "../../Limits.ts"
import { faultAt, integer, number, oneOf, text } from "./Checks.ts"
import {
  ApiKey,
  idempotencyHeaders,
  mergePatch,
  OpenTo,
  pageFields,
  pageQuery,
  Time,
} from "./Common.ts"
import {
  BadgeId,
  CountedAction,
  givenPoints,
  givenXp,
  MetadataPath,
  patchWords,
  Reward,
  RewardPatch,
  ShownWhere,
  Where,
} from "./Definitions.ts"
import { rule, rulePage } from "./examples/Definitions.ts"
import { ruleId } from "./examples/Ids.ts"
import { DefinitionConflict, RuleNotFound, readProblems, writeProblems } from "./Problems.ts"

const MultiplierPath = MetadataPath.annotate({
  description:
    "Where the metadata has a number by which xp and points are multiplied, rounded down to whole ones. Without a number there, the rule gives nothing. Default: not multiplied.",
  examples: ["cart.total"],
})
const multiplier = number(0, limits.multiplierMax)
const MultiplierMin = multiplier.annotate({
  description: "A smaller number counts as this one. Default 0. Only with `multiplierPath`.",
  examples: [1],
})
const MultiplierMax = multiplier.annotate({
  description: `A larger number counts as this one. Default ${limits.multiplierMax}. Only with \`multiplierPath\`.`,
  examples: [500],
})

const Times = integer(1, limits.limitTimesMax).annotate({
  description: "How often in each period.",
  examples: [3],
})
const Per = oneOf(limitPeriods).annotate({
  description:
    "Days, ISO weeks and months are those of the project's time zone, hours those of the clock; `ever` is for good.",
  examples: ["day"],
})
const limitWords =
  "How often it gives to one user, counted in the periods in which the events occurred. Default: always."

const Cooldown = integer(1, limits.cooldownSecondsMax).annotate({
  description:
    "After it gave, it gives nothing to the same user for events that occurred sooner than this. Default: none.",
  examples: [60],
})

const Enabled = Schema.Boolean.annotate({
  description: "Whether it gives. Default `true`.",
  examples: [true],
})

/** Bounds of a multiplier make no sense without one. */
const strayBounds = (rule: {
  readonly multiplierPath?: string
  readonly multiplierMin?: number
  readonly multiplierMax?: number
}) =>
  (["multiplierMin", "multiplierMax"] as const).flatMap((name) =>
    rule.multiplierPath === undefined && rule[name] !== undefined
      ? [faultAt([name], "unknown_member", "is only for a rule with a multiplierPath")]
      : [],
  )

export const NewRule = Schema.Struct({
  action: CountedAction,
  where: Schema.optionalKey(Where),
  reward: Schema.Struct({
    xp: Schema.optionalKey(givenXp),
    points: Schema.optionalKey(givenPoints),
    badgeId: Schema.optionalKey(BadgeId),
  }).annotate({ identifier: "NewRuleReward", description: "What it gives." }),
  multiplierPath: Schema.optionalKey(MultiplierPath),
  multiplierMin: Schema.optionalKey(MultiplierMin),
  multiplierMax: Schema.optionalKey(MultiplierMax),
  limit: Schema.optionalKey(
    Schema.Struct({ times: Times, per: Per }).annotate({
      identifier: "RuleLimit",
      description: limitWords,
    }),
  ),
  cooldownSeconds: Schema.optionalKey(Cooldown),
  enabled: Schema.optionalKey(Enabled),
})
  .check(Schema.makeFilter(strayBounds, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewRule",
    examples: [
      { action: "LESSON_DONE", reward: { xp: 50 } },
      {
        action: "PURCHASE",
        where: [{ path: "cart.currency", op: "eq", value: "EUR" }],
        reward: { points: 1 },
        multiplierPath: "cart.total",
        multiplierMax: 500,
        limit: { times: 3, per: "day" },
        cooldownSeconds: 60,
      },
    ],
  })

export const RulePatch = Schema.Struct({
  action: Schema.optionalKey(CountedAction),
  where: Schema.optionalKey(Schema.NullOr(Where)),
  reward: Schema.optionalKey(
    Schema.Struct({
      ...RewardPatch.fields,
      xp: Schema.optionalKey(Schema.NullOr(givenXp)),
    }).annotate({ identifier: "RuleRewardPatch", description: "What it gives." }),
  ),
  multiplierPath: Schema.optionalKey(Schema.NullOr(MultiplierPath)),
  multiplierMin: Schema.optionalKey(Schema.NullOr(MultiplierMin)),
  multiplierMax: Schema.optionalKey(Schema.NullOr(MultiplierMax)),
  limit: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        times: Schema.optionalKey(Times),
        per: Schema.optionalKey(Per),
      }).annotate({ identifier: "RuleLimitPatch" }),
    ).annotate({ description: limitWords }),
  ),
  cooldownSeconds: Schema.optionalKey(Schema.NullOr(Cooldown)),
  enabled: Schema.optionalKey(Schema.NullOr(Enabled)),
}).annotate({
  identifier: "RulePatch",
  examples: [{ reward: { xp: 60 }, limit: { times: 5 } }, { enabled: false }],
})

export const Rule = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the rule.", examples: [ruleId] }),
  action: CountedAction,
  where: ShownWhere,
  reward: Reward,
  multiplierPath: Schema.NullOr(Schema.String).annotate({
    description: "Where the metadata has a number by which xp and points are multiplied.",
    examples: [null],
  }),
  multiplierMin: Schema.NullOr(Schema.Finite).annotate({
    description: "A smaller number counts as this one.",
    examples: [null],
  }),
  multiplierMax: Schema.NullOr(Schema.Finite).annotate({
    description: "A larger number counts as this one.",
    examples: [null],
  }),
  limit: Schema.NullOr(Schema.Struct({ times: Times, per: Per })).annotate({
    description: "How often it gives to one user.",
    examples: [{ times: 3, per: "day" }],
  }),
  cooldownSeconds: Schema.NullOr(Schema.Int).annotate({
    description: "How long it then gives nothing to the same user.",
    examples: [null],
  }),
  enabled: Schema.Boolean.annotate({ description: "Whether it gives.", examples: [true] }),
  createdAt: Time,
  updatedAt: Time,
}).annotate({
  identifier: "Rule",
  description: "What an event with an action earns.",
  examples: [rule],
})

export const RulePage = Schema.Struct({
  rules: Schema.Array(Rule).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({
  identifier: "RulePage",
  description: "A page of the rules.",
  examples: [rulePage],
})

const params = {
  id: text(1, limits.idCharactersMax).annotate({
    description: "The rule's id.",
    examples: [ruleId],
  }),
}

export const Rules = HttpApiGroup.make("rules")
  .add(
    HttpApiEndpoint.post("create", "/v1/rules", {
      headers: idempotencyHeaders,
      payload: NewRule,
      success: Rule.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a rule",
          description: `From now on, every event with this action whose metadata satisfies \`where\` earns the reward. Rules are taken in the order of their creation, and each that matches gives. An environment holds at most ${limits.rulesMax} rules.`,
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/rules", {
      query: pageQuery,
      success: RulePage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List rules",
          description: "The rules of the key's project and environment.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/rules/:id", {
      params,
      success: Rule,
      error: [...readProblems, RuleNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({ summary: "Read a rule", description: "One rule, by its id." }),
      ),
    HttpApiEndpoint.patch("update", "/v1/rules/:id", {
      params,
      payload: mergePatch(RulePatch),
      success: Rule,
      error: [...writeProblems, RuleNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a rule",
          description: `${patchWords}

It counts for events from now on; what the rule has given stays, and so does how often it gave, for its limit.`,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/v1/rules/:id", {
      params,
      success: HttpApiSchema.NoContent.annotate({ description: "It is gone." }),
      error: [...readProblems, RuleNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a rule",
          description:
            "From now on it gives nothing; what it has given stays. A second time → 404.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Rules", description: "What actions are worth." }))
