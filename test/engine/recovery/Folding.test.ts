/** An engine that folds the records of another one continues as a restart of that engine would. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type EngineOptions, recoverEngine } from "../../../src/engine/EngineLive.ts"
import { batchOf } from "../../../src/storage/Frames.ts"
import { Broken, Storage, type StoredRecord } from "../../../src/storage/Storage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { busy, found, seen } from "../archive/fixture.ts"
import { event, once, reward, sandbox, startInMemory } from "../fixture.ts"

const users = 12

/**
 * An engine on a storage of its own, empty at first, which gets the records of the other engine.
 */
const follower = Effect.fnUntraced(function* (
  options: Partial<EngineOptions> = {},
  change: (storage: Storage["Service"]) => Partial<Storage["Service"]> = () => ({}),
) {
  const state = new MemoryStorage.MemoryState()
  const memory = MemoryStorage.make({ state })
  const storage = Storage.of({
    ...memory,
    get lastSequence() {
      return memory.lastSequence
    },
    ...change(memory),
  })
  const broken: Array<Broken> = []
  const scope = yield* Scope.make()
  const engine = yield* recoverEngine({
    onBroken: (cause) => broken.push(cause),
    idFilterBytes: 256,
    ...options,
  }).pipe(Effect.provideService(Storage, storage), Scope.provide(scope))
  /** Folds the further records of `owner`, a number of records at a time. */
  const takeOver = Effect.fnUntraced(function* (owner: MemoryStorage.MemoryState, atOnce: number) {
    while (state.lastSequence < owner.lastSequence) {
      const from = state.lastSequence
      const records: ReadonlyArray<StoredRecord> = owner.records.slice(from, from + atOnce)
      const bodies = records.map(({ body }) => body)
      yield* memory.append(batchOf(from + 1, bodies))
      yield* engine.fold(records)
    }
  })
  const close = Scope.close(scope, Exit.void)
  return { ...engine, state, broken, takeOver, serve: Scope.provide(engine.serve, scope), close }
})

/** What readers and callers find. Sends commands, so it changes the engine. */
const answersOf = Effect.fnUntraced(function* (
  engine: Effect.Success<ReturnType<typeof startInMemory>>["engine"],
) {
  const before = {
    ...(yield* seen(engine, users)),
    daily: yield* engine.readBoard(sandbox, { limit: 100, offset: 0, window: "daily" }),
    counts: yield* engine.readCounts(sandbox),
    project: yield* engine.readProject(sandbox),
    directory: yield* engine.readDirectory,
  }
  const duplicates = []
  for (const id of ["1-1", "3-13", "5-25"]) {
    const { reply } = yield* engine.askUser(sandbox, event("u1", "TAP", { id }))
    duplicates.push(reply.kind === "event" && reply.duplicate)
  }
  const again = yield* engine.askUser(sandbox, event("u1", "TAP"), once("kept"))
  yield* engine.askUser(sandbox, reward("u4", 3))
  return { ...before, duplicates, replayed: again.replayed, after: yield* seen(engine, users) }
})

/** The commands of an owner before it ends, with calls of `between`. */
const owning = Effect.fnUntraced(function* (
  owner: Effect.Success<ReturnType<typeof startInMemory>>,
  between: Effect.Effect<void, unknown>,
) {
  yield* found(owner.engine)
  for (let round = 1; round <= 4; round++) {
    yield* busy(owner.engine, users, round)
    yield* between
  }
  yield* owner.engine.askUser(sandbox, event("u1", "TAP"), once("kept"))
  yield* owner.engine.askUser(sandbox, { userId: "u2", command: { kind: "erasure" } })
  yield* between
  // The windows of the day close.
  yield* TestClock.adjust(30_000)
  yield* busy(owner.engine, users, 5)
  yield* owner.engine.askUser(sandbox, { userId: "u3", command: { kind: "erasure" } })
  yield* between
  yield* owner.close("kill")
})

