/** A snapshot from before an erasure, and a journal from after the erasure was carried out. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { newcomer } from "../../../src/domain/user/User.ts"
import { domain, Environments } from "../../../src/engine/actor/Environments.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { recoverEngine } from "../../../src/engine/EngineLive.ts"
import { PendingRecords } from "../../../src/engine/records/PendingRecords.ts"
import { LostErasures } from "../../../src/engine/recovery/LostErasures.ts"
import { snapshotKey } from "../../../src/engine/state/SnapshotMark.ts"
import { limits } from "../../../src/Limits.ts"
import { batchOfRecords } from "../../../src/storage/Frames.ts"
import { Storage, type StoredRecord, type Table, tables } from "../../../src/storage/Storage.ts"
import { wholeBody } from "../../../src/storage/Values.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { badgeWith, itemWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { found } from "../archive/fixture.ts"
import { event, once, production, reward, sandbox, startInMemory } from "../fixture.ts"

const gatherMs = 60_000
const options = {
  snapshotIntervalMs: 1_000,
  erasureGatherMs: gatherMs,
  erasureCheckMs: gatherMs / 6,
}
const id = "somebody-ünique"

const entriesOf = (state: MemoryStorage.MemoryState, table: Table) =>
  state.table(table).entries({ table, from: new Uint8Array(), until: Uint8Array.of(255) })

const copyOf = (state: MemoryStorage.MemoryState): MemoryStorage.MemoryState => {
  const copy = new MemoryStorage.MemoryState()
  for (const table of tables) {
    for (const [key, value] of entriesOf(state, table)) copy.table(table).set(key, value)
  }
  copy.records = [...state.records]
  copy.firstSequence = state.firstSequence
  return copy
}

/** The places of records and of the snapshot that have the user's id. */
const traces = (state: MemoryStorage.MemoryState): ReadonlyArray<string> => {
  const has = (bytes: Uint8Array) => Buffer.from(bytes).includes(id)
  return [
    ...state.records.filter(({ body }) => has(body)).map(({ sequence }) => `record ${sequence}`),
    ...tables.filter((table) => entriesOf(state, table).some((entry) => entry.some(has))),
  ]
}

const watermarkOf = (state: MemoryStorage.MemoryState): number => {
  const mark = state.table("meta").get(snapshotKey)
  return mark === undefined ? 0 : JSON.parse(wholeBody(Buffer.from(mark)).toString()).watermark
}

/** Lets time pass until `isReached`. */
const until = Effect.fnUntraced(function* (isReached: () => boolean) {
  for (let turn = 0; !isReached(); turn++) {
    expect(turn).toBeLessThan(10_000)
    if (turn % 100 === 0) yield* TestClock.adjust(gatherMs)
    yield* yieldToEventLoop
  }
})

const snapshotTaken = (state: MemoryStorage.MemoryState) =>
  until(() => watermarkOf(state) === state.lastSequence)

const carriedOut = (state: MemoryStorage.MemoryState) =>
  until(
    () => watermarkOf(state) === state.lastSequence && entriesOf(state, "erasures").length === 0,
  )

const seen = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const board = { limit: 100, offset: 0 }
  return {
    users: yield* Effect.forEach([id, "ada", "bob"], (user) => engine.readUser(sandbox, user)),
    other: yield* engine.readUser(production, "bob"),
    board: yield* engine.readBoard(sandbox, board),
    daily: yield* engine.readBoard(sandbox, { ...board, window: "daily" }),
    counts: yield* engine.readCounts(sandbox),
  }
})

/**
 * A base from before an erasure, and the owner's state after the erasure was carried out.
 * `hasLate`: the user has records between the two.
 */
const erasedSince = Effect.fnUntraced(function* (
  hasLate: boolean,
  returns: (engine: Engine["Service"]) => Effect.Effect<unknown, unknown> = () => Effect.void,
) {
  const state = new MemoryStorage.MemoryState()
  const { close, engine } = yield* startInMemory({ state }, options)
  yield* found(engine)
  // The user earns it with the last of the later records.
  const badge = badgeWith({ criteria: { kind: "xp", target: 25 } })
  yield* engine.askProject(sandbox, { kind: "createBadge", badge })
  yield* engine.askUser(sandbox, reward("ada", 1))
  yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1", metadata: { me: id } }))
  yield* engine.askUser(sandbox, event(id, "TAP"), once("kept"))
  yield* engine.askUser(sandbox, reward("bob", 2))
  yield* engine.askUser(production, reward("bob", 3))
  yield* snapshotTaken(state)
  const base = copyOf(state)
  if (hasLate) {
    for (let n = 0; n < 3; n++) yield* engine.askUser(sandbox, event(id, "TAP", { id: `l${n}` }))
  }
  yield* engine.askUser(sandbox, reward("bob", 4))
  yield* engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
  yield* engine.askUser(sandbox, reward("ada", 5))
  const all = [...state.records]
  const whole = (record: StoredRecord) =>
    all.find(({ sequence }) => sequence === record.sequence) ?? record
  yield* carriedOut(state)
  expect(traces(state)).toEqual([])
  yield* returns(engine)
  yield* engine.askUser(sandbox, reward("bob", 6))
  yield* snapshotTaken(state)
  const expected = yield* seen(engine)
  yield* close()
  return { base, state, expected, whole }
})

