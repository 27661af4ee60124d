/**
 * Members in the order of a leaderboard, with the position of each: score descending, then tie ascending
 * (who reached the score first), then user id.
 *
 * The order is cut into chunks, short sorted runs in typed arrays, which `ChunkIndex` finds by key and by
 * position. So finding a place is two binary searches over contiguous memory, a position is one prefix sum,
 * a small change of score moves a few slots inside one chunk, and nothing is an object per member.
 * `#homes` leads from a member to its chunk; inside, its number is looked for from slot to slot, which costs
 * less than the cache misses and the 16 bytes of keeping each key a second time by member.
 *
 * A member that moves to another chunk leaves its slot behind for a while (`ChunkIndex.ts`). Sizes and positions are always
 * without such slots; what reads the slots of a chunk settles it first.
 *
 * Invariants (`check` asserts them): no chunk is empty, no two neighbours are both below a quarter, entries
 * strictly follow each other within and across chunks, and index and homes agree with the chunks.
 *
 * A chunk starts with 16 slots and grows up to 512 (1,024 on very large boards). Full, it splits in halves;
 * below a quarter it joins a neighbour if both fit into three quarters.
 */
import { limits } from "../../Limits.ts"
import { Chunk, ChunkIndex } from "./ChunkIndex.ts"
import type { Members } from "./Members.ts"
import { MemberTable } from "./Members.ts"
import type { EntryColumns } from "./sortEntries.ts"

/** Somebody stands twice among those that are to be listed. */
export class ListedTwice extends Error {
  constructor() {
    super("A member may be listed once only")
  }
}

export class ScoreOrder {
  readonly #ids: Members
  readonly #index = new ChunkIndex()
  /** Member to chunk number + 1; 0: not listed. */
  readonly #homes = new MemberTable()
  #total = 0

  constructor(ids: Members) {
    this.#ids = ids
  }

  /** How many members are listed. */
  get total(): number {
    return this.#total
  }

  /** The score of `member`, 0 when it is not listed. */
  scoreOf(member: number): number {
    const home = this.#homes.get(member)
    if (home === 0) return 0
    const chunk = this.#index.chunkOf(home - 1)
    return chunk.scoreAt(chunk.slotOf(member))
  }

  /** How many members have a score above `score`. */
  countAbove(score: number): number {
    const place = this.#index.placeAbove(score)
    if (place < 0) return 0
    this.#index.settle(place)
    return this.#index.sizes.before(place) + this.#index.chunkAt(place).slotsAbove(score)
  }

  /** How many members stand before `member`, which is listed. */
  positionOf(member: number): number {
    const number = this.#homes.get(member) - 1
    const place = this.#index.placeOf(number)
    this.#index.settle(place)
    return this.#index.sizes.before(place) + this.#index.chunkOf(number).slotOf(member)
  }

  /**
   * Lists `member` with `score` (> 0), or moves it there. The same score as before changes nothing, so that
   * the member keeps its place among equals.
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

  /** Gives `member`, of the settled chunk `number`, a score that its chunk may have. */
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

  /** Takes `member` off the list; answers whether it was on it. */
  remove(member: number): boolean {
    const home = this.#homes.get(member)
    if (home === 0) return false
    this.#removeAt(home - 1, this.#index.chunkOf(home - 1).slotOf(member))
    this.#homes.set(member, 0)
    return true
  }

