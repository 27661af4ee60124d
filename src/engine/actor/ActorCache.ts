/**
 * The users of an engine in memory. A doubly linked list through the actors, newest use first, gives the order of use at the cost
 * of a few pointers. A user is evicted after `idlePassivateMs` without use, and beyond `residentUsersMax` the least
 * recently used first, of all engines that share that room (`ActorCache.ts`); the snapshot still has an evicted user.
 *
 * - Never evicted: an actor that runs, or has a record that the snapshot lacks, durable or not (`Actor.lastAppended`).
 * - Without room for a user no actor is made: `admit` refuses first. While a snapshot makes room, `residentUsersMax` may
 *   be exceeded by `residentUsersOverrunMax`. A batch is admitted for all its users at once; their room is `promised`
 *   until their actors are made.
 */

import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { type AnyActor, overloaded } from "./Actor.ts"
import type { Environment, Environments, UserActor } from "./Environments.ts"

/*
 * The room for users in memory, shared by the engines of a process: each has a cache of its own users (`ActorCache`), and the
 * least recently used of all of them are evicted first, whichever engine asks.
 *
 * Cost: a look at each cache for a user who is not in memory and for each eviction; there are few.
 */

/** The users of one engine. */
export interface ResidentUsers {
  readonly size: number
  /** For how many more there must be room. */
  readonly promised: number
  readonly oldest: AnyActor | undefined
  /** Everything up to this sequence is in the engine's snapshot. */
  readonly watermark: number
  /** Evicts the actor, unless it has to stay. */
  readonly evict: (actor: AnyActor) => void
  /** Only a snapshot makes room. */
  readonly askForSnapshot: () => void
}

export class Residents {
  readonly usersMax: number
  /** Users beyond `usersMax` while a snapshot makes room. */
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

  /** Users who are resident, or have a promise to be. */
  get occupied(): number {
    let occupied = 0
    for (const { promised, size } of this.#caches) occupied += size + promised
    return occupied
  }

  /** Grows with each snapshot, which allows evictions. */
  get watermarks(): number {
    let watermarks = 0
    for (const { watermark } of this.#caches) watermarks += watermark
    return watermarks
  }

  /** Asks each engine that has users for a snapshot. */
  askForSnapshots(): void {
    for (const cache of this.#caches) if (cache.size > 0) cache.askForSnapshot()
  }

  /** Looks at up to `actorsMax` actors, the least recently used first, as long as they are `wanted`; evicts those that can go. */
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

/** The index of the one that was used first. */
const oldestOf = (actors: ReadonlyArray<AnyActor | undefined>): number => {
  let oldest = 0
  for (let index = 1; index < actors.length; index++) {
    const usedAt = actors[index]?.usedAt ?? Number.POSITIVE_INFINITY
    if (usedAt < (actors[oldest]?.usedAt ?? Number.POSITIVE_INFINITY)) oldest = index
  }
  return oldest
}

export interface ActorCacheOptions {
  readonly residents: Residents
  readonly idlePassivateMs: number
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  readonly environments: Environments
  /** No eviction made enough room: only a snapshot does. */
  readonly onCrowded: () => void
}

/** The room that a batch has from its begin to its end. */
export interface Room {
  /** Users not resident for whom room is still promised. */
  newcomers: number
  /** Gives the rest of the room back: the last command of the batch has an actor. */
  readonly leave: () => void
}

export class ActorCache implements ResidentUsers {
  readonly #options: ActorCacheOptions
  readonly #touchEveryMs: number
  #newest: AnyActor | undefined
  #oldest: AnyActor | undefined
  /** How many users are resident. */
  size = 0
  /** For how many more there must be room. */
  promised = 0

  constructor(options: ActorCacheOptions) {
    this.#options = options
    this.#touchEveryMs = options.idlePassivateMs / 60
    options.residents.join(this)
  }

  /** The engine is closed: its users leave memory with it. */
  leave(): void {
    this.#options.residents.leave(this)
  }

  get oldest(): AnyActor | undefined {
    return this.#oldest
  }

  /** The actor of a user, which was used now; `undefined`: it is not in memory. */
  use(environment: Environment, userId: string): UserActor | undefined {
    const actor = environment.users.get(userId)
    if (actor !== undefined) this.touch(actor)
    return actor
  }

  /** Makes an actor for a user who has none, as the most recently used, in the room that was promised. */
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

  /** A user's actor, made where there is none. */
  ensure(environmentId: string, userId: string): UserActor {
    const environment = this.#options.environments.of(environmentId)
    return this.use(environment, userId) ?? this.add(environment, userId)
  }

  /** Users of all engines who are resident, or have a promise to be. */
  get occupied(): number {
    return this.#options.residents.occupied
  }

  /** Grows with each snapshot of an engine, which allows evictions. */
  get watermarks(): number {
    return this.#options.residents.watermarks
  }

  /** Everything up to this sequence is in the snapshot: users without a later record can be evicted. */
  get watermark(): number {
    return this.#options.watermark()
  }

  /** Whether there is room for `count` more users without an eviction. */
  hasRoom(count: number): boolean {
    return this.occupied + count <= this.#options.residents.usersMax
  }

  /** Makes room for `count` more users by evictions; returns a refusal if there still is none. */
  admit(count = 1): LaurelError<"overloaded"> | undefined {
    if (this.hasRoom(count)) return undefined
    const { residents } = this.#options
    const before = residents.size
    residents.evict(evictionsPerCall + evictionsPerUser * count, () => !this.hasRoom(count))
    if (this.hasRoom(count)) return undefined
    // Where as many could go as come, the overrun ends by itself. Else they await a snapshot; until it stands, it is allowed.
    if (before - residents.size < count) residents.askForSnapshots()
    const most = residents.usersMax + residents.overrunMax
    return this.occupied + count > most ? overloaded : undefined
  }

  askForSnapshot(): void {
    this.#options.onCrowded()
  }

  /** Only snapshots make room. */
  askForSnapshots(): void {
    this.#options.residents.askForSnapshots()
  }

  /** The actor was used. Its place is exact to a sixtieth of the time that it may be idle, so that a busy one costs nothing. */
  touch(actor: AnyActor): void {
    const now = this.#options.now()
    if (now - actor.usedAt < this.#touchEveryMs) return
    actor.usedAt = now
    if (actor === this.#newest) return
    this.#unlink(actor)
    this.#link(actor)
  }

  /** Evicts an actor that has nothing: no user was made of it. */
  release(actor: AnyActor): void {
    const { subject } = actor
    if (subject.actor !== "user" || !this.#isEvictable(actor)) return
    // The same actor: another one may have taken its place.
    if (this.#options.environments.userOf(subject.environment, subject.userId) === actor) {
      this.#forget(actor)
    }
  }

  /** Sweeps every `intervalMs`, and calls `swept`. Runs for ever. */
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

  /** Evicts users idle for too long, looking at no more than `actorsMax` actors. */
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
 * How many users beyond `residentUsersMax` may be in memory while a snapshot is written. A loader of new users goes on
 * meanwhile: with a tenth as many it stood still for most of each snapshot.
 */
export const overrunOf = (residentUsersMax: number): number =>
  Math.max(limits.residentUsersOverrunMin, Math.floor(residentUsersMax / 2))

/** Looked at to make room: more than come, so that an overrun shrinks. */
const evictionsPerCall = 64
const evictionsPerUser = 2
