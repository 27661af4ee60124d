import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { findDamage } from "../../../src/storage/lmdb/DatabaseCheck.ts"
import { betweenCommits, OpeningLock } from "../../../src/storage/lmdb/OpeningLock.ts"
import { runScan } from "../../../src/storage/lmdb/ScanProcesses.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { withStore } from "../environments.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const entry = (n: number) => ({
  table: "userIds" as const,
  key: compositeKey(n),
  value: encodeValue(`${n}`),
})

/** The place of the kind of the write mutex in LMDB's lock file. */
const mutexKindAt = 80

/** A process that has the lock of `folder`. */
const holderOf = (folder: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<ChildProcess> => {
      const holder = fork(fileURLToPath(new URL("./lockHolder.ts", import.meta.url)), [folder])
      await once(holder, "message")
      return holder
    }),
    (holder) => Effect.sync(() => holder.kill("SIGKILL")),
  )

describe("The lock between commits and openings of a database", () => {
  it.live("delays an opening by another process, and is released when its holder is killed", () =>
    Effect.gen(function* () {
      const [folder, other] = [yield* temporaryFolder, yield* temporaryFolder]
      for (const each of [folder, other]) {
        yield* withStore(each, (store) => store.writeEntries([entry(1)]))
      }
      const holder = yield* holderOf(folder)
      const begun = yield* Deferred.make<void>()
      const opening = yield* Effect.forkChild(
        runScan({ folder, whole: true }, () => Deferred.doneUnsafe(begun, Effect.void)),
      )
      // The scan says so before it opens the database, and would be done before another one that
      // starts now.
      yield* Deferred.await(begun)
      expect(yield* runScan({ folder: other, whole: true })).toMatchObject({ entries: 1 })
      expect(opening.pollUnsafe()).toBeUndefined()
      holder.kill("SIGKILL")
      expect(yield* Fiber.join(opening)).toMatchObject({ entries: 1 })
      expect(betweenCommits(folder, () => "free")).toBe("free")
    }),
  )

  it.live("delays a commit while another process opens the database", () =>
    Effect.gen(function* () {
      const [folder, other] = [yield* temporaryFolder, yield* temporaryFolder]
      yield* withStore(folder, (store) =>
        Effect.gen(function* () {
          // The thread that writes runs from here on.
          yield* store.writeEntries([entry(1)])
          const holder = yield* holderOf(folder)
          const writing = yield* Effect.forkChild(store.writeEntries([entry(2)]))
          yield* withStore(other, (second) => second.writeEntries([entry(1)]))
          expect(writing.pollUnsafe()).toBeUndefined()
          expect(yield* store.readEntry("userIds", entry(2).key)).toBeUndefined()
          holder.kill("SIGKILL")
          yield* Fiber.join(writing)
          expect(yield* store.readEntry("userIds", entry(2).key)).toEqual(entry(2).value)
        }).pipe(Effect.scoped),
      )
    }),
  )

  it.live("is released after `run` has thrown", () =>
    Effect.gen(function* () {
      const lock = OpeningLock.open(yield* temporaryFolder)
      const failing = () => {
        throw new Error("refused")
      }
      expect(() => lock.hold(failing)).toThrow("refused")
      expect(lock.hold(() => 1)).toBe(1)
      yield* Effect.promise(() => lock.close())
    }),
  )

  it.live("reports that its mutex was destroyed, and works again after the next opening", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const before = OpeningLock.open(folder)
      // The kind of LMDB's write mutex, as `pthread_mutex_destroy` leaves it.
      const file = fs.openSync(path.join(folder, "opening.mdb-lock"), "r+")
      fs.writeSync(file, Buffer.alloc(4, 0xff), 0, 4, mutexKindAt)
      expect(() => before.hold(() => {})).toThrow("the lock of the database is destroyed")
      yield* Effect.promise(() => before.close())
      const after = OpeningLock.open(folder)
      expect(after.hold(() => 1)).toBe(1)
      yield* Effect.promise(() => after.close())
      fs.closeSync(file)
    }),
  )

  it.live("is created again if a full disk has cut its file", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* withStore(folder, (store) => store.writeEntries([entry(1)]))
      fs.truncateSync(path.join(folder, "opening.mdb"), 4_096)
      expect(yield* findDamage(folder)).toBeUndefined()
      yield* withStore(folder, (store) => store.writeEntries([entry(2)]))
      expect(yield* runScan({ folder, whole: true })).toMatchObject({ entries: 2 })
    }),
  )
})

/** The place of the number of the newest transaction in LMDB's lock file. */
const transactionAt = 8

describe("A transaction", () => {
  for (const behind of [1, 2, 3]) {
    it.live(
      `fails and undoes nothing if an opening without the lock has set LMDB back by ${behind}`,
      () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          yield* withStore(folder, (store) =>
            Effect.gen(function* () {
              for (let n = 0; n < 5; n++) yield* store.writeEntries([entry(n)])
              const lock = fs.openSync(path.join(folder, "lock.mdb"), "r+")
              const newest = Buffer.alloc(8)
              fs.readSync(lock, newest, 0, 8, transactionAt)
              newest.writeBigUInt64LE(newest.readBigUInt64LE() - BigInt(behind))
              fs.writeSync(lock, newest, 0, 8, transactionAt)
              const { message } = yield* Effect.flip(store.writeEntries([entry(5)]))
              expect(message).toMatch(/^Storage failed to write: transaction \d+ would undo/)
              fs.closeSync(lock)
            }),
          )
          expect(yield* runScan({ folder, whole: true })).toMatchObject({ entries: 5 })
        }),
    )
  }
})
