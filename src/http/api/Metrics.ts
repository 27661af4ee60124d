/** Operations on metrics: numbers that each user has, made from events. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { metricAggregates } from "../../domain/project/Metric.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  distinct,
  integer,
  list,
  OpenTo,
  oneOf,
  pageFields,
  type RequestParts,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import {
  CountedAction,
  listQuery,
  MetadataPath,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  ShownWhere,
  shownMembers,
  Where,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { metric, metricPage } from "./examples/definitionExamples.ts"
import { metricId } from "./examples/exampleIds.ts"
import { userMetrics } from "./examples/userExamples.ts"
import { backfillEndpoints } from "./MetricBackfills.ts"
import { seriesEndpoints } from "./MetricSeries.ts"
import {
  ChangeConflict,
  MetricNotFound,
  readProblems,
  UseConflict,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Kilometres run"],
})

const Unit = text(1, limits.metricUnitCharactersMax).annotate({
  description: "Unit of the values, for people. Default: none.",
  examples: ["km"],
})

const Aggregate = oneOf(metricAggregates).annotate({
  description:
    "`count`: how many events; `sum`, `max`, `min`: of the numbers at `value`; `last`: the number of the event that occurred last; `distinct_days`: on how many days of the user's calendar events occurred.",
  examples: ["sum"],
})

const Actions = list(CountedAction, 1, limits.metricActionsMax)
  .check(distinct([], (action: string) => action))
  .annotate({ description: "The actions whose events count.", examples: [["RUN_DONE"]] })

const Value = MetadataPath.annotate({
  description: `Path of a number in the metadata; required for \`sum\`, \`max\`, \`min\` and \`last\`, and only there. An event without a number there does not count, nor one whose number times 10 to the power of \`decimals\` is beyond ±${limits.metricScaledMax}. A sum counts only numbers above 0.`,
  examples: ["km"],
})

const Decimals = integer(0, limits.metricDecimalsMax).annotate({
  description:
    "Decimals that the values keep; numbers with more are rounded, halves away from 0. Sums are exact. Only with `value`. Default 0.",
  examples: [1],
})

const { description, key, metadata } = newMembers("name")

export const NewMetric = Schema.Struct({
  key,
  name: Name,
  description,
  metadata,
  aggregate: Aggregate,
  actions: Actions,
  where: Schema.optionalKey(Where),
  value: Schema.optionalKey(Value),
  decimals: Schema.optionalKey(Decimals),
  unit: Schema.optionalKey(Unit),
}).annotate({
  identifier: "NewMetric",
  description: "A metric to create.",
  examples: [
    {
      name: "Kilometres run",
      aggregate: "sum",
      actions: ["RUN_DONE"],
      value: "km",
      decimals: 1,
      unit: "km",
    },
    { name: "Active days", aggregate: "distinct_days", actions: ["LESSON_DONE", "RUN_DONE"] },
  ],
})

export const MetricPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: patchMembers.description,
  metadata: patchMembers.metadata,
  status: Schema.optionalKey(
    oneOf(["active", "archived"]).annotate({
      description: "`archived` is final.",
      examples: ["archived"],
    }),
  ),
  unit: Schema.optionalKey(Schema.NullOr(Unit)),
}).annotate({
  identifier: "MetricPatch",
  examples: [{ name: "Distance", unit: null }, { status: "archived" }],
})

const {
  endsAt: _endsAt,
  segment: _segment,
  startsAt: _startsAt,
  status: _status,
  ...shown
} = shownMembers

export const Metric = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the metric.", examples: [metricId] }),
  ...shown,
  status: oneOf(["active", "archived"]).annotate({
    description: "An archived metric counts no events, and users no longer show it.",
    examples: ["active"],
  }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Kilometres run"] }),
  aggregate: Aggregate,
  actions: Schema.Array(CountedAction).annotate({
    description: "The actions whose events count.",
    examples: [["RUN_DONE"]],
  }),
  where: ShownWhere,
  value: Schema.NullOr(Schema.String).annotate({
    description: "Path of a number in the metadata; null for `count` and `distinct_days`.",
    examples: ["km"],
  }),
  decimals: Schema.Int.annotate({
    description: "Decimals that the values keep.",
    examples: [1],
  }),
  unit: Schema.NullOr(Schema.String).annotate({
    description: "Unit of the values.",
    examples: ["km"],
  }),
}).annotate({
  identifier: "Metric",
  description: "A metric: a number that each user has, made from events.",
  examples: [metric],
})

export const MetricPage = Schema.Struct({
  metrics: Schema.Array(Metric).annotate({ description: "In the order of creation." }),
  ...pageFields("metrics"),
}).annotate({
  identifier: "MetricPage",
  description: "A page of the metrics.",
  examples: [metricPage],
})

/* The values of a user. */

