/**
 * The experiments of two users who are merged. The user who stays keeps the variant; one whom only
 * the other was exposed to goes over. If the variants differ, results leave the user out.
 *
 * What counts for the experiment's metric is what both had from their exposures on, so what either
 * had before, or has without an exposure, counts as from before.
 */
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { Exposure } from "../project/Experiment.ts"
import { addsUp } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import { metricTotal } from "../user/MetricState.ts"
import type { UserState } from "../user/User.ts"

interface Pair {
  readonly into: UserState
  readonly from: UserState
  readonly project: ProjectState
}

/** The exposures of the user who stays that the merge changes, by the id of the experiment. */
export const unitedExperiments = (
  pair: Pair,
): ReadonlyArray<readonly [experimentId: string, Exposure]> => {
  const { from, into } = pair
  const ids = new Set([...into.experiments.keys(), ...from.experiments.keys()])
  return [...ids].flatMap((id) => {
    const mine = into.experiments.get(id)
    const united = unitedExposure(id, mine, from.experiments.get(id), pair)
    const isSame =
      mine !== undefined && mine.before === united.before && mine.mixed === united.mixed
    return isSame && mine.at === united.at ? [] : [[id, united] as const]
  })
}

const unitedExposure = (
  id: string,
  mine: Exposure | undefined,
  theirs: Exposure | undefined,
  { from, into, project }: Pair,
): Exposure => {
  const { at, variant } = (mine ?? theirs)!
  const isMixed =
    mine?.mixed === true ||
    theirs?.mixed === true ||
    (mine !== undefined && theirs !== undefined && mine.variant !== theirs.variant)
  const before = partBefore(id, mine, into, project) + partBefore(id, theirs, from, project)
  return {
    variant,
    at: mine !== undefined && theirs !== undefined ? Math.min(mine.at, theirs.at) : at,
    ...(before > 0 && { before }),
    ...(isMixed && { mixed: true }),
  }
}

const partBefore = (
  id: string,
  exposure: Exposure | undefined,
  user: UserState,
  { experiments, metrics }: ProjectState,
): number => {
  if (exposure !== undefined) return exposure.before ?? 0
  const key = experiments.get(id)?.metric ?? null
  const metric = key === null ? undefined : definitionWithKey(metrics, key)
  const state = metric && user.metrics.get(metric.id)
  return metric !== undefined && state !== undefined && addsUp(metric.aggregate)
    ? (metricTotal(state) ?? 0)
    : 0
}
