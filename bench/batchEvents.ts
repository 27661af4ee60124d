/** Events in batches of 1,000 over HTTP, durable, beside parsing the same bytes and adding to a Map. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import type { LoadOptions, LoadReport } from "./processes/load.ts"
import type { ParsedBatchesOptions } from "./processes/parsedBatches.ts"
import { median } from "./statistics.ts"

const eventsPerBatch = 1_000
const rounds = 3

const load = (target: Pick<LoadOptions, "key" | "port">, withIds: boolean, warmUpMs: number) =>
  inProcess<LoadReport>("load", {
    ...target,
    path: "/v1/events/batch",
    connections: 4,
    eventsPerRequest: eventsPerBatch,
    withIds,
    warmUpMs,
    // Long enough for snapshots in the middle: one is due after every 50,000 events.
    measureMs: 8_000,
  } satisfies LoadOptions)

const reference = (withIds: boolean) =>
  inProcess<{ readonly eventsPerSecond: number }>("parsedBatches", {
    eventsPerBatch,
    withIds,
    warmUpMs: 1_000,
    measureMs: 2_000,
  } satisfies ParsedBatchesOptions)

const measure = async (withIds: boolean): Promise<ReadonlyArray<BenchLine>> => {
  const laurel = await startLaurel()
  try {
    const reports: Array<LoadReport> = []
    const references: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      reports.push(await load(laurel.answer, withIds, round === 0 ? 4_000 : 1_000))
      laurel.pause()
      references.push((await reference(withIds)).eventsPerSecond)
      laurel.resume()
    }
    await checkTotal(
      laurel,
      reports.reduce((sum, { eventsInAll }) => sum + eventsInAll, 0),
    )
    const value = median(reports.map(({ durationMs, events }) => (events * 1_000) / durationMs))
    const question = `batches of 1,000 ${withIds ? "with ids" : "without ids"}`
    return [
      {
        question: `${question}: durable, 4 connections`,
        value,
        unit: "events/s",
        reference: {
          name: "JSON.parse and a Map",
          value: median(references),
          unit: "events/s",
        },
        ratio: value / median(references),
        goal: "≥ 0.3×",
      },
      {
        question: `${question}: 99 % answered within`,
        value: median(reports.map(({ p99Ms }) => p99Ms)),
        unit: "ms",
      },
    ]
  } finally {
    await laurel.stop()
  }
}

/** Measures all lines; about a minute and a half. */
export const batchEvents = async (): Promise<ReadonlyArray<BenchLine>> => [
  ...(await measure(true)),
  ...(await measure(false)),
]

if (import.meta.main) for (const line of await batchEvents()) console.log(formatLine(line))
