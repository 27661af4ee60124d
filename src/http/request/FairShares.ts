/**
 * The shares of environments in contended resources, so that one environment's flood does not
 * starve the others.
 *
 * - Places that requests free within moments (replies that callers wait for, memory of bodies): an
 *   environment may hold as much as is free (dynamic thresholds, Choudhury and Hahne 1998). One
 *   environment alone gets half of all places, n greedy environments get 1/(n+1) each, and a new
 *   one always finds places.
 * - Turns of an overloaded event loop: a turn takes requests in order of arrival up to its budget.
 *   Beyond the budget, `overloadSharedUnits` are divided equally among the environments with
 *   requests. Units stay valid for `overloadShareTurnsMax` turns, and no turn gives more than the
 *   units of that many turns. An environment that needs less than its share is therefore never
 *   refused; the environments that flood the server pay for the overload. One environment alone
 *   gets no extra units. All requests without a key, such as a flood of preflights, count as one
 *   environment that gets no units.
 *
 * Cost: counters per environment. The units are only read while the server is overloaded. Shares
 * are kept for environments with a key: few, because of `projectsMax`.
 */

export type ShareBounds = Record<"overloadSharedUnits" | "overloadShareTurnsMax", number>

/** The resources that one environment holds. */
export class Share {
  /** Requests that wait for their reply. */
  waiting = 0
  /** The memory of its requests' bodies. */
  bodiesBytes = 0
  /** The units that it may take beyond the budget of a turn, as of `turn`. */
  units = 0
  turn = Number.NEGATIVE_INFINITY
  /** The last epoch in which it had a request. */
  epoch = -1
}

export class FairShares {
  readonly #bounds: ShareBounds
  readonly #shares = new Map<string, Share>()
  readonly #ofNobody = new Share()
  /**
   * An epoch is `overloadShareTurnsMax` turns. The counts are environments with requests, in this
   * epoch and in the one before.
   */
  #epoch = 0
  #asking = 0
  #askedBefore = 0
  /** The units that shares gave in this turn. */
  #turn = 0
  #given = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** The share of an environment; the first request of the environment makes it. */
  of(environment: string): Share {
    let share = this.#shares.get(environment)
    if (share === undefined) {
      share = new Share()
      this.#shares.set(environment, share)
    }
    return share
  }

  /** Counts a request without a share. */
  nobodyAsks(turn: number): void {
    this.#countAsking(this.#ofNobody, turn)
  }

  /** Takes units from a share. `false`: the share has fewer, and none are taken. */
  take(share: Share, turn: number, units: number): boolean {
    this.#refill(share, turn)
    const { overloadSharedUnits, overloadShareTurnsMax } = this.#bounds
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#given = 0
    }
    if (share.units < units) return false
    if (this.#given + units > overloadSharedUnits * overloadShareTurnsMax) return false
    share.units -= units
    this.#given += units
    return true
  }

  /** Takes up to `units` from a share, for a request that was admitted without them. */
  charge(share: Share, turn: number, units: number): void {
    this.#refill(share, turn)
    share.units = Math.max(0, share.units - units)
  }

  #refill(share: Share, turn: number): void {
    const turnsMax = this.#bounds.overloadShareTurnsMax
    this.#countAsking(share, turn)
    if (share.turn === turn) return
    const environments = Math.max(this.#asking, this.#askedBefore)
    const perTurn = environments < 2 ? 0 : this.#bounds.overloadSharedUnits / environments
    const turns = Math.min(turn - share.turn, turnsMax)
    share.units = Math.min(share.units + turns * perTurn, turnsMax * perTurn)
    share.turn = turn
  }

  #countAsking(share: Share, turn: number): void {
    const epoch = Math.floor(turn / this.#bounds.overloadShareTurnsMax)
    if (epoch !== this.#epoch) {
      this.#askedBefore = epoch === this.#epoch + 1 ? this.#asking : 0
      this.#asking = 0
      this.#epoch = epoch
    }
    if (share.epoch === epoch) return
    share.epoch = epoch
    this.#asking++
  }
}
