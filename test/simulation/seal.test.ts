/**
 * A journal whose segments are sealed and erased from, on a disk that loses power or fails at each
 * of its calls. Afterwards every acknowledged record exists, erased records stay erased, every other
 * record is as it was written, and the batches have the checksums that they had.
 */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { scanJournal } from "../../src/storage/journal/JournalScan.ts"
import { folder, journalOn } from "../storage/journalOn.ts"
import { expectNumbered, numbered, previousOf, recordsFrom } from "../storage/records.ts"
import { Random, seeds } from "./random.ts"
import { SimulatedDisk } from "./SimulatedDisk.ts"

const padding = "x".repeat(200)

interface Progress {
  /** The last record that must exist, and the last that may exist. */
  acknowledged: number
  attempted: number
  /** The records that must be erased, and those that may be. */
  readonly erased: Set<number>
  readonly erasing: Set<number>
  /** The checksum of the batch that ends with a record. */
  readonly checksums: Map<number, number>
}

const fresh = (): Progress => ({
  acknowledged: 0,
  attempted: 0,
  erased: new Set(),
  erasing: new Set(),
  checksums: new Map(),
})

type Journal = Effect.Success<ReturnType<typeof journalOn>>

/** The journal has what it must have. */
const check = Effect.fnUntraced(function* (journal: Journal, disk: SimulatedDisk, to: Progress) {
  expect(journal.lastSequence).toBeGreaterThanOrEqual(to.acknowledged)
  expect(journal.lastSequence).toBeLessThanOrEqual(to.attempted)
  const records = yield* recordsFrom(journal, 1)
  expect(records.length).toBe(journal.lastSequence)
  for (const record of records) {
    const { body, sequence } = record
    const isErased = body.length === 0
    if (!isErased) expectNumbered(record, sequence, padding)
    expect(record.previous).toBe(previousOf(sequence))
    expect(isErased).toBe(isErased ? to.erasing.has(sequence) : to.erased.has(sequence))
    expect((yield* journal.readRecord(sequence))?.body).toEqual(Uint8Array.from(body))
  }
  yield* scanJournal({ disk, folder }, (batches) =>
    Effect.sync(() => {
      for (const { checksum, count, firstSequence } of batches) {
        const last = firstSequence + count - 1
        const known = to.checksums.get(last)
        if (known !== undefined) expect(checksum).toBe(known)
        to.checksums.set(last, checksum)
      }
    }),
  )
})

/** Opens the journal, checks it, appends, seals, erases and closes; ends early on an error. */
const run = (disk: SimulatedDisk, progress: Progress, random: Random) =>
  Effect.exit(
    Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* journalOn(disk)
        yield* check(journal, disk, progress)
        progress.acknowledged = journal.lastSequence
        progress.attempted = journal.lastSequence
        for (let segments = 0; segments < 2; segments++) {
          const next = journal.lastSequence + 1
          const count = random.integer(2, 8)
          progress.attempted = next + count - 1
          yield* journal.append(numbered(next, count, padding))
          progress.acknowledged = progress.attempted
          // The next append begins a new segment.
          yield* journal.prune(0, journal.lastSequence)
        }
        yield* Effect.repeat(journal.sealer.sealNext, { while: (isMore) => isMore })
        const last = journal.lastSequence
        const first = random.integer(1, last)
        const sequences = [first, random.integer(first, last)]
        for (const sequence of sequences) progress.erasing.add(sequence)
        const done = yield* journal.sealer.erase(sequences)
        for (const sequence of sequences) {
          if (done !== undefined && sequence <= done.lastSequence) progress.erased.add(sequence)
        }
        yield* check(journal, disk, progress)
      }),
    ),
  )

/** Passes errors of the storage over, but not failed expectations. */
const expectNoDefect = (exit: Exit.Exit<void, unknown>) => {
  if (Exit.isFailure(exit)) {
    expect(exit.cause.reasons.filter(Cause.isDieReason).map((reason) => reason.defect)).toEqual([])
  }
}

const callsOf = (seed: number) =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    const exit = yield* run(disk, fresh(), new Random(seed))
    if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
    return disk.calls
  })

describe("sealed segments", () => {
  for (const seed of seeds(2)) {
    it.effect(`keep every record when the power fails at any call (seed ${seed})`, () =>
      Effect.gen(function* () {
        const calls = yield* callsOf(seed)
        for (let call = 1; call <= calls; call++) {
          let disk = new SimulatedDisk()
          const progress = fresh()
          const random = new Random(seed)
          for (const at of [call, random.integer(1, 2 * calls), random.integer(1, 30)]) {
            disk.cutPowerAt(at)
            expectNoDefect(yield* run(disk, progress, random))
            disk = random.chance(0.4)
              ? disk.afterKill()
              : disk.afterPowerCut(random.integer(0, 2 ** 32))
          }
          const exit = yield* run(disk, progress, random)
          if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
        }
      }),
    )
  }

  for (const code of ["EIO", "ENOSPC"]) {
    it.effect(`keep every record when any call fails with ${code}`, () =>
      Effect.gen(function* () {
        const calls = yield* callsOf(1)
        for (let call = 1; call <= calls; call++) {
          const disk = new SimulatedDisk()
          const progress = fresh()
          const random = new Random(1)
          disk.failCall(call, code)
          expectNoDefect(yield* run(disk, progress, random))
          const left = call % 2 === 0 ? disk.afterKill() : disk.afterPowerCut(call)
          const exit = yield* run(left, progress, random)
          if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
        }
      }),
    )
  }
})
