import { decideUser } from "../../src/domain/decide/Decide.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { Domain } from "../../src/engine/actor/Environments.ts"

/** A domain with a bug that can be armed: after a number of calls, `decide` or `apply` throws. */
export class Defects {
  #left = { decide: Number.POSITIVE_INFINITY, apply: Number.POSITIVE_INFINITY }
  #times = 0
  /** How often it threw. */
  thrown = 0

  /** Arms the bug: after `calls` more calls of a function it throws, `times` times. */
  arm(where: "decide" | "apply", calls: number, times: number): void {
    this.#left[where] = calls
    this.#times = times
  }

  get armed(): boolean {
    return this.#times > 0
  }

  disarm(): void {
    this.#times = 0
  }

  #called(where: "decide" | "apply"): void {
    if (this.#times === 0 || --this.#left[where] > 0) return
    this.#times--
    this.thrown++
    throw new Error(`a bug in ${where}`)
  }

  readonly domain: Domain = {
    decideUser: (...asked) => {
      this.#called("decide")
      return decideUser(...asked)
    },
    applyUser: (...asked) => {
      this.#called("apply")
      return applyUser(...asked)
    },
  }
}
