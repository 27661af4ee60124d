/** How many commands a second the actors take, without HTTP and without a disk. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { AsksOptions, AsksReport } from "./processes/asks.ts"

const fullAsks: AsksOptions = { asksPerRound: 200_000, rounds: 5 }
const quickAsks: AsksOptions = { asksPerRound: 5_000, rounds: 1 }

/** Measures both lines; about 20 seconds, with `quick` a few. */
export const asks = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const report = await inProcess<AsksReport>("asks", quick ? quickAsks : fullAsks)
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