  /** Calls `visit` for up to `limit` members in order, beginning with the one at position `offset`. */
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
   * Fills an empty order with members that are already in order, each once (else it throws `ListedTwice`). Chunks
   * are left a quarter free.
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
    if (this.#total === 0) this.#index.insert(0, this.#index.newChunk(limits.boardChunkSlotsMin), 0)
    const { leavers } = this.#index
    let place = this.#index.placeFor(this.#ids, member, score, tie)
    let number = this.#index.numberAt(place)
    let chunk = this.#index.chunkOf(number)
    if (leavers.has(number, member) || chunk.used === chunk.slots) this.#index.settle(place)
    if (chunk.used === chunk.slots) {
      if (chunk.slots < chunkSlotsMax(this.#total)) {
        chunk = this.#index.resize(number, slotsFor(chunk.slots + 1), chunk.slots)
      } else {
        this.#split(place)
        place = this.#index.placeFor(this.#ids, member, score, tie)
        number = this.#index.numberAt(place)
        chunk = this.#index.chunkOf(number)
      }
    }
    // Of one who left the id may be gone.
    const isSettled = leavers.count(number) === 0
    let slot = chunk.slotFor(this.#ids, 0, chunk.used, member, score, tie, isSettled)
    if (slot < 0) {
      this.#index.settle(place)
      slot = chunk.slotFor(this.#ids, 0, chunk.used, member, score, tie)
    }
    chunk.move(slot + 1, slot, chunk.used)
    chunk.put(slot, member, score, tie)
    chunk.used++
    this.#homes.set(member, number + 1)
    this.#index.sizes.add(place, 1)
    this.#total++
    if (slot === 0) this.#index.noteFirst(place)
  }

  /** Takes `member` out of chunk `number` without a look at the chunk. */
  #leave(number: number, place: number, member: number): void {
    const { leavers } = this.#index
    if (leavers.isFull(number)) {
      this.#index.settle(place)
      this.#fit(number, place)
    }
    leavers.add(number, member)
    this.#lost(place)
  }

  /** Leaves the member's home as it is. */
  #removeAt(number: number, slot: number): void {
    const chunk = this.#index.chunkOf(number)
    const place = this.#index.placeOf(number)
    chunk.move(slot, slot + 1, chunk.used)
    chunk.used--
    if (slot === 0 && chunk.used > 0) this.#index.noteFirst(place)
    if (!this.#lost(place)) this.#fit(number, place)
  }

  /** The chunk at `place` has an entry less; answers whether it is gone. */
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

  /** Gives the chunk fewer slots where most are idle. */
  #fit(number: number, place: number): void {
    const size = this.#index.sizes.at(place)
    const { slots } = this.#index.chunkOf(number)
    const fewer = slotsFor(size + (size >>> 2))
    if (size >= slots >>> 1 || fewer >= slots) return
    this.#index.settle(place)
    this.#index.resize(number, fewer, size)
  }

  /** Halves a settled chunk. */
  #split(place: number): void {
    const size = this.#index.sizes.at(place)
    const half = size >>> 1
    const rest = this.#index.newChunk(slotsFor(size - half + 1))
    rest.copy(0, this.#index.chunkAt(place), half, size - half)
    rest.used = size - half
    this.#index.resize(this.#index.numberAt(place), slotsFor(half + 1), half)
    this.#index.sizes.add(place, half - size)
    const number = this.#index.insert(place + 1, rest, size - half)
    this.#rehome(rest, 0, size - half, number)
  }

  /** Joins the chunk with a neighbour where both fit; answers whether it did. */
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
    this.#rehome(chunk, size, size + more, number)
    this.#index.sizes.add(place, more)
    this.#index.remove(place + 1)
  }

  #rehome(chunk: Chunk, start: number, end: number, number: number): void {
    for (let slot = start; slot < end; slot++) this.#homes.set(chunk.members[slot]!, number + 1)
  }

  /** Throws when an invariant does not hold; O(total), for tests. */
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
        const follows = last?.[0].precedes(this.#ids, last[1], member, score, chunk.tieAt(slot))
        if (score <= 0 || follows === false) throw new Error(`Entry ${total} is out of order`)
        last = [chunk, slot]
      }
    }
    if (total !== this.#total) throw new Error(`${this.#total} members should be ${total}`)
  }
}

/** How many slots a chunk may have on a board of `total` members. */
const chunkSlotsMax = (total: number): number =>
  total < limits.boardLargeMembersMin ? limits.boardChunkSlotsMax : limits.boardLargeChunkSlotsMax

/** The slots to have for `size` entries: doubling while small, then in steps, so that little lies idle. */
const slotsFor = (size: number): number => {
  const step = limits.boardChunkSlotsStep
  if (size > step) return Math.ceil(size / step) * step
  let slots: number = limits.boardChunkSlotsMin
  while (slots < size) slots *= 2
  return slots
}
