import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { segmentName } from "../../../src/storage/journal/SegmentFormat.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"
import { expectRecords, numbered, recordsFrom } from "../records.ts"

const segmentsOn = (disk: SimulatedDisk) =>
  [...disk.files(folder).keys()].filter((name) => /^\d/.test(name)).sort()

describe("segments", () => {
  it.effect("are consecutive, and a read finds every record in each of them", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const counts = Array.from({ length: 60 }, (_, index) => 1 + (index % 5))
      const journal = yield* journalOn(disk)
      const last = yield* appendBatches(journal, counts, "x".repeat(100))
      expect(segmentsOn(disk).length).toBeGreaterThan(4)
      for (let from = 1; from <= last; from += 7) {
        yield* expectRecords(journal, from, last, "x".repeat(100))
      }
      const reopened = yield* journalOn(disk.afterKill())
      expect(reopened.lastSequence).toBe(last)
      yield* expectRecords(reopened, 1, last, "x".repeat(100))
    }),
  )

  it.effect("cost one write and one flush per append while a segment is filled", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk, 1 << 20)
      yield* appendBatches(journal, [1])
      const before = disk.log.length
      yield* appendBatches(journal, [1, 1, 1])
      const operations = disk.log.slice(before).map((line) => line.split(" ")[0])
      expect(operations).toEqual(["write", "sync", "write", "sync", "write", "sync"])
    }),
  )

  it.effect("report how long the disk took for each flushed batch, and for no other", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const flushes: Array<number> = []
      const journal = yield* openJournal({
        disk,
        folder,
        segmentBytes: 1 << 20,
        freeSpaceBytesMin: 0,
        onFlushed: (durationMs) => flushes.push(durationMs),
      })
      yield* appendBatches(journal, [1, 5])
      expect(flushes).toHaveLength(2)
      for (const durationMs of flushes) expect(durationMs).toBeGreaterThanOrEqual(0)
      disk.capacityBytes = 0
      yield* Effect.flip(journal.append(numbered(7, 2, "x".repeat(1 << 19))))
      expect(flushes).toHaveLength(2)
    }),
  )

  it.effect("accept a batch that just fits, and refuse a larger one", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk)
      const overhead = 28 + 28 + numbered(1, 1).frames.length
      yield* journal.append(numbered(1, 1, "x".repeat(4_096 - overhead)))
      const error = yield* Effect.flip(journal.append(numbered(2, 1, "x".repeat(4_097 - overhead))))
      expect(String(error)).toContain("Broken")
      yield* journal.append(numbered(2, 1))
      expect(disk.files(folder).get(segmentName(1))?.length).toBe(4_096)
    }),
  )

  it.effect("take no more batches after a record that is old enough, and are removed later", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk, 1 << 20)
      yield* appendBatches(journal, [3, 3])
      yield* journal.prune(0, 0)
      yield* appendBatches(journal, [1])
      expect(segmentsOn(disk)).toEqual([segmentName(1)])
      yield* journal.prune(0, 1)
      expect(segmentsOn(disk)).toEqual([segmentName(1)])
      yield* appendBatches(journal, [2, 2])
      expect(segmentsOn(disk)).toEqual([segmentName(1), segmentName(8)])
      yield* journal.prune(8, 7)
      expect(segmentsOn(disk)).toEqual([segmentName(8)])
      yield* appendBatches(journal, [1])
      expect(segmentsOn(disk)).toEqual([segmentName(8)])
      const reopened = yield* journalOn(disk.afterKill(), 1 << 20)
      yield* expectRecords(reopened, 8, 12)
    }),
  )

  it.effect("need free space for a batch and the zeros after it, and no more", () =>
    Effect.gen(function* () {
      const step = limits.journalAllocationBytes
      const [least, head] = [1_000, numbered(1, 1)]
      const batch = numbered(2, 1, "x".repeat(step))
      for (const missing of [0, 1]) {
        let free = Number.POSITIVE_INFINITY
        const disk = Object.assign(new SimulatedDisk(), {
          freeBytes: () => Effect.sync(() => free),
        })
        const journal = yield* journalOn(disk, 8 * step, least)
        yield* journal.append(head)
        free = least + 28 + batch.frames.length + step - missing
        const appended = yield* Effect.exit(journal.append(batch))
        expect(Exit.isSuccess(appended)).toBe(missing === 0)
      }
    }),
  )

  it.effect("take batches beyond their end while there is no space for the next segment", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk, 1 << 20)
      yield* appendBatches(journal, [3])
      yield* journal.prune(0, 3)
      const { capacityBytes } = disk
      disk.capacityBytes = [...disk.files(folder).values()].reduce(
        (all, { length }) => all + length,
        0,
      )
      yield* appendBatches(journal, [2])
      expect(segmentsOn(disk)).toEqual([segmentName(1)])
      disk.capacityBytes = capacityBytes
      yield* appendBatches(journal, [2])
      expect(segmentsOn(disk)).toEqual([segmentName(1), segmentName(6)])
      const reopened = yield* journalOn(disk.afterKill(), 1 << 20)
      yield* expectRecords(reopened, 1, 7)
    }),
  )

  it.effect(
    "are removed when all their records are below the pruned sequence, but never the newest",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const journal = yield* journalOn(disk)
        const last = yield* appendBatches(journal, Array(30).fill(1), "x".repeat(700))
        const names = segmentsOn(disk)
        const third = Number(names[2]!.slice(0, 20))
        yield* journal.prune(third - 1)
        expect(segmentsOn(disk)).toEqual(names.slice(1))
        yield* journal.prune(third)
        expect(segmentsOn(disk)).toEqual(names.slice(2))
        yield* journal.prune(last + 1)
        expect(segmentsOn(disk)).toEqual(names.slice(-1))
        const reopened = yield* journalOn(disk.afterKill())
        expect(reopened.lastSequence).toBe(last)
        yield* expectRecords(reopened, last, last, "x".repeat(700))
        const gone = yield* Effect.flip(recordsFrom(reopened, 1))
        expect(String(gone.cause)).toContain("1 is gone")
      }),
  )

  it.effect("are not closed before the next segment has a durable record", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk)
      yield* appendBatches(journal, Array(5).fill(1), "x".repeat(700))
      // The sixth opens the next segment, and finds no space there.
      disk.failCall(disk.calls > 0 ? 4 : 0, "ENOSPC")
      yield* Effect.exit(journal.append(numbered(6, 1, "x".repeat(700))))
      yield* journal.prune(6)
      const reopened = yield* journalOn(disk.afterKill())
      expect(reopened.lastSequence).toBe(5)
    }),
  )
})

