/**
 * Dense numbers for user ids, so that a board keeps 4 bytes for a member instead of a string. All
 * boards of an environment (all-time, daily, weekly…) share one `Members`: each id and its number
 * are stored once, and a new window starts empty.
 *
 * Numbers count from 0, and released numbers are reused first. Invariant: before a number is
 * released, its member must be off every board, and nobody may keep the number.
 *
 * A million ids as strings in Maps would slow a start and keep the garbage collector busy.
 * Therefore the ids are UTF-8 in large buffers (`MemberIds`), and typed arrays map a keyed hash of
 * the id to the number: about 40 bytes a member for ids of 20 bytes. A start passes the bytes that
 * it has read. A string is created only for an id that is shown, and then cached.
 *
 * No operation blocks the event loop: there are many tables of a few thousand entries, which double
 * one at a time, and large buffers never move.
 */
import { limits } from "../../Limits.ts"
import { halfSipHash } from "./halfSipHash.ts"

/**
 * A number (0 to 2^32 - 1, by default 0) for each member, in pages. A page starts small, doubles up
 * to its full size, and then never moves: a board of ten members costs next to nothing, and a board
 * that grows past a million does not stall to copy itself. A board that lists few of many members
 * pays only for the pages of these members.
 */
const pageBits = 14
const pageEntries = 1 << pageBits
const pageEntriesMin = 16

export class MemberTable {
  readonly #pages: Array<Uint32Array> = []

  get(member: number): number {
    const pageNumber = member >>> pageBits
    if (pageNumber >= this.#pages.length) return 0
    const page = this.#pages[pageNumber]!
    const entry = member & (pageEntries - 1)
    return entry < page.length ? page[entry]! : 0
  }

  set(member: number, value: number): void {
    const pageNumber = member >>> pageBits
    const entry = member & (pageEntries - 1)
    const page = this.#pages[pageNumber] ?? none
    if (entry < page.length) page[entry] = value
    else this.#grow(pageNumber, page, entry)[entry] = value
  }

  #grow(pageNumber: number, page: Uint32Array, entry: number): Uint32Array {
    while (this.#pages.length < pageNumber) this.#pages.push(none)
    let entries = pageEntriesMin
    while (entries <= entry) entries *= 2
    const grown = new Uint32Array(entries)
    grown.set(page)
    this.#pages[pageNumber] = grown
    return grown
  }
}

const none = new Uint32Array(0)

/*
 * The ids of members as UTF-8, in pages. An entry is two bytes of length and the bytes of the id,
 * aligned to 4 bytes. The first page doubles until it has its full size; full pages never move.
 * `erase` overwrites an id with zeros and does not reuse its place.
 */

const pageBytes = 1 << 20
const firstPageBytes = 1 << 10
const textPageBits = 12

class MemberIds {
  readonly #pages: Array<Buffer> = [Buffer.alloc(firstPageBytes)]
  /** The offset of a member's id over all pages, in units of 4 bytes; 0: none. */
  readonly #places = new MemberTable()
  /** The ids that were read as text, by member, in pages. */
  readonly #texts: Array<Array<string | undefined> | undefined> = []
  /** The offset of the next id over all pages, in bytes. */
  #end = 4

  put(member: number, bytes: Uint8Array, start: number, end: number): void {
    const size = (2 + end - start + 3) & ~3
    if ((this.#end % pageBytes) + size > pageBytes) {
      this.#end += pageBytes - (this.#end % pageBytes)
    }
    const page = this.#pageFor(this.#end, size)
    const at = this.#end % pageBytes
    page.writeUInt16LE(end - start, at)
    // For so few bytes, a view would cost more than this loop.
    for (let index = start; index < end; index++) page[at + 2 + index - start] = bytes[index]!
    this.#places.set(member, this.#end / 4)
    this.#end += size
  }

  #pageFor(at: number, size: number): Buffer {
    const number = Math.floor(at / pageBytes)
    const page = this.#pages[number]
    const needed = (at % pageBytes) + size
    if (page !== undefined && needed <= page.length) return page
    let length = number === 0 ? firstPageBytes : pageBytes
    while (length < needed) length *= 2
    const larger = Buffer.alloc(length)
    page?.copy(larger)
    this.#pages[number] = larger
    return larger
  }

