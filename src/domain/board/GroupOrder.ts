/**
 * The members of a board by their groups, and in each group in the order of the board. It has ranks and pages within a
 * group, as `ScoreOrder` has them of the whole board.
 *
 * All groups are one order, by the name of the group, then as the board: so a group of one costs as much as a group of a
 * million, and a list of the groups by name skips from one to the next. An entry is the number of a member alone; its key is read from the board's order and from
 * `Grouping`. The order is divided into chunks. A chunk has the key from which it begins, so that a
 * search reads the keys of a few members in one chunk only.
 *
 * A closed board keeps the groups of its members: who changes the group afterwards is in `#kept` with the group
 * at the close.
 *
 * Invariants (`check` asserts them): entries are the members of the board that have a group, in strict order;
 * each entry is in the chunk whose range has its key; no chunk is empty.
 *
 * Cost: a number of four bytes for each member and board, and the free room of its chunk; two searches of up to eight
 * keys each for a change of the score.
 */
import { limits } from "../../Limits.ts"
import { Fenwick } from "./ChunkIndex.ts"
import type { Grouping } from "./Grouping.ts"
import type { Members } from "./Members.ts"
import type { ScoreOrder } from "./ScoreOrder.ts"

/** A place in the order: before all entries that do not come before it. */
interface Key {
  /** The name of the group. */
  readonly group: string
  readonly score: number
  readonly tie: number
  /** The user id, only compared with that of an equal key. */
  readonly id: () => string
}

const noId = () => ""

const startOf = (group: string): Key => ({ group, score: Infinity, tie: -1, id: noId })

const endOf = (group: string): Key => ({ group, score: -Infinity, tie: -1, id: noId })

export class GroupOrder {
  readonly #members: Members
  readonly #order: ScoreOrder
  readonly #grouping: Grouping
  /** By place. */
  readonly #chunks: Array<Uint32Array> = []
  readonly #sizes = new Fenwick()
  /** By place, the key from which the chunk begins; the first chunk has all before it too. */
  readonly #from: Array<Omit<Key, "id"> & { readonly id: string }> = []
  /** The groups at the close of the board, of members who changed theirs since. */
  readonly #kept = new Map<number, number>()

  constructor(members: Members, order: ScoreOrder, grouping: Grouping) {
    this.#members = members
    this.#order = order
    this.#grouping = grouping
  }

  /** The group of `member` on this board; 0: none. */
  groupOf(member: number): number {
    const present = this.#grouping.groupOf(member)
    return this.#kept.size === 0 ? present : (this.#kept.get(member) ?? present)
  }

  nameOf(group: number): string | null {
    return this.#grouping.nameOf(group)
  }

  /** The number of the group; `undefined`: nobody is in it. */
  find(name: string): number | undefined {
    return this.#grouping.find(name)
  }

