/** A merge of two users in an engine: `domain/decide/Merge.ts` has the design. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { limits } from "../../src/Limits.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { event, once, recordsOf, reward, rule, sandbox, startInMemory } from "./fixture.ts"

type Engined = Engine["Service"]

const merge = (engine: Engined, userId: string, into: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "merge", into } })

const codeOf = <A, E extends { readonly code: string }>(asked: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(asked), ({ code }) => code)

const xpOf = (engine: Engined, userId: string) =>
  Effect.map(engine.readUser(sandbox, userId), (user) => user?.xp)

const historyOf = (engine: Engined, userId: string) =>
  Effect.map(Stream.runCollect(engine.readHistory(sandbox, userId)), (chunks) => chunks.flat())

const erase = (engine: Engined, userId: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "erasure" } })

const undo = (engine: Engined, userId: string, id: string) => {
  const command = { kind: "revocation", of: "event", ...recordNameOf("evt", id)! } as const
  return engine.askUser(sandbox, { userId, command })
}

/** A visitor with 10 + 20 xp, a member with 5, and the ids of their events. */
const begin = Effect.fnUntraced(function* (engine: Engined) {
  yield* engine.askProject(sandbox, rule("SEE", 10))
  yield* engine.askProject(sandbox, rule("BUY", 20))
  yield* engine.askProject(sandbox, rule("SIGN_UP", 5))
  const ids: Array<string> = []
  for (const [userId, action, id] of [
    ["visitor", "SEE", "first"],
    ["visitor", "BUY", "second"],
    ["member", "SIGN_UP", "third"],
  ] as const) {
    const { reply } = yield* engine.askUser(sandbox, event(userId, action, { id }))
    ids.push((reply as { readonly eventId: string }).eventId)
  }
  return ids
})

const ends = ({ cause, facts }: JournalRecord) => cause.kind === "mergeEnd" && facts.length > 0

describe("A merge", () => {
  it.effect("adds up what both have, and the former id leads to the user who stays", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      yield* begin(engine)
      const { reply } = yield* merge(engine, "visitor", "member")
      expect(reply).toMatchObject({ kind: "merge", from: "visitor", into: "member" })
      for (const id of ["visitor", "member"]) {
        expect(yield* engine.readUser(sandbox, id)).toMatchObject({ id: "member", xp: 35 })
        expect(yield* engine.readRank(sandbox, id)).toBe(1)
      }
      yield* engine.askUser(sandbox, event("visitor", "SEE"))
      expect(yield* xpOf(engine, "member")).toBe(45)
      const { total } = yield* engine.listUsers(sandbox, { limit: 10 })
      expect(total).toBe(1)
      const board = yield* engine.readBoard(sandbox, { limit: 10, offset: 0 })
      expect(board.entries.map(({ score, userId }) => [userId, score])).toEqual([["member", 45]])
      yield* close()
    }),
  )

  it.effect("reads as one history, newest first, under both ids", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      yield* begin(engine)
      yield* merge(engine, "visitor", "member")
      const history = yield* historyOf(engine, "visitor")
      expect(history).toEqual(yield* historyOf(engine, "member"))
      const sequences = history.map(({ sequence }) => sequence)
      expect(sequences).toEqual(sequences.toSorted((one, other) => other - one))
      expect(history.filter(({ cause }) => cause.kind === "event")).toHaveLength(3)
      const [, , third] = history
      const before = yield* Stream.runCollect(
        engine.readHistory(sandbox, "member", third!.sequence),
      )
      expect(before.flat()).toEqual(history.slice(3))
      yield* close()
    }),
  )

  it.effect("knows the events of both by their ids, and undoes them, also after a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      const [seen, bought] = yield* begin(first.engine)
      yield* merge(first.engine, "visitor", "member")
      const again = yield* first.engine.askUser(sandbox, event("member", "SEE", { id: "first" }))
      expect(again.reply).toMatchObject({ duplicate: true, eventId: seen })
      yield* undo(first.engine, "visitor", seen!)
      expect(yield* xpOf(first.engine, "member")).toBe(25)
      expect(yield* codeOf(undo(first.engine, "member", seen!))).toBe("event_not_found")
      yield* first.close()
      const { close, engine } = yield* startInMemory({ state })
      const later = yield* engine.askUser(sandbox, event("visitor", "SEE", { id: "first" }))
      expect(later.reply).toMatchObject({ duplicate: true, revoked: true })
      yield* undo(engine, "member", bought!)
      expect(yield* xpOf(engine, "visitor")).toBe(5)
      yield* close()
    }),
  )

  it.effect("answers a repeat the same, with and without an Idempotency-Key", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* begin(first.engine)
      const message = { userId: "visitor", command: { kind: "merge", into: "member" } } as const
      const { reply } = yield* first.engine.askUser(sandbox, message, once("key"))
      yield* TestClock.adjust(60_000)
      expect((yield* merge(first.engine, "visitor", "member")).reply).toEqual(reply)
      yield* first.close()
      const { close, engine } = yield* startInMemory({ state })
      expect(yield* engine.askUser(sandbox, message, once("key"))).toEqual({
        reply,
        replayed: true,
      })
      expect((yield* merge(engine, "visitor", "member")).reply).toEqual(reply)
      expect(yield* xpOf(engine, "member")).toBe(35)
      yield* close()
    }),
  )
})

