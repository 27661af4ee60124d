/**
 * The load of each partition: requests answered and records written in a second, over the last `loadWindowMs`. The owner measures
 * its partitions and publishes them in the table `laurel_load`, so that all runners see the same numbers: moves (`Shares.ts`)
 * and the places of new projects depend on them.
 *
 * - An owner publishes once it has measured for a whole window. Until then the number of the former owner is in force, so that a
 *   partition that has just moved does not look idle.
 * - A load is published again only where it differs from the published one by more than `loadChangeShare`: else the next move
 *   would change with each reading.
 */
import { limits } from "../Limits.ts"
import type { Statement } from "../storage/postgres/PgConnection.ts"

/** A partition's row. */
export interface LoadRow {
  readonly id: unknown
  /** The last record of its journal. */
  readonly last: unknown
  /** The load that was published last. */
  readonly load: unknown
}

interface Sample {
  readonly at: number
  /** Requests and records since an unknown time. */
  readonly count: number
}

const publishText = `INSERT INTO laurel_load (partition, load)
SELECT * FROM unnest($1::int[], $2::float8[])
ON CONFLICT (partition) DO UPDATE SET load = EXCLUDED.load, measured_at = now()`

export class Loads {
  readonly #now: () => number
  readonly #samples = new Map<number, Array<Sample>>()
  #published: ReadonlyMap<number, number> = new Map()
  /** Requests that this runner has answered for a partition since it was opened; `undefined`: it does not serve it. */
  requests: (partition: number) => number | undefined = () => undefined

  /** `now`: milliseconds, on a clock that only goes forward. */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Requests and records in a second, as published. */
  of(partition: number): number {
    return this.#published.get(partition) ?? 0
  }

  /** Takes the rows of all partitions as PostgreSQL has them now; the statement that publishes what has changed. */
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

  /** `undefined`: another runner serves it, or this one not for long enough. */
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
    // The first one stands for the begin of the window.
    while (samples.length > 1 && samples[1]!.at <= at - limits.loadWindowMs) samples.shift()
    const first = samples[0]!
    const ms = at - first.at
    return ms < limits.loadWindowMs ? undefined : ((count - first.count) / ms) * 1_000
  }
}

const isChanged = (published: number, measured: number): boolean =>
  Math.abs(published - measured) > limits.loadChangeShare * Math.max(published, measured)
