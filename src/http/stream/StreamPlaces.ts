/**
 * The places of open streams, in two pools. Streams of an environment take places of the first
 * pool. Each message is sent to all of them, so they are few. One account of the dashboard has at
 * most `streamsOfAccountMax` of these places, so that its pages leave places for API clients.
 * Streams of one user take places of the second pool. If a user has `streamsOfUserMax` streams and
 * opens another one, the oldest ends, since it often belongs to a phone that has left its network.
 *
 * While a pool has free places, an environment takes as many as its cap allows. When no place is
 * free, the places are shared max-min fairly: an environment that holds at least two places fewer
 * than the largest holder takes over one of its places, and the newest stream of the largest holder
 * ends. That stream's client reconnects with `Last-Event-ID`, so it misses no message. The
 * difference of two keeps two environments from taking the same place from each other.
 *
 * A place is taken synchronously, before any wait, so that two openings never get the same free
 * place. Cost: an end searches the places of its environment. An opening without a free place reads
 * the count of every environment that holds places.
 */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { userScope } from "./StreamHub.ts"

export type StreamBounds = Record<
  | "streamsMax"
  | "streamsOfAccountMax"
  | "streamsOfEnvironmentMax"
  | "streamsOfUserMax"
  | "userStreamsMax",
  number
>

/** The maximum number of places of one pool: in all, of one environment, and of one holder. */
interface PoolBounds {
  readonly max: number
  readonly ofEnvironmentMax: number
  readonly ofHolderMax: number
}

export class StreamPlace {
  readonly environment: string
  /**
   * The account of the dashboard, or the user; `undefined` for a stream of an environment that an
   * API key opened.
   */
  readonly holder: string | undefined
  readonly #leave: (place: StreamPlace) => void
  #end: (() => void) | undefined
  #state: "held" | "left" | "evicted" = "held"

  constructor(
    environment: string,
    holder: string | undefined,
    leave: (place: StreamPlace) => void,
  ) {
    this.environment = environment
    this.holder = holder
    this.#leave = leave
  }

  /**
   * The stream has begun. `end` ends it early, and is called at once if the place was already lost.
   */
  begun(end: () => void): void {
    if (this.#state === "evicted") end()
    else this.#end = end
  }

  /** Returns the place. Further calls, and calls after an eviction, have no effect. */
  leave(): void {
    if (this.#state !== "held") return
    this.#state = "left"
    this.#leave(this)
  }

  /** Returns the place and ends the stream. */
  evict(): void {
    this.#state = "evicted"
    this.#leave(this)
    this.#end?.()
  }
}

export class StreamPlaces {
  readonly ofEnvironments: PlacePool
  readonly ofUsers: PlacePool

  constructor(bounds: StreamBounds) {
    const { streamsMax, streamsOfAccountMax, streamsOfEnvironmentMax } = bounds
    const { streamsOfUserMax, userStreamsMax } = bounds
    this.ofEnvironments = new PlacePool(
      {
        max: streamsMax,
        ofEnvironmentMax: streamsOfEnvironmentMax,
        ofHolderMax: streamsOfAccountMax,
      },
      quotaExceeded(
        `An account has at most ${streamsOfAccountMax} live pages open at once. Close one and try again.`,
      ),
    )
    this.ofUsers = new PlacePool(
      { max: userStreamsMax, ofEnvironmentMax: userStreamsMax, ofHolderMax: streamsOfUserMax },
      "oldest ends",
    )
  }

  /** A place for a stream of all messages of an environment, or a refusal. */
  take(environment: string, accountId?: string): StreamPlace | Refusal {
    return this.ofEnvironments.take(environment, accountId)
  }

  /** A place for a stream of one user's messages, or a refusal. */
  takeOfUser(environment: string, userId: string): StreamPlace | Refusal {
    return this.ofUsers.take(environment, userScope(environment, userId))
  }
}

type Refusal = LaurelError<"quota_exceeded" | "overloaded">

const quotaExceeded = (detail: string) => laurelError("quota_exceeded", detail)

class PlacePool {
  readonly #bounds: PoolBounds
  readonly #tooManyOfHolder: LaurelError<"quota_exceeded"> | "oldest ends"
  /** The places of each environment and of each holder, in the order in which they were taken. */
  readonly #held = new Map<string, Array<StreamPlace>>()
  readonly #ofHolder = new Map<string, Array<StreamPlace>>()
  readonly #tooManyHere: LaurelError<"quota_exceeded">
  #count = 0

  /**
   * `tooManyOfHolder`: the result for a holder that has all its places and asks for another one.
   */
  constructor(bounds: PoolBounds, tooManyOfHolder: LaurelError<"quota_exceeded"> | "oldest ends") {
    this.#bounds = bounds
    this.#tooManyOfHolder = tooManyOfHolder
    this.#tooManyHere = quotaExceeded(
      `An environment has at most ${bounds.ofEnvironmentMax} streams at once.`,
    )
  }

  /** The number of taken places. */
  get count(): number {
    return this.#count
  }

  /** The number of places that an environment holds. */
  countOf(environment: string): number {
    return this.#held.get(environment)?.length ?? 0
  }

  take(environment: string, holder: string | undefined): StreamPlace | Refusal {
    const { max, ofEnvironmentMax, ofHolderMax } = this.#bounds
    const own = holder === undefined ? undefined : this.#ofHolder.get(holder)
    if (own !== undefined && own.length >= ofHolderMax) {
      if (this.#tooManyOfHolder !== "oldest ends") return this.#tooManyOfHolder
      own[0]!.evict()
    }
    const held = this.countOf(environment)
    if (held >= ofEnvironmentMax) return this.#tooManyHere
    if (this.#count >= max) {
      const most = this.#largest()
      if (most === undefined || most.length < held + 2) return tooMany
      most.at(-1)!.evict()
    }
    const place = new StreamPlace(environment, holder, this.#remove)
    add(this.#held, environment, place)
    if (holder !== undefined) add(this.#ofHolder, holder, place)
    this.#count++
    return place
  }

  #largest(): ReadonlyArray<StreamPlace> | undefined {
    let largest: ReadonlyArray<StreamPlace> | undefined
    for (const places of this.#held.values()) {
      if (largest === undefined || places.length > largest.length) largest = places
    }
    return largest
  }

  readonly #remove = (place: StreamPlace): void => {
    remove(this.#held, place.environment, place)
    if (place.holder !== undefined) remove(this.#ofHolder, place.holder, place)
    this.#count--
  }
}

const add = (lists: Map<string, Array<StreamPlace>>, name: string, place: StreamPlace): void => {
  const places = lists.get(name)
  if (places === undefined) lists.set(name, [place])
  else places.push(place)
}

const remove = (lists: Map<string, Array<StreamPlace>>, name: string, place: StreamPlace): void => {
  const places = lists.get(name)!
  places.splice(places.indexOf(place), 1)
  if (places.length === 0) lists.delete(name)
}

const tooMany = laurelError("overloaded", "Too many streams are open.", { retryAfterSeconds: 30 })
