/**
 * All chunks of an order, by number (which a chunk keeps for life) and by place (0, 1, 2… in board order).
 * By place, in contiguous memory: the chunk's size, in a Fenwick tree, and its first entry's score and tie,
 * which a search reads instead of the chunks. Searching is O(log n); adding or removing a chunk moves the
 * rows behind it, O(n), tens of microseconds at ten million members, and happens once in hundreds of updates.
 */
import { limits } from "../../Limits.ts"
import type { Members } from "./Members.ts"

/*
 * A run of a leaderboard's order: in each slot a key (score and tie) and a member number, in two typed arrays.
 * The content of unused slots is undefined.
 *
 * A board spends most of its time moving slots, and a call to move a few kilobytes costs more
 * than the bytes: so score and tie, which are always read together, lie in one array.
 */

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
class SpareChunks {
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

/**
 * A row of counts with fast prefix sums (a Fenwick tree). Changing a count, summing those before a position
 * and finding the position that holds the n-th thing are O(log n); inserting or removing a position
 * rebuilds the tree, O(n) over contiguous memory, which is fine where that is rare.
 */
export class Fenwick {
  #length = 0
  #counts = new Uint32Array(8)
  /** One-based: node i holds the sum of the `i & -i` counts that end at position i - 1. */
  #tree = new Uint32Array(9)

  /** How many positions there are. */
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

  /** The position that holds thing number `offset` (from 0) when all counts are laid end to end; `length` when past the end. */
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

  /** Makes room at `position` for a new count; those from there on move up by one. */
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

  /** Takes the count at `position` out; those after it move down by one. */
  remove(position: number): void {
    this.#counts.copyWithin(position, position + 1, this.#length)
    this.#length--
    this.#rebuild()
  }

  /** Replaces everything. */
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
 * Of each chunk the members who left it for another one, and whose slots are still there, in order. `takeOut` removes all
 * those of a chunk in one pass.
 *
 * At a million members a removal finds nothing of its chunk in the processor's caches. To take the slot out at once means to
 * read most of the chunk and to move half of it; the note is one line of a table that is small enough to stay there.
 *
 * Code that counts slots, or reads their members, takes leavers out first, as does code that puts a member back into a chunk.
 */

const noteBits = 5
const noteMax = 1 << noteBits

class Leavers {
  /** By number of the chunk. */
  #counts = new Uint8Array(8)
  #members = new Uint32Array(8 * noteMax)

  /** How many left the chunk `number`. */
  count(number: number): number {
    return this.#counts[number]!
  }

  /** Whether no further one can be noted. */
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

  /** The chunk `number` is another one now, or gone. */
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

/** By the last bits of a member's number, whether one of those leaves; used within one call only. */
const mayHaveLeft = new Uint8Array(1_024)
const lastBits = mayHaveLeft.length - 1

export class ChunkIndex {
  /** The number of entries in the chunk at each place, without those who left. Code that changes a chunk updates its size here. */
  readonly sizes = new Fenwick()
  /** By number. Those of chunks that are gone wait in `#free` to be used again. */
  readonly #chunks: Array<Chunk> = []
  readonly #free: Array<number> = []
  readonly #spare = new SpareChunks()
  /** By number. */
  readonly leavers = new Leavers()
  /** By number. */
  #places = new Uint32Array(8)
  /** By place. */
  #numbers = new Uint32Array(8)
  #firstScores = new Float64Array(8)
  #firstTies = new Float64Array(8)

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

  /** The last place whose first score is above `score`; -1 when none is. */
  placeAbove(score: number): number {
    const firstScores = this.#firstScores
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (firstScores[middle]! > score) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** The last place whose first entry does not come after the key; 0 when all do. */
  placeFor(ids: Members, member: number, score: number, tie: number): number {
    const firstScores = this.#firstScores
    const firstTies = this.#firstTies
    let low = 1
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const first = firstScores[middle]!
      if (first > score || (first === score && firstTies[middle]! < tie)) low = middle + 1
      else if (first < score || firstTies[middle]! > tie) high = middle
      else {
        if (this.settle(middle)) return this.placeFor(ids, member, score, tie)
        if (ids.idOf(this.chunkAt(middle).members[0]!) <= ids.idOf(member)) low = middle + 1
        else high = middle
      }
    }
    return low - 1
  }

