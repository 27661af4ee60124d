import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { emptyProject } from "../../src/domain/project/Project.ts"
import { applyProject } from "../../src/domain/record/applyProject.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { UserState } from "../../src/domain/user/User.ts"
import { limits } from "../../src/Limits.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { Broken, type StorageError, Unavailable } from "../../src/storage/Storage.ts"
import { sampleValue } from "../metrics/exposition.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { event, quest, recordsOf, reward, rule, sandbox, startInMemory } from "./fixture.ts"

const xpOf = (user: UserState | undefined) => user?.xp

describe("Rule 1: live state is the fold of apply over the journal", () => {
  it.effect("holds for users and definitions, and for what a restart recovers", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askProject(sandbox, rule("LESSON_DONE", 7))
      for (let turn = 0; turn < 50; turn++) {
        yield* first.engine.askUser(sandbox, event(`u${turn % 5}`, "LESSON_DONE"))
        yield* first.engine.askUser(sandbox, reward(`u${turn % 3}`, turn + 1))
      }
      const users = new Map<string, UserState | undefined>()
      let project = emptyProject
      for (const record of recordsOf(state)) {
        if (record.subject.actor === "project") project = applyProject(project, record)
        if (record.subject.actor !== "user") continue
        const { userId } = record.subject
        users.set(userId, applyUser(users.get(userId), record))
      }
      expect(users.size).toBe(5)
      const second = yield* startInMemory({ state })
      for (const { engine } of [first, second]) {
        expect(yield* engine.readProject(sandbox)).toEqual(project)
        for (const [userId, folded] of users) {
          expect(yield* engine.readUser(sandbox, userId)).toEqual(folded)
        }
      }
    }),
  )
})

describe("Rule 2: facts are journaled, not commands", () => {
  it.effect("a later rule does not change what was earned before", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askProject(sandbox, rule("LESSON_DONE", 10))
      yield* first.engine.askUser(sandbox, event("u1", "LESSON_DONE"))
      yield* first.engine.askProject(sandbox, rule("LESSON_DONE", 1_000))
      yield* first.close("kill")
      const second = yield* startInMemory({ state })
      expect(xpOf(yield* second.engine.readUser(sandbox, "u1"))).toBe(10)
      const { reply } = yield* second.engine.askUser(sandbox, event("u1", "LESSON_DONE"))
      expect(reply.xp).toEqual({ earned: 1_010, total: 1_020 })
    }),
  )
})

describe("Rule 3: callers see only durable state", () => {
  it.effect("no reply, user, rank, board or definition shows a record before its commit", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { engine, committed } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* Latch.close(gate)
      const asked = yield* Effect.forkChild(
        Effect.all(
          [
            engine.askUser(sandbox, reward("u1", 10)),
            engine.askUser(sandbox, reward("u2", 50)),
            engine.askProject(sandbox, quest("Hidden", 1)),
          ],
          { concurrency: "unbounded" },
        ),
        { startImmediately: true },
      )
      expect(xpOf(yield* engine.readUser(sandbox, "u1"))).toBe(5)
      expect(yield* engine.readUser(sandbox, "u2")).toBeUndefined()
      expect(yield* engine.readRank(sandbox, "u2")).toBeNull()
      expect((yield* engine.readBoard(sandbox, { limit: 10, offset: 0 })).total).toBe(1)
      expect((yield* engine.readProject(sandbox)).quests.size).toBe(0)
      expect(committed.length).toBe(1)
      expect(asked.pollUnsafe()).toBeUndefined()
      yield* Latch.open(gate)
      yield* Fiber.join(asked)
      expect(xpOf(yield* engine.readUser(sandbox, "u1"))).toBe(15)
      expect(yield* engine.readRank(sandbox, "u2")).toBe(1)
      expect((yield* engine.readProject(sandbox)).quests.size).toBe(1)
    }),
  )

  it.effect("a refusal or duplicate that rests on an uncommitted record waits for its commit", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      const draft = quest("Draft", 1, "draft")
      yield* Latch.close(gate)
      const created = yield* Effect.forkChild(engine.askProject(sandbox, draft), {
        startImmediately: true,
      })
      const complete = event("u1", "QUEST_COMPLETE", { metadata: { questId: draft.quest.id } })
      const refused = yield* Effect.forkChild(Effect.flip(engine.askUser(sandbox, complete)), {
        startImmediately: true,
      })
      const earned = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 5, "r1")), {
        startImmediately: true,
      })
      const repeated = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 5, "r1")), {
        startImmediately: true,
      })
      expect(refused.pollUnsafe()).toBeUndefined()
      expect(repeated.pollUnsafe()).toBeUndefined()
      yield* Latch.open(gate)
      yield* Fiber.join(created)
      expect((yield* Fiber.join(refused)).code).toBe("quest_not_active")
      const first = yield* Fiber.join(earned)
      const second = yield* Fiber.join(repeated)
      expect(second.reply).toEqual({ ...first.reply, duplicate: true })
    }),
  )
})

