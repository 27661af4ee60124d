/** Shared by the simulations of windows of leaderboards: times to begin at, an engine that can be killed in a snapshot, and payouts. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { EngineOptions } from "../../src/engine/EngineLive.ts"
import { decodeRecord } from "../../src/engine/records/Codec.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { type Fixture, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { type Stalling, stallingWrites } from "../storage/stalling.ts"
import { type Dying, dyingDisk } from "./dyingDisk.ts"
import { hashSecretOf } from "./random.ts"

const hour = 3_600_000

/** Shortly before a change of clocks, or the begin of a month. */
export const beginnings = ["2026-03-06T12:00:00Z", "2026-10-23T12:00:00Z", "2026-10-30T12:00:00Z"]

interface More {
  /** Makes the storage of the engine. */
  readonly over?: (storage: Storage["Service"]) => Storage["Service"]
  readonly options?: Partial<EngineOptions>
}

/** Few decoded users, and snapshots in small slices. */
const small = (seed: number): Partial<EngineOptions> => ({
  decodedUsersMax: 4,
  newHashSecret: hashSecretOf(seed),
  snapshotIntervalMs: 5 * hour,
  snapshotSliceEntriesMax: 3,
  clockCheckMs: 24 * hour,
})

/** Opens an engine over `state` with few decoded users and snapshots in small slices, which may stall. */
export const openStalling = (
  state: MemoryStorage.MemoryState,
  disk: Stalling,
  seed: number,
  { options, over = (storage) => storage }: More = {},
): ReturnType<typeof start> =>
  Effect.suspend(() => {
    disk.writesLeft = Number.POSITIVE_INFINITY
    const storage = over(stallingWrites(MemoryStorage.make({ state }), disk))
    return start(storage, { ...small(seed), ...options })
  })

/**
 * A storage over `state` that adds each record that becomes durable to `journal`: the journal of the state is
 * pruned, and records of erased users are deleted.
 */
export const overheard = (
  storage: Storage["Service"],
  state: MemoryStorage.MemoryState,
  journal: Array<JournalRecord>,
): Storage["Service"] => {
  const overhear = Effect.sync(() => {
    const last = journal.at(-1)?.sequence ?? 0
    const fresh = state.records.slice(Math.max(0, last + 1 - state.firstSequence))
    for (const { body } of fresh) journal.push(decodeRecord(body))
  })
  return { ...storage, append: (batch) => Effect.tap(storage.append(batch), overhear) }
}

/** Opens an engine over `state` whose disk may die at any append and at any write; `journal`: see `overheard`. */
export const openDying = (
  state: MemoryStorage.MemoryState,
  disk: Dying,
  seed: number,
  journal: Array<JournalRecord>,
): ReturnType<typeof start> =>
  Effect.suspend(() => {
    disk.appendsLeft = Number.POSITIVE_INFINITY
    disk.writesLeft = Number.POSITIVE_INFINITY
    const storage = overheard(MemoryStorage.make({ state }), state, journal)
    return start(dyingDisk(storage, disk), {
      ...small(seed),
      durability: "fsync",
      payoutGroupUsersMax: 2,
      payoutStepRows: 2,
      erasureGatherMs: 24 * hour,
      erasureCheckMs: hour,
    })
  })

/** Lets turns and time pass until all prizes are paid. */
export const settlePayouts = Effect.fnUntraced(function* ({ engine }: Fixture) {
  for (let turn = 0; turn < 10_000; turn++) {
    yield* yieldToEventLoop
    const { payouts } = yield* engine.readProject(sandbox)
    if (turn > 5 && payouts.size === 0) return
    if (turn > 5) yield* TestClock.adjust(1)
  }
  throw new Error("The payouts have not ended")
})
