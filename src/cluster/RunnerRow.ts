/**
 * This runner's row in `laurel_runner`: its version, its lock expiration, and its requests of the
 * last minute. `Owners` writes the row every `ownersReadMs` on its session.
 *
 * Runners with different expirations could return stale reads: the runner with the shorter
 * expiration takes over a partition while the owner, by its own longer expiration, may still
 * answer. So a runner does not start while a live runner has another expiration.
 */

import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { version } from "../Build.ts"
import { limits } from "../Limits.ts"
import type { InPostgres, PgConnection, Statement } from "../storage/postgres/PgConnection.ts"
import { silentSecondsText, tablePrefix } from "./status.ts"

/** Counts of the requests of a runner. */
export interface RequestCounts {
  /** Answered by its own engine, also for other runners. */
  readonly answered: number
  /** Forwarded to the owner. */
  readonly forwarded: number
}

const none: RequestCounts = { answered: 0, forwarded: 0 }

/** Computes the requests of the last `requestWindowMs` from counts since the start. */
export class RecentRequests {
  readonly #now: () => number
  readonly #samples: Array<RequestCounts & { readonly at: number }>

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now = () => performance.now()) {
    this.#now = now
    this.#samples = [{ ...none, at: now() }]
  }

  /** `counts`: the counts since the start. */
  since(counts: RequestCounts): RequestCounts {
    const at = this.#now()
    this.#samples.push({ ...counts, at })
    // The first sample stands for the begin of the window.
    while (this.#samples[1]!.at <= at - limits.requestWindowMs) this.#samples.shift()
    const [first] = this.#samples
    return {
      answered: counts.answered - first!.answered,
      forwarded: counts.forwarded - first!.forwarded,
    }
  }
}

const writeText = `WITH former AS (
  DELETE FROM laurel_runner WHERE seen_at < now() - $5::float8 * interval '1 millisecond' AND address <> $1
)
INSERT INTO laurel_runner (address, version, answered, forwarded, lock_expiration_ms)
VALUES ($1, $2, $3, $4, $6)
ON CONFLICT (address) DO UPDATE SET version = EXCLUDED.version,
  answered = EXCLUDED.answered, forwarded = EXCLUDED.forwarded, lock_expiration_ms = EXCLUDED.lock_expiration_ms,
  seen_at = now()`

/** Finds a runner with another expiration that is alive, judged by its own expiration. */
const otherExpirationText = `SELECT address, lock_expiration_ms AS ms
FROM laurel_runner JOIN ${tablePrefix}_runners USING (address)
WHERE address <> $1 AND lock_expiration_ms <> $2::float8
AND ${silentSecondsText} * 1000 <= lock_expiration_ms LIMIT 1`

/** A live runner has another expiration. */
export class ExpirationDiffers extends Error {
  readonly address: string
  readonly otherMs: number

  constructor(address: string, otherMs: number) {
    super(`The server ${address} has a lock expiration of ${otherMs} ms`)
    this.address = address
    this.otherMs = otherMs
  }
}

interface Own {
  readonly address: string
  readonly lockExpirationMs: number
}

export class RunnerRow {
  readonly #own: Own
  readonly #recent = new RecentRequests()
  #writtenAt = Number.NEGATIVE_INFINITY
  /** Requests since the start. */
  requests: () => RequestCounts = () => none

  constructor(own: Own) {
    this.#own = own
  }

  /** Rejects with `ExpirationDiffers`. */
  async insistExpiration(
    run: (statement: Statement) => Promise<ReadonlyArray<Record<string, unknown>>>,
  ): Promise<void> {
    const values = [this.#own.address, this.#own.lockExpirationMs]
    const [other] = await run({ text: otherExpirationText, values })
    if (other !== undefined) throw new ExpirationDiffers(String(other.address), Number(other.ms))
  }

  /** Writes the row if it is due. After a failure it stays due. */
  async write(run: (statement: Statement) => Promise<unknown>): Promise<void> {
    const now = performance.now()
    if (now - this.#writtenAt < limits.ownersReadMs) return
    const { answered, forwarded } = this.#recent.since(this.requests())
    // A metric that cannot be read is NaN.
    const counts = [answered, forwarded].map((count) => (Number.isFinite(count) ? count : 0))
    const { address, lockExpirationMs } = this.#own
    const own = [address, version, ...counts]
    const values = [...own, limits.runnerForgottenMs, Math.round(lockExpirationMs)]
    await run({ name: "runner", text: writeText, values })
    this.#writtenAt = now
  }
}

const secretBytes = 32

/**
 * Returns the secret with which runners authenticate forwarded requests. The first runner creates
 * it in PostgreSQL.
 */
export const readSecret = (connection: PgConnection): InPostgres<string> =>
  Effect.gen(function* () {
    yield* connection.run({
      text: "INSERT INTO laurel_secret VALUES (1, $1) ON CONFLICT DO NOTHING",
      values: [randomBytes(secretBytes).toString("base64url")],
    })
    const [row] = yield* connection.run({ text: "SELECT secret FROM laurel_secret WHERE id = 1" })
    return String(row?.secret)
  })