describe("A merge is refused", () => {
  it.effect("with itself, with unknown or erased users, in a circle, and twice", () =>
    Effect.gen(function* () {
      const { close, committed, engine } = yield* startInMemory()
      yield* begin(engine)
      yield* engine.askUser(sandbox, reward("other", 1))
      yield* engine.askUser(sandbox, reward("gone", 1))
      yield* erase(engine, "gone")
      expect(yield* codeOf(merge(engine, "visitor", "visitor"))).toBe("invalid_request")
      expect(yield* codeOf(merge(engine, "visitor", "nobody"))).toBe("user_not_found")
      expect(yield* codeOf(merge(engine, "nobody", "visitor"))).toBe("user_not_found")
      expect(yield* codeOf(merge(engine, "visitor", "gone"))).toBe("user_not_found")
      expect(committed.some(({ cause }) => cause.kind === "merge")).toBe(false)
      yield* merge(engine, "visitor", "member")
      expect(yield* codeOf(merge(engine, "member", "visitor"))).toBe("user_merged")
      expect(yield* codeOf(merge(engine, "other", "visitor"))).toBe("user_merged")
      expect(yield* codeOf(merge(engine, "visitor", "other"))).toBe("user_merged")
      expect(yield* xpOf(engine, "member")).toBe(35)
      yield* close()
    }),
  )

  it.effect("for one of two that cross, and every event counts once", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      yield* begin(engine)
      const asked: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        merge(engine, "visitor", "member"),
        engine.askUser(sandbox, event("visitor", "SEE")),
        merge(engine, "member", "visitor"),
        engine.askUser(sandbox, event("member", "SEE")),
      ]
      const exits = yield* Effect.forEach(asked, (one) => Effect.exit(Effect.asVoid(one)), {
        concurrency: "unbounded",
      })
      expect(exits.map(Exit.isSuccess)).toEqual([true, true, false, true])
      expect(yield* xpOf(engine, "member")).toBe(55)
      yield* close()
    }),
  )

  it.effect("beyond the limit of users merged into one", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      yield* engine.askUser(sandbox, reward("member", 1))
      for (let n = 0; n <= limits.mergedUsersMax; n++) {
        yield* engine.askUser(sandbox, reward(`v${n}`, 1))
        const merging = merge(engine, `v${n}`, "member")
        if (n < limits.mergedUsersMax) yield* merging
        else expect(yield* codeOf(merging)).toBe("quota_exceeded")
      }
      expect(yield* xpOf(engine, "member")).toBe(1 + limits.mergedUsersMax)
      yield* close()
    }),
  )
})

describe("Chains of merges", () => {
  it.effect("lead on: whoever was merged into a user who is merged later", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      const [seen] = yield* begin(first.engine)
      yield* first.engine.askUser(sandbox, reward("last", 100))
      yield* merge(first.engine, "visitor", "member")
      yield* merge(first.engine, "member", "last")
      yield* first.close()
      const { close, engine } = yield* startInMemory({ state })
      yield* engine.askUser(sandbox, event("visitor", "SEE"))
      expect(yield* engine.readUser(sandbox, "visitor")).toMatchObject({ id: "last", xp: 145 })
      const again = yield* engine.askUser(sandbox, event("last", "SEE", { id: "first" }))
      expect(again.reply).toMatchObject({ duplicate: true })
      yield* undo(engine, "last", seen!)
      expect(yield* xpOf(engine, "member")).toBe(135)
      expect((yield* historyOf(engine, "visitor")).length).toBe(
        (yield* historyOf(engine, "last")).length,
      )
      yield* close()
    }),
  )
})