describe("Rule 4: a user's commands run one at a time, in the order accepted", () => {
  it.effect("10,000 concurrent events on one user add up exactly, in one ordered history", () =>
    Effect.gen(function* () {
      const { engine, committed } = yield* startInMemory()
      yield* engine.askProject(sandbox, rule("TAP", 3))
      const count = 10_000
      const replies = yield* Effect.forEach(
        Array.from({ length: count }, (_, index) => event("u1", "TAP", { id: `e${index}` })),
        (message) => engine.askUser(sandbox, message),
        { concurrency: "unbounded" },
      )
      expect(replies.map(({ reply }) => reply.xp.total)).toEqual(
        Array.from({ length: count }, (_, index) => 3 * (index + 1)),
      )
      const ids = committed.flatMap(({ cause }) => (cause.kind === "event" ? [cause.id] : []))
      expect(ids).toEqual(Array.from({ length: count }, (_, index) => `e${index}`))
    }),
  )
})

/** A disk that fails with `failing.error` while that is set, and signals each failure. */
const failingDisk = Effect.gen(function* () {
  const failed = yield* Latch.make(false)
  const failing: { error: StorageError | undefined } = { error: undefined }
  const onAppend = () =>
    Effect.suspend(() => {
      if (failing.error === undefined) return Effect.void
      return Effect.andThen(Latch.open(failed), Effect.fail(failing.error))
    })
  return { failing, failed: Latch.await(failed), onAppend }
})

describe("Rule 5: a failed commit acknowledges nothing", () => {
  it.effect(
    "without space the batch waits, writes are refused, reads continue; with space it recovers",
    () =>
      Effect.gen(function* () {
        const { failing, failed, onAppend } = yield* failingDisk
        const { engine, broken } = yield* startInMemory({ onAppend })
        yield* engine.askUser(sandbox, reward("u1", 1))
        failing.error = new Unavailable({ operation: "append", reason: "disk_full" })
        const waiting = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 2)), {
          startImmediately: true,
        })
        yield* failed
        const refused = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 4)))
        expect(refused.code).toBe("storage_unavailable")
        expect(xpOf(yield* engine.readUser(sandbox, "u1"))).toBe(1)
        expect(waiting.pollUnsafe()).toBeUndefined()
        failing.error = undefined
        yield* TestClock.adjust(limits.unavailableRetryMs)
        expect((yield* Fiber.join(waiting)).reply.xp.total).toBe(3)
        expect((yield* engine.askUser(sandbox, reward("u1", 4))).reply.xp.total).toBe(7)
        expect(broken).toEqual([])
      }),
  )

  it.effect("a caller that waits too long for space is told that the outcome is unknown", () =>
    Effect.gen(function* () {
      const { failing, failed, onAppend } = yield* failingDisk
      const { engine } = yield* startInMemory({ onAppend })
      failing.error = new Unavailable({ operation: "append", reason: "disk_full" })
      const waiting = yield* Effect.forkChild(
        Effect.flip(engine.askUser(sandbox, reward("u1", 2, "r1"))),
        { startImmediately: true },
      )
      yield* failed
      yield* TestClock.adjust(limits.stalledAnswerMs + limits.unavailableRetryMs)
      expect((yield* Fiber.join(waiting)).code).toBe("storage_unavailable")
      failing.error = undefined
      yield* TestClock.adjust(limits.unavailableRetryMs)
      const again = yield* engine.askUser(sandbox, reward("u1", 2, "r1"))
      expect(again.reply).toMatchObject({ duplicate: true, xp: { earned: 2, total: 2 } })
    }),
  )

  it.effect(
    "after any other failure nothing is acknowledged, and the engine reports the failure",
    () =>
      Effect.gen(function* () {
        const { failing, failed, onAppend } = yield* failingDisk
        const { engine, broken } = yield* startInMemory({ onAppend })
        failing.error = new Broken({ operation: "sync", cause: "EIO" })
        const asked = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 2)), {
          startImmediately: true,
        })
        yield* failed
        yield* TestClock.adjust(60_000)
        expect(asked.pollUnsafe()).toBeUndefined()
        expect(broken.map(({ operation }) => operation)).toEqual(["sync"])
        expect(yield* engine.readUser(sandbox, "u1")).toBeUndefined()
      }),
  )
})

