/**
 * The users of an environment who were active in a range of days (`domain/user/RangeUsers.ts`), read from
 * the bytes of all users' states without a decode. `CountOfAll.ts` says when.
 *
 * Cost: a pass over the active days of all users, in slices.
 */
import type { Effect } from "effect"
import { RangeUsers } from "../../domain/user/RangeUsers.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { DaysRead } from "../records/ActivityBytes.ts"
import { type Counted, CountOfAll, type Wait } from "./CountOfAll.ts"

export class UsersOfRange {
  readonly #count: CountOfAll<RangeUsers>
  readonly #days = new DaysRead()

  constructor(parts: { readonly environments: Environments; readonly now: () => number }) {
    this.#count = new CountOfAll({
      environments: parts.environments,
      now: parts.now,
      what: "users of a range of days",
      begin: (environment, _now, key) => {
        const [from, to] = key.split(" ").map(Number) as [number, number]
        const result = new RangeUsers(from, to)
        const see = () => result.add(this.#days)
        return { result, from: (prefix) => environment.activityFrom(prefix, this.#days, see) }
      },
    })
  }

  get run(): Effect.Effect<never> {
    return this.#count.run
  }

  read(
    environment: Environment,
    from: number,
    to: number,
    wait?: Wait,
  ): Effect.Effect<Counted<RangeUsers>> {
    return this.#count.read(environment, wait, `${from} ${to}`)
  }
}
