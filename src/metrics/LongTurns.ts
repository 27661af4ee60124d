/**
 * Long turns of the event loop, by cause. While a turn lasts no request is read and no reply is sent, so a long turn is the
 * latency of every request that waits; this histogram names the code to shorten.
 *
 * - Background work names its turns itself: `markTurn(cause)` at the start of a turn, or of the part of a turn that it
 *   takes. The turn ends with the callback that it stands in, which `process.nextTick` notices. The first cause of a turn
 *   counts, so work that calls other work keeps its name.
 * - `other` is the part of a late timer's delay that no named turn explains: requests, commits, work that names
 *   nothing. A turn of more than the timer's interval is always seen, a shorter one by chance, and both without the time
 *   before the timer was due.
 * - Garbage collections are causes of their own. Their time is taken out of the turns that they interrupted. V8 reports a
 *   collection some turns after it, so a turn is counted two ticks after its end.
 * - Turns under `longTurnMs` are forgotten.
 *
 * The event loop is one per thread, and so is the observer: `markTurn` reaches it without being handed through every
 * room. Cost of a mark: about 1 µs, once per turn of background work; requests mark nothing.
 */
import { limits } from "../Limits.ts"
import type { Histogram } from "./Metrics.ts"

/** Causes that mark their own turns. */
const markedCauses = [
  "snapshot",
  "database",
  "board",
  "rollover",
  "prune",
  "sweep",
  "follow",
] as const
export type MarkedCause = (typeof markedCauses)[number]

export const turnCauses = [...markedCauses, "gc_major", "gc_minor", "other"] as const
export type TurnCause = (typeof turnCauses)[number]

interface Span {
  readonly cause: TurnCause
  readonly from: number
  readonly to: number
}

/** All times are milliseconds of `performance.now()`. */
export class LongTurns {
  readonly #histograms: Readonly<Record<TurnCause, Histogram>>
  /** Of the last ticks, not counted yet. */
  #turns: Array<Span> = []
  #collections: Array<Span> = []
  #tickAt = 0
  #tickBeforeAt = 0

  constructor(histograms: Readonly<Record<TurnCause, Histogram>>) {
    this.#histograms = histograms
  }

  /** A named turn, or one that made a timer late. */
  turn(cause: MarkedCause | "other", from: number, to: number): void {
    if (to - from >= limits.longTurnMs) this.#turns.push({ cause, from, to })
  }

  collection(cause: "gc_major" | "gc_minor", from: number, to: number): void {
    this.#collections.push({ cause, from, to })
    this.#count(cause, to - from)
  }

  /** Counts the turns that ended before the last tick but one. A tick is in no turn, so none overlaps one that is left. */
  tick(now: number): void {
    const through = this.#tickBeforeAt
    const isOver = ({ to }: Span) => to <= through
    const over = this.#turns.filter(isOver)
    for (const turn of over) {
      // A collection in a named turn is taken out with that turn.
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

/** Marked turns of this thread go to `turns` from now on; `undefined`: nowhere. */
export const observeTurns = (turns: LongTurns | undefined): void => {
  observer = turns
}

/** From here to the end of this turn, the event loop works for `cause`, unless another cause was marked before. */
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
