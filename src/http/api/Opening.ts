/** Shapes of opening balances: what a user brings along from another system. */
import { Schema } from "effect"
import { factMembers } from "../../domain/message/FactMembers.ts"
import { limits } from "../../Limits.ts"
import { check, DateText, integer, list, TimeIn, UserId } from "./Common.ts"
import { DefinitionKey } from "./DefinitionShapes.ts"

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
