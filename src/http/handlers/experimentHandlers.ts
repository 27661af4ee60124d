import { Effect } from "effect"
import type { ExperimentChange } from "../../domain/decide/ExperimentDefinitions.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { Experiment } from "../../domain/project/Experiment.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { ExperimentPatch, Experiments, NewExperiment } from "../api/Experiments.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { csv } from "./csv.ts"
import { kindOperations } from "./definitionOperations.ts"
import { resultRow, resultsOf, shortResultsIn } from "./experimentResults.ts"
import { foundOr, named, newMembers, patchOf, showDefinition } from "./Shapes.ts"

export const experimentHandlers = (engine: Engine["Service"]): Handlers<typeof Experiments> => ({
  ...kindOperations(engine, "experiment", {
    made: newExperiment,
    changed: (patch: typeof ExperimentPatch.Type): ExperimentChange => named(patchOf(patch)),
    show: showExperiment,
    found: (experiment, shown, { environment }) =>
      Effect.map(withResults(engine)(environment, [experiment]), (complete) =>
        complete(experiment, shown),
      ),
    listed: withResults(engine),
  }),
  results: {
    handle: ({ caller: { environment }, params, query }) =>
      Effect.gen(function* () {
        const { experiments } = yield* engine.readProject(environment)
        const found = definitionOf(experiments, params.id)
        const experiment = yield* foundOr(found, definitionNotFound("experiment"))
        const body = yield* resultsOf(engine, environment, experiment, query)
        return query.format === "csv" ? csv("results", body.variants!.map(resultRow)) : { body }
      }),
  },
})

const withResults =
  (engine: Engine["Service"]) => (environment: string, experiments: ReadonlyArray<Experiment>) =>
    Effect.map(
      shortResultsIn(engine, environment, experiments),
      (resultOf) => (experiment: Experiment, shown: ReturnType<typeof showExperiment>) => ({
        ...shown,
        result: resultOf(experiment),
      }),
    )

export const newExperiment = (payload: typeof NewExperiment.Type, id: string) => {
  const { metric = null, name, variants } = payload
  return { id, ...newMembers(payload), name, variants, metric }
}

const showExperiment = ({ weightsChangedAt, ...experiment }: Experiment, now: number) => ({
  ...showDefinition(experiment, now),
  weightsChangedAt: isoTimeOrNull(weightsChangedAt ?? null),
})
