/** Operations on segments: named sets of users, by conditions on their state. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { segmentConditionKinds } from "../../domain/project/Segment.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, list, OpenTo, oneOf, pageFields, pageQuery, Time, text, UserId } from "./Common.ts"
import {
  conditionOperator,
  conditionValue,
  DefinitionKey,
  Key,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  valueFault,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import {
  countedSegment,
  segment,
  segmentPage,
  segmentPreview,
} from "./examples/definitionExamples.ts"
import { segmentId } from "./examples/exampleIds.ts"
import {
  ChangeConflict,
  readProblems,
  SegmentNotFound,
  UseConflict,
  writeProblems,
} from "./Problems.ts"
import { TeamKind } from "./Teams.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Active learners"],
})

const SegmentCondition = Schema.Struct({
  kind: oneOf(segmentConditionKinds).annotate({
    description:
      "What of the user is compared. `attribute`: the custom attribute named by `attribute`; `level`; `balance`: the balance of `currency`; `currency_level`: the number of the user's level in `currency`, 0 below the first; `badge`: whether the user has the badge with this key (`exists`); `streak`: the present days of the streak; `metric`: the total of the metric (`exists`: whether it has one); `team`: the id of the user's team of the kind `team` (`exists`: whether it is in one); `account_age_days` and `inactive_days`: whole days of 24 hours since the user's creation, and since the latest event occurred (`exists`: whether there was one); `percent`: a number from 0 to below 100 that follows from `salt` and the user's id; `experiment`: the key of the user's variant (`exists`: whether the user has entered the experiment), also after it ended.",
    examples: ["level"],
  }),
  attribute: Schema.optionalKey(text(1, limits.attributeNameCharactersMax)).annotate({
    description: "The name of an attribute; only for the kind `attribute`, and required there.",
    examples: ["plan"],
  }),
  currency: Schema.optionalKey(DefinitionKey).annotate({
    description:
      "The key of a currency; only for the kinds `balance` and `currency_level`, and required there.",
    examples: ["points"],
  }),
  badge: Schema.optionalKey(DefinitionKey).annotate({
    description: "The key of a badge; only for the kind `badge`, and required there.",
    examples: ["first-lesson"],
  }),
  streak: Schema.optionalKey(Key).annotate({
    description: "The key of a streak; only for the kind `streak`, and required there.",
    examples: ["daily"],
  }),
  metric: Schema.optionalKey(DefinitionKey).annotate({
    description: "The key of a metric; only for the kind `metric`, and required there.",
    examples: ["kilometres-run"],
  }),
  experiment: Schema.optionalKey(DefinitionKey).annotate({
    description: "The key of an experiment; only for the kind `experiment`, and required there.",
    examples: ["daily-goal"],
  }),
  team: Schema.optionalKey(TeamKind).annotate({
    description: "A kind of teams; only for the kind `team`, and required there.",
    examples: ["club"],
  }),
  salt: Schema.optionalKey(text(1, limits.keyCharactersMax)).annotate({
    description:
      "Any text; only for the kind `percent`, and required there. Segments with one salt order the users alike; with different salts, they are independent. The number is MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 text `<salt>:<user id>`, divided by 2^32, times 100.",
    examples: ["new-home"],
  }),
  op: conditionOperator.annotate({
    description:
      "As in conditions on metadata. Attributes take every operator; numbers take `eq`, `ne`, `gt`, `gte`, `lt` and `lte`; a badge takes `exists`; a team takes `eq`, `ne`, `in` and `exists`; `inactive_days` and `metric` take `exists` too; `percent` takes `lt` and `gte`; `experiment` takes `eq`, `ne`, `in` and `exists`.",
    examples: ["gte"],
  }),
  value: Schema.optionalKey(conditionValue).annotate({
    description:
      "Value to compare with; for `percent` from 0 to 100, for `metric` any number, for other numbers at least 0. For `experiment` the key of a variant, or with `in` a list of them. For `currency_level` the key of a level stands for its number. For `exists` true (default) or false.",
    examples: [5],
  }),
})
  .check(Schema.makeFilter(valueFault, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "SegmentCondition",
    description:
      "A condition on a user. If the user lacks the attribute, only `ne` and `exists: false` hold.",
    examples: [{ kind: "level", op: "gte", value: 5 }],
  })

const Match = oneOf(["all", "any"]).annotate({
  description: "Whether all conditions must hold, or any one of them. Default `all`.",
  examples: ["all"],
})

const Conditions = list(SegmentCondition, 1, limits.segmentConditionsMax).annotate({
  description: "The conditions.",
  examples: [[{ kind: "level", op: "gte", value: 5 }]],
})

const { description, key, metadata } = newMembers("name")

export const NewSegment = Schema.Struct({
  name: Name,
  key,
  description,
  metadata,
  match: Schema.optionalKey(Match),
  conditions: Conditions,
}).annotate({
  identifier: "NewSegment",
  description: "A segment to create.",
  examples: [
    {
      name: "Active learners",
      conditions: [
        { kind: "attribute", attribute: "plan", op: "in", value: ["pro", "team"] },
        { kind: "level", op: "gte", value: 5 },
        { kind: "inactive_days", op: "lt", value: 7 },
      ],
    },
    {
      name: "Sees the daily goal",
      conditions: [{ kind: "experiment", experiment: "daily-goal", op: "eq", value: "goal" }],
    },
    {
      name: "A tenth of all users",
      conditions: [{ kind: "percent", salt: "new-home", op: "lt", value: 10 }],
    },
  ],
})

const Status = oneOf(["active", "archived"])

export const SegmentPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: patchMembers.description,
  metadata: patchMembers.metadata,
  status: Schema.optionalKey(
    Status.annotate({ description: "`archived` archives it.", examples: ["archived"] }),
  ),
  match: Schema.optionalKey(Match),
  conditions: Schema.optionalKey(Conditions),
}).annotate({
  identifier: "SegmentPatch",
  examples: [{ conditions: [{ kind: "level", op: "gte", value: 10 }] }],
})

const { endsAt: _, segment: __, startsAt: ___, ...shown } = shownMembers

const fields = {
  id: Schema.String.annotate({ description: "Laurel's id of the segment.", examples: [segmentId] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Active learners"] }),
  ...shown,
  status: Status.annotate({ description: "`active` → `archived`.", examples: ["active"] }),
  match: Match,
  conditions: Schema.Array(SegmentCondition).annotate({ description: "The conditions." }),
}

export const Segment = Schema.Struct(fields).annotate({
  identifier: "Segment",
  description: "A segment: the users for whom its conditions hold.",
  examples: [segment],
})

const CountedSegment = Schema.Struct({
  ...fields,
  members: Schema.Struct({
    count: Schema.NullOr(Schema.Int).annotate({
      description: "Number of users in the segment; null: not counted yet.",
      examples: [1204],
    }),
    countedAt: Schema.NullOr(Time).annotate({
      description: "When the count ended; null: not counted yet.",
    }),
    counting: Schema.Boolean.annotate({
      description: "Whether a newer count is under way.",
      examples: [false],
    }),
  }).annotate({
    identifier: "SegmentMembers",
    description: `The number of members, counted in the background when the segment is read: if there is no count of its present conditions, or if the last one is older than ${limits.segmentCountFreshMs / 1000} seconds. A restart forgets the counts.`,
  }),
}).annotate({
  identifier: "CountedSegment",
  description: "A segment with the number of its members.",
  examples: [countedSegment],
})

export const SegmentPage = Schema.Struct({
  segments: Schema.Array(Segment).annotate({ description: "In the order of creation." }),
  ...pageFields("segments"),
}).annotate({
  identifier: "SegmentPage",
  description: "A page of the segments.",
  examples: [segmentPage],
})

/** A segment that a user is in. */
const OwnSegment = Schema.Struct({ id: fields.id, key: shown.key, name: fields.name }).annotate({
  identifier: "OwnSegment",
  description: "A segment that the user is in.",
})

