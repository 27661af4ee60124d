/**
 * The users of an engine that are in memory, in the order of their use.
 *
 * Invariants:
 * - An actor is never evicted while it runs, or while it has a record that the snapshot lacks,
 *   durable or not (`Actor.lastAppended`). The snapshot has every evicted user.
 * - No actor is made without room: `admit` refuses before. While a snapshot is written that will
 *   allow evictions, users may exceed `residentUsersMax` by `residentUsersOverrunMax`.
 * - `size` is the number of actors in the list; room for `promised` more is reserved. A batch gets
 *   room for all its users at once, and its promise shrinks with each actor that it makes.
 *
 * Eviction: a user leaves memory after `idlePassivateMs` without use. Beyond `residentUsersMax` the
 * least recently used leave first, among all engines of the process (`Residents`).
 *
 * Cost: the order of use is a doubly linked list through the actors, newest first: two pointers for
 * an actor.
 */

import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { type AnyActor, overloaded } from "./Actor.ts"
import type { Environment, Environments, UserActor } from "./Environments.ts"

/*
 * The room for users in memory, which the engines of a process share. Each engine has a cache of
 * its own users (`ActorCache`). Whichever engine needs room, the least recently used users of all
 * engines are evicted first.
 *
 * Cost: each activation and each eviction looks at every cache; a process has few engines.
 */

/** The users of one engine. */
interface ResidentUsers {
  readonly size: number
  /** How many more users have room reserved. */
  readonly promised: number
  readonly oldest: AnyActor | undefined
  /** Everything up to this sequence is in the engine's snapshot. */
  readonly watermark: number
  /** Evicts the actor if that is allowed. */
  readonly evict: (actor: AnyActor) => void
  /** Asks for a snapshot: only that makes room now. */
  readonly askForSnapshot: () => void
}

export class Residents {
  readonly usersMax: number
  /** How many users beyond `usersMax` may be in memory while a snapshot makes room. */
  readonly overrunMax: number
  readonly #caches: Array<ResidentUsers> = []

  constructor(usersMax: number, overrunMax: number) {
    this.usersMax = usersMax
    this.overrunMax = overrunMax
  }

  join(cache: ResidentUsers): void {
    this.#caches.push(cache)
  }

  leave(cache: ResidentUsers): void {
    const at = this.#caches.indexOf(cache)
    if (at >= 0) this.#caches.splice(at, 1)
  }

