/**
 * A hash table from ids to member numbers, by open addressing with linear probing in typed arrays: 8 bytes a
 * slot, at most three quarters of them used. A removal leaves a tombstone until the table is rebuilt.
 */
import type { MemberIds } from "./MemberIds.ts"

const slotsMin = 8
const empty = 0
const removed = 0xffff_ffff

export class MemberSlots {
  /**
   * For each slot the hash, and then the member's number plus one, `empty` or `removed`: side by side, so that a
   * look costs one cache miss.
   */
  #slots = new Uint32Array(2 * slotsMin)
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
    const entry = this.#entryOf(hash, ids, bytes, start, end)
    return entry < 0 ? undefined : this.#slots[entry]! - 1
  }

  /** Where in `#slots` the member stands; -1 when it is not there. */
  #entryOf(hash: number, ids: MemberIds, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let at = (hash << 1) & mask; ; at = (at + 2) & mask) {
      const member = slots[at + 1]!
      if (member === empty) return -1
      if (slots[at] !== hash || member === removed) continue
      if (ids.equals(member - 1, bytes, start, end)) return at + 1
    }
  }

  /** Adds a member that is not there. */
  add(hash: number, member: number): void {
    if ((this.used + 1) * 8 > this.#slots.length * 3) this.#rebuild()
    this.#put(hash, member + 1)
  }

  #put(hash: number, member: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let at = (hash << 1) & mask
    while (slots[at + 1] !== empty) at = (at + 2) & mask
    slots[at] = hash
    slots[at + 1] = member
    this.used++
  }

  #rebuild(): void {
    const before = this.#slots
    let live = 0
    this.forEach(() => {
      live++
    })
    let slots = slotsMin
    while (slots < (live + 1) * 2) slots *= 2
    this.#slots = new Uint32Array(2 * slots)
    this.used = 0
    visitMembers(before, (hash, member) => this.#put(hash, member + 1))
  }

  /** Removes the member with that id, and answers its number. */
  remove(
    hash: number,
    ids: MemberIds,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): number | undefined {
    const entry = this.#entryOf(hash, ids, bytes, start, end)
    if (entry < 0) return undefined
    const member = this.#slots[entry]! - 1
    this.#slots[entry] = removed
    return member
  }

  forEach(visit: (hash: number, member: number) => void): void {
    visitMembers(this.#slots, visit)
  }
}

const visitMembers = (slots: Uint32Array, visit: (hash: number, member: number) => void): void => {
  for (let at = 0; at < slots.length; at += 2) {
    const member = slots[at + 1]!
    if (member !== empty && member !== removed) visit(slots[at]!, member - 1)
  }
}
