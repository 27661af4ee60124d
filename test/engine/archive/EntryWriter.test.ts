import { Effect } from "effect"
import { expect, it } from "vitest"
import { EntryWriter, transactionEntriesMax } from "../../../src/engine/archive/jobs/EntryWriter.ts"
import { limits } from "../../../src/Limits.ts"
import type { Entry } from "../../../src/storage/Storage.ts"

const entry = (bytes: number): Entry => ({
  table: "userIds",
  key: Buffer.alloc(1),
  value: Buffer.alloc(bytes - 1),
})

const transactionsOf = async (entries: ReadonlyArray<Entry>) => {
  const written: Array<number> = []
  const writer = new EntryWriter((slice) => Effect.sync(() => written.push(slice.length)))
  await Effect.runPromise(writer.writeAll(entries))
  return written
}

const most = transactionEntriesMax
const bytes = limits.archiveFlushBytes

it("A transaction ends with the entry that reaches the bound of entries", async () => {
  const small = (count: number) => Array.from({ length: count }, () => entry(1))
  expect(await transactionsOf(small(most - 1))).toEqual([most - 1])
  expect(await transactionsOf(small(most))).toEqual([most])
  expect(await transactionsOf(small(most + 1))).toEqual([most, 1])
})

it("A transaction ends with the entry that reaches the bound of bytes", async () => {
  expect(
    await transactionsOf([entry(bytes / 2), entry(bytes / 2 - 1), entry(1), entry(1)]),
  ).toEqual([3, 1])
  expect(await transactionsOf([entry(bytes / 2), entry(bytes / 2), entry(1)])).toEqual([2, 1])
})

it("Nothing is written of no entries", async () => {
  expect(await transactionsOf([])).toEqual([])
})
