/**
 * Failed sign-ins in the audit log. There is an entry whenever a pause after wrong passwords begins
 * (`people/Throttle`), at most `auditFailuresPerHourMax` an hour, so that guesses from many
 * addresses cannot push other entries out. The next entry has the number of unlogged pauses before
 * it. No entry contains the typed text: somebody may have typed a password into the field of the
 * address.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { Guessing } from "../people/People.ts"
import { type AuditLog, RequestOrigin } from "./AuditLog.ts"

/**
 * Counts by name within the current hour. Each hour begins without names, so that few names are
 * held.
 */
export class HourlyCounts {
  readonly #most: number
  readonly #now: () => number
  readonly #counts = new Map<string, number>()
  #hour = 0

  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  #current(): Map<string, number> {
    const hour = Math.floor(this.#now() / 3_600_000)
    if (hour !== this.#hour) {
      this.#counts.clear()
      this.#hour = hour
    }
    return this.#counts
  }

  /** Whether the count of `name` has reached the limit. */
  isFull(name: string): boolean {
    return (this.#current().get(name) ?? 0) >= this.#most
  }

  add(name: string): void {
    const counts = this.#current()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}

const all = "all"

export const logFailedSignIns = (
  log: AuditLog,
  now: () => number,
): ((guessing: Guessing) => Effect.Effect<void>) => {
  const counts = new HourlyCounts(limits.auditFailuresPerHourMax, now)
  let unlogged = 0
  return ({ account, address, pauseMs }) =>
    Effect.suspend(() => {
      if (counts.isFull(all)) {
        unlogged++
        return Effect.void
      }
      counts.add(all)
      const others = unlogged === 0 ? "" : `, and ${unlogged} more since the entry before`
      unlogged = 0
      return Effect.flatMap(RequestOrigin, ({ requestId }) =>
        // The store has logged a failure in the server's log.
        Effect.ignore(
          log.write({
            action: "session.fail_sign_in",
            by: "visitor",
            subject: account?.id ?? "",
            detail: `wrong passwords, a pause of ${Math.ceil(pauseMs / 1_000)} s${others}`,
            projectId: null,
            environment: null,
            address,
            requestId,
          }),
        ),
      )
    })
}
