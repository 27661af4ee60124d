import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { event, once, quest, reward, sandbox, startInMemory } from "../fixture.ts"
import { makeFillableDisk } from "./fillableDisk.ts"

/** Advances the clock until callers who wait for a full disk are answered. */
const stalledMs = limits.stalledAnswerMs + limits.unavailableRetryMs

const asked = <A, E>(ask: Effect.Effect<A, E>) => Effect.forkChild(ask, { startImmediately: true })

/** Metrics, and a function that reads one of their numbers. */
const observed = () => {
  const metrics = new Metrics()
  const value = (name: string, labels?: Record<string, string>) =>
    sampleValue(metrics.text(), name, labels)
  return { metrics, value }
}

describe("A full disk", () => {
  it.effect(
    "does not evict a user whose record waits for space, although no caller waits for it",
    () =>
      Effect.gen(function* () {
        const disk = yield* makeFillableDisk
        const { engine } = yield* startInMemory(disk, {
          snapshotIntervalMs: 1_000,
          decodedUsersMax: 1,
        })
        yield* engine.askUser(sandbox, reward("u1", 100))
        yield* TestClock.adjust(2_000)
        disk.full = true
        const waiting = yield* asked(
          Effect.flip(engine.askUser(sandbox, reward("u1", 1_000, "r1"))),
        )
        yield* disk.refused
        yield* TestClock.adjust(stalledMs)
        expect((yield* Fiber.join(waiting)).code).toBe("storage_unavailable")
        yield* engine.readUser(sandbox, "u2")
        disk.full = false
        yield* TestClock.adjust(limits.unavailableRetryMs)
        expect((yield* engine.askUser(sandbox, reward("u1", 1))).reply.xp.total).toBe(1_101)
        const again = yield* engine.askUser(sandbox, reward("u1", 1_000, "r1"))
        expect(again.reply.duplicate).toBe(true)
        expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(1_101)
      }),
  )

  for (const subject of ["user", "project"] as const) {
    it.effect(
      `frees the Idempotency-Key of a request to a ${subject} not before its record is durable`,
      () =>
        Effect.gen(function* () {
          const disk = yield* makeFillableDisk
          const { engine } = yield* startInMemory(disk)
          const command = quest("One", 1)
          const ask: Effect.Effect<{ readonly replayed: boolean }, { readonly code: string }> =
            subject === "user"
              ? engine.askUser(sandbox, reward("u1", 1_000), once("k1"))
              : engine.askProject(sandbox, command, once("k1"))
          yield* Latch.close(disk.answers)
          const other = yield* asked(Effect.flip(engine.askUser(sandbox, reward("u2", 1))))
          yield* disk.appended
          // The first batch is at the disk: this record joins the second.
          const keyed = yield* asked(Effect.flip(ask))
          disk.full = true
          yield* Latch.open(disk.answers)
          yield* disk.refused
          yield* TestClock.adjust(stalledMs)
          expect((yield* Fiber.join(keyed)).code).toBe("storage_unavailable")
          yield* Fiber.join(other)
          yield* Latch.close(disk.answers)
          disk.full = false
          yield* disk.appended
          yield* TestClock.adjust(limits.unavailableRetryMs)
          yield* disk.appended
          yield* Latch.release(disk.answers)
          yield* disk.appended
          // Between the first commit and the second.
          expect((yield* Effect.flip(ask)).code).toBe("idempotency_in_progress")
          yield* Latch.open(disk.answers)
          while (disk.state.lastSequence < 2) yield* yieldToEventLoop
          expect((yield* ask).replayed).toBe(true)
          expect(disk.state.lastSequence).toBe(2)
        }),
    )
  }

  it.effect("does not delay refusals and duplicates that rest on durable records", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { engine } = yield* startInMemory(disk)
      const draft = quest("Draft", 1, "draft")
      yield* engine.askProject(sandbox, draft)
      yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
      disk.full = true
      const waiting = yield* asked(Effect.flip(engine.askUser(sandbox, reward("u2", 1))))
      const complete = (userId: string) =>
        event(userId, "QUEST_COMPLETE", { metadata: { questId: draft.quest.id } })
      // No decision rests on a refusal that is kept.
      const kept = yield* Effect.forEach(["u1", "u3"], (userId) =>
        asked(Effect.flip(engine.askUser(sandbox, complete(userId), once(userId)))),
      )
      for (const userId of ["u1", "u3", "u4"]) {
        const refused = yield* Effect.flip(engine.askUser(sandbox, complete(userId)))
        expect(refused.code).toBe("quest_not_active")
      }
      for (const one of kept) expect(one.pollUnsafe()).toBeUndefined()
      const duplicate = yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
      expect(duplicate.reply.duplicate).toBe(true)
      expect(waiting.pollUnsafe()).toBeUndefined()
      disk.full = false
      yield* TestClock.adjust(limits.unavailableRetryMs)
      for (const one of kept) expect((yield* Fiber.join(one)).code).toBe("quest_not_active")
    }),
  )

  it.effect(
    "delays refusals and duplicates that rest on waiting records up to stalledAnswerMs",
    () =>
      Effect.gen(function* () {
        const disk = yield* makeFillableDisk
        const { engine } = yield* startInMemory(disk)
        const draft = quest("Draft", 1, "draft")
        yield* engine.askProject(sandbox, draft)
        const complete = event("u1", "QUEST_COMPLETE", { metadata: { questId: draft.quest.id } })
        disk.full = true
        const all = yield* asked(
          Effect.all(
            [
              Effect.flip(engine.askUser(sandbox, reward("u1", 5, "r1"))),
              Effect.flip(engine.askUser(sandbox, reward("u1", 5, "r1"))),
              Effect.flip(engine.askUser(sandbox, complete)),
            ],
            { concurrency: "unbounded" },
          ),
        )
        yield* disk.refused
        expect(all.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(stalledMs)
        const codes = (yield* Fiber.join(all)).map(({ code }) => code)
        expect(codes).toEqual(Array.from({ length: 3 }, () => "storage_unavailable"))
      }),
  )

  it.effect("does not delay the shutdown of the server", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { close, engine } = yield* startInMemory(disk)
      yield* engine.askUser(sandbox, reward("u1", 1))
      disk.full = true
      const waiting = yield* asked(Effect.flip(engine.askUser(sandbox, reward("u1", 2))))
      yield* disk.refused
      const closed = yield* asked(close())
      yield* TestClock.adjust(stalledMs)
      expect((yield* Fiber.join(waiting)).code).toBe("storage_unavailable")
      yield* TestClock.adjust(limits.unavailableRetryMs)
      yield* Fiber.join(closed)
      const second = yield* startInMemory({ state: disk.state })
      expect((yield* second.engine.readUser(sandbox, "u1"))?.xp).toBe(1)
    }),
  )

  it.effect("does not answer callers again who were answered before the flush", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { metrics, value } = observed()
      const { engine } = yield* startInMemory(disk, { durability: "relaxed", metrics })
      disk.full = true
      expect((yield* engine.askUser(sandbox, reward("u1", 2))).reply.xp.total).toBe(2)
      yield* disk.refused
      yield* TestClock.adjust(2 * stalledMs)
      expect(value("laurel_commands_unanswered")).toBe(0)
    }),
  )
})

describe("A refused command", () => {
  it.effect("leaves no user in memory, whatever the reason for the refusal", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { metrics, value } = observed()
      const { engine } = yield* startInMemory(disk, { metrics, decodedUsersMax: 10 })
      const warm = () => value("laurel_users_decoded")
      const draft = quest("Draft", 1, "draft")
      yield* engine.askProject(sandbox, draft)
      const complete = (userId: string) =>
        Effect.flip(
          engine.askUser(
            sandbox,
            event(userId, "QUEST_COMPLETE", { metadata: { questId: draft.quest.id } }),
          ),
        )
      for (let n = 0; n < 5; n++) expect((yield* complete(`n${n}`)).code).toBe("quest_not_active")
      expect(warm()).toBe(0)
      disk.full = true
      const waiting = yield* asked(Effect.flip(engine.askUser(sandbox, reward("u1", 1))))
      yield* disk.refused
      for (let n = 0; n < 50; n++) {
        expect((yield* complete(`n${n}`)).code).toBe("storage_unavailable")
      }
      expect(warm()).toBe(1)
      yield* TestClock.adjust(stalledMs)
      yield* Fiber.join(waiting)
    }),
  )
})
