/**
 * Of each chunk the members who left it for another one, and whose slots are still there, in order. `takeOut` removes all
 * those of a chunk in one pass.
 *
 * At a million members a removal finds nothing of its chunk in the processor's caches. To take the slot out at once means to
 * read most of the chunk and to move half of it; the note is one line of a table that is small enough to stay there.
 *
 * Code that counts slots, or reads their members, takes leavers out first, as does code that puts a member back into a chunk.
 */
import type { Chunk } from "./Chunk.ts"

const noteBits = 5
const noteMax = 1 << noteBits

export class Leavers {
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
