/**
 * The room for users in memory, shared by the engines of a process: each has a cache of its own users (`ActorCache`), and the
 * least recently used of all of them are evicted first, whichever engine asks.
 *
 * Cost: a look at each cache for a user who is not in memory and for each eviction; there are few.
 */
import type { AnyActor } from "./Actor.ts"

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
