import { Effect } from "effect"
import { makeId } from "../../accounts/KeyText.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { Metric } from "../../domain/project/Metric.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { metricProgress } from "../../domain/user/Progress.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { MetricPatch, Metrics, NewMetric } from "../api/Metrics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations, isOfStatus, type StatusQuery } from "./definitionOperations.ts"
import { factOf, foundOr, named, referenceFaults, showDefinition, userNotFound } from "./Shapes.ts"

export const metricHandlers = (engine: Engine["Service"]): Handlers<typeof Metrics> => ({
  ...definitionOperations(engine, {
    plural: "metrics",
    definitionsOf: ({ metrics }) => metrics,
    find: (all, idOrKey) => definitionOf(all, idOrKey),
    isListed: (metric, query: StatusQuery, now) => isOfStatus(metric, query, now),
    notFound: laurelError("metric_not_found", "No metric of this project has this id or key."),
    moreFaults: referenceFaults(engine),
    show: showMetric,
    showFound: (metric, { environment }) =>
      Effect.sync(() => showMetric(metric, engine.timeIn(environment))),
    create: (payload: typeof NewMetric.Type) =>
      ({ kind: "createMetric", metric: newMetric(payload, makeId("mtr")) }) as const,
    showCreated: (record) => showMetric(factOf(record, "metric.created").metric, decidedAt(record)),
    update: (metricId, payload: typeof MetricPatch.Type) =>
      ({ kind: "updateMetric", metricId, change: named(payload) }) as const,
    showUpdated: (record) => showMetric(factOf(record, "metric.updated").metric, decidedAt(record)),
    delete: (metricId) => ({ kind: "deleteMetric", metricId }) as const,
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
