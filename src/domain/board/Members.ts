/**
 * Dense numbers for user ids, so that boards keep 4 bytes for a member instead of a string. All boards of
 * one environment (all-time, daily, weekly…) may share one `Members`: an id and its number are then held
 * once, and a new window starts empty without touching it.
 *
 * Numbers count from 0; released numbers are reused first. Before a release the
 * member must be off every board, and no copy of the number may remain.
 *
 * A million ids as strings in Maps slow a start and keep the garbage collector busy. So
 * ids lie as UTF-8 in large buffers (`MemberIds`), and typed arrays lead from a keyed hash to the number:
 * about 40 bytes a member for ids of 20. A start passes the bytes that it has read; a string is
 * made only for an id that is shown, and then cached. Tables of a few thousand entries each double one at a
 * time, buffers never move once they are large: no operation holds the event loop.
 */
import { limits } from "../../Limits.ts"
import { halfSipHash } from "./halfSipHash.ts"

/**
 * A number (up to 2^32 - 1, 0 unless set) for each member, in pages that begin small, double, and then
 * never move: a board of ten members costs next to nothing, and one that grows past a million does not
 * stall to copy itself. A board that lists few of many members pays for the pages they fall into.
 */
const pageBits = 12
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
 * The ids of members as UTF-8, one behind the other in pages: two bytes of length, then the bytes, each at
 * a multiple of 4. The first page doubles until it has full size; full pages never move. A released id is
 * overwritten with zeros; its place is not reused.
 */

const pageBytes = 1 << 20
const firstPageBytes = 1 << 10
const textPageBits = 12

class MemberIds {
  readonly #pages: Array<Buffer> = [Buffer.alloc(firstPageBytes)]
  /** Where a member's id begins, in units of 4 bytes, from 1. */
  readonly #places = new MemberTable()
  /** The texts that were asked for, by member, in pages. */
  readonly #texts: Array<Array<string | undefined> | undefined> = []
  /** Where the next id goes, in bytes over all pages. */
  #end = 4

  put(member: number, bytes: Uint8Array, start: number, end: number): void {
    const size = (2 + end - start + 3) & ~3
    if ((this.#end % pageBytes) + size > pageBytes) {
      this.#end += pageBytes - (this.#end % pageBytes)
    }
    const page = this.#pageFor(this.#end, size)
    const at = this.#end % pageBytes
    page.writeUInt16LE(end - start, at)
    // A view to copy from would cost more than the copy of so few bytes.
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

  /** Whether the id of `member` is what stands in `bytes` from `start` to `end`. */
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

  /** The id of `member` as text, which is kept. Throws for a number that is not in use. */
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

  /** Copies the id of `member` to `at` in `target`, as UTF-8; answers where it ends. */
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
 * A hash table from ids to member numbers, by open addressing with linear probing in typed arrays: 8 bytes a
 * slot, at most three quarters of them used. A removal leaves a tombstone until the table is rebuilt.
 */

const slotsMin = 8
const empty = 0
const removed = 0xffff_ffff

class MemberSlots {
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

export class Members {
  readonly #ids = new MemberIds()
  /** One table while small, then `boardIdTables` of them, chosen by the high bits of the hash. */
  #tables: Array<MemberSlots> = [new MemberSlots()]
  readonly #free: Array<number> = []
  readonly #key0: number
  readonly #key1: number
  #next = 0

  /** The keys of the hash are random unless given. */
  constructor(key0 = randomWord(), key1 = randomWord()) {
    this.#key0 = key0
    this.#key1 = key1
  }

  /** How many ids have a number. */
  get size(): number {
    return this.#next - this.#free.length
  }

  /** The number of `userId` (well-formed Unicode), or `undefined` when it has none. */
  find(userId: string): number | undefined {
    const length = encodeId(userId)
    const hash = this.#hash(scratch, 0, length)
    return this.#tableOf(hash).find(hash, this.#ids, scratch, 0, length)
  }

  /** The number of `userId` (well-formed Unicode); a new one when it has none. */
  admit(userId: string): number {
    return this.admitBytes(scratch, 0, encodeId(userId))
  }

  /** `admit` for an id whose UTF-8 stands in `bytes` from `start` to `end`; the bytes are copied. */
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

  /** The user id of `member`; only for a number that is in use. */
  idOf(member: number): string {
    return this.#ids.textOf(member)
  }

  /** Copies the user id of `member`, as UTF-8, to `at` in `target`; answers where it ends. */
  copyId(member: number, target: Buffer, at: number): number {
    return this.#ids.copy(member, target, at)
  }

  /** Gives the number of `userId` back, to be used again; the member must be off every board. */
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
/** Where a string that is looked for is put as UTF-8; used within one call only. */
let scratch = new Uint8Array(1_024)

/** Writes `id` as UTF-8 to the start of `scratch`, and answers its length. */
const encodeId = (id: string): number => {
  if (scratch.length < id.length * 3) scratch = new Uint8Array(id.length * 3)
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index)
    if (code > 0x7f) return encoder.encodeInto(id, scratch).written
    scratch[index] = code
  }
  return id.length
}

/**
 * The display names of members who have one: most have none and cost nothing, a name of twelve letters costs 60 to 76 bytes.
 * A map for each 4,096 member numbers, since one map of a million holds the event loop while it doubles.
 */

export class MemberNames {
  readonly #pages: Array<Map<number, string> | undefined> = []

  get(member: number): string | null {
    return this.#pages[member >>> pageBits]?.get(member) ?? null
  }

  set(member: number, name: string | null): void {
    const number = member >>> pageBits
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
