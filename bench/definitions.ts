/**
 * Whether the cost of an event depends on the number of definitions that it does not match, and the
 * cost of a user with many badges.
 */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { DefinitionsReport } from "./processes/definitions.ts"

/** Measures both lines; about half a minute. */
export const definitions = async (): Promise<ReadonlyArray<BenchLine>> => {
  const report = await inProcess<DefinitionsReport>("definitions")
  return [
    {
      question: "definitions: 1,000 rules, 1,000 quests, 500 badges",
      value: report.manyMicroseconds,
      unit: "µs/event",
      reference: { name: "two of each", value: report.fewMicroseconds, unit: "µs/event" },
      ratio: report.manyMicroseconds / report.fewMicroseconds,
      goal: "≤ 2×",
    },
    {
      question: "definitions: bytes per user of 10 badges, 5 quests, 3 streaks",
      value: report.bytesPerUser,
      unit: "B",
    },
  ]
}

if (import.meta.main) for (const line of await definitions()) console.log(formatLine(line))
