/**
 * The scores of a user, or of a user for a team, on one leaderboard, by window. A user's state has places
 * for two windows of a kind: `latest` has their indexes, latest first.
 */
import { type TimedWindow, timedWindows } from "../../src/domain/values/Calendar.ts"

interface Sum {
  readonly amount: number
  /** The record that set it. */
  readonly since: number
}

const noSum: Sum = { amount: 0, since: 0 }

export type Indexes = ReadonlyMap<TimedWindow, number>

export const windowName = (kind: string, index: number): string => `${kind} ${index}`

export class BoardScores {
  /** The sum of all that counted for the board. */
  total = noSum
  readonly latest: Record<TimedWindow, ReadonlyArray<number>> = {
    daily: [],
    weekly: [],
    monthly: [],
    days: [],
  }
  readonly #sums = new Map<string, Sum>()

  sumIn(kind: TimedWindow, index: number): Sum {
    return this.#sums.get(windowName(kind, index)) ?? noSum
  }

  /** The windows with a score. */
  get windows(): ReadonlyArray<string> {
    return [...this.#sums.keys()]
  }

  add(windows: Indexes, amount: number, since: number): void {
    this.total = { amount: this.total.amount + amount, since }
    for (const [kind, index] of windows) {
      this.#set(kind, index, this.sumIn(kind, index).amount + amount, since)
      const [first] = this.latest[kind]
      if (this.latest[kind].includes(index)) continue
      const isLatest = first === undefined || index > first
      this.latest[kind] = isLatest ? [index, ...this.latest[kind]].slice(0, 2) : [first, index]
    }
  }

  /** Takes back at most what is left. */
  take(windows: Indexes, amount: number, since: number): void {
    this.total = { amount: Math.max(0, this.total.amount - amount), since }
    for (const [kind, index] of windows) {
      this.#set(kind, index, Math.max(0, this.sumIn(kind, index).amount - amount), since)
    }
  }

  #set(kind: TimedWindow, index: number, amount: number, since: number): void {
    if (amount > 0) {
      this.#sums.set(windowName(kind, index), { amount, since })
      return
    }
    this.#sums.delete(windowName(kind, index))
    this.latest[kind] = this.latest[kind].filter((one) => one !== index)
  }

  /** Takes in the scores of a merged user, but not those of closed windows. */
  unite(other: BoardScores, closed: Readonly<Record<TimedWindow, number>>, since: number): void {
    this.total = { amount: this.total.amount + other.total.amount, since }
    for (const kind of timedWindows) {
      const theirs = other.latest[kind].filter((index) => index > closed[kind])
      const all = new Set([...this.latest[kind], ...theirs])
      const latest = [...all].sort((one, two) => two - one).slice(0, 2)
      for (const index of theirs.filter((one) => latest.includes(one))) {
        const amount = this.sumIn(kind, index).amount + other.sumIn(kind, index).amount
        this.#set(kind, index, amount, since)
      }
      this.latest[kind] = latest
    }
  }

  /** The user is listed again: with the two latest windows of each kind. */
  forgetOthers(): void {
    for (const name of this.windows) {
      const [kind, index] = name.split(" ") as [TimedWindow, string]
      if (!this.latest[kind].includes(Number(index))) this.#sums.delete(name)
    }
  }

  /** Forgets the scores of these windows. */
  forget(isOver: (kind: TimedWindow, index: number) => boolean): void {
    for (const name of this.windows) {
      const [kind, index] = name.split(" ") as [TimedWindow, string]
      if (isOver(kind, Number(index))) this.#sums.delete(name)
    }
  }
}
