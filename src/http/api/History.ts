/** What a user's history shows: facts, each with what caused it. `domain/message/HistoryFact.ts` makes them. */
import { Schema } from "effect"
import { type HistoryKind, historyKinds } from "../../domain/message/HistoryFact.ts"
import { check, oneOf } from "./Checks.ts"
import {
  Action,
  BadgeId,
  BadgeName,
  Earned,
  LevelChange,
  QuestId,
  QuestTitle,
  Time,
} from "./Common.ts"
import { causes, historyPage, profile, source } from "./examples/History.ts"
import { ruleId } from "./examples/Ids.ts"

const CallersId = Schema.NullOr(Schema.String).annotate({
  description: "The caller's own id; null: it had none.",
  examples: ["lesson-7-user-42"],
})
const EventId = Schema.String.annotate({
  description: "Laurel's id of the event.",
  examples: ["evt_0mi8k3f2a4c92"],
})
const RewardId = Schema.String.annotate({
  description: "Laurel's id of the reward.",
  examples: ["rwd_0mi8k3f2a4c92"],
})

export const HistoryCause = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("event"),
    eventId: EventId,
    id: CallersId,
    action: Action,
    occurredAt: Time,
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description: "What was sent with the event.",
      examples: [{ lesson: "intro-7", score: 93 }],
    }),
    imported: Schema.Boolean.annotate({
      description: "It came as history from elsewhere.",
      examples: [false],
    }),
  }).annotate({ identifier: "CauseEvent" }),
  Schema.Struct({
    kind: Schema.Literal("reward"),
    rewardId: RewardId,
    id: CallersId,
    type: Schema.Literals(["xp", "points", "badge"]).annotate({ description: "What was granted." }),
    amount: Schema.NullOr(Schema.Int).annotate({
      description: "How much was granted; null for a badge.",
      examples: [100],
    }),
    badgeId: Schema.NullOr(BadgeId).annotate({
      description: "The badge that was granted; null for xp and points.",
      examples: [null],
    }),
    reason: Schema.NullOr(Schema.String).annotate({
      description: "Why, as was said with it.",
      examples: ["Welcome back"],
    }),
  }).annotate({ identifier: "CauseReward" }),
  Schema.Struct({
    kind: Schema.Literal("revocation"),
    eventId: Schema.NullOr(EventId).annotate({ description: "The event that was taken back." }),
    rewardId: Schema.NullOr(RewardId).annotate({ description: "The reward that was taken back." }),
  }).annotate({ identifier: "CauseRevocation" }),
  Schema.Struct({ kind: Schema.Literal("backfill"), badgeId: BadgeId }).annotate({
    identifier: "CauseBackfill",
    description: "The badge was given to all who qualified already.",
  }),
  Schema.Struct({
    kind: Schema.Literals(["profile", "clock"]).annotate({ description: "Which of both." }),
  }).annotate({
    identifier: "CauseOther",
    description: "`profile`: the profile was changed. `clock`: time has passed.",
  }),
]).annotate({ identifier: "HistoryCause", description: "Why it happened.", examples: causes })

const Source = Schema.Struct({
  kind: Schema.Literals(["rule", "quest", "reward", "criteria"]).annotate({
    description: "What it is.",
  }),
  id: Schema.NullOr(Schema.String).annotate({
    description: "Of the rule or the quest; else null.",
    examples: [ruleId],
  }),
}).annotate({
  identifier: "Source",
  description:
    "What gave it: a rule, a quest, a reward granted by hand or, for a badge, its own criteria.",
  examples: [source],
})

const count = (example: number, description: string) =>
  Schema.Int.annotate({ examples: [example], description })

const outcome = { xp: Earned, points: Earned, level: LevelChange }
const undone = {
  ...outcome,
  shortfall: Schema.Struct({
    xp: count(0, "The xp that were missing."),
    points: count(0, "The points that were missing."),
  }).annotate({
    description: "What could not be taken back.",
    examples: [{ xp: 0, points: 0 }],
  }),
}
const balance = { amount: count(50, "How many."), total: count(1250, "The balance after it.") }
const earned = { ...balance, source: Source }
const badge = { badgeId: BadgeId, name: BadgeName }
const quest = { questId: QuestId, title: QuestTitle }
const share = Schema.Finite.annotate({
  description: "The share of the quest that is done, 0 to 1.",
  examples: [0.6],
})
const key = Schema.String.annotate({ description: "Which streak.", examples: ["daily"] })
const best = count(7, "The most days that it ever had.")
const streak = { key, current: count(3, "Its days in a row."), best }

/** A fact of a kind, and what it says. */
const factOf = <const Kind extends HistoryKind, Fields extends Schema.Struct.Fields>(
  kind: Kind,
  description: string,
  fields: Fields,
) =>
  Schema.Struct({
    kind: Schema.Literal(kind),
    at: Time,
    sequence: Schema.Int.annotate({
      description: "The number of the record; facts with the same happened together.",
      examples: [204_878],
    }),
    ...fields,
    cause: HistoryCause,
  }).annotate({ identifier: `History.${kind}`, description })

