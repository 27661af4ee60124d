import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { type Fixture, production, reward, sandbox, start, startStalling } from "../fixture.ts"
import { killInSnapshot, quiet, snapshot } from "./heldSnapshot.ts"

const sliced = { ...quiet, snapshotSliceEntriesMax: 2 }

const at = (time: string) => TestClock.setTime(Date.parse(time))

const move = ({ engine }: Fixture, userId: string, city: string) =>
  engine.askUser(sandbox, {
    userId,
    command: { kind: "profile", change: { attributes: { city } } },
  })

/** Each user's group and the rank there. The list of groups, in pages of one, says the same. */
const groups = Effect.fnUntraced(function* ({ engine }: Fixture, atDay: string) {
  const query = { board: "ldb_1", window: "daily", at: atDay } as const
  const { entries } = yield* engine.readBoard(sandbox, { ...query, limit: 100, offset: 0 })
  const names = [...new Set(entries.flatMap(({ inGroup }) => inGroup?.group ?? []))].sort()
  let after: string | undefined
  for (const [index, name] of names.entries()) {
    const page = yield* engine.readBoardGroups(sandbox, { ...query, after, limit: 1 })
    const own = entries.filter(({ inGroup }) => inGroup?.group === name)
    expect(page).toMatchObject({
      groups: [{ name, total: own.length, leader: { userId: own[0]!.userId } }],
      hasMore: index + 1 < names.length,
    })
    after = name
  }
  const { groups: none } = yield* engine.readBoardGroups(sandbox, { ...query, after, limit: 1 })
  expect(none).toEqual([])
  return entries.map(({ inGroup, userId }) => [
    userId,
    inGroup?.group ?? null,
    inGroup?.rank ?? null,
  ])
})

const makeBoard = ({ engine }: Fixture) =>
  engine.askProject(sandbox, {
    kind: "createLeaderboard",
    leaderboard: { id: "ldb_1", name: "Cities", score: { currency: "xp" }, groupBy: "city" },
  })

