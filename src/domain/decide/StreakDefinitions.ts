/** Decides the commands on streaks. `Streaks.ts` extends, pays and breaks them. */
import { limits } from "../../Limits.ts"
import { weekdays } from "../project/Boost.ts"
import { activeCurrency } from "../project/Currency.ts"
import { defaults, type New, type Status } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Streak, StreakPause } from "../project/StreakDefinition.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import {
  givenReferenceFaults,
  type Known,
  knownAs,
  metadataFaults,
  metricReferenceFaults,
  segmentReferenceFaults,
  streakInUse,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

type Members = Pick<
  Streak,
  | "name"
  | "description"
  | "needs"
  | "match"
  | "restDays"
  | "freezes"
  | "milestones"
  | "atRisk"
  | "pauses"
  | "repair"
  | "startsAt"
  | "endsAt"
>

/** A merge patch of a streak. */
export interface StreakChange extends Partial<Members> {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

export const streaks = new Decisions<"streak", New<Streak>, StreakChange, "in_use">({
  noun: "streak",
  max: limits.streaksMax,
  archivedMax: limits.archivedStreaksMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...defaults, ...given }),
  normal: (_, streak) => inOrder(streak),
  faults: (state, streak, { before, known }) => [
    ...streakFaults(state, streak, known),
    ...(before === undefined || streak.every === before.every
      ? []
      : [{ pointer: "/every", code: "invalid_value", detail: "cannot change" }]),
  ],
  completed: (streak, before, now) =>
    numbered(before === undefined ? streak : dated(before, streak, now), before),
  inUse: streakInUse,
})

/** The milestones by target, as `Streaks.ts` pays them, and the rest days as in a week. */
const inOrder = (streak: Streak): Streak => ({
  ...streak,
  restDays: weekdays.filter((day) => streak.restDays.includes(day)),
  milestones: streak.milestones.toSorted((one, other) => one.target - other.target),
})

/** The definition with its former terms, which still count for the periods of their time. */
const dated = (before: Streak, changed: Streak, now: number): Streak => {
  const { freezes, restDays, termsBefore = [] } = before
  const isSame = noChange(freezes, changed.freezes) && noChange(restDays, changed.restDays)
  if (isSame) return changed
  const former = [...termsBefore, { freezes, restDays, until: now }]
  return { ...changed, termsBefore: former.slice(-limits.streakEditsMax) }
}

/** The definition with a number for each new pause. A pause that stays as it is keeps its number. */
const numbered = (streak: Streak, before: Streak | undefined): Streak => {
  if (streak.pauses.length === 0) return streak
  let made = before?.pausesMade ?? 0
  const pauses = streak.pauses.map((pause): StreakPause => {
    const { from, segment, to } = pause
    const same = before?.pauses.find(
      (one) => one.from === from && one.to === to && one.segment === segment,
    )
    return same ?? { from, to, segment, number: ++made }
  })
  return { ...streak, pauses, pausesMade: made }
}

const streakFaults = (state: ProjectState, streak: Streak, known?: Known): ReadonlyArray<Fault> => {
  const { atRisk, every, freezes, milestones, restDays } = streak
  const faults: Array<Fault> = [...periodFaults(streak), ...metadataFaults(streak.metadata)]
  if (every !== "day" && restDays.length > 0) {
    const detail = "is only for streaks of days"
    faults.push({ pointer: "/restDays", code: "invalid_value", detail })
  }
  if (every === "day" && (atRisk?.hoursBefore ?? 0) > limits.streakAtRiskDayHoursMax) {
    const detail = `must be at most ${limits.streakAtRiskDayHoursMax} for a streak of days`
    faults.push({ pointer: "/atRisk/hoursBefore", code: "invalid_value", detail })
  }
  if (freezes.initial > freezes.max) {
    const detail = "must be at most max"
    faults.push({ pointer: "/freezes/initial", code: "out_of_range", detail })
  }
  for (const [index, { segment }] of streak.pauses.entries()) {
    faults.push(...segmentReferenceFaults(state, segment, `/pauses/${index}/segment`))
  }
  faults.push(...priceFaults(state, streak, known))
  for (const [index, { metric }] of streak.needs.entries()) {
    faults.push(...metricReferenceFaults(state, metric, `/needs/${index}/metric`))
  }
  const isKnown = (name: string) =>
    name === knownAs("streak", streak.key) || known?.has(name) === true
  for (const [index, { reward }] of milestones.entries()) {
    const pointer = `/milestones/${index}/reward`
    faults.push(...givenReferenceFaults(state, reward, pointer, isKnown))
  }
  return faults
}

/** The faults of the price of a repair, other than currencies that a file of definitions makes later. */
const priceFaults = (
  { currencies }: ProjectState,
  { repair }: Streak,
  known?: Known,
): ReadonlyArray<Fault> =>
  Object.keys(repair?.price ?? {}).flatMap((key): ReadonlyArray<Fault> => {
    const pointer = `/repair/price/${key}`
    const currency = activeCurrency(currencies, key)
    if (currency === undefined) {
      if (known?.has(knownAs("currency", key)) === true) return []
      const detail = "matches no active currency of this project"
      return [{ pointer, code: "unknown_reference", detail }]
    }
    const detail = "matches a currency that cannot be spent"
    return currency.spendable ? [] : [{ pointer, code: "invalid_value", detail }]
  })
