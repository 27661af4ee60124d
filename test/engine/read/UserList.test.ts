import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { compareCodePoints } from "../../../src/domain/values/Ids.ts"
import type { UserListQuery } from "../../../src/engine/read/UserList.ts"
import { sortInTurns } from "../../../src/engine/users/sortInTurns.ts"
import { limits } from "../../../src/Limits.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  event,
  type Fixture,
  production,
  reward,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const snapshotIntervalMs = 1_000

const list = ({ engine }: Fixture, query: Partial<UserListQuery> = {}) =>
  Effect.map(engine.listUsers(sandbox, { limit: 100, ...query }), ({ hasMore, total, users }) => ({
    ids: users.map(({ id }) => id),
    hasMore,
    total,
  }))

const rename = (userId: string, displayName: string | null) => ({
  userId,
  command: { kind: "profile", change: { displayName } } as const,
})

const compareBytes = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))

describe("The list of users", () => {
  it.effect("is in the order of ids, whether or not a snapshot has them", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory({}, { snapshotIntervalMs })
      const { engine } = running
      expect(yield* list(running)).toEqual({ ids: [], hasMore: false, total: 0 })
      for (const userId of ["bob", "u10", "alice"]) {
        yield* engine.askUser(sandbox, reward(userId, 1))
      }
      expect(yield* list(running)).toEqual({
        ids: ["alice", "bob", "u10"],
        hasMore: false,
        total: 3,
      })
      yield* TestClock.adjust(snapshotIntervalMs)
      for (const userId of ["u2", "b", "😀", "\ue000", "Zoe"]) {
        yield* engine.askUser(sandbox, event(userId, "TAP"))
      }
      const ids = ["Zoe", "alice", "b", "bob", "u10", "u2", "\ue000", "😀"]
      expect(yield* list(running)).toEqual({ ids, hasMore: false, total: 8 })
      yield* TestClock.adjust(snapshotIntervalMs)
      expect(yield* list(running)).toEqual({ ids, hasMore: false, total: 8 })
      expect(yield* list(running, { after: "alice", limit: 3 })).toEqual({
        ids: ["b", "bob", "u10"],
        hasMore: true,
        total: 8,
      })
      expect(yield* list(running, { after: "\ue000", limit: 1 })).toEqual({
        ids: ["😀"],
        hasMore: false,
        total: 8,
      })
      expect(yield* list(running, { after: "😀" })).toEqual({ ids: [], hasMore: false, total: 8 })
      expect((yield* engine.listUsers(production, { limit: 9 })).total).toBe(0)
    }),
  )

  it.effect("shows the present state of users, also if the snapshot has an older one", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory({}, { snapshotIntervalMs })
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* engine.askUser(sandbox, reward("u1", 5))
      const { users } = yield* engine.listUsers(sandbox, { limit: 1 })
      expect(users).toEqual([yield* engine.readUser(sandbox, "u1")])
    }),
  )

  it.effect("finds parts of ids and display names, in upper or lower case", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory({}, { snapshotIntervalMs })
      const { engine } = running
      yield* engine.askUser(sandbox, rename("u1", "Ada Lovelace"))
      yield* engine.askUser(sandbox, rename("ADAM", null))
      yield* engine.askUser(sandbox, rename("u3", 'quoted "displayName":"ada"'))
      for (const snapshotted of [false, true]) {
        if (snapshotted) yield* TestClock.adjust(snapshotIntervalMs)
        expect(yield* list(running, { search: "aDa" })).toEqual({
          ids: ["ADAM", "u1", "u3"],
          hasMore: false,
          total: 3,
        })
        expect(yield* list(running, { search: "love", limit: 1 })).toEqual({
          ids: ["u1"],
          hasMore: false,
          total: 3,
        })
        expect(yield* list(running, { search: "ada", limit: 1, after: "ADAM" })).toEqual({
          ids: ["u1"],
          hasMore: true,
          total: 3,
        })
        expect((yield* list(running, { search: "nobody" })).ids).toEqual([])
      }
      yield* engine.askUser(sandbox, rename("u1", "Grace"))
      expect((yield* list(running, { search: "lovelace" })).ids).toEqual([])
      expect((yield* list(running, { search: "grace" })).ids).toEqual(["u1"])
    }),
  )

  for (const seed of seeds(5)) {
    it.effect(`equals the users of a model after random commands; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const state = new MemoryStorage.MemoryState()
        const options = { snapshotIntervalMs, snapshotSliceEntriesMax: 5, decodedUsersMax: 4 }
        let running = yield* startInMemory({ state }, options)
        const names = new Map<string, string | null>()
        for (let step = 0; step < 150; step++) {
          const kind = random.next()
          if (kind < 0.15) yield* TestClock.adjust(snapshotIntervalMs)
          else if (kind < 0.2) {
            yield* running.close(random.chance(0.5) ? "kill" : undefined)
            running = yield* startInMemory({ state }, options)
          } else if (kind < 0.5) {
            const ids = [...names.keys()]
            const search = random.chance(0.5) ? random.pick(["a", "B", "1", "ü", "zz"]) : undefined
            const after = random.chance(0.7) ? random.pick([...ids, "", "b", "ü"]) : undefined
            const query = { limit: random.integer(1, 8), after, search }
            const found = [...names]
              .filter(([id, name]) =>
                search === undefined
                  ? true
                  : [id, name ?? ""].some((text) =>
                      text.toLowerCase().includes(search.toLowerCase()),
                    ),
              )
              .map(([id]) => id)
              .filter((id) => after === undefined || compareBytes(after, id) < 0)
              .sort(compareBytes)
            expect(yield* list(running, query)).toEqual({
              ids: found.slice(0, query.limit),
              hasMore: found.length > query.limit,
              total: names.size,
            })
          } else {
            const userId = `${random.pick(["a", "Bo", "ü", "😀", "c"])}${random.integer(0, 5)}`
            if (names.has(userId) && random.chance(0.3)) {
              yield* running.engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
              names.delete(userId)
              continue
            }
            if (random.chance(0.4)) {
              const name = random.chance(0.3) ? null : random.pick(["Anna", "bert", "ÜZZ"])
              yield* running.engine.askUser(sandbox, rename(userId, name))
              names.set(userId, name)
            } else {
              yield* running.engine.askUser(sandbox, event(userId, "TAP"))
              names.set(userId, names.get(userId) ?? null)
            }
          }
        }
        yield* running.close()
      }),
    )
  }
})

describe("Sorting in turns", () => {
  for (const seed of seeds(5)) {
    it.effect(`equals sorting at once; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const size = limits.sortTurnItemsMax
        for (const count of [0, 1, 2, size - 1, size, size + 1, random.integer(0, 5 * size)]) {
          const items = Array.from({ length: count }, () => `${random.integer(0, 9_999)}`)
          const sorted = yield* sortInTurns(items, compareCodePoints)
          expect(sorted).toEqual(items.toSorted())
        }
      }),
    )
  }

  it.effect("yields to the event loop between parts", () =>
    Effect.gen(function* () {
      let turns = 0
      let counting = true
      const count = () => {
        turns++
        if (counting) setImmediate(count)
      }
      setImmediate(count)
      const items = Array.from({ length: 20 * limits.sortTurnItemsMax }, (_, index) => `${-index}`)
      yield* sortInTurns(items, compareCodePoints)
      counting = false
      expect(turns).toBeGreaterThan(20)
    }),
  )
})

