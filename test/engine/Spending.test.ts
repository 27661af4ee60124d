import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Spending } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { UserMessage } from "../../src/engine/Engine.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { sandbox, startInMemory } from "./fixture.ts"

const snapshotIntervalMs = 1_000
const points = (userId: string, amount: number) =>
  ({ userId, command: { kind: "reward", type: "points", amount } }) as const
const spend = (amount: number, id?: string) => {
  const command: Spending = { kind: "spend", amount, id }
  return { userId: "u1", command }
}

describe("A spending", () => {
  it.effect("with an id is done once: while pending, in a snapshot, and after a crash", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, { snapshotIntervalMs })
      yield* first.engine.askUser(sandbox, points("u1", 10))
      const { reply } = yield* first.engine.askUser(sandbox, spend(4, "stored"))
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* first.engine.askUser(sandbox, spend(3, "replayed"))
      yield* first.close("kill")
      const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
      expect(yield* engine.readUser(sandbox, "u1")).toMatchObject({ points: 3, pointsSpent: 7 })
      const again = yield* engine.askUser(sandbox, spend(4, "stored"))
      expect(again.reply).toEqual({ ...reply, duplicate: true })
      expect((yield* engine.askUser(sandbox, spend(3, "replayed"))).reply.duplicate).toBe(true)
      const { code } = yield* Effect.flip(engine.askUser(sandbox, spend(4, "short")))
      expect(code).toBe("insufficient_points")
      const name = recordNameOf("spd", reply.spendId)!
      const command = { kind: "revocation", of: "spend", ...name } as const
      const refund = yield* engine.askUser(sandbox, { userId: "u1", command })
      expect(refund.reply).toMatchObject({ kind: "refund", amount: 4, total: 7, shortfall: 0 })
    }),
  )

  it.effect("and an undo of the same points at the same time are decided in order of arrival", () =>
    Effect.gen(function* () {
      const { committed, engine } = yield* startInMemory()
      yield* engine.askUser(sandbox, points("u1", 1))
      const { at, sequence } = committed.at(-1)!
      const undo = { kind: "revocation", of: "reward", sequence, at } as const
      const messages: ReadonlyArray<UserMessage> = [
        spend(1),
        spend(1),
        { userId: "u1", command: undo },
        spend(1),
      ]
      const outcomes = yield* engine.askUsers(sandbox, messages)
      expect(outcomes.map((outcome) => ("_tag" in outcome ? outcome.code : outcome.kind))).toEqual([
        "spend",
        "insufficient_points",
        "revocation",
        "insufficient_points",
      ])
      expect(outcomes[2]).toMatchObject({ shortfall: { points: 1 }, points: { total: 0 } })
    }),
  )

  it.effect("is part of the state in a snapshot", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, { snapshotIntervalMs })
      yield* first.engine.askUser(sandbox, points("u1", 5))
      yield* first.engine.askUser(sandbox, spend(5))
      const before = yield* first.engine.readUser(sandbox, "u1")
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* first.close("kill")
      const { engine } = yield* startInMemory({ state })
      expect(yield* engine.readUser(sandbox, "u1")).toEqual(before)
    }),
  )
})
