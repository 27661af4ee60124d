import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { Engine, EngineOptions } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as FaultyStorage from "../../storage/FaultyStorage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, reward, sandbox, start, startInMemory } from "../fixture.ts"
import { makeFillableDisk } from "./fillableDisk.ts"

/**
 * A domain whose `apply` fails while `faulty.apply` is true, and whose `decide` fails for the
 * action POISON.
 */
const faultyDomain = () => {
  const faulty = { apply: false }
  const domain: EngineOptions["domain"] = {
    decideUser: (user, project, command, ...rest) => {
      if (command.kind === "event" && command.action === "POISON") throw new Error("a bug")
      return decideUser(user, project, command, ...rest)
    },
    applyUser: (user, record) => {
      if (faulty.apply) throw new Error("a bug in apply")
      return applyUser(user, record)
    },
  }
  return { faulty, domain }
}

/** Crashes the user's actor, and asks the actor again after its restart. */
const restarted = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  yield* Effect.flip(engine.askUser(sandbox, event("u1", "POISON")))
  yield* TestClock.adjust(limits.actorRestartBackoffMs)
  return yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 1)), {
    startImmediately: true,
  })
})

describe("An actor whose state is ahead of the journal", () => {
  it.effect("fails alone, and appends no record that recovery would skip", () =>
    Effect.gen(function* () {
      const domain: EngineOptions["domain"] = {
        decideUser,
        applyUser: (user, record) => {
          const state = applyUser(user, record)
          if (state?.id !== "u1") return state
          return { ...state, sequence: record.sequence + 5 }
        },
      }
      const { broken, close, committed, engine } = yield* startInMemory({}, { domain })
      yield* engine.askUser(sandbox, reward("u1", 5))
      const refused = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 5)))
      expect(refused).toMatchObject({ code: "internal_error" })
      yield* engine.askUser(sandbox, reward("u2", 5))
      expect(committed.map(({ sequence }) => sequence)).toEqual([1, 2])
      expect(broken).toEqual([])
      yield* close("kill")
    }),
  )
})

