/**
 * Which users are warm. A doubly linked list through the actors, newest use first, gives the order of
 * use at the cost of a few pointers. Users are evicted (forgotten by memory, found again in the
 * snapshot) when they were idle for `idlePassivateMs`, and, beyond `residentUsersMax`, oldest first.
 *
 * - Never evicted: an actor that runs, or has a record that the snapshot lacks, durable or not (`Actor.lastAppended`).
 * - A user for whom there is no room gets no actor: `admit` answers before one is made. Beyond `residentUsersMax` there
 *   is an overrun for the time that a snapshot takes. Whoever is admitted for many users has room `promised` until
 *   they are made.
 */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { AnyActor } from "./Actor.ts"
import type { Environment, Environments, UserActor } from "./Environments.ts"
import { overloaded } from "./refusals.ts"

export interface ActorCacheOptions {
  readonly residentUsersMax: number
  readonly residentUsersOverrunMax: number
  readonly idlePassivateMs: number
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  readonly environments: Environments
  /** Only a snapshot makes more room. */
  readonly onCrowded: () => void
}

/** The room that a batch has from its begin to its end. */
export interface Room {
  /** Users not resident for whom room is still promised. */
  newcomers: number
  /** Gives the rest of the room back: the last command of the batch has an actor. */
  readonly leave: () => void
}

export class ActorCache {
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
  }

  /** The actor of a user, which was used now; `undefined`: it is not in memory. */
  use(environment: Environment, userId: string): UserActor | undefined {
    const actor = environment.users.get(userId)
    if (actor !== undefined) this.touch(actor)
    return actor
  }

  /** A new actor for a user who has none takes its place in the order, and of the room that was promised. */
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

  /** Whether there is room for `count` more users, and nobody has to be evicted. */
  hasRoom(count: number): boolean {
    return this.size + this.promised + count <= this.#options.residentUsersMax
  }

  /** Evicts who may go where there is no room for `count` more users. A refusal: there is still none. */
  admit(count = 1): LaurelError | undefined {
    if (this.hasRoom(count)) return undefined
    const { onCrowded, residentUsersMax, residentUsersOverrunMax } = this.#options
    const isCrowded = () => !this.hasRoom(count)
    this.#evict(evictionsPerUser + count, isCrowded)
    if (!isCrowded()) return undefined
    // Who is in the way awaits a snapshot. Until it is there, memory may run over.
    onCrowded()
    const most = residentUsersMax + residentUsersOverrunMax
    return this.size + this.promised + count > most ? overloaded : undefined
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
      this.sweep(limits.sweepActorsMax)
      swept()
    }
  })

  /** Evicts who was idle too long, looking at no more than `actorsMax` actors. */
  sweep(actorsMax: number): void {
    const before = this.#options.now() - this.#options.idlePassivateMs
    this.#evict(
      actorsMax,
      (actor) => actor.usedAt <= before || this.size > this.#options.residentUsersMax,
    )
  }

  #evict(actorsMax: number, wanted: (actor: AnyActor) => boolean): void {
    let actor = this.#oldest
    for (let looked = 0; actor !== undefined && looked < actorsMax && wanted(actor); looked++) {
      const { newer } = actor
      if (this.#isEvictable(actor)) this.#forget(actor)
      actor = newer
    }
  }

  #isEvictable({ lastAppended, running }: AnyActor): boolean {
    return !running && lastAppended <= this.#options.watermark()
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

const evictionsPerUser = 64
