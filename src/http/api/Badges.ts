/** What users can earn once. */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { criterionKinds } from "../../domain/project/Badge.ts"
import { limits } from "../../Limits.ts"
import { Backfill, BackfillRequest, StartedBackfill } from "./Backfills.ts"
import { oneOf, text } from "./Checks.ts"
import {
  ApiKey,
  idempotencyHeaders,
  mergePatch,
  OpenTo,
  pageFields,
  pageQuery,
  Time,
} from "./Common.ts"
import { CountedAction, Key, patchWords, ShownWhere, Target, Where } from "./Definitions.ts"
import { badge, badgePage } from "./examples/Definitions.ts"
import { countedBadgeId } from "./examples/Ids.ts"
import {
  ArchivedConflict,
  BackfillConflict,
  BackfillNotFound,
  BadgeNotFound,
  DefinitionConflict,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "What people call it.",
  examples: ["Ten lessons"],
})
const Description = text(0, limits.descriptionCharactersMax, "multiple").annotate({
  description: "What people are told of it.",
  examples: ["For ten lessons with 90 points or more"],
})
const Icon = text(0, limits.iconCharactersMax).annotate({
  description: "A URL, an emoji, or whatever your app shows.",
  examples: ["🏅"],
})
const Secret = Schema.Boolean.annotate({
  description: "Whether users see it only once they have earned it. Default `false`.",
  examples: [false],
})

const Kind = oneOf(criterionKinds).annotate({
  description:
    "Which number earns it: the user's `xp`, `level` or `points`; `action_count`: events with an action; `quest_count`: quests completed; `streak`: the days of a streak; `manual`: none, it is only given by rules, quests and rewards.",
  examples: ["action_count"],
})

const CriterionTarget = Target.annotate({
  description: "The number from which on it is earned; required unless the kind is `manual`.",
})
const CriterionAction = CountedAction.annotate({
  description: "Which events count; required for the kind `action_count`, and only there.",
})
const StreakKey = Key.annotate({
  description:
    "The key of a streak of the project; only for the kind `streak`. Default: whichever streak of the user's.",
  examples: ["daily"],
})

const NewCriteria = Schema.Struct({
  kind: Kind,
  target: Schema.optionalKey(CriterionTarget),
  action: Schema.optionalKey(CriterionAction),
  where: Schema.optionalKey(Where),
  streak: Schema.optionalKey(StreakKey),
}).annotate({ identifier: "NewCriteria", description: "By what the badge is earned." })

export const NewBadge = Schema.Struct({
  name: Name,
  criteria: NewCriteria,
  description: Schema.optionalKey(Description),
  icon: Schema.optionalKey(Icon),
  secret: Schema.optionalKey(Secret),
}).annotate({
  identifier: "NewBadge",
  examples: [
    {
      name: "Ten lessons",
      criteria: {
        kind: "action_count",
        action: "LESSON_DONE",
        where: [{ path: "score", op: "gte", value: 90 }],
        target: 10,
      },
      icon: "🏅",
    },
    { name: "A whole week", criteria: { kind: "streak", streak: "daily", target: 7 } },
    { name: "Moderator", criteria: { kind: "manual" }, secret: true },
  ],
})

export const BadgePatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  criteria: Schema.optionalKey(
    Schema.Struct({
      kind: Schema.optionalKey(Kind),
      target: Schema.optionalKey(CriterionTarget),
      action: Schema.optionalKey(CriterionAction),
      where: Schema.optionalKey(Schema.NullOr(Where)),
      streak: Schema.optionalKey(Schema.NullOr(StreakKey)),
    }).annotate({
      identifier: "CriteriaPatch",
      description:
        "With another `kind`, nothing is kept of the criteria before, so all that the kind needs must be there.",
    }),
  ),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  icon: Schema.optionalKey(Schema.NullOr(Icon)),
  secret: Schema.optionalKey(Schema.NullOr(Secret)),
}).annotate({ identifier: "BadgePatch", examples: [{ criteria: { target: 20 }, icon: null }] })

const shownTarget = Schema.Int.annotate({
  description: "The number from which on it is earned.",
  examples: [10],
})

const Criteria = Schema.Union([
  Schema.Struct({
    kind: oneOf(["xp", "level", "points", "quest_count"]).annotate({
      description: "A number of the user's.",
    }),
    target: shownTarget,
  }),
  Schema.Struct({
    kind: Schema.Literal("action_count").annotate({ description: "How many events count." }),
    target: shownTarget,
    action: CountedAction,
    where: ShownWhere,
  }),
  Schema.Struct({
    kind: Schema.Literal("streak").annotate({ description: "The days of a streak." }),
    target: shownTarget,
    streak: Schema.NullOr(Schema.String).annotate({
      description: "The key of a streak; null: whichever.",
      examples: ["daily"],
    }),
  }),
  Schema.Struct({
    kind: Schema.Literal("manual").annotate({ description: "It is only given." }),
  }),
]).annotate({
  identifier: "Criteria",
  description: "By what the badge is earned.",
  examples: [{ kind: "xp", target: 1000 }],
})

