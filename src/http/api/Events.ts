/** What users did. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { list, metadata, oneOf } from "./Checks.ts"
import {
  Action,
  ApiKey,
  BodyBytesMax,
  Earned,
  EarnedBadge,
  EventKey,
  idempotencyHeaders,
  LevelChange,
  OpenTo,
  Time,
  TimeIn,
  UserId,
} from "./Common.ts"
import {
  batchOutcome,
  eventOutcome,
  eventRefusal,
  questOutcome,
  streakOutcome,
} from "./examples/Events.ts"
import { BatchConflict, EventConflict, Fault, QuestNotFound, writeProblems } from "./Problems.ts"

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
  description: "Something that a user did. A user who was never seen is created.",
  examples: [
    { userId: "user-42", action: "LESSON_DONE", metadata: { lesson: "intro-7", score: 93 } },
  ],
})

export const QuestOutcome = Schema.Struct({
  questId: Schema.String.annotate({
    description: "The quest's id.",
    examples: ["qst_01a1fc1e64c07345932e273286b5ca30"],
  }),
  title: Schema.String.annotate({
    description: "What people call the quest.",
    examples: ["First steps"],
  }),
  status: oneOf(["not_started", "in_progress", "completed", "expired"]).annotate({
    description: "Where the user stands in it now.",
    examples: ["in_progress"],
  }),
  progress: Schema.Finite.annotate({
    description: "The share that is done, 0 to 1.",
    examples: [0.6],
  }),
  alreadyCompleted: Schema.Boolean.annotate({
    description: "The quest had been completed before; nothing was earned this time.",
    examples: [false],
  }),
}).annotate({
  identifier: "QuestOutcome",
  description: "What became of a quest.",
  examples: [questOutcome],
})

export const StreakOutcome = Schema.Struct({
  key: Schema.String.annotate({ description: "The key of the streak.", examples: ["daily"] }),
  current: Schema.Int.annotate({ description: "How long it is now.", examples: [3] }),
  best: Schema.Int.annotate({ description: "How long it ever was.", examples: [7] }),
}).annotate({
  identifier: "StreakOutcome",
  description: "What became of a streak.",
  examples: [streakOutcome],
})

export const EventOutcome = Schema.Struct({
  eventId: Schema.String.annotate({
    description: "Laurel's id of the event.",
    examples: ["evt_0mi8k3f2a4c92"],
  }),
  userId: UserId,
  action: Action,
  duplicate: Schema.Boolean.annotate({
    description:
      "An event with this `id` was there already: nothing changed, this is the first outcome.",
    examples: [false],
  }),
  occurredAt: Time,
  receivedAt: Time,
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({ description: "Badges that were earned by it." }),
  quests: Schema.Array(QuestOutcome).annotate({ description: "Quests that it concerned." }),
  streaks: Schema.Array(StreakOutcome).annotate({ description: "Streaks that it extended." }),
}).annotate({
  identifier: "EventOutcome",
  description: "What an event did; durable.",
  examples: [eventOutcome],
})

export const EventRefusal = Schema.Struct({
  status: Schema.Int.annotate({ description: "The status that the event alone would have got." }),
  code: Schema.String.annotate({ description: "The code of the error, as in a problem." }),
  detail: Schema.String.annotate({ description: "What happened, for people." }),
  errors: Schema.Array(Fault).annotate({ description: "Each fault of an event that is invalid." }),
}).annotate({
  identifier: "EventRefusal",
  description: "Why an event of a batch was refused.",
  examples: [eventRefusal],
})

export const Batch = Schema.Struct({
  events: list(Event, 1, limits.batchEventsMax).annotate({
    description: "Applied in this order for each user.",
  }),
}).annotate({
  identifier: "Batch",
  examples: [{ events: [{ userId: "user-42", action: "LESSON_DONE" }] }],
})

export const BatchOutcome = Schema.Struct({
  accepted: Schema.Int.annotate({ description: "Events that were applied.", examples: [1] }),
  duplicates: Schema.Int.annotate({
    description: "Events that were there already.",
    examples: [0],
  }),
  rejected: Schema.Int.annotate({ description: "Events that were refused.", examples: [0] }),
  results: Schema.Array(Schema.Union([EventOutcome, EventRefusal])).annotate({
    description: "One for each event, in the order of the request.",
  }),
}).annotate({
  identifier: "BatchOutcome",
  description: "What a batch did; durable.",
  examples: [batchOutcome],
})

export const Events = HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.post("track", "/v1/events", {
      headers: idempotencyHeaders,
      payload: Event,
      success: EventOutcome,
      error: [...writeProblems, QuestNotFound, EventConflict],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Track an event",
        description:
          "Applies one event of a user: the rules of its action, or, for `QUEST_COMPLETE`, the reward of the quest that `metadata.questId` names. The answer comes when the outcome is on disk.",
      }),
    ),
    HttpApiEndpoint.post("trackBatch", "/v1/events/batch", {
      headers: idempotencyHeaders,
      payload: [
        Batch,
        HttpApiSchema.StreamNdjson({ schema: Event, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: BatchOutcome,
      error: [...writeProblems, BatchConflict],
    })
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Track many events",
          description: `Applies 1 to ${limits.batchEventsMax} events, in order per user, from a JSON object or from NDJSON with one event a line, where blank lines are none; at most ${limits.batchBodyBytesMax} bytes, of which each event may have ${limits.eventBytesMax}, white space and escapes included. An event that is refused does not touch the others. A batch of n events counts as n requests, or as one for each ${limits.rateLimitUnitBytes} bytes of its body where that is more. When there is no room for all of its events, the batch waits up to ${limits.batchRoomWaitMs / 1_000} seconds; 503 \`overloaded\` then means that none of them was applied. 503 \`storage_unavailable\` for a batch that was begun means that the outcome of some is unknown: repeat it with the same ids or \`Idempotency-Key\`.`,
        }),
      ),
  )
  .annotateEndpoints(OpenTo, ["ingest"])
  .add(
    HttpApiEndpoint.post("importBatch", "/v1/events/import", {
      headers: idempotencyHeaders,
      payload: [
        Batch,
        HttpApiSchema.StreamNdjson({ schema: Event, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: BatchOutcome,
      error: [...writeProblems, BatchConflict],
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Import history",
          description:
            "Applies events like a batch, but silently: no webhook and no stream tells of them, and `occurredAt` may be of any age. Rules, badges, quests and streaks apply; what is closed, such as a past window of the leaderboard, stays closed.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "What users did." }))
