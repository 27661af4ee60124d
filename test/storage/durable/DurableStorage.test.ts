import { spawn } from "node:child_process"
import { once } from "node:events"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { limits } from "../../../src/Limits.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { WriteThread } from "../../../src/storage/lmdb/WriteThread.ts"
import { storageContract } from "../contract.ts"
import { appendAll, expectRecords } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

storageContract(
  "DurableStorage",
  Effect.map(temporaryFolder, (directory) => ({ open: DurableStorage.make({ directory }) })),
)

storageContract(
  "DurableStorage with small segments",
  Effect.map(temporaryFolder, (directory) => ({
    open: DurableStorage.make({ directory, segmentBytes: 200_000 }),
  })),
)

describe("a journal of many pieces", () => {
  it.live("is verified and read completely wherever the pieces cut its batches", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const padding = "x".repeat(30_000)
      const open = DurableStorage.make({ directory, segmentBytes: 5_000_000 })
      const counts = [10, 1, 60, 3, 100, 7, 33, 34, 35, 36, 1]
      const last = yield* Effect.scoped(
        Effect.flatMap(open, (store) => appendAll(store, counts, padding)),
      )
      const store = yield* open
      expect(store.lastSequence).toBe(last)
      for (const from of [1, 12, 71, 150, last]) yield* expectRecords(store, from, last, padding)
    }),
  )
})

const locker = path.join(import.meta.dirname, "holdDirectory.ts")

/** A process that holds the data directory, once it says so. */
const otherProcess = (directory: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [locker, directory], {
        stdio: ["pipe", "pipe", "inherit"],
      })
      const exited = once(child, "exit").then(([code]) => {
        throw new Error(`the other process ended with ${code}`)
      })
      await Promise.race([once(child.stdout, "data"), exited])
      exited.catch(() => {})
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL")),
  )

describe("the lock of a data directory", () => {
  it.live("excludes a second storage of the same process until the first is closed", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const open = DurableStorage.make({ directory })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* open
          yield* appendAll(first, [1])
          const error = yield* Effect.flip(Effect.scoped(open))
          expect(error.operation).toBe("lock")
          expect(String(error.cause)).toContain(`${directory} is in use by another process`)
          yield* expectRecords(first, 1, 1)
        }),
      )
      expect((yield* open).lastSequence).toBe(1)
    }),
  )

  it.live("excludes a second process, and ends with a killed process", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const child = yield* otherProcess(directory)
      const error = yield* Effect.flip(Effect.scoped(DurableStorage.make({ directory })))
      expect(error.operation).toBe("lock")
      const gone = once(child, "exit")
      child.kill("SIGKILL")
      yield* Effect.promise(() => gone)
      const store = yield* DurableStorage.make({ directory })
      yield* expectRecords(store, 1, 3)
    }),
  )
})

describe("The upkeep of sealed segments", () => {
  const inBackground = <A>(upkeep: Effect.Effect<A>) =>
    Effect.forkScoped(upkeep, { startImmediately: true })

  it.effect("looks for a full segment every sealIntervalMs, also after a failure", () =>
    Effect.gen(function* () {
      let looks = 0
      const sealNext = Effect.suspend(() =>
        ++looks === 2 ? Effect.die(new Error("not sealed")) : Effect.succeed(false),
      )
      yield* inBackground(DurableStorage.keepSealed({ sealNext }))
      for (const expected of [1, 2, 3]) {
        yield* TestClock.adjust(limits.sealIntervalMs - 1)
        expect(looks).toBe(expected)
        yield* TestClock.adjust(1)
        expect(looks).toBe(expected + 1)
      }
    }),
  )

  it.effect("checks each segment once in scrubIntervalMs", () =>
    Effect.gen(function* () {
      const sealed = [1, 5, 9, 13]
      const checked: Array<number> = []
      const verify = (first: number) => Effect.sync(() => void checked.push(first))
      yield* inBackground(DurableStorage.scrub({ sealed, verify }))
      for (let done = 0; done < sealed.length; done++) {
        yield* TestClock.adjust(limits.scrubIntervalMs / sealed.length - 1)
        expect(checked).toHaveLength(done)
        yield* TestClock.adjust(1)
        expect(checked).toHaveLength(done + 1)
      }
      expect(checked.toSorted((one, other) => one - other)).toEqual(sealed)
    }),
  )
})

describe("The thread that writes LMDB", () => {
  it.live("starts with the first record, before the first write of entries", () =>
    Effect.gen(function* () {
      const start = vi.spyOn(WriteThread.prototype, "start")
      yield* Effect.addFinalizer(() => Effect.sync(() => start.mockRestore()))
      const store = yield* DurableStorage.make({ directory: yield* temporaryFolder })
      yield* store.readEntry("userIds", Buffer.from("x"))
      expect(start).not.toHaveBeenCalled()
      yield* appendAll(store, [1])
      expect(start).toHaveBeenCalled()
    }),
  )
})
