import { copyFile, open, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { limits } from "../../../src/Limits.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { checkDatabase, findDamage } from "../../../src/storage/lmdb/DatabaseCheck.ts"
import { dataFile, openWritable } from "../../../src/storage/lmdb/environment.ts"
import { runScan } from "../../../src/storage/lmdb/ScanProcesses.ts"
import { sumsKey } from "../../../src/storage/lmdb/Sums.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import type { Entry, Table } from "../../../src/storage/Storage.ts"
import { entries, withStore, written } from "../environments.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const put = (table: Table, n: number, bytes = 10): Entry => ({
  table,
  key: compositeKey(`key${n}`),
  value: encodeValue(Buffer.alloc(bytes, n)),
})

/** Turns every copy of a key into another one that has its place in the order. */
const rename = (folder: string) =>
  Effect.promise(async () => {
    const bytes = await readFile(dataFile(folder))
    const key = Buffer.from("key5\0")
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1))
      bytes[at + 3]! ^= 0x02
    await writeFile(dataFile(folder), bytes)
  })

/**
 * A database that was closed in order, in which a key has changed then; larger by a value of
 * `bytes`.
 */
const renamed = Effect.fnUntraced(function* (bytes: number) {
  const folder = yield* written([put("userIds", 1, bytes), put("userIds", 5), put("userIds", 8)])
  yield* rename(folder)
  return folder
})

const check = (folder: string, uncleanShutdown = false) =>
  checkDatabase(folder, uncleanShutdown, undefined)
const faultOf = (folder: string, uncleanShutdown = false) =>
  Effect.map(Effect.flip(check(folder, uncleanShutdown)), ({ message }) => message)

const otherEntries = "is damaged: table userIds has other entries than those that were written"

describe("The check of a database before it is opened", () => {
  it.live("reads all entries of a small database", () =>
    Effect.gen(function* () {
      expect(yield* faultOf(yield* renamed(10))).toContain(otherEntries)
    }),
  )

  it.live(
    "reads all entries of a large database only after an unclean shutdown, and logs that",
    () =>
      Effect.gen(function* () {
        const folder = yield* renamed(limits.databaseCheckedBytesMax)
        expect((yield* check(folder)).isWhole).toBe(false)
        expect(yield* faultOf(folder, true)).toContain(otherEntries)
        yield* Effect.promise(() => rm(path.join(folder, "closed")))
        expect(yield* faultOf(folder)).toContain(otherEntries)
      }),
  )

  it.live("reads all entries of a large database if its file is too short", () =>
    Effect.gen(function* () {
      const folder = yield* written([put("userIds", 1, limits.databaseCheckedBytesMax)])
      const { length } = yield* Effect.promise(async () => {
        const file = await open(dataFile(folder), "r+")
        const { size } = await file.stat()
        await file.truncate(size - 4_096)
        await file.close()
        return { length: size - 4_096 }
      })
      expect(length).toBeGreaterThan(limits.databaseCheckedBytesMax)
      const checked = yield* Effect.result(check(folder))
      expect(checked._tag === "Failure" || checked.success.isWhole).toBe(true)
    }),
  )

  it.live("computes the sums of a database that has none, once", () =>
    Effect.gen(function* () {
      const folder = yield* written([put("userIds", 1), put("meta", 2)])
      yield* Effect.promise(async () => {
        const root = openWritable(folder)
        await root.remove(sumsKey)
        await root.close()
        await rm(path.join(folder, "closed"))
      })
      const found = yield* check(folder)
      expect([found.isNew, found.sums.userIds?.count]).toEqual([true, 1])
      yield* withStore(folder, () => Effect.void)
      expect((yield* check(folder)).isNew).toBe(false)
    }),
  )

  it.live("finds damage in a database that lost its sums", () =>
    Effect.gen(function* () {
      for (const mark of ["closed", "in-use"]) {
        const folder = yield* written([put("userIds", 1)])
        yield* Effect.promise(async () => {
          const root = openWritable(folder)
          await root.remove(sumsKey)
          await root.close()
          if (mark === "closed") return
          await rm(path.join(folder, "closed"))
          await writeFile(path.join(folder, mark), "sums")
        })
        expect(yield* faultOf(folder)).toContain("the sums of its tables are missing")
      }
    }),
  )

  it.live("finds damage in a database that is older than its clean shutdown", () =>
    Effect.gen(function* () {
      const folder = yield* written([put("userIds", 1)])
      const older = yield* temporaryFolder
      yield* Effect.promise(() => copyFile(dataFile(folder), dataFile(older)))
      yield* withStore(folder, (store) => store.writeEntries([put("userIds", 2)]))
      yield* Effect.promise(() => copyFile(dataFile(older), dataFile(folder)))
      expect(yield* faultOf(folder)).toMatch(
        /it ends with transaction \d+, and was closed after \d+/,
      )
    }),
  )

  it.live("reports a file that cannot be read as an error of the opening", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.promise(() => symlink(dataFile(folder), dataFile(folder)))
      expect(yield* Effect.flip(check(folder))).toMatchObject({ _tag: "Broken", operation: "open" })
    }),
  )

  it.live("reports its progress up to the last entry", () =>
    Effect.gen(function* () {
      const folder = yield* written(entries(2_500, 10, "x"))
      const seen: Array<string> = []
      yield* checkDatabase(folder, true, (done, total) => seen.push(`${done} of ${total}`))
      expect(seen).toContain("2500 of 2500")
    }),
  )
})

