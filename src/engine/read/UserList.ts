/**
 * Lists an environment's users in the order of their ids (by code points): the ids in the snapshot,
 * which LMDB keeps in that order, merged with the ids of users that no snapshot has yet. States
 * come from memory. A list shows each user as of the moment at which it reached that user.
 *
 * Cost: a list reads from the start of its page to the first user after its end. A search looks at
 * the ids and display names in between, which takes a few µs a user, and a list of the members of a
 * segment at the states; one that finds little looks at every user. It works in slices of `listTurnMs`. The total comes from `Counts`. At most `listsConcurrentMax` lists are read at a time, and `listsPerEnvironmentMax`
 * of one environment.
 */
import { Effect, Semaphore, Stream } from "effect"
import { timeIn } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import { isMember } from "../../domain/user/Membership.ts"
import { isAlias, type UserState } from "../../domain/user/User.ts"
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
import { displayNameOf } from "../records/UserHead.ts"
import { sortInTurns } from "../users/sortInTurns.ts"

export interface UserListQuery {
  readonly limit: number
  /** The page begins behind this id; absent: with the first user. */
  readonly after?: string | undefined
  /** A part of the id or of the display name; upper and lower case do not matter. */
  readonly search?: string | undefined
  /** Only members; their states are decoded. */
  readonly segment?: Segment | undefined
}

export interface UserListPage {
  readonly users: ReadonlyArray<UserState>
  readonly hasMore: boolean
  /** How many users the environment has. */
  readonly total: number
}

type Store = Storage["Service"]

export class UserList {
  readonly #storage: Store
  readonly #shares = new WeakMap<Environment, Semaphore.Semaphore>()
  readonly #few = Semaphore.makeUnsafe(limits.listsConcurrentMax)
  readonly #now: () => number

  constructor(storage: Store, now: () => number) {
    this.#storage = storage
    this.#now = now
  }

  read(environment: Environment, query: UserListQuery): Effect.Effect<UserListPage, Broken> {
    const reading = Effect.suspend(() =>
      new Reading(this.#storage, environment, query, this.#now).page(),
    )
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

/** A list while it is read. */
class Reading {
  readonly #storage: Store
  readonly #environment: Environment
  readonly #query: UserListQuery
  readonly #search: string | undefined
  readonly #now: () => number
  /** The users on the page, and the first one after its end. */
  readonly #found: Array<UserState> = []
  #turnEndsAt = 0

  constructor(storage: Store, environment: Environment, query: UserListQuery, now: () => number) {
    this.#now = now
    this.#storage = storage
    this.#environment = environment
    this.#query = query
    this.#search = query.search?.toLowerCase()
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
        return !this.#isFull
      }),
    )
    const look = (userId: string) => {
      this.#look(userId)
      return !this.#isFull
    }
    if (!next.done && look(next.value)) yield* this.#inTurns(created, look)
    const users = this.#found.slice(0, limit)
    return { users, hasMore: this.#isFull, total: counts.users }
  })

  /** Whether a user after the end of the page was found. */
  get #isFull(): boolean {
    return this.#found.length > this.#query.limit
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

  /** Adds the user if it exists and matches the search, unless the page is full. */
  #look(userId: string): void {
    if (this.#isFull) return
    const { states, users } = this.#environment
    const actor = users.get(userId)
    const user = actor?.loaded ? actor.durable : states.table.get(userId)
    if (user === undefined) return
    if (this.#search !== undefined && !isSought(userId, user, this.#search)) return
    const found = this.#environment.durableOf(userId)!
    if (isAlias(found)) return
    const { segment } = this.#query
    if (segment !== undefined) {
      const project = this.#environment.project.durable
      const person = { userId, user: found, project, now: timeIn(project, this.#now()) }
      if (!isMember(person, segment)) return
    }
    this.#found.push(found)
  }
}

const isSought = (userId: string, user: UserState | Buffer, search: string): boolean => {
  if (userId.toLowerCase().includes(search)) return true
  const name = Buffer.isBuffer(user)
    ? displayNameOf(user, 0, user.length)
    : user.profile.displayName
  return name?.toLowerCase().includes(search) === true
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