export const UserSegments = Schema.Struct({
  userId: UserId,
  segments: Schema.Array(OwnSegment).annotate({ description: "In the order of creation." }),
}).annotate({
  identifier: "UserSegments",
  description: "The active segments that a user is in now.",
  examples: [
    {
      userId: "user-42",
      segments: [{ id: segmentId, key: segment.key, name: segment.name }],
    },
  ],
})

const SegmentPreviewRequest = Schema.Struct({
  userId: UserId,
  match: Schema.optionalKey(Match),
  conditions: Conditions,
}).annotate({
  identifier: "SegmentPreviewRequest",
  description: "A user, and conditions to try.",
  examples: [{ userId: "user-42", conditions: [{ kind: "level", op: "gte", value: 5 }] }],
})

const SegmentPreview = Schema.Struct({
  userId: UserId,
  member: Schema.Boolean.annotate({
    description: "Whether the user would be in the segment.",
    examples: [true],
  }),
  conditions: Schema.Array(
    Schema.Struct({
      holds: Schema.Boolean.annotate({
        description: "Whether the condition holds.",
        examples: [true],
      }),
      found: Schema.NullOr(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])).annotate({
        description:
          "What the condition compared: the user's text or number, for a badge when it was earned; null: the user has none.",
        examples: [7],
      }),
    }),
  ).annotate({ description: "Each condition, in the order of the request." }),
}).annotate({
  identifier: "SegmentPreview",
  description: "The answer of the conditions for a user.",
  examples: [segmentPreview],
})