  /** `ScoreOrder.set` that moves the member in its group too. */
  set(member: number, score: number, tie: number): void {
    if (this.#order.scoreOf(member) === score) return
    this.leave(member)
    this.#order.set(member, score, tie)
    this.join(member)
  }

  /** Takes `member` out of its group, before its key or its group changes. */
  leave(member: number): void {
    const group = this.groupOf(member)
    if (group !== 0 && this.#order.scoreOf(member) > 0) this.#remove(member, group)
  }

  /** Puts `member` into its group, after its key or its group has changed. */
  join(member: number): void {
    const group = this.groupOf(member)
    if (group !== 0 && this.#order.scoreOf(member) > 0) this.#insert(member, group)
  }

  /** `member` was in `group` when the board closed. */
  keep(member: number, group: number): void {
    if (this.#kept.has(member) || this.#order.scoreOf(member) === 0) return
    if (this.groupOf(member) === group) {
      this.#kept.set(member, group)
      return
    }
    this.leave(member)
    this.#kept.set(member, group)
    this.join(member)
  }

  /** The number of listed members of the group. */
  totalOf(group: number): number {
    const name = this.#nameOf(group)
    return this.#before(endOf(name)) - this.#before(startOf(name))
  }

  /** Calls `visit` for each group with listed members by name, from the first one after `after` on, until it returns false. */
  visitGroups(after: string | undefined, visit: (name: string, total: number) => boolean): void {
    const total = this.#sizes.before(this.#sizes.length)
    let at = after === undefined ? 0 : this.#before(endOf(after))
    while (at < total) {
      const place = this.#sizes.find(at)
      const member = this.#chunks[place]![at - this.#sizes.before(place)]!
      const name = this.#nameOf(this.groupOf(member))
      const end = this.#before(endOf(name))
      if (!visit(name, end - at)) return
      at = end
    }
  }

  /** The number of listed members of the group with a score above `score`. */
  countAbove(group: number, score: number): number {
    const name = this.#nameOf(group)
    return this.#before({ group: name, score, tie: -1, id: noId }) - this.#before(startOf(name))
  }

  /** The number of members of the group before `member`, which must be listed and have a group. */
  positionOf(member: number, id?: string): number {
    const key = this.#keyOf(member, this.groupOf(member), id)
    const place = this.#placeFor(key)
    const slot = this.#chunks[place]!.indexOf(member)
    return this.#sizes.before(place) + slot - this.#before(startOf(key.group))
  }

  /** Calls `visit` for at most `limit` members of the group in order, from position `offset` on. */
  visit(group: number, offset: number, limit: number, visit: (member: number) => void): void {
    const name = this.#nameOf(group)
    const start = this.#before(startOf(name))
    const total = this.#before(endOf(name)) - start
    const end = start + Math.min(offset + limit, total)
    let at = start + offset
    if (at >= end) return
    let place = this.#sizes.find(at)
    let slot = at - this.#sizes.before(place)
    for (; at < end; place++, slot = 0) {
      const chunk = this.#chunks[place]!
      const size = this.#sizes.at(place)
      for (; slot < size && at < end; slot++, at++) visit(chunk[slot]!)
    }
  }

  /** The name of a group that has a number. */
  #nameOf(group: number): string {
    return this.#grouping.nameOf(group)!
  }

  #keyOf(member: number, group: number, known?: string): Key {
    // The text of an id stays in memory once it was read.
    const id = () => known ?? this.#members.idOf(member)
    const [score, tie] = [this.#order.scoreOf(member), this.#order.tieOf(member)]
    return { group: this.#nameOf(group), score, tie, id }
  }

  /** The last place that begins at the key or before it; 0 if none does. */
  #placeFor({ group, id, score, tie }: Key): number {
    let low = 1
    let high = this.#from.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const from = this.#from[middle]!
      const isBefore =
        from.group !== group
          ? from.group < group
          : from.score !== score
            ? from.score > score
            : from.tie !== tie
              ? from.tie < tie
              : from.id <= id()
      if (isBefore) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** The number of members of the chunk at `place` that come before the key. */
  #slotFor(place: number, key: Key): number {
    const chunk = this.#chunks[place]!
    let low = 0
    let high = this.#sizes.at(place)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#precedes(chunk[middle]!, key)) low = middle + 1
      else high = middle
    }
    return low
  }

  #precedes(member: number, { group, id, score, tie }: Key): boolean {
    const own = this.#nameOf(this.groupOf(member))
    if (own !== group) return own < group
    const ownScore = this.#order.scoreOf(member)
    if (ownScore !== score) return ownScore > score
    const ownTie = this.#order.tieOf(member)
    return ownTie === tie ? this.#members.idOf(member) < id() : ownTie < tie
  }

  /** The number of entries before the key. */
  #before(key: Key): number {
    if (this.#chunks.length === 0) return 0
    const place = this.#placeFor(key)
    return this.#sizes.before(place) + this.#slotFor(place, key)
  }

  #insert(member: number, group: number): void {
    const key = this.#keyOf(member, group)
    if (this.#chunks.length === 0) {
      this.#chunks.push(new Uint32Array(limits.boardGroupSlotsStep))
      this.#sizes.insert(0, 0)
      this.#from.push({ ...key, id: "" })
    }
    let place = this.#placeFor(key)
    if (this.#sizes.at(place) === limits.boardGroupSlotsMax) {
      this.#split(place)
      place = this.#placeFor(key)
    }
    const slot = this.#slotFor(place, key)
    const size = this.#sizes.at(place)
    const chunk = this.#withRoom(place, size + 1)
    chunk.copyWithin(slot + 1, slot, size)
    chunk[slot] = member
    this.#sizes.add(place, 1)
  }

