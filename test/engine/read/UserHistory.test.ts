import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Pull, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type JournalRecord, revocationKey } from "../../../src/domain/record/Record.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { decodeRecord } from "../../../src/engine/records/Codec.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, once, production, recordsOf, reward, sandbox, startInMemory } from "../fixture.ts"

const snapshotIntervalMs = 1_000

const historyOf = (engine: Engine["Service"], userId: string, before?: number) =>
  Effect.map(Stream.runCollect(engine.readHistory(sandbox, userId, before)), (chunks) =>
    chunks.flat(),
  )

/** The expected history: the user's records in the journal since the user was created, newest first. */
const expected = (state: MemoryStorage.MemoryState, userId: string, before = Infinity) => {
  const records = recordsOf(state).filter(
    ({ subject }) => subject.actor === "user" && subject.userId === userId,
  )
  const has = (kind: string) => (record: JournalRecord) =>
    record.facts.some((fact) => fact.kind === kind)
  const created = records.findLastIndex(has("user.created"))
  if (created < 0 || records.findLastIndex(has("user.deleted")) > created) return []
  return records
    .slice(created)
    .filter(({ sequence }) => sequence < before)
    .reverse()
}

/** Expects that each record of a user names the record before it of the same life of the user. */
const expectChains = (state: MemoryStorage.MemoryState) => {
  const last = new Map<string, number>()
  for (const { body, previous, sequence } of state.records) {
    const { cause, subject } = decodeRecord(body)
    if (subject.actor !== "user") continue
    const name = `${subject.environment} ${subject.userId}`
    expect([sequence, previous]).toEqual([sequence, last.get(name) ?? 0])
    if (cause.kind === "erasure") last.delete(name)
    else last.set(name, sequence)
  }
}

const sequences = (records: ReadonlyArray<JournalRecord>) => records.map(({ sequence }) => sequence)