  /** Whether the id of `member` equals `bytes` from `start` to `end`. */
  equals(member: number, bytes: Uint8Array, start: number, end: number): boolean {
    const place = this.#places.get(member) * 4
    const page = this.#pages[Math.floor(place / pageBytes)]!
    const at = place % pageBytes
    const length = end - start
    if ((page[at]! | (page[at + 1]! << 8)) !== length) return false
    for (let index = 0; index < length; index++) {
      if (page[at + 2 + index] !== bytes[start + index]) return false
    }
    return true
  }

  /** The id of `member` as text, which is cached. Throws for a number that is not in use. */
  textOf(member: number): string {
    const number = member >>> textPageBits
    let texts = this.#texts[number]
    if (texts === undefined) {
      texts = []
      this.#texts[number] = texts
    }
    const index = member & ((1 << textPageBits) - 1)
    let text = texts[index]
    if (text === undefined) {
      text = this.#decode(member)
      texts[index] = text
    }
    return text
  }

  #decode(member: number): string {
    const place = this.#places.get(member) * 4
    if (place === 0) throw new RangeError(`No member has the number ${member}`)
    const page = this.#pages[Math.floor(place / pageBytes)]!
    const at = place % pageBytes
    return page.toString("utf8", at + 2, at + 2 + page.readUInt16LE(at))
  }

  /** Copies the id of `member` as UTF-8 to `target` at `at`. Returns the end of the copy. */
  copy(member: number, target: Buffer, at: number): number {
    const place = this.#places.get(member) * 4
    if (place === 0) throw new RangeError(`No member has the number ${member}`)
    const page = this.#pages[Math.floor(place / pageBytes)]!
    const start = (place % pageBytes) + 2
    return at + page.copy(target, at, start, start + page.readUInt16LE(start - 2))
  }

  /** Erases the id of `member`. */
  erase(member: number): void {
    const place = this.#places.get(member) * 4
    const page = this.#pages[Math.floor(place / pageBytes)]!
    const at = place % pageBytes
    page.fill(0, at, at + 2 + page.readUInt16LE(at))
    this.#places.set(member, 0)
    const texts = this.#texts[member >>> textPageBits]
    if (texts !== undefined) texts[member & ((1 << textPageBits) - 1)] = undefined
  }
}

/*
 * A hash table from ids to member numbers: open addressing with linear probing in a typed array, 8
 * bytes for each slot, at most three quarters of the slots in use. A removal leaves a tombstone,
 * which the next rebuild drops.
 */

const slotsMin = 8
const empty = 0
const removed = 0xffff_ffff

class MemberSlots {
  /**
   * For each slot the hash, then the member number plus one, `empty` or `removed`. Both are
   * adjacent, so that a lookup costs one cache miss.
   */
  #slots = new Uint32Array(2 * slotsMin)
  /** The number of slots that are not empty, tombstones included. */
  used = 0

  /** The member whose id equals `bytes` from `start` to `end`. */
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

  /** The index in `#slots` of the member number; -1 if the id is not in the table. */
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

  /** Adds a member that is not in the table. */
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

  /** Removes the member with this id and returns its number. */
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

export class Members {
  readonly #ids = new MemberIds()
  /**
   * One table while there are few ids, then `boardIdTables` tables, chosen by the high bits of the
   * hash.
   */
  #tables: Array<MemberSlots> = [new MemberSlots()]
  readonly #free: Array<number> = []
  readonly #key0: number
  readonly #key1: number
  #next = 0

