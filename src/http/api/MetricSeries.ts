/** Metrics as series: values by day, week or month, of one user and of all users. */
import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { streakPeriods } from "../../domain/project/StreakDefinition.ts"
import { limits } from "../../Limits.ts"
import {
  DateText,
  OpenTo,
  oneOf,
  type RequestParts,
  Time,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import { pathOf } from "./DefinitionShapes.ts"
import { metricId } from "./examples/exampleIds.ts"
import { metricSeries, userMetricSeries } from "./examples/userExamples.ts"
import { MetricNotFound, readProblems, UserOrMetricNotFound } from "./Problems.ts"

const query = {
  from: Schema.optionalKey(
    DateText.annotate({
      description: `A day of the first period, at most ${limits.metricSeriesDaysMax} days ago. Default: 30 days, 12 weeks or 12 months, with the last one.`,
      examples: ["2026-10-01"],
    }),
  ),
  to: Schema.optionalKey(
    DateText.annotate({
      description: "A day of the last period. Default: today.",
      examples: ["2026-11-01"],
    }),
  ),
  by: Schema.optionalKey(
    oneOf(streakPeriods).annotate({
      description: "The periods: days, ISO weeks from Monday, or months. Default `day`.",
      examples: ["day"],
    }),
  ),
}

export const MetricSeriesQuery = Schema.Struct(query)

const key = Schema.String.annotate({
  description: "Key of the metric.",
  examples: ["kilometres-run"],
})
const series = {
  key,
  unit: Schema.NullOr(Schema.String).annotate({
    description: "Unit of the values.",
    examples: ["km"],
  }),
  by: oneOf(streakPeriods).annotate({ description: "The periods.", examples: ["day"] }),
  from: Schema.String.annotate({
    description: "First day of the first period.",
    examples: ["2026-10-31"],
  }),
  to: Schema.String.annotate({
    description: "Last day of the last period.",
    examples: ["2026-11-01"],
  }),
}

const point = {
  from: Schema.String.annotate({
    description: "First day of the period.",
    examples: ["2026-11-01"],
  }),
  value: Schema.NullOr(Schema.Finite).annotate({
    description:
      "Value of the period; without an event null for `max`, `min` and `last`, or else 0.",
    examples: [5.2],
  }),
}

export const MetricSeries = Schema.Struct({
  ...series,
  countedAt: Schema.NullOr(Time).annotate({
    description: "When the values were computed; null: not yet.",
    examples: ["2026-11-01T09:30:00.000Z"],
  }),
  counting: Schema.Boolean.annotate({
    description: "Whether values are being computed: read again soon for newer ones.",
    examples: [false],
  }),
  points: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        ...point,
        users: Schema.Int.annotate({
          description: "Users with an event in the period.",
          examples: [3],
        }),
      }).annotate({ identifier: "MetricSeriesPoint" }),
    ),
  ).annotate({ description: "A value for each period, oldest first; null: not computed yet." }),
}).annotate({
  identifier: "MetricSeries",
  description: "The values of all users together.",
  examples: [metricSeries],
})

export const UserMetricSeries = Schema.Struct({
  userId: UserId,
  ...series,
  truncated: Schema.Boolean.annotate({
    description: `Whether earlier periods are left out, since the user has more than ${limits.metricSeriesRecordsMax.toLocaleString("en-US")} records after them.`,
    examples: [false],
  }),
  points: Schema.Array(
    Schema.Struct(point).annotate({ identifier: "UserMetricSeriesPoint" }),
  ).annotate({ description: "A value for each period, oldest first." }),
}).annotate({
  identifier: "UserMetricSeries",
  description: "A user's values by period.",
  examples: [userMetricSeries],
})

const days =
  "An event counts on the day of its user's calendar on which it occurred, in the zone that the user had when it was applied. A revoked event counts in no value."

export const seriesEndpoints = [
  HttpApiEndpoint.get("series", "/v1/metrics/:id/series", {
    params: pathOf("metric", metricId),
    query,
    success: MetricSeries,
    error: [...readProblems, MetricNotFound],
  })
    .annotate(OpenTo, ["read"])
    .annotateMerge(
      OpenApi.annotations({
        summary: "Read a metric of all users by period",
        description: `Returns the values of all users together by day, ISO week or month: the number of all events, the sum, maximum, minimum or latest value of all, and for \`distinct_days\` the sum of the users' days, which by day is the number of active users. ${days} Users who were erased count in none either. The values are computed in the background from the histories of users when the series is read: if there are none, or if the last ones are older than ${limits.metricSeriesFreshMs / 1000} seconds, or longer where computing takes long. The first read has \`points: null\`; read again until \`counting\` is false. A restart forgets the values.`,
      }),
    ),
  HttpApiEndpoint.get("seriesOfUser", "/v1/users/:id/metrics/:metricId/series", {
    params: {
      id: UserId,
      metricId: text(1, limits.idCharactersMax).annotate({
        description: "The metric's id or key.",
        examples: [metricId],
      }),
    },
    query,
    success: UserMetricSeries,
    error: [...readProblems, UserOrMetricNotFound],
  })
    .annotate(OpenTo, ["read", "user"])
    .annotate(UserNamed, ({ params }: RequestParts): string => params.id)
    .annotateMerge(
      OpenApi.annotations({
        summary: "Read a user's metric by period",
        description: `Returns the user's values by day, ISO week or month of the user's calendar. ${days} The values are computed from the user's latest records at each read.`,
      }),
    ),
] as const
