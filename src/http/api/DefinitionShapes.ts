/** Shapes shared by rules, quests, badges, segments and streaks. */
import { Schema } from "effect"
import { conditionOperators, givesNothing, statuses } from "../../domain/project/Definition.ts"
import { definitionKeyFault, definitionKeyPattern } from "../../domain/project/DefinitionKey.ts"
import { questCompleteAction } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import {
  Action,
  check,
  faultAt,
  integer,
  list,
  metadata,
  oneOf,
  pageQuery,
  Time,
  TimeIn,
  text,
  versionFields,
} from "./Common.ts"
import { badgeId } from "./examples/exampleIds.ts"

/** The description of a merge patch, for PATCH operations. */
export const patchWords =
  "The body is a JSON merge patch (RFC 7396): members not named stay, null removes an optional member, objects are patched member by member, lists are replaced."

/** An action that rules, steps and badges can count. */
export const CountedAction = Action.check(
  check(
    "invalid_value",
    `must not be ${questCompleteAction}, which only completes a quest`,
    (action) => action !== questCompleteAction,
  ),
)

/* The members of every kind of definition. */

/** The caller's key of a definition. */
export const DefinitionKey = Schema.String.check(
  check(
    "invalid_format",
    `must be 1 to ${limits.keyCharactersMax} small letters, digits, dashes and underscores, beginning with a letter`,
    (key) => definitionKeyPattern.test(key),
    { pattern: definitionKeyPattern.source },
  ),
  check(
    "invalid_format",
    "must not begin like an id of Laurel: `bdg_`, `qst_`, `rul_` and others",
    (key) => definitionKeyFault(key) === undefined,
  ),
)

const newKey = (from: string) =>
  DefinitionKey.annotate({
    description: `Your key of the definition: unique among its kind in the environment, archived ones included, and immutable. Paths accept it in place of the id. Default: made from the ${from}, with \`-2\` and so on where that is taken.`,
    examples: ["first-steps"],
  })

const Description = text(0, limits.descriptionCharactersMax, "multiple").annotate({
  description: "Description for people.",
  examples: ["Finish three lessons with 90 points or more"],
})
const DefinitionMetadata = metadata.annotate({
  description: "Your own metadata.",
  examples: [{ icon: "footprints" }],
})

const StartsAt = TimeIn.annotate({
  description:
    "Start: what occurred before does not count, even if it arrives later. Default: none.",
})
const EndsAt = TimeIn.annotate({
  description: "End, after `startsAt`: what occurs from then on does not count. Default: never.",
  examples: ["2026-12-01T00:00:00.000Z"],
})

const Segment = DefinitionKey.annotate({
  description:
    "The key of an active segment. A rule then pays, and a boost multiplies, only for its members; a quest or a badge is visible and counts only for them. Rules, quests and rewards give a badge to anyone. Default: for every user.",
  examples: ["active-learners"],
})

/** The members of a new definition. `from`: the member that the default of the key is made from. */
export const newMembers = (from: string) => ({
  key: Schema.optionalKey(newKey(from)),
  description: Schema.optionalKey(Description),
  metadata: Schema.optionalKey(DefinitionMetadata),
  status: Schema.optionalKey(
    oneOf(["draft", "active"]).annotate({
      description:
        "Users do not see a `draft`, and it pays nothing. `active` publishes it; with a `startsAt` in the future it is `scheduled` until then. Default `active`.",
      examples: ["draft"],
    }),
  ),
  startsAt: Schema.optionalKey(StartsAt),
  endsAt: Schema.optionalKey(EndsAt),
  segment: Schema.optionalKey(Segment),
})

export const patchMembers = {
  description: Schema.optionalKey(Schema.NullOr(Description)),
  metadata: Schema.optionalKey(Schema.NullOr(DefinitionMetadata)),
  status: Schema.optionalKey(
    oneOf(statuses).annotate({
      description: "`active`, `paused` or `archived`; the other statuses follow the clock.",
      examples: ["paused"],
    }),
  ),
  startsAt: Schema.optionalKey(Schema.NullOr(StartsAt)),
  endsAt: Schema.optionalKey(Schema.NullOr(EndsAt)),
  segment: Schema.optionalKey(Schema.NullOr(Segment)),
}

