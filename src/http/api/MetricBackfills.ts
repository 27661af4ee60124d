/** Backfills of metrics: counts of the events of before a metric was created. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { idempotencyHeaders, OpenTo, oneOf, Time } from "./Common.ts"
import { pathOf } from "./DefinitionShapes.ts"
import { metricBackfills, startedMetricBackfill } from "./examples/definitionExamples.ts"
import { metricId } from "./examples/exampleIds.ts"
import {
  BackfillConflict,
  MetricBackfillNotFound,
  MetricNotFound,
  readProblems,
  writeProblems,
} from "./Problems.ts"

const asked = {
  metricId: Schema.String.annotate({ description: "The metric's id.", examples: [metricId] }),
  startedAt: Time.annotate({ description: "Start of the backfill." }),
}

export const StartedMetricBackfill = Schema.Struct(asked).annotate({
  identifier: "StartedMetricBackfill",
  description: "An accepted backfill; `Location` has its progress.",
  examples: [startedMetricBackfill],
})

export const MetricBackfill = Schema.Struct({
  ...asked,
  status: oneOf(["waiting", "running", "finished"]).annotate({
    description: "`waiting`: another backfill runs first.",
    examples: ["running"],
  }),
  checked: Schema.Int.annotate({ description: "Number of users checked.", examples: [42_000] }),
  total: Schema.Int.annotate({ description: "Number of users to check.", examples: [100_000] }),
  changed: Schema.Int.annotate({
    description:
      "Number of users whose value changed. A server restart restarts the backfill, and users counted before are not counted again.",
    examples: [31_200],
  }),
  finishedAt: Schema.NullOr(Time).annotate({
    description: "End of the backfill; null: not finished.",
    examples: [null],
  }),
}).annotate({
  identifier: "MetricBackfill",
  description: "The count of a metric in the events of before it was created.",
  examples: metricBackfills,
})

const params = pathOf("metric", metricId)

export const backfillEndpoints = [
  HttpApiEndpoint.post("startBackfill", "/v1/metrics/:id/backfill", {
    params,
    headers: idempotencyHeaders,
    success: StartedMetricBackfill.pipe(HttpApiSchema.status(202)),
    error: [...writeProblems, MetricNotFound, BackfillConflict],
  })
    .annotate(OpenTo, [])
    .annotateMerge(
      OpenApi.annotations({
        summary: "Count a metric for the past",
        description:
          "Counts, in the background, the events of before the metric was created for every user, as the metric would have counted them when they came; revoked ones do not count. Events that arrive meanwhile count once. An event counted so can be revoked as any other. It pays nothing: badges by the metric have a backfill of their own, and steps of quests and needs of streaks count only events from now on. Backfills of one environment run one at a time and survive a restart. A running one cannot be started again (409 `conflict`), and an archived metric has none (409 `invalid_transition`).",
      }),
    ),
  HttpApiEndpoint.get("getBackfill", "/v1/metrics/:id/backfill", {
    params,
    success: MetricBackfill,
    error: [...readProblems, MetricBackfillNotFound],
  })
    .annotate(OpenTo, ["read"])
    .annotateMerge(
      OpenApi.annotations({
        summary: "Read a metric's backfill",
        description: "Returns the progress of a metric's latest backfill.",
      }),
    ),
] as const
