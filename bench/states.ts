/** The bytes of users' states, and the time to encode and decode one. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { StatesReport } from "./processes/states.ts"

/** Measures all lines; a few seconds. */
export const states = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const report = await inProcess<StatesReport>("states", { users: quick ? 10_000 : 200_000 })
  return report.kinds.flatMap(({ bytes, decode, encode, inline, json, kind, memory, name }) => {
    const line = (
      what: string,
      value: number,
      unit: string,
      reference: readonly [name: string, value: number],
    ): BenchLine => ({
      question: `states: ${what} of a ${kind} user`,
      value,
      unit,
      reference: { name: reference[0], value: reference[1], unit },
      ratio: value / reference[1],
    })
    return [
      line("bytes", bytes, "B", ["JSON", json]),
      line("bytes with all names inline", inline, "B", ["with a name table", bytes]),
      line("memory", memory, "B", ["its bytes and its id", bytes + name]),
      line("encode", encode, "µs", ["JSON.stringify", report.stringify[kind]!]),
      line("decode", decode, "µs", ["JSON.parse", report.parse[kind]!]),
    ]
  })
}

if (import.meta.main) for (const line of await states()) console.log(formatLine(line))
