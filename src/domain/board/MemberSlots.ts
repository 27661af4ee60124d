/**
 * A hash table from ids to member numbers, by open addressing with linear probing in typed arrays: 8 bytes a
 * slot, at most three quarters of them used. What is removed leaves a mark until the table is next rebuilt.
 */
import type { MemberIds } from "./MemberIds.ts"

const slotsMin = 8
const empty = 0
const removed = 0xffff_ffff

export class MemberSlots {
  #hashes = new Uint32Array(slotsMin)
  /** The member's number plus one; `empty`; or `removed`. */
  #members = new Uint32Array(slotsMin)
  /** Slots that are not empty. */
  used = 0

  /** The member whose id is what stands in `bytes` from `start` to `end`. */
  find(
    hash: number,
    ids: MemberIds,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): number | undefined {
    const slot = this.#slotOf(hash, ids, bytes, start, end)
    return slot < 0 ? undefined : this.#members[slot]! - 1
  }

  #slotOf(hash: number, ids: MemberIds, bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#members.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const member = this.#members[slot]!
      if (member === empty) return -1
      if (this.#hashes[slot] !== hash || member === removed) continue
      if (ids.equals(member - 1, bytes, start, end)) return slot
    }
  }

  /** Adds a member that is not there. */
  add(hash: number, member: number): void {
    if ((this.used + 1) * 4 > this.#members.length * 3) this.#rebuild()
    this.#put(hash, member + 1)
  }

  #put(hash: number, entry: number): void {
    const mask = this.#members.length - 1
    let slot = hash & mask
    while (this.#members[slot] !== empty) slot = (slot + 1) & mask
    this.#hashes[slot] = hash
    this.#members[slot] = entry
    this.used++
  }

  #rebuild(): void {
    const hashes = this.#hashes
    const members = this.#members
    let live = 0
    for (const member of members) if (member !== empty && member !== removed) live++
    let slots = slotsMin
    while (slots < (live + 1) * 2) slots *= 2
    this.#hashes = new Uint32Array(slots)
    this.#members = new Uint32Array(slots)
    this.used = 0
    for (let slot = 0; slot < members.length; slot++) {
      const member = members[slot]!
      if (member !== empty && member !== removed) this.#put(hashes[slot]!, member)
    }
  }

  /** Removes the member with that id, and answers its number. */
  remove(
    hash: number,
    ids: MemberIds,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): number | undefined {
    const slot = this.#slotOf(hash, ids, bytes, start, end)
    if (slot < 0) return undefined
    const member = this.#members[slot]! - 1
    this.#members[slot] = removed
    return member
  }

  forEach(visit: (hash: number, member: number) => void): void {
    for (let slot = 0; slot < this.#members.length; slot++) {
      const member = this.#members[slot]!
      if (member !== empty && member !== removed) visit(this.#hashes[slot]!, member - 1)
    }
  }
}