export const shownMembers = {
  key: Schema.String.annotate({
    description: "Your key of the definition, which never changes.",
    examples: ["first-steps"],
  }),
  description: Schema.NullOr(Schema.String).annotate({
    description: "Description for people.",
    examples: ["Finish the first lesson"],
  }),
  metadata: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Your own metadata.",
    examples: [{ icon: "footprints" }],
  }),
  status: oneOf(statuses).annotate({
    description:
      "`draft` → `scheduled` → `active` ⇄ `paused` → `ended` → `archived`. `scheduled`, `active` and `ended` follow `startsAt` and `endsAt`.",
    examples: ["active"],
  }),
  startsAt: Schema.NullOr(Time).annotate({
    description: "Start; null: when it was published.",
    examples: [null],
  }),
  endsAt: Schema.NullOr(Time).annotate({
    description: "End; null: never.",
    examples: ["2026-12-01T00:00:00.000Z"],
  }),
  segment: Schema.NullOr(Schema.String).annotate({
    description: "The key of the segment that it is for; null: for every user.",
    examples: [null],
  }),
  ...versionFields,
}

/** The member of a file in place of `status`. */
export const fileStatus = Schema.optionalKey(
  oneOf(["draft", "active", "paused"]).annotate({
    description: "Absent: the status stays; a new definition is active.",
    examples: ["active"],
  }),
)

/** The query of a list of definitions. */
export const listQuery = (list: Parameters<typeof pageQuery>[0]) => ({
  status: Schema.optionalKey(
    oneOf(statuses).annotate({
      description: "Only those with this status now. Default: all except archived ones.",
      examples: ["active"],
    }),
  ),
  ...pageQuery(list),
})

/** How the status changes, for PATCH operations. */
export const statusWords =
  "`status` publishes a draft (`active`), pauses and resumes, or archives. Other changes of status are refused (409 `invalid_transition`), since `scheduled`, `active` and `ended` follow the clock; to end it, set `endsAt` to now. What is archived never changes, and its key stays taken."

/** Exactly one of the members must be there. */
const oneKind = ({ currency, metric }: { readonly currency?: string; readonly metric?: string }) =>
  (currency === undefined) === (metric === undefined)
    ? "must have either currency or metric"
    : undefined

/** What adds up: earned amounts of a currency, or what events add to a metric. The keys are examples. */
export const addedScore = (currency: string, metric: string) =>
  Schema.Struct({
    currency: Schema.optionalKey(
      DefinitionKey.annotate({
        description: "The key of a currency without a refill: `xp`, `points` or your own.",
        examples: [currency],
      }),
    ),
    metric: Schema.optionalKey(
      DefinitionKey.annotate({
        description: "The key of a metric that counts or sums.",
        examples: [metric],
      }),
    ),
  }).check(Schema.makeFilter(oneKind, { toJsonSchema: () => [{}, true] }))

/** The parameters of a path to a definition. */
export const pathOf = (noun: string, id: string) => ({
  id: text(1, limits.idCharactersMax).annotate({
    description: `The ${noun}'s id or key.`,
    examples: [id],
  }),
})

const keyPattern = /^[a-z0-9_-]{1,64}$/

/** The caller's key of a step. */
export const Key = Schema.String.check(
  check(
    "invalid_format",
    `must be 1 to ${limits.keyCharactersMax} small letters, digits, dashes and underscores`,
    (key) => keyPattern.test(key),
    { pattern: keyPattern.source },
  ),
)

/** The path to a value in an event's metadata. */
export const MetadataPath = text(1, limits.conditionPathCharactersMax)
  .check(
    check(
      "invalid_format",
      `must be 1 to ${limits.metadataDepthMax} names separated by dots`,
      (path) => {
        const names = path.split(".")
        return names.length <= limits.metadataDepthMax && !names.includes("")
      },
    ),
  )
  .annotate({
    description: "A dotted path inside the metadata: `amount`, `cart.total`, `items.0.price`.",
    examples: ["score"],
  })

/** The path of the number that a step or a badge sums. */
export const SumPath = MetadataPath.annotate({
  description: `The path to a number in the metadata, to sum instead of counting events. Numbers up to ${limits.sumAmountMax} add up exactly, rounded to ${limits.sumDecimals} decimals; an event without a number above 0 there does not count. The target is at most ${limits.sumTargetMax}; the sum stops at ${limits.sumMax}.`,
  examples: ["km"],
})

const Scalar = Schema.Union([
  text(0, limits.conditionTextCharactersMax, "multiple"),
  Schema.Finite,
  Schema.Boolean,
  Schema.Null,
])

type ConditionJson = {
  readonly op: (typeof conditionOperators)[number]
  readonly value?: unknown
}

/** The fault of a condition whose value does not fit its operator. */
export const valueFault = (condition: ConditionJson) => {
  const { op, value } = condition
  const wrong = (message: string) => faultAt(["value"], "invalid_type", message)
  if (op === "exists") {
    return value === undefined || typeof value === "boolean" || wrong("must be true or false")
  }
  if (value === undefined) return faultAt(["value"], "missing", `is required for ${op}`)
  switch (op) {
    case "in":
      return Array.isArray(value) || wrong("must be a list of texts, numbers, true, false or null")
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return (
        typeof value === "number" ||
        typeof value === "string" ||
        wrong("must be a number or a text")
      )
    default:
      return !Array.isArray(value) || wrong("must not be a list")
  }
}

