import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ActionCounts } from "../../../src/engine/actor/Counts.ts"
import { limits } from "../../../src/Limits.ts"
import { ruleWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, reward, sandbox, start, startInMemory } from "../fixture.ts"

const { actionsCountedMax, actionsUnmatchedMax } = limits

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index}`)

/** The counts after a restart. */
const reloaded = (counts: ActionCounts): ActionCounts => {
  const { actions = [], others = [0, 0] } = JSON.parse(JSON.stringify(counts.stored()))
  const loaded = new ActionCounts()
  loaded.load(actions, others)
  return loaded
}

describe("ActionCounts", () => {
  it("gives only actionsUnmatchedMax places to actions that no definition named, also after a restart", () => {
    const counts = new ActionCounts()
    for (const name of names("RANDOM", actionsUnmatchedMax)) counts.add(name, 1, false)
    expect(counts.copy().actions.size).toBe(actionsUnmatchedMax)
    expect(counts.copy().others).toEqual({ count: 0, lastAt: 0 })
    for (const each of [counts, reloaded(counts)]) {
      each.add("ONE_MORE", 2, false)
      each.add("ANOTHER", 3, false)
      each.add("RANDOM_0", 4, false)
      const { actions, others } = each.copy()
      expect(actions.size).toBe(actionsUnmatchedMax)
      expect(others).toEqual({ count: 2, lastAt: 3 })
      expect(actions.get("RANDOM_0")).toEqual({ count: 2, lastAt: 4 })
    }
  })

  it("keeps the other places for defined actions, up to actionsCountedMax", () => {
    const counts = new ActionCounts()
    for (const name of names("RANDOM", 3 * actionsUnmatchedMax)) counts.add(name, 1, false)
    const defined = names("DEFINED", actionsCountedMax - actionsUnmatchedMax)
    for (const name of defined) counts.add(name, 2, true)
    const full = counts.copy()
    expect(full.actions.size).toBe(actionsCountedMax)
    for (const name of defined) expect(full.actions.get(name)).toEqual({ count: 1, lastAt: 2 })
    for (const each of [counts, reloaded(counts)]) {
      each.add("DEFINED_TOO", 3, true)
      const { actions, others } = each.copy()
      expect(actions.size).toBe(actionsCountedMax)
      expect(others).toEqual({ count: 2 * actionsUnmatchedMax + 1, lastAt: 3 })
    }
  })

  it("loads what it stored", () => {
    const counts = new ActionCounts()
    expect(counts.stored()).toEqual({ actions: [], others: [0, 0] })
    for (const name of names("A", actionsUnmatchedMax + 1)) counts.add(name, 5, false)
    counts.add("DEFINED", 6, true)
    expect(reloaded(counts).copy()).toEqual(counts.copy())
    expect(reloaded(counts).stored()).toEqual(counts.stored())
  })

  it("copies: later events do not change a copy", () => {
    const counts = new ActionCounts()
    counts.add("A", 1, true)
    const before = counts.copy()
    counts.add("A", 2, true)
    expect(before.actions.get("A")).toEqual({ count: 1, lastAt: 1 })
  })
})

describe("Actions of an environment", () => {
  it.effect("count each accepted event once", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const kept = { key: "k", fingerprint: "f" }
      yield* engine.askUser(sandbox, event("u1", "TAP", { id: "one" }))
      yield* engine.askUser(sandbox, event("u1", "TAP", { id: "one" }))
      yield* engine.askUser(sandbox, reward("u1", 5))
      const unknownQuest = event("u1", "QUEST_COMPLETE", { metadata: { questId: "none" } })
      yield* Effect.flip(engine.askUser(sandbox, unknownQuest, kept))
      const { actions } = yield* engine.readActions(sandbox)
      expect([...actions].map(([action, { count }]) => [action, count])).toEqual([["TAP", 1]])
      expect((yield* engine.readActions(production)).actions.size).toBe(0)
    }),
  )

  it.effect("survive a flood of random actions and a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const open = Effect.suspend(() => start(MemoryStorage.make({ state })))
      const first = yield* open
      yield* first.engine.askProject(sandbox, {
        kind: "createRule",
        rule: ruleWith({ action: "LESSON_DONE" }),
      })
      const flood = names("RANDOM", actionsCountedMax + 10)
      yield* Effect.forEach(flood, (name) => first.engine.askUser(sandbox, event("u1", name)))
      yield* first.engine.askUser(sandbox, event("u2", "LESSON_DONE"))
      const before = yield* first.engine.readActions(sandbox)
      expect(before.actions.size).toBe(actionsUnmatchedMax + 1)
      expect(before.actions.get("LESSON_DONE")?.count).toBe(1)
      expect(before.others.count).toBe(actionsCountedMax + 10 - actionsUnmatchedMax)
      yield* first.close("kill")
      const replayed = yield* open
      expect(yield* replayed.engine.readActions(sandbox)).toEqual(before)
      yield* replayed.close()
      const loaded = yield* open
      expect(yield* loaded.engine.readActions(sandbox)).toEqual(before)
      yield* loaded.close()
    }),
  )
})
