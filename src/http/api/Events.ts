/** Operations that take single events and batches. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AppliedBoosts,
  claimable,
  Earned,
  factMembers,
  furtherOutcome,
  LevelChange,
} from "../../domain/message/FactMembers.ts"
import { withheldReasons } from "../../domain/record/Record.ts"
import { metadataKinds } from "../../domain/values/Metadata.ts"
import { limits } from "../../Limits.ts"
import { BatchRefusal, BatchSummary, batchCounts, batchHeaders, batchWords, ok } from "./Batches.ts"
import {
  Action,
  ApiKey,
  BodyBytesMax,
  EarnedBadge,
  EventKey,
  idempotencyHeaders,
  list,
  metadata,
  OpenTo,
  oneOf,
  pageFields,
  pageQuery,
  Time,
  TimeIn,
  UserId,
  UserNamed,
} from "./Common.ts"
import { actionsSeen } from "./examples/definitionExamples.ts"
import { ruleId } from "./examples/exampleIds.ts"
import {
  batchOutcome,
  batchSummary,
  eventAccepted,
  eventDetails,
  eventOutcome,
  metricOutcome,
  questOutcome,
  repeatedEvent,
  streakOutcome,
} from "./examples/userExamples.ts"
import {
  BatchTooLarge,
  differs,
  EventConflict,
  EventNotFound,
  KeyInProgress,
  QuestNotFound,
  readProblems,
  writeProblems,
} from "./Problems.ts"

export const Event = Schema.Struct({
  userId: UserId,
  action: Action,
  metadata: Schema.optionalKey(
    metadata.annotate({
      description: `Details of the event, at most ${limits.metadataBytesMax} bytes as JSON and ${limits.metadataDepthMax} levels deep. With \`QUEST_COMPLETE\`, \`questId\` names the quest.`,
      examples: [{ lesson: "intro-7", score: 93 }],
    }),
  ),
  id: Schema.optionalKey(EventKey),
  occurredAt: Schema.optionalKey(TimeIn),
}).annotate({
  identifier: "Event",
  description: "An action of a user. A new user is created.",
  examples: [
    { userId: "user-42", action: "LESSON_DONE", metadata: { lesson: "intro-7", score: 93 } },
  ],
})

export const QuestOutcome = Schema.Struct({
  ...factMembers["quest.started"],
  status: oneOf(["not_started", "in_progress", "completed", "expired"]).annotate({
    description: "The user's status in the quest now.",
    examples: ["in_progress"],
  }),
  progress: Schema.Finite.annotate({
    description: "Completed share, 0 to 1.",
    examples: [0.6],
  }),
  alreadyCompleted: Schema.Boolean.annotate({
    description: "The user completed the quest earlier and earned nothing this time.",
    examples: [false],
  }),
  claimable: Schema.optionalKey(claimable),
}).annotate({
  identifier: "QuestOutcome",
  description: "The event's effect on a quest.",
  examples: [questOutcome],
})

export const StreakOutcome = Schema.Struct(factMembers["streak.extended"]).annotate({
  identifier: "StreakOutcome",
  description: "The event's effect on a streak.",
  examples: [streakOutcome],
})

const MetricOutcome = Schema.Struct(factMembers["metric.changed"]).annotate({
  identifier: "MetricOutcome",
  description: "A user's total of a metric afterwards.",
  examples: [metricOutcome],
})

/** The totals of metrics in a reply. `what` begins the description. */
export const changedMetrics = (what: string) =>
  Schema.optionalKey(
    Schema.Array(MetricOutcome).annotate({
      description: `${what}, with the user's total afterwards. Absent if there is none.`,
    }),
  )

