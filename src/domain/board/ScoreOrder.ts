/**
 * Members in the order of a leaderboard, with the position of each: score descending, then tie
 * ascending (the member who reached the score first), then user id.
 *
 * The order is divided into chunks: short sorted runs in typed arrays. `ChunkIndex` finds a chunk
 * by key and by position. To find a place takes two binary searches over contiguous memory; to find
 * a position, one prefix sum. A small change of score moves a few slots inside one chunk. There is
 * no object per member.
 *
 * `#homes` maps a member to its chunk. Inside the chunk, a linear search finds the member's slot:
 * this costs less than the cache misses and the 16 bytes of a second copy of each key.
 *
 * A member that moves to another chunk leaves its old slot behind for a while (leavers in
 * `ChunkIndex.ts`). Sizes and positions never count such slots. In its new chunk the member is an
 * arrival, at the end of the slots and without a place among them (`Chunk.ts`). Code that reads the
 * order of a chunk settles the chunk first.
 *
 * Invariants (`check` asserts them): no chunk is empty; no two neighbours are both less than a
 * quarter full; sorted entries are strictly ordered within and across chunks, and arrivals lie
 * between the first entries of their chunk and of the next; the index and `#homes` agree with the
 * chunks.
 *
 * A chunk starts with 16 slots and grows up to 512 (1,024 on very large boards). A full chunk
 * splits into halves. A chunk less than a quarter full joins a neighbour if both together fill at
 * most three quarters.
 */
import { limits } from "../../Limits.ts"
import { Chunk } from "./Chunk.ts"
import { ChunkIndex } from "./ChunkIndex.ts"
import type { Members } from "./Members.ts"
import { MemberTable } from "./Members.ts"
import type { EntryColumns } from "./sortEntries.ts"

/** A member occurs twice in the entries of a new board. */
export class ListedTwice extends Error {
  constructor() {
    super("A member may be listed once only")
  }
}

export class ScoreOrder {
  readonly #ids: Members
  readonly #index: ChunkIndex
  /** Member to chunk number + 1; 0: not listed. */
  readonly #homes = new MemberTable()
  #total = 0

  constructor(ids: Members) {
    this.#ids = ids
    this.#index = new ChunkIndex(ids)
  }

  /** The number of listed members. */
  get total(): number {
    return this.#total
  }

  /** The score of `member`; 0 if it is not listed. */
  scoreOf(member: number): number {
    const home = this.#homes.get(member)
    if (home === 0) return 0
    const chunk = this.#index.chunkOf(home - 1)
    return chunk.scoreAt(chunk.slotOf(member))
  }

  /** The sequence that set the score of `member`; 0 if it is not listed. */
  tieOf(member: number): number {
    const home = this.#homes.get(member)
    if (home === 0) return 0
    const chunk = this.#index.chunkOf(home - 1)
    return chunk.tieAt(chunk.slotOf(member))
  }

  /** The number of members with a score above `score`. */
  countAbove(score: number): number {
    const place = this.#index.placeAbove(score)
    if (place < 0) return 0
    this.#index.settle(place)
    return this.#index.sizes.before(place) + this.#index.chunkAt(place).slotsAbove(score)
  }

  /** The number of members before `member`, which must be listed. */
  positionOf(member: number): number {
    const number = this.#homes.get(member) - 1
    const place = this.#index.placeOf(number)
    this.#index.settle(place)
    return this.#index.sizes.before(place) + this.#index.chunkOf(number).slotOf(member)
  }

  /**
   * Lists `member` with a `score` above 0, or moves it. An equal score changes nothing, so the
   * member keeps its place in a tie.
   */
  set(member: number, score: number, tie: number): void {
    const home = this.#homes.get(member)
    if (home === 0) {
      this.#insert(member, score, tie)
      return
    }
    const number = home - 1
    const place = this.#index.placeOf(number)
    if (this.#index.excludes(place, score)) {
      this.#leave(number, place, member)
      this.#insert(member, score, tie)
    } else {
      this.#index.settle(place)
      this.#setNear(member, score, tie, number, place)
    }
  }

