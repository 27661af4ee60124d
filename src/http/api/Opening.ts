/** Opening balances: what users bring along from another system, and the batch of many. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { factMembers } from "../../domain/message/FactMembers.ts"
import { limits } from "../../Limits.ts"
import { BatchRefusal, BatchSummary, batchCounts, batchHeaders, batchWords, ok } from "./Batches.ts"
import {
  ApiKey,
  BodyBytesMax,
  check,
  DateText,
  integer,
  list,
  OpenTo,
  TimeIn,
  UserId,
} from "./Common.ts"
import { DefinitionKey } from "./DefinitionShapes.ts"
import { batchSummary } from "./examples/userExamples.ts"
import { BatchTooLarge, KeyInProgress, writeProblems } from "./Problems.ts"

const OpeningLot = Schema.Struct({
  amount: integer(1, limits.balanceMax).annotate({ description: "The amount.", examples: [100] }),
  lastDay: DateText.annotate({
    description: "The last day on which the user can spend it, in the user's time zone.",
    examples: ["2027-03-31"],
  }),
}).annotate({ identifier: "OpeningLot", description: "A part of a balance that ends." })

/** Members by key of a currency or a streak. */
const byKey = <S extends Schema.Top>(value: S, most: number) =>
  Schema.Record(Schema.String, value).check(
    check(
      "out_of_range",
      `must have at most ${most} members`,
      (given: object) => Object.keys(given).length <= most,
      { maxProperties: most },
    ),
  )

const amounts = (description: string, example: { readonly [key: string]: number }) =>
  byKey(integer(0, limits.balanceMax), limits.currenciesMax).annotate({
    description,
    examples: [example],
  })

const Length = integer(0, limits.streakOpeningMax)

const OpeningStreak = Schema.Struct({
  current: Length.annotate({
    description: "The length of the streak that ends on `lastDay`; 0: none runs.",
    examples: [12],
  }),
  best: Length.annotate({
    description: "The greatest length, at least `current`. Its milestones do not pay any more.",
    examples: [40],
  }),
  lastDay: Schema.optionalKey(
    DateText.annotate({
      description:
        "The last day that was kept, or a day of the last week or month, in the user's time zone. Required unless `current` is 0. The days in a row before it count as kept. The streak continues from there, and is broken if that is too long ago.",
      examples: ["2026-10-31"],
    }),
  ),
}).annotate({ identifier: "OpeningStreak", description: "A streak that the user had." })

const OpeningBadge = Schema.Struct({
  badge: DefinitionKey.annotate({ description: "The badge's key.", examples: ["first-lesson"] }),
  tier: Schema.optionalKey(
    DefinitionKey.annotate({
      description: "The tier's key; required if the badge has tiers. Each tier is an entry.",
      examples: ["gold"],
    }),
  ),
  earnedAt: TimeIn.annotate({
    description: "When the user earned it; not in the future.",
    examples: ["2025-03-01T00:00:00Z"],
  }),
}).annotate({ identifier: "OpeningBadge", description: "A badge that the user had." })

export const NewOpening = Schema.Struct({
  balances: Schema.optionalKey(
    amounts("What the user has, by currency, pending nothing. No `max` or `earnLimit` cuts it.", {
      xp: 1250,
      points: 340,
    }),
  ),
  earned: Schema.optionalKey(
    amounts(
      "What the user ever earned, by currency, at least the balance: the rest counts as spent. Badges by points count it. Default: the balance.",
      { points: 900 },
    ),
  ),
  expiring: Schema.optionalKey(
    byKey(list(OpeningLot, 1, limits.lotsMax), limits.currenciesMax).annotate({
      description:
        "What ends of a balance and when, by currency with `expiry`. The rest ends as if the user had earned it now.",
      examples: [{ points: [{ amount: 100, lastDay: "2027-03-31" }] }],
    }),
  ),
  streaks: Schema.optionalKey(
    byKey(OpeningStreak, limits.streaksMax).annotate({
      description: "Streaks, by key.",
      examples: [{ daily: { current: 12, best: 40, lastDay: "2026-10-31" } }],
    }),
  ),
  badges: Schema.optionalKey(
    list(OpeningBadge, 0, limits.openingBadgesMax).annotate({
      description: "Badges that the user has. They pay nothing, now or later.",
    }),
  ),
}).annotate({
  identifier: "NewOpening",
  description: "What a user brings along.",
  examples: [
    {
      balances: { xp: 1250, points: 340 },
      earned: { points: 900 },
      streaks: { daily: { current: 12, best: 40, lastDay: "2026-10-31" } },
      badges: [{ badge: "first-lesson", earnedAt: "2025-03-01T00:00:00Z" }],
    },
  ],
})

