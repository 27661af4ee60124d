import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { replyOf } from "../../../src/domain/message/UserReply.ts"
import * as MemoryStorage from "../../../src/storage/MemoryStorage.ts"
import { event, quest, recordsOf, rule, sandbox, start, startInMemory } from "../fixture.ts"

describe("A simulation", () => {
  it.effect("tells what the event then does", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* engine.askProject(sandbox, rule("TAP", 60))
      yield* engine.askUser(sandbox, event("u", "TAP"))
      const simulated = yield* engine.simulate(sandbox, event("u", "TAP"))
      const { reply } = yield* engine.askUser(sandbox, event("u", "TAP"))
      expect(replyOf(simulated.record, simulated.duplicate)).toEqual(reply)
      expect(reply.xp).toEqual({ earned: 60, total: 120 })
    }),
  )

  it.effect("leaves no trace: no user, no record, no id that is taken", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { close, engine } = yield* start(MemoryStorage.make({ state }))
      yield* engine.askProject(sandbox, rule("TAP", 5))
      const records = recordsOf(state).length
      for (const id of ["a", "a"]) {
        const { duplicate } = yield* engine.simulate(sandbox, event("new", "TAP", { id }))
        expect(duplicate).toBe(false)
      }
      expect(yield* engine.readUser(sandbox, "new")).toBeUndefined()
      expect((yield* engine.readCounts(sandbox)).users).toBe(0)
      expect(recordsOf(state)).toHaveLength(records)
      const { reply } = yield* engine.askUser(sandbox, event("new", "TAP", { id: "a" }))
      expect(reply).toMatchObject({ duplicate: false, xp: { earned: 5, total: 5 } })
      yield* close()
    }),
  )

  it.effect("knows an id that was there, warm and after a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const message = event("u", "TAP", { id: "once" })
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(sandbox, rule("TAP", 5))
      const { reply } = yield* first.engine.askUser(sandbox, message)
      const warm = yield* first.engine.simulate(sandbox, message)
      expect(replyOf(warm.record, warm.duplicate)).toEqual({ ...reply, duplicate: true })
      yield* first.close()
      const second = yield* start(MemoryStorage.make({ state }))
      const cold = yield* second.engine.simulate(sandbox, message)
      expect(replyOf(cold.record, cold.duplicate)).toEqual({ ...reply, duplicate: true })
      yield* second.close()
    }),
  )

  it.effect("is refused where the event would be", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const made = quest("Later", 5, "draft")
      yield* engine.askProject(sandbox, made)
      const metadata = { questId: made.quest.id }
      const message = event("u", "QUEST_COMPLETE", { metadata })
      const refused = yield* Effect.flip(engine.simulate(sandbox, message))
      expect(refused.code).toBe("quest_not_active")
    }),
  )
})