export const conditionOperator = oneOf(conditionOperators)
export const conditionValue = Schema.Union([Scalar, list(Scalar, 1, limits.conditionListMax)])

export const Condition = Schema.Struct({
  path: MetadataPath,
  op: conditionOperator.annotate({
    description: `\`gt\`, \`gte\`, \`lt\`, \`lte\` compare numbers by size and texts by character; \`in\`: one of a list; \`exists\`: whether the path has a value; \`contains\`: a text or list contains the value. All definitions of one action share at most ${limits.textSearchesOfActionMax} different \`contains\` conditions.`,
    examples: ["gte"],
  }),
  value: Schema.optionalKey(conditionValue).annotate({
    description:
      "Value to compare with: a text, number, boolean or null; for `in` a list of these; for `exists` true (default) or false.",
    examples: [90],
  }),
})
  .check(Schema.makeFilter(valueFault, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "Condition",
    description:
      "A condition on an event's metadata. If the path has no value, only `ne` and `exists: false` hold.",
    examples: [{ path: "score", op: "gte", value: 90 }],
  })

export const Where = list(Condition, 0, limits.conditionsMax).annotate({
  description: "Conditions on the metadata; all must hold. Default: none.",
  examples: [[{ path: "score", op: "gte", value: 90 }]],
})

/** The metric of a step or a need, in requests and in replies. */
export const CountedMetric = DefinitionKey.annotate({
  description:
    "Key of a metric, in place of `action`: what events add to it counts. For `max` and `last` one event is enough, whose value is at least `target`; for `min` one whose value is at most `target`.",
  examples: ["kilometres-run"],
})
export const ShownMetric = Schema.NullOr(Schema.String).annotate({
  description: "Key of the metric that counts in place of an action; null: none.",
  examples: [null],
})

/** The faults of what counts either events with an action, or a metric. */
export const actionOrMetric = ({
  action,
  metric,
  sumPath,
  where = [],
}: {
  readonly action?: string | null
  readonly metric?: string | null
  readonly sumPath?: string | null
  readonly where?: ReadonlyArray<unknown>
}) => {
  if (typeof metric !== "string") {
    const isMissing = typeof action !== "string"
    return isMissing ? [faultAt(["action"], "missing", "is required, or metric")] : []
  }
  const stray = {
    action: typeof action === "string",
    sumPath: typeof sumPath === "string",
    where: where.length > 0,
  }
  return Object.entries(stray).flatMap(([name, isThere]) =>
    isThere ? [faultAt([name], "unknown_member", "must not be sent together with metric")] : [],
  )
}

/** The conditions of a definition, in replies. */
export const ShownWhere = Schema.Array(Condition).annotate({
  description: "Conditions on the metadata; all must hold.",
  examples: [[{ path: "score", op: "gte", value: 90 }]],
})

export const Target = integer(1, limits.targetMax).annotate({ examples: [10] })

export const BadgeId = text(1, limits.idCharactersMax).annotate({
  description: "The id of an active badge.",
  examples: [badgeId],
})

const amount = (description: string, example: number) =>
  integer(0, limits.amountMax).annotate({ description, examples: [example] })

const givenXp = amount("Experience points.", 100)
const givenPoints = amount("Points, a balance separate from xp.", 10)

/** Amounts by the key of a currency, without keys that are reserved. */
export const amountsBy = <Amount extends Schema.Top>(
  amount: Amount,
  isReserved: (key: string) => boolean = () => false,
  membersMax: number = limits.currenciesMax,
) =>
  Schema.Record(Schema.String, amount).check(
    check(
      "out_of_range",
      `must have 1 to ${membersMax} members`,
      (amounts) => {
        const { length } = Object.keys(amounts)
        return length > 0 && length <= membersMax
      },
      { minProperties: 1, maxProperties: membersMax },
    ),
    Schema.makeFilter(
      (amounts) =>
        Object.keys(amounts).flatMap((key) =>
          isReserved(key)
            ? [faultAt([key], "unknown_member", "is a member of the reward itself")]
            : [],
        ),
      { toJsonSchema: () => [{}, true] },
    ),
  )

const isOwnPart = (key: string): boolean => key === "xp" || key === "points"

const givenAmount = integer(1, limits.amountMax)
const givenCurrencies = amountsBy(givenAmount, isOwnPart).annotate({
  description: "Amounts of further currencies, by key.",
  examples: [{ gems: 5 }],
})

