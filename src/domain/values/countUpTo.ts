/** The number of entries of `sorted` (ascending) that are at most `most`; O(log n). */
export const countUpTo = (sorted: ReadonlyArray<number>, most: number): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! <= most) low = middle + 1
    else high = middle
  }
  return low
}
