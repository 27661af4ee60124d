import { describe, expect, it } from "@effect/vitest"
import { IdCheck } from "../../../src/engine/archive/check/IdCheck.ts"
import { hashText, idSeed } from "../../../src/engine/dedupe/IdIndex.ts"
import { bucketEntries, headEntry, IdList, type IdRun } from "../../../src/engine/dedupe/IdRun.ts"
import type { StoredEntry } from "../../../src/storage/Storage.ts"
import { sandbox } from "../fixture.ts"

const watermark = 100
const lastSequence = 110

const hashOf = (n: number) => hashText(`eid-${n}`, idSeed(sandbox, `u${n % 3}`))

/** A run of ids, each given by its hash and its record. */
const runOf = (number: number, ids: ReadonlyArray<readonly [number, number]>) => {
  const run: IdRun = { number, bits: 1, ids: ids.length, through: watermark }
  const list = new IdList()
  for (const [hash, sequence] of ids) list.add(hash, sequence)
  return [headEntry(sandbox, run), ...bucketEntries(sandbox, run, list, 0, 0)].map(
    ({ key, value }): StoredEntry => [key, value!],
  )
}

const whole = Array.from({ length: watermark }, (_, n) => [hashOf(n + 1), n + 1] as const)

/** What is said of an index, of a hundred records with an id of their own. */
const faultsOf = (entries: ReadonlyArray<StoredEntry>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const check = new IdCheck((words) => faults.push(words), lastSequence, watermark)
  for (let n = 1; n <= lastSequence; n++) check.record(sandbox, `u${n % 3}`, `eid-${n}`, n)
  for (const entry of entries) check.entry(entry)
  check.end()
  return faults
}

describe("The check of callers' ids", () => {
  it("finds nothing wrong with each id once, or twice while runs are merged, and more ahead", () => {
    expect(faultsOf(runOf(1, whole))).toEqual([])
    expect(faultsOf([...runOf(1, whole), ...runOf(2, whole.slice(10, 20))])).toEqual([])
    expect(faultsOf(runOf(1, [...whole, [hashOf(105), 105]]))).toEqual([])
  })

  it("says which record's id is missing", () => {
    expect(faultsOf(runOf(1, whole.toSpliced(41, 1)))).toEqual([
      "The id of record 42 leads to nothing",
    ])
  })

  it("says that an id leads to a record without one, or to none at all", () => {
    const faults: Array<string> = []
    const check = new IdCheck((words) => faults.push(words), lastSequence, watermark)
    for (const entry of runOf(1, [
      [1, 7],
      [2, 111],
    ]))
      check.entry(entry)
    check.end()
    expect(faults).toEqual([
      "An id leads to record 7, which has none",
      "An id leads to record 111, which does not exist",
    ])
  })

  it("sees an id that leads to another's record", () => {
    const [first, second, ...rest] = whole
    const swapped = [[first![0], 2] as const, [second![0], 1] as const, ...rest]
    expect(faultsOf(runOf(1, swapped))).toEqual([
      "Some callers' ids lead to records that have another id",
    ])
  })

  it("sees an id in a bucket where nobody looks for it", () => {
    const [head, ...buckets] = runOf(1, whole)
    const [[zero, some], [one, others]] = buckets as [StoredEntry, StoredEntry]
    const faults = faultsOf([head!, [zero, others], [one, some]])
    expect(faults.length).toBe(watermark)
    expect(faults[0]).toMatch(/^The id of record \d+ is not where it is looked for$/)
  })

  it("reports buckets without a head, and malformed buckets", () => {
    const [, first, ...buckets] = runOf(1, whole)
    expect(faultsOf([first!, ...buckets])[0]).toContain("of table eventIds is of no run")
    const [head] = runOf(1, whole)
    const strange: StoredEntry = [Uint8Array.of(2), head![1]]
    expect(faultsOf([...runOf(1, whole), strange])).toEqual([
      "The value 02 of table eventIds cannot be decoded",
    ])
  })
})
