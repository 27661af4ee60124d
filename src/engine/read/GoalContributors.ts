/**
 * The users who contributed most to each shared goal in its present period, from the states of all
 * users. `CountOfAll.ts` says when. Who is hidden, and who left the team of the contribution, is not
 * among them.
 *
 * Cost: a decode of each user's state. A goal keeps `goalContributorsMax` users.
 */
import type { Effect } from "effect"
import { type Goal, goalPeriodOf } from "../../domain/project/Goal.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { GoalPart } from "../../domain/user/GoalPart.ts"
import { teamsOfUser } from "../../domain/user/TeamMembership.ts"
import type { UserState } from "../../domain/user/User.ts"
import { zoneOf } from "../../domain/values/Calendar.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { type Counted, CountOfAll, type Wait } from "./CountOfAll.ts"

export interface Contributor extends Pick<GoalPart, "period" | "team" | "amount" | "paid"> {
  readonly userId: string
}

/** By goal, the highest contribution first; of equal ones, by the ids of the users. */
export type Contributors = ReadonlyMap<string, ReadonlyArray<Contributor>>

/** The present period, or the last one of a goal that is over. */
export const shownPeriod = (
  goal: Goal,
  { settings }: Pick<ProjectState, "settings">,
  now: number,
): number => {
  const at = goal.endsAt === null ? now : Math.min(now, goal.endsAt - 1)
  return goalPeriodOf(goal, zoneOf(settings.timezone).dayAt(at))
}

class Highest {
  readonly byGoal = new Map<string, Array<Contributor>>()
  readonly #periods: ReadonlyMap<string, number>

  constructor(project: ProjectState, now: number) {
    this.#periods = new Map(
      Array.from(project.goals.values(), (goal) => [goal.id, shownPeriod(goal, project, now)]),
    )
  }

  add(user: UserState, project: ProjectState): void {
    if (user.goals.size === 0 || user.profile.hidden) return
    for (const [goalId, parts] of user.goals) {
      const part = parts.at(-1)
      const period = this.#periods.get(goalId)
      if (part === undefined || period === undefined) continue
      if (part.amount === 0 || part.period < period) continue
      const isMember = ({ team }: { readonly team: { readonly number: number } }) =>
        team.number === part.team
      if (part.team > 0 && !teamsOfUser(user, project).some(isMember)) continue
      const { amount, paid, team } = part
      this.#put(goalId, { userId: user.id, period: part.period, team, amount, paid })
    }
  }

  #put(goalId: string, one: Contributor): void {
    const list = this.byGoal.get(goalId) ?? []
    this.byGoal.set(goalId, list)
    const last = list.at(-1)
    const isFull = list.length >= limits.goalContributorsMax
    if (isFull && last !== undefined && compare(one, last) > 0) return
    const at = list.findIndex((other) => compare(one, other) < 0)
    list.splice(at < 0 ? list.length : at, 0, one)
    if (list.length > limits.goalContributorsMax) list.pop()
  }
}

const compare = (one: Contributor, other: Contributor): number =>
  other.amount - one.amount || compareCodePoints(one.userId, other.userId)

export class GoalContributors {
  readonly #count: CountOfAll<Contributors>

  constructor({ environments, now }: { environments: Environments; now: () => number }) {
    this.#count = new CountOfAll<Contributors>({
      environments,
      now,
      what: "contributors to goals",
      begin: (environment, begunAt) => {
        const { durable } = environment.project
        const highest = new Highest(durable, begunAt)
        return {
          result: highest.byGoal,
          from: (prefix) => {
            const { next, users } = environment.usersFrom(prefix)
            for (const user of users) highest.add(user, durable)
            return next
          },
        }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(environment: Environment, wait?: Wait): Effect.Effect<Counted<Contributors>> {
    return this.#count.read(environment, wait)
  }
}