describe("An engine that folds another one's records", () => {
  const hour = 3_600_000
  const ways: ReadonlyArray<readonly [string, Partial<EngineOptions>, number]> = [
    ["record by record", { snapshotIntervalMs: hour }, 1],
    ["many at once", { snapshotIntervalMs: hour }, 1_000],
    ["with snapshots in between", { snapshotIntervalMs: 1_000 }, 7],
    ["with less room than users", { snapshotIntervalMs: hour, decodedUsersMax: 3 }, 7],
  ]
  for (const [name, options, atOnce] of ways) {
    it.effect(`continues as a restart of that one would: ${name}`, () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        yield* TestClock.setTime(86_400_000 - 20_000)
        const owner = yield* startInMemory({ state }, { snapshotIntervalMs: hour })
        const two = yield* follower({ ...options })
        const follow = Effect.andThen(two.takeOver(state, atOnce), TestClock.adjust(1_000))
        yield* owning(owner, follow)
        expect(two.state.lastSequence).toBe(state.lastSequence)
        const restarted = yield* startInMemory({ state })
        const expected = yield* answersOf(restarted.engine)
        expect([expected.replayed, ...expected.duplicates]).toEqual([true, true, true, true])
        const served = yield* two.serve
        expect(yield* answersOf(served)).toEqual(expected)
        yield* served.drain
        yield* two.close
        // Its journal and its snapshot are valid.
        const again = yield* startInMemory({ state: two.state })
        expect(yield* seen(again.engine, users)).toEqual(expected.after)
        expect(two.broken).toEqual([])
      }),
    )
  }

  it.effect("keeps the journal that its storage needs longer than the days of history", () =>
    Effect.gen(function* () {
      const day = 86_400_000
      const state = new MemoryStorage.MemoryState()
      // Timers that fire every second of two weeks would take most of the test.
      const rare = {
        snapshotIntervalMs: 30 * day,
        heartbeatMs: 30 * day,
        clockCheckMs: day / 24,
        historyMs: 7 * day,
      }
      const owner = yield* startInMemory({ state }, rare)
      const needed = 5
      const two = yield* follower({ ...rare, needed: Effect.succeed(needed) })
      const other = yield* follower(rare)
      for (let days = 0; days < 10; days++) {
        yield* owner.engine.askUser(sandbox, reward("ada", 1))
        yield* owner.engine.askUser(sandbox, reward("bob", 1))
        for (const one of [two, other]) {
          yield* one.takeOver(state, 7)
          yield* one.leave
        }
        yield* TestClock.adjust(day)
      }
      expect(two.state.firstSequence).toBeLessThanOrEqual(needed)
      expect(two.state.firstSequence).toBeGreaterThan(1)
      expect(other.state.firstSequence).toBeGreaterThan(needed)
      // The engine serves now, and its readers have not said yet what they need.
      yield* two.serve
      yield* TestClock.adjust(7 * day)
      yield* two.leave
      expect(two.state.firstSequence).toBeLessThanOrEqual(needed)
    }),
  )

  it.effect("leaves a snapshot if it never served, and another engine continues from that", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const owner = yield* startInMemory({ state }, { snapshotIntervalMs: hour })
      const two = yield* follower({ snapshotIntervalMs: hour })
      yield* owning(owner, two.takeOver(state, 7))
      yield* two.leave
      yield* two.close
      let replayed: number | undefined
      const again = yield* startInMemory(
        { state: two.state },
        {
          onRecovered: ({ recordsReplayed }) => {
            replayed = recordsReplayed
          },
        },
      )
      expect(replayed).toBe(0)
      const restarted = yield* startInMemory({ state })
      expect(yield* answersOf(again.engine)).toEqual(yield* answersOf(restarted.engine))
    }),
  )

  it.effect("fails if its disk fails, and reports a failure of background work", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const owner = yield* startInMemory({ state }, { snapshotIntervalMs: hour })
      const failure = new Broken({ operation: "write", cause: new Error("no disk") })
      const two = yield* follower({ snapshotIntervalMs: 1_000 }, () => ({
        writeEntries: () => Effect.fail(failure),
      }))
      yield* owning(owner, Effect.void)
      yield* two.takeOver(state, 7)
      while (two.broken.length === 0) yield* TestClock.adjust(1_000)
      expect(two.broken).toEqual([failure])
    }),
  )
})
