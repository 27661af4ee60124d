import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { BoardWindow } from "../../../src/domain/project/BoardDefinition.ts"
import { dayOf } from "../../../src/domain/values/Calendar.ts"
import type { BoardQuery } from "../../../src/engine/boards/ReadBoard.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  event,
  type Fixture,
  reward,
  rule,
  sandbox,
  startInMemory,
  startStalling,
} from "../fixture.ts"
import { killInSnapshot, quiet, snapshot } from "./heldSnapshot.ts"

const at = (time: string) => TestClock.setTime(Date.parse(time))

const grant = ({ engine }: Fixture, userId: string, amount: number) =>
  engine.askUser(sandbox, reward(userId, amount))

const hide = ({ engine }: Fixture, userId: string, hidden: boolean) =>
  engine.askUser(sandbox, { userId, command: { kind: "profile", change: { hidden } } })

const zone = ({ engine }: Fixture, timezone: string) =>
  engine.askProject(sandbox, { kind: "updateSettings", change: { timezone } })

const read = (
  { engine }: { readonly engine: Engine["Service"] },
  window: BoardWindow,
  query: Partial<BoardQuery> = {},
) => engine.readBoard(sandbox, { window, limit: 100, offset: 0, ...query })

/** `["u1", 50, 1]`: user, xp and rank of each entry. */
const rows = (...args: Parameters<typeof read>) =>
  Effect.map(read(...args), ({ entries }) =>
    entries.map(({ rank, score, userId }) => [userId, score, rank]),
  )

const closings = ({ committed }: Fixture) =>
  committed.flatMap(({ facts }) =>
    facts.flatMap((fact) =>
      fact.kind === "leaderboard.window_closed"
        ? [[fact.window, new Date(fact.startsAt).toISOString(), fact.total]]
        : [],
    ),
  )

