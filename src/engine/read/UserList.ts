/**
 * Lists an environment's users. In the order of their ids (by code points): the ids in the snapshot,
 * which LMDB keeps in that order, merged with the ids of users that no snapshot has yet; states
 * come from memory. `SortedUsers.ts` has the other orders. A list shows each user as of the moment at
 * which it reached that user.
 *
 * Cost: a list by id reads from the start of its page to the first user after its end. A search looks at
 * the ids and display names in between, and other filters at the heads of the states, which takes
 * a few µs a user; one that finds little looks at every user. Filters by badge or segment decode
 * states: a page ends early, also without users, once `listLooksMax` were decoded. Lists work in slices of
 * `listTurnMs`. The total comes from `Counts`. At most `listsConcurrentMax` lists are read at a time,
 * and `listsPerEnvironmentMax` of one environment.
 */
import { Effect, Option, Semaphore, Stream } from "effect"
import type { UserState } from "../../domain/user/User.ts"
import { countWhile } from "../../domain/values/countUpTo.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import {
  asBuffer,
  compositeKey,
  lastTextEnd,
  lastTextStart,
  rangeOf,
  successor,
} from "../../storage/Keys.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment } from "../actor/Environments.ts"
import { sortInTurns } from "../users/sortInTurns.ts"
import { type Order, type Place, SortedUsers } from "./SortedUsers.ts"
import { type UserConditions, UserFilter } from "./UserFilter.ts"

export interface UserListQuery extends UserConditions {
  readonly limit: number
  /** The page begins behind this id; absent: with the first user. */
  readonly after?: string | undefined
  /** The place of `after` in `order`. */
  readonly afterKey?: number | undefined
  /** Absent: by id. */
  readonly order?: Order | undefined
}

export interface UserListPage {
  readonly users: ReadonlyArray<UserState>
  /** Whether other users may follow. */
  readonly hasMore: boolean
  /** Where the page ends. Absent: `hasMore` is false. */
  readonly end?: Place
  /** How many users the environment has. */
  readonly total: number
}

/** As the limits `list…` say. */
export interface ListBounds {
  readonly looksMax: number
  readonly candidatesMax: number
  readonly tableCandidatesMax: number
  readonly chunkUsers: number
}

type Store = Storage["Service"]

export class UserList {
  readonly #storage: Store
  readonly #shares = new WeakMap<Environment, Semaphore.Semaphore>()
  readonly #few = Semaphore.makeUnsafe(limits.listsConcurrentMax)
  readonly #now: () => number
  readonly #bounds: ListBounds

  constructor(storage: Store, now: () => number, bounds: Partial<ListBounds> = {}) {
    this.#storage = storage
    this.#now = now
    this.#bounds = {
      looksMax: limits.listLooksMax,
      candidatesMax: limits.listCandidatesMax,
      tableCandidatesMax: limits.listTableCandidatesMax,
      chunkUsers: limits.listChunkUsers,
      ...bounds,
    }
  }

  read(environment: Environment, query: UserListQuery): Effect.Effect<UserListPage, Broken> {
    const { order } = query
    return this.#withPermits(
      environment,
      Effect.suspend(() =>
        order === undefined
          ? new Reading(this.#storage, environment, query, this.#now, this.#bounds.looksMax).page()
          : this.#sortedPage(environment, query, order),
      ),
    )
  }

  /** All users of the list from the page on, in chunks. Chunks of other lists come in between. */
  all(
    environment: Environment,
    query: Omit<UserListQuery, "limit">,
  ): Stream.Stream<ReadonlyArray<UserState>, Broken> {
    const { order } = query
    const { chunkUsers: limit, looksMax, tableCandidatesMax } = this.#bounds
    if (order === undefined) {
      return Stream.paginate(query, (from) =>
        Effect.map(this.read(environment, { ...from, limit }), ({ end, users }) => [
          [users],
          end === undefined ? Option.none() : Option.some({ ...from, after: end.id }),
        ]),
      )
    }
    return Stream.suspend(() => {
      const sorted = this.#sorted(environment, query, order, tableCandidatesMax)
      const next = this.#withPermits(environment, sorted.next(limit, looksMax))
      return Stream.paginate(undefined, () =>
        Effect.map(next, ({ found, isLast }) => [
          [found.map(({ user }) => user)],
          isLast ? Option.none() : Option.some(undefined),
        ]),
      )
    })
  }

  /** A page in an order other than that of ids. */
  readonly #sortedPage = Effect.fnUntraced(function* (
    this: UserList,
    environment: Environment,
    query: UserListQuery,
    order: Order,
  ) {
    const { limit } = query
    const sorted = this.#sorted(environment, query, order, limit + 1)
    const { found, isLast } = yield* sorted.next(limit + 1, this.#bounds.looksMax)
    const users = found.slice(0, limit).map(({ user }) => user)
    const total = environment.counts.users
    const isFull = found.length > limit
    if (isLast && !isFull) return { users, hasMore: false, total }
    return { users, hasMore: true, end: isFull ? found[limit - 1]!.place : sorted.place!, total }
  })

  #sorted(
    environment: Environment,
    query: Omit<UserListQuery, "limit">,
    order: Order,
    size: number,
  ): SortedUsers {
    const { after, afterKey = 0 } = query
    const { candidatesMax } = this.#bounds
    const place = after === undefined ? undefined : { id: after, key: afterKey }
    const filter = new UserFilter(query, this.#now)
    // Most candidates may be refused once they are decoded.
    const first = filter.readsStates ? Math.max(size, candidatesMax) : size
    return new SortedUsers(environment, filter, order, place, first, candidatesMax)
  }

  #withPermits<A, E>(environment: Environment, reading: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Semaphore.withPermit(
      this.#shareOf(environment),
      Semaphore.withPermit(this.#few, reading),
    )
  }

  /**
   * The lists of one environment wait for each other before they take a permit that others need.
   */
  #shareOf(environment: Environment): Semaphore.Semaphore {
    const share =
      this.#shares.get(environment) ?? Semaphore.makeUnsafe(limits.listsPerEnvironmentMax)
    this.#shares.set(environment, share)
    return share
  }
}

