/**
 * The shares of environments in contended resources, so that one environment's flood does not starve the others.
 *
 * - Places that requests free within moments (replies that are awaited, memory of bodies): an environment may hold as
 *   much as is free (dynamic thresholds, Choudhury and Hahne 1998). One environment alone gets half of all, n greedy ones
 *   get 1/(n+1) each, and a newcomer always finds room.
 * - Turns of an overloaded event loop: beyond what a turn takes in order of arrival, `overloadSharedUnits` are divided
 *   equally among the environments that ask, and kept for `overloadShareTurnsMax` turns; no turn gives more than such a
 *   number of turns' units. So an environment that asks for
 *   less than its share is never refused, and the flood of another one pays for the overload. One environment alone
 *   gets nothing extra. Requests without a key, such as a flood of preflights, count as one environment that asks and gets nothing.
 *
 * Cost: counters of the environment; the units of a turn are looked at only while the server is overloaded. Shares are
 * kept for environments with a key, of which there are few (`projectsMax`).
 */

export type ShareBounds = Record<"overloadSharedUnits" | "overloadShareTurnsMax", number>

/** The holdings of one environment. */
export class Share {
  /** Requests that wait for their reply. */
  waiting = 0
  /** Memory that its bodies take. */
  bodiesBytes = 0
  /** Units that it may take beyond a turn's budget, as of `turn`. */
  units = 0
  turn = Number.NEGATIVE_INFINITY
  /** The last epoch in which it asked. */
  epoch = -1
}

export class FairShares {
  readonly #bounds: ShareBounds
  readonly #shares = new Map<string, Share>()
  readonly #ofNobody = new Share()
  /** Turns are counted in epochs of `overloadShareTurnsMax`; how many environments asked in this one, and the one before. */
  #epoch = 0
  #asking = 0
  #askedBefore = 0
  /** Units that the shares gave in a turn. */
  #turn = 0
  #given = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** The share of an environment, made with the first request of it. */
  of(environment: string): Share {
    let share = this.#shares.get(environment)
    if (share === undefined) {
      share = new Share()
      this.#shares.set(environment, share)
    }
    return share
  }

  /** A request without a share asks. */
  nobodyAsks(turn: number): void {
    this.#countAsking(this.#ofNobody, turn)
  }

  /** Takes units from a share; `false`, and nothing is taken, when it has fewer. */
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

  /** Takes up to so many units from a share for a request that was taken anyhow. */
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