describe("An actor that failed", () => {
  it.effect(
    "on a command that waited for a later turn restarts, and handles the commands behind it",
    () =>
      Effect.gen(function* () {
        const { domain } = faultyDomain()
        const decideDear: typeof decideUser = (user, project, command, now, found, meter) => {
          if (command.kind === "event" && command.action === "DEAR") {
            meter!.work += limits.decisionTurnWorkMax
          }
          return domain!.decideUser(user, project, command, now, found, meter)
        }
        const { engine } = yield* startInMemory(
          {},
          { domain: { ...domain!, decideUser: decideDear } },
        )
        yield* engine.askUser(sandbox, reward("u1", 5))
        yield* engine.askUser(sandbox, reward("u2", 5))
        const batch = yield* Effect.forkChild(
          engine.askUsers(sandbox, [
            event("u1", "DEAR"),
            event("u2", "POISON"),
            event("u2", "OTHER"),
          ]),
          { startImmediately: true },
        )
        yield* yieldToEventLoop
        expect(batch.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(limits.actorRestartBackoffMs)
        const [dear, poison, behind] = yield* Fiber.join(batch)
        expect(dear).toMatchObject({ userId: "u1" })
        expect(poison).toMatchObject({ code: "internal_error" })
        expect(behind).toMatchObject({ xp: { total: 5 } })
      }),
  )

  it.effect("is loaded without the journal: its latest record was pruned", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const faults = new FaultyStorage.Faults()
      const { domain } = faultyDomain()
      const storage = FaultyStorage.make(MemoryStorage.make({ state }), faults)
      const hour = 3_600_000
      const intervals = { snapshotIntervalMs: hour, clockCheckMs: hour }
      const { broken, engine } = yield* start(storage, { domain, ...intervals })
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* engine.askUser(sandbox, reward("u2", 1))
      yield* TestClock.adjust(hour)
      yield* storage.prune(2)
      expect(state.firstSequence).toBeGreaterThan(1)
      const reads = faults.calls("readRecords")
      yield* Effect.flip(engine.askUser(sandbox, event("u1", "POISON")))
      const next = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 1)), {
        startImmediately: true,
      })
      yield* TestClock.adjust(limits.actorRestartBackoffMs)
      expect((yield* Fiber.join(next)).reply.xp.total).toBe(6)
      expect(faults.calls("readRecords")).toBe(reads)
      expect(broken).toEqual([])
    }),
  )

  it.effect("still has a record that was acknowledged before the flush", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { domain } = faultyDomain()
      const { engine } = yield* startInMemory(disk, { domain, durability: "relaxed" })
      yield* engine.askUser(sandbox, reward("u1", 100))
      while (disk.state.lastSequence < 1) yield* yieldToEventLoop
      yield* Latch.close(disk.answers)
      yield* engine.askUser(sandbox, reward("u1", 1_000))
      const next = yield* restarted(engine)
      yield* Latch.open(disk.answers)
      expect((yield* Fiber.join(next)).reply.xp.total).toBe(1_101)
    }),
  )

  it.effect("still has records that wait for the disk, and shows none of them", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { domain } = faultyDomain()
      const { engine } = yield* startInMemory(disk, { domain })
      yield* engine.askUser(sandbox, reward("u1", 100))
      yield* Latch.close(disk.answers)
      const waiting = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 1_000)), {
        startImmediately: true,
      })
      const next = yield* restarted(engine)
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(100)
      yield* Latch.open(disk.answers)
      expect((yield* Fiber.join(waiting)).reply.xp.total).toBe(1_100)
      expect((yield* Fiber.join(next)).reply.xp.total).toBe(1_101)
    }),
  )

  for (const durable of [true, false]) {
    it.effect(
      `has nothing from before the user was erased, ${durable ? "" : "which is not durable yet, "}and what came since`,
      () =>
        Effect.gen(function* () {
          const disk = yield* makeFillableDisk
          const { domain } = faultyDomain()
          const { engine } = yield* startInMemory(disk, { domain, snapshotIntervalMs: 1_000 })
          yield* engine.askUser(sandbox, reward("u1", 100))
          yield* TestClock.adjust(2_000)
          yield* engine.askUser(sandbox, reward("u1", 10))
          if (!durable) yield* Latch.close(disk.answers)
          const asked = yield* Effect.forkChild(
            Effect.all(
              [
                engine.askUser(sandbox, { userId: "u1", command: { kind: "erasure" } }),
                engine.askUser(sandbox, reward("u1", 7)),
              ],
              { concurrency: "unbounded" },
            ),
            { startImmediately: true },
          )
          if (durable) yield* Fiber.join(asked)
          const next = yield* restarted(engine)
          expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(durable ? 7 : 110)
          yield* Latch.open(disk.answers)
          yield* Fiber.join(asked)
          expect((yield* Fiber.join(next)).reply.xp.total).toBe(8)
          expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(8)
        }),
    )
  }

  it.effect("has no state while the user's erasure waits for the disk", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { domain } = faultyDomain()
      const { engine } = yield* startInMemory(disk, { domain })
      yield* engine.askUser(sandbox, reward("u1", 100))
      yield* Latch.close(disk.answers)
      const erasure = { userId: "u1", command: { kind: "erasure" } } as const
      const asked = yield* Effect.forkChild(engine.askUser(sandbox, erasure), {
        startImmediately: true,
      })
      yield* Effect.flip(engine.askUser(sandbox, event("u1", "POISON")))
      yield* TestClock.adjust(limits.actorRestartBackoffMs)
      const again = yield* Effect.forkChild(Effect.flip(engine.askUser(sandbox, erasure)), {
        startImmediately: true,
      })
      yield* Latch.open(disk.answers)
      yield* Fiber.join(asked)
      expect((yield* Fiber.join(again)).code).toBe("user_not_found")
    }),
  )

  it.effect("affects no other actor if its state cannot be loaded either", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { domain, faulty } = faultyDomain()
      const { broken, engine } = yield* startInMemory(
        { state },
        { domain, snapshotIntervalMs: 1e9 },
      )
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* Effect.flip(engine.askUser(sandbox, event("u1", "POISON")))
      faulty.apply = true
      yield* TestClock.adjust(limits.actorRestartBackoffMs)
      for (let times = 0; times < 3; times++) {
        const down = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
        expect(down.code).toBe("overloaded")
        yield* TestClock.adjust(limits.actorRestartWindowMs)
      }
      faulty.apply = false
      yield* TestClock.adjust(limits.actorRestartWindowMs)
      expect((yield* engine.askUser(sandbox, reward("u2", 1))).reply.xp.total).toBe(1)
      expect((yield* engine.askUser(sandbox, reward("u1", 1))).reply.xp.total).toBe(6)
      expect(broken).toEqual([])
    }),
  )
})