  get size(): number {
    let size = 0
    for (const cache of this.#caches) size += cache.size
    return size
  }

  /** How many users are resident or have room reserved. */
  get occupied(): number {
    let occupied = 0
    for (const { promised, size } of this.#caches) occupied += size + promised
    return occupied
  }

  /** The sum of the watermarks. It grows with each snapshot, which allows evictions. */
  get watermarks(): number {
    let watermarks = 0
    for (const { watermark } of this.#caches) watermarks += watermark
    return watermarks
  }

  /** Asks each engine that has users for a snapshot. */
  askForSnapshots(): void {
    for (const cache of this.#caches) if (cache.size > 0) cache.askForSnapshot()
  }

  /**
   * Evicts actors, the least recently used first, while `wanted` says so of the next one. Looks at
   * up to `actorsMax` actors, and passes over those that must stay.
   */
  evict(actorsMax: number, wanted: (actor: AnyActor) => boolean): void {
    const caches = this.#caches
    const next = caches.map(({ oldest }) => oldest)
    for (let looked = 0; looked < actorsMax; looked++) {
      const at = oldestOf(next)
      const actor = next[at]
      if (actor === undefined || !wanted(actor)) return
      next[at] = actor.newer
      caches[at]!.evict(actor)
    }
  }
}

/** The index of the least recently used actor. */
const oldestOf = (actors: ReadonlyArray<AnyActor | undefined>): number => {
  let oldest = 0
  for (let index = 1; index < actors.length; index++) {
    const usedAt = actors[index]?.usedAt ?? Number.POSITIVE_INFINITY
    if (usedAt < (actors[oldest]?.usedAt ?? Number.POSITIVE_INFINITY)) oldest = index
  }
  return oldest
}

interface ActorCacheOptions {
  readonly residents: Residents
  readonly idlePassivateMs: number
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  readonly environments: Environments
  /** Evictions have not made enough room: a snapshot is needed. */
  readonly onCrowded: () => void
}

/** The room that a batch holds from its start until its last command has an actor. */
export interface Room {
  /** How many users who are not resident still have room reserved. */
  newcomers: number
  /** Returns the rest of the room; called when the last command of the batch has an actor. */
  readonly leave: () => void
}

export class ActorCache implements ResidentUsers {
  readonly #options: ActorCacheOptions
  readonly #touchEveryMs: number
  #newest: AnyActor | undefined
  #oldest: AnyActor | undefined
  /** How many users are resident. */
  size = 0
  /** How many more users have room reserved. */
  promised = 0

  constructor(options: ActorCacheOptions) {
    this.#options = options
    this.#touchEveryMs = options.idlePassivateMs / 60
    options.residents.join(this)
  }

  /** Called when the engine is closed: its users no longer take room. */
  leave(): void {
    this.#options.residents.leave(this)
  }

  get oldest(): AnyActor | undefined {
    return this.#oldest
  }

  /** The user's actor, marked as used now; `undefined`: it is not in memory. */
  use(environment: Environment, userId: string): UserActor | undefined {
    const actor = environment.users.get(userId)
    if (actor !== undefined) this.touch(actor)
    return actor
  }

  /**
   * Makes the actor of a user who has none, as the most recently used, in the batch's `room` if
   * given.
   */
  add(environment: Environment, userId: string, room?: Room): UserActor {
    if (room !== undefined && room.newcomers > 0) {
      room.newcomers--
      this.promised--
    }
    const actor = environment.newUser(userId)
    environment.users.set(userId, actor)
    actor.usedAt = this.#options.now()
    this.#link(actor)
    this.size++
    return actor
  }

  /** The user's actor; makes one if there is none, with or without room. */
  ensure(environmentId: string, userId: string): UserActor {
    const environment = this.#options.environments.of(environmentId)
    return this.use(environment, userId) ?? this.add(environment, userId)
  }

  /** How many users of all engines are resident or have room reserved. */
  get occupied(): number {
    return this.#options.residents.occupied
  }

  /** Grows with each snapshot of any engine, which allows evictions. */
  get watermarks(): number {
    return this.#options.residents.watermarks
  }

  /**
   * Everything up to this sequence is in the snapshot: users without a later record can be evicted.
   */
  get watermark(): number {
    return this.#options.watermark()
  }

  /** Whether there is room for `count` more users without an eviction. */
  hasRoom(count: number): boolean {
    return this.occupied + count <= this.#options.residents.usersMax
  }

  /**
   * Makes room for `count` more users by evictions; returns a refusal if there still is too little.
   */
  admit(count = 1): LaurelError<"overloaded"> | undefined {
    if (this.hasRoom(count)) return undefined
    const { residents } = this.#options
    const before = residents.size
    residents.evict(evictionsPerCall + evictionsPerUser * count, () => !this.hasRoom(count))
    if (this.hasRoom(count)) return undefined
    // If as many users left as will come, the overrun does not grow. Otherwise only a snapshot
    // allows more evictions; until it ends, the overrun is tolerated.
    if (before - residents.size < count) residents.askForSnapshots()
    const most = residents.usersMax + residents.overrunMax
    return this.occupied + count > most ? overloaded : undefined
  }

  askForSnapshot(): void {
    this.#options.onCrowded()
  }

  /** Asks every engine that has users for a snapshot. */
  askForSnapshots(): void {
    this.#options.residents.askForSnapshots()
  }

  /**
   * The actor was used. Its place in the order is exact to a sixtieth of `idlePassivateMs`, so a
   * busy actor costs one comparison.
   */
  touch(actor: AnyActor): void {
    const now = this.#options.now()
    if (now - actor.usedAt < this.#touchEveryMs) return
    actor.usedAt = now
    if (actor === this.#newest) return
    this.#unlink(actor)
    this.#link(actor)
  }

  /** Evicts an actor that has no state: no command created the user. */
  release(actor: AnyActor): void {
    const { subject } = actor
    if (subject.actor !== "user" || !this.#isEvictable(actor)) return
    // The user may have another actor by now.
    if (this.#options.environments.userOf(subject.environment, subject.userId) === actor) {
      this.#forget(actor)
    }
  }

  /** Sweeps every `intervalMs`, and calls `swept` after each sweep. Never ends. */
  readonly run = Effect.fnUntraced(function* (
    this: ActorCache,
    intervalMs: number,
    swept: () => void,
  ) {
    while (true) {
      yield* Effect.sleep(intervalMs)
      markTurn("sweep")
      this.sweep(limits.sweepActorsMax)
      swept()
    }
  })

  /** Evicts users who were idle for too long. Looks at no more than `actorsMax` actors. */
  sweep(actorsMax: number): void {
    const { idlePassivateMs, now, residents } = this.#options
    const before = now() - idlePassivateMs
    residents.evict(
      actorsMax,
      (actor) => actor.usedAt <= before || residents.size > residents.usersMax,
    )
  }

  evict(actor: AnyActor): void {
    if (this.#isEvictable(actor)) this.#forget(actor)
  }

  #isEvictable({ lastAppended, running }: AnyActor): boolean {
    return !running && lastAppended <= this.watermark
  }

  #forget(actor: AnyActor): void {
    const { subject } = actor
    if (subject.actor !== "user") return
    this.#unlink(actor)
    this.size--
    this.#options.environments.of(subject.environment).users.delete(subject.userId)
  }

  #link(actor: AnyActor): void {
    actor.older = this.#newest
    actor.newer = undefined
    if (this.#newest !== undefined) this.#newest.newer = actor
    this.#newest = actor
    this.#oldest ??= actor
  }

  #unlink(actor: AnyActor): void {
    if (actor.newer === undefined) this.#newest = actor.older
    else actor.newer.older = actor.older
    if (actor.older === undefined) this.#oldest = actor.newer
    else actor.older.newer = actor.newer
  }
}

/**
 * How many users beyond `residentUsersMax` may be in memory while a snapshot is written. An import
 * of new users continues meanwhile: with a tenth of this number it stopped for most of each
 * snapshot.
 */
export const overrunOf = (residentUsersMax: number): number =>
  Math.max(limits.residentUsersOverrunMin, Math.floor(residentUsersMax / 2))

/* How many actors `admit` looks at: more than the users who come, so that an overrun shrinks. */
const evictionsPerCall = 64
const evictionsPerUser = 2
