/** Shapes of users. */
import { Schema } from "effect"
import { ownBoost } from "../../domain/message/BoostMembers.ts"
import { EnteredExperiment, enteredExperiment } from "../../domain/message/ExperimentMembers.ts"
import {
  Balances,
  claimable,
  profileMembers,
  Tier,
  Times,
} from "../../domain/message/FactMembers.ts"
import { limits } from "../../Limits.ts"
import { customAttributes } from "./Attributes.ts"
import {
  BadgeId,
  BadgeKey,
  BadgeName,
  Level,
  oneOf,
  pageEndFields,
  QuestId,
  QuestKey,
  QuestTitle,
  Time,
  text,
  timeZone,
  UserId,
  Xp,
} from "./Common.ts"
import {
  levelProgress,
  progress,
  startedQuest,
  user,
  userExport,
  userPage,
} from "./examples/userExamples.ts"
import { OwnTeam } from "./Teams.ts"

export const Points = Schema.Int.annotate({
  description: "Points, a balance separate from xp.",
  examples: [300],
})

const attributesExample = { plan: "pro", seats: 5 }

export const ProfileChange = Schema.Struct({
  displayName: Schema.optionalKey(
    Schema.NullOr(text(1, limits.displayNameCharactersMax)).annotate({
      description: "Shown on leaderboards; null: none.",
      examples: ["Ada"],
    }),
  ),
  timezone: Schema.optionalKey(
    Schema.NullOr(timeZone).annotate({
      description:
        "The user's IANA time zone, ignoring case: streaks use its days; null: the project's. Another name of the same zone changes nothing.",
      examples: ["Europe/Berlin"],
    }),
  ),
  attributes: Schema.optionalKey(customAttributes("user", attributesExample)),
  hidden: Schema.optionalKey(profileMembers.hidden),
}).annotate({
  identifier: "ProfileChange",
  description: "A partial change of a user's profile.",
  examples: [{ displayName: "Ada", timezone: "Europe/Berlin", attributes: attributesExample }],
})

const PendingAmount = Schema.Int.annotate({ description: "How many.", examples: [5] })
const Pending = Schema.Record(
  Schema.String,
  Schema.Struct({
    amount: PendingAmount,
    lots: Schema.Array(
      Schema.Struct({
        amount: PendingAmount,
        spendableAt: Time.annotate({ description: "When it can be spent." }),
      }),
    ).annotate({ description: "The parts of it, in the order in which they become spendable." }),
  }),
).annotate({
  identifier: "Pending",
  description:
    "What is in `balances` and cannot be spent yet, because of `pendingDays` of the currency, by key. Absent: nothing.",
  examples: [
    { gems: { amount: 5, lots: [{ amount: 5, spendableAt: "2026-11-15T00:00:00.000Z" }] } },
  ],
})

const Expiring = Schema.Record(
  Schema.String,
  Schema.Struct({
    amount: Schema.Int.annotate({ description: "How many.", examples: [30] }),
    lots: Schema.Array(
      Schema.Struct({
        amount: Schema.Int.annotate({ description: "How many.", examples: [20] }),
        expiresAt: Time.annotate({ description: "When it ends, unless it was spent." }),
      }),
    ).annotate({ description: "The parts of it, the next first." }),
  }),
).annotate({
  identifier: "Expiring",
  description:
    "What will end of `balances`, because of `expiry` of the currency, by key. Absent: nothing.",
  examples: [
    { coins: { amount: 20, lots: [{ amount: 20, expiresAt: "2027-11-02T00:00:00.000Z" }] } },
  ],
})

