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
