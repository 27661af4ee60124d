/**
 * The sizes of the parts of the data directory, and the free space on its disk and on the disk of
 * the archives. The dashboard measures on request, the metrics every `diskSampleMs`. A scrape reads
 * the last sample, so it waits for no disk.
 */
import { lstat, readdir, statfs } from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import { archivesIn, type Config, partitionsName } from "../../config/Config.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"

/*
 * Files are measured one after another: a disk that does not answer then blocks only one of Node's
 * few threads for disk calls, which the journal uses as well.
 */

export interface Room {
  /** Bytes that this process can still write to the file system. */
  readonly free: number
  readonly total: number
}

const orUnknown = <A>(ask: () => Promise<A>): Effect.Effect<A | undefined> =>
  Effect.orElseSucceed(Effect.tryPromise(ask), () => undefined)

/**
 * Bytes that a folder and its contents take on disk, except for the entry `without`. 0 if the
 * folder does not exist, `undefined` if it cannot be read.
 */
export const bytesUnder = (folder: string, without?: string): Effect.Effect<number | undefined> =>
  orUnknown(() => bytesOf(folder, without))

const bytesOf = async (folder: string, without?: string): Promise<number> => {
  let bytes = 0
  for (const entry of await orGone(readdir(folder, { withFileTypes: true }), [])) {
    if (entry.name === without) continue
    const where = path.join(folder, entry.name)
    if (entry.isDirectory()) bytes += await bytesOf(where)
    else bytes += blockBytes * (await orGone(blocksOf(where), 0))
  }
  return bytes
}

const blocksOf = async (file: string): Promise<number> => (await lstat(file)).blocks

/** The unit of `blocks` in a file's status, whatever the block size of its file system. */
const blockBytes = 512

/** Files may appear and disappear during the measurement. */
const orGone = <A>(asked: Promise<A>, gone: A): Promise<A> =>
  asked.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return gone
    throw error
  })

/** `undefined` if the file system does not report it. */
export const roomAt = (folder: string): Effect.Effect<Room | undefined> =>
  orUnknown(async () => {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { free: bavail * bsize, total: blocks * bsize }
  })

const parts = ["journal", "database", "audit", "archives"] as const
const disks = ["data", "archives"] as const

/** Bytes; `undefined` if the file system does not report them. */
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

  /** A disk that does not answer has no size: the last sample would hide the failure. */
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
