/**
 * Exposes users to experiments (`project/Experiment.ts`).
 *
 * All experiments are decided on the state before the command: an audience that asks for the variant
 * of another experiment sees only what an earlier command has exposed. All that the command pays sees
 * the new variants.
 */

import { definitionWithKey } from "../project/DefinitionKey.ts"
import { type Experiment, runningExperiments, variantOf } from "../project/Experiment.ts"
import { addsUp } from "../project/Metric.ts"
import type { FactOf } from "../record/Record.ts"
import type { Membership, Person } from "../user/Membership.ts"
import { metricTotal } from "../user/MetricState.ts"

const none: ReadonlyArray<never> = []

/** The facts of the experiments that a person enters. `membership`: as of before the command. */
export const exposures = (
  person: Person,
  membership: Membership,
): ReadonlyArray<FactOf<"experiment.exposed">> => {
  const { now, project, user, userId } = person
  const running = runningExperiments(project.experiments, now)
  if (running.length === 0) return none
  const entered: Array<FactOf<"experiment.exposed">> = []
  for (const experiment of running) {
    const { id: experimentId, key, name, segment } = experiment
    if (user?.experiments.has(experimentId) === true || !membership.has(segment)) continue
    const variant = variantOf(experiment, userId)
    const before = totalBefore(person, experiment)
    entered.push({
      kind: "experiment.exposed",
      experimentId,
      key,
      name,
      variant,
      ...(before > 0 && { before }),
    })
  }
  return entered
}

/** What the user has of the experiment's metric, if it adds up. Scaled. */
const totalBefore = ({ project, user }: Person, { metric: key }: Experiment): number => {
  const metric = key === null ? undefined : definitionWithKey(project.metrics, key)
  const state = metric && user?.metrics.get(metric.id)
  return metric !== undefined && state !== undefined && addsUp(metric.aggregate)
    ? (metricTotal(state) ?? 0)
    : 0
}
