import { Worker } from "node:worker_threads"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { EntrySlice } from "../../../src/storage/EntryBlock.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { openTables, openWritable } from "../../../src/storage/lmdb/environment.ts"
import type { Sums } from "../../../src/storage/lmdb/Sums.ts"
import type { WriteSettings } from "../../../src/storage/lmdb/WriteThread.ts"
import { startWriteWorker, WriteThread } from "../../../src/storage/lmdb/WriteThread.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const slice = (...numbers: ReadonlyArray<number>) =>
  EntrySlice.of(
    numbers.map((n) => ({
      table: "userIds" as const,
      key: compositeKey(n),
      value: encodeValue(`${n}`),
    })),
  )

describe("The thread that writes LMDB", () => {
  it.live(
    "writes entries that the event loop reads at once, also after an idle time, and ends with `close`",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* Effect.promise(async () => {
          const root = openWritable(folder)
          const { userIds: users } = openTables(root)
          const ended: Array<Promise<unknown>> = []
          const start = (settings: WriteSettings) => {
            const worker = startWriteWorker(settings)
            ended.push(new Promise((resolve) => worker.once("exit", resolve)))
            return worker
          }
          const thread = new WriteThread({ folder, mapBytes: undefined, sums: {} }, start, 1)
          for (let n = 0; n < 5; n++) {
            // A write after the end of an idle thread; others may come while it ends.
            if (n === 3) await ended.at(-1)
            expect(users.get(compositeKey(n))).toBeUndefined()
            expect(await thread.write(slice(n))).toMatchObject({
              sums: { userIds: { count: n + 1 } },
            })
            root.resetReadTxn()
            expect(users.get(compositeKey(n))).toEqual(encodeValue(`${n}`))
          }
          await thread.close()
          await thread.close()
          await Promise.all(ended)
          await root.close()
        })
      }),
  )

  it.live("does not start if nothing is written", () =>
    Effect.promise(async () => {
      let started = 0
      const thread = new WriteThread({ folder: "/none", mapBytes: undefined, sums: {} }, () => {
        started++
        return new Worker("", { eval: true })
      })
      await thread.close()
      expect(started).toBe(0)
    }),
  )

  it.live("starts once, with `start` or with the first write", () =>
    Effect.promise(async () => {
      for (const early of [true, false]) {
        let started = 0
        const thread = new WriteThread({ folder: "/none", mapBytes: undefined, sums: {} }, () => {
          started++
          const answer = `const { parentPort: port } = require("node:worker_threads")
            port.on("message", (order) => order === "close" ? port.close() : port.postMessage([order[0], { sums: {} }]))`
          return new Worker(answer, { eval: true })
        })
        if (early) {
          thread.start()
          thread.start()
        }
        expect(started).toBe(early ? 1 : 0)
        expect(await thread.write(slice(1))).toEqual({ sums: {} })
        thread.start()
        expect(started).toBe(1)
        await thread.close()
      }
    }),
  )

  it.live("ends after an idle time, and starts again with the sums of the last write", () =>
    Effect.promise(async () => {
      const given: Array<Sums> = []
      const ended: Array<Promise<unknown>> = []
      const answer = `const { parentPort: port, workerData } = require("node:worker_threads")
        let { count } = workerData.sums.userIds
        const write = ([number]) => port.postMessage([number, { sums: { userIds: { count: ++count, sum: 0 } } }])
        port.on("message", (order) => order === "close" ? port.close() : write(order))`
      const thread = new WriteThread(
        { folder: "/none", mapBytes: undefined, sums: { userIds: { count: 0, sum: 0 } } },
        (workerData) => {
          given.push(workerData.sums)
          const worker = new Worker(answer, { eval: true, workerData })
          ended.push(new Promise((resolve) => worker.once("exit", resolve)))
          return worker
        },
        1,
      )
      for (let round = 1; round <= 5; round++) {
        expect(await thread.write(slice(1))).toEqual({
          sums: { userIds: { count: round, sum: 0 } },
        })
        // Every second write may come while the thread ends.
        if (round % 2 === 0) await ended.at(-1)
      }
      expect(given.length).toBeGreaterThanOrEqual(3)
      expect(given[0]).toEqual({ userIds: { count: 0, sum: 0 } })
      await thread.close()
      await Promise.all(ended)
    }),
  )

  for (const [name, code] of [
    ["crashes", `throw new Error("it crashed")`],
    ["exits", "process.exit(3)"],
  ] as const) {
    it.live(`fails the write under way and all later ones when it ${name}`, () =>
      Effect.promise(async () => {
        const thread = new WriteThread(
          { folder: "/none", mapBytes: undefined, sums: {} },
          () =>
            new Worker(
              `require("node:worker_threads").parentPort.on("message", () => { ${code} })`,
              {
                eval: true,
              },
            ),
        )
        const words = name === "crashes" ? "it crashed" : "exited with 3"
        await expect(thread.write(slice(1))).rejects.toThrow(words)
        await expect(thread.write(slice(2))).rejects.toThrow(words)
        await thread.close()
      }),
    )
  }
})