describe("The board of a window", () => {
  it.effect(
    "is empty at the start of each day, and the board of the day before does not change",
    () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T10:00:00Z")
        const fixture = yield* startInMemory({}, quiet)
        yield* grant(fixture, "ada", 10)
        yield* grant(fixture, "bob", 20)
        expect(yield* rows(fixture, "daily")).toEqual([
          ["bob", 20, 1],
          ["ada", 10, 2],
        ])
        yield* at("2026-11-05T00:00:00Z")
        expect(yield* rows(fixture, "daily")).toEqual([])
        yield* grant(fixture, "ada", 5)
        expect(yield* rows(fixture, "daily")).toEqual([["ada", 5, 1]])
        expect(yield* rows(fixture, "daily", { at: "2026-11-04" })).toEqual([
          ["bob", 20, 1],
          ["ada", 10, 2],
        ])
        expect(yield* rows(fixture, "weekly")).toEqual([
          ["bob", 20, 1],
          ["ada", 15, 2],
        ])
        expect(yield* rows(fixture, "all_time")).toEqual([
          ["bob", 20, 1],
          ["ada", 15, 2],
        ])
      }),
  )

  it.effect(
    "is the same before the record of its end, while it is frozen, and once it is stored",
    () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T10:00:00Z")
        const state = new MemoryStorage.MemoryState()
        const fixture = yield* startInMemory({ state }, quiet)
        for (let user = 0; user < 100; user++) yield* grant(fixture, `u${user}`, 1 + (user % 7))
        const before = yield* read(fixture, "daily")
        yield* at("2026-11-05T00:00:00Z")
        const { startsAt, endsAt, entries, total } = yield* read(fixture, "daily", {
          at: "2026-11-04",
        })
        expect({ entries, total }).toEqual({ entries: before.entries, total: before.total })
        expect([startsAt, endsAt]).toEqual([
          Date.parse("2026-11-04T00:00:00Z"),
          Date.parse("2026-11-05T00:00:00Z"),
        ])
        yield* snapshot
        expect(yield* read(fixture, "daily", { at: "2026-11-04" })).toEqual({
          startsAt,
          endsAt,
          entries,
          total,
          offset: 0,
          filling: false,
          closed: true,
          paying: false,
        })
        expect(
          yield* read(fixture, "daily", { at: Date.parse("2026-11-04T23:59:59Z") }),
        ).toMatchObject({ entries })
        yield* fixture.close("kill")
        const second = yield* startInMemory({ state }, quiet)
        expect((yield* read(second, "daily", { at: "2026-11-04" })).entries).toEqual(entries)
        yield* second.close()
      }),
  )

  it.effect("closes with a record of how many users it had, once for each kind", () =>
    Effect.gen(function* () {
      yield* at("2026-11-29T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* grant(fixture, "ada", 10)
      yield* grant(fixture, "bob", 20)
      yield* at("2026-11-30T00:00:00Z")
      yield* grant(fixture, "bob", 1)
      yield* at("2026-12-05T12:00:00Z")
      expect(closings(fixture)).toEqual([
        ["weekly", "2026-11-23T00:00:00.000Z", 2],
        ["daily", "2026-11-29T00:00:00.000Z", 2],
        ["monthly", "2026-11-01T00:00:00.000Z", 2],
        ["daily", "2026-11-30T00:00:00.000Z", 1],
      ])
    }),
  )

  it.effect("counts weeks as ISO does, also at the turn of a year", () =>
    Effect.gen(function* () {
      yield* at("2026-12-31T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* grant(fixture, "ada", 10)
      yield* at("2027-01-03T23:59:59Z")
      yield* grant(fixture, "ada", 5)
      const week = yield* read(fixture, "weekly")
      expect(week).toMatchObject({
        startsAt: Date.parse("2026-12-28T00:00:00Z"),
        endsAt: Date.parse("2027-01-04T00:00:00Z"),
      })
      expect(yield* rows(fixture, "weekly")).toEqual([["ada", 15, 1]])
      expect(yield* rows(fixture, "monthly")).toEqual([["ada", 5, 1]])
      yield* at("2027-01-04T00:00:00Z")
      expect(yield* rows(fixture, "weekly")).toEqual([])
      expect(yield* rows(fixture, "weekly", { at: "2026-12-28" })).toEqual([["ada", 15, 1]])
      expect(yield* rows(fixture, "monthly", { at: "2026-12-01" })).toEqual([["ada", 10, 1]])
    }),
  )

  it.effect.each([
    ["Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
    ["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
    ["America/New_York", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"],
    ["America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"],
    // Clocks went back from 00:01 to 23:01: the day that had ended began again.
    ["America/St_Johns", "2010-11-06", "2010-11-06T02:30:00Z", "2010-11-07T02:30:00Z"],
    // The day began at 01:00.
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"],
  ] as const)("ends when the local day does: %s, %s", ([timezone, date, startsAt, endsAt]) =>
    Effect.gen(function* () {
      yield* at(startsAt)
      const fixture = yield* startInMemory({}, quiet)
      yield* zone(fixture, timezone)
      yield* grant(fixture, "ada", 1)
      yield* TestClock.setTime(Date.parse(endsAt) - 1)
      yield* grant(fixture, "ada", 2)
      expect(closings(fixture)).toEqual([])
      yield* at(endsAt)
      yield* grant(fixture, "ada", 4)
      expect(closings(fixture)).toContainEqual(["daily", new Date(startsAt).toISOString(), 1])
      expect(yield* rows(fixture, "daily", { at: date })).toEqual([["ada", 3, 1]])
      expect(yield* rows(fixture, "daily")).toEqual([["ada", 4, 1]])
      yield* TestClock.adjust(90 * 60_000)
      yield* grant(fixture, "ada", 8)
      expect(yield* rows(fixture, "daily")).toEqual([["ada", 12, 1]])
      expect(yield* rows(fixture, "daily", { at: date })).toEqual([["ada", 3, 1]])
    }),
  )

  it.effect("closes at once when a change of zone ends it, and does not open again", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T20:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* grant(fixture, "ada", 1)
      yield* zone(fixture, "Asia/Tokyo")
      yield* TestClock.adjust(1)
      expect(closings(fixture)).toEqual([["daily", "2026-11-03T15:00:00.000Z", 1]])
      yield* grant(fixture, "ada", 2)
      yield* zone(fixture, "UTC")
      yield* grant(fixture, "bob", 4)
      expect(yield* rows(fixture, "daily")).toEqual([
        ["bob", 4, 1],
        ["ada", 2, 2],
      ])
      expect(yield* rows(fixture, "daily", { at: "2026-11-04" })).toEqual([["ada", 1, 1]])
      yield* at("2026-11-05T12:00:00Z")
      expect(yield* rows(fixture, "daily")).toHaveLength(2)
      expect(closings(fixture)).toHaveLength(1)
      yield* at("2026-11-06T00:00:00Z")
      expect(closings(fixture)).toHaveLength(2)
    }),
  )

  it.effect("lists each user once, also if the zone changes and changes back at once", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const fixture = yield* startInMemory({ state }, quiet)
      yield* grant(fixture, "ada", 1)
      const asked = yield* Effect.forkChild(
        Effect.all(
          [
            zone(fixture, "Pacific/Kiritimati"),
            grant(fixture, "ada", 2),
            zone(fixture, "Pacific/Pago_Pago"),
            grant(fixture, "ada", 4),
            grant(fixture, "bob", 8),
          ],
          { concurrency: "unbounded" },
        ),
        { startImmediately: true },
      )
      yield* Fiber.join(asked)
      yield* at("2026-11-08T12:00:00Z")
      const all = yield* Effect.forEach([3, 4, 5, 6], (day) =>
        rows(fixture, "daily", { at: `2026-11-0${day}` }),
      )
      expect(all.flat().reduce((sum, [, score]) => sum + Number(score), 0)).toBe(15)
      expect(all.filter((board) => board.some(([userId]) => userId === "ada"))).toHaveLength(2)
      yield* fixture.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      const again = yield* Effect.forEach([3, 4, 5, 6], (day) =>
        rows(second, "daily", { at: `2026-11-0${day}` }),
      )
      expect(again).toEqual(all)
    }),
  )

  it.effect("closes once, at the next start, if it ended while the server was down", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T20:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* grant(first, "ada", 7)
      yield* first.close("kill")
      yield* at("2026-11-10T09:00:00Z")
      const second = yield* startInMemory({ state }, quiet)
      expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual([["ada", 7, 1]])
      yield* TestClock.adjust(1)
      expect(closings(second)).toEqual([
        ["weekly", "2026-11-02T00:00:00.000Z", 1],
        ["daily", "2026-11-04T00:00:00.000Z", 1],
      ])
      yield* second.close()
      const third = yield* startInMemory({ state }, quiet)
      yield* snapshot
      expect(closings(third)).toEqual([])
      expect(yield* rows(third, "daily", { at: "2026-11-04" })).toEqual([["ada", 7, 1]])
      yield* third.close()
    }),
  )

  it.effect("does not open again when the clock is set back", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T20:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* grant(first, "ada", 1)
      yield* at("2026-11-05T00:10:00Z")
      yield* grant(first, "ada", 2)
      yield* at("2026-11-04T23:00:00Z")
      yield* grant(first, "ada", 4)
      expect(yield* rows(first, "daily")).toEqual([["ada", 6, 1]])
      yield* first.close()
      const second = yield* startInMemory({ state }, quiet)
      yield* grant(second, "ada", 8)
      expect(yield* rows(second, "daily")).toEqual([["ada", 14, 1]])
      expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual([["ada", 1, 1]])
      yield* second.close()
    }),
  )

  it.effect("counts late records while it is open", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T23:50:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, rule("TAP", 10))
      const late = (time: string) =>
        fixture.engine.askUser(sandbox, event("ada", "TAP", { occurredAt: Date.parse(time) }))
      yield* late("2026-11-04T00:00:00Z")
      yield* late("2026-11-03T23:59:59Z")
      expect(yield* rows(fixture, "daily")).toEqual([["ada", 10, 1]])
      expect(yield* rows(fixture, "weekly")).toEqual([["ada", 20, 1]])
      yield* at("2026-11-05T00:00:00Z")
      yield* late("2026-11-04T23:59:59Z")
      expect(yield* rows(fixture, "daily")).toEqual([])
      expect(yield* rows(fixture, "daily", { at: "2026-11-04" })).toEqual([["ada", 10, 1]])
      expect(yield* rows(fixture, "weekly")).toEqual([["ada", 30, 1]])
    }),
  )

  it.effect(
    "has the ranks of the window before, whether that board is open, frozen or stored",
    () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T20:00:00Z")
        const fixture = yield* startInMemory({}, quiet)
        yield* grant(fixture, "ada", 10)
        yield* grant(fixture, "bob", 20)
        yield* grant(fixture, "cyd", 20)
        yield* at("2026-11-05T00:00:00Z")
        yield* grant(fixture, "ada", 1)
        yield* grant(fixture, "new", 1)
        yield* grant(fixture, "cyd", 1)
        const previous = Effect.map(read(fixture, "daily"), ({ entries }) =>
          entries.map(({ previousRank, userId }) => [userId, previousRank]),
        )
        const expected = [
          ["ada", 3],
          ["new", null],
          ["cyd", 1],
        ]
        expect(yield* previous).toEqual(expected)
        yield* snapshot
        expect(yield* previous).toEqual(expected)
        expect(
          (yield* read(fixture, "all_time")).entries.map((entry) => entry.previousRank),
        ).toEqual([null, null, null, null])
        yield* at("2026-11-06T00:00:00Z")
        const past = yield* read(fixture, "daily", { at: "2026-11-05" })
        expect(past.entries.map(({ previousRank }) => previousRank)).toEqual([3, null, 1])
      }),
  )

  it.effect("is kept for the number of windows in the limits", () =>
    Effect.gen(function* () {
      const kept = limits.boardDailyWindowsKept
      yield* at("2026-11-01T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const fixture = yield* startInMemory({ state }, quiet)
      yield* grant(fixture, "old", 1)
      yield* TestClock.adjust(86_400_000)
      yield* grant(fixture, "next", 1)
      yield* TestClock.adjust((kept - 1) * 86_400_000)
      expect(yield* rows(fixture, "daily", { at: "2026-11-01" })).toEqual([["old", 1, 1]])
      yield* TestClock.adjust(86_400_000)
      const error = yield* Effect.flip(read(fixture, "daily", { at: "2026-11-01" }))
      expect(error.errors).toEqual([
        {
          pointer: "query/at",
          code: "out_of_range",
          detail: "must lie in the present window or in the 31 before it",
        },
      ])
      yield* grant(fixture, "next", 1)
      yield* snapshot
      expect(yield* rows(fixture, "daily", { at: "2026-11-02" })).toEqual([["next", 1, 1]])
      const texts = state
        .table("boards")
        .entries({ table: "boards", from: new Uint8Array(), until: Uint8Array.of(255) })
        .map(([key]) => Buffer.from(key).toString("latin1"))
      const day = dayOf("2026-11-01")!
      expect(texts.filter((key) => key.includes("daily"))).not.toEqual([])
      const low = String.fromCharCode((day >>> 8) & 255, day & 255)
      expect(texts.filter((key) => key.includes(`daily\x80\0\0\0\0\0${low}`))).toEqual([])
      yield* fixture.close()
    }),
  )
})

