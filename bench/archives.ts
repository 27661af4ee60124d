/**
 * The cost of operators' copies of a data directory of 1,000,000 users: callers' latencies while
 * snapshots and archives are made, the time that an archive takes, and its size.
 */
import fs from "node:fs/promises"
import path from "node:path"
import { archivesAsHistoryGrows } from "./archiveGrowth.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { type Laurel, type LaurelOptions, startLaurel } from "./laurel.ts"
import { closedLoop, openLoop } from "./loads.ts"
import { makeArchive } from "./makeArchive.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"

/** Share of the rate in a closed loop: the server is busy, and no queue builds up. */
const share = 0.25
/** Longer than an archive takes. */
const busySecondsMax = 240

/** The minimum work of an archive: its bytes copied, and on disk. */
const copyOfLive = async (directory: string): Promise<number> => {
  const target = path.join(directory, "copy.mdb")
  const startedAt = performance.now()
  await fs.copyFile(path.join(directory, "live", "data.mdb"), target)
  const file = await fs.open(target, "r+")
  await file.sync()
  await file.close()
  const durationMs = performance.now() - startedAt
  await fs.rm(target)
  return durationMs
}

/** Runs `use` with a server that ends with it. */
const withLaurel = async <A>(
  options: LaurelOptions,
  use: (laurel: Laurel) => Promise<A>,
): Promise<A> => {
  const laurel = await startLaurel(options)
  try {
    return await use(laurel)
  } finally {
    await laurel.stop()
  }
}

const calm = { LAUREL_SNAPSHOT_INTERVAL: "1 hour", LAUREL_ARCHIVE_INTERVAL: "off" }
const writing = { LAUREL_SNAPSHOT_INTERVAL: "2 seconds", LAUREL_ARCHIVE_INTERVAL: "off" }

/** Measures all lines; about twenty minutes, 20 GB of temporary disk. */
export const archives = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => [
  ...(await archivesBesideLoad(options)),
  ...(await archivesAsHistoryGrows(options)),
]

const archivesBesideLoad = ({ quick = false }: BenchOptions): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const users = quick ? 20_000 : 1_000_000
    const count = users.toLocaleString("en-US")
    /** Until `over` is settled, if there is one. */
    const open = ({ answer }: Laurel, perSecond: number, over?: Promise<unknown>) => {
      const quietSeconds = quick ? 3 : 15
      const measureSeconds = over === undefined ? quietSeconds : busySecondsMax
      const rate = { connections: 200, perSecond, warmUpSeconds: 2, measureSeconds }
      return openLoop(answer, rate, over)
    }
    // A new server still compiles its code, and reads each user of the load from disk.
    const warm = async ({ answer }: Laurel): Promise<number> => {
      await closedLoop(answer, quick ? 2 : 8)
      return (await closedLoop(answer, quick ? 2 : 4)).perSecond
    }
    // The server that filled the directory has all users in memory, so it is no reference.
    await withLaurel({ directory, settings: calm }, ({ answer }) => fill(answer, users))
    const { before, perSecond } = await withLaurel({ directory, settings: calm }, async (quiet) => {
      const perSecond = Math.round(share * (await warm(quiet)))
      return { perSecond, before: await open(quiet, perSecond) }
    })
    const { during, made } = await withLaurel({ directory, settings: writing }, async (busy) => {
      await warm(busy)
      const making = makeArchive(directory)
      const during = await open(busy, perSecond, making)
      return { during, made: await making }
    })
    const after = await withLaurel({ directory, settings: calm }, async (quiet) => {
      await warm(quiet)
      return open(quiet, perSecond)
    })
    const copyMs = await copyOfLive(directory)
    const { size } = await fs.stat(path.join(directory, "live", "data.mdb"))

    const beside = `${perSecond.toLocaleString("en")} events/s, neither snapshot nor archive`
    const quietMs = (before.whole.p99Ms + after.whole.p99Ms) / 2
    const { bytes, durationMs: archiveMs } = made
    return [
      {
        question: "archives: 99 % of events answered while one is made",
        value: during.whole.p99Ms,
        unit: "ms",
        reference: { name: beside, value: quietMs, unit: "ms" },
        ratio: during.whole.p99Ms / quietMs,
        goal: "≤ 2×",
      },
      {
        question: "archives: 99 % within, after that load and before it",
        value: after.whole.p99Ms,
        unit: "ms",
        reference: { name: "before it", value: before.whole.p99Ms, unit: "ms" },
        ratio: after.whole.p99Ms / before.whole.p99Ms,
        goal: "1×, else the machine was busy",
      },
      {
        question: "archives: longest time that the load stood still",
        value: during.longestPauseMs,
        unit: "ms",
        reference: {
          name: "without",
          value: Math.max(before.longestPauseMs, after.longestPauseMs),
          unit: "ms",
        },
        goal: "< 100 ms, else the machine was busy",
      },
      {
        question: `archives: of ${count} users, made beside that load`,
        value: archiveMs,
        unit: "ms",
        reference: { name: "the snapshot copied and flushed", value: copyMs, unit: "ms" },
        ratio: archiveMs / copyMs,
      },
      {
        question: `archives: size of ${count} users, without the journal's files`,
        value: bytes / 2 ** 20,
        unit: "MiB",
        reference: { name: "the snapshot", value: size / 2 ** 20, unit: "MiB" },
        ratio: bytes / size,
      },
    ]
  })

if (import.meta.main) for (const line of await archives()) console.log(formatLine(line))
