/**
 * The row of this runner in `laurel_runner`: its version, the newest format that it knows, and the requests of the last minute.
 * Written every `ownersReadMs` on the session of `Owners`; `formats.ts` rests on it, all else is for people.
 */
import { version } from "../Build.ts"
import { limits } from "../Limits.ts"
import { newestFormat, raiseFormat } from "../storage/postgres/formats.ts"
import type { Statement } from "../storage/postgres/PgConnection.ts"

/** Requests of a runner. */
export interface RequestCounts {
  /** By its own engine, also for other runners. */
  readonly answered: number
  /** To the owner. */
  readonly forwarded: number
}

const none: RequestCounts = { answered: 0, forwarded: 0 }

/** The requests of the last `requestWindowMs`, from counts since the start. */
export class RecentRequests {
  readonly #now: () => number
  readonly #samples: Array<RequestCounts & { readonly at: number }>

  /** `now`: milliseconds, on a clock that only goes forward. */
  constructor(now = () => performance.now()) {
    this.#now = now
    this.#samples = [{ ...none, at: now() }]
  }

  /** Takes the counts since the start. */
  since(counts: RequestCounts): RequestCounts {
    const at = this.#now()
    this.#samples.push({ ...counts, at })
    // The first one stands for the begin of the window.
    while (this.#samples[1]!.at <= at - limits.requestWindowMs) this.#samples.shift()
    const [first] = this.#samples
    return {
      answered: counts.answered - first!.answered,
      forwarded: counts.forwarded - first!.forwarded,
    }
  }
}

const writeText = `WITH former AS (
  DELETE FROM laurel_runner WHERE seen_at < now() - $6::float8 * interval '1 millisecond' AND address <> $1
)
INSERT INTO laurel_runner (address, version, format, answered, forwarded) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (address) DO UPDATE SET version = EXCLUDED.version, format = EXCLUDED.format,
  answered = EXCLUDED.answered, forwarded = EXCLUDED.forwarded, seen_at = now()`

export class RunnerRow {
  readonly #address: string
  readonly #recent = new RecentRequests()
  #writtenAt = Number.NEGATIVE_INFINITY
  /** Requests since the start. */
  requests: () => RequestCounts = () => none

  constructor(address: string) {
    this.#address = address
  }

  /** Writes the row where that is due; a failure leaves it due. */
  async write(run: (statement: Statement) => Promise<unknown>): Promise<void> {
    const now = performance.now()
    if (now - this.#writtenAt < limits.ownersReadMs) return
    const { answered, forwarded } = this.#recent.since(this.requests())
    // A metric that cannot be read is NaN.
    const counts = [answered, forwarded].map((count) => (Number.isFinite(count) ? count : 0))
    const values = [this.#address, version, newestFormat, ...counts, limits.runnerForgottenMs]
    await run({ name: "runner", text: writeText, values })
    await run(raiseFormat(limits.formatWaitMs))
    this.#writtenAt = now
  }
}
