import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { Revocation } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { event, production, reward, rule, sandbox, startInMemory } from "./fixture.ts"

const snapshotIntervalMs = 1_000

const undo = (userId: string, of: "event" | "reward", id: string) => {
  const name = recordNameOf(of === "event" ? "evt" : "rwd", id)!
  return { userId, command: { kind: "revocation", of, ...name } satisfies Revocation }
}

const give = (engine: Engine["Service"], userId: string, amount: number) =>
  Effect.map(
    engine.askUser(sandbox, reward(userId, amount)),
    ({ reply }) => (reply as { readonly rewardId: string }).rewardId,
  )

const codeOf = (engine: Engine["Service"], message: ReturnType<typeof undo>) =>
  Effect.map(Effect.flip(engine.askUser(sandbox, message)), ({ code }) => code)

describe("Undo", () => {
  it.effect("finds its record in memory, in the snapshot, and after a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, { snapshotIntervalMs })
      const stored = yield* give(first.engine, "u1", 100)
      yield* TestClock.adjust(snapshotIntervalMs)
      const replayed = yield* give(first.engine, "u1", 20)
      yield* first.close("kill")
      const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
      const fresh = yield* give(engine, "u1", 3)
      const left: Array<number | undefined> = []
      for (const id of [stored, replayed, fresh]) {
        const { reply } = yield* engine.askUser(sandbox, undo("u1", "reward", id))
        expect(reply).toMatchObject({ kind: "revocation", of: "reward", id })
        left.push((yield* engine.readUser(sandbox, "u1"))?.xp)
      }
      expect(left).toEqual([23, 3, 0])
      expect(yield* engine.readRank(sandbox, "u1")).toBeNull()
    }),
  )

  it.effect(
    "is done once: before and after a snapshot, after a restart, and when asked twice at once",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state }, { snapshotIntervalMs })
        const ids = [yield* give(first.engine, "u1", 10), yield* give(first.engine, "u1", 5)]
        const [once, twice] = ids.map((id) => undo("u1", "reward", id))
        yield* first.engine.askUser(sandbox, once!)
        expect(yield* codeOf(first.engine, once!)).toBe("reward_not_found")
        yield* TestClock.adjust(snapshotIntervalMs)
        expect(yield* codeOf(first.engine, once!)).toBe("reward_not_found")
        const outcomes = yield* first.engine.askUsers(sandbox, [twice!, twice!])
        expect(outcomes.map((outcome) => ("_tag" in outcome ? outcome.code : "done"))).toEqual([
          "done",
          "reward_not_found",
        ])
        yield* first.close("kill")
        const { engine } = yield* startInMemory({ state })
        for (const again of [once!, twice!]) {
          expect(yield* codeOf(engine, again)).toBe("reward_not_found")
        }
        expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(0)
      }),
  )

  it.effect("refuses a record of another user, kind, time or environment, and an unknown one", () =>
    Effect.gen(function* () {
      const { engine, committed } = yield* startInMemory({}, { snapshotIntervalMs })
      yield* engine.askProject(sandbox, rule("TAP", 7))
      yield* give(engine, "u2", 1)
      const rewardId = yield* give(engine, "u1", 10)
      const { reply } = yield* engine.askUser(sandbox, event("u1", "TAP"))
      const undone = undo("u1", "reward", rewardId)
      const before = committed.length
      for (const snapshotted of [false, true]) {
        if (snapshotted) yield* TestClock.adjust(snapshotIntervalMs)
        const { command } = undone
        const wrong = [
          { ...undone, userId: "u2" },
          { ...undone, userId: "nobody" },
          { ...undone, command: { ...command, at: command.at + 1 } },
          { ...undone, command: { ...command, sequence: command.sequence + 1 } },
          { ...undone, command: { ...command, sequence: 10_000 } },
        ]
        for (const message of wrong) {
          expect(yield* codeOf(engine, message)).toBe("reward_not_found")
        }
        const asEvent = { ...undone, command: { ...command, of: "event" as const } }
        expect(yield* codeOf(engine, asEvent)).toBe("event_not_found")
        const elsewhere = yield* Effect.flip(engine.askUser(production, undone))
        expect(elsewhere.code).toBe("reward_not_found")
      }
      expect(committed.length).toBe(before)
      yield* engine.askUser(sandbox, undo("u1", "event", reply.eventId))
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(10)
    }),
  )

  it.effect("of an undo is refused: its record is neither an event nor a reward", () =>
    Effect.gen(function* () {
      const { engine, committed } = yield* startInMemory()
      yield* engine.askUser(sandbox, undo("u1", "reward", yield* give(engine, "u1", 10)))
      const { at, sequence } = committed.at(-1)!
      for (const of of ["event", "reward"] as const) {
        const command: Revocation<typeof of> = { kind: "revocation", of, sequence, at }
        expect(yield* codeOf(engine, { userId: "u1", command })).toBe(`${of}_not_found`)
      }
    }),
  )

  it.effect("by sequence waits for the record's commit, and later commands wait for the undo", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      const known = yield* give(engine, "u1", 10)
      yield* Latch.close(gate)
      const asked = [
        engine.askUser(sandbox, undo("u1", "reward", known)),
        engine.askUser(sandbox, reward("u1", 5)),
      ]
      const fibers = yield* Effect.forEach(asked, (ask) =>
        Effect.forkChild(ask, { startImmediately: true }),
      )
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(10)
      yield* Latch.open(gate)
      const [revoked, given] = yield* Effect.forEach(fibers, Fiber.join)
      expect(revoked?.reply).toMatchObject({ xp: { earned: -10, total: 0 } })
      expect(given?.reply).toMatchObject({ xp: { earned: 5, total: 5 } })
    }),
  )

  it.effect("by the caller's id finds the record before its commit, and is durable after it", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { committed, engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      yield* give(engine, "u1", 10)
      yield* Latch.close(gate)
      const own = { ...reward("u1", 5).command, id: "own-1" }
      const command: Revocation<"reward"> = {
        kind: "revocation",
        of: "reward",
        sequence: 0,
        at: 0,
        ownId: "own-1",
      }
      const asked = [
        engine.askUser(sandbox, { userId: "u1", command: own }),
        engine.askUser(sandbox, { userId: "u1", command }),
        Effect.flip(engine.askUser(sandbox, { userId: "u1", command })),
      ] as const
      const fibers = yield* Effect.forEach(asked, (ask: Effect.Effect<unknown, unknown>) =>
        Effect.forkChild(ask, { startImmediately: true }),
      )
      const before = committed.length
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(10)
      yield* Latch.open(gate)
      const [, revoked, again] = yield* Effect.forEach(fibers, Fiber.join)
      expect(revoked).toMatchObject({ reply: { xp: { earned: -5, total: 10 } } })
      expect(again).toMatchObject({ code: "reward_not_found" })
      const [granted, taken, ...more] = committed.slice(before)
      const { at, sequence } = granted!
      expect(taken?.cause).toEqual({ kind: "revocation", of: "reward", sequence, at })
      expect(more).toEqual([])
    }),
  )
})
