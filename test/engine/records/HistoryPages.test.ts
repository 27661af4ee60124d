import { describe, expect, it } from "vitest"
import {
  pageKey,
  pagesIn,
  partitionOf,
  partitionPrefix,
  placeOfPage,
} from "../../../src/engine/records/SnapshotValues.ts"
import { limits } from "../../../src/Limits.ts"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { sandbox } from "../fixture.ts"

const size = limits.historyPartitionRecords
const isIn = (key: Uint8Array, { from, until }: { from: Uint8Array; until: Uint8Array }) =>
  Buffer.compare(from, key) <= 0 && Buffer.compare(key, until) < 0

describe("The key of a page", () => {
  it("has the partition of its first record", () => {
    expect([1, size - 1, size, 2 * size - 1, 2 * size].map(partitionOf)).toEqual([0, 0, 1, 1, 2])
    for (const first of [1, size - 1, size, 7 * size + 3]) {
      const key = pageKey(sandbox, "ada", first)
      expect(placeOfPage(key)).toEqual({
        environment: sandbox,
        userId: "ada",
        first,
        user: compositeKey(sandbox, "ada"),
      })
      expect(isIn(key, rangeOf(partitionPrefix(key)))).toBe(true)
      expect(isIn(key, pagesIn(sandbox, partitionOf(first), "ada", 0, first + 1))).toBe(true)
      expect(isIn(key, pagesIn(sandbox, partitionOf(first), "ada", 0, first))).toBe(false)
      expect(isIn(key, pagesIn(sandbox, partitionOf(first) + 1, "ada", 0, first + 1))).toBe(false)
      for (const other of ["ad", "adaa", "", "b"]) {
        const others = pagesIn(sandbox, partitionOf(first), other, 0, first + 1)
        expect(isIn(key, others)).toBe(false)
      }
    }
  })

  it("is not decoded from other keys", () => {
    const strange = [
      compositeKey(sandbox),
      compositeKey(sandbox, "ada"),
      compositeKey(sandbox, "ada", 5),
      compositeKey(sandbox, 0, "ada"),
      compositeKey(sandbox, 0, 5),
      compositeKey(sandbox, "ada", 5, 6),
      compositeKey(sandbox, 0, "ada", 5, 6),
      compositeKey(0, sandbox, "ada", 5),
      Uint8Array.of(7, 7),
    ]
    expect(strange.map(placeOfPage)).toEqual(strange.map(() => undefined))
  })
})