export const OpeningOutcome = Schema.Struct({
  userId: UserId,
  ...factMembers["user.opened"],
}).annotate({
  identifier: "OpeningOutcome",
  description: "The opening balances of a user.",
  examples: [
    {
      userId: "newcomer-3",
      balances: { xp: 1250, points: 340 },
      level: 5,
      streaks: [{ key: "daily", current: 12, best: 40 }],
      badges: [
        {
          badgeId: "bdg_01a1fc1e64c07345932e273286b5ca30",
          key: "first-lesson",
          name: "First lesson",
          earnedAt: "2025-03-01T00:00:00.000Z",
        },
      ],
    },
  ],
})

/* Openings of many users. */

export const BatchedOpening = Schema.Struct({ userId: UserId, ...NewOpening.fields }).annotate({
  identifier: "BatchedOpening",
  description: "What a user brings along.",
  examples: [
    {
      userId: "newcomer-4",
      balances: { xp: 1250, points: 340 },
      badges: [{ badge: "first-lesson", earnedAt: "2025-03-01T00:00:00Z" }],
    },
  ],
})

export const OpeningBatch = Schema.Struct({
  openings: list(BatchedOpening, 1, limits.batchItemsMax).annotate({
    description: "Openings of different users.",
  }),
}).annotate({
  identifier: "OpeningBatch",
  examples: [{ openings: [{ userId: "newcomer-4", balances: { xp: 1250, points: 340 } }] }],
})

const accepted = {
  ok: true,
  duplicate: false,
  userId: "newcomer-4",
  balances: { xp: 1250, points: 340 },
  level: 5,
  streaks: [],
  badges: [],
} as const
const batchOutcome = {
  accepted: 1,
  duplicates: 0,
  differing: 0,
  rejected: 1,
  results: [
    accepted,
    {
      ok: false,
      status: 409,
      code: "opening_closed",
      detail: "The user has events, rewards or spends already.",
      errors: [],
    },
  ],
} as const

const OpeningAccepted = Schema.Struct({
  ok,
  duplicate: Schema.Boolean.annotate({
    description: "Whether the user had this opening already. Nothing changed then.",
    examples: [false],
  }),
  ...OpeningOutcome.fields,
}).annotate({
  identifier: "OpeningAccepted",
  description: "The outcome of an opening in a batch.",
  examples: [accepted],
})

export const OpeningBatchOutcome = Schema.Struct({
  ...batchCounts("openings"),
  results: Schema.Array(Schema.Union([OpeningAccepted, BatchRefusal])).annotate({
    description:
      "The outcome of each opening, in the order of the request. `ok` tells which it is.",
  }),
}).annotate({
  identifier: "OpeningBatchOutcome",
  description: "The durable outcome of a batch of openings.",
  examples: [batchOutcome],
})

const OpeningBatchReply = Schema.Union([OpeningBatchOutcome, BatchSummary]).annotate({
  identifier: "OpeningBatchReply",
  description: "The outcome of each opening, or counts and refusals alone.",
  examples: [batchOutcome, batchSummary],
})

export const Openings = HttpApiGroup.make("openings")
  .add(
    HttpApiEndpoint.post("openBatch", "/v1/users/opening/batch", {
      headers: batchHeaders,
      payload: [
        OpeningBatch,
        HttpApiSchema.StreamNdjson({ schema: BatchedOpening, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: OpeningBatchReply,
      error: [...writeProblems, BatchTooLarge, KeyInProgress],
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set the opening balances of many users",
          description: `Sets the opening balances of 1 to ${limits.batchItemsMax} users, each as by \`PUT /v1/users/{id}/opening\`, from a JSON object or from NDJSON with one opening per line. The same opening again changes nothing, so a batch can be repeated, also without an \`Idempotency-Key\`. ${batchWords("openings")}`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Openings",
      description: "What users have from another system, for many of them at once.",
    }),
  )
