/**
 * The load of each partition: requests answered plus records written in a second, over the last
 * `loadWindowMs`. The owner measures its partitions and publishes the loads in the table
 * `laurel_load`. All runners see the same numbers there. Moves (`Shares.ts`) and the assignment of
 * new projects depend on them.
 *
 * - An owner publishes once it has measured for a whole window. Until then the former owner's
 *   number stays in force, so a partition that has just moved does not look idle.
 * - An owner publishes a load again only if it differs from the published load by more than
 *   `loadChangeShare`. Otherwise the next move would change with each read.
 */
import { limits } from "../Limits.ts"
import type { Statement } from "../storage/postgres/PgConnection.ts"

/** A partition's row. */
export interface LoadRow {
  readonly id: unknown
  /** The last record of its journal. */
  readonly last: unknown
  /** The published load. */
  readonly load: unknown
}

interface Sample {
  readonly at: number
  /** Requests and records since any fixed time. */
  readonly count: number
}

const publishText = `INSERT INTO laurel_load (partition, load)
SELECT * FROM unnest($1::int[], $2::float8[])
ON CONFLICT (partition) DO UPDATE SET load = EXCLUDED.load, measured_at = now()`

export class Loads {
  readonly #now: () => number
  readonly #samples = new Map<number, Array<Sample>>()
  #published: ReadonlyMap<number, number> = new Map()
  /**
   * Requests that this runner has answered for a partition since it was opened. `undefined`: it
   * does not serve the partition.
   */
  requests: (partition: number) => number | undefined = () => undefined

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** The published load of a partition, in requests and records a second. */
  of(partition: number): number {
    return this.#published.get(partition) ?? 0
  }

  /**
   * `rows`: the rows of all partitions in PostgreSQL. Returns the statement that publishes the
   * changed loads, if any.
   */
  read(rows: ReadonlyArray<LoadRow>): Statement | undefined {
    const published = new Map<number, number>()
    const changed = new Map<number, number>()
    for (const { id, last, load } of rows) {
      const partition = Number(id)
      const known = Number(load ?? 0)
      published.set(partition, known)
      const measured = this.#measure(partition, Number(last))
      if (measured !== undefined && isChanged(known, measured)) changed.set(partition, measured)
    }
    this.#published = published
    if (changed.size === 0) return undefined
    const values = [[...changed.keys()], [...changed.values()]]
    return { name: "loads", text: publishText, values }
  }

  /**
   * `undefined`: this runner does not serve the partition, or has not served it for a whole window.
   */
  #measure(partition: number, records: number): number | undefined {
    const requests = this.requests(partition)
    if (requests === undefined) {
      this.#samples.delete(partition)
      return undefined
    }
    const at = this.#now()
    const count = requests + records
    const before = this.#samples.get(partition)
    const isSame = before !== undefined && before.at(-1)!.count <= count
    const samples = isSame ? before : []
    this.#samples.set(partition, samples)
    const isDue = samples.length === 0 || at - samples.at(-1)!.at >= limits.ownersReadMs / 2
    if (isDue) samples.push({ at, count })
    // The first sample stands for the begin of the window.
    while (samples.length > 1 && samples[1]!.at <= at - limits.loadWindowMs) samples.shift()
    const first = samples[0]!
    const ms = at - first.at
    return ms < limits.loadWindowMs ? undefined : ((count - first.count) / ms) * 1_000
  }
}

const isChanged = (published: number, measured: number): boolean =>
  Math.abs(published - measured) > limits.loadChangeShare * Math.max(published, measured)