export const Badge = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the badge.",
    examples: [countedBadgeId],
  }),
  name: Schema.String.annotate({
    description: "What people call it.",
    examples: ["Ten lessons"],
  }),
  description: Schema.NullOr(Schema.String).annotate({
    description: "What people are told of it.",
    examples: [null],
  }),
  icon: Schema.NullOr(Schema.String).annotate({
    description: "A URL, an emoji, or whatever your app shows.",
    examples: ["🏅"],
  }),
  criteria: Criteria,
  secret: Schema.Boolean.annotate({
    description: "Whether users see it only once they have earned it.",
    examples: [false],
  }),
  archived: Schema.Boolean.annotate({
    description: "It is earned no more, and stays with those who have it.",
    examples: [false],
  }),
  createdAt: Time,
  updatedAt: Time,
}).annotate({
  identifier: "Badge",
  description: "What a user can earn once.",
  examples: [badge],
})

export const BadgePage = Schema.Struct({
  badges: Schema.Array(Badge).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({
  identifier: "BadgePage",
  description: "A page of the badges.",
  examples: [badgePage],
})

const params = {
  id: text(1, limits.idCharactersMax).annotate({
    description: "The badge's id.",
    examples: [countedBadgeId],
  }),
}

const archivedQuery = oneOf(["true", "false"])
  .annotate({
    description: "Whether the archived ones are shown in place of the others.",
    examples: ["true"],
  })
  .pipe(
    Schema.decodeTo(
      Schema.Boolean,
      SchemaTransformation.transform({
        decode: (text) => text === "true",
        encode: (value) => (value ? "true" : "false"),
      }),
    ),
  )

export const Badges = HttpApiGroup.make("badges")
  .add(
    HttpApiEndpoint.post("create", "/v1/badges", {
      headers: idempotencyHeaders,
      payload: NewBadge,
      success: Badge.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a badge",
          description: `A user earns it once, with the event or reward by which the number of its criteria reaches the target. Events are counted for \`action_count\` from now on. An environment holds at most ${limits.badgesMax} badges that are not archived.`,
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/badges", {
      query: {
        archived: Schema.optionalKey(archivedQuery),
        ...pageQuery,
      },
      success: BadgePage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List badges",
          description:
            "The badges of the key's project and environment: those that are not archived, or, with `archived=true`, those that are.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/badges/:id", {
      params,
      success: Badge,
      error: [...readProblems, BadgeNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a badge",
          description: "One badge, by its id; also an archived one.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/badges/:id", {
      params,
      payload: mergePatch(BadgePatch),
      success: Badge,
      error: [...writeProblems, BadgeNotFound, ArchivedConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a badge",
          description: `${patchWords}

Who has the badge keeps it, whatever its criteria are now. What was counted for \`action_count\` stays; other criteria count for events from now on. Who is past a target that was lowered gets the badge from a backfill. An archived badge does not change any more (409 \`invalid_transition\`).`,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/v1/badges/:id", {
      params,
      success: HttpApiSchema.NoContent.annotate({ description: "It is archived." }),
      error: [...readProblems, BadgeNotFound, UseConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a badge",
          description:
            "It is earned and given no more, and stays with those who have it; it still shows with its id. A badge that rules or quests give is not archived (409 `in_use`): change them first. A second time → 404.",
        }),
      ),
    HttpApiEndpoint.post("startBackfill", "/v1/badges/:id/backfill", {
      params,
      headers: idempotencyHeaders,
      payload: BackfillRequest,
      success: StartedBackfill.pipe(HttpApiSchema.status(202)),
      error: [...writeProblems, BadgeNotFound, BackfillConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Award a badge for the past",
          description:
            "Gives the badge to every user who qualifies already, in the background, and without messages unless `notify` asks for them. For `action_count` the whole history of each user is counted, also from before the badge; who is below the target goes on from there, and for who has the badge already the count is made right. Backfills of one environment run one after the other, and a restart of the server does not end them. A badge that only hands give has none, and one that is under way can not be started again (409 `conflict`).",
        }),
      ),
    HttpApiEndpoint.get("getBackfill", "/v1/badges/:id/backfill", {
      params,
      success: Backfill,
      error: [...readProblems, BackfillNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a backfill",
          description: "How far the latest backfill of a badge has come.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Badges", description: "What users can earn, once each." }),
  )
