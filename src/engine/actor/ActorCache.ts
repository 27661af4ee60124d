/**
 * The decoded users of an engine, in the order of their use: those that are hot, and those with a
 * record between append and commit. All other users are bytes in buckets (`users/BucketTable.ts`),
 * and a decode makes an actor of them.
 *
 * Invariants:
 * - An actor is evicted only if its bucket then has its whole state: it does not run, all its
 *   records are durable, and what its bucket lacks is put there at the eviction.
 * - An erased user leaves only when no record of it awaits the snapshot, since no bucket leads to
 *   such records. A user who was never created has none.
 * - `size` is the number of actors in the list. Beyond the bound it has only actors that must stay.
 *
 * Cost: the order of use is a doubly linked list through the actors, newest first. It is exact to a
 * sixteenth of the bound, so a hot actor costs one comparison. An eviction costs an encode if the
 * user has changed.
 */

import { limits } from "../../Limits.ts"
import type { AnyActor } from "./Actor.ts"
import type { Environment, Environments, UserActor } from "./Environments.ts"

/** The engines of a process share this bound in equal parts. */
export class DecodedUsers {
  readonly usersMax: number
  engines = 0

  constructor(usersMax: number) {
    this.usersMax = usersMax
  }

  get share(): number {
    return Math.floor(this.usersMax / Math.max(1, this.engines))
  }
}

interface ActorCacheOptions {
  readonly decoded: DecodedUsers
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  readonly environments: Environments
}

export class ActorCache {
  readonly #options: ActorCacheOptions
  #newest: AnyActor | undefined
  #oldest: AnyActor | undefined
  /** How many actors were added, which serves as the time of use. */
  #added = 0
  /** How many users are decoded. */
  size = 0

  constructor(options: ActorCacheOptions) {
    this.#options = options
    options.decoded.engines++
  }

  /** Called when the engine is closed. */
  leave(): void {
    this.#options.decoded.engines--
  }

  /** The user's actor, marked as used now; `undefined`: the user is not decoded. */
  use(environment: Environment, userId: string): UserActor | undefined {
    const actor = environment.users.get(userId)
    if (actor !== undefined) this.touch(actor)
    return actor
  }

  /** Makes the actor of a user who has none. */
  add(environment: Environment, userId: string): UserActor {
    // Before the new actor is in the list: it has no state yet, so nothing would keep it there.
    this.#evictBeyond(this.#options.decoded.share - 1)
    const actor = environment.newUser(userId)
    environment.users.set(userId, actor)
    actor.usedAt = ++this.#added
    this.#link(actor)
    this.size++
    return actor
  }

  /** The user's actor; makes one if there is none. */
  ensure(environmentId: string, userId: string): UserActor {
    const environment = this.#options.environments.of(environmentId)
    return this.use(environment, userId) ?? this.add(environment, userId)
  }

  /** The actor was used. */
  touch(actor: AnyActor): void {
    if (this.#added - actor.usedAt < this.#options.decoded.share / 16) return
    this.#renew(actor)
  }

  /** Evicts an actor that nobody is about to use, or that has no state, unless it must stay. */
  release(actor: AnyActor): void {
    const { subject } = actor
    if (subject.actor !== "user" || !this.#isEvictable(actor)) return
    // The user may have another actor by now.
    const { users } = this.#options.environments.of(subject.environment)
    if (users.get(subject.userId) === actor) this.#evict(actor)
  }

  /** Passes over actors that must stay: they count as used now. */
  #evictBeyond(usersMax: number): void {
    for (let looked = 0; looked < looksPerActor && this.size > usersMax; looked++) {
      const actor = this.#oldest
      if (actor === undefined) return
      if (this.#isEvictable(actor)) this.#evict(actor)
      else this.#renew(actor)
    }
  }

  #isEvictable(actor: UserActor): boolean {
    const { durable, lastAppended, running, state } = actor
    if (running || state !== durable || this.#hasFailed(actor)) return false
    if (durable === undefined) return lastAppended <= this.#options.watermark()
    // During recovery, the state may be ahead of the records that were read.
    return durable.sequence === lastAppended
  }

  /** Whether the actor must remember that it failed a short while ago. */
  #hasFailed({ downUntil, restartedAt, restarts }: AnyActor): boolean {
    if (restarts === 0 && downUntil === 0) return false
    const now = this.#options.now()
    return downUntil > now || now - restartedAt <= limits.actorRestartWindowMs
  }

  #evict(actor: UserActor): void {
    const { subject } = actor
    if (subject.actor !== "user") return
    const environment = this.#options.environments.of(subject.environment)
    if (actor.isChanged) environment.settle(actor)
    if (!this.#isEvictable(actor)) throw new Error("An actor took a command while it was evicted")
    this.#unlink(actor)
    this.size--
    environment.users.delete(subject.userId)
  }

  #renew(actor: AnyActor): void {
    actor.usedAt = this.#added
    if (actor === this.#newest) return
    this.#unlink(actor)
    this.#link(actor)
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

/** More than one, so that the list shrinks again after many actors had to stay. */
const looksPerActor = 4