  /** `key0` and `key1` are the keys of the hash. Default: random. */
  constructor(key0 = randomWord(), key1 = randomWord()) {
    this.#key0 = key0
    this.#key1 = key1
  }

  /** The number of ids that have a number. */
  get size(): number {
    return this.#next - this.#free.length
  }

  /** The number of `userId` (well-formed Unicode); `undefined` if it has none. */
  find(userId: string): number | undefined {
    const length = encodeId(userId)
    const hash = this.#hash(scratch, 0, length)
    return this.#tableOf(hash).find(hash, this.#ids, scratch, 0, length)
  }

  /** The number of `userId` (well-formed Unicode); assigns one if it has none. */
  admit(userId: string): number {
    return this.admitBytes(scratch, 0, encodeId(userId))
  }

  /** `admit` for an id as UTF-8 in `bytes` from `start` to `end`. The bytes are copied. */
  admitBytes(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.#hash(bytes, start, end)
    const table = this.#tableOf(hash)
    const known = table.find(hash, this.#ids, bytes, start, end)
    if (known !== undefined) return known
    const member = this.#free.pop() ?? this.#next++
    this.#ids.put(member, bytes, start, end)
    table.add(hash, member)
    if (this.#tables.length === 1 && table.used > limits.boardIdsInOneTableMax) this.#spread(table)
    return member
  }

  /** The user id of `member`. Throws for a number that is not in use. */
  idOf(member: number): string {
    return this.#ids.textOf(member)
  }

  /** Copies the user id of `member` as UTF-8 to `target` at `at`. Returns the end of the copy. */
  copyId(member: number, target: Buffer, at: number): number {
    return this.#ids.copy(member, target, at)
  }

  /** Releases the number of `userId` for reuse. The member must be off every board. */
  release(userId: string): void {
    const length = encodeId(userId)
    const hash = this.#hash(scratch, 0, length)
    const member = this.#tableOf(hash).remove(hash, this.#ids, scratch, 0, length)
    if (member === undefined) return
    this.#ids.erase(member)
    this.#free.push(member)
  }

  #hash(bytes: Uint8Array, start: number, end: number): number {
    return halfSipHash(bytes, start, end, this.#key0, this.#key1)
  }

  #tableOf(hash: number): MemberSlots {
    const tables = this.#tables
    return tables.length === 1 ? tables[0]! : tables[hash >>> tableShift]!
  }

  #spread(from: MemberSlots): void {
    this.#tables = Array.from({ length: limits.boardIdTables }, () => new MemberSlots())
    from.forEach((hash, member) => {
      this.#tableOf(hash).add(hash, member)
    })
  }
}

const tableShift = 32 - Math.log2(limits.boardIdTables)

const randomWord = (): number => Math.floor(Math.random() * 0x1_0000_0000)

const encoder = new TextEncoder()
/** Holds an id as UTF-8 during one call. */
let scratch = new Uint8Array(1_024)

/** Writes `id` as UTF-8 to the start of `scratch` and returns its length in bytes. */
const encodeId = (id: string): number => {
  if (scratch.length < id.length * 3) scratch = new Uint8Array(id.length * 3)
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index)
    if (code > 0x7f) return encoder.encodeInto(id, scratch).written
    scratch[index] = code
  }
  return id.length
}

const namePageBits = 12

/**
 * The display names of members. A member without a name costs nothing; a name of twelve letters
 * costs 60 to 76 bytes. Each 4,096 member numbers share a map, since a single map of a million
 * entries would block the event loop while it doubles.
 */
export class MemberNames {
  readonly #pages: Array<Map<number, string> | undefined> = []

  get(member: number): string | null {
    return this.#pages[member >>> namePageBits]?.get(member) ?? null
  }

  set(member: number, name: string | null): void {
    const number = member >>> namePageBits
    let page = this.#pages[number]
    if (name === null) {
      page?.delete(member)
      return
    }
    if (page === undefined) {
      page = new Map()
      this.#pages[number] = page
    }
    page.set(member, name)
  }
}
