/** The contributions to a shared goal by day. */
import { Effect } from "effect"
import { decimalsOf, type Goal } from "../../domain/project/Goal.ts"
import { unscaled } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { dateOf, dayOf, zoneOf } from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import type { GoalTotals } from "../../engine/actor/GoalTotals.ts"
import { limits } from "../../Limits.ts"
import { type GoalDaysQuery, goalDaysDefault } from "../api/Goals.ts"

interface Reading {
  readonly project: ProjectState
  readonly now: number
  readonly days: GoalTotals["days"]
}

/** The first and the last day that a request asks for. */
const rangeOf = (
  { from, to }: typeof GoalDaysQuery.Type,
  { endsAt }: Goal,
  { now, project }: Reading,
): Effect.Effect<readonly [first: number, last: number], LaurelError<"invalid_request">> => {
  const zone = zoneOf(project.settings.timezone)
  const today = zone.dayAt(now)
  const lastDay = endsAt === null ? today : Math.min(today, zone.dayAt(endsAt - 1))
  const earliest = today - limits.goalDaysMax + 1
  const last = to === undefined ? Math.max(earliest, lastDay) : dayOf(to)!
  const first = from === undefined ? Math.max(earliest, last - goalDaysDefault + 1) : dayOf(from)!
  const faults: Array<Fault> = []
  const add = (pointer: string, detail: string) =>
    void faults.push({ pointer, code: "out_of_range", detail })
  const tooLongAgo = `must be at most ${limits.goalDaysMax - 1} days before today`
  if (first < earliest) add("query/from", tooLongAgo)
  if (first > last) {
    if (from === undefined) add("query/to", tooLongAgo)
    else if (to !== undefined) add("query/to", "must not be before from")
    else add("query/from", `must not be after the last day, ${dateOf(last)}`)
  }
  // The day has begun in every time zone.
  if (last > today + 1) add("query/to", "must not be in the future")
  return faults.length > 0 ? Effect.fail(invalidRequest(faults)) : Effect.succeed([first, last])
}

export const goalDays = (goal: Goal, query: typeof GoalDaysQuery.Type, reading: Reading) =>
  Effect.map(rangeOf(query, goal, reading), ([first, last]) => {
    const { days, project } = reading
    const decimals = decimalsOf(project.metrics, goal)
    return {
      from: dateOf(first),
      to: dateOf(last),
      days: Array.from({ length: last - first + 1 }, (_, place) => ({
        date: dateOf(first + place),
        contributed: unscaled(days.amountOn(goal.id, first + place), decimals),
      })),
    }
  })
