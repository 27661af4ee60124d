import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Stream } from "effect"
import { TestClock } from "effect/testing"
import { teamsAfter } from "../../../src/domain/project/Team.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import { idPairs, isRunHead } from "../../../src/engine/dedupe/IdRun.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { snapshotKey } from "../../../src/engine/state/SnapshotMark.ts"
import { limits } from "../../../src/Limits.ts"
import { type Storage, tables } from "../../../src/storage/Storage.ts"
import { openValue, wholeBody } from "../../../src/storage/Values.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  event,
  once,
  production,
  recordsOf,
  reward,
  rule,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const snapshotIntervalMs = 1_000
const gatherMs = 60_000
const options = {
  snapshotIntervalMs,
  snapshotSliceEntriesMax: 3,
  erasureGatherMs: gatherMs,
  erasureCheckMs: gatherMs / 6,
}
const id = "somebody-ünique"

const erase = (userId: string) => ({ userId, command: { kind: "erasure" } as const })

const everything = { from: new Uint8Array(), until: Uint8Array.of(255) }

/** The records of the journal that contain `text`. */
const recordsWith = (state: MemoryStorage.MemoryState, text: string): ReadonlyArray<number> =>
  state.records
    .filter(({ body }) => Buffer.from(body).includes(text))
    .map(({ sequence }) => sequence)

/** The places in the snapshot whose key or value contains `text`. */
const traces = (state: MemoryStorage.MemoryState, text: string): ReadonlyArray<string> =>
  tables.flatMap((table) =>
    state
      .table(table)
      .entries({ table, ...everything })
      .filter((entry) => entry.some((bytes) => Buffer.from(bytes).includes(text)))
      .map(() => table),
  )

/** The number of callers' ids in the snapshot's index. */
const idsIn = (state: MemoryStorage.MemoryState): number =>
  state
    .table("eventIds")
    .entries({ table: "eventIds", ...everything })
    .map(([, value]) => openValue(value) as Uint8Array)
    .reduce((sum, body) => sum + (isRunHead(body) ? 0 : idPairs(body).length), 0)

/**
 * Lets time pass until a snapshot is due, and waits until it has every record or `stuck` says that
 * it cannot.
 */
const snapshotTaken = Effect.fnUntraced(function* (
  state: MemoryStorage.MemoryState,
  intervalMs = snapshotIntervalMs,
  stuck = () => false,
) {
  const has = () => {
    const mark = state.table("meta").get(snapshotKey)
    return mark === undefined ? 0 : JSON.parse(wholeBody(Buffer.from(mark)).toString()).watermark
  }
  yield* TestClock.adjust(intervalMs)
  for (let turn = 1; has() < state.lastSequence && !stuck(); turn++) {
    yield* yieldToEventLoop
    // The snapshot before had not ended when the clock advanced: the next one is due an interval
    // later.
    if (turn % 100 === 0) yield* TestClock.adjust(intervalMs)
  }
})

/** Lets time pass until every erasure is carried out, or `stuck` says that this cannot be. */
const carriedOut = Effect.fnUntraced(function* (
  state: MemoryStorage.MemoryState,
  stuck = () => false,
) {
  yield* snapshotTaken(state, snapshotIntervalMs, stuck)
  yield* TestClock.adjust(2 * gatherMs)
  const left = () => state.table("erasures").entries({ table: "erasures", ...everything }).length
  for (let turn = 1; left() > 0 && !stuck(); turn++) {
    yield* yieldToEventLoop
    if (turn % 100 === 0) yield* TestClock.adjust(gatherMs)
  }
})

const historyOf = (engine: Engine["Service"], userId: string) =>
  Effect.map(Stream.runCollect(engine.readHistory(sandbox, userId)), (chunks) =>
    chunks.flat().map(({ sequence }) => sequence),
  )

