/** The median of `values`, which must not be empty. */
export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >>> 1]!
