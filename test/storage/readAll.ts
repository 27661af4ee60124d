/**
 * The process of a test: opens each environment that its input names, a folder a line, reads all of it by a walk and by
 * look-ups, rewrites and removes entries in many transactions, and reads all of it again. Prints a line per environment, in
 * the end: damage that ends the process leaves no line. A failed commit ends the process.
 */

import { createInterface } from "node:readline"
import { crc32 } from "node:zlib"
import { rangeOf } from "../../src/storage/Keys.ts"
import { dataFile, openTables, openWritable } from "../../src/storage/lmdb/environment.ts"
import { LmdbReader } from "../../src/storage/lmdb/LmdbReader.ts"
import { checkPages } from "../../src/storage/lmdb/PageCheck.ts"
import { encodeValue } from "../../src/storage/SealedValue.ts"
import { type Table, tables } from "../../src/storage/Storage.ts"

const transactions = 12
const pageBytes = 4_096

/** The entries as `table key` and a checksum of the value, which a look-up must find as well. */
const read = async (folder: string): Promise<Map<string, string>> => {
  const reader = new LmdbReader(folder)
  const found = new Map<string, string>()
  for (const table of tables) {
    for (const [key, value] of reader.entries({ table, ...rangeOf(new Uint8Array(0)) })) {
      const again = reader.get(table, key)
      const same = again !== undefined && Buffer.compare(again, value) === 0
      const bytes = crc32(value.subarray(0, -1))
      found.set(`${table} ${Buffer.from(key).toString("hex")}`, `${bytes}${same ? "" : " lost"}`)
    }
  }
  await reader.close()
  return found
}

/** Each transaction removes or replaces some of all entries, so that together they touch each page; updates `found`. */
const write = async (folder: string, found: Map<string, string>): Promise<void> => {
  const root = openWritable(folder)
  const opened = openTables(root)
  const names = [...found.keys()]
  for (let turn = 0; turn < transactions; turn++) {
    await root.transaction(() => {
      for (let n = turn; n < names.length; n += transactions) {
        const name = names[n]!
        const [table, hex] = name.split(" ") as [Table, string]
        const key = Buffer.from(hex, "hex")
        if (n % 5 < 2) {
          opened[table].remove(key)
          found.delete(name)
        } else {
          const value = encodeValue(Buffer.alloc(n % 7 === 0 ? 3 * pageBytes : n % 400, turn))
          opened[table].put(key, value)
          found.set(name, String(crc32(value.subarray(0, -1))))
        }
      }
    })
  }
  await root.close()
}

for await (const folder of createInterface({ input: process.stdin })) {
  const found = await read(folder)
  const before = [...found].map((entry) => entry.join(" "))
  await write(folder, found)
  checkPages(dataFile(folder), pageBytes, true, () => {})
  const after = await read(folder)
  const differs = [...found, ...after].filter(([name]) => found.get(name) !== after.get(name))
  console.log(JSON.stringify({ folder, found: before, differs }))
}
