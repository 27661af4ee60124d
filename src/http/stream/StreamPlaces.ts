/**
 * The places of open streams: at most `streamsMax` in all, `streamsOfEnvironmentMax` in one environment, and
 * `streamsOfAccountMax` of one account in the dashboard, so that its pages leave places for API clients.
 *
 * While places are free, an environment takes as many as its cap allows. When none is free, places are shared max-min
 * fairly: an environment that holds at least two fewer than the largest holder takes over a place of it, and the
 * newest stream of the largest holder ends. Its client reconnects with `Last-Event-ID`, so it misses no message. The
 * difference of two keeps two environments from taking the same place from each other.
 *
 * A place is taken synchronously, before anything waits, so that no two openings see the same free place.
 * Cost: constant, except that an opening while no place is free looks at every environment that holds one.
 */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

export type StreamBounds = Record<
  "streamsMax" | "streamsOfAccountMax" | "streamsOfEnvironmentMax",
  number
>

export class StreamPlace {
  readonly environment: string
  /** The account of the dashboard that holds it; absent for an API key. */
  readonly accountId: string | undefined
  readonly #leave: (place: StreamPlace) => void
  #end: (() => void) | undefined
  #state: "held" | "left" | "evicted" = "held"

  constructor(
    environment: string,
    accountId: string | undefined,
    leave: (place: StreamPlace) => void,
  ) {
    this.environment = environment
    this.accountId = accountId
    this.#leave = leave
  }

  /** The stream has begun: `end` ends it early. Called at once where the place was lost meanwhile. */
  begun(end: () => void): void {
    if (this.#state === "evicted") end()
    else this.#end = end
  }

  /** Gives the place back. Later calls, and those after an eviction, change nothing. */
  leave(): void {
    if (this.#state !== "held") return
    this.#state = "left"
    this.#leave(this)
  }

  /** Gives the place back and ends the stream. */
  evict(): void {
    this.#state = "evicted"
    this.#leave(this)
    this.#end?.()
  }
}

export class StreamPlaces {
  readonly #bounds: StreamBounds
  /** Of each environment that holds places, in the order in which they were taken. */
  readonly #held = new Map<string, Array<StreamPlace>>()
  /** How many places each account of the dashboard holds. */
  readonly #ofAccount = new Map<string, number>()
  readonly #tooManyHere: LaurelError<"quota_exceeded">
  readonly #tooManyOfAccount: LaurelError<"quota_exceeded">
  #count = 0

  constructor(bounds: StreamBounds) {
    this.#bounds = bounds
    this.#tooManyHere = laurelError(
      "quota_exceeded",
      `An environment has at most ${bounds.streamsOfEnvironmentMax} streams at once.`,
    )
    this.#tooManyOfAccount = laurelError(
      "quota_exceeded",
      `An account has at most ${bounds.streamsOfAccountMax} live pages open at once. Close one and try again.`,
    )
  }

  /** How many places are taken. */
  get count(): number {
    return this.#count
  }

  /** How many places an environment holds. */
  countOf(environment: string): number {
    return this.#held.get(environment)?.length ?? 0
  }

  /** A place for one stream, or why there is none: `quota_exceeded` or `overloaded`. */
  take(
    environment: string,
    accountId?: string,
  ): StreamPlace | LaurelError<"quota_exceeded" | "overloaded"> {
    const ofAccount = accountId === undefined ? 0 : (this.#ofAccount.get(accountId) ?? 0)
    if (ofAccount >= this.#bounds.streamsOfAccountMax) return this.#tooManyOfAccount
    const held = this.countOf(environment)
    if (held >= this.#bounds.streamsOfEnvironmentMax) return this.#tooManyHere
    if (this.#count >= this.#bounds.streamsMax) {
      const most = this.#largest()
      if (most === undefined || most.length < held + 2) return tooMany
      most.at(-1)!.evict()
    }
    const place = new StreamPlace(environment, accountId, this.#remove)
    if (accountId !== undefined) this.#ofAccount.set(accountId, ofAccount + 1)
    const places = this.#held.get(environment)
    if (places === undefined) this.#held.set(environment, [place])
    else places.push(place)
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
    const places = this.#held.get(place.environment)!
    places.splice(places.indexOf(place), 1)
    if (places.length === 0) this.#held.delete(place.environment)
    this.#count--
    if (place.accountId === undefined) return
    const ofAccount = this.#ofAccount.get(place.accountId)! - 1
    if (ofAccount === 0) this.#ofAccount.delete(place.accountId)
    else this.#ofAccount.set(place.accountId, ofAccount)
  }
}

const tooMany = laurelError("overloaded", "Too many streams are open.", { retryAfterSeconds: 30 })