const tailOf = (state: MemoryStorage.MemoryState, after: number) =>
  state.records.filter(({ sequence }) => sequence > after)

describe("An erasure that was carried out after an older snapshot", () => {
  for (const hasLate of [false, true]) {
    const which = hasLate ? "with later records" : "without later records"
    it.effect(`is applied by a start: user ${which}`, () =>
      Effect.gen(function* () {
        const { base, expected, state } = yield* erasedSince(hasLate)
        expect(traces(base)).not.toEqual([])
        base.records = [...base.records, ...tailOf(state, base.lastSequence)]
        const { broken, engine } = yield* startInMemory({ state: base }, options)
        expect(yield* seen(engine)).toEqual(expected)
        // The files of the copy lose the user, too, and the id is new again.
        yield* engine.askUser(sandbox, reward("ada", 7))
        yield* carriedOut(base)
        expect(traces(base)).toEqual([])
        const { reply } = yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1" }))
        expect(reply.kind === "event" && reply.duplicate).toBe(false)
        expect((yield* engine.askUser(sandbox, event(id, "TAP"), once("kept"))).replayed).toBe(
          false,
        )
        expect(broken).toEqual([])
      }),
    )

    it.effect(`is applied by a follower that continues from that: user ${which}`, () =>
      Effect.gen(function* () {
        const { base, expected, state } = yield* erasedSince(hasLate)
        const memory = MemoryStorage.make({ state: base })
        const storage = Storage.of({
          ...memory,
          get lastSequence() {
            return base.lastSequence
          },
        })
        const scope = yield* Scope.make()
        const follower = yield* recoverEngine({ onBroken: () => {}, ...options }).pipe(
          Effect.provideService(Storage, storage),
          Scope.provide(scope),
        )
        for (const record of tailOf(state, base.lastSequence)) {
          yield* memory.append(batchOfRecords([record]))
          yield* follower.fold([record])
          yield* follower.leave
        }
        expect(yield* seen(yield* Scope.provide(follower.serve, scope))).toEqual(expected)
        yield* carriedOut(base)
        expect(traces(base)).toEqual([])
        yield* Scope.close(scope, Exit.void)
      }),
    )
  }

  it.effect("is applied although the user's earlier records were pruned", () =>
    Effect.gen(function* () {
      const { base, expected, state } = yield* erasedSince(true)
      const tail = tailOf(state, base.lastSequence)
      base.firstSequence = base.lastSequence + 1
      base.records = tail
      const { engine } = yield* startInMemory({ state: base }, options)
      expect(yield* seen(engine)).toEqual(expected)
      yield* engine.askUser(sandbox, reward("ada", 7))
      yield* carriedOut(base)
      // Kept answers expire long before their records can be pruned.
      expect(limits.idempotencyRetentionMs).toBeLessThan(limits.historyDaysMin * 86_400_000)
      expect(traces(base).filter((place) => place !== "idempotency")).toEqual([])
    }),
  )

  it.effect("is applied although the journal has only tombstones of the user", () =>
    Effect.gen(function* () {
      const { base, expected, state } = yield* erasedSince(true)
      base.records = [...state.records]
      const { engine } = yield* startInMemory({ state: base }, options)
      expect(yield* seen(engine)).toEqual(expected)
    }),
  )

  it.effect("is applied although some of the user's records are left", () =>
    Effect.gen(function* () {
      const { base, expected, state, whole } = yield* erasedSince(true)
      const tail = tailOf(state, base.lastSequence)
      const gone = tail.filter(({ body }) => body.length === 0)
      expect(gone.length).toBe(4)
      // A run that was interrupted: the first records are erased, and the erasure itself is not.
      for (let left = 1; left < gone.length; left++) {
        const from = gone[gone.length - left]!.sequence
        const copy = copyOf(base)
        const records = tail.map((record) => (record.sequence < from ? record : whole(record)))
        copy.records = [...base.records, ...records]
        const { close, engine } = yield* startInMemory({ state: copy }, options)
        expect(yield* seen(engine)).toEqual(expected)
        yield* engine.askUser(sandbox, reward("ada", 7))
        yield* carriedOut(copy)
        expect(traces(copy)).toEqual([])
        yield* close()
      }
    }),
  )

  it.effect("leaves the user who has the id since", () =>
    Effect.gen(function* () {
      const { base, expected, state } = yield* erasedSince(true, (engine) =>
        engine.askUser(sandbox, reward(id, 8)),
      )
      base.records = [...base.records, ...tailOf(state, base.lastSequence)]
      const { engine } = yield* startInMemory({ state: base }, options)
      expect(expected.users[0]?.xp).toBe(8)
      expect(yield* seen(engine)).toEqual(expected)
    }),
  )

  it.effect("is refused if several users have a last record of that number", () =>
    Effect.gen(function* () {
      const environments = new Environments({
        domain,
        now: () => 0,
        sooner: () => {},
        stateBytes: { bytes: 0 },
      })
      const user = (userId: string) => ({ ...newcomer, id: userId, sequence: 5 })
      environments.of(sandbox).states.put(user("ada"), 0)
      const storage = MemoryStorage.make()
      const lost = () =>
        new LostErasures({ environments, storage, pending: new PendingRecords(10), now: () => 7 })
      const tombstone = { sequence: 11, previous: 5, body: new Uint8Array() }
      expect(yield* lost().of({ ...tombstone, previous: 0 })).toBeUndefined()
      expect(yield* lost().of({ ...tombstone, previous: 4 })).toBeUndefined()
      expect(yield* lost().of(tombstone)).toMatchObject({
        sequence: 11,
        at: 7,
        subject: { actor: "user", environment: sandbox, userId: "ada" },
        cause: { kind: "erasure" },
      })
      // As where the journals of two partitions were gathered.
      environments.of(production).states.put(user("bob"), 0)
      expect(String(yield* Effect.flip(lost().of(tombstone)))).toContain("several")
    }),
  )
})

