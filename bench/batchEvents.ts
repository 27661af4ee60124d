/** Events in batches of 1,000 over HTTP, durable, beside parsing the same bytes and adding to a Map. */
import { inProcess } from "./children.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { LoadOptions, LoadReport } from "./processes/load.ts"
import type { ParsedBatchesOptions } from "./processes/parsedBatches.ts"
import { median } from "./statistics.ts"

const eventsPerBatch = 1_000
const referenceRounds = 3

const reference = async (withIds: boolean): Promise<number> => {
  const options: ParsedBatchesOptions = {
    eventsPerBatch,
    withIds,
    warmUpMs: 1_000,
    measureMs: 2_000,
  }
  const { eventsPerSecond } = await inProcess<{ readonly eventsPerSecond: number }>(
    "parsedBatches",
    options,
  )
  return eventsPerSecond
}

const measure = async (withIds: boolean): Promise<ReadonlyArray<BenchLine>> => {
  const references: Array<number> = []
  for (let round = 0; round < referenceRounds; round++) references.push(await reference(withIds))
  const laurel = await startLaurel()
  try {
    const report = await inProcess<LoadReport>("load", {
      ...laurel.answer,
      path: "/v1/events/batch",
      connections: 4,
      eventsPerRequest: eventsPerBatch,
      withIds,
      warmUpMs: 3_000,
      // Long enough for snapshots in the middle: one is due after every 50,000 events.
      measureMs: 12_000,
    } satisfies LoadOptions)
    await checkTotal(laurel, report.eventsInAll)
    references.push(await reference(withIds))
    const value = (report.events * 1_000) / report.durationMs
    const name = `batches: 1,000 events ${withIds ? "with ids" : "without ids"}, durable`
    return [
      {
        question: `${name}, 4 connections`,
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
      { question: `${name}, 99 % within`, value: report.p99Ms, unit: "ms" },
    ]
  } finally {
    await laurel.stop()
  }
}

/** Measures all lines; about a minute. */
export const batchEvents = async (): Promise<ReadonlyArray<BenchLine>> => [
  ...(await measure(true)),
  ...(await measure(false)),
]

if (import.meta.main) for (const line of await batchEvents()) console.log(formatLine(line))
