/**
 * A run of a leaderboard's order: in each slot a key (score and tie) and a member number, in two typed arrays.
 * The content of unused slots is undefined.
 *
 * A board spends most of its time moving slots, and a call to move a few kilobytes costs more
 * than the bytes: so score and tie, which are always read together, lie in one array.
 */
import { limits } from "../../Limits.ts"
import type { Members } from "./Members.ts"

/** Up to this many slots a loop is faster than two calls of `copyWithin`. */
const shortMoveSlots = 16

export class Chunk {
  readonly slots: number
  readonly members: Uint32Array
  /** How many slots are in use. */
  used = 0
  /** The score of a slot at twice its number, and its tie behind it. */
  readonly #keys: Float64Array

  constructor(slots: number) {
    // One buffer for both: half of the allocations.
    const buffer = new ArrayBuffer(slots * 20)
    this.slots = slots
    this.members = new Uint32Array(buffer, slots * 16, slots)
    this.#keys = new Float64Array(buffer, 0, slots * 2)
  }

  /** Takes the slots of some members out: `mayGo` says of the last bits of a number whether it may be one of them, `goes` of a member. */
  takeOut(mayGo: Uint8Array, goes: (member: number) => boolean): void {
    const keys = this.#keys
    const { members, used } = this
    const mask = mayGo.length - 1
    let to = 0
    for (let from = 0; from < used; from++) {
      const member = members[from]!
      if (mayGo[member & mask] === 1 && goes(member)) continue
      if (to < from) {
        keys[2 * to] = keys[2 * from]!
        keys[2 * to + 1] = keys[2 * from + 1]!
        members[to] = member
      }
      to++
    }
    this.used = to
  }

  scoreAt(slot: number): number {
    return this.#keys[2 * slot]!
  }

  tieAt(slot: number): number {
    return this.#keys[2 * slot + 1]!
  }

  /** The slot of `member`, which is in this chunk. */
  slotOf(member: number): number {
    return this.members.indexOf(member)
  }

  /** How many slots have a score above `score`. */
  slotsAbove(score: number): number {
    const keys = this.#keys
    let low = 0
    let high = this.used
    while (low < high) {
      const middle = (low + high) >>> 1
      if (keys[2 * middle]! > score) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * The first slot from `start` to `end` whose entry comes after the key (`end` if none does), where the key belongs. -1:
   * user ids decide, but not `byIds`.
   */
  slotFor(
    ids: Members,
    start: number,
    end: number,
    member: number,
    score: number,
    tie: number,
    byIds = true,
  ): number {
    let low = start
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if (!byIds && this.#isAt(middle, score, tie)) return -1
      if (this.precedes(ids, middle, member, score, tie)) low = middle + 1
      else high = middle
    }
    return low
  }

  #isAt(slot: number, score: number, tie: number): boolean {
    return this.#keys[2 * slot] === score && this.#keys[2 * slot + 1] === tie
  }

  /** Whether the entry in `slot` comes before the key: higher score, then lower tie, then lower user id. */
  precedes(ids: Members, slot: number, member: number, score: number, tie: number): boolean {
    const otherScore = this.#keys[2 * slot]!
    if (otherScore !== score) return otherScore > score
    const otherTie = this.#keys[2 * slot + 1]!
    if (otherTie !== tie) return otherTie < tie
    return ids.idOf(this.members[slot]!) < ids.idOf(member)
  }

  put(slot: number, member: number, score: number, tie: number): void {
    this.#keys[2 * slot] = score
    this.#keys[2 * slot + 1] = tie
    this.members[slot] = member
  }

  /** Moves the slots from `start` to `end` (exclusive) to `target`; they may overlap. */
  move(target: number, start: number, end: number): void {
    const keys = this.#keys
    const { members } = this
    if (end - start > shortMoveSlots) {
      keys.copyWithin(2 * target, 2 * start, 2 * end)
      members.copyWithin(target, start, end)
      return
    }
    const step = target < start ? 1 : -1
    let from = target < start ? start : end - 1
    for (let left = end - start; left > 0; left--, from += step) {
      const to = from + target - start
      keys[2 * to] = keys[2 * from]!
      keys[2 * to + 1] = keys[2 * from + 1]!
      members[to] = members[from]!
    }
  }

  /** Copies `size` slots of another chunk, from `start` on, to `target`. */
  copy(target: number, other: Chunk, start: number, size: number): void {
    this.#keys.set(other.#keys.subarray(2 * start, 2 * (start + size)), 2 * target)
    this.members.set(other.members.subarray(start, start + size), target)
  }
}

/** Chunks that are out of use, by their slots. A new one costs much more than all else that moves a member. */
export class SpareChunks {
  readonly #bySlots = new Map<number, Array<Chunk>>()

  /** An empty chunk of `slots` slots. */
  take(slots: number): Chunk {
    return this.#bySlots.get(slots)?.pop() ?? new Chunk(slots)
  }

  give(chunk: Chunk): void {
    chunk.used = 0
    const spare = this.#bySlots.get(chunk.slots)
    if (spare === undefined) this.#bySlots.set(chunk.slots, [chunk])
    else if (spare.length < limits.boardSpareChunksMax) spare.push(chunk)
  }
}