describe("A page around a user", () => {
  it.effect(
    "has the user in its middle, moves at the ends of the board, and has the user's entry",
    () =>
      Effect.gen(function* () {
        const fixture = yield* startInMemory({}, quiet)
        for (let user = 0; user < 9; user++) yield* grant(fixture, `u${user}`, 90 - user)
        const around = (userId: string, limit: number) =>
          Effect.map(read(fixture, "all_time", { around: userId, limit }), (page) => ({
            users: page.entries.map(({ userId }) => userId).join(" "),
            offset: page.offset,
            me: page.me && [page.me.userId, page.me.rank],
          }))
        expect(yield* around("u4", 3)).toEqual({ users: "u3 u4 u5", offset: 3, me: ["u4", 5] })
        expect(yield* around("u4", 1)).toEqual({ users: "u4", offset: 4, me: ["u4", 5] })
        expect(yield* around("u4", 4)).toEqual({ users: "u2 u3 u4 u5", offset: 2, me: ["u4", 5] })
        expect(yield* around("u0", 3)).toEqual({ users: "u0 u1 u2", offset: 0, me: ["u0", 1] })
        expect(yield* around("u8", 3)).toEqual({ users: "u6 u7 u8", offset: 6, me: ["u8", 9] })
        expect(yield* around("u8", 100)).toMatchObject({ offset: 0, me: ["u8", 9] })
      }),
  )

  it.effect(
    "is the first page for a user who is not listed, and is refused for an unknown user",
    () =>
      Effect.gen(function* () {
        const fixture = yield* startInMemory({}, quiet)
        yield* grant(fixture, "ada", 10)
        yield* fixture.engine.askUser(sandbox, event("idle", "TAP"))
        const page = yield* read(fixture, "all_time", { around: "idle" })
        expect([page.me, page.offset, page.entries.length]).toEqual([null, 0, 1])
        const error = yield* Effect.flip(read(fixture, "all_time", { around: "nobody" }))
        expect(error.code).toBe("user_not_found")
      }),
  )
})

