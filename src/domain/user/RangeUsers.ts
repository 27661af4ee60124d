/**
 * How many users were active in a range of days, each once. A day is that of the user's own calendar
 * (`ActiveDays.ts`), which keeps at least the 432 days before the user's latest one: so the number is
 * exact for a range that begins at most `analyticsDaysMax` days ago.
 */
import { wordDays } from "./ActiveDays.ts"
import type { CountedDays } from "./ActivityOfAll.ts"

export class RangeUsers {
  readonly from: number
  readonly to: number
  users = 0

  constructor(from: number, to: number) {
    this.from = from
    this.to = to
  }

  /** Adds a user. */
  add({ count, firstDay, lastWord, words }: CountedDays): void {
    if (this.#has(firstDay)) {
      this.users++
      return
    }
    for (let place = count - 1; place >= 0; place--) {
      const begin = (lastWord - count + 1 + place) * wordDays
      if (begin + wordDays <= this.from) return
      for (let bits = words[place]!; bits !== 0; bits &= bits - 1) {
        if (!this.#has(begin + 31 - Math.clz32(bits & -bits))) continue
        this.users++
        return
      }
    }
  }

  #has(day: number): boolean {
    return day >= this.from && day <= this.to
  }
}
