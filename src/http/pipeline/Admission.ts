/**
 * Admission control. Under overload, accepted requests stay fast, and the others are refused at
 * once, before their bodies are read. Environments share contended capacity fairly
 * (`FairShares.ts`).
 *
 * Requests queue in the sockets: all requests that arrive in one turn of the event loop are read in
 * the next. So the length of a turn is the time that requests wait. The rule follows CoDel (RFC
 * 8289), as folly uses it for services: a queue that passes is normal. There is a standing queue
 * only if in the last `overloadStandingMs` every turn was asked for more than `overloadCrowdUnits`
 * and took longer than `overloadTurnMs`, and the turns did not get shorter. A turn then admits
 * requests for `overloadBudgetMs`, and refuses the rest. This ends when nothing was refused for
 * `overloadCalmMs`.
 *
 * - Up to `overloadConnectionsMin` connections, no request is refused because of the queue, which
 *   cannot be longer than the number of connections. Otherwise callers that retry at once could
 *   keep a server refusing although it could answer all of them.
 * - A turn always admits `overloadTurnUnitsMin` units. A request is one unit; a large body is
 *   several.
 * - While there is a standing queue, keys are looked up before the decision, since an environment
 *   that needs less than its share is not refused. A connection remembers its key; an unknown key
 *   costs a hash, a tenth of a refusal. Requests without an active key have no share, and neither
 *   have preflights.
 * - A slow disk does not lengthen turns: requests that wait for the commit cost nothing meanwhile.
 *   `requestsWaitingMax` bounds their number, and `bodiesBytesMax` the memory of bodies, whatever
 *   the length of turns.
 *
 * Cost: some comparisons and counters for each request, and one `setImmediate` for each turn with
 * requests.
 */

import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { Exchange } from "../request/Exchange.ts"
import { FairShares, type Share, type ShareBounds } from "../request/FairShares.ts"
import { eventLoop, type Turns } from "../Turns.ts"

/*
 * Throttles refusals, so that they do not starve accepted requests. Most of the cost of a refusal
 * is Node's, which parses the head and cleans up after the reply. Each turn of the event loop sends
 * refusals for `overloadRefusalMs`; the others wait for the next turn, in order. A caller that
 * waits for its refusal sends nothing on that connection, which bounds the load; `connectionsMax`
 * bounds the queue.
 */

class Refusals {
  readonly #budgetMs: number
  readonly #turns: Turns
  #waiting: Array<() => void> = []
  #next = 0

  constructor(budgetMs: number, turns: Turns = eventLoop) {
    this.#budgetMs = budgetMs
    this.#turns = turns
  }

  /** The number of refusals that wait. */
  get size(): number {
    return this.#waiting.length - this.#next
  }

  /** Queues a refusal. `send` must not throw. */
  add(send: () => void): void {
    if (this.size === 0) this.#turns.atEnd(this.#sendSome)
    this.#waiting.push(send)
  }

  readonly #sendSome = (): void => {
    const until = this.#turns.now() + this.#budgetMs
    do this.#waiting[this.#next++]!()
    while (this.size > 0 && this.#turns.now() < until)
    if (this.size > 0) {
      this.#turns.atEnd(this.#sendSome)
      if (this.#next < 1_024) return
      this.#waiting = this.#waiting.slice(this.#next)
    } else {
      this.#waiting = []
    }
    this.#next = 0
  }
}

/** Durations in milliseconds; units as above. */
export type AdmissionBounds = Record<
  | "overloadTurnMs"
  | "overloadStandingMs"
  | "overloadBudgetMs"
  | "overloadRefusalMs"
  | "overloadCalmMs"
  | "overloadCrowdUnits"
  | "overloadConnectionsMin"
  | "overloadTurnUnitsMin"
  | "requestsWaitingMax"
  | "bodiesBytesMax",
  number
> &
  ShareBounds

/**
 * The reasons for refusals: the queue is standing, too many requests wait, or bodies take too much
 * memory.
 */
const overloadReasons = ["queue", "waiting", "bodies"] as const
type OverloadReason = (typeof overloadReasons)[number]

export class Admission {
  readonly #bounds: AdmissionBounds
  readonly #connections: () => number
  readonly #turns: Turns
  readonly shares: FairShares
  /** The refusals that wait to be sent. */
  readonly refusals: Refusals
  readonly refused: Record<OverloadReason, number> = { queue: 0, waiting: 0, bodies: 0 }
  /** The number of admitted requests that wait for their reply. */
  waiting = 0
  /** The bytes of bodies in memory, of requests that are arriving or waiting. */
  bodiesBytes = 0
  /** Whether there is a standing queue. */
  overloaded = false
  /** The number of turns that had requests. */
  turn = 0
  #turnStartedAt: number | undefined
  /** The units that were asked for and admitted in this turn. */
  #askedUnits = 0
  #takenUnits = 0
  #lastTurnMs = 0
  /** The start of the first of the present series of long turns that did not get shorter. */
  #longSince = 0
  #longTurns = 0
  #refusedAt = 0

  /** `connections` is the number of open connections. */
  constructor(bounds: AdmissionBounds, connections: () => number, turns: Turns = eventLoop) {
    this.#bounds = bounds
    this.#connections = connections
    this.#turns = turns
    this.shares = new FairShares(bounds)
    this.refusals = new Refusals(bounds.overloadRefusalMs, turns)
  }