/** A batch as HTTP sends it, with an Idempotency-Key. */
const batch = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  key: string,
  userIds: ReadonlyArray<string>,
  meanwhile: Effect.Effect<unknown, unknown> = Effect.void,
) {
  const reservation = yield* engine.reserve(sandbox, once(key))
  if (!reservation.fresh) return reservation.record.facts[0]
  const results = yield* engine.askUsers(
    sandbox,
    userIds.map((userId) => event(userId, "TAP")),
  )
  yield* Effect.orDie(meanwhile)
  const outcomes = results.flatMap((result) =>
    "eventId" in result ? [{ sequence: recordNameOf("evt", result.eventId)!.sequence }] : [],
  )
  const command = { kind: "keepBatch", answer: { outcomes } } as const
  yield* engine.askProject(sandbox, command, { ...once(key), reserved: true })
  reservation.release()
  return undefined
})

/** A user with data in every place. */
const live = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1", metadata: { me: id } }))
  yield* engine.askUser(sandbox, reward(id, 100, "r1"))
  yield* engine.askUser(sandbox, reward(id, 5), once("k1"))
  yield* engine.askUser(sandbox, {
    userId: id,
    command: { kind: "profile", change: { displayName: id } },
  })
  const unknown = event(id, "QUEST_COMPLETE", { metadata: { questId: "none" } })
  yield* Effect.flip(engine.askUser(sandbox, unknown, once("k2")))
  yield* batch(engine, "b1", ["other", id, "other", id])
  yield* engine.askUser(sandbox, reward("other", 1), once("k3"))
  const team = { kind: "club", name: "Falcons" }
  yield* engine.askProject(sandbox, { kind: "putTeam", teamId: "falcons", team })
  yield* engine.askUser(sandbox, { userId: id, command: { kind: "join", teamId: "falcons" } })
})

const expectGone = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  expect(yield* engine.readUser(sandbox, id)).toBeUndefined()
  expect(yield* engine.readRank(sandbox, id)).toBeNull()
  expect(yield* historyOf(engine, id)).toEqual([])
  const list = yield* engine.listUsers(sandbox, { limit: 10 })
  expect(list.users.map((user) => user.id)).toEqual(["other"])
  expect(list.total).toBe(1)
  expect((yield* engine.readCounts(sandbox)).users).toBe(1)
  const [team] = teamsAfter((yield* engine.readProject(sandbox)).teams, undefined)
  const { members } = yield* engine.listTeamMembers(sandbox, { team: team!, limit: 10 })
  expect(members).toEqual([])
})

