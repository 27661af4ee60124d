/** Repeats of callers' ids: what the first record decides, wherever it is by now. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { Revocable, UserCommand } from "../../../src/domain/record/Record.ts"
import { recordNameOf, revocablePrefix } from "../../../src/domain/values/Ids.ts"
import type { Engine, UserMessage } from "../../../src/engine/Engine.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, reward, sandbox, startInMemory } from "../fixture.ts"

const snapshotIntervalMs = 1_000
const options = { snapshotIntervalMs }
const stored = TestClock.adjust(snapshotIntervalMs)

const lesson = (number: number, id: string) =>
  event("u1", "DONE", { id, metadata: { lesson: number, parts: [1, 2] } })
const spend = (amount: number, id: string) =>
  ({ userId: "u1", command: { kind: "spend", amount, id } }) as const
const undo = (of: Revocable, id: string): UserMessage => {
  const name = recordNameOf(revocablePrefix[of], id)!
  return { userId: "u1", command: { kind: "revocation", of, ...name } }
}
const ask = <Command extends UserCommand>(
  { engine }: { readonly engine: Engine["Service"] },
  message: UserMessage<Command>,
) => Effect.map(engine.askUser(sandbox, message), ({ reply }) => reply)

describe("A repeat of an id", () => {
  it.effect("has the first outcome and tells what differs: pending, stored, after a crash", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, options)
      const old = yield* ask(first, lesson(7, "old"))
      const expected = { ...old, duplicate: true, differs: ["/metadata/lesson"] }
      expect(yield* ask(first, lesson(8, "old"))).toEqual(expected)
      yield* stored
      expect(yield* ask(first, lesson(8, "old"))).toEqual(expected)
      expect(yield* ask(first, lesson(7, "old"))).toEqual({ ...expected, differs: [] })
      const fresh = yield* ask(first, reward("u1", 5, "old"))
      yield* first.close("kill")

      const second = yield* startInMemory({ state }, options)
      expect(yield* ask(second, lesson(8, "old"))).toEqual(expected)
      const grant = yield* ask(second, reward("u1", 6, "old"))
      expect(grant).toEqual({ ...fresh, duplicate: true, differs: ["/amount"] })
      yield* second.close()
    }),
  )

  it.effect("tells that the first was revoked: pending, stored, after a crash", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, options)
      const done = yield* ask(first, lesson(7, "a"))
      const given = yield* ask(first, reward("u1", 5, "a"))
      yield* stored
      expect(yield* ask(first, lesson(7, "a"))).toEqual({ ...done, duplicate: true })
      yield* ask(first, undo("event", done.eventId))
      const again = { ...done, duplicate: true, revoked: true }
      expect(yield* ask(first, lesson(7, "a"))).toEqual(again)
      yield* stored
      expect(yield* ask(first, lesson(7, "a"))).toEqual(again)
      yield* ask(first, undo("reward", given.rewardId))
      yield* first.close("kill")

      const second = yield* startInMemory({ state }, options)
      expect(yield* ask(second, lesson(8, "a"))).toEqual({
        ...again,
        differs: ["/metadata/lesson"],
      })
      const grant = yield* ask(second, reward("u1", 5, "a"))
      expect(grant).toEqual({ ...given, duplicate: true, revoked: true })
      expect((yield* second.engine.readUser(sandbox, "u1"))?.xp).toBe(0)
      yield* second.close()
    }),
  )

  it.effect("of a spend is refused for other content, also once the spend was revoked", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, options)
      const points = { kind: "reward", type: "points", amount: 10 } as const
      yield* ask(first, { userId: "u1", command: points })
      const paid = yield* ask(first, spend(4, "order"))
      const refused = Effect.flip(ask(first, spend(3, "order")))
      expect(yield* refused).toMatchObject({ code: "id_reused", differs: ["/amount"] })
      yield* stored
      expect(yield* refused).toMatchObject({ code: "id_reused", differs: ["/amount"] })
      yield* ask(first, undo("spend", paid.spendId))
      yield* first.close("kill")

      const second = yield* startInMemory({ state }, options)
      const again = yield* ask(second, spend(4, "order"))
      expect(again).toEqual({ ...paid, duplicate: true, revoked: true })
      const reused = yield* Effect.flip(ask(second, spend(3, "order")))
      expect(reused).toMatchObject({ code: "id_reused", differs: ["/amount"] })
      expect((yield* second.engine.readUser(sandbox, "u1"))?.points).toBe(10)
      yield* second.close()
    }),
  )

  it.effect("is compared with a first command that is not durable yet, and waits for it", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      const asking = (message: UserMessage) =>
        Effect.forkChild(engine.askUser(sandbox, message), { startImmediately: true })
      const { reply } = yield* engine.askUser(sandbox, lesson(1, "before"))
      yield* Latch.close(gate)
      const first = yield* asking(lesson(7, "now"))
      const second = yield* asking(lesson(8, "now"))
      const undone = yield* asking(undo("event", reply.eventId))
      const third = yield* asking(lesson(1, "before"))
      for (let turn = 0; turn < 5; turn++) yield* yieldToEventLoop
      for (const one of [first, second, undone, third]) expect(one.pollUnsafe()).toBeUndefined()
      yield* Latch.open(gate)
      const done = yield* Fiber.join(first)
      expect((yield* Fiber.join(second)).reply).toEqual({
        ...done.reply,
        duplicate: true,
        differs: ["/metadata/lesson"],
      })
      // The revocation was not durable either.
      expect((yield* Fiber.join(third)).reply).toEqual({ ...reply, duplicate: true, revoked: true })
    }),
  )

  it.effect("in one batch, and without replies, is compared as one alone", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const batch = [lesson(7, "a"), lesson(8, "a"), lesson(7, "a")]
      const [first, second, third] = yield* engine.askUsers(sandbox, batch)
      expect(second).toEqual({ ...first, duplicate: true, differs: ["/metadata/lesson"] })
      expect(third).toEqual({ ...first, duplicate: true })
      expect(yield* engine.tellUsers(sandbox, [...batch, lesson(7, "b")])).toEqual({
        accepted: 1,
        duplicates: 3,
        differing: 1,
        refusals: [],
      })
    }),
  )

  it.effect("is new after the erasure of its user, before that is durable too", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory({}, options)
      yield* engine.askUser(sandbox, lesson(7, "a"))
      const [, again, repeat] = yield* engine.askUsers<UserCommand>(sandbox, [
        { userId: "u1", command: { kind: "erasure" } },
        lesson(8, "a"),
        lesson(7, "a"),
      ])
      expect(again).toMatchObject({ duplicate: false, differs: [] })
      expect(repeat).toMatchObject({ duplicate: true, differs: ["/metadata/lesson"] })
    }),
  )

  it.effect("is new once the journal no longer has its record", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, options)
      yield* ask(first, lesson(7, "pruned"))
      const { eventId } = yield* ask(first, lesson(7, "kept"))
      yield* stored
      yield* MemoryStorage.make({ state }).prune(recordNameOf("evt", eventId)!.sequence)
      expect(yield* ask(first, lesson(8, "kept"))).toMatchObject({ duplicate: true })
      expect(yield* ask(first, lesson(8, "pruned"))).toMatchObject({ duplicate: false })
      // The new record counts from now on.
      const again = yield* ask(first, lesson(9, "pruned"))
      expect(again).toMatchObject({ duplicate: true, differs: ["/metadata/lesson"] })
      yield* first.close()
    }),
  )
})