/** The members of a reply that tell a repeat of an `id` from its first use. */
export const repeatMembers = (what: "event" | "reward") => ({
  duplicate: Schema.Boolean.annotate({
    description: `Whether an earlier ${what} of the user has this \`id\`. Nothing changed then, and the first outcome is returned.`,
    examples: [false],
  }),
  differs: differs(
    `For a duplicate whose body is not that of the first ${what}, so that it is no retry`,
    "/metadata/lesson",
  ),
  revoked: revokedSince(what),
})

export const revokedSince = (what: string) =>
  Schema.optionalKey(
    Schema.Literal(true).annotate({
      description: `Present, and \`true\`, for a duplicate of ${what === "event" ? "an event" : `a ${what}`} that was revoked since. Its \`id\` stays used: send another \`id\` to apply it again.`,
      examples: [true],
    }),
  )

export const matched = Schema.optionalKey(
  Schema.Literal(false).annotate({
    description:
      "Present, and `false`, if no active rule, published quest, badge, metric or list of a streak's `actions` named the action when the event was applied: usually a misspelt action, or a definition that is missing. Absent otherwise. A streak that any action extends names none; `QUEST_COMPLETE` is always known.",
    examples: [false],
  }),
)

export const withheld = Schema.optionalKey(
  Schema.Array(
    Schema.Struct({
      ruleId: Schema.String.annotate({ description: "The rule's id.", examples: [ruleId] }),
      reason: oneOf(withheldReasons).annotate({
        description:
          "`limit`: the user has used up the limit in the period in which the event occurred; `cooldown`: the rule rewarded an event that occurred less than the cooldown before or after this one.",
        examples: ["limit"],
      }),
    }).annotate({ identifier: "WithheldReward", description: "A rule that gave nothing." }),
  ).annotate({
    description:
      "Rules that matched the event and gave nothing because of their limit or cooldown. Absent if there is none.",
    examples: [[{ ruleId, reason: "limit" }]],
  }),
)

export const boosts = Schema.optionalKey(
  AppliedBoosts.annotate({
    description:
      "The boosts that multiplied what the event earned, each with its factor at that time. Absent if there is none.",
    examples: [[{ key: "happy-hour", factor: 2 }]],
  }),
)

export const EventOutcome = Schema.Struct({
  eventId: Schema.String.annotate({
    description: "Laurel's id of the event.",
    examples: ["evt_0mi8k3f2a4c92"],
  }),
  userId: UserId,
  action: Action,
  ...repeatMembers("event"),
  occurredAt: Time,
  receivedAt: Time,
  xp: Earned,
  points: Earned,
  ...furtherOutcome,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({ description: "Badges earned by the event." }),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "Quests that the event counted for.",
  }),
  streaks: Schema.Array(StreakOutcome).annotate({ description: "Streaks extended by the event." }),
  boosts,
  metrics: changedMetrics("Metrics that the event counted for"),
  matched,
  withheld,
}).annotate({
  identifier: "EventOutcome",
  description: "The durable outcome of an event.",
  examples: [eventOutcome, repeatedEvent],
})

/** The members that tell whether an event, reward or spend was revoked. */
export const revocation = {
  revoked: Schema.Boolean.annotate({ description: "Whether it was revoked.", examples: [false] }),
  revokedAt: Schema.NullOr(Time).annotate({
    description: "When it was revoked; null: it was not.",
    examples: [null],
  }),
}

const { differs: _differs, duplicate: _duplicate, ...outcome } = EventOutcome.fields

export const EventDetails = Schema.Struct({
  ...outcome,
  id: Schema.NullOr(Schema.String).annotate({
    description: "The `id` that you sent with the event; null: none.",
    examples: ["lesson-7-user-42"],
  }),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "The event's metadata; null: none.",
    examples: [{ lesson: "intro-7", score: 93 }],
  }),
  imported: Schema.Boolean.annotate({
    description: "Whether the event was imported.",
    examples: [false],
  }),
  ...revocation,
}).annotate({
  identifier: "EventDetails",
  description: "An event, with what it gave when it was applied.",
  examples: [eventDetails],
})

