/**
 * Active users and retention of an environment (`ActivityOfAll.ts`), read from the bytes of all users'
 * states without a decode. `CountOfAll.ts` says when.
 *
 * Cost: a pass over the active days of all users, in slices; at most `activityResultsMax` results are kept.
 */
import type { Effect } from "effect"
import { ActivityOfAll } from "../../domain/user/ActivityOfAll.ts"
import { lastBegunDay } from "../../domain/values/Calendar.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { DaysRead } from "../records/ActivityBytes.ts"
import { type Counted, CountOfAll, type Wait } from "./CountOfAll.ts"

export class ActiveUsers {
  readonly #count: CountOfAll<ActivityOfAll>
  readonly #days = new DaysRead()

  constructor(parts: { readonly environments: Environments; readonly now: () => number }) {
    this.#count = new CountOfAll({
      environments: parts.environments,
      now: parts.now,
      what: "active users",
      begin: (environment, now) => {
        const result = new ActivityOfAll(lastBegunDay(now))
        const see = () => result.add(this.#days)
        return { result, from: (prefix) => environment.activityFrom(prefix, this.#days, see) }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(environment: Environment, wait?: Wait): Effect.Effect<Counted<ActivityOfAll>> {
    return this.#count.read(environment, wait)
  }
}