const LevelOfCurrency = Schema.Struct({
  number: Schema.Int.annotate({ description: "Its place: the lowest level is 1.", examples: [2] }),
  key: Schema.NullOr(Schema.String).annotate({
    description: "Key of a named level; null: a curve makes the levels.",
    examples: ["silver"],
  }),
  name: Schema.NullOr(Schema.String).annotate({
    description: "Name for people; null: it has none.",
    examples: ["Silver"],
  }),
  from: Schema.Int.annotate({ description: "The amount at which it begins.", examples: [500] }),
  icon: Schema.NullOr(Schema.String).annotate({
    description: "URL, emoji or any text for your app; null: none.",
    examples: ["🥈"],
  }),
}).annotate({ identifier: "CurrencyLevel", description: "A level of a currency." })
const CurrencyLevels = Schema.Record(
  Schema.String,
  Schema.Struct({
    amount: Schema.Int.annotate({ description: "The amount that counts.", examples: [620] }),
    level: Schema.NullOr(LevelOfCurrency).annotate({
      description: "The user's level; null: none is reached.",
    }),
    next: Schema.NullOr(LevelOfCurrency).annotate({
      description: "The next; null: it is the highest.",
    }),
  }).annotate({ identifier: "CurrencyStanding", description: "A level, and the next one." }),
).annotate({
  identifier: "CurrencyStandings",
  description: "The user's levels in currencies with `levels`, by key. Absent: none has any.",
  examples: [
    {
      status: {
        amount: 620,
        level: { number: 2, key: "silver", name: "Silver", from: 500, icon: "🥈" },
        next: null,
      },
    },
  ],
})

const Refills = Schema.Record(
  Schema.String,
  Schema.Struct({
    amount: Schema.Int.annotate({ description: "How many are added next.", examples: [1] }),
    nextAt: Schema.NullOr(Time).annotate({
      description: "When the balance grows next; null: it is full.",
      examples: ["2026-11-01T13:30:00.000Z"],
    }),
    fullAt: Schema.NullOr(Time).annotate({
      description: "When the balance is full, if nothing is earned or spent; null: it is.",
      examples: ["2026-11-01T17:30:00.000Z"],
    }),
  }),
).annotate({
  identifier: "Refills",
  description:
    "When balances of currencies with `refill` grow, by key. Absent: no currency has it.",
  examples: [
    {
      hearts: {
        amount: 1,
        nextAt: "2026-11-01T13:30:00.000Z",
        fullAt: "2026-11-01T17:30:00.000Z",
      },
    },
  ],
})

const tier = {
  ...Tier.fields,
  icon: Schema.NullOr(Schema.String).annotate({
    description: "URL, emoji or any text for your app.",
    examples: ["🥇"],
  }),
}

