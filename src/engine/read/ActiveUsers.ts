/**
 * Active users and retention of an environment (`ActivityOfAll.ts`), read from the bytes of all users'
 * states without a decode. `CountOfAll.ts` says when.
 *
 * Cost: a pass over the active days of all users, in slices; at most `activityResultsMax` results are kept.
 */
import { Effect } from "effect"
import { ActivityOfAll } from "../../domain/user/ActivityOfAll.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { DaysRead } from "../records/ActivityBytes.ts"
import { CountOfAll } from "./CountOfAll.ts"

/** `countedAt`: the environment's time, epoch milliseconds. */
export interface ActiveUsersCount {
  readonly activity: ActivityOfAll
  readonly countedAt: number
  readonly counting: boolean
}

const dayMs = 86_400_000
/** The earliest calendar is so far ahead of UTC. */
const aheadMsMax = 14 * 3_600_000

export class ActiveUsers {
  readonly #count: CountOfAll<ActivityOfAll>
  readonly #days = new DaysRead()

  constructor(parts: { readonly environments: Environments; readonly now: () => number }) {
    this.#count = new CountOfAll({
      environments: parts.environments,
      now: parts.now,
      what: "active users",
      begin: (environment, now) => {
        const result = new ActivityOfAll(Math.floor((now + aheadMsMax) / dayMs))
        const see = () => result.add(this.#days)
        return { result, from: (prefix) => environment.activityFrom(prefix, this.#days, see) }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(environment: Environment): Effect.Effect<ActiveUsersCount> {
    return Effect.map(this.#count.read(environment), ({ result, ...counted }) => ({
      activity: result,
      ...counted,
    }))
  }
}