describe("Slow searches of an environment", () => {
  it.live(
    `hold $limits.listsPerEnvironmentMaxof $limits.listsConcurrentMaxplaces, and no search of another waits for them`,
    () =>
      Effect.gen(function* () {
        const storage = MemoryStorage.make()
        const gate = yield* Deferred.make<void>()
        let isSlow = false
        let begun = 0
        const { engine } = yield* start({
          ...storage,
          readEntries: (range) => {
            const isOfSandbox = Buffer.from(compositeKey(sandbox)).equals(range.from ?? Buffer.of())
            if (!isSlow || range.table !== "userIds" || !isOfSandbox)
              return storage.readEntries(range)
            begun++
            return Stream.unwrap(Effect.as(Deferred.await(gate), storage.readEntries(range)))
          },
        })
        for (const environment of [sandbox, production]) {
          yield* engine.askUser(environment, reward("ada", 5))
        }
        isSlow = true
        const search = (environment: string) =>
          engine.listUsers(environment, { limit: 10, search: "ada" })
        const fibers = yield* Effect.forEach(Array(2 * limits.listsConcurrentMax).fill(0), () =>
          Effect.forkChild(search(sandbox), { startImmediately: true }),
        )
        expect((yield* search(production)).total).toBe(1)
        expect(begun).toBe(limits.listsPerEnvironmentMax)
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of fibers) expect((yield* Fiber.join(fiber)).total).toBe(1)
      }),
  )
})

describe("The order of code points", () => {
  it("is that of UTF-8, byte by byte", () => {
    const texts = [
      "",
      "a",
      "ab",
      "b",
      "é",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "𐀀",
      "😀",
      "😀a",
      "\u{10ffff}",
    ]
    expect([...texts].reverse().sort(compareCodePoints)).toEqual(texts)
    expect(compareCodePoints("😀", "😀")).toBe(0)
  })
})
