/** The operation that reads leaderboards. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { namedWindows } from "../../domain/project/BoardDefinition.ts"
import { dayOf } from "../../domain/values/Calendar.ts"
import { isIsoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import { AvatarUrl } from "./Attributes.ts"
import {
  ApiKey,
  check,
  Level,
  limitQuery,
  OpenTo,
  oneOf,
  Time,
  UserId,
  UserNamed,
  wholeNumber,
  Xp,
} from "./Common.ts"
import { leaderboardEntry, leaderboardPage } from "./examples/userExamples.ts"
import { readProblems, UserNotFound } from "./Problems.ts"

const Window = oneOf(namedWindows).annotate({
  description: "`all_time`, or the xp of one day, ISO week or month in the project's time zone.",
  examples: ["weekly"],
})

export const BoardAt = Schema.String.check(
  check(
    "invalid_format",
    "must be a date such as 2026-11-01, or a time in ISO 8601 with a zone, such as 2026-11-01T09:30:00Z",
    (text) => dayOf(text) !== undefined || isIsoTime(text),
  ),
).annotate({
  description: `Reads the window of this date (in the project's time zone) or time. Past windows are frozen and kept for ${limits.boardDailyWindowsKept} days, ${limits.boardWeeklyWindowsKept} weeks and ${limits.boardMonthlyWindowsKept} months, and ${limits.boardDaysWindowsKept} windows of \`days\`; a window without xp is empty. Default: the current window.`,
  examples: ["2026-11-01"],
})

export const PreviousRank = Schema.NullOr(Schema.Int).annotate({
  description: "Rank in the previous window; null: not listed there, or the all-time board.",
  examples: [3],
})

export const LeaderboardEntry = Schema.Struct({
  rank: Schema.Int.annotate({
    description: "Equal xp share a rank, and the next rank skips: 1, 1, 3.",
    examples: [1],
  }),
  userId: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "The user's current display name; null: none.",
    examples: ["Ada"],
  }),
  avatarUrl: AvatarUrl("user"),
  xp: Xp.annotate({ description: "The xp earned in the window." }),
  level: Level,
  previousRank: PreviousRank,
}).annotate({
  identifier: "LeaderboardEntry",
  description: "A user's rank and score.",
  examples: [leaderboardEntry],
})

/** A window of one of these kinds. */
export const windowShown = <Kind extends Schema.Top>(kind: Kind) =>
  Schema.Struct({
    kind,
    startsAt: Schema.NullOr(Time).annotate({ description: "Null for the all-time board." }),
    endsAt: Schema.NullOr(Time).annotate({
      description: "When the next window begins; null for the all-time board.",
    }),
  }).annotate({ description: "The window of the board." })

export const boardTotal = Schema.Int.annotate({
  description: "Number of users listed.",
  examples: [1],
})

/** What describes a page of `Entry`, beside its entries. */
export const boardPageFields = <Entry extends Schema.Top>(entry: Entry) => ({
  total: boardTotal,
  limit: Schema.Int.annotate({
    description: "Maximum number of entries on this page.",
    examples: [20],
  }),
  offset: Schema.Int.annotate({
    description: "Number of entries before this page.",
    examples: [0],
  }),
  hasMore: Schema.Boolean.annotate({
    description: "Whether more entries follow this page.",
    examples: [false],
  }),
  me: Schema.optionalKey(Schema.NullOr(entry)).annotate({
    description: "With `around`: the entry of that user, on this page or not; null: not listed.",
  }),
})

export const LeaderboardPage = Schema.Struct({
  window: windowShown(Window),
  entries: Schema.Array(LeaderboardEntry).annotate({ description: "Most xp first." }),
  ...boardPageFields(LeaderboardEntry),
}).annotate({
  identifier: "LeaderboardPage",
  description: "A page of the leaderboard.",
  examples: [leaderboardPage],
})

export const Leaderboard = HttpApiGroup.make("leaderboard")
  .add(
    HttpApiEndpoint.get("get", "/v1/leaderboard", {
      query: {
        window: Schema.optionalKey(Window),
        at: Schema.optionalKey(BoardAt),
        around: Schema.optionalKey(
          UserId.annotate({
            description:
              "Centres the page on this user, instead of `offset`. For a user who is not listed, returns the first page with `me: null`. Not with a publishable key.",
            examples: ["user-42"],
          }),
        ),
        limit: limitQuery,
        offset: Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
      },
      success: LeaderboardPage,
      error: [...readProblems, UserNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the leaderboard",
        description:
          "Ranks users by xp, highest first; of equal scores, the one reached first comes first. Hidden users and users without xp in the window are not listed. A late event counts in the windows open on its arrival; past windows do not change.",
      }),
    ),
  )
  .annotateEndpoints(OpenTo, OpenTo.clients)
  .annotateEndpoints(UserNamed, ({ query }) => query.around)
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Leaderboard",
      description: "Users ranked by xp: the leaderboard `xp`.",
    }),
  )