export const Fact = Schema.Union([
  factOf("event.tracked", "An event was accepted; all that it did, in sum.", outcome),
  factOf("event.revoked", "An event was taken back; all that it took, in sum.", undone),
  factOf("reward.granted", "A reward was granted by hand; all that it did, in sum.", outcome),
  factOf("reward.revoked", "A reward was taken back; all that it took, in sum.", undone),
  factOf("xp.earned", "Xp came from one source.", earned),
  factOf("xp.revoked", "Xp were taken back.", balance),
  factOf("points.earned", "Points came from one source.", earned),
  factOf("points.revoked", "Points were taken back.", balance),
  factOf("level.changed", "The level rose or fell.", {
    from: count(4, "The level before."),
    to: count(5, "The level afterwards."),
  }),
  factOf("badge.earned", "The user got a badge.", { ...badge, source: Source }),
  factOf("badge.revoked", "A badge was taken back.", badge),
  factOf("quest.started", "The user began a quest.", quest),
  factOf("quest.progressed", "An event counted for a step of a quest.", {
    ...quest,
    step: Schema.String.annotate({ description: "The key of the step.", examples: ["lessons"] }),
    current: count(3, "How often it was done by then."),
    target: count(5, "How often it was asked for then."),
    progress: share,
  }),
  factOf("quest.completed", "The user completed a quest.", {
    ...quest,
    times: count(1, "How often the user has completed it by then."),
  }),
  factOf("quest.repeated", "The quest's reward was asked for again; nothing was earned.", quest),
  factOf("quest.reverted", "Progress in a quest, or its completion, was taken back.", {
    ...quest,
    status: Schema.Literals(["not_started", "in_progress"]).annotate({
      description: "Where the user stood afterwards.",
      examples: ["in_progress"],
    }),
    progress: share,
  }),
  factOf("quest.expired", "The quest ended before it was completed.", quest),
  factOf("streak.extended", "A streak became longer.", streak),
  factOf("streak.counted", "A late event counted for a day of a streak that is past.", streak),
  factOf("streak.broken", "A streak ended.", {
    key,
    length: count(7, "The days in a row that it had."),
    best,
  }),
  factOf("user.created", "The user was seen for the first time.", {}),
  factOf("user.updated", "The user's profile was changed.", {
    profile: Schema.Struct({
      displayName: Schema.NullOr(Schema.String).annotate({
        description: "What leaderboards show.",
        examples: ["Ada"],
      }),
      timezone: Schema.NullOr(Schema.String).annotate({
        description: "The IANA time zone; null: the project's.",
        examples: ["Europe/Berlin"],
      }),
      attributes: Schema.Record(
        Schema.String,
        Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
      ).annotate({ description: "Whatever was kept.", examples: [{ plan: "pro" }] }),
      hidden: Schema.Boolean.annotate({
        description: "Kept off every leaderboard.",
        examples: [false],
      }),
    }).annotate({ description: "The whole profile afterwards.", examples: [profile] }),
  }),
]).annotate({ identifier: "HistoryFact", description: "Something that happened to a user." })

/** Where a page of a history ends: its last fact is the one at `index` of the record `sequence`. */
export interface HistoryPosition {
  readonly sequence: number
  readonly index: number
}

/** The cursor to what comes after a position. */
export const historyCursor = ({ index, sequence }: HistoryPosition): string =>
  `h${sequence.toString(36)}.${index.toString(36)}`

/** The position of a cursor that `historyCursor` made; `undefined` for any other text. */
export const historyPositionOf = (cursor: string): HistoryPosition | undefined => {
  const parts = /^h([0-9a-z]{1,11})\.([0-9a-z]{1,6})$/.exec(cursor)
  if (parts === null) return undefined
  const [sequence, index] = [parts[1]!, parts[2]!].map((digits) => Number.parseInt(digits, 36))
  const position = { sequence: sequence!, index: index! }
  const safe = Number.isSafeInteger(sequence)
  return safe && historyCursor(position) === cursor ? position : undefined
}

export const HistoryCursor = Schema.String.check(
  check(
    "invalid_format",
    "must be a `nextCursor` of an earlier page",
    (cursor) => historyPositionOf(cursor) !== undefined,
  ),
).annotate({ description: "The `nextCursor` of the page before.", examples: ["h4e3i.0"] })

export const HistoryKindIn = oneOf(historyKinds).annotate({
  description: "Only facts of this kind.",
  examples: ["xp.earned"],
})

export const HistoryPage = Schema.Struct({
  facts: Schema.Array(Fact).annotate({
    description:
      "Newest first. With `kind` there may be fewer than `limit`, also none, though more follow.",
  }),
  nextCursor: Schema.NullOr(Schema.String).annotate({
    description: "Leads to the facts before these, also when new ones have come; null: no more.",
    examples: ["h4e3i.0"],
  }),
}).annotate({
  identifier: "HistoryPage",
  description: "A part of a user's history.",
  examples: [historyPage],
})