export const User = Schema.Struct({
  id: UserId,
  ...profileMembers,
  xp: Xp,
  level: Level,
  points: Points,
  balances: Balances,
  pending: Schema.optionalKey(Pending),
  expiring: Schema.optionalKey(Expiring),
  levels: Schema.optionalKey(CurrencyLevels),
  refills: Schema.optionalKey(Refills),
  badges: Schema.Array(
    Schema.Struct({
      id: BadgeId,
      key: BadgeKey,
      name: BadgeName,
      description: Schema.NullOr(Schema.String).annotate({
        description: "Description for people.",
        examples: ["Ten lessons in a day."],
      }),
      icon: Schema.NullOr(Schema.String).annotate({
        description: "URL or emoji.",
        examples: ["https://cdn.example/ten.svg"],
      }),
      earnedAt: Time,
      tiers: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({ ...tier, earnedAt: Time }).annotate({
            identifier: "UserTier",
            description: "A tier that the user has.",
          }),
        ).annotate({
          description: "The tiers that the user has, in the order of earning. Absent: none.",
        }),
      ),
      times: Schema.optionalKey(Times),
    }).annotate({ identifier: "UserBadge", description: "A badge of the user." }),
  ).annotate({ description: "The user's badges." }),
  boosts: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        boostId: Schema.String.annotate({
          description: "The boost's id.",
          examples: ["bst_01a1fc1e64c07345932e273286b5ca30"],
        }),
        key: Schema.String.annotate({ description: "Its key.", examples: ["double-xp"] }),
        name: Schema.String.annotate({ description: "Its name.", examples: ["Double xp"] }),
        currencies: Schema.Array(Schema.String).annotate({
          description: "The keys of the currencies that it multiplies.",
          examples: [["xp"]],
        }),
        factor: Schema.Finite.annotate({
          description: "What amounts are multiplied by.",
          examples: [2],
        }),
        startsAt: Time.annotate({ description: "Since when it runs." }),
        endsAt: Time.annotate({ description: "Until when it runs." }),
      }).annotate({ identifier: "UserBoost", description: "A personal boost that runs." }),
    ).annotate({
      description: "The user's personal boosts that run now. Absent: none.",
      examples: [[{ ...ownBoost, currencies: ["xp"], factor: 2 }]],
    }),
  ),
  experiments: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        ...EnteredExperiment.fields,
        exposedAt: Time.annotate({ description: "When the user entered it." }),
        counted: Schema.Boolean.annotate({
          description:
            "Whether results count the user: false if a user with another variant was merged into this one.",
          examples: [true],
        }),
      }).annotate({
        identifier: "UserExperiment",
        description: "An experiment that the user has entered.",
      }),
    ).annotate({
      description: "The experiments that the user has entered, also ended ones. Absent: none.",
      examples: [[{ ...enteredExperiment, exposedAt: "2026-11-01T09:30:00.000Z", counted: true }]],
    }),
  ),
  teams: Schema.optionalKey(
    Schema.Array(OwnTeam).annotate({ description: "The user's teams. Absent: none." }),
  ),
  lastEventAt: Schema.NullOr(Time).annotate({
    description: "When the latest event occurred, also if it was undone; null: no event.",
    examples: ["2026-11-01T09:30:00.000Z"],
  }),
  createdAt: Time,
  updatedAt: Time,
}).annotate({
  identifier: "User",
  description: "A user with balances and badges.",
  examples: [user],
})

export const LevelProgress = Schema.Struct({
  xpAtStart: Schema.Int.annotate({
    description: "Xp at which the level begins.",
    examples: [1000],
  }),
  xpAtNext: Schema.NullOr(Schema.Int).annotate({
    description: "Xp at which the next level begins; null on the top level.",
    examples: [1500],
  }),
  xpInto: Schema.Int.annotate({ description: "Xp earned within the level.", examples: [250] }),
  xpToNext: Schema.NullOr(Schema.Int).annotate({
    description: "Xp missing to the next level; null on the top level.",
    examples: [250],
  }),
  ratio: Schema.Finite.annotate({
    description: "Completed share of the level, 0 to 1.",
    examples: [0.5],
  }),
}).annotate({
  identifier: "LevelProgress",
  description: "Progress within the level.",
  examples: [levelProgress],
})

export const QuestProgress = Schema.Struct({
  questId: QuestId,
  key: QuestKey,
  title: QuestTitle,
  status: oneOf(["not_started", "in_progress", "completed", "expired"]).annotate({
    description: "The user's status in the quest now.",
  }),
  steps: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({
        description: "The key of the step.",
        examples: ["lessons"],
      }),
      current: Schema.Finite.annotate({
        description: "Current count or sum, at most `target`.",
        examples: [3],
      }),
      target: Schema.Int.annotate({ description: "Required count or sum.", examples: [5] }),
    }).annotate({ identifier: "StepProgress", description: "Progress in a step." }),
  ).annotate({ description: "The quest's current steps." }),
  periodEndsAt: Schema.NullOr(Time).annotate({
    description:
      "End of the current period or, without recurrence, of the quest; null: never, or archived.",
  }),
  completedAt: Schema.NullOr(Time).annotate({ description: "In the current period." }),
  claimable: Schema.optionalKey(claimable),
}).annotate({ identifier: "QuestProgress", description: "Progress in a quest." })

/** A quest that the user started by request. */
export const StartedQuest = Schema.Struct({ userId: UserId, quest: QuestProgress }).annotate({
  identifier: "StartedQuest",
  description: "The user's progress in the quest.",
  examples: [startedQuest],
})

