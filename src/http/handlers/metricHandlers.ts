import { Effect } from "effect"
import type { Metric } from "../../domain/project/Metric.ts"
import { metricProgress } from "../../domain/user/Progress.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { MetricPatch, Metrics, NewMetric } from "../api/Metrics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { seriesOfAll, seriesOfUser } from "./metricSeries.ts"
import { foundOr, named, showDefinition, userNotFound } from "./Shapes.ts"

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