  /**
   * Admits a request with a body of `bodyBytes`, arrived or announced, or returns a refusal.
   * `shareOf` finds the share of the request's environment, and is only called while there is a
   * standing queue.
   */
  refusal<Asker>(
    bodyBytes: number,
    asker: Asker,
    shareOf: (asker: Asker) => Share | undefined,
  ): LaurelError | undefined {
    const now = this.#turns.now()
    if (this.#turnStartedAt === undefined) this.#beginTurn(now)
    const units = 1 + Math.floor(bodyBytes / limits.admissionUnitBytes)
    this.#askedUnits += units
    if (this.waiting >= this.#bounds.requestsWaitingMax) return this.#refuse("waiting")
    if (this.bodiesBytes + bodyBytes > this.#bounds.bodiesBytesMax) return this.#refuse("bodies")
    if (this.#standsQueue(now) && !this.#mayPass(now, units, shareOf(asker))) {
      this.#refusedAt = now
      return this.#refuse("queue")
    }
    this.#takenUnits += units
    return undefined
  }

  /** The refusal of a request with a body of `bodyBytes`, because of its environment's share. */
  shareRefusal(share: Share, bodyBytes: number): LaurelError | undefined {
    if (share.waiting >= this.#bounds.requestsWaitingMax - this.waiting) {
      return this.#refuse("waiting")
    }
    return this.#mayHold(share, bodyBytes) ? undefined : this.#refuse("bodies")
  }

  /** Counts a request that waits for its reply, until `answered`. */
  wait(share: Share): void {
    share.waiting++
    this.waiting++
  }

  answered(share: Share): void {
    share.waiting--
    this.waiting--
  }

  /** Counts a piece of a body in memory, until `release`, or refuses it. */
  hold(share: Share, bytes: number): LaurelError | undefined {
    if (!this.#mayHold(share, bytes)) return this.#refuse("bodies")
    share.bodiesBytes += bytes
    this.bodiesBytes += bytes
    return undefined
  }

  /** A body, or the part of it that had arrived, is no longer in memory. */
  release(share: Share, bytes: number): void {
    share.bodiesBytes -= bytes
    this.bodiesBytes -= bytes
  }

  /** A request has its reply, or its caller has disconnected. */
  left({ bodyBytes, share, waiting }: Pick<Exchange, "bodyBytes" | "share" | "waiting">): void {
    if (share === undefined) return
    this.release(share, bodyBytes)
    if (waiting) this.answered(share)
  }

  observe(metrics: Metrics): void {
    metrics.gauge("laurel_overloaded", () => (this.overloaded ? 1 : 0))
    metrics.gauge("laurel_request_bodies_bytes", () => this.bodiesBytes)
    for (const reason of overloadReasons) {
      const read = () => this.refused[reason]
      metrics.readCounter("laurel_overload_refusals_total", read, { reason })
    }
  }

  #refuse(reason: OverloadReason): LaurelError {
    this.refused[reason]++
    return overloaded
  }

  #mayHold(share: Share, bytes: number): boolean {
    return (
      bytes === 0 || share.bodiesBytes + bytes <= this.#bounds.bodiesBytesMax - this.bodiesBytes
    )
  }

  #standsQueue(now: number): boolean {
    if (this.overloaded) return true
    if (this.#longTurns < longTurnsMin) return false
    if (now - this.#longSince < this.#bounds.overloadStandingMs) return false
    this.overloaded = true
    this.#refusedAt = now
    return true
  }

  /**
   * During a standing queue: admits in order of arrival up to the budget of a turn, then by shares.
   */
  #mayPass(now: number, units: number, share: Share | undefined): boolean {
    const { overloadBudgetMs, overloadTurnUnitsMin } = this.#bounds
    const early =
      now - this.#turnStartedAt! < overloadBudgetMs ||
      this.#takenUnits + units <= overloadTurnUnitsMin
    if (share === undefined) {
      this.shares.nobodyAsks(this.turn)
      return early
    }
    if (!early) return this.shares.take(share, this.turn, units)
    this.shares.charge(share, this.turn, units)
    return true
  }

  #beginTurn(now: number): void {
    this.#turnStartedAt = now
    this.#askedUnits = 0
    this.#takenUnits = 0
    if (this.#connections() <= this.#bounds.overloadConnectionsMin) this.overloaded = false
    this.turn++
    this.#turns.atEnd(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    const bounds = this.#bounds
    const now = this.#turns.now()
    const startedAt = this.#turnStartedAt!
    const turnMs = now - startedAt
    const few = this.#connections() <= bounds.overloadConnectionsMin
    if (now - this.#refusedAt >= bounds.overloadCalmMs) this.overloaded = false
    const crowded = !few && this.#askedUnits > bounds.overloadCrowdUnits
    if (!crowded || turnMs <= bounds.overloadTurnMs) {
      this.#longTurns = 0
    } else {
      const shrinks = turnMs < shrinkingShare * this.#lastTurnMs
      if (this.#longTurns === 0 || shrinks) {
        this.#longTurns = 0
        this.#longSince = startedAt
      }
      this.#longTurns++
    }
    this.#lastTurnMs = turnMs
    this.#turnStartedAt = undefined
  }
}

/**
 * One long turn is a pause, of the garbage collector or of the machine. The requests that arrive
 * during a pause make the next turn long, too.
 */
const longTurnsMin = 2
/** Turns that shorten this fast work off the queue of a pause. */
const shrinkingShare = 0.75

const overloaded = laurelError("overloaded", "Nothing was changed. Retry later.", {
  retryAfterSeconds: 1,
})
