/** What a check finds. */
import { limits } from "../../Limits.ts"

export interface Findings {
  /** How many there are of each. */
  readonly counts: Readonly<Record<string, number>>
  /** What they add up to, as decimal numbers. */
  readonly sums: Readonly<Record<string, string>>
  /** The first `verificationFaultsMax` of what is wrong, and how much is. */
  readonly faults: ReadonlyArray<string>
  readonly faultCount: number
}

/** Collects what is wrong; remembers only the first. */
export class FaultList {
  readonly shown: Array<string> = []
  count = 0

  /** The first, and how many more there are. */
  get summary(): string {
    return this.count > 1 ? `${this.shown[0]} (and ${this.count - 1} more faults)` : this.shown[0]!
  }

  readonly add = (words: string): void => {
    this.count++
    if (this.shown.length < limits.verificationFaultsMax) this.shown.push(words)
  }
}
