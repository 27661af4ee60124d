/**
 * The cost of an archive as history grows: of a short history and a ten times longer one, each
 * after another archive and 100,000 new events. No load runs beside it.
 */
import { fill } from "./fill.ts"
import { type BenchLine, comparing } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { bytesAtRest, deviceBytes } from "./load/deviceWrites.ts"
import { processorUs } from "./load/processorTime.ts"
import { makeArchive } from "./makeArchive.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"

const restSeconds = 3
const settings = { LAUREL_ARCHIVE_INTERVAL: "off" }

interface Cost {
  readonly durationMs: number
  readonly processorMs: number
  /** By the device, of all processes of the machine. */
  readonly writtenBytes: number
  /** What the device writes in as long a time while the server is suspended. */
  readonly restBytes: number
}

/** Makes an archive of a server that does nothing else. */
const measured = async (directory: string, laurel: Laurel): Promise<Cost> => {
  const restPerSecond = await bytesAtRest([laurel], directory, restSeconds)
  const writtenBefore = await deviceBytes(directory)
  const timeBefore = processorUs([laurel.pid])
  const { durationMs } = await makeArchive(directory)
  const processorMs = (processorUs([laurel.pid]) - timeBefore) / 1_000
  const writtenBytes = (await deviceBytes(directory)) - writtenBefore
  return { durationMs, processorMs, writtenBytes, restBytes: (restPerSecond * durationMs) / 1_000 }
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
      line(
        `${next}: written to the device`,
        "MiB",
        mebibytes(long!.next.writtenBytes),
        mebibytes(short!.next.writtenBytes),
      ),
      line(
        `${next}: written in that time while the server is suspended`,
        "MiB",
        mebibytes(long!.next.restBytes),
        mebibytes(short!.next.restBytes),
      ),
      { question: first, value: short!.first.durationMs, unit: "ms" },
      {
        question: `${first}: written to the device`,
        value: mebibytes(short!.first.writtenBytes),
        unit: "MiB",
      },
    ]
  })

const mebibytes = (bytes: number): number => bytes / 2 ** 20

if (import.meta.main) {
  const { formatLine } = await import("./Line.ts")
  for (const line of await archivesAsHistoryGrows({ quick: process.argv.includes("--quick") })) {
    console.log(formatLine(line))
  }
}
