/**
 * The sizes of the data directory's parts, and the room on its disk and on that of the archives: for owners when they look, and
 * for metrics every `diskSampleMs`. A scrape reads the last sample, so it waits for no disk.
 */
import path from "node:path"
import { Effect } from "effect"
import { archivesIn, type Config } from "../../config/Config.ts"
import { partitionsName } from "../../config/PartitionConfig.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { bytesUnder, type Room, roomAt } from "../../storage/disk/DiskUse.ts"

const parts = ["journal", "database", "audit", "archives"] as const
const disks = ["data", "archives"] as const

/** Bytes; `undefined` where the file system does not tell. */
export interface DataUse {
  readonly bytes: Readonly<Record<(typeof parts)[number], number | undefined>>
  readonly room: Readonly<Record<(typeof disks)[number], Room | undefined>>
}

export const readDataUse = Effect.fnUntraced(function* (config: Config) {
  const { dataDirectory } = config
  const archives = archivesIn(config)
  const data = yield* roomAt(dataDirectory)
  const use: DataUse = {
    bytes: {
      journal: yield* bytesUnder(path.join(dataDirectory, "journal")),
      database: yield* bytesUnder(path.join(dataDirectory, "live")),
      audit: yield* bytesUnder(path.join(dataDirectory, "audit")),
      archives: yield* bytesUnder(archives, partitionsName),
    },
    // Before the first archive its folder may not exist.
    room: { data, archives: (yield* roomAt(archives)) ?? data },
  }
  return use
})

export class DataUseMetrics {
  readonly #now: () => number
  #last: DataUse | undefined
  #takenAt = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(metrics: Metrics, now: () => number) {
    this.#now = now
    for (const part of parts) {
      metrics.gauge("laurel_data_bytes", () => this.#use?.bytes[part] ?? Number.NaN, { part })
    }
    for (const disk of disks) {
      const of = (name: keyof Room) => this.#use?.room[disk]?.[name] ?? Number.NaN
      metrics.gauge("laurel_disk_free_bytes", () => of("free"), { disk })
      metrics.gauge("laurel_disk_size_bytes", () => of("total"), { disk })
    }
  }

  /** A disk that does not answer has no size: the last one would look well for ever. */
  get #use(): DataUse | undefined {
    return this.#now() - this.#takenAt > 4 * limits.diskSampleMs ? undefined : this.#last
  }

  sampled(use: DataUse): void {
    this.#last = use
    this.#takenAt = this.#now()
  }
}

/** Samples until it is interrupted. */
export const observeDataUse = (config: Config, metrics: Metrics): Effect.Effect<never> => {
  const observed = new DataUseMetrics(metrics, () => performance.now())
  return Effect.gen(function* () {
    while (true) {
      observed.sampled(yield* readDataUse(config))
      yield* Effect.sleep(limits.diskSampleMs)
    }
  })
}
