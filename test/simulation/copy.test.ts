/**
 * The local copy of a journal in PostgreSQL, whose files are written without a flush, on a disk
 * that loses power at each of its calls while appends, flushes and marks are under way. Afterwards
 * every record before the last complete flush exists, and the next start cuts off the rest.
 */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Disk, DiskFile } from "../../src/storage/disk/Disk.ts"
import { openJournal } from "../../src/storage/journal/Journal.ts"
import { cutTornEnd } from "../../src/storage/postgres/Mirror.ts"
import { UnflushedDisk } from "../../src/storage/postgres/UnflushedDisk.ts"
import { folder } from "../storage/journalOn.ts"
import { expectRecords, numbered } from "../storage/records.ts"
import { Random, seeds } from "./random.ts"
import { SimulatedDisk } from "./SimulatedDisk.ts"

const padding = "x".repeat(200)
const directory = "/data"

/** Writes and flushes take time before and after the disk carries them out. */
const slow = (disk: Disk, random: Random): Disk => {
  const slowly = <A, E>(call: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      const pauses = [
        Effect.sleep(random.integer(0, 3)),
        Effect.sleep(random.integer(0, 3)),
      ] as const
      return Effect.tap(Effect.andThen(pauses[0], call), () => pauses[1])
    })
  const slowFile = (file: DiskFile): DiskFile => ({
    path: file.path,
    write: (position, pieces) => slowly(file.write(position, pieces)),
    read: (position, into) => file.read(position, into),
    sync: slowly(file.sync),
    truncate: (bytes) => file.truncate(bytes),
    size: file.size,
    close: file.close,
  })
  return {
    ...disk,
    open: (where, mode, options) => Effect.map(disk.open(where, mode, options), slowFile),
  }
}

/** The last record that a flush has made durable. */
interface Progress {
  flushed: number
}

const open = (disk: SimulatedDisk, random: Random) =>
  Effect.gen(function* () {
    // As at a start (`OpenCopy.ts`).
    yield* cutTornEnd(disk, directory)
    const { disk: unflushed, flush } = new UnflushedDisk(slow(disk, random))
    const options = { disk: unflushed, folder, segmentBytes: 4_096, freeSpaceBytesMin: 0, flush }
    return { flush, journal: yield* openJournal(options) }
  })

/** Appends while flushes and marks are under way; ends early on an error. */
const run = (disk: SimulatedDisk, progress: Progress, random: Random) =>
  ended(
    Effect.gen(function* () {
      const { flush, journal } = yield* open(disk, random)
      expect(journal.lastSequence).toBeGreaterThanOrEqual(progress.flushed)
      yield* expectRecords(journal, 1, journal.lastSequence, padding)
      const appends = Effect.gen(function* () {
        for (let batches = 0; batches < 12; batches++) {
          yield* journal.append(numbered(journal.lastSequence + 1, random.integer(1, 8), padding))
          if (random.chance(0.4)) yield* Effect.sleep(random.integer(0, 12))
          if (random.chance(0.2)) yield* journal.prune(0, journal.lastSequence)
        }
      })
      const flushes = Effect.gen(function* () {
        while (true) {
          const { lastSequence } = journal
          yield* flush
          progress.flushed = Math.max(progress.flushed, lastSequence)
          yield* Effect.sleep(random.integer(0, 6))
        }
      })
      const marks = Effect.gen(function* () {
        while (true) {
          yield* journal.markFlushed
          yield* Effect.sleep(random.integer(0, 6))
        }
      })
      yield* Effect.raceFirst(appends, Effect.raceFirst(flushes, marks))
      // Without appends, one more flush takes what the last ones missed.
      yield* flush
      progress.flushed = journal.lastSequence
      yield* journal.markFlushed
    }),
  )

/** Lets time pass until the fiber has ended. */
const ended = <E>(effect: Effect.Effect<void, E, Scope.Scope>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.scoped(effect), { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(1)
    return yield* Fiber.await(fiber)
  })

/** Passes errors of the storage over, but not failed expectations. */
const expectNoDefect = (exit: Exit.Exit<void, unknown>) => {
  if (Exit.isFailure(exit)) {
    expect(exit.cause.reasons.filter(Cause.isDieReason).map((reason) => reason.defect)).toEqual([])
  }
}

describe("the local copy of a journal", () => {
  for (const seed of seeds(2)) {
    it.effect(
      `has what was flushed when the power goes at any call, and opens (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const whole = new SimulatedDisk()
          const exit = yield* run(whole, { flushed: 0 }, new Random(seed))
          if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
          for (let call = 1; call <= whole.calls; call++) {
            let disk = new SimulatedDisk()
            const progress = { flushed: 0 }
            const random = new Random(seed)
            for (const at of [call, random.integer(1, 40)]) {
              disk.cutPowerAt(at)
              expectNoDefect(yield* run(disk, progress, random))
              disk = disk.afterPowerCut(random.integer(0, 2 ** 32))
            }
            const last = yield* run(disk, progress, random)
            if (Exit.isFailure(last)) throw Cause.squash(last.cause)
          }
        }),
    )
  }
})
