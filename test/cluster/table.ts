/** What a run of the chaos matrix prints at its end. */
import type { Struck } from "./torture.ts"

const medianOf = (sorted: ReadonlyArray<number>): number => sorted[Math.floor(sorted.length / 2)]!

/**
 * A row for each fault. Rows of their own have faults while the partition moves, since two things happen there, and faults that
 * left no runner able to serve: their times have the start of one, or the end of the fault.
 */
export const tableOf = (struck: ReadonlyArray<Struck>): ReadonlyArray<Record<string, unknown>> => {
  const rows = new Map<string, Array<Struck>>()
  for (const each of struck) {
    const moving = each.moment === "moving" ? ", moving" : ""
    const key = `${each.fault}${moving}${each.able === 0 ? ", no runner left" : ""}`
    rows.set(key, [...(rows.get(key) ?? []), each])
  }
  return [...rows]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([fault, all]) => {
      const longest = all
        .map(({ longestMs }) => longestMs)
        .filter((ms) => ms !== null && !Number.isNaN(ms))
        .sort((left, right) => left - right)
      const found = (...kinds: ReadonlyArray<string>): number =>
        all.flatMap(({ findings }) => findings).filter(({ kind }) => kinds.includes(kind)).length
      return {
        fault,
        count: all.length,
        "min ms": longest[0],
        "median ms": medianOf(longest),
        "max ms": longest.at(-1),
        503: all.reduce((sum, { refused }) => sum + refused, 0),
        lost: found("lost"),
        doubled: found("doubled"),
        stale: found("stale"),
        hooks: found("hook"),
        other: found("changed", "failed"),
      }
    })
}