describe("A hidden user", () => {
  it.effect("leaves every board at once, also past ones, and lower ranks move up", () =>
    Effect.gen(function* () {
      yield* at("2026-11-03T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      let fixture = yield* startInMemory({ state }, quiet)
      const users = ["ada", "bob", "cyd", "dan"]
      for (const day of ["03", "04", "05"]) {
        yield* at(`2026-11-${day}T12:00:00Z`)
        for (const [index, userId] of users.entries())
          yield* grant(fixture, userId, 40 - 10 * index)
      }
      // The third was closed and stored, the fourth closed just now, the fifth is open.
      yield* at("2026-11-05T00:00:00Z")
      const boards = () =>
        Effect.forEach(
          [
            ["all_time", {}],
            ["daily", {}],
            ["daily", { at: "2026-11-04" }],
            ["daily", { at: "2026-11-03" }],
          ] as const,
          ([window, query]) => rows(fixture, window, query),
        )
      yield* hide(fixture, "bob", true)
      const ranks = [
        ["ada", 1],
        ["cyd", 2],
        ["dan", 3],
      ]
      const listed = (all: ReadonlyArray<ReadonlyArray<ReadonlyArray<unknown>>>) =>
        all.map((board) => board.map(([userId, , rank]) => [userId, rank]))
      expect(listed(yield* boards())).toEqual([ranks, ranks, ranks, ranks])
      yield* snapshot
      expect(listed(yield* boards())).toEqual([ranks, ranks, ranks, ranks])
      expect((yield* read(fixture, "daily", { at: "2026-11-03", around: "bob" })).me).toBeNull()
      yield* fixture.close("kill")
      fixture = yield* startInMemory({ state }, quiet)
      expect(listed(yield* boards())).toEqual([ranks, ranks, ranks, ranks])
      yield* hide(fixture, "bob", false)
      const shown = [
        ["ada", 1],
        ["bob", 2],
        ["cyd", 3],
        ["dan", 4],
      ]
      expect(listed(yield* boards())).toEqual([shown, shown, ranks, ranks])
    }),
  )

  it.effect("is not listed when xp come in, and returns with all of them", () =>
    Effect.gen(function* () {
      yield* at("2026-11-03T12:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* hide(fixture, "ada", true)
      yield* grant(fixture, "ada", 10)
      yield* grant(fixture, "bob", 15)
      expect(yield* rows(fixture, "daily")).toEqual([["bob", 15, 1]])
      yield* grant(fixture, "ada", 10)
      yield* hide(fixture, "ada", false)
      expect(yield* rows(fixture, "daily")).toEqual([
        ["ada", 20, 1],
        ["bob", 15, 2],
      ])
    }),
  )
})

describe("An erased user", () => {
  const boardsHold = (state: MemoryStorage.MemoryState, userId: string) =>
    state
      .table("boards")
      .entries({ table: "boards", from: new Uint8Array(), until: Uint8Array.of(255) })
      .some(([, value]) => Buffer.from(value).includes(userId))

  it.effect("leaves no trace in stored boards, also if the storing was interrupted", () =>
    Effect.gen(function* () {
      // Long ids, so that the board takes several transactions, and its pages change when one user
      // is gone.
      const ids = Array.from({ length: 1_600 }, (_, user) => `${"🦊".repeat(120)}${user}.`)
      for (const writes of [0, 1, 2, 3]) {
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Number.POSITIVE_INFINITY }
        const open = startStalling(state, disk, quiet)
        yield* at("2026-11-04T12:00:00Z")
        const first = yield* open
        yield* first.engine.askUsers(
          sandbox,
          ids.map((userId, index) => reward(userId, 2_000 - index)),
        )
        yield* at("2026-11-05T00:00:00Z")
        disk.writesLeft = writes
        yield* snapshot
        yield* first.close("kill")
        disk.writesLeft = Number.POSITIVE_INFINITY
        const second = yield* open
        const gone = [1, 500, 1_599].map((index) => ids[index]!)
        for (const userId of gone) yield* hide(second, userId, true)
        const expected = ids.filter((userId) => !gone.includes(userId))
        const ranks = Effect.map(
          Effect.forEach([0, 450, 1_597 - 100], (offset) =>
            read(second, "daily", { at: "2026-11-04", offset }),
          ),
          (pages) => pages.map(({ entries }) => entries.map(({ rank, userId }) => [userId, rank])),
        )
        const asRanks = (offset: number) =>
          expected.slice(offset, offset + 100).map((userId, index) => [userId, offset + index + 1])
        const allRanks = [asRanks(0), asRanks(450), asRanks(1_597 - 100)]
        expect(yield* ranks).toEqual(allRanks)
        yield* snapshot
        expect(yield* ranks).toEqual(allRanks)
        expect(gone.filter((userId) => boardsHold(state, userId))).toEqual([])
        expect(boardsHold(state, ids[0]!)).toBe(true)
        yield* second.close("kill")
      }
    }),
  )
})

describe("A storage that fails", () => {
  it.effect("while a board is written does not damage the board", () =>
    Effect.gen(function* () {
      for (let writes = 0, done = false; !done; writes++) {
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Number.POSITIVE_INFINITY }
        const open = startStalling(state, disk, { ...quiet, snapshotSliceEntriesMax: 3 })
        yield* at("2026-11-04T12:00:00Z")
        const first = yield* open
        for (let user = 0; user < 9; user++) yield* grant(first, `u${user}`, 1 + user)
        yield* snapshot
        yield* at("2026-11-05T00:00:00Z")
        yield* grant(first, "u1", 100)
        yield* hide(first, "u8", true)
        disk.writesLeft = writes
        yield* snapshot
        done = disk.writesLeft > 0
        yield* first.close("kill")
        disk.writesLeft = Number.POSITIVE_INFINITY
        const second = yield* open
        const day4 = [7, 6, 5, 4, 3, 2, 1, 0].map((user, index) => [
          `u${user}`,
          1 + user,
          index + 1,
        ])
        expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual(day4)
        expect(yield* rows(second, "daily")).toEqual([["u1", 100, 1]])
        yield* snapshot
        expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual(day4)
        yield* second.close("kill")
      }
    }),
  )

  it.effect("in a snapshot during which the window closes does not damage the board", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 7 }, (_, user) => `u${user}`)
      for (let before = 0; before < 12; before++) {
        for (let after = 0; after < 12; after += 2) {
          const state = new MemoryStorage.MemoryState()
          const disk = { writesLeft: Number.POSITIVE_INFINITY }
          const open = startStalling(state, disk, { ...quiet, snapshotSliceEntriesMax: 2 })
          yield* at("2026-11-04T23:40:00Z")
          const first = yield* open
          for (const [index, userId] of ids.entries()) yield* grant(first, userId, 1 + index)
          const midnight = Effect.gen(function* () {
            yield* at("2026-11-05T00:00:00Z")
            for (const userId of ids) yield* grant(first, userId, 10)
          })
          yield* killInSnapshot(first, disk, { before, after }, midnight)
          const second = yield* open
          const day4 = ids
            .map((userId, index) => [userId, 1 + index, ids.length - index])
            .toReversed()
          expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual(day4)
          yield* snapshot
          expect(yield* rows(second, "daily", { at: "2026-11-04" })).toEqual(day4)
          expect(second.broken).toEqual([])
          yield* second.close("kill")
        }
      }
    }),
  )
})
