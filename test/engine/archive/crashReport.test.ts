/** The report of a server that a signal has ended, of all its data directories. */
import { spawnSync } from "node:child_process"
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { dataFile } from "../../../src/storage/lmdb/environment.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const program = fileURLToPath(
  new URL("../../../src/engine/archive/crashReport.ts", import.meta.url),
)

const reportOf = (directories: ReadonlyArray<string>): string =>
  spawnSync(process.execPath, [program, JSON.stringify(directories)], { encoding: "utf8" }).stderr

const value = encodeValue(Buffer.alloc(64, "value"))

const filled = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const folder = path.join(directory, "live")
  yield* Effect.promise(() => mkdir(folder))
  yield* Effect.scoped(
    Effect.flatMap(openLmdbStore({ folder, freeSpaceBytesMin: 0 }), ({ writeEntries }) =>
      writeEntries([{ table: "userIds", key: Buffer.from("key"), value }]),
    ),
  )
  return { directory, folder }
})

it.effect("names each damaged database among several, and passes by one that is not there", () =>
  Effect.gen(function* () {
    const [whole, torn, other] = [yield* filled, yield* filled, yield* filled]
    const missing = path.join(whole.directory, "partitions", "7")
    const directories = [torn.directory, whole.directory, missing, other.directory]
    expect(reportOf(directories)).toBe("")
    yield* Effect.promise(async () => {
      const bytes = await readFile(dataFile(other.folder))
      const at = bytes.indexOf(Buffer.from(value))
      expect(at).toBeGreaterThan(0)
      bytes[at + value.length - 1]! ^= 1
      await writeFile(dataFile(other.folder), bytes)
      // LMDB maps pages that are not there: the process that reads them ends, and the next one goes on.
      await truncate(dataFile(torn.folder), 2 * 4_096)
    })
    const report = reportOf(directories)
    expect(report).toContain(`The database ${dataFile(torn.folder)} is damaged`)
    expect(report).toContain(`The database ${dataFile(other.folder)} is damaged`)
    expect(report).not.toContain(whole.folder)
  }),
)
