import { Effect } from "effect"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { Metric } from "../../domain/project/Metric.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { metricProgress } from "../../domain/user/Progress.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { MetricPatch, Metrics, NewMetric } from "../api/Metrics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { seriesOfAll, seriesOfUser } from "./metricSeries.ts"
import { backfillNotFound, factOf, foundOr, named, showDefinition, userNotFound } from "./Shapes.ts"

export const metricHandlers = (engine: Engine["Service"]): Handlers<typeof Metrics> => ({
  ...kindOperations(engine, "metric", {
    made: newMetric,
    changed: (patch: typeof MetricPatch.Type) => named(patch),
    show: showMetric,
  }),
  ofUser: {
    handle: ({ caller: { environment }, params: { id: userId } }) =>
      Effect.gen(function* () {
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const project = yield* engine.readProject(environment)
        const metrics = metricProgress(user, project, engine.timeIn(environment))
        return { body: { userId, metrics } }
      }),
  },
  startBackfill: {
    handle: ({ caller, idempotency, params }) => {
      const command = { kind: "startMetricBackfill", metricId: params.id } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { definitionId: metricId } = factOf(reply, "backfill.started")
        return {
          body: { metricId, startedAt: isoTime(decidedAt(reply)) },
          replayed,
          location: `/v1/metrics/${metricId}/backfill`,
        }
      })
    },
  },
  getBackfill: {
    handle: ({ caller: { environment }, params }) =>
      Effect.gen(function* () {
        const { metrics } = yield* engine.readProject(environment)
        const found = definitionOf(metrics, params.id)
        const { id: metricId } = yield* foundOr(found, definitionNotFound("metric"))
        const progress = yield* foundOr(
          yield* engine.readBackfill(environment, metricId),
          backfillNotFound,
        )
        const { awarded: changed, finishedAt, notify: _, startedAt, ...shown } = progress
        const times = { startedAt: isoTime(startedAt), finishedAt: isoTimeOrNull(finishedAt) }
        return { body: { metricId, ...shown, ...times, changed } }
      }),
  },
  series: {
    handle: ({ caller: { environment }, params: { id }, query }) =>
      Effect.map(seriesOfAll(engine, environment, id, query), (body) => ({ body })),
  },
  seriesOfUser: {
    handle: ({ caller: { environment }, params: { id, metricId }, query }) =>
      Effect.map(seriesOfUser(engine, environment, id, metricId, query), (body) => ({ body })),
  },
})

export const newMetric = (payload: typeof NewMetric.Type, id: string) => {
  const { actions, aggregate, decimals = 0, description, key, metadata, name, unit } = payload
  return {
    id,
    ...(key !== undefined && { key }),
    description: description ?? null,
    metadata: metadata ?? {},
    name,
    aggregate,
    actions,
    where: payload.where ?? [],
    value: payload.value ?? null,
    decimals,
    unit: unit ?? null,
  }
}

const showMetric = (metric: Metric, now: number) => {
  const { endsAt: _, startsAt: __, ...shown } = showDefinition(metric, now)
  return { ...shown, status: metric.set === "archived" ? "archived" : "active" } as const
}
