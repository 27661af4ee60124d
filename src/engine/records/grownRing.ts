/** Columns of numbers by sequence: of consecutive records, the one with `sequence` stands at `sequence` modulo the length. */

/** The first length of a ring. All lengths are powers of two. */
export const ringRecordsMin = 1_024

/** A ring twice as long, with the numbers of the records from `first` to `end` (exclusive). */
export const grownRing = (
  ring: Uint32Array,
  first: number,
  end: number,
): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(2 * ring.length)
  for (let sequence = first; sequence < end; sequence++) {
    grown[sequence & (grown.length - 1)] = ring[sequence & (ring.length - 1)]!
  }
  return grown
}
