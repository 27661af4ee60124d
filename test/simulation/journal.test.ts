/**
 * The journal on a disk that loses power, or fails, at each of its calls: every acknowledged record
 * exists afterwards, and the records are a prefix of the written ones.
 */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { journalOn } from "../storage/journalOn.ts"
import { expectRecords, numbered } from "../storage/records.ts"
import { Random, seeds } from "./random.ts"
import { SimulatedDisk } from "./SimulatedDisk.ts"

const padding = "x".repeat(200)

interface Progress {
  /**
   * The last record that must exist, the last that may exist, and the first that must not be
   * pruned.
   */
  acknowledged: number
  attempted: number
  pruned: number
}

/** Opens the journal, checks it, appends, prunes and closes; ends early on an error. */
const run = (disk: SimulatedDisk, progress: Progress, random: Random) =>
  Effect.exit(
    Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* journalOn(disk)
        expect(journal.lastSequence).toBeGreaterThanOrEqual(progress.acknowledged)
        expect(journal.lastSequence).toBeLessThanOrEqual(progress.attempted)
        const first = Math.min(progress.pruned, journal.lastSequence)
        yield* expectRecords(journal, Math.max(1, first), journal.lastSequence, padding)
        progress.acknowledged = journal.lastSequence
        progress.attempted = journal.lastSequence
        for (let batches = 0; batches < 12; batches++) {
          const next = journal.lastSequence + 1
          const count = random.integer(1, 8)
          progress.attempted = next + count - 1
          yield* appendUntilSpace(journal, next, count)
          progress.acknowledged = progress.attempted
          // The next append begins a new segment, whether the last is full or not.
          if (random.chance(0.2)) yield* journal.prune(0, journal.lastSequence)
        }
        progress.pruned = progress.acknowledged - 10
        yield* journal.prune(progress.pruned)
      }),
    ),
  )

const appendUntilSpace = (
  journal: Effect.Success<ReturnType<typeof journalOn>>,
  first: number,
  count: number,
) =>
  Effect.retry(journal.append(numbered(first, count, padding)), {
    times: 3,
    while: (error) => error._tag === "Unavailable",
  })

/** Passes errors of the storage over, but not failed expectations. */
const expectNoDefect = (exit: Exit.Exit<void, unknown>) => {
  if (Exit.isFailure(exit)) {
    expect(exit.cause.reasons.filter(Cause.isDieReason).map((reason) => reason.defect)).toEqual([])
  }
}

const fresh = (): Progress => ({ acknowledged: 0, attempted: 0, pruned: 1 })

/** How many calls a run without faults makes. */
const callsOf = (seed: number) =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    expect(Exit.isSuccess(yield* run(disk, fresh(), new Random(seed)))).toBe(true)
    return disk.calls
  })

describe("the journal", () => {
  for (const seed of seeds(3)) {
    it.effect(`loses no acknowledged record when the power fails at any call (seed ${seed})`, () =>
      Effect.gen(function* () {
        const calls = yield* callsOf(seed)
        for (let call = 1; call <= calls; call++) {
          let disk = new SimulatedDisk()
          const progress = fresh()
          const random = new Random(seed)
          // The first power cut is at this call; another one interrupts the recovery.
          for (const at of [call, random.integer(1, calls), random.integer(1, 30)]) {
            disk.cutPowerAt(at)
            expectNoDefect(yield* run(disk, progress, random))
            const killed = random.chance(0.4)
            disk = killed ? disk.afterKill() : disk.afterPowerCut(random.integer(0, 2 ** 32))
          }
          const exit = yield* run(disk, progress, random)
          if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
        }
      }),
    )
  }

  for (const code of ["EIO", "ENOSPC"]) {
    it.effect(`loses no acknowledged record when any call fails with ${code}`, () =>
      Effect.gen(function* () {
        const seed = 1
        const calls = yield* callsOf(seed)
        for (let call = 1; call <= calls; call++) {
          for (const ending of ["kill", "power cut"]) {
            const disk = new SimulatedDisk()
            const progress = fresh()
            disk.failCall(call, code)
            expectNoDefect(yield* run(disk, progress, new Random(seed)))
            const left = ending === "kill" ? disk.afterKill() : disk.afterPowerCut(call)
            const exit = yield* run(left, progress, new Random(seed))
            if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
          }
        }
      }),
    )
  }
})