const numberOrNull = (words: string, example: number) =>
  Schema.NullOr(Schema.Finite).annotate({ description: words, examples: [example] })

const period = (kind: string, from: string, example: readonly [number, number]) =>
  Schema.Struct({
    from: Schema.String.annotate({
      description: `First day of the current ${kind}.`,
      examples: [from],
    }),
    current: numberOrNull("Value of the current one.", example[0]),
    previous: numberOrNull("Value of the one before.", example[1]),
  }).annotate({ description: `Values of the user's ${kind}s.` })

export const UserMetric = Schema.Struct({
  key: Schema.String.annotate({ description: "Key of the metric.", examples: ["kilometres-run"] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Kilometres run"] }),
  unit: Schema.NullOr(Schema.String).annotate({
    description: "Unit of the values.",
    examples: ["km"],
  }),
  recalculating: Schema.Boolean.annotate({
    description: `Whether the values still count a revoked event. The revocation of a maximum, a minimum, a latest value or a day reads up to ${limits.metricUndoRecordsMax} of the user's latest records at once; a longer history is read in the background, and the values are right afterwards.`,
    examples: [false],
  }),
  total: numberOrNull("Value over all time.", 128.4),
  day: period("day", "2026-11-01", [5.2, 0]),
  week: period("week", "2026-10-26", [17.6, 12.3]),
  month: period("month", "2026-11-01", [5.2, 61.9]),
}).annotate({
  identifier: "UserMetric",
  description:
    "A user's values of a metric. Without an event a `max`, `min` or `last` is null, and all others are 0.",
})

export const UserMetrics = Schema.Struct({
  userId: UserId,
  metrics: Schema.Array(UserMetric).annotate({
    description: "All metrics that are not archived, in the order of their creation.",
  }),
}).annotate({
  identifier: "UserMetrics",
  description: "A user's values of all metrics.",
  examples: [userMetrics],
})

const params = pathOf("metric", metricId)

export const Metrics = HttpApiGroup.make("metrics")
  .add(
    ...definitionEndpoints({
      path: "/v1/metrics",
      params,
      readers: ["read"],
      notFound: MetricNotFound,
      create: {
        payload: NewMetric,
        success: Metric,
        summary: "Create a metric",
        description: `From now on, every event with one of these actions whose metadata satisfies \`where\` counts for its user, in total and in the day, week and month of the user's calendar in which it occurred. Metrics count before rules, so badges and rewards see them. An environment holds at most ${limits.metricsMax} metrics that are not archived.`,
      },
      list: {
        query: listQuery("metrics"),
        success: MetricPage,
        summary: "List metrics",
        description:
          "Lists the metrics of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: Metric,
        summary: "Read a metric",
        description: "Returns a metric by its id or key, archived or not.",
      },
      update: {
        payload: MetricPatch,
        success: Metric,
        error: [...writeProblems, MetricNotFound, ChangeConflict],
        summary: "Change a metric",
        description: `${patchWords}

What a metric counts (\`aggregate\`, \`actions\`, \`where\`, \`value\`, \`decimals\`) never changes, since the values of all users follow from it: create another metric instead. A metric that badges need cannot be archived (409 \`in_use\`).`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The metric is archived." }),
        error: [...readProblems, MetricNotFound, UseConflict],
        summary: "Archive a metric",
        description:
          "The metric counts no more events, and users no longer show it; it still reads by its id or key. A metric that badges need cannot be archived (409 `in_use`): change them first. Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.get("ofUser", "/v1/users/:id/metrics", {
      params: { id: UserId },
      success: UserMetrics,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, ({ params }: RequestParts): string => params.id)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's metrics",
          description:
            "Returns the user's values of all metrics: in total, and in the current and the previous day, ISO week and month of the user's calendar, in the user's time zone or else the project's. An event counts on the day on which it occurred, in the zone that the user had when it was applied; a later change of zone moves no event. A late event of an earlier period counts in the total alone. A revoked event counts in no value.",
        }),
      ),
    ...seriesEndpoints,
    ...backfillEndpoints,
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Metrics",
      description: "Numbers that each user has, made from events.",
    }),
  )
