/** A user's history: facts with their causes. `domain/message/HistoryFact.ts` makes them. */
import { Schema } from "effect"
import { type HistoryKind, historyKinds } from "../../domain/message/HistoryFact.ts"
import { Source } from "../../domain/message/MessageData.ts"
import {
  Action,
  BadgeId,
  BadgeName,
  check,
  Earned,
  LevelChange,
  oneOf,
  QuestId,
  QuestTitle,
  Time,
  typeName,
} from "./Common.ts"
import { causes, historyPage, profile } from "./examples/userExamples.ts"

const CallersId = Schema.NullOr(Schema.String).annotate({
  description: "Your id; null: none.",
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

const SpendId = Schema.String.annotate({
  description: "Laurel's id of the spend.",
  examples: ["spd_0mi8k3f2a4c92"],
})

const count = (example: number, description: string) =>
  Schema.Int.annotate({ examples: [example], description })

export const HistoryCause = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("event"),
    eventId: EventId,
    id: CallersId,
    action: Action,
    occurredAt: Time,
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description: "The event's metadata.",
      examples: [{ lesson: "intro-7", score: 93 }],
    }),
    imported: Schema.Boolean.annotate({
      description: "Whether the event was imported.",
      examples: [false],
    }),
  }).annotate({ identifier: "CauseEvent" }),
  Schema.Struct({
    kind: Schema.Literal("reward"),
    rewardId: RewardId,
    id: CallersId,
    type: Schema.Literals(["xp", "points", "badge"]).annotate({ description: "Kind of reward." }),
    amount: Schema.NullOr(Schema.Int).annotate({
      description: "Amount granted; null for a badge.",
      examples: [100],
    }),
    badgeId: Schema.NullOr(BadgeId).annotate({
      description: "Id of the badge granted; null for xp and points.",
      examples: [null],
    }),
    reason: Schema.NullOr(Schema.String).annotate({
      description: "The reason sent with the reward.",
      examples: ["Welcome back"],
    }),
  }).annotate({ identifier: "CauseReward" }),
  Schema.Struct({
    kind: Schema.Literal("spend"),
    spendId: SpendId,
    id: CallersId,
    amount: count(120, "Points spent."),
    reason: Schema.NullOr(Schema.String).annotate({
      description: "The reason sent with the spend.",
      examples: ["Streak freeze"],
    }),
  }).annotate({ identifier: "CauseSpend" }),
  Schema.Struct({
    kind: Schema.Literal("revocation"),
    eventId: Schema.NullOr(EventId).annotate({ description: "Id of the revoked event." }),
    rewardId: Schema.NullOr(RewardId).annotate({ description: "Id of the revoked reward." }),
    spendId: Schema.NullOr(SpendId).annotate({ description: "Id of the revoked spend." }),
  }).annotate({ identifier: "CauseRevocation" }),
  Schema.Struct({ kind: Schema.Literal("backfill"), badgeId: BadgeId }).annotate({
    identifier: "CauseBackfill",
    description: "A backfill awarded the badge.",
  }),
  Schema.Struct({
    kind: Schema.Literals(["profile", "clock"]).annotate({ description: "The other cause." }),
  }).annotate({
    identifier: "CauseOther",
    description: "`profile`: a change of the profile. `clock`: the passage of time.",
  }),
]).annotate({ identifier: "HistoryCause", description: "The cause.", examples: causes })

const outcome = { xp: Earned, points: Earned, level: LevelChange }
const undone = {
  ...outcome,
  shortfall: Schema.Struct({
    xp: count(0, "Xp missing."),
    points: count(0, "Points missing."),
  }).annotate({
    description: "Amounts that could not be revoked.",
    examples: [{ xp: 0, points: 0 }],
  }),
}
const balance = { amount: count(50, "How many."), total: count(1250, "Balance afterwards.") }
const earned = { ...balance, source: Source }
const badge = { badgeId: BadgeId, name: BadgeName }
const quest = { questId: QuestId, title: QuestTitle }
const share = Schema.Finite.annotate({
  description: "Completed share of the quest, 0 to 1.",
  examples: [0.6],
})
const key = Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] })
const best = count(7, "Longest run in days.")
const streak = { key, current: count(3, "Days in a row."), best }

