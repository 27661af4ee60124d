/** Operations on rules, which reward actions. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { limitPeriods } from "../../domain/values/Periods.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, faultAt, integer, number, oneOf, pageFields, text } from "./Common.ts"
import {
  CountedAction,
  listQuery,
  MetadataPath,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  RewardPatch,
  ShownWhere,
  shownMembers,
  statusWords,
  Where,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { rule, rulePage } from "./examples/definitionExamples.ts"
import { ruleId } from "./examples/exampleIds.ts"
import {
  ArchivedConflict,
  KeyInProgress,
  RuleNotFound,
  readProblems,
  writeProblems,
} from "./Problems.ts"

const MultiplierPath = MetadataPath.annotate({
  description:
    "Path of a number in the metadata: xp and points are multiplied by it and rounded down. If it is not a number, the rule gives nothing. Default: no multiplier.",
  examples: ["cart.total"],
})
const multiplier = number(0, limits.multiplierMax)
const MultiplierMin = multiplier.annotate({
  description: "Lower bound of the multiplier. Default 0. Only with `multiplierPath`.",
  examples: [1],
})
const MultiplierMax = multiplier.annotate({
  description: `Upper bound of the multiplier. Default ${limits.multiplierMax}. Only with \`multiplierPath\`.`,
  examples: [500],
})

const Times = integer(1, limits.limitTimesMax).annotate({
  description: "Uses per period.",
  examples: [3],
})
const Per = oneOf(limitPeriods).annotate({
  description:
    "Days, ISO weeks and months use the project's time zone; hours are clock hours of that zone; `ever` never resets.",
  examples: ["day"],
})
const limitWords =
  "Maximum uses per user, counted in the period in which the event occurred. An event for which the rule gives nothing, such as a badge that the user has already, is not a use. Default: no limit."

const Cooldown = integer(1, limits.cooldownSecondsMax).annotate({
  description:
    "Minimum time between two events of a user for which the rule gives, by the times at which they occurred. Default: none.",
  examples: [60],
})

/** A check that the bounds of a multiplier come with its path. */
export const strayBounds = (rule: {
  readonly multiplierPath?: string
  readonly multiplierMin?: number
  readonly multiplierMax?: number
}) =>
  (["multiplierMin", "multiplierMax"] as const).flatMap((name) =>
    rule.multiplierPath === undefined && rule[name] !== undefined
      ? [faultAt([name], "unknown_member", "requires a multiplierPath")]
      : [],
  )

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people. Default: none.",
  examples: ["A good lesson"],
})

export const NewRule = Schema.Struct({
  ...newMembers("name or the action"),
  name: Schema.optionalKey(Name),
  action: CountedAction,
  where: Schema.optionalKey(Where),
  reward: NewReward,
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
})
  .check(Schema.makeFilter(strayBounds, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewRule",
    description: "A rule to create.",
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
  ...patchMembers,
  name: Schema.optionalKey(Schema.NullOr(Name)),
  action: Schema.optionalKey(CountedAction),
  where: Schema.optionalKey(Schema.NullOr(Where)),
  reward: Schema.optionalKey(RewardPatch),
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
}).annotate({
  identifier: "RulePatch",
  examples: [{ reward: { xp: 60 }, limit: { times: 5 } }, { status: "paused" }],
})

export const Rule = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the rule.", examples: [ruleId] }),
  ...shownMembers,
  name: Schema.NullOr(Schema.String).annotate({
    description: "Name for people.",
    examples: ["A good lesson"],
  }),
  action: CountedAction,
  where: ShownWhere,
  reward: Reward,
  multiplierPath: Schema.NullOr(Schema.String).annotate({
    description: "Path of the multiplier in the metadata.",
    examples: [null],
  }),
  multiplierMin: Schema.NullOr(Schema.Finite).annotate({
    description: "Lower bound of the multiplier.",
    examples: [null],
  }),
  multiplierMax: Schema.NullOr(Schema.Finite).annotate({
    description: "Upper bound of the multiplier.",
    examples: [null],
  }),
  limit: Schema.NullOr(Schema.Struct({ times: Times, per: Per })).annotate({
    description: "Maximum uses per user.",
    examples: [{ times: 3, per: "day" }],
  }),
  cooldownSeconds: Schema.NullOr(Schema.Int).annotate({
    description: "Minimum time between two events of a user for which the rule gives.",
    examples: [null],
  }),
}).annotate({
  identifier: "Rule",
  description: "A rule: the reward for events with an action.",
  examples: [rule],
})

export const RulePage = Schema.Struct({
  rules: Schema.Array(Rule).annotate({ description: "In the order of creation." }),
  ...pageFields("rules"),
}).annotate({
  identifier: "RulePage",
  description: "A page of the rules.",
  examples: [rulePage],
})

const params = pathOf("rule", ruleId)

export const Rules = HttpApiGroup.make("rules")
  .add(
    ...definitionEndpoints({
      path: "/v1/rules",
      params,
      readers: ["read"],
      notFound: RuleNotFound,
      create: {
        payload: NewRule,
        success: Rule,
        summary: "Create a rule",
        description: `From now on, every event with this action whose metadata satisfies \`where\` earns the reward, if it occurred from \`startsAt\` on and before \`endsAt\`. Every matching rule gives, in the order of creation. An environment holds at most ${limits.rulesMax} rules that are not archived.`,
      },
      list: {
        query: listQuery("rules"),
        success: RulePage,
        summary: "List rules",
        description:
          "Lists the rules of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: Rule,
        summary: "Read a rule",
        description: "Returns a rule by its id or key.",
      },
      update: {
        payload: RulePatch,
        success: Rule,
        error: [...writeProblems, RuleNotFound, ArchivedConflict],
        summary: "Change a rule",
        description: `${patchWords}

The change applies to events from now on. Rewards already given stay, and count for its limit, also for one with another \`per\`. A paused rule gives nothing.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The rule is archived." }),
        error: [...readProblems, RuleNotFound, KeyInProgress],
        summary: "Archive a rule",
        description:
          "The rule gives nothing from now on; rewards already given stay. It still reads by its id or key and in the list with `status=archived`. Archiving twice returns 404.",
      },
    }),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Rules", description: "Rewards for actions." }))
