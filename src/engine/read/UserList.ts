/**
 * Lists of an environment's users in the order of their ids (by code points): the snapshot's, which LMDB keeps
 * in that order, merged with those that no snapshot has yet. The state of a user in memory comes
 * from its actor, so that a change or an erasure since the snapshot counts.
 *
 * Without a search the list ends with its page; the total is counted elsewhere. A search looks at every id,
 * and at the display names there are: some µs a user. It works in slices of `listTurnMs`, and only
 * `listsConcurrentMax` at a time, of one environment `listsPerEnvironmentMax`. A list that changes while it is read shows each user as it was when reached.
 */
import { Effect, Semaphore, Stream } from "effect"
import type { UserState } from "../../domain/user/User.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { asBuffer, compositeKey, lastTextEnd, lastTextStart, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { decodeValue, isWhole, type Place } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment } from "../actor/Environments.ts"
import { readColdUser } from "../actor/Supervisor.ts"
import { StoredNames } from "../records/UserCodec.ts"

/**
 * The items in the order of `compare`, equal ones as they came. Gives way to others after every
 * `sortTurnItemsMax` items; a merge sort, bottom up.
 */
export const sortInTurns = Effect.fnUntraced(function* <A>(
  items: Iterable<A>,
  compare: (one: A, other: A) => number,
) {
  const size = limits.sortTurnItemsMax
  let runs: Array<Array<A>> = []
  let run: Array<A> = []
  for (const item of items) {
    run.push(item)
    if (run.length < size) continue
    runs.push(run.sort(compare))
    run = []
    yield* yieldToEventLoop
  }
  runs.push(run.sort(compare))
  while (runs.length > 1) {
    const longer: Array<Array<A>> = []
    for (let at = 0; at < runs.length; at += 2) {
      const one = runs[at]!
      const other = runs[at + 1] ?? []
      // As long as it will be: what grows is copied time and again, all in one turn.
      const merged = new Array<A>(one.length + other.length)
      let first = 0
      let second = 0
      for (let next = 0; next < merged.length; ) {
        const takeSecond =
          first === one.length ||
          (second < other.length && compare(other[second]!, one[first]!) < 0)
        merged[next++] = takeSecond ? other[second++]! : one[first++]!
        if (next % size === 0) yield* yieldToEventLoop
      }
      longer.push(merged)
    }
    runs = longer
  }
  return runs[0]!
})

export interface UserListQuery {
  readonly limit: number
  readonly offset: number
  /** Part of the id or of the display name, in any case of its letters. */
  readonly search?: string | undefined
}

export interface UserListPage {
  readonly users: ReadonlyArray<UserState>
  /** How many users are on the whole list. */
  readonly total: number
}

type Store = Storage["Service"]

export class UserList {
  readonly #storage: Store
  readonly #shares = new WeakMap<Environment, Semaphore.Semaphore>()
  readonly #few = Semaphore.makeUnsafe(limits.listsConcurrentMax)

  constructor(storage: Store) {
    this.#storage = storage
  }

  read(environment: Environment, query: UserListQuery): Effect.Effect<UserListPage, Broken> {
    const reading = Effect.suspend(() => new Reading(this.#storage, environment, query).page())
    return Semaphore.withPermit(
      this.#shareOf(environment),
      Semaphore.withPermit(this.#few, reading),
    )
  }

  /** The slow lists of one environment wait for each other, before they hold a place that others need. */
  #shareOf(environment: Environment): Semaphore.Semaphore {
    const share =
      this.#shares.get(environment) ?? Semaphore.makeUnsafe(limits.listsPerEnvironmentMax)
    this.#shares.set(environment, share)
    return share
  }
}

/** One list while it is read. */
class Reading {
  readonly #storage: Store
  readonly #environment: Environment
  readonly #query: UserListQuery
  readonly #search: string | undefined
  /** The ids on the page. */
  readonly #ids: Array<string> = []
  /** How many were found. */
  #found = 0
  #turnEndsAt = 0

  constructor(storage: Store, environment: Environment, query: UserListQuery) {
    this.#storage = storage
    this.#environment = environment
    this.#query = query
    this.#search = query.search?.toLowerCase()
  }

  readonly page = Effect.fnUntraced(function* (this: Reading) {
    const { counts, fresh, id } = this.#environment
    const created = distinct(yield* sortInTurns(fresh, compareCodePoints))
    let next = created.next()
    const prefix = compositeKey(id)
    const stored = this.#storage.readEntries({ table: "users", ...rangeOf(prefix) })
    const idAt = lastTextStart(prefix)
    let damaged: readonly [Uint8Array, Place] | undefined
    yield* Stream.runForEachWhile(stored, (entries) =>
      this.#inTurns(entries, ([key, value]) => {
        const bytes = asBuffer(value)
        if (this.#search !== undefined && !isWhole(bytes)) {
          damaged = [value, { table: "users", key }]
          return false
        }
        const userId = asBuffer(key).toString("utf8", idAt, lastTextEnd(key.length))
        for (; !next.done && compareCodePoints(next.value, userId) < 0; next = created.next()) {
          this.#look(next.value)
        }
        if (next.value === userId) next = created.next()
        this.#look(userId, bytes)
        return !this.#isFull
      }),
    )
    if (damaged !== undefined) yield* decodeValue(...damaged)
    const look = (userId: string) => {
      this.#look(userId)
      return !this.#isFull
    }
    if (!next.done && look(next.value)) yield* this.#inTurns(created, look)
    const users = (yield* Effect.forEach(this.#ids, (userId) => this.#read(userId))).filter(
      (user) => user !== undefined,
    )
    return { users, total: this.#search === undefined ? counts.users : this.#found }
  })

  /** The page has all its users, and the total is known. */
  get #isFull(): boolean {
    return this.#search === undefined && this.#ids.length === this.#query.limit
  }

  /** Passes items to `more` until it returns false, yielding to the event loop in between; returns its last result. */
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

  /** Puts the user on the page if it has a state, matches the search, and lies within offset and limit. */
  #look(userId: string, value?: Buffer): void {
    const actor = this.#environment.users.get(userId)
    const user = actor?.loaded ? actor.durable : value
    if (user === undefined) return
    if (this.#search !== undefined && !this.#isSought(userId, user, this.#search)) return
    const position = this.#found++
    const { limit, offset } = this.#query
    if (position >= offset && this.#ids.length < limit) this.#ids.push(userId)
  }

  #isSought(userId: string, user: UserState | Buffer, search: string): boolean {
    if (userId.toLowerCase().includes(search)) return true
    const name = Buffer.isBuffer(user)
      ? new StoredNames(user).next(user.length)
      : user.profile.displayName
    return name?.toLowerCase().includes(search) === true
  }

  #read(userId: string): Effect.Effect<UserState | undefined, Broken> {
    const { id, users } = this.#environment
    const actor = users.get(userId)
    return actor?.loaded ? Effect.succeed(actor.durable) : readColdUser(this.#storage, id, userId)
  }
}

/** Sorted ids, each once. */
function* distinct(sorted: ReadonlyArray<string>): Generator<string, undefined> {
  let before: string | undefined
  for (const id of sorted) {
    if (id !== before) yield id
    before = id
  }
}

/** How many are looked at between looks at the clock. */
const clockEvery = 64