const EventAccepted = Schema.Struct({ ok, ...EventOutcome.fields }).annotate({
  identifier: "EventAccepted",
  description: "The outcome of an event in a batch.",
  examples: [eventAccepted],
})

export const Batch = Schema.Struct({
  events: list(Event, 1, limits.batchItemsMax).annotate({
    description: "The events of each user are applied in this order.",
  }),
}).annotate({
  identifier: "Batch",
  examples: [{ events: [{ userId: "user-42", action: "LESSON_DONE" }] }],
})

export const BatchOutcome = Schema.Struct({
  ...batchCounts("events"),
  results: Schema.Array(Schema.Union([EventAccepted, BatchRefusal])).annotate({
    description: "The outcome of each event, in the order of the request. `ok` tells which it is.",
  }),
}).annotate({
  identifier: "BatchOutcome",
  description: "The durable outcome of a batch.",
  examples: [batchOutcome],
})

const BatchReply = Schema.Union([BatchOutcome, BatchSummary]).annotate({
  identifier: "BatchReply",
  description: "The outcome of each event, or counts and refusals alone.",
  examples: [batchOutcome, batchSummary],
})

export const Events = HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.post("track", "/v1/events", {
      headers: idempotencyHeaders,
      payload: Event,
      success: EventOutcome,
      error: [...writeProblems, QuestNotFound, EventConflict],
    })
      .annotate(OpenTo, ["ingest", "user"])
      .annotate(UserNamed, ({ payload }) => payload.userId)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Track an event",
          description:
            "Applies one event of a user: the rules of its action or, for `QUEST_COMPLETE`, the reward of the quest that `metadata.questId` names: it completes a quest without steps, and claims a completed quest with `claim: manual`. Replies once the outcome is on disk. An `id` that the user has used changes nothing: the reply is the first outcome with `duplicate: true`, `differs` if the body is not that of the first event, and `revoked: true` if that was revoked. With a user token: an event of that user, without `occurredAt`, whose action is one of the project's `clientActions`.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/events/:id", {
      params: {
        id: Schema.String.annotate({
          description: "Laurel's id of the event, from the reply to it.",
          examples: ["evt_0mi8k3f2a4c92"],
        }),
      },
      success: EventDetails,
      error: [...readProblems, EventNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an event",
          description:
            "Returns an event with what it gave, when, and whether it was revoked. A user token reads events of its own user. Returns 404 for an event of another environment or, with a user token, of another user; of an erased user; whose record was deleted by the retention of the history; and for an id that Laurel did not make. The reply is the same in all these cases.",
        }),
      ),
    HttpApiEndpoint.post("trackBatch", "/v1/events/batch", {
      headers: batchHeaders,
      payload: [
        Batch,
        HttpApiSchema.StreamNdjson({ schema: Event, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: BatchReply,
      error: [...writeProblems, BatchTooLarge, KeyInProgress],
    })
      .annotate(OpenTo, ["ingest"])
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Track many events",
          description: `Applies 1 to ${limits.batchItemsMax} events, in order per user, from a JSON object or from NDJSON with one event per line (blank lines are ignored). ${batchWords("events")}`,
        }),
      ),
    HttpApiEndpoint.post("importBatch", "/v1/events/import", {
      headers: batchHeaders,
      payload: [
        Batch,
        HttpApiSchema.StreamNdjson({ schema: Event, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: BatchReply,
      error: [...writeProblems, BatchTooLarge, KeyInProgress],
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Import history",
          description:
            "Applies past events as a batch does, without messages to webhooks and streams. `occurredAt` may be of any age. Rules, badges, quests and streaks apply; closed windows of the leaderboard do not change. Badges are earned, and quests begun and completed, when the events occurred.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Events", description: "Send the actions of your users." }),
  )

/* The actions of an environment's events. */

const pathsDays = limits.pathsPeriodMs / 86_400_000

const count = Schema.Int.annotate({
  description:
    "Number of events accepted, without duplicates. Undone events and those of erased users stay counted.",
  examples: [1204],
})

const PathSeen = Schema.Struct({
  path: Schema.String.annotate({
    description: "A path as conditions name it.",
    examples: ["score"],
  }),
  kinds: Schema.Array(Schema.Literals(metadataKinds)).annotate({
    description:
      "The kinds of its values: `text`, `number`, `boolean`, `list`, `null`. `object`: an empty one, or one with so many members that it is a map; its members are not read.",
    examples: [["number"]],
  }),
  events: Schema.Int.annotate({
    description: "The number of sampled events that carried it.",
    examples: [164],
  }),
}).annotate({
  identifier: "PathSeen",
  description: "A path of the metadata that events carried. No value is kept.",
  examples: [actionsSeen.actions[1].metadata.paths[0]],
})

const PathsSeen = Schema.Struct({
  looked: Schema.Int.annotate({
    description: `The number of sampled events, with metadata or without: the first ${limits.pathsLookedFirst} of a period of ${pathsDays} days, then one of ${limits.pathsSample}. Those of the present period and of the one before count.`,
    examples: [170],
  }),
  paths: Schema.Array(PathSeen).annotate({
    description: `At most ${limits.pathsOfActionMax} paths, the most frequent first.`,
  }),
  more: Schema.Boolean.annotate({
    description:
      "Whether events carried more: names that look like ids, that have a dot or that do not print, members of maps, or paths beyond the limits.",
    examples: [false],
  }),
}).annotate({
  identifier: "PathsSeen",
  description: "The paths of the metadata of an action's latest events.",
  examples: [actionsSeen.actions[1].metadata],
})

export const ActionSeen = Schema.Struct({
  action: Action,
  count,
  lastReceivedAt: Time.annotate({ description: "When the last event was received." }),
  matched: Schema.Boolean.annotate({
    description:
      "Whether an active rule, a published quest, a badge or the `actions` of a streak name the action now. `QUEST_COMPLETE` is always known.",
    examples: [true],
  }),
  metadata: PathsSeen,
}).annotate({
  identifier: "ActionSeen",
  description: "The events of an action.",
  examples: [actionsSeen.actions[0]],
})

export const ActionsSeen = Schema.Struct({
  actions: Schema.Array(ActionSeen).annotate({ description: "In the order of their names." }),
  others: Schema.Struct({
    count,
    lastReceivedAt: Schema.NullOr(Time).annotate({
      description: "When the last event was received; null: none was.",
    }),
  }).annotate({ description: "The events of all further actions, together." }),
  ...pageFields("actions"),
}).annotate({
  identifier: "ActionsSeen",
  description: "The actions of an environment's events.",
  examples: [actionsSeen],
})

export const Actions = HttpApiGroup.make("actions")
  .add(
    HttpApiEndpoint.get("list", "/v1/actions", {
      query: pageQuery("actions"),
      success: ActionsSeen,
      error: readProblems,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List actions seen",
        description: `Lists the actions of all events so far, imported ones included, with their number and last time, and whether a definition knows them: a misspelt action is one with \`matched: false\`. The first ${limits.actionsCountedMax} actions of an environment are listed; at most ${limits.actionsUnmatchedMax} of them are actions that no definition knew at their first event. The events of further ones are counted together as \`others\`.

\`metadata\` has the paths of the metadata that the latest events carried, and the kinds of their values, so that a condition with a misspelt path can be found. No value is kept. A path is gone ${pathsDays} to ${2 * pathsDays} days after its last event; the erasure of a user does not remove it earlier. An environment has at most ${limits.pathsOfEnvironmentMax} paths, and at most half of them are of actions that no definition knew.`,
      }),
    ),
  )
  .annotateEndpoints(OpenTo, ["read"])
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Actions", description: "The actions that your events have." }),
  )