describe("The marks beside a database", () => {
  it.live("distinguish an open database from a closed one", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const names = Effect.promise(async () => (await readdir(folder)).sort())
      const opening = ["opening.mdb", "opening.mdb-lock"]
      for (let run = 0; run < 2; run++) {
        yield* withStore(folder, () =>
          Effect.gen(function* () {
            expect(yield* names).toEqual(["data.mdb", "in-use", "lock.mdb", ...opening])
          }),
        )
        expect(yield* names).toEqual(["closed", "data.mdb", "lock.mdb", ...opening])
      }
    }),
  )
})

describe("A scan while another process writes", () => {
  it.live("finds the sums of the transaction that it reads", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* withStore(folder, (store) =>
        Effect.gen(function* () {
          yield* store.writeEntries(entries(5_000, 100, "x"))
          let writes = 0
          const writing = yield* Effect.forkChild(
            Effect.forever(
              Effect.suspend(() => {
                writes++
                return store.writeEntries([
                  put("userIds", writes % 500),
                  put("boards", writes % 50),
                ])
              }),
            ),
          )
          for (let scans = 0; scans < 3 || writes <= 10; scans++) {
            expect(yield* findDamage(folder)).toBeUndefined()
          }
          yield* Fiber.interrupt(writing)
        }),
      )
    }),
  )
})

describe("A scan process", () => {
  const children = async (): Promise<ReadonlyArray<string>> => {
    const tasks = await readdir("/proc/self/task")
    const lists = await Promise.all(
      tasks.map((task) => readFile(`/proc/self/task/${task}/children`, "utf8").catch(() => "")),
    )
    return lists.flatMap((list) => list.split(" ").filter((pid) => pid !== ""))
  }
  const scanners = async (): Promise<ReadonlyArray<string>> => {
    const pids = await children()
    const commands = await Promise.all(
      pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
    )
    return pids.filter((_, index) => commands[index]!.includes("scanProcess.ts"))
  }

  it.live.runIf(process.platform === "linux")("takes one database after the other", () =>
    Effect.gen(function* () {
      const folder = yield* written([put("userIds", 1)])
      const scan = runScan({ folder, whole: true })
      for (const outcome of [yield* scan, yield* scan, yield* scan]) {
        expect(outcome).toMatchObject({ entries: 1 })
      }
      // None, where the machine was so slow that it has ended.
      expect((yield* Effect.promise(scanners)).length).toBeLessThanOrEqual(1)
    }),
  )

  it.live("is not reused after damage", () =>
    Effect.gen(function* () {
      expect(yield* faultOf(yield* renamed(10))).toContain(otherEntries)
      expect((yield* check(yield* written([put("userIds", 1)]))).isWhole).toBe(true)
    }),
  )
})
