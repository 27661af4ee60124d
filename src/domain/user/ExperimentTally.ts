/**
 * What an experiment brought: the users of each variant, added up one by one from their states.
 *
 * - A user counts who was exposed and not merged with a user of another variant.
 * - Of a metric a user has the total. Of the experiment's own metric, if it adds up, only what came
 *   after the exposure. Without an event a user has 0, and of a maximum, a minimum or a latest value
 *   none, so such a user is left out of the mean.
 * - Retention on day n asks whether the user was active on the n-th day of the user's calendar after
 *   the exposure. Users count for whom this day has ended in every time zone, and of whose days the
 *   state still tells (`ActiveDays.ts`).
 */
import type { Experiment } from "../project/Experiment.ts"
import { addsUp, isExtremum, type Metric, unscaled } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import { lastWholeDay } from "../values/Calendar.ts"
import { noSample, type Sample, withValue } from "../values/statistics.ts"
import { activeWordsMax, isActiveOn, wordDays } from "./ActiveDays.ts"
import { metricTotal } from "./MetricState.ts"
import { userDayAt } from "./StreakPeriods.ts"
import { type UserState, userZones } from "./User.ts"

/** What is compared: a metric, the share of users with at least so much of it, or retention. */
export type Measure =
  | { readonly metric: Metric; readonly atLeast?: number }
  | { readonly retentionDays: number }

/** `exposed`: users with the variant; `sample`: those who count. A share is of 1 and 0. */
export interface VariantTally {
  readonly exposed: number
  readonly sample: Sample
}

const nobody: VariantTally = { exposed: 0, sample: noSample }

export class ExperimentTally {
  readonly experiment: Experiment
  readonly measure: Measure
  /** Users whom a merge left with two variants. */
  mixed = 0
  readonly #variants = new Map<string, VariantTally>()

  constructor(experiment: Experiment, measure: Measure) {
    this.experiment = experiment
    this.measure = measure
  }

  of(variant: string): VariantTally {
    return this.#variants.get(variant) ?? nobody
  }

  add(user: UserState, project: ProjectState, now: number): void {
    const exposure = user.experiments.get(this.experiment.id)
    if (exposure === undefined) return
    if (exposure.mixed === true) {
      this.mixed++
      return
    }
    const { at, before = 0, variant } = exposure
    const { exposed, sample } = this.of(variant)
    const value =
      "metric" in this.measure
        ? this.#total(user, this.measure.metric, before)
        : returned(user, project, at, this.measure.retentionDays, now)
    this.#variants.set(variant, {
      exposed: exposed + 1,
      sample: value === undefined ? sample : withValue(sample, value),
    })
  }

  #total(user: UserState, metric: Metric, before: number): number | undefined {
    const { aggregate, decimals, id, key } = metric
    const total = metricTotal(user.metrics.get(id)) ?? (isExtremum(aggregate) ? undefined : 0)
    const atLeast = "atLeast" in this.measure ? this.measure.atLeast : undefined
    if (total === undefined) return atLeast === undefined ? undefined : 0
    const isOwn = key === this.experiment.metric && addsUp(aggregate)
    // An undo of what came before the exposure lowers the total, too.
    const value = unscaled(isOwn ? Math.max(0, total - before) : total, decimals)
    return atLeast === undefined ? value : Number(value >= atLeast)
  }
}

/** 1: the user was active on the day, 0: not; `undefined`: the user does not count. */
const returned = (
  user: UserState,
  project: ProjectState,
  exposedAt: number,
  days: number,
  now: number,
): number | undefined => {
  const day = userDayAt(userZones(user, project), exposedAt) + days
  if (day > lastWholeDay(now)) return undefined
  const { activity } = user
  if (activity === null) return 0
  const firstKept = (activity.lastWord - activeWordsMax + 1) * wordDays
  if (day < firstKept && day !== activity.firstDay) return undefined
  return Number(isActiveOn(activity, day))
}
