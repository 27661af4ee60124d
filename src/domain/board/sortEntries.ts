/**
 * Sorts a whole board at once: a radix sort over index arrays, digit by digit from the least significant,
 * ties first and scores last. It does not yield; who must not hold the
 * loop sets members one by one instead.
 */
import type { Members } from "./Members.ts"

const digitBits = 11
const digitValues = 1 << digitBits

/** The indexes of the entries in board order: score descending, tie ascending, user id ascending. */
export const sortEntries = (
  ids: Members,
  members: Uint32Array,
  scores: Float64Array,
  ties: Float64Array,
): Uint32Array => {
  const order = new Uint32Array(members.length)
  for (let index = 0; index < order.length; index++) order[index] = index
  const sorted = radixSort(radixSort(order, ties, false), scores, true)
  sortEqualRuns(sorted, ids, members, scores, ties)
  return sorted
}

/** Sorts `order` by the `keys` (integers, 0 to 2^53 - 1) its entries point to, stably. */
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
  // Distances from one end, so that a narrow range of large keys takes few digits.
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

/** Puts entries of equal score and tie in the order of their user ids. */
const sortEqualRuns = (
  sorted: Uint32Array,
  ids: Members,
  members: Uint32Array,
  scores: Float64Array,
  ties: Float64Array,
): void => {
  let start = 0
  let startTie = -1
  for (let end = 0; end <= sorted.length; end++) {
    const tie = end < sorted.length ? ties[sorted[end]!]! : -1
    // Few have the same tie, so that scores are hardly ever looked at.
    if (tie === startTie && scores[sorted[end]!] === scores[sorted[start]!]) continue
    if (end - start > 1) {
      sorted
        .subarray(start, end)
        .sort((a, b) => (ids.idOf(members[a]!) < ids.idOf(members[b]!) ? -1 : 1))
    }
    start = end
    startTie = tie
  }
}
