/**
 * Admission control: under overload, accepted requests stay quick and the rest is refused at once, before its body
 * is read. Environments share contended capacity fairly (`FairShares.ts`).
 *
 * The queue of this server stands in the sockets: all that came while one turn of the event loop ran is read in
 * the next. So the length of the turns is the time that requests wait. After CoDel (RFC 8289), as folly has it
 * for services: to wait is normal as long as it passes. Only when every turn of the last `overloadStandingMs` was asked
 * for more than `overloadCrowdUnits` and took longer than `overloadTurnMs`, and the turns do not get shorter, does a
 * queue stand; from then on a turn admits for `overloadBudgetMs`, and refuses what is behind. That ends when nothing
 * had to be refused for `overloadCalmMs`.
 *
 * - Up to `overloadConnectionsMin` connections, no request is refused for this reason: the queue cannot be longer than
 *   they are many. Else callers who ask again at once could keep a server refusing that could answer them all.
 * - `overloadTurnUnitsMin` units a turn are always taken. A unit is a request; large bodies are several.
 * - While a queue stands, keys are looked up before the decision, since an environment that asks for less than its share
 *   is not refused: a connection remembers its key, and an unknown one costs a hash, a tenth of its refusal. Requests
 *   without a key in force have no share, and neither have preflights.
 * - A slow disk makes no long turns: requests wait for the commit and cost nothing meanwhile. How many may wait is
 *   bounded by `requestsWaitingMax`, and what is in memory of bodies by `bodiesBytesMax`, however long turns are.
 *
 * Cost: some comparisons and counters a request, and one `setImmediate` a turn with requests.
 */

import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { Exchange } from "../request/Exchange.ts"
import { FairShares, type Share, type ShareBounds } from "../request/FairShares.ts"
import { eventLoop, type Turns } from "../Turns.ts"

/*
 * Throttles refusals, so that they do not starve accepted requests: most of a refusal's cost is Node's, which reads and parses
 * the head and cleans up behind the reply, whatever the reply says. Each turn of the event loop sends refusals for `overloadRefusalMs`; the rest waits for the next turn, in order. A caller that waits
 * for its refusal sends nothing on that connection, which bounds the load; `connectionsMax` bounds the queue.
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

  /** How many wait to be sent. */
  get size(): number {
    return this.#waiting.length - this.#next
  }

  /** `send` must not throw. */
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

/** Why requests are refused: the queue is too slow, too many wait, or bodies take too much memory. */
const overloadReasons = ["queue", "waiting", "bodies"] as const
export type OverloadReason = (typeof overloadReasons)[number]

export class Admission {
  readonly #bounds: AdmissionBounds
  readonly #connections: () => number
  readonly #turns: Turns
  readonly shares: FairShares
  /** On their way. */
  readonly refusals: Refusals
  readonly refused: Record<OverloadReason, number> = { queue: 0, waiting: 0, bodies: 0 }
  /** Requests that were taken and wait for their reply. */
  waiting = 0
  /** Bytes of bodies in memory: still arriving, or of waiting requests. */
  bodiesBytes = 0
  /** A queue stands. */
  overloaded = false
  /** Counts the turns that brought requests. */
  turn = 0
  #turnStartedAt: number | undefined
  /** Units asked for in this turn, and taken. */
  #askedUnits = 0
  #takenUnits = 0
  #lastTurnMs = 0
  /** When the first of the long turns began that followed one another and did not get shorter. */
  #longSince = 0
  #longTurns = 0
  #refusedAt = 0

  /** `connections` are those that are open. */
  constructor(bounds: AdmissionBounds, connections: () => number, turns: Turns = eventLoop) {
    this.#bounds = bounds
    this.#connections = connections
    this.#turns = turns
    this.shares = new FairShares(bounds)
    this.refusals = new Refusals(bounds.overloadRefusalMs, turns)
  }

  /**
   * Takes a request whose body has, or will have, so many bytes; or says why not. `shareOf` finds the share of the
   * environment that asks, `undefined` for none; it is called only while a queue stands.
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

  /** Once it is known who asks: why an environment may not have one more request with a body of so many bytes. */
  shareRefusal(share: Share, bodyBytes: number): LaurelError | undefined {
    if (share.waiting >= this.#bounds.requestsWaitingMax - this.waiting) {
      return this.#refuse("waiting")
    }
    return this.#mayHold(share, bodyBytes) ? undefined : this.#refuse("bodies")
  }

  /** A request begins to wait for its reply, until `answered`. */
  wait(share: Share): void {
    share.waiting++
    this.waiting++
  }

  answered(share: Share): void {
    share.waiting--
    this.waiting--
  }

  /** A piece of a body arrived: it is kept in memory until `release`, or refused. */
  hold(share: Share, bytes: number): LaurelError | undefined {
    if (!this.#mayHold(share, bytes)) return this.#refuse("bodies")
    share.bodiesBytes += bytes
    this.bodiesBytes += bytes
    return undefined
  }

  /** A body, or what had arrived of it, is not in memory any more. */
  release(share: Share, bytes: number): void {
    share.bodiesBytes -= bytes
    this.bodiesBytes -= bytes
  }

  /** A request has its reply, or its caller is gone. */
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

  /** Behind a queue: in order of arrival up to the budget of a turn, then by shares. */
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

/** One long turn alone is a pause, of the garbage collector or of the machine; what came meanwhile makes the next one long too. */
const longTurnsMin = 2
/** Turns that get shorter this quickly work off what a pause has left. */
const shrinkingShare = 0.75

const overloaded = laurelError("overloaded", "Nothing was changed. Retry later.", {
  retryAfterSeconds: 1,
})
