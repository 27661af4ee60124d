/**
 * A chunk: a run of a leaderboard's order. Each slot has a key (score and tie) and a member number,
 * in two typed arrays. The content of unused slots is undefined.
 *
 * The slots below `sorted` are in order. The slots from there on are arrivals: entries that were
 * added at the end and have no place yet. `sortArrivals` gives them their places. The place of one
 * entry costs a search through the chunk and the move of half of it. At a million members, the
 * processor's caches hold neither. An arrival changes two cache lines.
 *
 * A board spends most of its time moving slots, and a call that moves a few kilobytes costs more
 * than the bytes. Score and tie are always read together, so they share one array and one call.
 */
import { limits } from "../../Limits.ts"
import type { Members } from "./Members.ts"

/** For at most this many slots a loop is faster than two calls of `copyWithin`. */
const shortMoveSlots = 16

export class Chunk {
  readonly slots: number
  readonly members: Uint32Array
  /** The number of slots in use. */
  used = 0
  /** The number of slots that are in order; the slots from there on are arrivals. */
  sorted = 0
  /** The score of slot n is at 2n, its tie at 2n + 1. */
  readonly #keys: Float64Array

  constructor(slots: number) {
    // One buffer for both arrays halves the number of allocations.
    const buffer = new ArrayBuffer(slots * 20)
    this.slots = slots
    this.members = new Uint32Array(buffer, slots * 16, slots)
    this.#keys = new Float64Array(buffer, 0, slots * 2)
  }

  /**
   * Removes the slots of the members for which `goes` holds. `mayGo` is a filter by the last bits
   * of the member number: 0: stays.
   */
  takeOut(mayGo: Uint8Array, goes: (member: number) => boolean): void {
    const keys = this.#keys
    const { members, used } = this
    const mask = mayGo.length - 1
    const sorted = this.sorted
    let to = 0
    for (let from = 0; from < used; from++) {
      const member = members[from]!
      if (mayGo[member & mask] === 1 && goes(member)) {
        if (from < sorted) this.sorted--
        continue
      }
      if (to < from) {
        keys[2 * to] = keys[2 * from]!
        keys[2 * to + 1] = keys[2 * from + 1]!
        members[to] = member
      }
      to++
    }
    this.used = to
  }

  get arrivals(): number {
    return this.used - this.sorted
  }

  /** Adds an entry that comes before all others. The chunk has a free slot. */
  putFirst(member: number, score: number, tie: number): void {
    this.move(1, 0, this.used)
    this.put(0, member, score, tie)
    this.used++
    this.sorted++
  }

  /** Adds an entry, which comes after that of slot 0. The chunk has an entry and a free slot. */
  arrive(member: number, score: number, tie: number): void {
    const keys = this.#keys
    const slot = this.used++
    // Most arrivals have the newest tie, and a chunk often ends with their score.
    if (this.sorted === slot) {
      const lastScore = keys[2 * slot - 2]!
      if (lastScore > score || (lastScore === score && keys[2 * slot - 1]! < tie)) this.sorted++
    }
    this.put(slot, member, score, tie)
  }

  /** Gives all arrivals their places. All entries must have ids. */
  sortArrivals(ids: Members): void {
    const keys = this.#keys
    const { members, sorted } = this
    let count = 0
    for (let slot = sorted; slot < this.used; slot++) {
      const member = members[slot]!
      late.insert(ids, count++, member, keys[2 * slot]!, keys[2 * slot + 1]!)
    }
    this.sorted = this.used
    // From the last on: each arrival moves the entries behind its place by as many as are left.
    for (let end = sorted; count > 0; count--) {
      const last = count - 1
      const score = late.#keys[2 * last]!
      const tie = late.#keys[2 * last + 1]!
      const member = late.members[last]!
      const slot = this.slotFor(ids, 0, end, member, score, tie)
      if (slot < end) this.move(slot + count, slot, end)
      this.put(slot + last, member, score, tie)
      end = slot
    }
  }

  /** Inserts an entry among the first `count`, which are in order. */
  insert(ids: Members, count: number, member: number, score: number, tie: number): void {
    let slot = count
    while (slot > 0 && !this.precedes(ids, slot - 1, member, score, tie)) slot--
    this.move(slot + 1, slot, count)
    this.put(slot, member, score, tie)
  }

  scoreAt(slot: number): number {
    return this.#keys[2 * slot]!
  }

  tieAt(slot: number): number {
    return this.#keys[2 * slot + 1]!
  }

  /** The slot of `member`, which must be in this chunk. */
  slotOf(member: number): number {
    return this.members.indexOf(member)
  }

  /** The number of slots with a score above `score`. There are no arrivals. */
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
   * Where the key belongs between `start` and `end`, which are in order: the first slot whose entry
   * comes after the key, or `end`.
   */
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

  /**
   * Whether the entry in `slot` comes before the key: by higher score, then lower tie, then lower
   * user id.
   */
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

  /** Moves the slots from `start` to `end` (exclusive) to `target`. The ranges may overlap. */
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

/** Holds the arrivals of a chunk, in order, during one call of `sortArrivals`. */
const late = new Chunk(limits.boardArrivalsMax)

/**
 * Unused chunks by number of slots, for reuse: allocating a chunk costs much more than moving a
 * member.
 */
export class SpareChunks {
  readonly #bySlots = new Map<number, Array<Chunk>>()

  /** An empty chunk of `slots` slots. */
  take(slots: number): Chunk {
    return this.#bySlots.get(slots)?.pop() ?? new Chunk(slots)
  }

  give(chunk: Chunk): void {
    chunk.used = 0
    chunk.sorted = 0
    const spare = this.#bySlots.get(chunk.slots)
    if (spare === undefined) this.#bySlots.set(chunk.slots, [chunk])
    else if (spare.length < limits.boardSpareChunksMax) spare.push(chunk)
  }
}
