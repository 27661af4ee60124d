/** The middle one of `values`, which has at least one. */
export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >>> 1]!