/** The schema of a kind of fact with its members. */
const factOf = <const Kind extends HistoryKind, Fields extends Schema.Struct.Fields>(
  kind: Kind,
  description: string,
  fields: Fields,
) =>
  Schema.Struct({
    kind: Schema.Literal(kind),
    at: Time,
    sequence: Schema.Int.annotate({
      description: "The record's sequence number; facts with the same number happened together.",
      examples: [204_878],
    }),
    ...fields,
    cause: HistoryCause,
  }).annotate({ identifier: `History${typeName(kind)}`, description })

export const Fact = Schema.Union([
  factOf("event.tracked", "An event was accepted: the sum of its effects.", outcome),
  factOf("event.revoked", "An event was revoked: the sum of its effects.", undone),
  factOf("reward.granted", "A reward was granted: the sum of its effects.", outcome),
  factOf("reward.revoked", "A reward was revoked: the sum of its effects.", undone),
  factOf("xp.earned", "The user earned xp from one source.", earned),
  factOf("xp.revoked", "Xp were revoked.", balance),
  factOf("points.earned", "The user earned points from one source.", earned),
  factOf("points.revoked", "Points were revoked.", balance),
  factOf("points.spent", "The user spent points.", balance),
  factOf("points.refunded", "A spend was revoked.", {
    ...balance,
    shortfall: count(0, "Points missing, since their events or rewards were revoked."),
  }),
  factOf("level.changed", "The level changed.", {
    from: count(4, "The level before."),
    to: count(5, "The level afterwards."),
  }),
  factOf("badge.earned", "The user earned a badge.", { ...badge, source: Source }),
  factOf("badge.revoked", "A badge was revoked.", badge),
  factOf("quest.started", "The user began a quest.", quest),
  factOf("quest.progressed", "An event counted for a quest step.", {
    ...quest,
    step: Schema.String.annotate({ description: "The key of the step.", examples: ["lessons"] }),
    current: Schema.Finite.annotate({
      description: "Count or sum at the time.",
      examples: [3],
    }),
    target: count(5, "Required count or sum at the time."),
    progress: share,
  }),
  factOf("quest.completed", "The user completed a quest.", {
    ...quest,
    times: count(1, "Number of the user's completions by then."),
  }),
  factOf("quest.repeated", "A completed quest was claimed again; nothing was earned.", quest),
  factOf("quest.reverted", "Progress in a quest, or its completion, was revoked.", {
    ...quest,
    status: Schema.Literals(["not_started", "in_progress"]).annotate({
      description: "The user's status afterwards.",
      examples: ["in_progress"],
    }),
    progress: share,
  }),
  factOf("quest.expired", "The quest ended before the user completed it.", quest),
  factOf("streak.extended", "A streak grew.", streak),
  factOf("streak.counted", "A late event was credited to a past day of a streak.", streak),
  factOf("streak.broken", "A streak ended.", {
    key,
    length: count(7, "Length of the streak in days."),
    best,
  }),
  factOf("user.created", "The user was created.", {}),
  factOf("user.updated", "The user's profile was changed.", {
    profile: Schema.Struct({
      displayName: Schema.NullOr(Schema.String).annotate({
        description: "Name shown on leaderboards.",
        examples: ["Ada"],
      }),
      timezone: Schema.NullOr(Schema.String).annotate({
        description: "The IANA time zone; null: the project's.",
        examples: ["Europe/Berlin"],
      }),
      attributes: Schema.Record(
        Schema.String,
        Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
      ).annotate({ description: "Custom attributes.", examples: [{ plan: "pro" }] }),
      hidden: Schema.Boolean.annotate({
        description: "Hidden from every leaderboard.",
        examples: [false],
      }),
    }).annotate({ description: "The whole profile afterwards.", examples: [profile] }),
  }),
]).annotate({ identifier: "HistoryFact", description: "One fact of a user's history." })

/** The end of a page of a history. The page's last fact has `index` in the record `sequence`. */
export interface HistoryPosition {
  readonly sequence: number
  readonly index: number
}

/** The cursor for the page after a position. */
export const historyCursor = ({ index, sequence }: HistoryPosition): string =>
  `h${sequence.toString(36)}.${index.toString(36)}`

/** The position in a cursor of `historyCursor`; `undefined` for any other text. */
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
      "Newest first. A page may have fewer than `limit` facts, with `kind` even none, although more follow: ask for the next page while `nextCursor` is not null.",
  }),
  nextCursor: Schema.NullOr(Schema.String).annotate({
    description: "Cursor to the next, older page; null: no more.",
    examples: ["h4e3i.0"],
  }),
}).annotate({
  identifier: "HistoryPage",
  description: "A page of a user's history.",
  examples: [historyPage],
})
