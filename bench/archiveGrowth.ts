/**
 * The cost of an archive as history grows: of a short history and a ten times longer one, each
 * after another archive and 100,000 new events. No load runs beside it.
 */
import { readFileSync } from "node:fs"
import { fill } from "./fill.ts"
import { type BenchLine, comparing } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { familyOf } from "./load/family.ts"
import { processorUs } from "./load/processorTime.ts"
import { makeArchive } from "./makeArchive.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"

const settings = { LAUREL_ARCHIVE_INTERVAL: "off" }

interface Cost {
  readonly durationMs: number
  readonly processorMs: number
  readonly writtenBytes: number
}

/** Bytes that the server and its jobs have written to the disk so far. */
const writtenBy = ({ pid }: Laurel): number =>
  familyOf(pid).reduce((sum, each) => {
    try {
      return (
        sum + Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${each}/io`, "utf8"))?.[1])
      )
    } catch {
      return sum
    }
  }, 0)

/** Makes an archive of a server that does nothing else. */
const measured = async (directory: string, laurel: Laurel): Promise<Cost> => {
  const [timeBefore, writtenBefore] = [processorUs([laurel.pid]), writtenBy(laurel)]
  const { durationMs } = await makeArchive(directory)
  return {
    durationMs,
    processorMs: (processorUs([laurel.pid]) - timeBefore) / 1_000,
    writtenBytes: writtenBy(laurel) - writtenBefore,
  }
}

/** Measures all lines; about fifteen minutes, 15 GB of temporary disk. */
export const archivesAsHistoryGrows = ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const users = quick ? 10_000 : 100_000
    const sizes = (quick ? [0.1, 0.6] : [1, 10]).map((millions) => millions * 1_000_000)
    const costs: Array<{ readonly first: Cost; readonly next: Cost }> = []
    let events = 0
    /** A new server: the snapshot has all earlier events. */
    const withServer = async <A>(use: (laurel: Laurel) => Promise<A>): Promise<A> => {
      const laurel = await startLaurel({ directory, settings })
      try {
        return await use(laurel)
      } finally {
        await laurel.stop()
      }
    }
    const grow = (until: number) =>
      withServer(async ({ answer }) => {
        for (; events < until; events += users) await fill(answer, users)
      })
    for (const size of sizes) {
      await grow(size)
      const first = await withServer((laurel) => measured(directory, laurel))
      await grow(events + (quick ? users : 100_000))
      costs.push({ first, next: await withServer((laurel) => measured(directory, laurel)) })
    }
    const [short, long] = costs
    const [shortName, longName] = sizes.map((size) => size.toLocaleString("en-US"))
    const added = (quick ? users : 100_000).toLocaleString("en-US")
    const line = comparing("archives", `of ${shortName}`)
    const next = `of ${longName} events, ${added} of them since the last`
    const first = `archives: the first, of ${shortName} events`
    return [
      line(next, "ms", long!.next.durationMs, short!.next.durationMs, "≤ 1.2×"),
      line(`${next}: processor time`, "ms", long!.next.processorMs, short!.next.processorMs),
      line(`${next}: written`, "MiB", mebibytes(long!.next), mebibytes(short!.next)),
      { question: first, value: short!.first.durationMs, unit: "ms" },
      { question: `${first}: written`, value: mebibytes(short!.first), unit: "MiB" },
    ]
  })

const mebibytes = ({ writtenBytes }: Cost): number => writtenBytes / 2 ** 20

if (import.meta.main) {
  const { formatLine } = await import("./Line.ts")
  for (const line of await archivesAsHistoryGrows({ quick: process.argv.includes("--quick") })) {
    console.log(formatLine(line))
  }
}