/** A list by id while it is read. */
class Reading {
  readonly #storage: Store
  readonly #environment: Environment
  readonly #query: UserListQuery
  readonly #filter: UserFilter
  /** The users on the page, and the first one after its end. */
  readonly #found: Array<UserState> = []
  /** How many whole states may still be looked at, and the last one. */
  #looks: number
  #lookedAt: string | undefined
  #turnEndsAt = 0

  constructor(
    storage: Store,
    environment: Environment,
    query: UserListQuery,
    now: () => number,
    looksMax: number,
  ) {
    this.#looks = looksMax
    this.#storage = storage
    this.#environment = environment
    this.#query = query
    this.#filter = new UserFilter(query, now)
  }

  readonly page = Effect.fnUntraced(function* (this: Reading) {
    const { counts, fresh, id } = this.#environment
    const { after, limit } = this.#query
    const sorted = yield* sortInTurns(fresh, compareCodePoints)
    const created = distinct(sorted, after === undefined ? 0 : placeAfter(sorted, after))
    let next = created.next()
    const prefix = compositeKey(id)
    const { from, until } = rangeOf(prefix)
    const start = after === undefined ? from : successor(compositeKey(id, after))
    const stored = this.#storage.readEntries({ table: "userIds", from: start, until })
    const idAt = lastTextStart(prefix)
    yield* Stream.runForEachWhile(stored, (entries) =>
      this.#inTurns(entries, ([key]) => {
        const userId = asBuffer(key).toString("utf8", idAt, lastTextEnd(key.length))
        for (; !next.done && compareCodePoints(next.value, userId) < 0; next = created.next()) {
          this.#look(next.value)
        }
        if (next.value === userId) next = created.next()
        this.#look(userId)
        return !this.#isOver
      }),
    )
    const look = (userId: string) => {
      this.#look(userId)
      return !this.#isOver
    }
    if (!next.done && look(next.value)) yield* this.#inTurns(created, look)
    const users = this.#found.slice(0, limit)
    const total = counts.users
    if (!this.#isOver) return { users, hasMore: false, total }
    const last = this.#isFull ? users.at(-1)!.id : this.#lookedAt!
    return { users, hasMore: true, end: { key: 0, id: last }, total }
  })

  /** Whether a user after the end of the page was found. */
  get #isFull(): boolean {
    return this.#found.length > this.#query.limit
  }

  get #isOver(): boolean {
    return this.#isFull || this.#looks === 0
  }

  /**
   * Calls `more` for the items until it returns false, and yields between them; returns the last
   * result.
   */
  readonly #inTurns = Effect.fnUntraced(function* <A>(
    this: Reading,
    items: Iterable<A>,
    more: (item: A) => boolean,
  ) {
    this.#turnEndsAt = performance.now() + limits.listTurnMs
    let count = 0
    for (const item of items) {
      if (!more(item)) return false
      if (count++ % clockEvery === 0 && performance.now() > this.#turnEndsAt) {
        yield* yieldToEventLoop
        this.#turnEndsAt = performance.now() + limits.listTurnMs
      }
    }
    return true
  })

  /** Adds the user if it exists and passes the filter, unless the page is over. */
  #look(userId: string): void {
    if (this.#isOver) return
    const { project, states, users } = this.#environment
    const actor = users.get(userId)
    if (actor?.loaded !== true) {
      const bytes = states.table.get(userId)
      if (bytes === undefined) return
      if (!this.#filter.mayPass(bytes, 0, bytes.length, () => userId)) return
    }
    const user = this.#environment.durableOf(userId)
    if (user === undefined) return
    this.#lookedAt = userId
    if (this.#filter.passes(user, project.durable)) this.#found.push(user)
    else if (this.#filter.readsStates) this.#looks--
  }
}

/** Each of the sorted ids from the index `start` on, once. */
function* distinct(sorted: ReadonlyArray<string>, start: number): Generator<string, undefined> {
  for (let index = start; index < sorted.length; index++) {
    if (index === start || sorted[index] !== sorted[index - 1]) yield sorted[index]!
  }
}

/** The index of the first of the sorted ids that comes after `after`. */
const placeAfter = (sorted: ReadonlyArray<string>, after: string): number =>
  countWhile(sorted.length, (index) => compareCodePoints(sorted[index]!, after) <= 0)

/** How many items are handled between two readings of the clock. */
const clockEvery = 64