describe("An erased user", () => {
  for (const snapshotted of [false, true]) {
    const when = snapshotted ? "from the snapshot that has it" : "before any snapshot has it"
    it.effect(`has no data at once, and nothing on disk once it is carried out, ${when}`, () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state }, options)
        yield* first.engine.askProject(sandbox, rule("TAP", 5))
        yield* live(first.engine)
        if (snapshotted) {
          yield* snapshotTaken(state)
          expect(new Set(traces(state, id))).toEqual(
            new Set(["buckets", "userIds", "teamMembers", "idempotency"]),
          )
          expect(idsIn(state)).toBe(2)
        }
        const { reply } = yield* first.engine.askUser(sandbox, erase(id))
        expect(reply).toMatchObject({ kind: "done", userId: id })
        yield* expectGone(first.engine)
        yield* snapshotTaken(state)
        expect(traces(state, id)).not.toContain("users")
        expect(traces(state, id)).not.toContain("teamMembers")
        expect(traces(state, id)).toContain("erasures")
        expect(recordsWith(state, id)).not.toEqual([])
        yield* expectGone(first.engine)
        yield* first.close("kill")
        const second = yield* startInMemory({ state }, options)
        yield* expectGone(second.engine)
        yield* carriedOut(state)
        yield* expectGone(second.engine)
        expect(traces(state, id)).toEqual([])
        expect(recordsWith(state, id)).toEqual([])
        expect(idsIn(state)).toBe(0)
        expect(traces(state, "other")).not.toEqual([])
        expect(yield* historyOf(second.engine, "other")).toHaveLength(3)
        yield* second.close()
        expect(second.broken).toEqual([])
        const third = yield* startInMemory({ state }, options)
        yield* expectGone(third.engine)
        yield* third.close()
        const keys = state.table("idempotency").entries({ table: "idempotency", ...everything })
        expect(keys.length).toBeGreaterThan(0)
      }),
    )
  }

  it.effect("leaves no refusals from when there was no such user, which are still answered", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      let { close, engine } = yield* startInMemory({ state }, options)
      const spend = { userId: id, command: { kind: "spend", amount: 5 } } as const
      const refused = (key: string) => Effect.flip(engine.askUser(sandbox, spend, once(key)))
      const restart = Effect.gen(function* () {
        yield* close("kill")
        ;({ close, engine } = yield* startInMemory({ state }, options))
      })
      const refusal = yield* refused("before")
      expect(refusal).not.toHaveProperty("replayed")
      const again = { ...refusal, replayed: true }
      expect(yield* refused("before")).toEqual(again)
      yield* restart
      expect(yield* refused("before")).toEqual(again)
      yield* snapshotTaken(state)
      yield* restart
      expect(yield* refused("before")).toEqual(again)
      yield* engine.askUser(sandbox, event(id, "TAP"))
      yield* engine.askUser(sandbox, erase(id))
      expect(yield* refused("after")).toEqual(refusal)
      expect(recordsWith(state, id)).not.toEqual([])
      yield* carriedOut(state)
      expect(traces(state, id)).toEqual([])
      expect(recordsWith(state, id)).toEqual([])
      yield* restart
      expect(yield* refused("before")).toEqual(again)
      expect(yield* refused("after")).toEqual(again)
      yield* close()
    }),
  )

  it.effect("waits for others, so that one run carries out the erasures of a whole day", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const memory = MemoryStorage.make({ state })
      const runs: Array<ReadonlyArray<number>> = []
      const day = {
        erasureGatherMs: limits.erasureGatherMs,
        erasureCheckMs: 3_600_000,
        heartbeatMs: 30 * limits.erasureGatherMs,
      }
      const { engine } = yield* start(
        {
          ...memory,
          eraseRecords: (sequences) => {
            runs.push(sequences)
            return memory.eraseRecords(sequences)
          },
        },
        { ...options, ...day, snapshotIntervalMs: 3_600_000 },
      )
      yield* engine.askUser(sandbox, event("a", "TAP"))
      yield* engine.askUser(sandbox, event("b", "TAP"))
      yield* engine.askUser(sandbox, event("a", "TAP"))
      yield* engine.askUser(sandbox, erase("a"))
      yield* TestClock.adjust(limits.erasureGatherMs / 2)
      yield* engine.askUser(sandbox, erase("b"))
      yield* snapshotTaken(state, 3_600_000)
      expect(runs).toEqual([])
      yield* TestClock.adjust(limits.erasureGatherMs / 2)
      while (runs.length === 0) yield* yieldToEventLoop
      expect(runs).toEqual([[1, 2, 3, 4, 5]])
    }),
  )

  it.effect(
    "is distinguished from a user with the same id who is created in the same millisecond",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state }, options)
        yield* first.engine.askUser(sandbox, event(id, "BEFORE"))
        yield* first.engine.askUser(sandbox, event(id, "BEFORE"))
        yield* first.engine.askUser(sandbox, erase(id))
        yield* first.engine.askUser(sandbox, event(id, "AFTER"))
        yield* first.engine.askUser(sandbox, event("other", "AFTER"))
        yield* first.engine.askUser(sandbox, event(id, "AFTER"))
        const records = recordsOf(state)
        expect(new Set(records.map(({ at }) => at)).size).toBe(1)
        const erased = (engine: Engine["Service"]) =>
          Effect.forEach(records, (record) => engine.isErased(record))
        const expected = [true, true, false, false, false, false]
        expect(yield* erased(first.engine)).toEqual(expected)
        yield* snapshotTaken(state)
        expect(yield* erased(first.engine)).toEqual(expected)
        yield* first.close("kill")
        const second = yield* startInMemory({ state }, options)
        expect(yield* erased(second.engine)).toEqual(expected)
        yield* second.engine.askUser(sandbox, event(id, "LATER"))
        expect(yield* erased(second.engine)).toEqual(expected)
        yield* second.close()
      }),
  )

  it.effect(
    "has no data left, wherever the power fails while the erasure is stored and carried out",
    () =>
      Effect.gen(function* () {
        let writes = 0
        for (let writesLeft = 0; writesLeft <= writes + 1; writesLeft++) {
          const state = new MemoryStorage.MemoryState()
          const disk = { writesLeft: Infinity, written: 0 }
          const small = { ...options, snapshotSliceEntriesMax: 1 }
          const first = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
          yield* live(first.engine)
          yield* snapshotTaken(state)
          yield* first.engine.askUser(sandbox, reward(id, 7, "late"))
          yield* first.engine.askUser(sandbox, erase(id))
          Object.assign(disk, { writesLeft, written: 0 })
          yield* carriedOut(state, () => disk.writesLeft < 0)
          writes = Math.max(writes, disk.written)
          yield* first.close("kill")
          disk.writesLeft = Infinity
          const second = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), options)
          yield* expectGone(second.engine)
          expect(
            (yield* second.engine.askUser(sandbox, event("other", "TAP"))).reply.duplicate,
          ).toBe(false)
          yield* carriedOut(state)
          yield* second.close()
          expect(traces(state, id)).toEqual([])
          expect(recordsWith(state, id)).toEqual([])
          expect(second.broken).toEqual([])
        }
        expect(writes).toBeGreaterThan(5)
      }),
  )

  it.effect("may return at once, without earlier data, and be erased again", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      let running = yield* startInMemory({ state }, options)
      yield* live(running.engine)
      yield* snapshotTaken(state)
      for (const restarted of [false, true]) {
        yield* running.engine.askUser(sandbox, erase(id))
        // Ids and keys from before the erasure count as new.
        const first = yield* running.engine.askUser(sandbox, event(id, "TAP", { id: "e1" }))
        expect(first.reply.duplicate).toBe(false)
        const keyed = yield* running.engine.askUser(sandbox, reward(id, 5), once("k1"))
        expect([keyed.replayed, keyed.reply.xp.total]).toEqual([false, 5])
        const sequences = running.committed.slice(-2).map(({ sequence }) => sequence)
        const check = Effect.suspend(() =>
          Effect.gen(function* () {
            const { engine } = running
            expect(yield* historyOf(engine, id)).toEqual(sequences.toReversed())
            const user = yield* engine.readUser(sandbox, id)
            expect(user).toMatchObject({ xp: 5, profile: { displayName: null } })
            const again = yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1" }))
            expect(again.reply).toEqual({ ...first.reply, duplicate: true })
            const replayed = yield* engine.askUser(sandbox, reward(id, 5), once("k1"))
            expect(replayed).toEqual({ ...keyed, replayed: true })
            expect((yield* engine.readCounts(sandbox)).users).toBe(2)
          }),
        )
        yield* check
        if (restarted) {
          yield* running.close("kill")
          running = yield* startInMemory({ state }, options)
          yield* check
        }
        yield* snapshotTaken(state)
        yield* check
        yield* running.close("kill")
        running = yield* startInMemory({ state }, options)
        yield* check
      }
      yield* running.engine.askUser(sandbox, erase(id))
      yield* expectGone(running.engine)
      yield* carriedOut(state)
      yield* running.close()
      expect(traces(state, id)).toEqual([])
      expect(recordsWith(state, id)).toEqual([])
    }),
  )

  it.effect("has no record to undo, nor has a user who does not exist", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory({}, options)
      const { reply } = yield* engine.askUser(sandbox, reward(id, 5))
      const name = recordNameOf("rwd", reply.rewardId)!
      const undo = { userId: id, command: { kind: "revocation", of: "reward", ...name } as const }
      yield* engine.askUser(sandbox, erase(id))
      for (const command of [erase(id), erase("nobody")]) {
        expect((yield* Effect.flip(engine.askUser(sandbox, command))).code).toBe("user_not_found")
      }
      yield* engine.askUser(sandbox, reward(id, 100))
      expect((yield* Effect.flip(engine.askUser(sandbox, undo))).code).toBe("reward_not_found")
      yield* TestClock.adjust(snapshotIntervalMs)
      expect((yield* Effect.flip(engine.askUser(sandbox, undo))).code).toBe("reward_not_found")
    }),
  )

  it.effect(
    "exists for readers until the erasure is durable, but not for its own next command",
    () =>
      Effect.gen(function* () {
        const gate = yield* Latch.make(true)
        const { engine } = yield* startInMemory({ onAppend: () => Latch.await(gate) }, options)
        yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1" }))
        yield* TestClock.adjust(snapshotIntervalMs)
        yield* Latch.close(gate)
        const ownUndo = {
          kind: "revocation",
          of: "event",
          sequence: 0,
          at: 0,
          ownId: "e1",
        } as const
        const asks = [
          engine.askUser(sandbox, erase(id)),
          Effect.flip(engine.askUser(sandbox, { userId: id, command: ownUndo })),
          engine.askUser(sandbox, event(id, "TAP", { id: "e1" })),
        ] as const
        const asked = yield* Effect.forEach(asks, (ask: Effect.Effect<unknown, unknown>) =>
          Effect.forkChild(ask, { startImmediately: true }),
        )
        yield* yieldToEventLoop
        expect((yield* engine.readUser(sandbox, id))?.id).toBe(id)
        expect(yield* historyOf(engine, id)).toEqual([1])
        yield* Latch.open(gate)
        const [, undone, tracked] = yield* Effect.forEach(asked, Fiber.join)
        expect(undone).toMatchObject({ code: "event_not_found" })
        expect(tracked).toMatchObject({ reply: { duplicate: false } })
        expect(yield* historyOf(engine, id)).toEqual([3])
      }),
  )

  for (const carried of [false, true]) {
    const when = carried ? "once the erasure is carried out" : "at once"
    it.effect(`has no records that the kept answer to a batch leads to, ${when}`, () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        let running = yield* startInMemory({ state }, options)
        yield* batch(running.engine, "b1", ["other", id, id])
        const outcomes = [{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }]
        const expected = { kind: "batch.answered", answer: { outcomes } }
        yield* running.engine.askUser(sandbox, erase(id))
        // The id may be used again.
        yield* running.engine.askUser(sandbox, event(id, "TAP"))
        if (carried) yield* carriedOut(state)
        for (const restarted of [false, true]) {
          if (restarted) {
            yield* running.close("kill")
            running = yield* startInMemory({ state }, options)
          }
          expect(yield* batch(running.engine, "b1", [])).toEqual(expected)
          const found = yield* Effect.forEach([1, 2, 3, 4, 6], (sequence) =>
            running.engine.readRecord(sandbox, sequence),
          )
          expect(found.map((record) => record?.sequence)).toEqual([
            1,
            undefined,
            undefined,
            undefined,
            6,
          ])
          expect(yield* running.engine.readRecord(production, 1)).toBeUndefined()
        }
        yield* running.close()
      }),
    )
  }

  it.effect("leaves no pieces of an answer behind a later, shorter one under the same key", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const hourMs = 3_600_000
      const intervals = { ...options, snapshotIntervalMs: hourMs }
      const { engine } = yield* startInMemory({ state }, intervals)
      const long = { type: "xp", amount: 1, reason: `${"x".repeat(2_000)}${id}` } as const
      const granted = { userId: id, command: { kind: "reward", ...long } as const }
      yield* engine.askUser(sandbox, granted, once("k"))
      yield* snapshotTaken(state, hourMs)
      const pieces = () =>
        state.table("idempotency").entries({ table: "idempotency", ...everything })
      expect(pieces().length).toBeGreaterThan(1)
      yield* TestClock.adjust(limits.idempotencyRetentionMs - hourMs)
      yield* engine.askUser(sandbox, reward("other", 1), once("k"))
      yield* engine.askUser(sandbox, erase(id))
      yield* snapshotTaken(state, hourMs)
      yield* carriedOut(state)
      expect(traces(state, id)).toEqual([])
      expect(pieces()).toHaveLength(1)
    }),
  )

  for (const seed of seeds(5)) {
    it.effect(`leaves no data after random commands and crashes; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Infinity, written: 0 }
        const open = Effect.suspend(() => {
          disk.writesLeft = Infinity
          return start(dyingDisk(MemoryStorage.make({ state }), disk), {
            ...options,
            decodedUsersMax: 3,
          })
        })
        let running = yield* open
        const names = Array.from({ length: 6 }, (_, index) => `user-${index}-of-many`)
        const there = new Set<string>()
        let keys = 0
        for (let step = 0; step < 120; step++) {
          const kind = random.next()
          const { engine } = running
          const name = random.pick(names)
          if (kind < 0.2) {
            const known = there.delete(name)
            const outcome = yield* Effect.result(engine.askUser(sandbox, erase(name)))
            expect(outcome._tag).toBe(known ? "Success" : "Failure")
          } else if (kind < 0.3) {
            const some = Array.from({ length: random.integer(1, 5) }, () => random.pick(names))
            yield* batch(engine, `b${keys++}`, some)
            for (const userId of some) there.add(userId)
          } else if (kind < 0.7) {
            const asked = random.chance(0.5) ? once(`k${keys++}`) : undefined
            yield* engine.askUser(
              sandbox,
              event(name, "TAP", { id: `e${random.integer(0, 9)}` }),
              asked,
            )
            there.add(name)
          } else if (kind < 0.8) {
            yield* snapshotTaken(state)
          } else if (kind < 0.85) {
            yield* carriedOut(state)
          } else {
            if (random.chance(0.5)) {
              disk.writesLeft = random.integer(0, 8)
              yield* carriedOut(state, () => disk.writesLeft < 0)
            }
            yield* running.close("kill")
            running = yield* open
          }
          for (const userId of names) {
            const user = yield* running.engine.readUser(sandbox, userId)
            expect([userId, user !== undefined]).toEqual([userId, there.has(userId)])
          }
        }
        yield* carriedOut(state)
        yield* running.close()
        expect(running.broken).toEqual([])
        for (const name of names) {
          if (there.has(name)) continue
          expect([name, traces(state, name)]).toEqual([name, []])
          expect([name, recordsWith(state, name)]).toEqual([name, []])
        }
        // Every user has the records since the last erasure, and no others.
        running = yield* open
        for (const name of there) {
          const expected = recordsWith(state, name)
          expect(yield* historyOf(running.engine, name)).toEqual(expected.toReversed())
        }
      }),
    )
  }
})

/** A disk that no longer answers after a number of writes, as before a power cut. */
const dyingDisk = (
  storage: Storage["Service"],
  disk: { writesLeft: number; written: number },
): Storage["Service"] => ({
  ...storage,
  writeEntries: (entries) => write(disk, storage.writeEntries(entries)),
  // One record at a time: the power may fail between any two.
  eraseRecords: ([sequence]) =>
    Effect.as(write(disk, storage.eraseRecords([sequence!])), {
      lastSequence: sequence!,
      bytes: 0,
    }),
})

const write = <A, E>(
  disk: { writesLeft: number; written: number },
  writing: Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    if (disk.writesLeft-- <= 0) return Effect.never
    disk.written++
    return writing
  })
