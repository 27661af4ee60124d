/** What a user is shown as. */
import { Schema } from "effect"
import { callerIdFault } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { check, faultAt, idFaultCode, oneOf, text, timeZone } from "./Checks.ts"
import {
  BadgeId,
  BadgeName,
  Level,
  pageFields,
  QuestId,
  QuestTitle,
  Time,
  UserId,
  Xp,
} from "./Common.ts"
import { levelProgress, progress, user, userExport, userPage } from "./examples/Users.ts"

export const Points = Schema.Int.annotate({
  description: "A balance beside the xp.",
  examples: [300],
})

const attributesExample = { plan: "pro", seats: 5 }

const { attributesMax, attributeNameCharactersMax, attributeTextCharactersMax } = limits

const Attributes = Schema.Record(
  Schema.String,
  Schema.Union([text(0, attributeTextCharactersMax, "multiple"), Schema.Finite, Schema.Boolean]),
)
  .check(
    check(
      "too_long",
      `must have at most ${attributesMax} members`,
      (attributes) => Object.keys(attributes).length <= attributesMax,
      { maxProperties: attributesMax },
    ),
    Schema.makeFilter(
      (attributes) =>
        Object.keys(attributes).flatMap((name) => {
          const fault = callerIdFault(name, attributeNameCharactersMax)
          return fault === undefined
            ? []
            : [faultAt([name], idFaultCode(fault), `its name ${fault}`)]
        }),
      { toJsonSchema: () => [{}, true] },
    ),
  )
  .annotate({
    description: `Whatever is worth knowing of the user, in place of what was there: at most ${attributesMax} texts (of at most ${attributeTextCharactersMax} characters), numbers, true or false, under names of at most ${attributeNameCharactersMax} characters.`,
    examples: [attributesExample],
  })

const hidden = Schema.Boolean.annotate({
  description: "Kept off every leaderboard.",
  examples: [false],
})

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
        "The IANA time zone in which the user's days begin, for streaks, in any case; null: the project's. Another name of the same zone changes nothing.",
      examples: ["Europe/Berlin"],
    }),
  ),
  attributes: Schema.optionalKey(Attributes),
  hidden: Schema.optionalKey(hidden),
}).annotate({
  identifier: "ProfileChange",
  description: "The members of a user's profile that change; others stay.",
  examples: [{ displayName: "Ada", timezone: "Europe/Berlin", attributes: attributesExample }],
})

export const User = Schema.Struct({
  id: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "What leaderboards show; null: nothing was said.",
    examples: ["Ada"],
  }),
  timezone: Schema.NullOr(Schema.String).annotate({
    description: "An IANA time zone, as the database writes it; null: the project's.",
    examples: ["Europe/Berlin"],
  }),
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ).annotate({
    description: "Whatever you keep with the user.",
    examples: [attributesExample],
  }),
  hidden,
  xp: Xp,
  level: Level,
  points: Points,
  badges: Schema.Array(
    Schema.Struct({
      id: BadgeId,
      name: BadgeName,
      description: Schema.NullOr(Schema.String).annotate({
        description: "What people are told of it.",
        examples: ["Ten lessons in a day."],
      }),
      icon: Schema.NullOr(Schema.String).annotate({
        description: "Where its picture is, or what stands for one.",
        examples: ["https://cdn.example/ten.svg"],
      }),
      earnedAt: Time,
    }).annotate({ identifier: "UserBadge", description: "A badge that the user has." }),
  ).annotate({ description: "The badges that the user has." }),
  createdAt: Time,
  updatedAt: Time,
}).annotate({
  identifier: "User",
  description: "A user, and what they have.",
  examples: [user],
})

export const LevelProgress = Schema.Struct({
  xpAtStart: Schema.Int.annotate({
    description: "The xp at which the level begins.",
    examples: [1000],
  }),
  xpAtNext: Schema.NullOr(Schema.Int).annotate({
    description: "The xp at which the next level begins; null on the top level.",
    examples: [1500],
  }),
  xpInto: Schema.Int.annotate({ description: "The xp since the level began.", examples: [250] }),
  xpToNext: Schema.NullOr(Schema.Int).annotate({
    description: "The xp that are missing to the next level; null on the top level.",
    examples: [250],
  }),
  ratio: Schema.Finite.annotate({
    description: "The share of the level that is done, 0 to 1.",
    examples: [0.5],
  }),
}).annotate({
  identifier: "LevelProgress",
  description: "How far the user is within the level.",
  examples: [levelProgress],
})

