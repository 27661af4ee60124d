/** The operations that say how many users are active and come back, and what mechanics do. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { streakPeriods } from "../../domain/project/StreakDefinition.ts"
import { retentionDaysMax, shownRetentionDays } from "../../domain/user/ActivityOfAll.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, counted, DateText, OpenTo, oneOf, text } from "./Common.ts"
import { DefinitionKey } from "./DefinitionShapes.ts"
import { activitySeries, retention } from "./examples/analyticsExamples.ts"
import {
  Mechanic,
  MechanicList,
  mechanicParams,
  mechanicQuery,
  mechanicsQuery,
} from "./Mechanics.ts"
import { MechanicNotFound, readProblems } from "./Problems.ts"
import { ReminderResults } from "./ReminderResults.ts"

const format = Schema.optionalKey(
  oneOf(["json", "csv"]).annotate({
    description:
      "`csv`: the reply is a table, `text/csv`, with a row for each item of the list, and empty cells in place of null; the JavaScript client reads only JSON. Default `json`.",
    examples: ["json"],
  }),
)

const activityQuery = {
  from: Schema.optionalKey(
    DateText.annotate({
      description: `First day, at most ${limits.analyticsDaysMax} days ago. Default: 29 days before \`to\`.`,
      examples: ["2026-10-03"],
    }),
  ),
  to: Schema.optionalKey(
    DateText.annotate({ description: "Last day. Default: today.", examples: ["2026-11-01"] }),
  ),
  format,
}

export const ActivityQuery = Schema.Struct(activityQuery)

const retentionQuery = {
  from: Schema.optionalKey(
    DateText.annotate({
      description: `A day of the first cohort, which begins at most ${limits.analyticsDaysMax} days ago. Default: 30 days, 12 weeks or 12 months, with the last one.`,
      examples: ["2026-08-10"],
    }),
  ),
  to: Schema.optionalKey(
    DateText.annotate({
      description: "A day of the last cohort. Default: today.",
      examples: ["2026-11-01"],
    }),
  ),
  by: Schema.optionalKey(
    oneOf(streakPeriods).annotate({
      description:
        "Users who began in one day, one ISO week from Monday, or one month are a cohort. Default `day`.",
      examples: ["week"],
    }),
  ),
  segment: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description:
        "The id or key of an active segment: only users who are in it when they are counted. Default: all users.",
      examples: ["beginners"],
    }),
  ),
  experiment: Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description:
        "The id or key of an experiment: only users who entered it with `variant`. Their first day is that on which they entered.",
      examples: ["daily-goal"],
    }),
  ),
  variant: Schema.optionalKey(
    DefinitionKey.annotate({
      description: "The key of a variant of the experiment.",
      examples: ["goal"],
    }),
  ),
  format,
}

export const RetentionQuery = Schema.Struct(retentionQuery)

const date = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })
const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })
const share = (description: string, example: number) =>
  Schema.NullOr(Schema.Finite).annotate({ description, examples: [example] })

const perhaps = (description: string, example: number) =>
  Schema.NullOr(Schema.Int).annotate({
    description: `${description} Null: not counted yet.`,
    examples: [example],
  })

const ActivityDay = Schema.Struct({
  date: date("The day.", "2026-11-01"),
  complete: Schema.Boolean.annotate({
    description: "Whether the day has ended in every time zone.",
    examples: [false],
  }),
  dau: perhaps("Daily active users: those with an event on the day.", 37),
  wau: perhaps("Weekly active users: those with an event on the day or the 6 days before.", 120),
  mau: perhaps("Monthly active users: those with an event on the day or the 29 days before.", 260),
  newUsers: perhaps("Those of the daily active users whose first active day it is.", 6),
  returningUsers: perhaps("The other daily active users.", 31),
  stickiness: share(
    "`dau` / `mau`, to 4 decimals; null: there are no monthly ones, or they are not counted yet.",
    0.1423,
  ),
  events: count("Events received. Undone ones and those of erased users are among them.", 212),
  xp: count("Xp earned, before any undo.", 8400),
  badges: count("Badges and tiers earned, before any undo.", 9),
  quests: count("Quests completed, before any undo.", 14),
}).annotate({ identifier: "ActivityDay", description: "Activity of a day." })

export const ActivitySeries = Schema.Struct({
  from: date("First day.", "2026-10-31"),
  to: date("Last day.", "2026-11-01"),
  ...counted("active users"),
  days: Schema.Array(ActivityDay).annotate({ description: "A row for each day, oldest first." }),
}).annotate({
  identifier: "ActivitySeries",
  description: "Active users, and what happened, by day.",
  examples: [activitySeries],
})

const returned = {
  day: count(
    "The number of days after the first active day, or after the day on which the user entered the experiment.",
    7,
  ),
  of: count("The users of the cohort for whom this day has ended in every time zone.", 50),
  users: count("Those of them with an event on this very day.", 18),
  share: share("`users` / `of`, to 4 decimals; null: the day has ended for nobody.", 0.36),
}

const Cohort = Schema.Struct({
  from: date("First day of the cohort.", "2026-10-19"),
  to: date("Last day of the cohort.", "2026-10-25"),
  users: count(
    "Users whose first active day is in it, or who entered the experiment on one of its days.",
    50,
  ),
  days: Schema.Array(Schema.Struct(returned).annotate({ identifier: "CohortDay" })).annotate({
    description: `Day ${shownRetentionDays.join(", ")} of the users.`,
  }),
}).annotate({ identifier: "Cohort", description: "The users who began in one period." })

const ofWhom = (description: string) =>
  Schema.NullOr(Schema.String).annotate({ description, examples: [null] })

export const Retention = Schema.Struct({
  from: date("First day of the first cohort.", "2026-10-19"),
  to: date("Last day of the last cohort.", "2026-11-01"),
  by: oneOf(streakPeriods).annotate({ description: "The periods.", examples: ["week"] }),
  segment: ofWhom("The key of the segment of the users; null: none was asked for."),
  experiment: ofWhom("The key of the experiment that the users entered; null: none was asked for."),
  variant: ofWhom("The key of their variant; null: none was asked for."),
  ...counted("active users"),
  cohorts: Schema.NullOr(Schema.Array(Cohort)).annotate({
    description: "Oldest first; null: not counted yet.",
  }),
  curve: Schema.NullOr(
    Schema.Array(Schema.Struct(returned).annotate({ identifier: "CurveDay" })),
  ).annotate({
    description: `All cohorts together: day 0 to day ${retentionDaysMax}; null: not counted yet.`,
  }),
}).annotate({
  identifier: "Retention",
  description: "How many users come back, by the day on which they began.",
  examples: [retention],
})

const wholeDays =
  "A day is that of each user's own calendar: the user's time zone when the event was received. Events count on the day on which they occurred, whether or not a definition names their action. An undone event makes no day active, and an erased user is in no number of users; of merged users, the days of both are those of the one who stays. Users are counted in the background when this is read; in an environment with many users, a reply may have the numbers of some seconds ago."

const fromStates =
  "Users are counted in the background from their present states: what was undone, and an erased user, is in no number of users; merged users are one. In an environment with many users, the numbers may be some minutes old: `countedAt` says when."

const fromDays = `\`completions\` and \`xp\` count what happened in the last ${limits.mechanicDaysMax} days, from the version on that counts them; an undo and the erasure of a user change neither. The first ${limits.mechanicsCountedMax} definitions of an environment that did something are counted by day.`

export const Analytics = HttpApiGroup.make("analytics")
  .add(
    HttpApiEndpoint.get("activity", "/v1/analytics/activity", {
      query: activityQuery,
      success: ActivitySeries,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Count active users by day",
          description: `Returns daily, weekly and monthly active users, new and returning ones, and the numbers of events, xp, badges and quests, for each day of a range. ${wholeDays} The numbers of events, xp, badges and quests begin with the version that counts them.`,
        }),
      ),
    HttpApiEndpoint.get("retention", "/v1/analytics/retention", {
      query: retentionQuery,
      success: Retention,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Measure retention",
          description: `Returns, for the users whose first active day is in one day, week or month, how many were active again exactly 1, 7, 14, 30, 60 and 90 days later, and the curve of all of them together. With \`segment\`, only users who are in the segment now count: a segment by level, balance or activity has a higher share of returning users, since others never reached it. With \`experiment\` and \`variant\`, the cohorts are of the days on which users entered the experiment, so day 0 may lack users who entered without an event. Users whom a merge left with two variants do not count. ${wholeDays}`,
        }),
      ),
    HttpApiEndpoint.get("reminders", "/v1/analytics/reminders", {
      query: activityQuery,
      success: ReminderResults,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Count who came back after reminders",
          description:
            "Returns, for each day and kind of reminder, how many were sent, and after how many of them the user had an event within 24 hours. The first event after a reminder decides: one that occurred after it, and was received within 24 hours. Imported events do not count. An undo of the event and the erasure of a user change nothing. Counts begin with the version that makes them. They show no cause: some users would have come back without a reminder. An experiment whose control group has the attribute of `unless` shows the difference.",
        }),
      ),
    HttpApiEndpoint.get("mechanics", "/v1/analytics/mechanics", {
      query: mechanicsQuery,
      success: MechanicList,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List what each mechanic does",
          description: `Returns, for each rule, quest, badge, streak, leaderboard, league, boost, item and goal that is neither a draft nor archived, how many users it reached, their share, and what happened by day. ${fromStates} At most ${limits.mechanicRowsMax} rows are returned: \`kind\`, \`sort\` and \`limit\` choose them. ${fromDays}`,
        }),
      ),
    HttpApiEndpoint.get("mechanic", "/v1/analytics/mechanics/:kind/:key", {
      params: mechanicParams,
      query: mechanicQuery,
      success: Mechanic,
      error: [...readProblems, MechanicNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read what a mechanic does",
          description: `Returns where people stop in a quest, the users of each tier, milestone or division, how long it takes, what happened on each day, and who came back. ${fromStates} ${fromDays}`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Analytics",
      description:
        "Whether users come back, and what each mechanic does: active users, retention, reminders, mechanics.",
    }),
  )
