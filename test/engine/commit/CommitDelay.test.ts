import { describe, expect, it } from "vitest"
import { CommitDelay } from "../../../src/engine/commit/GroupCommit.ts"
import { limits } from "../../../src/Limits.ts"

/** How many commits skip the wait before the next one that waits. */
const skips = (delay: CommitDelay): number => {
  let count = 0
  while (!delay.isDue()) count++
  return count
}

describe("The wait of a commit of few records", () => {
  it("is tried after commitDelaySkipsMax commits, and repeated while it brings records", () => {
    const delay = new CommitDelay()
    expect(skips(delay)).toBe(limits.commitDelaySkipsMax)
    for (let commit = 0; commit < 5; commit++) {
      delay.waited(true)
      expect(skips(delay)).toBe(0)
    }
  })

  it("is skipped twice as often after each wait without records, up to commitDelaySkipsMax", () => {
    const delay = new CommitDelay()
    delay.waited(true)
    const seen: Array<number> = []
    for (let commit = 0; commit < 9; commit++) {
      delay.waited(false)
      seen.push(skips(delay))
    }
    expect(seen).toEqual([1, 3, 7, 15, 31, 63, 127, 255, limits.commitDelaySkipsMax])
    delay.waited(true)
    expect(skips(delay)).toBe(0)
  })
})
