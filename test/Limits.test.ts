import { describe, expect, it } from "vitest"
import { limits } from "../src/Limits.ts"
import { checkLimits } from "../src/limitRelations.ts"

describe("Bounds that disagree", () => {
  it("end the start, and say which", () => {
    expect(() => checkLimits(limits)).not.toThrow()
    const cases = [
      [{ bodyBytesMax: limits.metadataBytesMax }, "a body holds the largest metadata"],
      [{ erasureMs: limits.journalRetentionMs }, "what is erased leaves the journal in time"],
      [{ boardChunkSlotsMax: 500 }, "chunks double up"],
    ] as const
    for (const [change, words] of cases) {
      expect(() => checkLimits({ ...limits, ...change })).toThrow(`Limits disagree: ${words}`)
    }
  })
})