describe("A user's history", () => {
  it.effect("is read newest first, from memory, from the snapshot, and from both", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
      const read = Effect.map(historyOf(engine, "u1"), sequences)
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* engine.askUser(sandbox, reward("u2", 5))
      yield* engine.askUser(sandbox, event("u1", "TAP", { metadata: { deep: ["ü"] } }))
      expect(yield* read).toEqual([3, 1])
      yield* TestClock.adjust(snapshotIntervalMs)
      expect(yield* read).toEqual([3, 1])
      yield* engine.askUser(sandbox, reward("u1", 7))
      expect(yield* read).toEqual([4, 3, 1])
      expect(yield* historyOf(engine, "u1")).toEqual(expected(state, "u1"))
    }),
  )

  it.effect("begins below the given sequence, which need not be that of a record of the user", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
      for (let turn = 0; turn < 6; turn++) {
        yield* engine.askUser(sandbox, reward(`u${turn % 2}`, 1))
        if (turn === 3) yield* TestClock.adjust(snapshotIntervalMs)
      }
      for (let before = 0; before <= 8; before++) {
        expect(yield* historyOf(engine, "u0", before)).toEqual(expected(state, "u0", before))
      }
    }),
  )

  it.effect("is empty for a user who does not exist in the environment", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* engine.askUser(sandbox, reward("u1", 5))
      expect(yield* historyOf(engine, "nobody")).toEqual([])
      const other = yield* Stream.runCollect(engine.readHistory(production, "u1"))
      expect(other.flat()).toEqual([])
    }),
  )

  it.effect("finds a record by the name of its command from its commit to the user's erasure", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const state = new MemoryStorage.MemoryState()
      const options = { snapshotIntervalMs }
      let running = yield* startInMemory({ state, onAppend: () => Latch.await(gate) }, options)
      const named = (key: string, userId = "u1") =>
        Effect.map(running.engine.readNamed(sandbox, userId, key), (record) => record?.sequence)
      const held = Effect.fnUntraced(function* (message: ReturnType<typeof event>) {
        yield* Latch.close(gate)
        return yield* Effect.forkChild(running.engine.askUser(sandbox, message), {
          startImmediately: true,
        })
      })
      yield* running.engine.askUser(sandbox, event("u1", "TAP"))
      const asked = yield* held(event("u1", "TAP", { id: "one" }))
      expect(yield* named("eone")).toBeUndefined()
      yield* Latch.open(gate)
      const { reply } = yield* Fiber.join(asked)
      const name = recordNameOf("evt", reply.eventId)!
      expect(yield* named("eone")).toBe(name.sequence)
      for (const key of ["rone", "seone", "eon", "v1", revocationKey(name.sequence)]) {
        expect(yield* named(key)).toBeUndefined()
      }
      expect(yield* named("eone", "u2")).toBeUndefined()
      yield* running.engine.askUser(sandbox, {
        userId: "u1",
        command: { kind: "revocation", of: "event", ...name },
      })
      const check = Effect.gen(function* () {
        expect(yield* named("eone")).toBe(name.sequence)
        expect(yield* named(revocationKey(name.sequence))).toBe(name.sequence + 1)
        const other = running.engine.readNamed(production, "u1", "eone")
        expect(yield* other).toBeUndefined()
      })
      yield* check
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* check
      yield* running.close()
      running = yield* startInMemory({ state, onAppend: () => Latch.await(gate) }, options)
      yield* check
      // The erasure hides the record once it is durable.
      yield* Latch.close(gate)
      const erasure = { userId: "u1", command: { kind: "erasure" } } as const
      const erased = yield* Effect.forkChild(running.engine.askUser(sandbox, erasure), {
        startImmediately: true,
      })
      yield* check
      yield* Latch.open(gate)
      yield* Fiber.join(erased)
      expect(yield* named("eone")).toBeUndefined()
      yield* running.engine.askUser(sandbox, event("u1", "TAP"))
      expect(yield* named("eone")).toBeUndefined()
      yield* running.close()
    }),
  )

  it.effect("does not show a record before its commit", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(true)
      const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) })
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* Latch.close(gate)
      const asked = yield* Effect.forkChild(engine.askUser(sandbox, reward("u1", 6)), {
        startImmediately: true,
      })
      expect(sequences(yield* historyOf(engine, "u1"))).toEqual([1])
      yield* Latch.open(gate)
      yield* Fiber.join(asked)
      expect(sequences(yield* historyOf(engine, "u1"))).toEqual([2, 1])
    }),
  )

  it.effect(
    "is complete for a reader that pauses while a snapshot is taken and records are added",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
        const count = 2 * limits.historyChunkRecordsMax + 10
        const give = engine.askUsers(
          sandbox,
          Array.from({ length: count }, () => reward("u1", 1)),
        )
        yield* give
        const before = expected(state, "u1")
        const read: Array<JournalRecord> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            const pull = yield* Stream.toPull(engine.readHistory(sandbox, "u1"))
            read.push(...(yield* pull).flat())
            expect(read.length).toBeLessThan(count)
            yield* give
            yield* TestClock.adjust(snapshotIntervalMs)
            yield* give
            yield* Pull.catchDone(
              Effect.forever(Effect.map(pull, (chunks) => read.push(...chunks.flat()))),
              () => Effect.void,
            )
          }),
        )
        expect(sequences(read)).toEqual(sequences(before))
      }),
  )

  it.effect("has any record for an undo, in memory beyond the bound of a chunk, and on disk", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state }, { snapshotIntervalMs })
      const give = (amount: number) =>
        engine.askUsers(
          sandbox,
          Array.from({ length: limits.historyChunkRecordsMax + 10 }, () => reward("u1", amount)),
        )
      const undo = (sequence: number) => {
        const at = recordsOf(state)[sequence - 1]!.at
        const command = { kind: "revocation", of: "reward", sequence, at } as const
        return engine.askUser(sandbox, { userId: "u1", command })
      }
      yield* engine.askUser(sandbox, reward("u1", 1_000))
      yield* engine.askUser(sandbox, reward("u1", 100))
      yield* engine.askUser(sandbox, reward("u2", 5))
      yield* give(1)
      yield* undo(1)
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* give(1)
      yield* undo(2)
      const xp = 2 * (limits.historyChunkRecordsMax + 10)
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(xp)
      // A record of another user.
      expect(yield* Effect.flip(undo(3))).toMatchObject({ _tag: "LaurelError" })
      expect((yield* engine.readUser(sandbox, "u2"))?.xp).toBe(5)
    }),
  )

  for (const seed of seeds(4)) {
    it.effect(
      `equals the user's records in the journal after random commands; LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const state = new MemoryStorage.MemoryState()
          const options = { snapshotIntervalMs, snapshotSliceEntriesMax: 3, decodedUsersMax: 4 }
          let running = yield* startInMemory({ state }, options)
          const users = ["u1", "constructor", "ü3", "u4", "u5", "u6"]
          for (let step = 0; step < 150; step++) {
            const kind = random.next()
            if (kind < 0.15) yield* TestClock.adjust(snapshotIntervalMs)
            else if (kind < 0.2) {
              yield* running.close(random.chance(0.5) ? "kill" : undefined)
              running = yield* startInMemory({ state }, options)
            } else if (kind < 0.4) {
              const userId = random.pick(users)
              const before = random.chance(0.5) ? undefined : random.integer(0, 400)
              const found = yield* historyOf(running.engine, userId, before)
              expect(found).toEqual(expected(state, userId, before))
            } else if (kind < 0.45) {
              const command = { kind: "erasure" } as const
              const message = { userId: random.pick(users), command }
              const asked = random.chance(0.5) ? once(`k${step}`) : undefined
              yield* Effect.result(running.engine.askUser(sandbox, message, asked))
            } else {
              const long = "x".repeat(random.pick([0, 100, 3_000]))
              const messages = Array.from({ length: random.integer(1, 10) }, () =>
                event(random.pick(users), "TAP", { metadata: { long } }),
              )
              yield* running.engine.askUsers(sandbox, messages)
            }
          }
          yield* running.close()
          expect(running.broken).toEqual([])
          expectChains(state)
        }),
    )
  }
})