describe("An erasure of a merged user", () => {
  it.effect("erases all ids, under whichever it is asked for, and all are free again", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* begin(first.engine)
      yield* merge(first.engine, "visitor", "member")
      yield* erase(first.engine, "visitor")
      yield* first.close("kill")
      const { close, engine } = yield* startInMemory({ state })
      for (const id of ["visitor", "member"]) {
        expect(yield* engine.readUser(sandbox, id)).toBeUndefined()
        expect(yield* historyOf(engine, id)).toEqual([])
      }
      expect((yield* engine.readCounts(sandbox)).users).toBe(0)
      const { reply } = yield* engine.askUser(sandbox, event("visitor", "SEE", { id: "first" }))
      expect(reply).toMatchObject({ duplicate: false })
      expect(yield* xpOf(engine, "visitor")).toBe(10)
      expect(yield* engine.readUser(sandbox, "member")).toBeUndefined()
      yield* close()
    }),
  )
})

/** An engine that starts after a crash left so many records of a merge. */
const startCutOff = Effect.fnUntraced(function* (mergeRecords: number) {
  const state = new MemoryStorage.MemoryState()
  const whole = yield* startInMemory({ state })
  yield* begin(whole.engine)
  const begun = state.lastSequence
  yield* merge(whole.engine, "visitor", "member")
  yield* whole.close("kill")
  const cut = new MemoryStorage.MemoryState()
  cut.records = state.records.slice(0, begun + mergeRecords)
  return yield* startInMemory({ state: cut })
})

describe("A merge that a crash cuts off", () => {
  /** What was there before the merge, and what is there once it is over. */
  const outcomes = { before: [30, 5], after: [35, 35] }

  it.effect("after any record is whole or has not begun, and later commands find it over", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const whole = yield* startInMemory({ state })
      yield* begin(whole.engine)
      const begun = state.lastSequence
      yield* merge(whole.engine, "visitor", "member")
      yield* whole.close("kill")
      expect(
        recordsOf(state)
          .slice(begun)
          .map(({ cause }) => cause.kind),
      ).toEqual(["merge", "absorb", "mergeEnd"])
      for (let last = begun; last <= begun + 3; last++) {
        for (const wake of ["command", "time"] as const) {
          const cut = new MemoryStorage.MemoryState()
          cut.records = state.records.slice(0, last)
          const { close, committed, engine } = yield* startInMemory({ state: cut })
          if (wake === "time") {
            yield* TestClock.adjust(limits.mergeRetryMs + limits.clockCheckMs)
            yield* TestClock.adjust(limits.mergeRetryMs)
          } else yield* engine.askUser(sandbox, event("visitor", "NOTHING"))
          const expected = last === begun ? outcomes.before : outcomes.after
          expect([yield* xpOf(engine, "visitor"), yield* xpOf(engine, "member")]).toEqual(expected)
          const ended = committed.filter(ends).length
          expect(ended).toBe(last > begun && last < begun + 3 ? 1 : 0)
          yield* merge(engine, "visitor", "member")
          expect(yield* xpOf(engine, "visitor")).toBe(35)
          yield* close()
        }
      }
    }),
  )

  it.effect("does not happen if the user who stays was erased first", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startCutOff(1)
      yield* erase(engine, "member")
      yield* engine.askUser(sandbox, event("visitor", "SEE"))
      expect(yield* xpOf(engine, "visitor")).toBe(40)
      expect(yield* engine.readUser(sandbox, "member")).toBeUndefined()
      yield* close()
    }),
  )

  it.effect("is erased with the user who stays, if that one has taken it in", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startCutOff(2)
      yield* erase(engine, "member")
      expect(yield* engine.readUser(sandbox, "visitor")).toBeUndefined()
      expect(yield* engine.readUser(sandbox, "member")).toBeUndefined()
      expect((yield* engine.readCounts(sandbox)).users).toBe(0)
      yield* close()
    }),
  )
})

describe("Commands that come during a merge", () => {
  it.effect("wait, and go to the user who stays", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      yield* begin(engine)
      const merging = yield* Effect.forkChild(merge(engine, "visitor", "member"), {
        startImmediately: true,
      })
      const messages = Array.from({ length: 20 }, (_, n) =>
        event(n % 2 === 0 ? "visitor" : "member", "SEE", { id: `during-${n >> 1}` }),
      )
      const outcomes = yield* engine.askUsers(sandbox, messages)
      yield* Fiber.join(merging)
      // Each id came twice, under both ids of the user.
      const duplicates = outcomes.filter((one) => (one as { duplicate: boolean }).duplicate)
      expect(duplicates).toHaveLength(10)
      expect(yield* xpOf(engine, "member")).toBe(135)
      yield* close()
    }),
  )
})