describe("a full disk", () => {
  it.effect("refuses a batch, and accepts the same batch when there is space", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk)
      yield* appendBatches(journal, [3], "x".repeat(300))
      disk.capacityBytes = 8_192
      let last = journal.lastSequence
      while (true) {
        const batch = numbered(last + 1, 2, "x".repeat(300))
        const exit = yield* Effect.exit(journal.append(batch))
        if (Exit.isFailure(exit)) {
          expect(Cause.squash(exit.cause)).toMatchObject({ _tag: "Unavailable" })
          break
        }
        last += 2
      }
      yield* expectRecords(journal, 1, last, "x".repeat(300))
      const error = yield* Effect.flip(journal.append(numbered(last + 1, 2, "x".repeat(300))))
      expect(error._tag).toBe("Unavailable")
      disk.capacityBytes = Number.POSITIVE_INFINITY
      yield* journal.append(numbered(last + 1, 2, "x".repeat(300)))
      yield* expectRecords(journal, 1, last + 2, "x".repeat(300))
      const reopened = yield* journalOn(disk.afterKill())
      yield* expectRecords(reopened, 1, last + 2, "x".repeat(300))
    }),
  )

  it.effect(
    "leaves no open file and no partial file when a start cannot prepare the next segment",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        yield* Effect.scoped(
          Effect.flatMap(journalOn(disk), (journal) => appendBatches(journal, [3])),
        )
        expect(disk.openFiles).toBe(0)
        const [segment] = disk.files(folder).values()
        disk.capacityBytes = segment!.length + 1_000
        yield* Effect.scoped(journalOn(disk))
        expect(disk.openFiles).toBe(0)
        expect([...disk.files(folder).keys()].sort()).toEqual([segmentName(1), "clean"])
        const reopened = yield* journalOn(disk)
        expect([reopened.lastSequence, reopened.wasClosed]).toEqual([3, true])
      }),
  )

  it.effect("is noticed while the reserve for the operator is free", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      disk.capacityBytes = 100_000
      const journal = yield* journalOn(disk, 4_096, 50_000)
      let error: unknown
      while (error === undefined) {
        const exit = yield* Effect.exit(
          journal.append(numbered(journal.lastSequence + 1, 1, "x".repeat(500))),
        )
        if (Exit.isFailure(exit)) error = Cause.squash(exit.cause)
      }
      expect(error).toMatchObject({ _tag: "Unavailable" })
      expect(yield* disk.freeBytes(folder)).toBeGreaterThan(40_000)
      yield* journal.prune(journal.lastSequence)
      yield* journal.append(numbered(journal.lastSequence + 1, 1))
    }),
  )

  it.effect(
    "that the flush finds is handled the same: the same batch succeeds when there is space",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const journal = yield* journalOn(disk)
        yield* appendBatches(journal, [1])
        disk.failCall(2, "ENOSPC")
        const error = yield* Effect.flip(journal.append(numbered(2, 1)))
        expect(disk.log.at(-2)).toContain("sync")
        expect(error._tag).toBe("Unavailable")
        yield* journal.append(numbered(2, 1))
        for (let seed = 1; seed <= 20; seed++) {
          const reopened = yield* journalOn(disk.afterPowerCut(seed))
          yield* expectRecords(reopened, 1, 2)
        }
      }),
  )
})