const params = pathOf("segment", segmentId)

export const Segments = HttpApiGroup.make("segments")
  .add(
    ...definitionEndpoints({
      path: "/v1/segments",
      params,
      readers: ["read"],
      notFound: SegmentNotFound,
      create: {
        payload: NewSegment,
        success: Segment,
        summary: "Create a segment",
        description: `A segment is the set of users for whom its conditions hold. Rules, quests, badges and boosts take its key as \`segment\`: a rule then pays, and a boost multiplies, only for members; a quest or a badge is visible and counts only for members. Each event asks once for each segment that a matching definition names, on the user's state before the event, at the time at which the event is decided. A segment that no definition names costs events nothing. An environment holds at most ${limits.segmentsMax} segments that are not archived.`,
      },
      list: {
        query: {
          status: Schema.optionalKey(
            Status.annotate({
              description: "Only those with this status. Default: all except archived ones.",
              examples: ["active"],
            }),
          ),
          ...pageQuery("segments"),
        },
        success: SegmentPage,
        summary: "List segments",
        description:
          "Lists the segments of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: CountedSegment,
        summary: "Read a segment",
        description:
          "Returns a segment by its id or key, with the number of its members. Reading an active segment begins a count in the background, unless a recent one is known.",
      },
      update: {
        payload: SegmentPatch,
        success: Segment,
        error: [...writeProblems, SegmentNotFound, ChangeConflict],
        summary: "Change a segment",
        description: `${patchWords}

The change applies to events from now on. What users earned stays, and so do counts of badges and quests. A segment that rules, quests, badges or boosts name cannot be archived (409 \`in_use\`). What is archived never changes, and its key stays taken.`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The segment is archived." }),
        error: [...readProblems, SegmentNotFound, UseConflict],
        summary: "Archive a segment",
        description:
          "A segment that rules, quests, badges or boosts name cannot be archived (409 `in_use`): change them first. Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.post("preview", "/v1/segments/preview", {
      payload: SegmentPreviewRequest,
      success: SegmentPreview,
      error: writeProblems,
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try conditions on a user",
          description:
            "Returns whether the user would be in a segment with these conditions now, and what each condition compared. A user id without a user is tried as a new user. Changes nothing. An `Idempotency-Key` is ignored.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Segments",
      description: "Sets of users, by conditions on their state.",
    }),
  )
