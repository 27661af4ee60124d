/**
 * All chunks of an order, by number (which a chunk keeps for life) and by place (0, 1, 2… in board order).
 * By place, in contiguous memory: the chunk's size, in a Fenwick tree, and its first entry's score and tie,
 * which a search reads instead of the chunks. Searching is O(log n); adding or removing a chunk moves the
 * rows behind it, O(n), tens of microseconds at ten million members, and happens once in hundreds of updates.
 */
import { Chunk, SpareChunks } from "./Chunk.ts"
import { Fenwick } from "./Fenwick.ts"
import { Leavers } from "./Leavers.ts"
import type { Members } from "./Members.ts"

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