  /** Whether nobody in the chunk at `place` has `score`, nor belongs there with it. */
  excludes(place: number, score: number): boolean {
    return (
      (place > 0 && score > this.#firstScores[place]!) ||
      (place + 1 < this.length && score < this.#firstScores[place + 1]!)
    )
  }

  /** Takes those who left out of the chunk at `place`, which is not empty without them; answers whether there were any. */
  settle(place: number): boolean {
    const number = this.numberAt(place)
    if (this.leavers.count(number) === 0) return false
    this.leavers.takeOut(number, this.chunkOf(number))
    this.noteFirst(place)
    return true
  }

  /** Whether any entry of `score` belongs into the chunk at `place`, with any tie. */
  belongs(place: number, score: number): boolean {
    return (
      (place === 0 || score < this.#firstScores[place]!) &&
      (place + 1 === this.length || score > this.#firstScores[place + 1]!)
    )
  }

  /** An empty chunk to insert. */
  newChunk(slots: number): Chunk {
    return this.#spare.take(slots)
  }

  /** Gives chunk `number`, which is settled, another count of slots for its first `size`; answers what is now in its stead. */
  resize(number: number, slots: number, size: number): Chunk {
    const chunk = this.chunkOf(number)
    const resized = this.#spare.take(slots)
    resized.copy(0, chunk, 0, size)
    resized.used = size
    this.#chunks[number] = resized
    this.#spare.give(chunk)
    return resized
  }

  /** Puts a chunk at `place`; those from there on move up by one. Answers its number. */
  insert(place: number, chunk: Chunk, size: number): number {
    const number = this.#free.pop() ?? this.#chunks.length
    const count = this.length
    this.#reserve(Math.max(number, count) + 1)
    this.#chunks[number] = chunk
    this.#numbers.copyWithin(place + 1, place, count)
    this.#firstScores.copyWithin(place + 1, place, count)
    this.#firstTies.copyWithin(place + 1, place, count)
    this.#numbers[place] = number
    this.sizes.insert(place, size)
    this.noteFirst(place)
    this.#notePlaces(place)
    return number
  }

  /** Takes the chunk at `place` out; those behind it move down by one. */
  remove(place: number): void {
    const number = this.numberAt(place)
    this.#spare.give(this.chunkOf(number))
    this.leavers.forget(number)
    this.#chunks[number] = noChunk
    this.#free.push(number)
    this.#numbers.copyWithin(place, place + 1, this.length)
    this.#firstScores.copyWithin(place, place + 1, this.length)
    this.#firstTies.copyWithin(place, place + 1, this.length)
    this.sizes.remove(place)
    this.#notePlaces(place)
  }

  /** Replaces everything with `chunks`, numbered by place. */
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

  /** To be called when the first entry of the chunk at `place` has changed. */
  noteFirst(place: number): void {
    const chunk = this.chunkAt(place)
    this.#firstScores[place] = chunk.scoreAt(0)
    this.#firstTies[place] = chunk.tieAt(0)
  }

  /** Throws when an invariant does not hold, for tests. */
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
        this.sizes.before(place) === before &&
        this.#firstScores[place] === chunk.scoreAt(0) &&
        this.#firstTies[place] === chunk.tieAt(0)
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
    this.#firstScores = moved(this.#firstScores, new Float64Array(slots))
    this.#firstTies = moved(this.#firstTies, new Float64Array(slots))
  }
}

/** Stands where a chunk is gone, so that its memory is not held. */
const noChunk = new Chunk(0)

const moved = <A extends Uint32Array | Float64Array>(from: A, to: A): A => {
  to.set(from)
  return to
}