describe("The units of an item that erased users bought after an older snapshot", () => {
  const points = (userId: string) => ({
    userId,
    command: { kind: "reward", type: "points", amount: 9 } as const,
  })
  const buy = (userId: string, purchase?: string) => ({
    userId,
    command: { kind: "purchase", item: "poster", id: purchase } as const,
  })
  const undo = (userId: string, of: string) => ({
    userId,
    command: { kind: "revocation", of: "purchase", sequence: 0, at: 0, ownId: of } as const,
  })

  /** Sells `units` to users of whom one is erased; the snapshot has one sale, and the journal the rest. */
  const soldSince = Effect.fnUntraced(function* (isCarriedOut: boolean) {
    const state = new MemoryStorage.MemoryState()
    const { close, engine } = yield* startInMemory({ state }, options)
    yield* found(engine)
    const item = itemWith({ key: "poster", price: { points: 1 }, stock: 4 })
    yield* engine.askProject(sandbox, { kind: "createItem", item })
    for (const userId of [id, "ada", "bob"]) yield* engine.askUser(sandbox, points(userId))
    yield* engine.askUser(sandbox, buy(id, "before"))
    yield* snapshotTaken(state)
    const base = copyOf(state)
    for (const name of ["a", "b", "c"]) yield* engine.askUser(sandbox, buy(id, name))
    yield* engine.askUser(sandbox, undo(id, "a"))
    yield* engine.askUser(sandbox, undo(id, "before"))
    yield* engine.askUser(sandbox, buy("ada"))
    yield* engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
    if (isCarriedOut) {
      yield* carriedOut(state)
      expect(traces(state)).toEqual([])
    }
    const expected = yield* engine.readCounts(sandbox)
    expect([...expected.sold]).toEqual([[item.id, 3]])
    yield* close()
    return { base, state, expected }
  })

  for (const isCarriedOut of [true, false]) {
    const what = isCarriedOut ? "carried out" : "not carried out"
    it.effect(`stay sold: the erasure was ${what}`, () =>
      Effect.gen(function* () {
        const { base, expected, state } = yield* soldSince(isCarriedOut)
        base.records = [...base.records, ...tailOf(state, base.lastSequence)]
        for (let start = 0; start < 2; start++) {
          const { close, engine } = yield* startInMemory({ state: base }, options)
          expect(yield* engine.readCounts(sandbox)).toEqual(expected)
          if (start === 1) {
            yield* engine.askUser(sandbox, buy("bob"))
            const error = yield* Effect.flip(engine.askUser(sandbox, buy("bob")))
            expect(error).toMatchObject({ code: "sold_out" })
          }
          yield* close()
        }
      }),
    )
  }
})
