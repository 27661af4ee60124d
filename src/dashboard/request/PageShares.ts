/**
 * Limits how many places for pages (`http/pages/Pages.ts`) an account or an environment holds: a
 * slow page, such as a search of many users, holds a place for seconds. All accounts together leave
 * some places free for pages without a share: sign-in, confirmation and the account page.
 */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"

const all = "all"

export class PageShares {
  readonly #held = new Map<string, number>()

  /**
   * Answers if the account has a place left, and its environment too, if the page has one. Fails
   * otherwise.
   */
  hold<A>(
    accountId: string,
    environment: string | undefined,
    answer: Effect.Effect<A, LaurelError>,
  ): Effect.Effect<A, LaurelError> {
    const shares: ReadonlyArray<readonly [name: string, most: number]> = [
      [all, limits.pagesConcurrentMax - limits.pagesReservedForSignIn],
      [accountId, limits.pagesPerAccountMax],
      ...(environment === undefined ? [] : [[environment, limits.pagesPerEnvironmentMax] as const]),
    ]
    return Effect.suspend(() => {
      if (shares.some(([name, most]) => this.#of(name) >= most)) return Effect.fail(tooMany)
      for (const [name] of shares) this.#held.set(name, this.#of(name) + 1)
      const leave = Effect.sync(() => {
        for (const [name] of shares) {
          const left = this.#of(name) - 1
          if (left === 0) this.#held.delete(name)
          else this.#held.set(name, left)
        }
      })
      return Effect.ensuring(answer, leave)
    })
  }

  #of(name: string): number {
    return this.#held.get(name) ?? 0
  }
}

const tooMany = laurelError(
  "overloaded",
  "Too many pages of your account or of this environment are being made. Try again in a second.",
  { retryAfterSeconds: 1 },
)
