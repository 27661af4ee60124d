/** The results of experiments: intervals, differences to the control, and warnings. */
import { Effect } from "effect"
import { statusAt } from "../../domain/project/Definition.ts"
import { definitionWithKey } from "../../domain/project/DefinitionKey.ts"
import type { Experiment } from "../../domain/project/Experiment.ts"
import { addsUp } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { ExperimentTally, Measure, VariantTally } from "../../domain/user/ExperimentTally.ts"
import { type Fault, invalidRequest } from "../../domain/values/Errors.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import {
  chiSquareTest,
  type Interval,
  newcombe,
  type Sample,
  type Share,
  studentInterval,
  welch,
  wilson,
} from "../../domain/values/statistics.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Counted } from "../../engine/read/CountOfAll.ts"
import { limits } from "../../Limits.ts"
import {
  type ExperimentResults,
  type ExperimentResultsQuery,
  type resultWarnings,
  retentionDays,
} from "../api/Experiments.ts"
import type { Row } from "./csv.ts"
import { waitOf } from "./ranges.ts"
import { hasBegun } from "./Shapes.ts"

type Results = typeof ExperimentResults.Type
type Query = typeof ExperimentResultsQuery.Type

/** The retention that is compared if neither the request nor the experiment names a metric. */
const defaultRetentionDays = 7

/** What a request asks to compare, or its faults. */
const measureOf = (
  { metrics }: ProjectState,
  experiment: Experiment,
  { atLeast, metric: asked, retention }: Query,
): Measure | ReadonlyArray<Fault> => {
  if (retention !== undefined) {
    const others = { metric: asked, atLeast }
    const faults = Object.entries(others).flatMap(([name, value]): ReadonlyArray<Fault> => {
      const detail = "must not be sent together with retention"
      return value === undefined ? [] : [{ pointer: `query/${name}`, code: "not_allowed", detail }]
    })
    return faults.length > 0 ? faults : { retentionDays: retentionDays.get(retention)! }
  }
  const key = asked ?? experiment.metric
  if (key === null && atLeast === undefined) return { retentionDays: defaultRetentionDays }
  if (key === null) {
    const detail = "is required, since the experiment names no metric"
    return [{ pointer: "query/metric", code: "missing", detail }]
  }
  const metric = definitionWithKey(metrics, key)
  if (metric === undefined || metric.set === "archived") {
    const detail = "matches no metric of this project that is not archived"
    return [{ pointer: "query/metric", code: "unknown_reference", detail }]
  }
  return { metric, ...(atLeast !== undefined && { atLeast: Number(atLeast) }) }
}

export const resultsOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  experiment: Experiment,
  query: Query,
) {
  const project = yield* engine.readProject(environment)
  const measure = measureOf(project, experiment, query)
  if (!("metric" in measure || "retentionDays" in measure)) {
    return yield* Effect.fail(invalidRequest(measure))
  }
  const wait = waitOf(query.format)
  const count = yield* engine.readExperiment(environment, experiment, measure, wait)
  const now = engine.timeIn(environment)
  return shownResults(experiment, measure, count, now)
})

/** The results of a count, as of `now`. */
export const shownResults = (
  experiment: Experiment,
  measure: Measure,
  { countedAt, counting, result: tally }: Counted<ExperimentTally>,
  now: number,
): Results => {
  const isShare = !("metric" in measure) || measure.atLeast !== undefined
  const isOwn =
    !("metric" in measure) ||
    (measure.metric.key === experiment.metric && addsUp(measure.metric.aggregate))
  return {
    experiment: experiment.key,
    metric: "metric" in measure ? measure.metric.key : null,
    atLeast: ("metric" in measure ? measure.atLeast : undefined) ?? null,
    retention: "metric" in measure ? null : `D${measure.retentionDays}`,
    measure: isShare ? "share" : "mean",
    since: isOwn ? "exposure" : "ever",
    countedAt: isoTimeOrNull(countedAt),
    counting,
    ...(tally === null ? uncounted : talliesOf(experiment, tally, isShare, now)),
  }
}

const uncounted = { variants: null, leftOut: null, sampleRatio: null, warnings: [] }

