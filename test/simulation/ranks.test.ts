/**
 * Leaderboards that announce ranks, against a model: users earn and lose scores, are hidden, disqualified, merged and
 * erased; days end; leaderboards start and stop announcing; the server is stopped and killed, also in the middle of a
 * snapshot and while it announces. The model folds all records that were ever durable.
 *
 * Once nothing changes, the announced ranks of each open window are its first places. Each announcement has the rank of
 * the one before as its previous rank and another one as its rank: so kills neither lose nor repeat an announcement.
 */
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BoardWindow } from "../../src/domain/project/BoardDefinition.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import { isoTimeOrNull } from "../../src/domain/values/isoTime.ts"
import type { UserMessage } from "../../src/engine/Engine.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { event, rule, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { Random, seedsAfter } from "./random.ts"
import { openStalling, overheard } from "./windowEngine.ts"

const hour = 3_600_000

const xp = "ldb_xp"
const points = "ldb_points"
const boards = [xp, points] as const
const windows: Readonly<Record<string, ReadonlyArray<BoardWindow>>> = {
  [xp]: ["all_time", "daily", "weekly", "monthly"],
  [points]: ["all_time", "daily"],
}

const happened = { left: 0, moved: 0, entered: 0, merged: 0, erased: 0, closed: 0, kills: 0 }

/** The announced ranks by the records: by board, window and its start, of each user. */
class Announced {
  readonly #windows = new Map<string, Map<string, number>>()
  readonly #closed = new Set<string>()

  of(board: string, window: BoardWindow, startsAt: number | null): ReadonlyMap<string, number> {
    return this.#windows.get(`${board} ${window} ${isoTimeOrNull(startsAt)}`) ?? new Map()
  }

  add({ facts, subject }: JournalRecord): void {
    for (const fact of facts) {
      if (fact.kind === "leaderboard.rank_changed" && subject.actor === "user") {
        const { boardId, previousRank, rank, startsAt, window } = fact
        const name = `${boardId} ${window} ${isoTimeOrNull(startsAt)}`
        expect([name, this.#closed.has(name)]).toEqual([name, false])
        const ranks = this.#windows.get(name) ?? new Map<string, number>()
        this.#windows.set(name, ranks)
        const { userId } = subject
        expect([name, userId, previousRank]).toEqual([name, userId, ranks.get(userId) ?? null])
        expect(rank).not.toBe(previousRank)
        if (rank === null) ranks.delete(userId)
        else ranks.set(userId, rank)
        if (rank === null) happened.left++
        else if (previousRank === null) happened.entered++
        else happened.moved++
      }
      if (fact.kind === "user.deleted" || fact.kind === "user.aliased") {
        for (const ranks of this.#windows.values()) {
          ranks.delete(subject.actor === "user" ? subject.userId : "")
        }
      }
      if (fact.kind === "leaderboard.window_closed") {
        const name = `${fact.board?.boardId ?? xp} ${fact.window} ${isoTimeOrNull(fact.startsAt)}`
        this.#windows.delete(name)
        this.#closed.add(name)
        happened.closed++
      }
      if (fact.kind === "leaderboard.updated" && fact.leaderboard.announceRanks === null) {
        for (const name of this.#windows.keys()) {
          if (name.startsWith(`${fact.leaderboard.id} `)) this.#windows.delete(name)
        }
      }
    }
  }
}

const simulateRanks = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse("2026-10-28T12:00:00Z"))
  const state = new MemoryStorage.MemoryState()
  const announced = new Announced()
  const journal: Array<JournalRecord> = []
  let seen = 0
  const follow = () => {
    for (; seen < journal.length; seen++) announced.add(journal[seen]!)
  }
  const disk = { writesLeft: Number.POSITIVE_INFINITY }
  const open = openStalling(state, disk, seed, {
    over: (storage) => overheard(storage, state, journal),
    options: { erasureGatherMs: hour, erasureCheckMs: hour },
  })
  let running = yield* open
  const users = Array.from({ length: 9 }, (_, index) => `u${index}`)
  const ask = (command: Parameters<typeof running.engine.askProject>[1]) =>
    running.engine.askProject(sandbox, command)
  const askUser = (userId: string, command: UserMessage["command"]) =>
    Effect.ignore(running.engine.askUser(sandbox, { userId, command }))
  yield* ask(rule("TAP", 3))
  yield* ask({
    kind: "createLeaderboard",
    leaderboard: {
      id: points,
      name: "Points",
      score: { currency: "points" },
      windows: ["all_time", "daily"],
      order: "asc",
      ties: "first",
    },
  })
  const shown = new Map<string, number | null>(boards.map((board) => [board, null]))
  const announce = (board: string, announceRanks: number | null) =>
    Effect.map(
      ask({ kind: "updateLeaderboard", leaderboardId: board, change: { announceRanks } }),
      () => shown.set(board, announceRanks),
    )
  yield* announce(xp, 3)

