/**
 * Long turns of the event loop, by cause. During a turn the server reads no request and sends no
 * reply, so a long turn delays every waiting request. This histogram names the code to shorten.
 *
 * - Background work names its turns: it calls `markTurn(cause)` at the start of a turn, or of its
 *   part of a turn. The turn ends with the present callback, which `process.nextTick` observes. The
 *   first cause of a turn counts, so work that calls other work keeps its cause.
 * - `other` is the delay of a late timer that no named turn explains: requests, commits, unnamed
 *   work. A turn longer than the timer's interval is always observed, a shorter turn by chance. The
 *   time before the timer was due does not count.
 * - Garbage collections are causes of their own. Their time is subtracted from the turns that they
 *   interrupted. V8 reports a collection some turns later, so a turn is counted two ticks after its
 *   end.
 * - Turns shorter than `longTurnMs` are ignored.
 *
 * There is one event loop and one observer per thread, so `markTurn` is a global function. Cost of
 * a mark: about 1 µs, once per turn of background work. Requests mark nothing.
 */
import { limits } from "../Limits.ts"
import type { Histogram } from "./Metrics.ts"

/** The causes of named turns. */
const markedCauses = ["snapshot", "database", "board", "rollover", "prune", "follow"] as const
export type MarkedCause = (typeof markedCauses)[number]

export const turnCauses = [...markedCauses, "gc_major", "gc_minor", "other"] as const
export type TurnCause = (typeof turnCauses)[number]

interface Span {
  readonly cause: TurnCause
  readonly from: number
  readonly to: number
}

/** Counts long turns. All times are milliseconds of `performance.now()`. */
export class LongTurns {
  readonly #histograms: Readonly<Record<TurnCause, Histogram>>
  /** The turns and collections of the last ticks, which are not counted yet. */
  #turns: Array<Span> = []
  #collections: Array<Span> = []
  #tickAt = 0
  #tickBeforeAt = 0

  constructor(histograms: Readonly<Record<TurnCause, Histogram>>) {
    this.#histograms = histograms
  }

  /** Adds a named turn, or a turn that delayed a timer. */
  turn(cause: MarkedCause | "other", from: number, to: number): void {
    if (to - from >= limits.longTurnMs) this.#turns.push({ cause, from, to })
  }

  collection(cause: "gc_major" | "gc_minor", from: number, to: number): void {
    this.#collections.push({ cause, from, to })
    this.#count(cause, to - from)
  }

  /**
   * Counts the turns that ended before the tick before the last one. No turn spans a tick, so the
   * remaining turns overlap none of them.
   */
  tick(now: number): void {
    const through = this.#tickBeforeAt
    const isOver = ({ to }: Span) => to <= through
    const over = this.#turns.filter(isOver)
    for (const turn of over) {
      // The time of a named turn includes its collections, so they are not subtracted twice.
      const named = turn.cause === "other" ? over.filter(({ cause }) => cause !== "other") : []
      const inside = this.#collections.filter((span) => !named.some((one) => isWithin(span, one)))
      let ms = turn.to - turn.from
      for (const span of [...inside, ...named]) ms -= overlapMs(turn, span)
      this.#count(turn.cause, ms)
    }
    this.#turns = this.#turns.filter((turn) => !isOver(turn))
    this.#collections = this.#collections.filter((collection) => !isOver(collection))
    this.#tickBeforeAt = this.#tickAt
    this.#tickAt = now
  }

  #count(cause: TurnCause, ms: number): void {
    if (ms >= limits.longTurnMs) this.#histograms[cause].observe(ms / 1_000)
  }
}

const isWithin = (one: Span, other: Span): boolean => one.from >= other.from && one.to <= other.to

const overlapMs = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from))

let observer: LongTurns | undefined
let marked: MarkedCause | undefined
let markedAt = 0

/** From now on, `turns` gets the named turns of this thread; with `undefined`, nobody does. */
export const observeTurns = (turns: LongTurns | undefined): void => {
  observer = turns
}

/** Names `cause` as the cause of the rest of this turn, unless the turn already has a cause. */
export const markTurn = (cause: MarkedCause): void => {
  if (observer === undefined || marked !== undefined) return
  marked = cause
  markedAt = performance.now()
  process.nextTick(endTurn)
}

const endTurn = (): void => {
  if (marked !== undefined) observer?.turn(marked, markedAt, performance.now())
  marked = undefined
}
