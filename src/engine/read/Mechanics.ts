/**
 * What each mechanic of an environment did (`MechanicTally.ts`), from the states of all users.
 * `CountOfAll.ts` says when.
 *
 * Cost: a decode of each user's state. A new definition is in a result that was made before it, without
 * users.
 */
import type { Effect } from "effect"
import { hasWindow } from "../../domain/project/BoardDefinition.ts"
import { MechanicTally, type TeamBoards } from "../../domain/user/MechanicTally.ts"
import { lastWholeDay } from "../../domain/values/Calendar.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { type Counted, CountOfAll, type Wait } from "./CountOfAll.ts"

export class Mechanics {
  readonly #count: CountOfAll<MechanicTally>

  constructor({ environments, now }: { environments: Environments; now: () => number }) {
    this.#count = new CountOfAll({
      environments,
      now,
      what: "mechanics",
      begin: (environment, begunAt) => {
        const { project } = environment
        const result = new MechanicTally(lastWholeDay(begunAt), teamBoardsOf(environment))
        return {
          result,
          from: (prefix) => {
            const { next, users } = environment.usersFrom(prefix)
            for (const user of users) result.add(user, project.durable)
            return next
          },
        }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(environment: Environment, wait?: Wait): Effect.Effect<Counted<MechanicTally>> {
    return this.#count.read(environment, wait)
  }
}

/** Boards of all time that have not ended: what others had is on disk. */
const teamBoardsOf = ({ boards: { ofTeams } }: Environment): TeamBoards =>
  new Map(
    [...ofTeams]
      .filter(([, { board, ended }]) => ended === undefined && hasWindow(board, "all_time"))
      .map(([id, { allTime }]) => [id, (teamId) => allTime.rankOf(teamId) !== null] as const),
  )
