import { describe, expect, it } from "vitest"
import { PageWalk } from "../../../src/engine/archive/PageWalk.ts"
import { pageKey } from "../../../src/engine/records/SnapshotValues.ts"
import { limits } from "../../../src/Limits.ts"
import { compositeKey, type KeyRange } from "../../../src/storage/Keys.ts"
import type { StoredEntry } from "../../../src/storage/Storage.ts"
import { Random, seeds } from "../../simulation/random.ts"

const reader = (keys: ReadonlyArray<Uint8Array>) => {
  const sorted = keys.toSorted(Buffer.compare)
  return function* ({ from, until }: KeyRange): Generator<StoredEntry> {
    for (const key of sorted) {
      const isIn = Buffer.compare(from, key) <= 0 && Buffer.compare(key, until) < 0
      if (isIn) yield [key, key]
    }
  }
}

/** All that a walk finds. */
const walked = (keys: ReadonlyArray<Uint8Array>) => {
  const strange: Array<string> = []
  const walk = new PageWalk(reader(keys), (key) => strange.push(Buffer.from(key).toString("hex")))
  const pages: Array<readonly [string, string, number]> = []
  for (let { page } = walk; page !== undefined; page = walk.page) {
    expect(page.value).toBe(page.key)
    pages.push([page.environment, page.userId, page.first])
    walk.next()
  }
  return { pages, strange }
}

describe("A walk of all histories", () => {
  it("of none is over at once", () => {
    expect(walked([])).toEqual({ pages: [], strange: [] })
  })

  for (const seed of seeds(3)) {
    it(`has each user's pages together, oldest first (seed ${seed})`, () => {
      const random = new Random(seed)
      for (let run = 0; run < 30; run++) {
        const environments = ["p:production", "p:sandbox", "pp:sandbox"].slice(random.integer(0, 2))
        const pages = new Map<string, readonly [string, string, number]>()
        const keys: Array<Uint8Array> = []
        for (let n = random.integer(1, 200); n > 0; n--) {
          const environment = random.pick(environments)
          const userId = random.pick(["a", "ab", "b", "ü", "z\u0001"])
          const first = random.integer(1, 6 * limits.historyPartitionRecords)
          const name = JSON.stringify([environment, userId, first])
          if (pages.has(name)) continue
          pages.set(name, [environment, userId, first])
          keys.push(pageKey(environment, userId, first))
        }
        const expected = [...pages.values()].sort(
          ([environment, userId, first], other) =>
            Buffer.compare(Buffer.from(environment), Buffer.from(other[0])) ||
            Buffer.compare(Buffer.from(userId), Buffer.from(other[1])) ||
            first - other[2],
        )
        expect(walked(keys)).toEqual({ pages: expected, strange: [] })
      }
    })
  }

  it("reports each key once that is no page's, wherever it stands", () => {
    const pages = ["p", "q", "r"].flatMap((environment) =>
      [5, 500_005, 1_000_005].map((first) => [environment, "u", first] as const),
    )
    const strange = [
      compositeKey(0),
      compositeKey("p"),
      compositeKey("p", "u"),
      compositeKey("p", "u", 5),
      compositeKey("p", 0, "u"),
      compositeKey("p", 0, "u", 5, 6),
      compositeKey("p", 9, 9),
      compositeKey("q", 1, 1),
      compositeKey("q", 77),
      compositeKey("qq"),
      compositeKey("z"),
      Uint8Array.of(1, 7),
      Uint8Array.of(7),
    ]
    const found = walked([...pages.map((page) => pageKey(...page)), ...strange])
    expect(found.pages).toEqual(pages)
    const hex = (key: Uint8Array) => Buffer.from(key).toString("hex")
    expect(found.strange.toSorted()).toEqual(strange.map(hex).toSorted())
  })
})
