/**
 * Retention of the users of a segment, or of a variant of an experiment (`CohortDays.ts`), counted from the
 * states of all users. `CountOfAll.ts` says when. A segment has the users who are in it when the pass reaches them.
 * A variant lacks users whom a merge left with two variants.
 *
 * Cost: a decode of each user's state for each segment or variant; at most `activityResultsMax` results
 * are kept. An edit of a segment makes a new one.
 */
import type { Effect } from "effect"
import type { Experiment } from "../../domain/project/Experiment.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import { CohortDays } from "../../domain/user/CohortDays.ts"
import { isMember } from "../../domain/user/Membership.ts"
import { userDayAt } from "../../domain/user/StreakPeriods.ts"
import { type UserState, userZones } from "../../domain/user/User.ts"
import { lastBegunDay } from "../../domain/values/Calendar.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { type Counted, CountOfAll, type Wait } from "./CountOfAll.ts"

/** Whose retention is asked for. */
export type SomeUsers =
  | { readonly segment: Segment }
  | { readonly experiment: Experiment; readonly variant: string }

/** The day on which the user began; `undefined`: the user is not among them. */
type BeganOf = (user: UserState, project: ProjectState) => number | undefined

const keyOf = (some: SomeUsers): string =>
  "segment" in some
    ? `segment ${some.segment.id} ${some.segment.version}`
    : `experiment ${some.experiment.id} ${some.variant}`

const inSegment =
  (id: string, now: number): BeganOf =>
  (user, project) => {
    const segment = project.segments.get(id)
    return segment !== undefined && isMember({ userId: user.id, user, project, now }, segment)
      ? user.activity?.firstDay
      : undefined
  }

const inVariant =
  (id: string, variant: string): BeganOf =>
  (user, project) => {
    const exposure = user.experiments.get(id)
    return exposure === undefined || exposure.mixed === true || exposure.variant !== variant
      ? undefined
      : userDayAt(userZones(user, project), exposure.at)
  }

export class RetentionOfSome {
  readonly #count: CountOfAll<CohortDays>

  constructor({ environments, now }: { environments: Environments; now: () => number }) {
    this.#count = new CountOfAll({
      environments,
      now,
      what: "retention of a segment or variant",
      begin: (environment, begunAt, key) => {
        const [kind, id, variant] = key.split(" ") as [string, string, string]
        const result = new CohortDays(lastBegunDay(begunAt))
        const beganOf = kind === "segment" ? inSegment(id, begunAt) : inVariant(id, variant)
        return {
          result,
          from: (prefix) => {
            const { next, users } = environment.usersFrom(prefix)
            const project = environment.project.durable
            for (const user of users) {
              const began = beganOf(user, project)
              if (began !== undefined) result.add(began, user.activity)
            }
            return next
          },
        }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(environment: Environment, some: SomeUsers, wait?: Wait): Effect.Effect<Counted<CohortDays>> {
    return this.#count.read(environment, wait, keyOf(some))
  }
}
