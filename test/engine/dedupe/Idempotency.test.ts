import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, once, production, quest, reward, rule, sandbox, startInMemory } from "../fixture.ts"

describe("Exactly once", () => {
  it.effect("an Idempotency-Key that is used again after its time keeps its new answer", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* engine.askUser(sandbox, reward("u1", 5), once("k1"))
      yield* TestClock.adjust(limits.idempotencyRetentionMs)
      const second = yield* engine.askUser(sandbox, reward("u1", 5), once("k1"))
      expect(second.replayed).toBe(false)
      yield* TestClock.adjust(limits.snapshotIntervalMs)
      const repeat = yield* engine.askUser(sandbox, reward("u1", 5), once("k1"))
      expect(repeat).toEqual({ ...second, replayed: true })
    }),
  )

  it.effect(
    "a caller's id makes a repeat a duplicate with the first outcome, also after restarts",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state })
        yield* first.engine.askProject(sandbox, rule("TAP", 3))
        const { reply } = yield* first.engine.askUser(sandbox, event("u1", "TAP", { id: "e1" }))
        expect(reply).toMatchObject({ duplicate: false, xp: { earned: 3, total: 3 } })
        yield* first.engine.askUser(sandbox, event("u1", "TAP", { id: "e2" }))
        const other = yield* first.engine.askUser(sandbox, event("u2", "TAP", { id: "e1" }))
        expect(other.reply.duplicate).toBe(false)
        const expected = { ...reply, duplicate: true }
        const same = () => event("u1", "TAP", { id: "e1" })
        expect((yield* first.engine.askUser(sandbox, same())).reply).toEqual(expected)
        yield* first.close("kill")
        const second = yield* startInMemory({ state })
        expect((yield* second.engine.askUser(sandbox, same())).reply).toEqual(expected)
        yield* second.close()
        const third = yield* startInMemory({ state })
        expect((yield* third.engine.askUser(sandbox, same())).reply).toEqual(expected)
        expect((yield* third.engine.readUser(sandbox, "u1"))?.xp).toBe(6)
      }),
  )

  it.effect(
    "an Idempotency-Key gets the first answer again, also after a crash and a restart",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state })
        const answer = yield* first.engine.askUser(sandbox, reward("u1", 5), once("k1"))
        expect(answer.replayed).toBe(false)
        const replayed = { reply: answer.reply, replayed: true }
        const created = yield* first.engine.askProject(sandbox, quest("One", 1), once("k2"))
        const again = (engine: typeof first.engine) =>
          engine.askUser(sandbox, reward("u1", 5), once("k1"))
        expect(yield* again(first.engine)).toEqual(replayed)
        yield* first.close("kill")
        const second = yield* startInMemory({ state })
        expect(yield* again(second.engine)).toEqual(replayed)
        const recreated = yield* second.engine.askProject(sandbox, quest("One", 1), once("k2"))
        expect(recreated).toEqual({ reply: created.reply, replayed: true })
        yield* second.close()
        const third = yield* startInMemory({ state })
        expect(yield* again(third.engine)).toEqual(replayed)
        expect((yield* third.engine.readProject(sandbox)).quests.size).toBe(1)
        const otherEnvironment = yield* third.engine.askUser(
          production,
          reward("u1", 5),
          once("k1"),
        )
        expect(otherEnvironment.replayed).toBe(false)
      }),
  )

  it.effect("a refusal is kept too, and another request with the same key is refused", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const hidden = quest("Hidden", 1, "draft")
      yield* engine.askProject(sandbox, hidden)
      const complete = () =>
        event("u1", "QUEST_COMPLETE", { metadata: { questId: hidden.quest.id } })
      const first = yield* Effect.flip(engine.askUser(sandbox, complete(), once("k1")))
      expect(first.code).toBe("quest_not_active")
      expect(yield* Effect.flip(engine.askUser(sandbox, complete(), once("k1")))).toEqual({
        ...first,
        replayed: true,
      })
      expect(yield* engine.readUser(sandbox, "u1")).toBeUndefined()
      const reused = yield* Effect.flip(
        engine.askUser(sandbox, reward("u1", 1), once("k1", "other")),
      )
      expect(reused.code).toBe("idempotency_key_reused")
    }),
  )

  it.effect("while the first request runs, the second gets idempotency_in_progress", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(false)
      const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      const running = yield* Effect.forkChild(
        engine.askUser(sandbox, reward("u1", 1), once("k1")),
        {
          startImmediately: true,
        },
      )
      const second = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1), once("k1")))
      expect(second.code).toBe("idempotency_in_progress")
      yield* Latch.open(gate)
      yield* Fiber.join(running)
    }),
  )

  it.effect("a key is forgotten after 24 hours, in memory and on disk", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine, close } = yield* startInMemory({ state })
      yield* engine.askUser(sandbox, reward("u1", 1), once("k1"))
      yield* TestClock.adjust(limits.idempotencyRetentionMs)
      const anew = yield* engine.askUser(sandbox, reward("u1", 1), once("k1"))
      expect(anew).toMatchObject({ replayed: false, reply: { xp: { total: 2 } } })
      yield* TestClock.adjust(limits.idempotencyRetentionMs + 1)
      yield* engine.askUser(sandbox, reward("u1", 1))
      yield* close()
      const keptEntries = state.table("idempotency").entries({
        table: "idempotency",
        from: new Uint8Array(),
        until: new Uint8Array([255]),
      })
      expect(keptEntries).toEqual([])
    }),
  )
})