describe("The groups of a closed window", () => {
  it.effect(
    "are those at the close, whichever writes of the snapshot around it are lost, and after moves",
    () =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 7 }, (_, user) => `u${user}`)
        for (let before = 0; before < 12; before += 2) {
          for (let after = 0; after < 12; after += 2) {
            const state = new MemoryStorage.MemoryState()
            const disk = { writesLeft: Number.POSITIVE_INFINITY }
            const open = startStalling(state, disk, sliced)
            yield* at("2026-11-04T23:40:00Z")
            const first = yield* open
            yield* makeBoard(first)
            for (const [index, userId] of ids.entries()) {
              yield* move(first, userId, index < 4 ? "Rome" : "Oslo")
              yield* first.engine.askUser(sandbox, reward(userId, 1 + index))
            }
            const closed = [
              ["u6", "Oslo", 1],
              ["u5", "Oslo", 2],
              ["u4", "Oslo", 3],
              ["u3", "Rome", 1],
              ["u2", "Rome", 2],
              ["u1", "Rome", 3],
              ["u0", "Rome", 4],
            ]
            const midnight = Effect.gen(function* () {
              yield* at("2026-11-05T00:00:00Z")
              for (const userId of ids) yield* move(first, userId, "Paris")
              for (const userId of ids) {
                yield* move(first, userId, userId === "u3" ? "Rome" : "Bonn")
              }
              expect(yield* groups(first, "2026-11-04")).toEqual(closed)
            })
            yield* killInSnapshot(first, disk, { before, after }, midnight)
            const second = yield* open
            expect([before, after, yield* groups(second, "2026-11-04")]).toEqual([
              before,
              after,
              closed,
            ])
            yield* snapshot
            expect(yield* groups(second, "2026-11-04")).toEqual(closed)
            const { entries } = yield* second.engine.readBoard(sandbox, {
              board: "ldb_1",
              group: "Bonn",
              limit: 100,
              offset: 0,
            })
            expect(entries.map(({ userId }) => userId)).toEqual([
              "u6",
              "u5",
              "u4",
              "u2",
              "u1",
              "u0",
            ])
            expect(second.broken).toEqual([])
            yield* second.close("kill")
          }
        }
      }),
  )

  it.effect(
    "are those at the close if the board was made while a snapshot was written that got lost",
    () =>
      Effect.gen(function* () {
        const ids = ["ada", "bob", "cyd"]
        let lost = 0
        for (let writes = 0; writes < 16; writes++) {
          const state = new MemoryStorage.MemoryState()
          const disk = { writesLeft: Number.POSITIVE_INFINITY }
          const open = startStalling(state, disk, sliced)
          yield* at("2026-11-04T23:49:30Z")
          const first = yield* open
          // Its states are stored first, then a pause follows.
          for (const userId of ids) yield* first.engine.askUser(production, reward(userId, 1))
          for (const userId of ids) yield* move(first, userId, "Rome")
          disk.writesLeft = writes
          yield* snapshot
          yield* makeBoard(first)
          for (const [index, userId] of ids.entries()) {
            yield* first.engine.askUser(sandbox, reward(userId, 3 - index))
          }
          yield* at("2026-11-05T00:00:00Z")
          for (const userId of ids) yield* move(first, userId, "Paris")
          for (const userId of ids) yield* move(first, userId, "Bonn")
          const closed = [
            ["ada", "Rome", 1],
            ["bob", "Rome", 2],
            ["cyd", "Rome", 3],
          ]
          expect(yield* groups(first, "2026-11-04")).toEqual(closed)
          yield* snapshot
          if (disk.writesLeft < 0) lost++
          disk.writesLeft = 0
          yield* first.close("kill")
          disk.writesLeft = Number.POSITIVE_INFINITY
          const second = yield* open
          expect([writes, yield* groups(second, "2026-11-04")]).toEqual([writes, closed])
          yield* snapshot
          expect([writes, yield* groups(second, "2026-11-04")]).toEqual([writes, closed])
          expect(second.broken).toEqual([])
          yield* second.close("kill")
        }
        expect(lost).toBeGreaterThan(4)
      }),
  )

  it.effect("of more users than a page has rows read back in order, also around gaps", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      yield* at("2026-11-04T23:40:00Z")
      const fixture = yield* start(MemoryStorage.make({ state }), sliced)
      yield* makeBoard(fixture)
      const size = 2 * limits.boardGroupPageRows + 1
      const ids = Array.from({ length: size }, (_, user) => `u${user}`)
      for (const [index, userId] of ids.entries()) {
        if (index % 3 > 0) yield* move(fixture, userId, index % 3 === 1 ? "Rome" : "Oslo")
        yield* fixture.engine.askUser(sandbox, reward(userId, size - index))
      }
      for (let index = size; index < 3 * size; index++) {
        yield* move(fixture, `u${index}`, "Rome")
        yield* fixture.engine.askUser(sandbox, reward(`u${index}`, 1))
      }
      yield* at("2026-11-05T00:00:00Z")
      yield* fixture.engine.askUser(sandbox, reward("u0", 1))
      const romans = [
        ...ids.filter((_, index) => index % 3 === 1),
        ...Array.from({ length: 2 * size }, (_, index) => `u${size + index}`),
      ]
      const query = { board: "ldb_1", window: "daily", at: "2026-11-04", group: "Rome" } as const
      const compare = (expected: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          for (const offset of [0, 250, limits.boardGroupPageRows - 1, expected.length - 3]) {
            const page = yield* fixture.engine.readBoard(sandbox, { ...query, limit: 100, offset })
            expect(page.total).toBe(expected.length)
            expect(page.entries.map(({ userId }) => userId)).toEqual(
              expected.slice(offset, offset + 100),
            )
          }
        })
      yield* compare(romans)
      yield* fixture.engine.askUser(sandbox, {
        userId: "u4",
        command: { kind: "profile", change: { hidden: true } },
      })
      const without = romans.filter((id) => id !== "u4")
      yield* compare(without)
      yield* snapshot
      yield* compare(without)
      yield* fixture.engine.askUser(sandbox, { userId: "u1", command: { kind: "erasure" } })
      const fewer = without.filter((id) => id !== "u1")
      yield* compare(fewer)
      yield* snapshot
      yield* compare(fewer)
      yield* fixture.close("kill")
      const again = yield* start(MemoryStorage.make({ state }), sliced)
      const page = yield* again.engine.readBoard(sandbox, { ...query, limit: 2, offset: 0 })
      expect(page.entries.map(({ inGroup, userId }) => [userId, inGroup])).toEqual([
        ["u7", { group: "Rome", rank: 1 }],
        ["u10", { group: "Rome", rank: 2 }],
      ])
      expect(page.total).toBe(fewer.length)
      yield* again.close("kill")
    }),
  )
})
