/** A disk in memory that is full on demand, and whose flushes can be held. */
import { Effect, Latch } from "effect"
import { Unavailable } from "../../../src/storage/Storage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

export interface FillableDisk {
  readonly state: MemoryStorage.MemoryState
  readonly onAppend: () => Effect.Effect<void, Unavailable>
  /** While it is so, an append fails for want of space. */
  full: boolean
  /** While it is closed, an append waits, and finds space or none then. */
  readonly answers: Latch.Latch
  /** Ends when an append has failed for want of space. */
  readonly refused: Effect.Effect<void>
  /** Ends when an append has come. */
  readonly appended: Effect.Effect<void>
}

export const makeFillableDisk: Effect.Effect<FillableDisk> = Effect.gen(function* () {
  const refused = yield* Latch.make(false)
  const answers = yield* Latch.make(true)
  const appended = yield* Latch.make(false)
  const disk: FillableDisk = {
    state: new MemoryStorage.MemoryState(),
    full: false,
    answers,
    refused: Latch.await(refused),
    appended: Effect.andThen(Latch.await(appended), Latch.close(appended)),
    onAppend: () =>
      Effect.gen(function* () {
        yield* Latch.open(appended)
        yield* Latch.await(answers)
        if (!disk.full) return
        yield* Latch.open(refused)
        return yield* new Unavailable({ operation: "append", reason: "disk_full" })
      }),
  }
  return disk
})
