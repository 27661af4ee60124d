/** The findings of a check. */
import { limits } from "../../../Limits.ts"

export interface Findings {
  /** Counts by name. */
  readonly counts: Readonly<Record<string, number>>
  /** Sums by name, as decimal numbers. */
  readonly sums: Readonly<Record<string, string>>
  /** The first `verificationFaultsMax` faults, and how many there are. */
  readonly faults: ReadonlyArray<string>
  readonly faultCount: number
}

/** Counts faults and keeps the first ones. */
export class FaultList {
  readonly shown: Array<string> = []
  count = 0

  /** The first fault, and the number of others. */
  get summary(): string {
    return this.count > 1 ? `${this.shown[0]} (and ${this.count - 1} more faults)` : this.shown[0]!
  }

  readonly add = (words: string): void => {
    this.count++
    if (this.shown.length < limits.verificationFaultsMax) this.shown.push(words)
  }
}