const talliesOf = (
  experiment: Experiment,
  tally: ExperimentTally,
  isShare: boolean,
  now: number,
): Pick<Results, keyof typeof uncounted> => {
  const [control] = experiment.variants
  const base = tally.of(control!.key)
  const variants = experiment.variants.map(({ key, weight }, place) => {
    const { exposed, sample } = tally.of(key)
    return {
      key,
      weight,
      exposed,
      users: sample.n,
      value: sample.n === 0 ? null : rounded(sample.mean),
      interval: shownInterval(isShare ? wilson(shareOf(sample)) : studentInterval(sample)),
      difference: place === 0 ? null : differenceOf(sample, base.sample, isShare),
    }
  })
  const tallies = experiment.variants.map(({ key }) => tally.of(key))
  const sampleRatio = ratioOf(experiment, tallies)
  return {
    variants,
    leftOut: tally.mixed,
    sampleRatio,
    warnings: warningsOf(experiment, tallies, sampleRatio, now),
  }
}

/** To 6 significant digits, as much as a figure with an interval bears. */
const rounded = (value: number): number => Number(value.toPrecision(6))

const shownInterval = (interval: Interval | undefined) =>
  interval === undefined ? null : { low: rounded(interval.low), high: rounded(interval.high) }

/** The sample of ones and zeros as a share. */
const shareOf = ({ mean, n }: Sample): Share => ({ n, hits: Math.round(mean * n) })

const differenceOf = (of: Sample, from: Sample, isShare: boolean) => {
  const interval = isShare ? newcombe(shareOf(of), shareOf(from)) : welch(of, from)
  if (interval === undefined) return null
  const excludesZero = interval.low > 0 || interval.high < 0
  return { value: rounded(of.mean - from.mean), ...shownInterval(interval)!, excludesZero }
}

const mismatchBelow = 0.001
/** With fewer users, the chi-square of a variant is often large by chance. */
const meantUsersMin = 10

const ratioOf = (
  { variants, weightsChangedAt }: Experiment,
  tallies: ReadonlyArray<VariantTally>,
): Results["sampleRatio"] => {
  if (weightsChangedAt !== undefined) return null
  const sizes = tallies.map(({ exposed }) => exposed)
  const weights = variants.map(({ weight }) => weight)
  const { chiSquare, p } = chiSquareTest(sizes, weights)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const isTold = (all * Math.min(...weights)) / whole >= meantUsersMin
  return {
    chiSquare: rounded(chiSquare),
    p: rounded(p),
    mismatch: isTold && p < mismatchBelow,
  }
}

const warningsOf = (
  experiment: Experiment,
  tallies: ReadonlyArray<VariantTally>,
  sampleRatio: Results["sampleRatio"],
  now: number,
): ReadonlyArray<(typeof resultWarnings)[number]> => [
  ...(["ended", "archived"].includes(statusAt(experiment, now)) ? [] : (["not_ended"] as const)),
  ...(sampleRatio?.mismatch === true ? (["sample_ratio_mismatch"] as const) : []),
  ...(sampleRatio === null ? (["weights_changed"] as const) : []),
  ...(tallies.some(({ sample }) => sample.n < limits.experimentUsersMin)
    ? (["few_users"] as const)
    : []),
]

/**
 * The last results of experiments that have begun and are not archived, in short. What is missing or
 * old is counted in the background, all in one pass.
 */
export const shortResultsIn = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  experiments: ReadonlyArray<Experiment>,
) {
  const project = engine.projectNow(environment)
  const now = engine.timeIn(environment)
  const begun = experiments.filter((one) => hasBegun(one, now))
  const read = Effect.fnUntraced(function* (experiment: Experiment) {
    const measure = measureOf(project, experiment, {})
    if (!("metric" in measure || "retentionDays" in measure)) return undefined
    const count = yield* engine.readLastResult(environment, experiment, measure)
    return shortOf(shownResults(experiment, measure, count, now))
  })
  const results = yield* Effect.forEach(begun, read, { concurrency: "unbounded" })
  const byId = new Map(begun.map(({ id }, place) => [id, results[place]]))
  return ({ id }: Experiment) => byId.get(id) ?? null
})

const shortOf = (results: Results) => {
  const { experiment: _, leftOut: __, sampleRatio: ___, variants, warnings, ...compared } = results
  return {
    ...compared,
    variants:
      variants?.map(({ difference, key, users, value }) => ({ key, users, value, difference })) ??
      null,
    enoughUsers: variants && !warnings.includes("few_users"),
    warnings,
  }
}

/** A row for each variant, for a table. */
export const resultRow = ({
  difference,
  interval,
  ...variant
}: NonNullable<Results["variants"]>[number]): Row => ({
  ...variant,
  low: interval?.low ?? null,
  high: interval?.high ?? null,
  difference: difference?.value ?? null,
  differenceLow: difference?.low ?? null,
  differenceHigh: difference?.high ?? null,
  excludesZero: difference?.excludesZero ?? null,
})
