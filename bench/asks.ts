/** How many commands a second the actors take, without HTTP and without a disk. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { AsksReport } from "./processes/asks.ts"

/** Measures both lines; about 20 seconds. */
export const asks = async (): Promise<ReadonlyArray<BenchLine>> => {
  const report = await inProcess<AsksReport>("asks")
  const line = (question: string, value: number): BenchLine => ({
    question: `asks: ${question}`,
    value,
    unit: "/s",
    reference: { name: "add to a Map, at once", value: report.referencePerSecond, unit: "/s" },
    ratio: value / report.referencePerSecond,
  })
  return [
    line(`${report.callers} callers, one at a time each`, report.onePerSecond),
    line(`${report.together.toLocaleString("en-US")} together, one caller`, report.manyPerSecond),
  ]
}

if (import.meta.main) for (const line of await asks()) console.log(formatLine(line))