describe("an unknown outcome", () => {
  it.effect("of a flush breaks the journal forever, and nothing is flushed again", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk)
      yield* appendBatches(journal, [1])
      disk.failCall(2, "EIO")
      const first = yield* Effect.flip(journal.append(numbered(2, 1)))
      expect(disk.log.at(-1)).toContain("sync")
      const calls = disk.calls
      const second = yield* Effect.flip(journal.append(numbered(2, 1)))
      expect([first._tag, second._tag]).toEqual(["Broken", "Broken"])
      expect(disk.calls).toBe(calls)
      expect(journal.lastSequence).toBe(1)
      yield* expectRecords(journal, 1, 1)
    }),
  )

  it.effect(
    "is assumed when the disk does not answer in time, even to a caller that waits uninterruptibly",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const scope = yield* Scope.make()
        const journal = yield* Scope.provide(journalOn(disk), scope)
        yield* appendBatches(journal, [1])
        disk.hang("sync")
        const append = yield* Effect.forkChild(
          Effect.uninterruptible(Effect.flip(journal.append(numbered(2, 1)))),
          { startImmediately: true },
        )
        yield* TestClock.adjust(limits.commitDeadlineMs)
        const error = yield* Fiber.join(append)
        expect(error._tag).toBe("Broken")
        expect(String((error as { cause?: unknown }).cause)).toContain("no answer from the disk")
        expect(journal.lastSequence).toBe(1)
        // Closing waits for the hanging append, but no longer than an append may take.
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), {
          startImmediately: true,
        })
        yield* TestClock.adjust(limits.commitDeadlineMs)
        yield* Fiber.join(closing)
        expect([...disk.files(folder).keys()]).not.toContain("clean")
      }),
  )

  it.effect("does not follow from a slow disk", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk)
      disk.callMs = 2_000
      const append = yield* Effect.forkChild(journal.append(numbered(1, 1)), {
        startImmediately: true,
      })
      yield* TestClock.adjust(limits.commitDeadlineMs - 1)
      yield* Fiber.join(append)
      disk.callMs = 0
      yield* expectRecords(journal, 1, 1)
    }),
  )
})
