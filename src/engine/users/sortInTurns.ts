import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"

/**
 * Sorts the items by `compare`, and keeps the order of equal items: a bottom-up merge sort that
 * yields to the event loop after every `sortTurnItemsMax` items.
 */
export const sortInTurns = Effect.fnUntraced(function* <A>(
  items: Iterable<A>,
  compare: (one: A, other: A) => number,
) {
  const size = limits.sortTurnItemsMax
  let runs: Array<Array<A>> = []
  let run: Array<A> = []
  for (const item of items) {
    run.push(item)
    if (run.length < size) continue
    runs.push(run.sort(compare))
    run = []
    yield* yieldToEventLoop
  }
  runs.push(run.sort(compare))
  while (runs.length > 1) {
    const longer: Array<Array<A>> = []
    for (let at = 0; at < runs.length; at += 2) {
      const one = runs[at]!
      const other = runs[at + 1] ?? []
      // Of the final length: an array that grows is copied repeatedly, each time in one turn.
      const merged = new Array<A>(one.length + other.length)
      let first = 0
      let second = 0
      for (let next = 0; next < merged.length; ) {
        const takeSecond =
          first === one.length ||
          (second < other.length && compare(other[second]!, one[first]!) < 0)
        merged[next++] = takeSecond ? other[second++]! : one[first++]!
        if (next % size === 0) yield* yieldToEventLoop
      }
      longer.push(merged)
    }
    runs = longer
  }
  return runs[0]!
})
