/**
 * Reads an environment's users in an order other than that of their ids. No such order is kept. A pass over
 * the bytes of all states, without a decode, finds the first users behind a position; these are then
 * decoded, in order, and asked for the other conditions. If too few remain, another pass finds the
 * next ones. So a page follows from a position alone, and a user whose value does not change is on
 * exactly one page.
 *
 * Cost: a pass reads the head of each state, in slices of `listTurnMs`; its candidates are at most
 * twice `listCandidatesMax` ids, in a table of all users `listTableCandidatesMax`. `npm run bench -- lists` prints both.
 */
import { Effect } from "effect"
import type { UserState } from "../../domain/user/User.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { sortInTurns } from "../users/sortInTurns.ts"
import type { UserFilter, UserSort } from "./UserFilter.ts"

/** A user's place in an order. In the order of ids, `key` is 0. */
export interface Place {
  readonly key: number
  readonly id: string
}

export interface Order {
  readonly sort: UserSort
  /** Smallest or earliest first; otherwise largest or latest. */
  readonly ascending: boolean
}

/** A user that was found, and its place when it was. */
export interface Found {
  readonly user: UserState
  readonly place: Place
}

export class SortedUsers {
  readonly #environment: Environment
  readonly #filter: UserFilter
  readonly #order: Order
  /** Candidates in order, from `#next` on; after them come those behind `#place`, unless `#isLast`. */
  #candidates: ReadonlyArray<Place> = []
  #next = 0
  #isLast = false
  /** The last candidate that was looked at. */
  #place: Place | undefined
  /** How many candidates the next pass finds. */
  #size: number
  readonly #sizeMax: number
  #turnEndsAt = 0

  constructor(
    environment: Environment,
    filter: UserFilter,
    order: Order,
    after: Place | undefined,
    size: number,
    sizeMax: number,
  ) {
    this.#environment = environment
    this.#filter = filter
    this.#order = order
    this.#place = after
    this.#size = size
    this.#sizeMax = sizeMax
  }

  /** The last user that was looked at. */
  get place(): Place | undefined {
    return this.#place
  }

  /** The next `count` users; fewer: there are no others, or `looksMax` were looked at. */
  readonly next = Effect.fnUntraced(function* (this: SortedUsers, count: number, looksMax: number) {
    const found: Array<Found> = []
    this.#turnEndsAt = performance.now() + limits.listTurnMs
    for (let looks = 0; found.length < count; looks++) {
      if (looks === looksMax) return { found, isLast: false }
      if (this.#next === this.#candidates.length) {
        if (this.#isLast) return { found, isLast: true }
        yield* this.#pass()
        if (this.#candidates.length === 0) return { found, isLast: true }
      }
      const place = this.#candidates[this.#next++]!
      this.#place = place
      const user = this.#environment.durableOf(place.id)
      if (user !== undefined && this.#filter.passes(user, this.#environment.project.durable)) {
        found.push({ user, place })
      }
      if (looks % clockEvery === 0) yield* this.#turn()
    }
    return { found, isLast: false }
  })

  readonly #turn = Effect.fnUntraced(function* (this: SortedUsers) {
    if (performance.now() < this.#turnEndsAt) return
    yield* yieldToEventLoop
    this.#turnEndsAt = performance.now() + limits.listTurnMs
  })

  /** Finds the first `#size` candidates behind `#place`. */
  readonly #pass = Effect.fnUntraced(function* (this: SortedUsers) {
    const size = this.#size
    this.#size = Math.max(size, Math.min(size * growth, this.#sizeMax))
    const after = this.#place
    let first: Array<Place> = []
    let end: Place | undefined
    const { head } = this.#filter
    const { sort } = this.#order
    const see = (bytes: Buffer, at: number, until: number, idOf: () => string) => {
      if (!this.#filter.mayPass(bytes, at, until, idOf)) return
      const key = head[sort]
      if (after !== undefined && this.#compare(key, idOf, after) <= 0) return
      if (end !== undefined && this.#compare(key, idOf, end) >= 0) return
      first.push({ key, id: idOf() })
    }
    const compare = (one: Place, other: Place) => this.#compare(one.key, () => one.id, other)
    for (let prefix = 0; prefix < prefixesEnd; ) {
      prefix = this.#environment.bytesFrom(prefix, see)
      if (first.length >= 2 * size) {
        first = (yield* sortInTurns(first, compare)).slice(0, size)
        end = first.at(-1)
      }
      yield* this.#turn()
    }
    this.#candidates = (yield* sortInTurns(first, compare)).slice(0, size)
    this.#isLast = first.length <= size && end === undefined
    this.#next = 0
  })

  /** How a user with this key and id compares to a place. The id is read only if it decides. */
  #compare(key: number, idOf: () => string, place: Place): number {
    if (key === place.key) return compareCodePoints(idOf(), place.id)
    return key < place.key === this.#order.ascending ? -1 : 1
  }
}

/** How many users are decoded between two readings of the clock. */
const clockEvery = 16
/** By how much a pass finds more candidates than the one before, which were too few. */
const growth = 8