const isNoPart = (): boolean => false
const freezeAmount = integer(1, limits.streakFreezesMax)
const freezesDescription =
  "Freezes, by the key of the streak, up to its `freezes.max`. A running streak has them at once; otherwise the next one begins with them. No multiplier and no boost changes them."
const givenFreezes = amountsBy(freezeAmount, isNoPart, limits.streaksMax).annotate({
  description: freezesDescription,
  examples: [{ daily: 1 }],
})

const GivenBoost = Schema.Struct({
  key: DefinitionKey.annotate({
    description: "The key of a boost that is `personal`.",
    examples: ["double-xp"],
  }),
  minutes: integer(1, limits.boostMinutesMax).annotate({
    description: "How long it runs.",
    examples: [60],
  }),
}).annotate({
  identifier: "GivenBoost",
  description: `A personal boost, for some minutes from the event or the grant on. It counts for later events that occurred in this time. Several rewards of one boost may overlap; it multiplies once. A user has at most ${limits.ownBoostsMax} at once; a rule, a quest, a badge or a milestone gives no more.`,
  examples: [{ key: "double-xp", minutes: 60 }],
})

const parts = {
  xp: Schema.optionalKey(givenXp),
  points: Schema.optionalKey(givenPoints),
  currencies: Schema.optionalKey(givenCurrencies),
  badgeId: Schema.optionalKey(BadgeId),
  freezes: Schema.optionalKey(givenFreezes),
  boost: Schema.optionalKey(GivenBoost),
}

/** A reward in requests. */
export const NewReward = Schema.Struct(parts)
  .check(
    check(
      "missing",
      "must have xp, points, another currency, freezes, a boost or a badge",
      (reward) => !givesNothing(reward),
      {
        minProperties: 1,
      },
    ),
  )
  .annotate({
    identifier: "NewReward",
    description:
      "What to give: at least xp, points, another currency, freezes, a boost or a badge.",
    examples: [{ xp: 100, points: 10 }],
  })

/** A reward in requests that may give nothing, by a part of 0. */
export const NewQuestReward = Schema.Struct(parts)
  .check(
    check(
      "missing",
      "must have xp, points, another currency, freezes, a boost or a badge",
      (reward) => Object.keys(reward).length > 0,
      {
        minProperties: 1,
      },
    ),
  )
  .annotate({
    identifier: "NewQuestReward",
    description: "What completing the quest gives; `{ xp: 0 }` is nothing.",
    examples: [{ xp: 100 }],
  })

const { badgeId: _, ...amounts } = parts

/** What a badge pays, in requests. */
export const NewPayment = Schema.Struct(amounts)
  .check(
    check(
      "missing",
      "must have xp, points, another currency, freezes or a boost",
      (paid) => !givesNothing(paid),
      {
        minProperties: 1,
      },
    ),
  )
  .annotate({
    identifier: "NewPayment",
    description:
      "What a badge or a tier pays the user who earns it: at least xp, points, another currency, freezes or a boost. Default: nothing.",
    examples: [{ xp: 100 }],
  })

const amountsPatch = {
  xp: Schema.optionalKey(Schema.NullOr(givenXp)),
  points: Schema.optionalKey(Schema.NullOr(givenPoints)),
  currencies: Schema.optionalKey(
    Schema.NullOr(amountsBy(Schema.NullOr(givenAmount), isOwnPart)).annotate({
      description: "Amounts of further currencies, by key; null removes one.",
      examples: [{ gems: 5 }],
    }),
  ),
  freezes: Schema.optionalKey(
    Schema.NullOr(amountsBy(Schema.NullOr(freezeAmount), isNoPart, limits.streaksMax)).annotate({
      description: "Freezes, by the key of the streak; null removes one.",
      examples: [{ daily: 1 }],
    }),
  ),
  boost: Schema.optionalKey(
    Schema.NullOr(GivenBoost).annotate({
      description: "A personal boost; null removes it.",
      examples: [{ key: "double-xp", minutes: 60 }],
    }),
  ),
}

/** The change of what a badge pays. */
export const PaymentPatch = Schema.Struct(amountsPatch).annotate({
  identifier: "PaymentPatch",
  description: "The amounts to change.",
  examples: [{ xp: 120 }],
})

/** The change of a definition's reward. */
export const RewardPatch = Schema.Struct({
  ...amountsPatch,
  badgeId: Schema.optionalKey(Schema.NullOr(BadgeId)),
}).annotate({
  identifier: "RewardPatch",
  description: "The rule's reward.",
  examples: [{ xp: 120 }],
})