export const Progress = Schema.Struct({
  userId: UserId,
  xp: Xp,
  level: Level,
  levelProgress: LevelProgress,
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "Rank on the all-time leaderboard; null: not listed.",
  }),
  points: Points,
  balances: Balances,
  pending: Schema.optionalKey(Pending),
  expiring: Schema.optionalKey(Expiring),
  levels: Schema.optionalKey(CurrencyLevels),
  refills: Schema.optionalKey(Refills),
  badges: Schema.Array(
    Schema.Struct({
      id: BadgeId,
      key: BadgeKey,
      name: BadgeName,
      current: Schema.Finite.annotate({
        description: "Current count, at most `target`.",
        examples: [7],
      }),
      target: Schema.Int.annotate({
        description:
          "1 for a badge without criteria. With tiers: that of the lowest tier that the user lacks, or else of the highest.",
        examples: [10],
      }),
      earnedAt: Schema.NullOr(Time).annotate({ description: "Null: not earned." }),
      tiers: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            ...tier,
            target: Schema.Int.annotate({
              description: "The number at which the tier is earned.",
              examples: [100],
            }),
            earnedAt: Schema.NullOr(Time).annotate({ description: "Null: not earned." }),
          }).annotate({ identifier: "TierProgress", description: "A tier of the badge." }),
        ).annotate({ description: "The badge's tiers, lowest first. Absent: it has none." }),
      ),
      times: Schema.optionalKey(
        Times.annotate({
          description:
            "How often the user has a repeatable badge; `current` counts towards the next time. Absent for other badges.",
        }),
      ),
    }).annotate({
      identifier: "BadgeProgress",
      description: "Progress towards a badge.",
    }),
  ).annotate({
    description: "Badges that the user can earn or has earned; secret ones only once earned.",
  }),
  quests: Schema.Array(QuestProgress).annotate({
    description:
      "Active quests, and others that the user began, with their status now: a quest past its end has expired, a recurring one is not started in a new period.",
  }),
  streaks: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] }),
      current: Schema.Int.annotate({
        description: "Current days, weeks or months in a row; 0: broken.",
        examples: [3],
      }),
      best: Schema.Int.annotate({ description: "Its greatest length.", examples: [7] }),
      lastDay: Schema.NullOr(Schema.String).annotate({
        description:
          "The last day counted, in the user's time zone, or the first day of the last week or month; null: none.",
        examples: ["2026-11-01"],
      }),
      freezes: Schema.Int.annotate({
        description: "Remaining freezes: missed days, weeks or months that are forgiven.",
        examples: [1],
      }),
    }).annotate({ identifier: "StreakProgress", description: "The state of a streak." }),
  ).annotate({ description: "The project's streaks that are neither drafts nor archived." }),
}).annotate({
  identifier: "Progress",
  description: "A user's progress.",
  examples: [progress],
})

export const UserPage = Schema.Struct({
  users: Schema.Array(User).annotate({
    description: "In the order of `sort`; with `ids` in the order of the request.",
  }),
  unknown: Schema.optionalKey(
    Schema.Array(UserId).annotate({
      description: "With `ids`: the ids without a user. Otherwise absent.",
      examples: [["user-43"]],
    }),
  ),
  total: Schema.optionalKey(
    Schema.Int.annotate({
      description: "Number of users; absent with `ids` and with filters.",
      examples: [57],
    }),
  ),
  ...pageEndFields("users"),
  hasMore: Schema.Boolean.annotate({
    description:
      "Whether other users may follow: pages with `badge`, `segment` or `sort` may have fewer users than `limit`, or none, before the last one.",
    examples: [true],
  }),
}).annotate({
  identifier: "UserPage",
  description: "A page of users.",
  examples: [userPage],
})

export const UserExport = Schema.Struct({
  exportedAt: Time,
  user: User,
  progress: Progress,
  state: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The stored state; times are epoch milliseconds.",
  }),
  records: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "The stored records, newest first: time, `cause` and `facts`.",
  }),
}).annotate({
  identifier: "UserExport",
  description: "Everything stored about a user.",
  examples: [userExport],
})
