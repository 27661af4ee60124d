/**
 * Sorts the entries of a whole board: a radix sort over index arrays, from the least significant
 * digit on, first by ties, then by scores. The sort blocks the event loop; a caller that must not
 * do so sets members one by one instead.
 */
import type { Members } from "./Members.ts"

const digitBits = 11
const digitValues = 1 << digitBits

/** The entries of a board in columns of equal length. */
export interface EntryColumns {
  readonly members: Uint32Array
  readonly scores: Float64Array
  readonly ties: Float64Array
}

/** The entries in board order: score descending, tie ascending, user id ascending. */
export const sortEntries = (ids: Members, entries: EntryColumns): EntryColumns => {
  const count = entries.members.length
  const identity = new Uint32Array(count)
  for (let index = 0; index < count; index++) identity[index] = index
  const order = radixSort(radixSort(identity, entries.ties, false), entries.scores, true)
  const sorted = {
    members: new Uint32Array(count),
    scores: new Float64Array(count),
    ties: new Float64Array(count),
  }
  for (let n = 0; n < count; n++) {
    const index = order[n]!
    sorted.members[n] = entries.members[index]!
    sorted.scores[n] = entries.scores[index]!
    sorted.ties[n] = entries.ties[index]!
  }
  sortEqualRuns(ids, sorted)
  return sorted
}

/** Stably sorts `order`, which has indexes into `keys`, by the keys (integers, 0 to 2^53 - 1). */
const radixSort = (order: Uint32Array, keys: Float64Array, descending: boolean): Uint32Array => {
  let least = Number.POSITIVE_INFINITY
  let greatest = 0
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!
    if (key < least) least = key
    if (key > greatest) greatest = key
  }
  let from: Uint32Array = order
  let to: Uint32Array = new Uint32Array(order.length)
  const digits = new Uint16Array(order.length)
  // Digits of the distance from one end: a narrow range of large keys needs few digits.
  for (let unit = 1; greatest - least >= unit; unit *= digitValues) {
    const starts = new Uint32Array(digitValues)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!
      const distance = descending ? greatest - key : key - least
      const digit = Math.floor(distance / unit) & (digitValues - 1)
      digits[index] = digit
      starts[digit]!++
    }
    let start = 0
    for (let digit = 0; digit < digitValues; digit++) {
      const count = starts[digit]!
      starts[digit] = start
      start += count
    }
    for (let n = 0; n < from.length; n++) {
      const index = from[n]!
      to[starts[digits[index]!]!++] = index
    }
    ;[from, to] = [to, from]
  }
  return from
}

/** Sorts runs of equal score and tie by user id. */
const sortEqualRuns = (ids: Members, { members, scores, ties }: EntryColumns): void => {
  let start = 0
  for (let end = 1; end <= members.length; end++) {
    if (end < members.length && ties[end] === ties[start] && scores[end] === scores[start]) continue
    if (end - start > 1) {
      members.subarray(start, end).sort((a, b) => (ids.idOf(a) < ids.idOf(b) ? -1 : 1))
    }
    start = end
  }
}
