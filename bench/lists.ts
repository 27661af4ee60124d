/** How long a list of users in the order of xp takes, and how long it holds the event loop. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { ListsReport } from "./processes/lists.ts"

/** Measures all lines; about a minute. */
export const lists = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const users = quick ? 20_000 : 1_000_000
  const { decodeMs, lists } = await inProcess<ListsReport>("lists", { users })
  return lists.flatMap(
    ({ ms, turnMs, what }): ReadonlyArray<BenchLine> => [
      {
        question: `lists: ${what}, of ${users} users`,
        value: ms,
        unit: "ms",
        reference: { name: "a decode of every state", value: decodeMs, unit: "ms" },
        ratio: ms / decodeMs,
      },
      {
        question: `lists: the longest turn of ${what}`,
        value: turnMs,
        unit: "ms",
        reference: { name: "the whole", value: ms, unit: "ms" },
        ratio: turnMs / ms,
      },
    ],
  )
}

if (import.meta.main) for (const line of await lists()) console.log(formatLine(line))
