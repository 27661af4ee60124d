/** The operations that sum up what a user did in a range of days. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { AvatarUrl } from "./Attributes.ts"
import {
  Action,
  ApiKey,
  counted,
  EarnedBadge,
  Level,
  OpenTo,
  oneOf,
  type RequestParts,
  UserId,
  UserNamed,
} from "./Common.ts"
import { environmentRecap } from "./examples/recapExamples.ts"
import { recap } from "./examples/userExamples.ts"
import { readProblems, UserNotFound } from "./Problems.ts"
import { CalendarDay } from "./Streaks.ts"

const query = {
  from: Schema.optionalKey(
    CalendarDay.annotate({
      description: "First day, in the user's time zone. Default: January 1 of the year of `to`.",
      examples: ["2026-01-01"],
    }),
  ),
  to: Schema.optionalKey(
    CalendarDay.annotate({
      description: `Last day, at most ${limits.recapDaysMax} days after \`from\`. Default: today.`,
      examples: ["2026-12-31"],
    }),
  ),
}

export const RecapQuery = Schema.Struct(query)

const ofAll = {
  ...query,
  format: Schema.optionalKey(
    oneOf(["json", "csv"]).annotate({
      description:
        "`csv`: the reply is a table, `text/csv`, with a row for each number: its name, its key if there are several of them, and its value. The JavaScript client reads only JSON. Default `json`.",
      examples: ["json"],
    }),
  ),
}

export const EnvironmentRecapQuery = Schema.Struct(ofAll)

const date = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })
const time = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date-time", examples: [example] })
const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const Totals = Schema.Struct({
  events: count("Events.", 212),
  activeDays: count("Days with an event.", 96),
  currencies: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "What the user earned, by the key of the currency; xp and points are two of them.",
    examples: [{ xp: 8400, points: 310 }],
  }),
  badges: count("Badges and tiers earned.", 9),
  quests: count("Quests completed.", 14),
}).annotate({ description: "Sums of the range." })

export const Recap = Schema.Struct({
  userId: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "The user's display name; null: none.",
    examples: ["Ada"],
  }),
  from: date("First day of the range.", "2026-01-01"),
  to: date("Last day of the range.", "2026-12-31"),
  truncated: Schema.Boolean.annotate({
    description: `Whether records of the range are left out, because the user has more than ${limits.recapRecordsMax.toLocaleString("en-US")} records since its first day.`,
    examples: [false],
  }),
  totals: Totals,
  level: Schema.Struct({
    from: Level.annotate({ description: "Level before the range." }),
    to: Level.annotate({ description: "Level at its end." }),
  }).annotate({ description: "The level, as it was decided then." }),
  bestDay: Schema.NullOr(
    Schema.Struct({
      date: date("The day.", "2026-03-14"),
      xp: count("Xp earned on it.", 420),
      events: count("Events on it.", 11),
    }),
  ).annotate({ description: "The day with the most xp; null: none has an event or xp." }),
  streaks: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] }),
      best: count("Longest run that the user reached in the range.", 31),
    }).annotate({ identifier: "RecapStreak" }),
  ).annotate({ description: "The streaks that the user extended in the range, longest first." }),
  actions: Schema.Array(
    Schema.Struct({ action: Action, count: count("Events of the range.", 180) }).annotate({
      identifier: "RecapAction",
    }),
  ).annotate({
    description: `The most frequent actions, at most ${limits.recapActionsMax}, most events first.`,
  }),
  firsts: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        action: Action,
        at: time("When it occurred.", "2026-01-03T18:20:00.000Z"),
      }).annotate({ identifier: "RecapFirst" }),
    ),
  ).annotate({
    description: `The actions that the user did for the first time in the range, at most ${limits.recapActionsMax}, oldest first; null: the user has more than ${limits.recapRecordsMax.toLocaleString("en-US")} records.`,
  }),
  badges: Schema.Array(EarnedBadge).annotate({
    description: `The badges and tiers earned in the range and not lost since, at most ${limits.recapBadgesMax}, latest first.`,
  }),
  standing: Schema.NullOr(
    Schema.Struct({
      rank: count("Rank now on the all-time leaderboard of xp.", 12),
      total: count("Users on it.", 480),
      topPercent: count("The user is among so many percent of the users, from the top.", 3),
    }),
  ).annotate({ description: "The user's place; null: the user is not listed." }),
}).annotate({
  identifier: "Recap",
  description: "What a user did in a range of days.",
  examples: [recap],
})

export const EnvironmentRecap = Schema.Struct({
  from: date("First day of the range, in the project's time zone.", "2026-01-01"),
  to: date("Last day of the range.", "2026-12-31"),
  keptFrom: date(
    `The first day that is kept, ${limits.analyticsDaysMax} days ago. Earlier days are in no number.`,
    "2025-11-27",
  ),
  complete: Schema.Boolean.annotate({
    description: "Whether all days of the range are kept.",
    examples: [true],
  }),
  ...counted("active users"),
  activeUsers: Schema.NullOr(Schema.Int).annotate({
    description: "Users with an event in the range, each once; null: not counted yet.",
    examples: [480],
  }),
  newUsers: Schema.NullOr(Schema.Int).annotate({
    description: "Those whose first active day is in it; null: not counted yet.",
    examples: [210],
  }),
  totals: Schema.Struct({
    events: count("Events received.", 12_400),
    currencies: Schema.Record(Schema.String, Schema.Int).annotate({
      description: "What users earned, by the key of the currency; xp and points are two of them.",
      examples: [{ xp: 96_000, points: 3_100 }],
    }),
    badges: count("Badges and tiers earned.", 930),
    quests: count("Quests completed.", 1_240),
  }).annotate({
    identifier: "EnvironmentTotals",
    description: "Sums of the range, before any undo.",
  }),
  bestDay: Schema.NullOr(
    Schema.Struct({
      date: date("The day.", "2026-03-14"),
      xp: count("Xp earned on it.", 4_200),
      events: count("Events on it.", 310),
    }).annotate({ identifier: "BestDayOfAll" }),
  ).annotate({ description: "The day with the most xp; null: none has an event or xp." }),
  streaks: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] }),
      best: count(
        "The longest run that a user reached in the range. A run that was over when its events came is not among them.",
        180,
      ),
    }).annotate({ identifier: "LongestRun" }),
  ).annotate({ description: "The streaks that were extended in the range, longest first." }),
  topUsers: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        rank: count("Rank.", 1),
        userId: UserId,
        displayName: Schema.NullOr(Schema.String).annotate({
          description: "The user's display name; null: none.",
          examples: ["Ada"],
        }),
        avatarUrl: AvatarUrl("user"),
        xp: count("Xp of the range.", 2_100),
      }).annotate({ identifier: "TopUser" }),
    ),
  ).annotate({
    description: `The users with the most xp on the leaderboard \`xp\`, at most ${limits.recapTopUsersMax}. It is known of a range that is one day, one week from Monday or one month, while the leaderboard keeps that window; null: of others.`,
  }),
}).annotate({
  identifier: "EnvironmentRecap",
  description: "What all users did in a range of days.",
  examples: [environmentRecap],
})

export const Recaps = HttpApiGroup.make("recaps")
  .add(
    HttpApiEndpoint.get("environment", "/v1/recap", {
      query: ofAll,
      success: EnvironmentRecap,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Sum up the year of all users",
          description: `Returns what all users did in a range of at most ${limits.recapDaysMax} days, such as a year: active and new users, sums, the best day, and the longest streaks. The numbers of users are exact for the days that are kept, the last ${limits.analyticsDaysMax}: an undone event and an erased user are in neither, and merged users are one. Sums count what happened from the version on that counts it; an undo and the erasure of a user change none. An event counts on the day on which it occurred.`,
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/users/:id/recap", {
      params: { id: UserId },
      query,
      success: Recap,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, ({ params }: RequestParts): string => params.id)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Sum up a user's year",
          description: `Returns what the user did in a range of at most ${limits.recapDaysMax} days, such as a year: sums, the best day, the longest streaks, the most frequent actions, what the user did for the first time, badges, and the present rank. An event counts on the day on which it occurred, anything else on the day of its decision, in the user's present time zone. Revoked events and rewards do not count, and neither does a badge or quest that the user lost; a badge that stays after an undo counts. A badge that several merged users had earned counts once, on the earliest day, and so does a period of a quest that several had completed. Levels are those of the user who stays. Computed at each read from the user's latest ${limits.recapRecordsMax.toLocaleString("en-US")} records.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Recaps",
      description: "What one user, or all users, did in a range of days, such as a year.",
    }),
  )
