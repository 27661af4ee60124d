/**
 * The ids of members as UTF-8, one behind the other in pages: two bytes of length, then the bytes, each at
 * a multiple of 4. The first page doubles until it has full size; full pages never move. A released id is
 * overwritten with zeros; its place is not reused.
 */
import { MemberTable } from "./MemberTable.ts"

const pageBytes = 1 << 20
const firstPageBytes = 1 << 10
const textPageBits = 12

export class MemberIds {
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