  const turns = (count: number) => Effect.repeat(yieldToEventLoop, { times: count })

  const earn = Effect.gen(function* () {
    const userId = random.pick(users)
    if (random.chance(0.5)) {
      const amount = random.integer(1, 4)
      yield* askUser(userId, { kind: "reward", type: "points", amount })
      return
    }
    const occurredAt = (yield* Clock.currentTimeMillis) - random.integer(0, 30) * hour
    const asked = running.engine.askUser(sandbox, event(userId, "TAP", { occurredAt }))
    const { reply } = yield* asked
    if (random.chance(0.3)) {
      const name = recordNameOf("evt", reply.eventId)!
      yield* askUser(userId, { kind: "revocation", of: "event", ...name })
    }
  })

  const lose = Effect.gen(function* () {
    const userId = random.pick(users)
    const kind = random.next()
    if (kind < 0.35) {
      const hidden = random.chance(0.5)
      yield* askUser(userId, { kind: "profile", change: { hidden } })
    } else if (kind < 0.7) {
      const [leaderboard, disqualified] = [random.pick(boards), random.chance(0.5)]
      yield* askUser(userId, { kind: "disqualify", leaderboard, disqualified })
    } else if (kind < 0.85) {
      const into = random.pick(users)
      if (into === userId || (yield* running.engine.readUser(sandbox, into)) === undefined) return
      yield* askUser(userId, { kind: "merge", into })
      users.splice(users.indexOf(userId), 1, `${userId}+`)
      happened.merged++
    } else {
      yield* askUser(userId, { kind: "erasure" })
      happened.erased++
    }
  })

  /** The first places of the open windows of a board. */
  const places = Effect.fnUntraced(function* (board: string, limit: number) {
    const all = []
    for (const window of windows[board]!) {
      const page = yield* running.engine.readBoard(sandbox, { board, window, limit, offset: 0 })
      const first = page.entries.map(({ rank, userId }) => [userId, rank] as const)
      all.push({ window, startsAt: page.startsAt, first })
    }
    return all
  })

  const settled = Effect.fnUntraced(function* () {
    follow()
    for (const board of boards) {
      const most = shown.get(board)
      const all = yield* places(board, most ?? 1)
      for (const { first, startsAt, window } of all) {
        const told = [...announced.of(board, window, startsAt)].sort()
        const expected = most === null ? [] : [...first].sort()
        if (JSON.stringify(told) !== JSON.stringify(expected))
          return { board, window, told, expected }
      }
    }
    return undefined
  })

  const compare = Effect.gen(function* () {
    let unsettled = yield* settled()
    for (let turn = 0; unsettled !== undefined && turn < 600; turn++) {
      if (turn % 60 === 0) yield* TestClock.adjust(limits.boardRanksLookMs)
      yield* yieldToEventLoop
      unsettled = yield* settled()
    }
    expect(unsettled).toBeUndefined()
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.5) yield* earn
    else if (kind < 0.62) yield* lose
    else if (kind < 0.68) {
      yield* announce(random.pick(boards), random.pick([null, 1, 3, 5]))
    } else if (kind < 0.8) {
      const isKilled = random.chance(0.7)
      if (isKilled) {
        happened.kills++
        disk.writesLeft = random.integer(0, 12)
        yield* TestClock.adjust(random.chance(0.5) ? limits.boardRanksLookMs : 5 * hour)
        yield* turns(random.integer(0, 8))
      }
      yield* running.close(isKilled ? "kill" : undefined)
      running = yield* open
    } else if (kind < 0.9) yield* TestClock.adjust(random.integer(1, 30) * hour)
    if (random.chance(0.4)) yield* compare
  }
  yield* compare
  expect(running.broken).toEqual([])
  yield* running.close()
})

describe("Leaderboards that announce ranks", () => {
  it.effect.each(seedsAfter([1, 2, 3, 4], 2))(
    "announce each change of the first places once, over kills; LAUREL_TEST_SEED=%i",
    (seed) => simulateRanks(seed, 120),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
