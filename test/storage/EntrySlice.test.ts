import { describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { EntrySlice } from "../../src/storage/EntryBlock.ts"
import { keyBytesMax } from "../../src/storage/Keys.ts"
import { type Entry, tables } from "../../src/storage/tables.ts"

const keptMax = 2 * limits.snapshotSliceBytesMax

const bytes = (length: number, fill = 7) => Buffer.alloc(length, fill)

const plain = (entries: Iterable<Entry>) =>
  Array.from(entries, ({ key, replaces, table, value }) => ({
    table,
    key: Buffer.from(key).toString("hex"),
    value: value === null ? null : Buffer.from(value).toString("hex"),
    replaces,
  }))

describe("A slice of entries", () => {
  it("has all added entries of every form, also as another thread sees it", () => {
    const entries: ReadonlyArray<Entry> = [
      ...tables.map((table, n) => ({ table, key: bytes(n + 1, n), value: bytes(n, 255 - n) })),
      { table: "userIds", key: bytes(1), value: bytes(0), replaces: null },
      { table: "userIds", key: bytes(keyBytesMax), value: bytes(100_000), replaces: -(2 ** 31) },
      { table: "userIds", key: bytes(3), value: null, replaces: 2 ** 31 - 1 },
      { table: "userIds", key: bytes(4), value: null, replaces: 0 },
      { table: "boards", key: bytes(5), value: null },
    ]
    const slice = EntrySlice.of(entries)
    expect(slice.count).toBe(entries.length)
    const expected = plain(entries.map((entry) => ({ replaces: undefined, ...entry })))
    expect(plain(slice)).toEqual(expected)
    expect(plain(EntrySlice.from(slice.shared))).toEqual(expected)
  })

  it("throws if its entries do not add up to its count and bytes", () => {
    const { shared } = EntrySlice.of(
      [1, 2, 3].map((n) => ({ table: "userIds", key: bytes(n), value: bytes(n) })),
    )
    for (const wrong of [{ count: 2 }, { count: 4 }, { used: shared.used - 1 }]) {
      expect(() => plain(EntrySlice.from({ ...shared, ...wrong }))).toThrow("a slice of")
    }
  })

  it("does not change with the memory that entries came from", () => {
    const key = bytes(3, 1)
    const value = bytes(9, 2)
    const slice = EntrySlice.of([{ table: "userIds", key, value }])
    const before = plain(slice)
    key.fill(0)
    value.fill(0)
    expect(plain(slice)).toEqual(before)
  })

  it("accepts keys from one byte up to LMDB's limit", () => {
    const slice = new EntrySlice()
    for (const length of [1, keyBytesMax]) {
      slice.add({ table: "userIds", key: bytes(length), value: null })
    }
    for (const length of [0, keyBytesMax + 1]) {
      expect(() => slice.add({ table: "userIds", key: bytes(length), value: null })).toThrow(
        `a key of ${length} bytes in table userIds`,
      )
    }
    expect(slice.count).toBe(2)
  })

  it("is empty after `clear`, and keeps the memory of at most two full slices", () => {
    const slice = new EntrySlice()
    const memoryAfter = (valueBytes: number) => {
      slice.add({ table: "userIds", key: bytes(1), value: bytes(valueBytes) })
      const { byteLength } = slice.shared.memory
      slice.clear()
      expect([slice.count, slice.bytes, [...slice]]).toEqual([0, 0, []])
      return { byteLength, kept: slice.shared.memory.byteLength }
    }
    const most = memoryAfter(keptMax - 100)
    expect(most).toEqual({
      byteLength: keptMax - 100 + 13,
      kept: keptMax - 100 + 13,
    })
    const larger = memoryAfter(keptMax)
    expect(larger.byteLength).toBeGreaterThan(keptMax)
    expect(larger.kept).toBeLessThan(keptMax)
  })
})
