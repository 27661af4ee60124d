import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import * as FaultyStorage from "../../storage/FaultyStorage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { defective, event, reward, sandbox, start, startInMemory } from "../fixture.ts"

/** Metrics, and a function that reads one of their numbers. */
const observed = () => {
  const metrics = new Metrics()
  const value = (name: string, labels?: Record<string, string>) =>
    sampleValue(metrics.text(), name, labels)
  return { metrics, value }
}

describe("The metrics of the engine", () => {
  it.effect("have what waits for the disk, and the sizes of commits", () =>
    Effect.gen(function* () {
      const { metrics, value } = observed()
      const gate = yield* Latch.make(false)
      const reached = yield* Deferred.make<void>()
      const onAppend = () => Effect.andThen(Deferred.succeed(reached, undefined), Latch.await(gate))
      const { engine } = yield* startInMemory({ onAppend }, { metrics })
      const asked = yield* Effect.forkChild(
        engine.askUsers(sandbox, [reward("u1", 1), reward("u1", 2), reward("u2", 3)]),
        { startImmediately: true },
      )
      yield* Deferred.await(reached)
      expect(value("laurel_journal_lag_records")).toBe(3)
      expect(value("laurel_journal_lag_bytes")).toBeGreaterThan(100)
      expect(value("laurel_commands_unanswered")).toBe(3)
      expect(value("laurel_journal_records_total")).toBe(0)
      yield* Latch.open(gate)
      yield* Fiber.join(asked)
      expect(value("laurel_journal_lag_records")).toBe(0)
      expect(value("laurel_journal_lag_bytes")).toBe(0)
      expect(value("laurel_commands_unanswered")).toBe(0)
      expect(value("laurel_journal_records_total")).toBe(3)
      expect(value("laurel_commit_batch_records_sum")).toBe(3)
      expect(value("laurel_commit_batch_bytes_sum")).toBeGreaterThan(100)
      expect(value("laurel_commit_duration_seconds_count")).toBeGreaterThan(0)
    }),
  )

  it.effect("have the numbers of users, of decoded ones, and of decodes", () =>
    Effect.gen(function* () {
      const { metrics, value } = observed()
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askUsers(sandbox, [reward("u1", 1), reward("u2", 1), reward("u3", 1)])
      yield* first.close()
      const { engine } = yield* startInMemory({ state }, { metrics, stateBytesMax: 1_000_000 })
      const users = () => [value("laurel_users"), value("laurel_users_decoded")]
      expect(users()).toEqual([3, 0])
      expect(value("laurel_state_buckets")).toBe(1)
      expect(value("laurel_state_bytes")).toBeGreaterThan(100)
      expect(value("laurel_state_bytes_max")).toBe(1_000_000)
      yield* engine.askUser(sandbox, reward("u1", 1))
      expect(users()).toEqual([3, 1])
      expect(value("laurel_user_decodes_total")).toBe(1)
      expect(value("laurel_recovery_replayed_records")).toBe(0)
    }),
  )

  it.effect("have the age of the snapshot, its duration, and its failures", () =>
    Effect.gen(function* () {
      const { metrics, value } = observed()
      const faults = new FaultyStorage.Faults()
      const storage = FaultyStorage.make(MemoryStorage.make(), faults)
      const { close, engine } = yield* start(storage, { metrics })
      yield* engine.askUser(sandbox, reward("u1", 1))
      expect(value("laurel_snapshot_pending_records")).toBe(1)
      expect(value("laurel_snapshot_age_seconds")).toBe(0)
      faults.fail("writeEntries", { error: "Unavailable" })
      yield* engine.drain
      expect(value("laurel_snapshot_failures_total")).toBe(1)
      expect(value("laurel_snapshot_duration_seconds_count")).toBe(0)
      expect(value("laurel_snapshot_pending_records")).toBe(1)
      yield* TestClock.adjust(1_000)
      yield* engine.drain
      expect(value("laurel_snapshot_duration_seconds_count")).toBe(1)
      expect(value("laurel_snapshot_pending_records")).toBe(0)
      yield* TestClock.adjust(7_000)
      expect(value("laurel_snapshot_age_seconds")).toBe(7)
      yield* close()
    }),
  )

  it.effect("count commands that are refused before a mailbox, and actors that fail", () =>
    Effect.gen(function* () {
      const { metrics, value } = observed()
      const gate = yield* Latch.make(false)
      const { engine } = yield* startInMemory(
        { onAppend: () => Latch.await(gate) },
        { metrics, domain: defective(({ kind }) => kind === "event") },
      )
      const refused = (code: string) => value("laurel_mailbox_refusals_total", { code })
      const many = Array.from({ length: limits.mailboxMessagesMax }, () => reward("u1", 1))
      const asked = yield* Effect.forkChild(engine.askUsers(sandbox, many), {
        startImmediately: true,
      })
      yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
      yield* Effect.flip(engine.askUsers(sandbox, [reward("u1", 1), reward("u1", 1)]))
      expect(refused("overloaded")).toBe(3)
      yield* Effect.flip(engine.askUser(sandbox, event("u2", "A")))
      // The actor restarts after the answer.
      yield* yieldToEventLoop
      expect(value("laurel_actor_failures_total")).toBe(1)
      yield* Latch.open(gate)
      yield* Fiber.join(asked)
      yield* engine.drain
      yield* Effect.flip(engine.askUser(sandbox, reward("u3", 1)))
      expect(refused("shutting_down")).toBe(1)
      expect(refused("storage_unavailable")).toBe(0)
    }),
  )
})
