/** What an owner measures of its partitions, and when it publishes it. */
import { beforeEach, describe, expect, it } from "vitest"
import { Loads } from "../../src/cluster/Loads.ts"
import { limits } from "../../src/Limits.ts"

let now: number
let loads: Loads
/** As PostgreSQL has it. */
let table: Map<number, number>
let records: number
let requests: number | undefined

beforeEach(() => {
  now = 5_000
  loads = new Loads(() => now)
  table = new Map()
  records = 1_000
  requests = 0
  loads.requests = (partition) => (partition === 1 ? requests : undefined)
})

/** A reading; what is published by it is in the table afterwards. */
const read = (): ReadonlyArray<readonly [number, number]> => {
  const rows = [1, 2].map((id) => ({ id, last: records, load: table.get(id) ?? null }))
  const values = loads.read(rows)?.values as [Array<number>, Array<number>] | undefined
  const published = (values?.[0] ?? []).map((id, index) => [id, values![1][index]!] as const)
  for (const [id, load] of published) table.set(id, load)
  return published
}

/** Reads each second, with so many requests and records in each. */
const pass = (ms: number, perSecond: number, written = 0) => {
  const published = []
  for (const until = now + ms; now < until; ) {
    now += limits.ownersReadMs
    requests = (requests ?? 0) + perSecond
    records += written
    published.push(...read())
  }
  return published
}

describe("The load of a partition", () => {
  it("is the requests and records a second at its owner, once a whole window was measured", () => {
    read()
    expect(pass(limits.loadWindowMs - limits.ownersReadMs, 10, 5)).toEqual([])
    expect(pass(limits.ownersReadMs, 10, 5)).toEqual([[1, 15]])
    expect([loads.of(1), loads.of(2)]).toEqual([0, 0])
    read()
    expect([loads.of(1), loads.of(2)]).toEqual([15, 0])
  })

  it("is published again after a change of more than `loadChangeShare`, and when it ends", () => {
    read()
    pass(limits.loadWindowMs, 100)
    expect(pass(2 * limits.loadWindowMs, 81)).toEqual([])
    const published = pass(2 * limits.loadWindowMs, 79)
    expect(published).toHaveLength(1)
    expect(published[0]![1]).toBeLessThan(80)
    expect(pass(2 * limits.loadWindowMs, 0).at(-1)).toEqual([1, 0])
  })

  it("stays the former owner's until the new owner has measured for a whole window", () => {
    table.set(1, 70)
    requests = undefined
    read()
    now += limits.loadWindowMs
    requests = 0
    read()
    expect(pass(limits.loadWindowMs - limits.ownersReadMs, 1)).toEqual([])
    expect(loads.of(1)).toBe(70)
    expect(pass(limits.ownersReadMs, 1)).toEqual([[1, 1]])
  })

  it("is measured from the start after the partition was opened again", () => {
    read()
    pass(limits.loadWindowMs / 2, 50)
    requests = -records
    expect(pass(limits.loadWindowMs, 50)).toEqual([])
    expect(pass(limits.ownersReadMs, 50)).toEqual([[1, 50]])
  })
})
