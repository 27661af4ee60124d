/** The Markdown tables that a run of the chaos matrix prints at its end, over its whole log. */
import { moments } from "./moments.ts"
import type { Struck } from "./torture.ts"

type Row = Readonly<Record<string, string | number>>

const medianOf = (sorted: ReadonlyArray<number>): number | undefined =>
  sorted[Math.floor(sorted.length / 2)]

/** In order. A fault that failed has none, which is null in the log. */
const timesOf = (times: ReadonlyArray<number | null>): ReadonlyArray<number> =>
  times.filter((ms) => Number.isFinite(ms)).sort((left, right) => left! - right!) as Array<number>

/**
 * A row for each fault, with the times without an acknowledged write in its partition. Rows of
 * their own have faults while the partition moves, since two things happen there, and faults that
 * left no runner able to serve: their times have the start of one, or the end of the fault.
 */
export const tableOf = (struck: ReadonlyArray<Struck>): ReadonlyArray<Row> => {
  const rows = Map.groupBy(struck, ({ able, fault, moment }) => {
    const moving = moment === "moving" ? ", moving" : ""
    return `${fault}${moving}${able === 0 ? ", no runner left" : ""}`
  })
  return [...rows]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([fault, all]) => {
      const times = timesOf(all.map(({ partitionMs }) => partitionMs))
      const found = (...kinds: ReadonlyArray<string>): number =>
        all.flatMap(({ findings }) => findings).filter(({ kind }) => kinds.includes(kind)).length
      return {
        fault,
        count: all.length,
        "median ms": medianOf(times) ?? "",
        "longest ms": times.at(-1) ?? "",
        "longest ms of any partition": timesOf(all.map(({ longestMs }) => longestMs)).at(-1) ?? "",
        refused: all.reduce((sum, { refused }) => sum + refused, 0),
        lost: found("lost"),
        doubled: found("doubled"),
        stale: found("stale"),
        hooks: found("hook"),
        other: found("changed", "failed"),
      }
    })
}

/**
 * The table of `src/cluster/README.md`: faults at any moment, in the order of their longest times.
 */
export const summaryOf = (struck: ReadonlyArray<Struck>): ReadonlyArray<Row> => {
  const rows = Map.groupBy(struck, ({ able, fault }) =>
    able === 0 ? "no runner left able to serve, by any fault" : fault,
  )
  return [...rows]
    .map(([fault, all]) => {
      const times = timesOf(all.map(({ partitionMs }) => partitionMs))
      return { fault, count: all.length, median: medianOf(times) ?? 0, longest: times.at(-1) ?? 0 }
    })
    .sort((left, right) => right.longest - left.longest)
    .map(({ fault, count, median, longest }) => ({
      fault,
      count,
      "median ms": median.toLocaleString("en"),
      "longest ms": longest.toLocaleString("en"),
    }))
}

/**
 * Faults at each moment by the number of runners, and those that came when the moment had passed or
 * was not there yet.
 */
export const momentsOf = (struck: ReadonlyArray<Struck>): ReadonlyArray<Row> => {
  const counts = [...new Set(struck.map(({ runners }) => runners))].sort()
  return moments.map((moment) => {
    const all = struck.filter((each) => each.moment === moment)
    const counted = counts.map((count) => {
      const { length } = all.filter(({ runners }) => runners === count)
      return [`${count} runners`, length] as const
    })
    const missed = all.filter(({ isThere }) => isThere === false).length
    return { moment, ...Object.fromEntries(counted), missed }
  })
}

export const markdownOf = (rows: ReadonlyArray<Row>): string => {
  const names = Object.keys(rows[0] ?? {})
  const line = (cells: ReadonlyArray<string | number>): string => `| ${cells.join(" | ")} |`
  return [
    line(names),
    line(names.map((_, index) => (index === 0 ? "---" : "--:"))),
    ...rows.map((row) => line(names.map((name) => row[name]!))),
  ].join("\n")
}
