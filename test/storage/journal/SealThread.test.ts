import path from "node:path"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { limits } from "../../../src/Limits.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { workInThread, workInThreadOf } from "../../../src/storage/journal/SealThread.ts"
import { FakeWorker } from "../FakeWorker.ts"
import { appendBatches } from "../journalOn.ts"
import { expectEach, expectRecords } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

describe("The thread that seals segments", () => {
  it.live("seals, checks and erases on the real disk, and tells faults and failures", () =>
    Effect.gen(function* () {
      const folder = path.join(yield* temporaryFolder, "journal")
      const options = { disk: nodeDisk, folder, segmentBytes: 100_000, freeSpaceBytesMin: 0 }
      const journal = yield* openJournal({ ...options, workOnSegment: workInThread })
      const padding = "x".repeat(9_000)
      const last = yield* appendBatches(journal, [3, 4, 5, 6, 7], padding)
      expect(yield* journal.sealer.sealNext).toBe(true)
      expect(journal.sealer.sealed).toEqual([1])
      yield* expectRecords(journal, 1, last, padding)
      yield* journal.sealer.verify(1)
      expect(yield* journal.sealer.erase([2])).toMatchObject({ lastSequence: 7 })
      expect((yield* journal.readRecord(2))?.body.length).toBe(0)
      yield* expectEach(journal, 3, last, padding)
      const work = { kind: "verify", folder } as const
      const missing = yield* Effect.flip(workInThread({ ...work, firstSequence: 2 }))
      expect(missing).toMatchObject({ _tag: "DiskError", code: "ENOENT" })
      const file = yield* nodeDisk.open(path.join(folder, `${"0".repeat(19)}1.sealed`), "write")
      yield* file.write(60, [Buffer.from("?")])
      yield* file.close
      const fault = yield* Effect.flip(workInThread({ ...work, firstSequence: 1 }))
      expect(fault._tag).toBe("SealedFault")
      expect(fault.message).toContain("is damaged")
    }),
  )

  it.live("ends sealThreadIdleMs after its last work, not before", () =>
    Effect.gen(function* () {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.useRealTimers()))
      const workers: Array<FakeWorker> = []
      const doWork = workInThreadOf(FakeWorker.starting(workers))
      const work = { kind: "verify", folder: "/data/journal", firstSequence: 1 } as const
      const end = { lastSequence: 3, checksum: 0 }
      for (const pauseMs of [limits.sealThreadIdleMs - 1, limits.sealThreadIdleMs - 1, 0]) {
        const fiber = yield* Effect.forkChild(doWork(work), { startImmediately: true })
        workers[0]!.answerAll({ kind: "done", end })
        expect(yield* Fiber.join(fiber)).toEqual(end)
        vi.advanceTimersByTime(pauseMs)
      }
      expect(workers).toHaveLength(1)
      expect(workers[0]!.isEnded).toBe(false)
      vi.advanceTimersByTime(limits.sealThreadIdleMs)
      expect(workers[0]!.isEnded).toBe(true)
    }),
  )
})
