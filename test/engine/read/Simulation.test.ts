import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ProjectCommand } from "../../../src/domain/decide/Project.ts"
import { replyOf } from "../../../src/domain/message/UserReply.ts"
import type { DraftCommand } from "../../../src/engine/read/Simulation.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  event,
  production,
  quest,
  recordsOf,
  rule,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const draftOf = (command: ProjectCommand): DraftCommand => ({
  pointer: "/rule",
  command: command as DraftCommand["command"],
})

describe("A simulation", () => {
  it.effect("has the result that the event then has", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* engine.askProject(sandbox, rule("TAP", 60))
      yield* engine.askUser(sandbox, event("u", "TAP"))
      const simulated = yield* engine.simulate(sandbox, event("u", "TAP"))
      const { reply } = yield* engine.askUser(sandbox, event("u", "TAP"))
      expect(replyOf(simulated.record, simulated.repeat)).toEqual(reply)
      expect(reply.xp).toEqual({ earned: 60, total: 120 })
    }),
  )

  it.effect("creates no user and no record, and takes no id", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { close, engine } = yield* start(MemoryStorage.make({ state }))
      yield* engine.askProject(sandbox, rule("TAP", 5))
      const records = recordsOf(state).length
      for (const id of ["a", "a"]) {
        const { repeat } = yield* engine.simulate(sandbox, event("new", "TAP", { id }))
        expect(repeat).toBeUndefined()
      }
      expect(yield* engine.readUser(sandbox, "new")).toBeUndefined()
      expect((yield* engine.readCounts(sandbox)).users).toBe(0)
      expect(recordsOf(state)).toHaveLength(records)
      const { reply } = yield* engine.askUser(sandbox, event("new", "TAP", { id: "a" }))
      expect(reply).toMatchObject({ duplicate: false, xp: { earned: 5, total: 5 } })
      yield* close()
    }),
  )

  it.effect("of a known id is a duplicate, warm and after a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const message = event("u", "TAP", { id: "once" })
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(sandbox, rule("TAP", 5))
      const { reply } = yield* first.engine.askUser(sandbox, message)
      const warm = yield* first.engine.simulate(sandbox, message)
      expect(replyOf(warm.record, warm.repeat)).toEqual({ ...reply, duplicate: true })
      yield* first.close()
      const second = yield* start(MemoryStorage.make({ state }))
      const cold = yield* second.engine.simulate(sandbox, message)
      expect(replyOf(cold.record, cold.repeat)).toEqual({ ...reply, duplicate: true })
      const { at, sequence } = cold.record
      const undo = { kind: "revocation", of: "event", sequence, at } as const
      yield* second.engine.askUser(sandbox, { userId: "u", command: undo })
      const other = event("u", "SWIPE", { id: "once" })
      const { repeat } = yield* second.engine.simulate(sandbox, other)
      expect(repeat).toEqual({ differs: ["/action"], revoked: true })
      yield* second.close()
    }),
  )

  it.effect(
    "with drafts has the result after their acceptance, and changes nothing for events",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* startInMemory()
        yield* engine.askProject(sandbox, rule("TAP", 5))
        const draft = draftOf(rule("TAP", 7))
        const { record } = yield* engine.simulate(sandbox, event("u", "TAP"), [draft])
        expect(replyOf(record)).toMatchObject({ xp: { earned: 12 } })
        const before = yield* engine.askUser(sandbox, event("u", "TAP"))
        expect(before.reply.xp).toEqual({ earned: 5, total: 5 })
        yield* engine.askProject(sandbox, draft.command)
        const after = yield* engine.askUser(sandbox, event("u", "TAP"))
        expect(after.reply.xp).toEqual({ earned: 12, total: 17 })
      }),
  )

  it.effect(
    "with drafts costs work by the number of definitions: another environment waits for two at most",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* startInMemory()
        // A turn is 30,000 units of work, and a definition costs 40.
        for (let count = 0; count < 1_000; count++)
          yield* engine.askProject(sandbox, rule("TAP", 1))
        const order: Array<string> = []
        const draft = draftOf(rule("TAP", 7))
        const preview = (name: string) =>
          Effect.map(engine.simulate(sandbox, event("u", "TAP"), [draft]), () => order.push(name))
        const other = Effect.map(engine.simulate(production, event("u", "TAP")), () =>
          order.push("other"),
        )
        const all = [preview("first"), preview("second"), preview("third"), other]
        yield* Effect.all(all, { concurrency: "unbounded" })
        expect(order).toEqual(["first", "second", "other", "third"])
      }),
  )

  it.effect("is refused if the event would be refused", () =>
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
