/**
 * The process of a test: opens each environment that its input names, a folder a line, reads all of it by a walk and by
 * look-ups, prints a line of what it found, and writes. A failed commit is reported, and does not end the process.
 */

import { createInterface } from "node:readline"
import { crc32 } from "node:zlib"
import { rangeOf } from "../../src/storage/Keys.ts"
import { openTable, openWritable } from "../../src/storage/lmdb/environment.ts"
import { LmdbReader } from "../../src/storage/lmdb/LmdbReader.ts"
import { tables } from "../../src/storage/Storage.ts"

for await (const folder of createInterface({ input: process.stdin })) {
  const reader = new LmdbReader(folder)
  const found: Array<string> = []
  for (const table of tables) {
    for (const [key, value] of reader.entries({ table, ...rangeOf(new Uint8Array(0)) })) {
      const again = reader.get(table, key)
      const same = again !== undefined && Buffer.compare(again, value) === 0
      const bytes = crc32(value.subarray(0, -1))
      found.push(`${table} ${Buffer.from(key).toString("hex")} ${bytes}${same ? "" : " lost"}`)
    }
  }
  await reader.close()
  console.log(JSON.stringify({ folder, found }))
  const root = openWritable(folder)
  const key = Buffer.from("zzz")
  const users = openTable(root, "users")!
  try {
    await users.put(key, Buffer.alloc(5_000))
    await users.remove(key)
  } catch (error) {
    await (error as { readonly commitError?: Promise<unknown> }).commitError?.catch(() => {})
  }
  await root.close()
}
