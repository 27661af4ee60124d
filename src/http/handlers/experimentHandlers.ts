import type { ExperimentChange } from "../../domain/decide/ExperimentDefinitions.ts"
import type { Experiment } from "../../domain/project/Experiment.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { ExperimentPatch, Experiments, NewExperiment } from "../api/Experiments.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { named, newMembers, patchOf, showDefinition } from "./Shapes.ts"

export const experimentHandlers = (engine: Engine["Service"]): Handlers<typeof Experiments> =>
  kindOperations(engine, "experiment", {
    made: newExperiment,
    changed: (patch: typeof ExperimentPatch.Type): ExperimentChange => named(patchOf(patch)),
    show: showExperiment,
  })

export const newExperiment = (payload: typeof NewExperiment.Type, id: string) => {
  const { metric = null, name, variants } = payload
  return { id, ...newMembers(payload), name, variants, metric }
}

const showExperiment = ({ weightsChangedAt, ...experiment }: Experiment, now: number) => ({
  ...showDefinition(experiment, now),
  weightsChangedAt: isoTimeOrNull(weightsChangedAt ?? null),
})
