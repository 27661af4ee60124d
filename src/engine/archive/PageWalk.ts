/**
 * The pages of all users' histories in the order of the users' keys, each user's oldest first: merges the partitions of an
 * environment (`records/HistoryPages.ts`), one environment after another. Memory holds a page of each partition.
 *
 * Cost of a page: a read in order, and a binary search among the partitions.
 */
import { type KeyRange, rangeOf, successor } from "../../storage/Keys.ts"
import type { StoredEntry } from "../../storage/Storage.ts"
import { type PagePlace, partitionPrefix, placeOfPage } from "../records/SnapshotValues.ts"

/** Reads the entries of a range of the table `history` in byte order. */
type ReadPages = (range: KeyRange) => Generator<StoredEntry>

export interface Page extends PagePlace {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** The pages of a partition, of which `page` is the next. */
interface Run {
  readonly order: number
  readonly pages: Iterator<Page, undefined>
  page: Page
}

export class PageWalk {
  readonly #read: ReadPages
  readonly #strange: (key: Uint8Array) => void
  /** The runs of an environment that have pages left, the one with the next page first. */
  #runs: Array<Run> = []
  /** Where the next environment begins. */
  #from: Uint8Array = new Uint8Array()

  /** Calls `strange` with each key of the table that is no page's. */
  constructor(read: ReadPages, strange: (key: Uint8Array) => void) {
    this.#read = read
    this.#strange = strange
    this.#openNext()
  }

  /** `undefined` after the last page. */
  get page(): Page | undefined {
    return this.#runs[0]?.page
  }

  next(): void {
    const run = this.#runs.shift()!
    const { done, value } = run.pages.next()
    if (done !== true) {
      run.page = value
      this.#insert(run)
    }
    if (this.#runs.length === 0) this.#openNext()
  }

  #insert(run: Run): void {
    let low = 0
    let high = this.#runs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(run, this.#runs[middle]!) < 0) high = middle
      else low = middle + 1
    }
    this.#runs.splice(low, 0, run)
  }

  /** Opens the runs of the next environment that has pages. */
  #openNext(): void {
    let environment: string | undefined
    for (let order = 0; ; order++) {
      const first = this.#firstPage()
      this.#from = first?.key ?? everything.until
      if (first === undefined) return
      environment ??= first.environment
      if (first.environment !== environment) return
      const until = successor(partitionPrefix(first.key))
      const pages = this.#pages({ from: first.key, until })
      this.#from = until
      this.#insert({ order, pages, page: pages.next().value! })
    }
  }

  /** The first page from `#from` on. */
  #firstPage(): Page | undefined {
    for (const page of this.#pages({ ...everything, from: this.#from })) return page
    return undefined
  }

  *#pages(range: KeyRange): Generator<Page, undefined> {
    for (const [key, value] of this.#read(range)) {
      const place = placeOfPage(key)
      if (place === undefined) this.#strange(key)
      else yield { ...place, key, value }
    }
    return undefined
  }
}

const everything = rangeOf(new Uint8Array())

/** By user; for one user, the older partition first. */
const compare = (one: Run, other: Run): number =>
  Buffer.compare(one.page.user, other.page.user) || one.order - other.order
