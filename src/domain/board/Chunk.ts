/**
 * A run of a leaderboard's order: score, tie and member number side by side in typed arrays, slot by slot.
 * It does not know how many of its slots are taken; its owner does, and passes ends and sizes. Slots behind
 * those hold anything.
 */
import type { Members } from "./Members.ts"

/** Up to this many slots a loop is faster than three calls of `copyWithin`. */
const shortMoveSlots = 24

export class Chunk {
  scores!: Float64Array
  ties!: Float64Array
  members!: Uint32Array

  constructor(slots: number) {
    this.#allocate(slots)
  }

  get slots(): number {
    return this.members.length
  }

  /** The slot of `member`, which is in this chunk. */
  slotOf(member: number): number {
    return this.members.indexOf(member)
  }

  /** How many of the first `size` slots have a score above `score`. */
  slotsAbove(size: number, score: number): number {
    const scores = this.scores
    let low = 0
    let high = size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (scores[middle]! > score) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The first slot from `start` to `end` whose entry comes after the key (`end` if none does), where the key belongs. */
  slotFor(
    ids: Members,
    start: number,
    end: number,
    member: number,
    score: number,
    tie: number,
  ): number {
    let low = start
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.precedes(ids, middle, member, score, tie)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Whether the entry in `slot` comes before the key: higher score, then lower tie, then lower user id. */
  precedes(ids: Members, slot: number, member: number, score: number, tie: number): boolean {
    const otherScore = this.scores[slot]!
    if (otherScore !== score) return otherScore > score
    const otherTie = this.ties[slot]!
    if (otherTie !== tie) return otherTie < tie
    return ids.idOf(this.members[slot]!) < ids.idOf(member)
  }

  put(slot: number, member: number, score: number, tie: number): void {
    this.scores[slot] = score
    this.ties[slot] = tie
    this.members[slot] = member
  }

  /** Moves the slots from `start` to `end` (exclusive) to `target`; they may overlap. */
  move(target: number, start: number, end: number): void {
    const { scores, ties, members } = this
    if (end - start > shortMoveSlots) {
      scores.copyWithin(target, start, end)
      ties.copyWithin(target, start, end)
      members.copyWithin(target, start, end)
      return
    }
    const step = target < start ? 1 : -1
    let from = target < start ? start : end - 1
    for (let left = end - start; left > 0; left--, from += step) {
      const to = from + target - start
      scores[to] = scores[from]!
      ties[to] = ties[from]!
      members[to] = members[from]!
    }
  }

  /** Copies `size` slots of another chunk, from `start` on, to `target`. */
  copy(target: number, other: Chunk, start: number, size: number): void {
    this.scores.set(other.scores.subarray(start, start + size), target)
    this.ties.set(other.ties.subarray(start, start + size), target)
    this.members.set(other.members.subarray(start, start + size), target)
  }

  /** Changes the number of slots, keeping the first `size`. */
  resize(slots: number, size: number): void {
    const { scores, ties, members } = this
    this.#allocate(slots)
    this.scores.set(scores.subarray(0, size))
    this.ties.set(ties.subarray(0, size))
    this.members.set(members.subarray(0, size))
  }

  /** One buffer for the three columns: a third of the allocations. */
  #allocate(slots: number): void {
    const buffer = new ArrayBuffer(slots * 20)
    this.scores = new Float64Array(buffer, 0, slots)
    this.ties = new Float64Array(buffer, slots * 8, slots)
    this.members = new Uint32Array(buffer, slots * 16, slots)
  }
}