describe("Rule 6: a defect in one actor crashes that actor only", () => {
  const explode = (_: unknown, action: string) => {
    if (action === "POISON") throw new Error("a bug")
  }
  const failing = {
    domain: {
      decideUser: ((user, project, command, now) => {
        if (command.kind === "event") explode(user, command.action)
        return decideUser(user, project, command, now)
      }) as typeof decideUser,
      applyUser: ((user, record) => {
        if (record.cause.kind === "event" && record.cause.action === "POISON_APPLY") {
          throw new Error("a bug in apply")
        }
        return applyUser(user, record)
      }) as typeof applyUser,
    },
  }

  for (const action of ["POISON", "POISON_APPLY"]) {
    it.effect(
      `${action} is answered with internal_error and never journaled; the rest goes on`,
      () =>
        Effect.gen(function* () {
          const state = new MemoryStorage.MemoryState()
          const { engine, broken } = yield* startInMemory({ state }, failing)
          yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
          const poisoned = yield* Effect.forkChild(
            Effect.flip(engine.askUser(sandbox, event("u1", action))),
            { startImmediately: true },
          )
          const behind = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 1)), {
            startImmediately: true,
          })
          expect((yield* Fiber.join(poisoned)).code).toBe("internal_error")
          expect((yield* engine.askUser(sandbox, reward("u2", 1))).reply.xp.total).toBe(1)
          expect(xpOf(yield* engine.readUser(sandbox, "u1"))).toBe(5)
          yield* TestClock.adjust(limits.actorRestartBackoffMs)
          expect((yield* Fiber.join(behind)).reply.xp.total).toBe(6)
          const again = yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
          expect(again.reply.duplicate).toBe(true)
          expect(broken).toEqual([])
          expect(JSON.stringify(recordsOf(state))).not.toContain("POISON")
        }),
    )
  }

  it.effect(
    "an actor that fails too often refuses waiting commands without an internal error",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* startInMemory({}, failing)
        const poison = Array.from({ length: limits.actorRestartsMax + 1 }, () =>
          event("u1", "POISON"),
        )
        const asked = yield* Effect.forkChild(
          engine.askUsers(sandbox, [...poison, event("u1", "FINE")]),
          { startImmediately: true },
        )
        yield* TestClock.adjust(limits.actorRestartBackoffMs * 2 ** limits.actorRestartsMax)
        const outcomes = yield* Fiber.join(asked)
        expect(outcomes.map((outcome) => ("code" in outcome ? outcome.code : "fine"))).toEqual([
          ...poison.map(() => "internal_error"),
          "overloaded",
        ])
      }),
  )

  it.effect("an actor that fails too often refuses for a while, then works again", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory({}, failing)
      yield* engine.askUser(sandbox, reward("u1", 5))
      for (let failure = 0; failure <= limits.actorRestartsMax; failure++) {
        yield* Effect.flip(engine.askUser(sandbox, event("u1", "POISON")))
        yield* TestClock.adjust(limits.actorRestartBackoffMs * 2 ** failure)
      }
      const down = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
      expect(down.code).toBe("overloaded")
      expect(down.retryAfterSeconds).toBeGreaterThan(0)
      yield* TestClock.adjust(limits.actorRestartWindowMs)
      expect((yield* engine.askUser(sandbox, reward("u1", 1))).reply.xp.total).toBe(6)
    }),
  )
})

