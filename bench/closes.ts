/** The close of a window of 1,000,000 users: prizes for all of them, and a league of them all. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { users as million, withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import type { ClosesInput, ClosesReport } from "./processes/closes.ts"

const quickUsers = 5_000
/** A whole interval of snapshots and the snapshot after it (`limits.snapshotPaceShare`). */
const quietSeconds = 60
const quickQuietSeconds = 5
/** The options that a server has on a machine of 4 GiB or more (`src/startAgain.js`). */
const serverOptions = [
  "--max-semi-space-size=64",
  "--min-semi-space-size=64",
  "--heap-growing-percent=100",
  "--external-memory-accounted-in-global-limit",
]

const closeOf =
  (kind: ClosesInput["kind"], what: string, goal?: string) =>
  ({
    quick = false,
    users = quick ? quickUsers : million,
  }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
    withTemporaryFolder(async (directory) => {
      const input: ClosesInput = {
        directory,
        kind,
        users,
        quietSeconds: quick ? quickQuietSeconds : quietSeconds,
      }
      const { busyMs, done, ms, processorMs, quietMs } = await inProcess<ClosesReport>(
        "closes",
        input,
        undefined,
        serverOptions,
      )
      const of = `${what} of ${done.toLocaleString("en-US")}`
      return [
        {
          question: `${of}: until all is done`,
          value: ms / 1_000,
          unit: "s",
          ...(goal !== undefined && users === million && { goal }),
        },
        {
          question: `${of}: processor time per user`,
          value: (processorMs / done) * 1_000,
          unit: "µs",
        },
        {
          question: `${of}: commands meanwhile, p99`,
          value: busyMs,
          unit: "ms",
          reference: { name: "without a close", value: quietMs, unit: "ms" },
          ratio: busyMs / quietMs,
          goal: "at most 2",
        },
      ]
    })

/** Measures all lines; a few minutes, 2 GB of temporary disk. */
export const leagueClose = closeOf("league", "close of a league", "< 60 s")

/** Measures all lines; a few minutes, 2 GB of temporary disk. */
export const prizes = closeOf("prizes", "prizes")

if (import.meta.main) {
  const users = Number(process.argv[2] ?? million)
  for (const bench of [leagueClose, prizes]) {
    for (const line of await bench({ users })) console.log(formatLine(line))
  }
}
