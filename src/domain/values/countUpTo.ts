/**
 * How many of the indexes from 0 to `length` satisfy `holds`, which the first ones do, and none
 * after them; O(log n).
 */
export const countWhile = (length: number, holds: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** The number of entries of `sorted` (ascending) that are at most `most`; O(log n). */
export const countUpTo = (sorted: ReadonlyArray<number>, most: number): number =>
  countWhile(sorted.length, (index) => sorted[index]! <= most)
