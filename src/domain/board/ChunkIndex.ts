/**
 * The chunks of a leaderboard's order. A chunk has a number, which it keeps for life, and a place
 * (0, 1, 2… in board order).
 *
 * Two columns by place lie in contiguous memory: the size of the chunk, in a Fenwick tree, and the
 * key (score and tie) of its first entry. A search reads these columns instead of the chunks.
 *
 * Cost: a search is O(log n). Adding or removing a chunk moves the rows behind it, O(n): tens of
 * microseconds at ten million members, once in hundreds of updates.
 */
import { limits } from "../../Limits.ts"
import { Chunk, SpareChunks } from "./Chunk.ts"
import type { Members } from "./Members.ts"

/**
 * A sequence of counts with fast prefix sums (a Fenwick tree). To change a count, to sum the counts
 * before a position and to find the position of the n-th item are O(log n). To insert or remove a
 * position rebuilds the tree: O(n) over contiguous memory.
 */
export class Fenwick {
  #length = 0
  #counts = new Uint32Array(8)
  /** One-based: node i holds the sum of the `i & -i` counts that end at position i - 1. */
  #tree = new Uint32Array(9)

  /** The number of positions. */
  get length(): number {
    return this.#length
  }

  /** The count at `position`. */
  at(position: number): number {
    return this.#counts[position]!
  }

