/** What becomes of a data directory at a start, by what it and PostgreSQL have. */
import { expect, it } from "vitest"
import { decideLineage, type LocalCopy } from "../../../src/storage/postgres/Lineage.ts"

const remote = {
  ...{ lineage: "own", epoch: 3, owner: "", lastSequence: 20, checksum: 7 },
  firstSequence: 1,
}
const pruned = { ...remote, firstSequence: 11 }

/** A copy that ends with record 12 as PostgreSQL has it, unless said otherwise. */
const decided = (more: Partial<LocalCopy>, has: typeof remote | undefined, link?: number) => {
  const local = { lineage: "own", isRestored: false, lastSequence: 12, checksum: 5 }
  const decision = decideLineage({ directory: "/data", ...local, ...more }, has, link)
  return "why" in decision ? [decision.kind, decision.why] : [decision.kind]
}

const empty = { lineage: undefined, lastSequence: 0, checksum: 0 }
const words = (text: string) => expect.stringContaining(text)

it("A directory creates a partition, follows it, or is refused as that of another database", () => {
  expect(decided(empty, undefined)).toEqual(["begin"])
  expect(decided({}, undefined)).toEqual(["refuse", words("no such partition")])
  expect(decided({}, remote, 5)).toEqual(["follow"])
  expect(decided(empty, remote, 0)).toEqual(["follow"])
  expect(decided({}, pruned, 5)).toEqual(["follow"])
  expect(decided({ isRestored: true }, remote, 5)).toEqual(["refuse", words("undo the restore")])
})

it("A copy that lacks records which PostgreSQL has deleted is filled from an archive", () => {
  for (const copy of [empty, { ...empty, lineage: "own" }, { lastSequence: 9 }]) {
    expect(decided(copy, pruned)).toEqual(["refill", words("begins with record 11")])
  }
  // The last one that lacks nothing.
  expect(decided({ lastSequence: 10 }, pruned, 5)).toEqual(["follow"])
  // Records of which nothing says that PostgreSQL ever had them.
  const foreign = { lineage: undefined, lastSequence: 9 }
  expect(decided(foreign, pruned)).toEqual(["refuse", words("Restore an archive")])
})

it("A copy that left PostgreSQL's chain is replaced by PostgreSQL's records or by an archive", () => {
  const cases = [
    [{ lineage: "other" }, 5, "a copy of another cluster"],
    [{ lastSequence: 21 }, undefined, "PostgreSQL with 20"],
    [{}, 6, "not those of PostgreSQL"],
  ] as const
  for (const [copy, link, why] of cases) {
    expect(decided(copy, remote, link)).toEqual(["discard", words(why)])
    expect(decided(copy, pruned, link)).toEqual(["refill", words(why)])
  }
  expect(decided({ ...empty, lineage: "other" }, pruned)[0]).toBe("refill")
  for (const [copy, link] of cases.slice(1)) {
    expect(decided({ ...copy, lineage: undefined }, pruned, link)[0]).toBe("refuse")
  }
})