  /** The chunk at `place`, with at least `slots` slots. */
  #withRoom(place: number, slots: number): Uint32Array {
    const chunk = this.#chunks[place]!
    if (slots <= chunk.length) return chunk
    return this.#resize(place, slots)
  }

  #resize(place: number, slots: number): Uint32Array {
    const step = limits.boardGroupSlotsStep
    const chunk = new Uint32Array(Math.ceil(slots / step) * step)
    chunk.set(this.#chunks[place]!.subarray(0, this.#sizes.at(place)))
    this.#chunks[place] = chunk
    return chunk
  }

  /** Splits a chunk into halves. */
  #split(place: number): void {
    const chunk = this.#chunks[place]!
    const size = this.#sizes.at(place)
    const half = size >>> 1
    const before = chunk[half - 1]!
    const first = chunk[half]!
    const key = this.#keyOf(first, this.groupOf(first))
    const isEqual =
      key.group === this.#nameOf(this.groupOf(before)) &&
      key.score === this.#order.scoreOf(before) &&
      key.tie === this.#order.tieOf(before)
    this.#sizes.add(place, half - size)
    this.#sizes.insert(place + 1, size - half)
    this.#chunks.splice(place + 1, 0, chunk.slice(half, size))
    this.#from.splice(place + 1, 0, { ...key, id: isEqual ? key.id() : "" })
    this.#resize(place, half + 1)
  }

  #remove(member: number, group: number): void {
    const place = this.#placeFor(this.#keyOf(member, group))
    const chunk = this.#chunks[place]!
    const slot = chunk.indexOf(member)
    const size = this.#sizes.at(place)
    if (slot < 0 || slot >= size) throw new Error(`Member ${member} is not in its group`)
    chunk.copyWithin(slot, slot + 1, size)
    this.#sizes.add(place, -1)
    if (size > limits.boardGroupSlotsMax / 4) return
    if (this.#joinNext(place) || (place > 0 && this.#joinNext(place - 1))) return
    if (size === 1) this.#drop(place)
  }

  /** Joins the chunk with the next one if both together fill at most three quarters. */
  #joinNext(place: number): boolean {
    if (place + 1 >= this.#chunks.length) return false
    const size = this.#sizes.at(place)
    const more = this.#sizes.at(place + 1)
    if (size + more > limits.boardGroupSlotsMax * 0.75) return false
    const next = this.#chunks[place + 1]!
    this.#withRoom(place, size + more).set(next.subarray(0, more), size)
    this.#sizes.add(place, more)
    this.#drop(place + 1)
    return true
  }

  #drop(place: number): void {
    this.#sizes.remove(place)
    this.#chunks.splice(place, 1)
    this.#from.splice(place, 1)
  }

  /** For tests: throws if an invariant does not hold. O(total). */
  check(): void {
    let last: number | undefined
    for (let place = 0; place < this.#chunks.length; place++) {
      const size = this.#sizes.at(place)
      if (size === 0) throw new Error(`The chunk at ${place} is empty`)
      for (const member of this.#chunks[place]!.subarray(0, size)) {
        const group = this.groupOf(member)
        if (group === 0) throw new Error(`Member ${member} has no group`)
        const key = this.#keyOf(member, group)
        if (key.score === 0) throw new Error(`Member ${member} is not listed`)
        if (this.#placeFor(key) !== place) throw new Error(`Member ${member} is in a wrong chunk`)
        if (last !== undefined && !this.#precedes(last, key)) {
          throw new Error(`Member ${member} is out of order`)
        }
        last = member
      }
    }
  }
}