export const Progress = Schema.Struct({
  userId: UserId,
  xp: Xp,
  level: Level,
  levelProgress: LevelProgress,
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "The place on the all-time leaderboard; null when not listed there.",
  }),
  points: Points,
  badges: Schema.Array(
    Schema.Struct({
      id: BadgeId,
      name: BadgeName,
      current: Schema.Int.annotate({
        description: "How far the user is, at most `target`.",
        examples: [7],
      }),
      target: Schema.Int.annotate({
        description: "1 for a badge that only a rule, a quest or a hand gives.",
        examples: [10],
      }),
      earnedAt: Schema.NullOr(Time).annotate({ description: "Null: not earned." }),
    }).annotate({
      identifier: "BadgeProgress",
      description: "How far the user is towards a badge.",
    }),
  ).annotate({
    description:
      "The badges that can be earned, and those that were. Secret ones show once earned.",
  }),
  quests: Schema.Array(
    Schema.Struct({
      questId: QuestId,
      title: QuestTitle,
      status: oneOf(["not_started", "in_progress", "completed", "expired"]).annotate({
        description: "Where the user stands in it now.",
      }),
      steps: Schema.Array(
        Schema.Struct({
          key: Schema.String.annotate({
            description: "The key of the step.",
            examples: ["lessons"],
          }),
          current: Schema.Int.annotate({
            description: "How often it was done, at most `target`.",
            examples: [3],
          }),
          target: Schema.Int.annotate({ description: "How often it is asked for.", examples: [5] }),
        }).annotate({ identifier: "StepProgress", description: "How far a step is." }),
      ).annotate({ description: "The quest's steps, as they are asked for now." }),
      periodEndsAt: Schema.NullOr(Time).annotate({
        description:
          "When the present period ends or, where the quest does not recur, the quest; null: never, or it is archived.",
      }),
      completedAt: Schema.NullOr(Time).annotate({ description: "In the present period." }),
    }).annotate({ identifier: "QuestProgress", description: "Where the user stands in a quest." }),
  ).annotate({
    description:
      "The active quests, and others that the user has begun: as they are now, so one whose time is over has expired, and one that recurs is not started in a new period.",
  }),
  streaks: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "Which streak.", examples: ["daily"] }),
      current: Schema.Int.annotate({
        description: "Days in a row, as of now; 0 once it is broken.",
        examples: [3],
      }),
      best: Schema.Int.annotate({ description: "The most that it ever had.", examples: [7] }),
      lastDay: Schema.NullOr(Schema.String).annotate({
        description: "The last day that counted, in the user's time zone; null: none yet.",
        examples: ["2026-11-01"],
      }),
      freezes: Schema.Int.annotate({
        description: "How many missed days would still be forgiven.",
        examples: [1],
      }),
    }).annotate({ identifier: "StreakProgress", description: "How a streak stands." }),
  ).annotate({ description: "The project's streaks." }),
}).annotate({
  identifier: "Progress",
  description: "How far a user is.",
  examples: [progress],
})

export const UserPage = Schema.Struct({
  users: Schema.Array(User).annotate({ description: "In the order of their ids." }),
  ...pageFields,
}).annotate({
  identifier: "UserPage",
  description: "A part of the list of users.",
  examples: [userPage],
})

export const UserExport = Schema.Struct({
  exportedAt: Time,
  user: User,
  progress: Progress,
  state: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The state as Laurel keeps it; times are epoch milliseconds.",
  }),
  records: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description:
      "What was recorded, newest first, as Laurel keeps it: when, why (`cause`), and what was decided (`facts`).",
  }),
}).annotate({
  identifier: "UserExport",
  description: "Everything that is held about a user.",
  examples: [userExport],
})