  /**
   * Sets the score of `member` in the settled chunk `number`; the new score may belong into the
   * same chunk.
   */
  #setNear(member: number, score: number, tie: number, number: number, place: number): void {
    const chunk = this.#index.chunkOf(number)
    const slot = chunk.slotOf(member)
    const before = chunk.scoreAt(slot)
    if (before === score) return
    if (!this.#index.belongs(place, score)) {
      this.#removeAt(number, slot)
      this.#insert(member, score, tie)
    } else if (score > before) {
      const target = chunk.slotFor(this.#ids, 0, slot, member, score, tie)
      chunk.move(target + 1, target, slot)
      chunk.put(target, member, score, tie)
      if (target === 0) this.#index.noteFirst(place)
    } else {
      const target = chunk.slotFor(this.#ids, slot + 1, chunk.used, member, score, tie) - 1
      chunk.move(slot, slot + 1, target + 1)
      chunk.put(target, member, score, tie)
      if (slot === 0) this.#index.noteFirst(place)
    }
  }

  /** Removes `member`. Returns whether it was listed. */
  remove(member: number): boolean {
    const home = this.#homes.get(member)
    if (home === 0) return false
    this.#index.settle(this.#index.placeOf(home - 1))
    this.#removeAt(home - 1, this.#index.chunkOf(home - 1).slotOf(member))
    this.#homes.set(member, 0)
    return true
  }

  /** Calls `visit` for at most `limit` members in order, from position `offset` on. */
  visit(offset: number, limit: number, visit: (member: number, score: number) => void): void {
    if (offset >= this.#total) return
    let place = this.#index.sizes.find(offset)
    let slot = offset - this.#index.sizes.before(place)
    for (let left = limit; left > 0 && place < this.#index.length; place++, slot = 0) {
      this.#index.settle(place)
      const chunk = this.#index.chunkAt(place)
      const end = Math.min(chunk.used, slot + left)
      left -= end - slot
      for (; slot < end; slot++) visit(chunk.members[slot]!, chunk.scoreAt(slot))
    }
  }

  /**
   * Fills an empty order with members that are already in order. Throws `ListedTwice` if a member
   * occurs twice. Leaves a quarter of each chunk free.
   */
  fill({ members, scores, ties }: EntryColumns): void {
    if (this.#total > 0) throw new Error("Only an empty order can be filled")
    const total = members.length
    const slotsMax = chunkSlotsMax(total)
    const share = total <= slotsMax ? slotsMax : slotsMax - slotsMax / 4
    const chunks: Array<Chunk> = []
    const sizes: Array<number> = []
    for (let start = 0; start < total; start += share) {
      const end = Math.min(start + share, total)
      const size = end - start
      const chunk = new Chunk(slotsFor(size))
      chunk.used = size
      chunk.sorted = size
      sizes.push(size)
      const home = chunks.push(chunk)
      for (let n = start; n < end; n++) {
        const member = members[n]!
        chunk.put(n - start, member, scores[n]!, ties[n]!)
        if (this.#homes.get(member) !== 0) throw new ListedTwice()
        this.#homes.set(member, home)
      }
    }
    this.#index.reset(chunks, Uint32Array.from(sizes))
    this.#total = total
  }

  #insert(member: number, score: number, tie: number): void {
    if (this.#total === 0) {
      this.#insertFirst(member, score, tie)
      return
    }
    const { leavers } = this.#index
    let place = this.#index.placeFor(member, score, tie)
    let number = this.#index.numberAt(place)
    let chunk = this.#index.chunkOf(number)
    if (
      leavers.has(number, member) ||
      chunk.used === chunk.slots ||
      chunk.arrivals === limits.boardArrivalsMax
    ) {
      this.#index.settle(place)
    }
    if (chunk.used === chunk.slots) {
      if (chunk.slots < chunkSlotsMax(this.#total)) {
        chunk = this.#index.resize(number, slotsFor(chunk.slots + 1), chunk.slots)
      } else {
        this.#split(place)
        place = this.#index.placeFor(member, score, tie)
        number = this.#index.numberAt(place)
        chunk = this.#index.chunkOf(number)
      }
    }
    if (this.#index.follows(place, member, score, tie)) chunk.arrive(member, score, tie)
    else {
      chunk.putFirst(member, score, tie)
      this.#index.noteFirst(place)
    }
    this.#homes.set(member, number + 1)
    this.#index.sizes.add(place, 1)
    this.#total++
  }

  #insertFirst(member: number, score: number, tie: number): void {
    const chunk = this.#index.newChunk(limits.boardChunkSlotsMin)
    chunk.putFirst(member, score, tie)
    this.#homes.set(member, this.#index.insert(0, chunk, 1) + 1)
    this.#total = 1
  }

  /** Removes `member` from chunk `number` without reading the chunk. */
  #leave(number: number, place: number, member: number): void {
    const { leavers } = this.#index
    if (leavers.isFull(number)) {
      this.#index.settle(place)
      this.#fit(number, place)
    }
    leavers.add(number, member)
    this.#lost(place)
  }

  /** Removes an entry of a settled chunk. The caller updates the home of its member. */
  #removeAt(number: number, slot: number): void {
    const chunk = this.#index.chunkOf(number)
    const place = this.#index.placeOf(number)
    chunk.move(slot, slot + 1, chunk.used)
    chunk.used--
    chunk.sorted--
    if (slot === 0 && chunk.used > 0) this.#index.noteFirst(place)
    if (!this.#lost(place)) this.#fit(number, place)
  }

  /**
   * Counts one entry less in the chunk at `place`. Returns whether the chunk was removed or joined.
   */
  #lost(place: number): boolean {
    const size = this.#index.sizes.at(place) - 1
    this.#index.sizes.add(place, -1)
    this.#total--
    if (size === 0) {
      this.#index.remove(place)
      return true
    }
    return size < chunkSlotsMax(this.#total) >>> 2 && this.#joinNeighbour(place)
  }

  /** Reduces the slots of a chunk if most of them are unused. */
  #fit(number: number, place: number): void {
    const size = this.#index.sizes.at(place)
    const { slots } = this.#index.chunkOf(number)
    const fewer = slotsFor(size + (size >>> 2))
    if (size >= slots >>> 1 || fewer >= slots) return
    this.#index.settle(place)
    this.#index.resize(number, fewer, size)
  }

  /** Splits a settled chunk into halves. */
  #split(place: number): void {
    const size = this.#index.sizes.at(place)
    const half = size >>> 1
    const rest = this.#index.newChunk(slotsFor(size - half + 1))
    rest.copy(0, this.#index.chunkAt(place), half, size - half)
    rest.used = size - half
    rest.sorted = size - half
    this.#index.resize(this.#index.numberAt(place), slotsFor(half + 1), half)
    this.#index.sizes.add(place, half - size)
    const number = this.#index.insert(place + 1, rest, size - half)
    this.#rehome(rest, 0, size - half, number)
  }

  /** Joins the chunk with a neighbour if both fit into one. Returns whether it did. */
  #joinNeighbour(place: number): boolean {
    const roomy = chunkSlotsMax(this.#total) * 0.75
    const size = this.#index.sizes.at(place)
    if (place > 0 && this.#index.sizes.at(place - 1) + size <= roomy) this.#joinNext(place - 1)
    else if (place + 1 < this.#index.length && size + this.#index.sizes.at(place + 1) <= roomy) {
      this.#joinNext(place)
    } else return false
    return true
  }

  #joinNext(place: number): void {
    this.#index.settle(place)
    this.#index.settle(place + 1)
    const number = this.#index.numberAt(place)
    const next = this.#index.chunkAt(place + 1)
    const size = this.#index.sizes.at(place)
    const more = this.#index.sizes.at(place + 1)
    let chunk = this.#index.chunkOf(number)
    if (size + more > chunk.slots) chunk = this.#index.resize(number, slotsFor(size + more), size)
    chunk.copy(size, next, 0, more)
    chunk.used = size + more
    chunk.sorted = size + more
    this.#rehome(chunk, size, size + more, number)
    this.#index.sizes.add(place, more)
    this.#index.remove(place + 1)
  }

  #rehome(chunk: Chunk, start: number, end: number, number: number): void {
    for (let slot = start; slot < end; slot++) this.#homes.set(chunk.members[slot]!, number + 1)
  }

  /** For tests: throws if an invariant does not hold. O(total). */
  check(): void {
    this.#index.check()
    let total = 0
    let last: readonly [chunk: Chunk, slot: number] | undefined
    let sizeBefore: number = limits.boardChunkSlotsMax
    for (let place = 0; place < this.#index.length; place++) {
      const chunk = this.#index.chunkAt(place)
      const size = this.#index.sizes.at(place)
      if (Math.max(sizeBefore, size) < limits.boardChunkSlotsMax / 4) {
        throw new Error(`The chunk at ${place} should have been joined`)
      }
      sizeBefore = size
      for (let slot = 0; slot < chunk.used; slot++) {
        const member = chunk.members[slot]!
        if (this.#index.leavers.has(this.#index.numberAt(place), member)) continue
        total++
        const score = chunk.scoreAt(slot)
        if (this.#homes.get(member) !== this.#index.numberAt(place) + 1) {
          throw new Error(`Member ${member} does not know its chunk`)
        }
        if (score <= 0) throw new Error(`Entry ${total} should not be listed`)
        if (slot >= chunk.sorted) continue
        const follows = last?.[0].precedes(this.#ids, last[1], member, score, chunk.tieAt(slot))
        if (follows === false) throw new Error(`Entry ${total} is out of order`)
        last = [chunk, slot]
      }
      this.#checkArrivals(chunk, place)
    }
    if (total !== this.#total) throw new Error(`${this.#total} members should be ${total}`)
  }

  /** Arrivals lie between the first entry of their chunk and that of the next. */
  #checkArrivals(chunk: Chunk, place: number): void {
    const next = place + 1 < this.#index.length ? this.#index.chunkAt(place + 1) : undefined
    for (let slot = chunk.sorted; slot < chunk.used; slot++) {
      const [score, tie] = [chunk.scoreAt(slot), chunk.tieAt(slot)]
      const isBefore = (other: Chunk, at: number) =>
        other.scoreAt(at) > score || (other.scoreAt(at) === score && other.tieAt(at) < tie)
      if (isBefore(chunk, 0) === false && (chunk.scoreAt(0) !== score || chunk.tieAt(0) !== tie)) {
        throw new Error(`An arrival at ${place} comes before its chunk`)
      }
      if (next !== undefined && isBefore(next, 0)) {
        throw new Error(`An arrival at ${place} belongs to the next chunk`)
      }
    }
  }
}

/** The maximum number of slots of a chunk on a board of `total` members. */
const chunkSlotsMax = (total: number): number =>
  total < limits.boardLargeMembersMin ? limits.boardChunkSlotsMax : limits.boardLargeChunkSlotsMax

/**
 * The number of slots for `size` entries: powers of two while small, then steps, so that few slots
 * are unused.
 */
const slotsFor = (size: number): number => {
  const step = limits.boardChunkSlotsStep
  if (size > step) return Math.ceil(size / step) * step
  let slots: number = limits.boardChunkSlotsMin
  while (slots < size) slots *= 2
  return slots
}
