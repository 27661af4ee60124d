/** Retention by cohorts: of all users, of a segment, or of a variant of an experiment. */
import { Effect, Result } from "effect"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { retentionDaysMax, shownRetentionDays } from "../../domain/user/ActivityOfAll.ts"
import type { CohortDays } from "../../domain/user/CohortDays.ts"
import {
  dateOf,
  firstDayOf,
  lastWholeDay,
  type WindowKind,
  windowKindOf,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest } from "../../domain/values/Errors.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { SomeUsers } from "../../engine/read/RetentionOfSome.ts"
import type { Retention, RetentionQuery } from "../api/Analytics.ts"
import { type Range, rangeOf, shareOf, waitOf } from "./ranges.ts"

type Query = typeof RetentionQuery.Type

/** The users who began on a day, and those of them who were active so many days later. */
type Cohorts = Pick<CohortDays, "returned" | "size">

export const retentionOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: Query,
) {
  const project = yield* engine.readProject(environment)
  const { by = "day", format } = query
  const kind = windowKindOf[by]
  const now = engine.timeIn(environment)
  const range = yield* Effect.result(rangeOf(query, zoneOf(project.settings.timezone), now))
  const users = usersOf(project, query)
  if (Result.isFailure(range) || Result.isFailure(users)) {
    const ofRange = Result.isFailure(range) ? (range.failure.errors ?? []) : []
    const ofUsers = Result.isFailure(users) ? users.failure : []
    return yield* Effect.fail(invalidRequest([...ofRange, ...ofUsers]))
  }
  const { first, last } = range.success
  const some = users.success
  const { countedAt, counting, result } = yield* some === undefined
    ? engine.readActiveUsers(environment, waitOf(format))
    : engine.readRetention(environment, some, waitOf(format))
  // A day that ended after the count is not whole in it.
  const whole = lastWholeDay(countedAt ?? now)
  const all = { first: firstDayOf(kind, first), last: firstDayOf(kind, last + 1) - 1 }
  return {
    from: dateOf(all.first),
    to: dateOf(all.last),
    by,
    ...shownUsers(some),
    countedAt: isoTimeOrNull(countedAt),
    counting,
    cohorts: result && cohortsOf(result, kind, { first, last }, whole),
    curve:
      result &&
      Array.from({ length: retentionDaysMax + 1 }, (_, day) => returnedOn(result, all, day, whole)),
  } satisfies typeof Retention.Type
})

/* Whose retention. */

const shownUsers = (some: SomeUsers | undefined) => ({
  segment: some !== undefined && "segment" in some ? some.segment.key : null,
  experiment: some !== undefined && "experiment" in some ? some.experiment.key : null,
  variant: some !== undefined && "experiment" in some ? some.variant : null,
})

const fault = (name: keyof Query, code: Fault["code"], detail: string): Fault => ({
  pointer: `query/${name}`,
  code,
  detail,
})

/** The users whom a request asks for, or its faults; `undefined`: all. */
const usersOf = (
  project: ProjectState,
  query: Query,
): Result.Result<SomeUsers | undefined, ReadonlyArray<Fault>> => {
  const { experiment, segment, variant } = query
  if (segment === undefined && experiment === undefined && variant === undefined) {
    return Result.succeed(undefined)
  }
  if (segment === undefined) return variantOf(project, experiment, variant)
  const faults = (["experiment", "variant"] as const)
    .filter((name) => query[name] !== undefined)
    .map((name) => fault(name, "not_allowed", "must not be sent together with segment"))
  const found = definitionOf(project.segments, segment)
  if (found?.set !== "published") {
    faults.push(fault("segment", "unknown_reference", "matches no active segment of this project"))
    return Result.fail(faults)
  }
  return faults.length > 0 ? Result.fail(faults) : Result.succeed({ segment: found })
}

const variantOf = (
  { experiments }: ProjectState,
  asked: string | undefined,
  variant: string | undefined,
): Result.Result<SomeUsers, ReadonlyArray<Fault>> => {
  if (asked === undefined) {
    return Result.fail([fault("experiment", "missing", "is required together with variant")])
  }
  const experiment = definitionOf(experiments, asked)
  const faults: Array<Fault> = []
  if (experiment === undefined) {
    const detail = "matches no experiment of this project"
    faults.push(fault("experiment", "unknown_reference", detail))
  }
  if (variant === undefined) {
    faults.push(fault("variant", "missing", "is required together with experiment"))
  } else if (experiment?.variants.every(({ key }) => key !== variant)) {
    faults.push(fault("variant", "unknown_reference", "is no variant of the experiment"))
  }
  return experiment === undefined || variant === undefined || faults.length > 0
    ? Result.fail(faults)
    : Result.succeed({ experiment, variant })
}

/* Numbers. */

/** The cohorts of the windows `first` to `last`. */
const cohortsOf = (cohorts: Cohorts, kind: WindowKind, { first, last }: Range, whole: number) =>
  Array.from({ length: last - first + 1 }, (_, place) => {
    const days = {
      first: firstDayOf(kind, first + place),
      last: firstDayOf(kind, first + place + 1) - 1,
    }
    return {
      from: dateOf(days.first),
      to: dateOf(days.last),
      users: sizeOf(cohorts, days),
      days: shownRetentionDays.map((day) => returnedOn(cohorts, days, day, whole)),
    }
  })

const sizeOf = (cohorts: Cohorts, { first, last }: Range): number => {
  let users = 0
  for (let day = first; day <= last; day++) users += cohorts.size(day)
  return users
}

const returnedOn = (
  cohorts: Cohorts,
  { first, last }: Range,
  day: number,
  whole: number,
): NonNullable<(typeof Retention.Type)["curve"]>[number] => {
  let of = 0
  let users = 0
  for (let began = first; began <= Math.min(last, whole - day); began++) {
    of += cohorts.size(began)
    users += cohorts.returned(began, day)
  }
  return { day, of, users, share: shareOf(users, of) }
}