describe("Rule 7: every queue is bounded", () => {
  it.effect(
    "a mailbox takes mailboxMessagesMax commands; the next is refused and changes nothing",
    () =>
      Effect.gen(function* () {
        const gate = yield* Latch.make(false)
        const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
        const waiting = yield* Effect.forkChild(
          engine.askUsers(
            sandbox,
            Array.from({ length: limits.mailboxMessagesMax }, () => reward("u1", 1)),
          ),
          { startImmediately: true },
        )
        const refused = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
        expect(refused).toMatchObject({ code: "overloaded", retryAfterSeconds: 1 })
        yield* Latch.open(gate)
        yield* Fiber.join(waiting)
        expect(xpOf(yield* engine.readUser(sandbox, "u1"))).toBe(limits.mailboxMessagesMax)
        expect((yield* engine.askUser(sandbox, reward("u1", 1))).reply.xp.total).toBe(
          limits.mailboxMessagesMax + 1,
        )
      }),
  )

  it.effect("decoded users stay within decodedUsersMax, and others are decoded unchanged", () =>
    Effect.gen(function* () {
      const metrics = new Metrics()
      const { engine } = yield* startInMemory({}, { decodedUsersMax: 10, metrics })
      const decoded = () => sampleValue(metrics.text(), "laurel_users_decoded")
      for (let user = 0; user < 30; user++) {
        yield* engine.askUser(sandbox, reward(`u${user}`, user + 1, "r1"))
        expect(decoded()).toBeLessThanOrEqual(10)
      }
      for (let user = 0; user < 30; user++) {
        expect(xpOf(yield* engine.readUser(sandbox, `u${user}`))).toBe(user + 1)
      }
      expect(decoded()).toBe(10)
      // Its record awaits the snapshot, and only its state leads to it.
      const again = yield* engine.askUser(sandbox, reward("u0", 1, "r1"))
      expect(again.reply.duplicate).toBe(true)
      expect((yield* engine.askUser(sandbox, reward("u0", 1, "r2"))).reply.xp.total).toBe(2)
    }),
  )

  it.effect("a new user is refused once the states take stateBytesMax, others are not", () =>
    Effect.gen(function* () {
      const metrics = new Metrics()
      const { engine } = yield* startInMemory({}, { decodedUsersMax: 1, stateBytesMax: 1, metrics })
      yield* engine.askUser(sandbox, reward("u0", 1))
      // Its state is in a bucket once another user is decoded.
      yield* engine.askUser(sandbox, reward("u1", 1))
      const refusal = yield* Effect.flip(engine.askUser(sandbox, reward("u2", 1)))
      expect(refusal).toMatchObject({ code: "overloaded" })
      expect(refusal.detail).toContain("LAUREL_STATE_MIB_MAX")
      expect(yield* engine.readUser(sandbox, "u2")).toBeUndefined()
      const outcomes = yield* engine.askUsers(sandbox, [reward("u0", 1), reward("u2", 1)])
      expect(outcomes.map((outcome) => "_tag" in outcome)).toEqual([false, true])
      expect(sampleValue(metrics.text(), "laurel_state_refusals_total")).toBe(2)
    }),
  )
})

describe("drain", () => {
  it.effect(
    "answers accepted commands, refuses later ones, and takes a snapshot of everything",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const gate = yield* Latch.make(false)
        const { engine } = yield* startInMemory({ state, onAppend: () => Latch.await(gate) })
        const accepted = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 1)), {
          startImmediately: true,
        })
        const drained = yield* Effect.forkChild(engine.drain, { startImmediately: true })
        const refused = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
        expect(refused.code).toBe("shutting_down")
        expect(drained.pollUnsafe()).toBeUndefined()
        yield* Latch.open(gate)
        expect((yield* Fiber.join(accepted)).reply.xp.total).toBe(1)
        yield* Fiber.join(drained)
        let replayed = -1
        yield* startInMemory(
          { state },
          {
            onRecovered: (report) => {
              replayed = report.recordsReplayed
            },
          },
        )
        expect(replayed).toBe(0)
      }),
  )
})