  /** Adds `delta` to the count at `position`. */
  add(position: number, delta: number): void {
    this.#counts[position]! += delta
    const tree = this.#tree
    for (let node = position + 1; node <= this.#length; node += node & -node) tree[node]! += delta
  }

  /** The sum of the counts before `position`. */
  before(position: number): number {
    const tree = this.#tree
    let sum = 0
    for (let node = position; node > 0; node &= node - 1) sum += tree[node]!
    return sum
  }

  /**
   * The position whose count covers item number `offset` (from 0); `length` if there are not so
   * many items.
   */
  find(offset: number): number {
    const tree = this.#tree
    let node = 0
    let left = offset
    for (let step = 1 << (31 - Math.clz32(this.#length | 1)); step > 0; step >>= 1) {
      const next = node + step
      if (next <= this.#length && tree[next]! <= left) {
        node = next
        left -= tree[next]!
      }
    }
    return node
  }

  /** Inserts a count at `position`; the counts from there on move up by one. */
  insert(position: number, count: number): void {
    if (this.#length === this.#counts.length) {
      const counts = new Uint32Array(this.#length * 2)
      counts.set(this.#counts)
      this.#counts = counts
      this.#tree = new Uint32Array(this.#length * 2 + 1)
    }
    this.#counts.copyWithin(position + 1, position, this.#length)
    this.#counts[position] = count
    this.#length++
    this.#rebuild()
  }

  /** Removes the count at `position`; the counts after it move down by one. */
  remove(position: number): void {
    this.#counts.copyWithin(position, position + 1, this.#length)
    this.#length--
    this.#rebuild()
  }

  /** Replaces all counts. */
  reset(counts: Uint32Array): void {
    const capacity = Math.max(8, counts.length)
    this.#length = counts.length
    this.#counts = new Uint32Array(capacity)
    this.#counts.set(counts)
    this.#tree = new Uint32Array(capacity + 1)
    this.#rebuild()
  }

  #rebuild(): void {
    const tree = this.#tree
    const length = this.#length
    tree.set(this.#counts.subarray(0, length), 1)
    for (let node = 1; node <= length; node++) {
      const parent = node + (node & -node)
      if (parent <= length) tree[parent]! += tree[node]!
    }
  }
}

/*
 * Leavers: for each chunk, the members that moved to another chunk while their slots are still in
 * the old one. `takeOut` removes the slots of all leavers of a chunk in one pass.
 *
 * At a million members, no part of the chunk is in the processor's caches when a member leaves.
 * Removing the slot at once would read most of the chunk and move half of it. The note instead
 * changes one cache line of a small table that stays cached.
 *
 * Code that counts slots, reads their members or puts a member back into a chunk must take the
 * leavers out first.
 */

const noteBits = 5
const noteMax = 1 << noteBits

class Leavers {
  /** By chunk number. */
  #counts = new Uint8Array(8)
  #members = new Uint32Array(8 * noteMax)

  /** The number of leavers of the chunk `number`. */
  count(number: number): number {
    return this.#counts[number]!
  }

  /** Whether there is no room for another leaver of the chunk. */
  isFull(number: number): boolean {
    return this.#counts[number] === noteMax
  }

  add(number: number, member: number): void {
    const count = this.#counts[number]!
    this.#members[(number << noteBits) + count] = member
    this.#counts[number] = count + 1
  }

  has(number: number, member: number): boolean {
    const start = number << noteBits
    const end = start + this.#counts[number]!
    for (let at = start; at < end; at++) if (this.#members[at] === member) return true
    return false
  }

  takeOut(number: number, chunk: Chunk): void {
    const start = number << noteBits
    const end = start + this.#counts[number]!
    for (let at = start; at < end; at++) mayHaveLeft[this.#members[at]! & lastBits] = 1
    chunk.takeOut(mayHaveLeft, (member) => this.has(number, member))
    for (let at = start; at < end; at++) mayHaveLeft[this.#members[at]! & lastBits] = 0
    this.#counts[number] = 0
  }

  /** Drops the leavers of the chunk `number`, which was removed or replaced. */
  forget(number: number): void {
    this.#counts[number] = 0
  }

  /** Makes room for chunks numbered below `count`. */
  reserve(count: number): void {
    if (count <= this.#counts.length) return
    const counts = new Uint8Array(count)
    counts.set(this.#counts)
    const members = new Uint32Array(count * noteMax)
    members.set(this.#members)
    this.#counts = counts
    this.#members = members
  }
}

/**
 * By the last bits of a member number: whether a leaver has these bits. Used only within one call
 * of `takeOut`.
 */
const mayHaveLeft = new Uint8Array(1_024)
const lastBits = mayHaveLeft.length - 1

export class ChunkIndex {
  readonly #ids: Members
  /**
   * By place: the number of entries in the chunk without leavers. Code that changes a chunk updates
   * its size here.
   */
  readonly sizes = new Fenwick()
  /** By number. `#free` has the numbers of removed chunks, for reuse. */
  readonly #chunks: Array<Chunk> = []
  readonly #free: Array<number> = []
  readonly #spare = new SpareChunks()
  /** By number. */
  readonly leavers = new Leavers()
  /** By number. */
  #places = new Uint32Array(8)
  /** By place. */
  #numbers = new Uint32Array(8)
  /** The score of the first entry at place n is at 2n, its tie at 2n + 1. */
  #firsts = new Float64Array(16)

  constructor(ids: Members) {
    this.#ids = ids
  }

  get length(): number {
    return this.sizes.length
  }

  chunkOf(number: number): Chunk {
    return this.#chunks[number]!
  }

  chunkAt(place: number): Chunk {
    return this.#chunks[this.#numbers[place]!]!
  }

  numberAt(place: number): number {
    return this.#numbers[place]!
  }

  placeOf(number: number): number {
    return this.#places[number]!
  }

  /** The last place whose first score is above `score`; -1 if there is none. */
  placeAbove(score: number): number {
    const firsts = this.#firsts
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (firsts[2 * middle]! > score) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** The last place whose first entry does not come after the key; 0 if every one does. */
  placeFor(member: number, score: number, tie: number): number {
    const ids = this.#ids
    const firsts = this.#firsts
    let low = 1
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const first = firsts[2 * middle]!
      const firstTie = firsts[2 * middle + 1]!
      if (first > score || (first === score && firstTie < tie)) low = middle + 1
      else if (first < score || firstTie > tie) high = middle
      else {
        if (this.settle(middle)) return this.placeFor(member, score, tie)
        if (ids.idOf(this.chunkAt(middle).members[0]!) <= ids.idOf(member)) low = middle + 1
        else high = middle
      }
    }
    return low - 1
  }

  /** Whether the chunk at `place` has no entry with `score`, and no such entry belongs there. */
  excludes(place: number, score: number): boolean {
    return (
      (place > 0 && score > this.#firsts[2 * place]!) ||
      (place + 1 < this.length && score < this.#firsts[2 * place + 2]!)
    )
  }

  /**
   * Whether the key comes after the first entry of the chunk at `place`, where it belongs. It does
   * not in the first chunk, or when the entries before it have left.
   */
  follows(place: number, member: number, score: number, tie: number): boolean {
    const first = this.#firsts[2 * place]!
    if (score !== first) return score < first
    const firstTie = this.#firsts[2 * place + 1]!
    if (tie !== firstTie) return tie > firstTie
    if (this.settle(place)) return this.follows(place, member, score, tie)
    return this.chunkAt(place).precedes(this.#ids, 0, member, score, tie)
  }

  /**
   * Takes the leavers out of the chunk at `place`, which has other entries, and gives its arrivals
   * their places. Returns whether there were any leavers.
   */
  settle(place: number): boolean {
    const number = this.numberAt(place)
    const chunk = this.chunkOf(number)
    const hasLeavers = this.leavers.count(number) > 0
    if (hasLeavers) this.leavers.takeOut(number, chunk)
    if (chunk.arrivals > 0) chunk.sortArrivals(this.#ids)
    if (hasLeavers) this.noteFirst(place)
    return hasLeavers
  }

  /** Whether an entry with `score` belongs into the chunk at `place` whatever its tie. */
  belongs(place: number, score: number): boolean {
    return (
      (place === 0 || score < this.#firsts[2 * place]!) &&
      (place + 1 === this.length || score > this.#firsts[2 * place + 2]!)
    )
  }

  /** Returns an empty chunk, to be inserted. */
  newChunk(slots: number): Chunk {
    return this.#spare.take(slots)
  }

  /**
   * Replaces the settled chunk `number` by one with `slots` slots and its first `size` entries.
   * Returns the new chunk.
   */
  resize(number: number, slots: number, size: number): Chunk {
    const chunk = this.chunkOf(number)
    const resized = this.#spare.take(slots)
    resized.copy(0, chunk, 0, size)
    resized.used = size
    resized.sorted = size
    this.#chunks[number] = resized
    this.#spare.give(chunk)
    return resized
  }

  /** Inserts a chunk at `place`; the chunks from there on move up by one. Returns its number. */
  insert(place: number, chunk: Chunk, size: number): number {
    const number = this.#free.pop() ?? this.#chunks.length
    const count = this.length
    this.#reserve(Math.max(number, count) + 1)
    this.#chunks[number] = chunk
    this.#numbers.copyWithin(place + 1, place, count)
    this.#firsts.copyWithin(2 * place + 2, 2 * place, 2 * count)
    this.#numbers[place] = number
    this.sizes.insert(place, size)
    this.noteFirst(place)
    this.#notePlaces(place)
    return number
  }

  /** Removes the chunk at `place`; the chunks behind it move down by one. */
  remove(place: number): void {
    const number = this.numberAt(place)
    this.#spare.give(this.chunkOf(number))
    this.leavers.forget(number)
    this.#chunks[number] = noChunk
    this.#free.push(number)
    this.#numbers.copyWithin(place, place + 1, this.length)
    this.#firsts.copyWithin(2 * place, 2 * place + 2, 2 * this.length)
    this.sizes.remove(place)
    this.#notePlaces(place)
  }

  /** Replaces all chunks by `chunks`, numbered by place. */
  reset(chunks: ReadonlyArray<Chunk>, sizes: Uint32Array): void {
    this.#chunks.length = 0
    for (const chunk of chunks) this.#chunks.push(chunk)
    this.#free.length = 0
    this.#reserve(chunks.length)
    this.sizes.reset(sizes)
    for (let place = 0; place < chunks.length; place++) {
      this.#numbers[place] = place
      this.noteFirst(place)
    }
    this.#notePlaces(0)
  }

  /** The caller calls this after it changed the first entry of the chunk at `place`. */
  noteFirst(place: number): void {
    const chunk = this.chunkAt(place)
    this.#firsts[2 * place] = chunk.scoreAt(0)
    this.#firsts[2 * place + 1] = chunk.tieAt(0)
  }

  /** For tests: throws if an invariant does not hold. */
  check(): void {
    let before = 0
    for (let place = 0; place < this.length; place++) {
      const chunk = this.chunkAt(place)
      const size = this.sizes.at(place)
      const holds =
        this.placeOf(this.numberAt(place)) === place &&
        size > 0 &&
        size + this.leavers.count(this.numberAt(place)) === chunk.used &&
        chunk.used <= chunk.slots &&
        chunk.sorted > 0 &&
        chunk.arrivals >= 0 &&
        chunk.arrivals <= limits.boardArrivalsMax &&
        this.sizes.before(place) === before &&
        this.#firsts[2 * place] === chunk.scoreAt(0) &&
        this.#firsts[2 * place + 1] === chunk.tieAt(0)
      if (!holds) throw new Error(`The index of chunks is wrong at place ${place}`)
      before += size
    }
    const kept = this.#chunks.filter((chunk) => chunk !== noChunk).length
    if (kept !== this.length || this.#chunks.length !== kept + this.#free.length) {
      throw new Error("A chunk or its number is lost")
    }
  }

  #notePlaces(from: number): void {
    for (let place = from; place < this.length; place++) {
      this.#places[this.#numbers[place]!] = place
    }
  }

  /** Makes room for `count` chunks. */
  #reserve(count: number): void {
    let slots = this.#numbers.length
    if (count <= slots) return
    while (slots < count) slots *= 2
    this.leavers.reserve(slots)
    this.#places = moved(this.#places, new Uint32Array(slots))
    this.#numbers = moved(this.#numbers, new Uint32Array(slots))
    this.#firsts = moved(this.#firsts, new Float64Array(2 * slots))
  }
}

/** Replaces a removed chunk in `#chunks`, so that its memory can be freed. */
const noChunk = new Chunk(0)

const moved = <A extends Uint32Array | Float64Array>(from: A, to: A): A => {
  to.set(from)
  return to
}
