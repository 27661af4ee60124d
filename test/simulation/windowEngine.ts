/** Shared by the simulations of windows of leaderboards: times to begin at, an engine whose snapshots are in trouble, and payouts. */
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { EngineOptions } from "../../src/engine/EngineLive.ts"
import { decodeRecord } from "../../src/engine/records/Codec.ts"
import { type Storage, Unavailable } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { type Fixture, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { type Stalling, stallingWrites } from "../storage/stalling.ts"
import { type Dying, dyingDisk } from "./dyingDisk.ts"
import { hashSecretOf, type Random } from "./random.ts"

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

/** What becomes of writes of entries: they never end, wait, or are refused for lack of space. */
type Trouble = "stall" | "wait" | "full"

/** A disk whose writes of entries come into trouble after some more. */
export class SnapshotDisk {
  #left = Number.POSITIVE_INFINITY
  #trouble: Trouble = "stall"
  readonly #goesOn = Latch.makeUnsafe(true)

  /** The storage on this disk, which has no trouble yet. */
  readonly over = (storage: Storage["Service"]): Storage["Service"] => {
    this.recovers()
    const writeEntries: (typeof storage)["writeEntries"] = (entries) =>
      Effect.suspend(() => {
        if (this.#left-- > 0) return storage.writeEntries(entries)
        if (this.#trouble === "stall") return Effect.never
        return this.#trouble === "wait"
          ? Effect.andThen(this.#goesOn.await, writeEntries(entries))
          : new Unavailable({ operation: "write", reason: "disk_full" })
      })
    return { ...storage, writeEntries }
  }

  /** The trouble comes after `left` more writes. Those that wait go on. */
  meets(trouble: Trouble, left: number): void {
    this.#trouble = trouble
    this.#left = left
    if (trouble === "wait") this.#goesOn.closeUnsafe()
    else this.#goesOn.openUnsafe()
  }

  /** The trouble is over. */
  recovers(): void {
    this.meets("stall", Number.POSITIVE_INFINITY)
  }
}

/** `openStalling` on a disk that may come into trouble. */
export const openTroubled = (
  state: MemoryStorage.MemoryState,
  disk: SnapshotDisk,
  seed: number,
  over: NonNullable<More["over"]> = (storage) => storage,
): ReturnType<typeof start> =>
  openStalling(state, { writesLeft: Number.POSITIVE_INFINITY }, seed, {
    over: (storage) => over(disk.over(storage)),
  })

/**
 * A snapshot in trouble, which `pass` begins. In the middle of it, at times, some of `others` happen: so it has some
 * of what they did. Returns whether the disk answers no more, so that the server must be killed.
 */
export const troubleSnapshot = Effect.fnUntraced(function* (
  disk: SnapshotDisk,
  random: Random,
  pass: Effect.Effect<void, unknown>,
  others: ReadonlyArray<Effect.Effect<void, unknown>>,
) {
  const trouble = random.pick(["stall", "wait", "wait", "full"] as const)
  disk.meets(trouble, random.integer(0, trouble === "wait" ? 5 : 15))
  yield* pass
  if (trouble === "stall") return true
  for (let count = random.integer(0, 6); count > 0; count--) yield* random.pick(others)
  if (trouble === "full") disk.recovers()
  else disk.meets("stall", random.integer(0, 15))
  for (let turn = random.integer(0, 20); turn > 0; turn--) yield* yieldToEventLoop
  return trouble === "wait"
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
  over: NonNullable<More["over"]> = (storage) => storage,
): ReturnType<typeof start> =>
  Effect.suspend(() => {
    disk.appendsLeft = Number.POSITIVE_INFINITY
    disk.writesLeft = Number.POSITIVE_INFINITY
    const storage = overheard(MemoryStorage.make({ state }), state, journal)
    return start(over(dyingDisk(storage, disk)), {
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
