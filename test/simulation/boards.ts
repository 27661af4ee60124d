/**
 * One seeded run of the leaderboards against the model: days, weeks and years pass, clocks change,
 * the project moves between zones, users earn and lose xp, move between groups, are hidden. The engine is
 * stopped and killed, also in the middle of a snapshot, and stays off for some time. Every board is
 * compared, present and past, and so are the prizes that closed windows have paid. Two further leaderboards of xp must have the same scores: one with the
 * same order but for ties, and one with the lowest score first. Others end: at their times, which may
 * move, or early.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  type BoardWindow,
  boardOrders,
  boardWindows,
  namedWindows,
} from "../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"
import {
  type DaysWindow,
  dateOf,
  dayOf,
  firstDayOf,
  type TimedWindow,
  timedWindows,
  windowKinds,
} from "../../src/domain/values/Calendar.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { BoardEntry, WindowQuery } from "../../src/engine/boards/ReadBoard.ts"
import { windowsKept } from "../../src/engine/boards/Retention.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { event, reward, rule, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { BoardModel, type Credit, type ModelEntry, modelPrizes, type Season } from "./BoardModel.ts"
import { Random } from "./random.ts"
import { openTroubled, SnapshotDisk, troubleSnapshot } from "./windowEngine.ts"

export const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Kiritimati",
  "Pacific/Pago_Pago",
  // Here midnight came twice in one night, until 2011, and not at all in another.
  "America/St_Johns",
  "America/Sao_Paulo",
]

/** Times shortly before a week with a new year or a change of clocks. */
export const beginnings = [
  "2010-03-10T12:00:00Z",
  "2010-11-04T12:00:00Z",
  "2018-02-14T12:00:00Z",
  "2018-11-01T12:00:00Z",
  "2026-03-06T12:00:00Z",
  "2026-03-27T12:00:00Z",
  "2026-10-23T12:00:00Z",
  "2026-12-29T12:00:00Z",
  "2027-12-30T12:00:00Z",
]

const spans: ReadonlyArray<DaysWindow> = [
  { days: 2, anchor: "2026-01-05" },
  { days: 14, anchor: "2030-12-31" },
  { days: 3, anchor: "2009-06-01" },
  { days: 45, anchor: "2018-11-03" },
  { days: 92, anchor: "1969-02-28" },
]

/** Not drawn, so that a seed of earlier versions does the same. */
const spanOf = (seed: number): DaysWindow => spans[Math.abs(seed) % spans.length]!
/** Groups; a number counts as text. */
const cities = ["Berlin", "constructor", "🦊".repeat(200), 7, "", null]

const minute = 60_000
const day = 1_440 * minute

export const simulateBoards = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse(random.pick(beginnings)))
  const state = new MemoryStorage.MemoryState()
  const model = new BoardModel(yield* Clock.currentTimeMillis, spanOf(seed))
  const disk = new SnapshotDisk()
  const open = openTroubled(state, disk, seed)
  let running = yield* open
  // Long ids, so that a stored board has several pages.
  const users = Array.from({ length: 12 }, (_, index) =>
    index % 3 === 0 ? `constructor${index}` : "🦊".repeat(100 + index),
  )
  const undoable: Array<{
    userId: string
    eventId: string
    credit: Credit
  }> = []
  yield* running.engine.askProject(sandbox, rule("TAP", 3))
  const prizes = windowKinds.flatMap((window) =>
    modelPrizes.map(({ points, ...wins }): BoardPrize => {
      const reward = { xp: 0, points, badgeId: null }
      return { window, ...wins, reward }
    }),
  )
  yield* running.engine.askProject(sandbox, {
    kind: "updateLeaderboard",
    leaderboardId: "xp",
    change: { prizes },
  })
  for (const order of boardOrders) {
    const id = `ldb_${order}`
    const ties = order === "asc" ? "first" : "shared"
    const windows = [...namedWindows, model.span]
    const groupBy = "city"
    const leaderboard = {
      id,
      name: order,
      score: { currency: "xp" },
      windows,
      order,
      ties,
      groupBy,
    } as const
    yield* running.engine.askProject(sandbox, { kind: "createLeaderboard", leaderboard })
  }

  /** Begins a leaderboard that ends. */
  const season = Effect.gen(function* () {
    const id = `ldb_season${model.seasons.length}`
    const hasWindows = model.seasons.length === 0
    const endsAt = model.now + random.integer(1, 20 * day)
    yield* running.engine.askProject(sandbox, {
      kind: "createLeaderboard",
      leaderboard: {
        id,
        name: id,
        score: { currency: "xp" },
        windows: hasWindows ? [...namedWindows, model.span] : ["all_time"],
        groupBy: "city",
        prizes: modelPrizes.flatMap(({ points, ...wins }) =>
          (hasWindows ? (["all_time", "weekly"] as const) : (["all_time"] as const)).map(
            (window): BoardPrize => ({ window, ...wins, reward: { xp: 0, points, badgeId: null } }),
          ),
        ),
        endsAt,
      },
    })
    model.seasons.push({ id, hasWindows, endsAt })
  })

  /** Moves the end of a leaderboard, ends it now, or begins the next one. */
  const end = Effect.gen(function* () {
    const chosen = model.seasons.find(({ ended }) => ended === undefined)
    if (chosen === undefined) {
      if (model.seasons.length < 6) yield* season
    } else if (random.chance(0.5)) {
      chosen.endsAt = model.now + random.integer(1, 20 * day)
      yield* running.engine.askProject(sandbox, {
        kind: "updateLeaderboard",
        leaderboardId: chosen.id,
        change: { endsAt: chosen.endsAt },
      })
    } else {
      yield* running.engine.askProject(sandbox, {
        kind: "closeLeaderboard",
        leaderboardId: chosen.id,
      })
      chosen.endsAt = model.now
      model.end(chosen)
    }
    // The engine then looks for windows that are over. One that listed nobody at its end is still open,
    // and lists users who are shown again.
    model.close()
    yield* settle
  })

  const zone = Effect.suspend(() => {
    const timezone = random.pick(zones)
    model.move(timezone)
    return running.engine.askProject(sandbox, { kind: "updateSettings", change: { timezone } })
  })

  /** Ends when no closed window has prizes left to pay. */
  const paid = Effect.gen(function* () {
    for (let turn = 0; turn < 10_000; turn++) {
      yield* yieldToEventLoop
      const { payouts } = yield* running.engine.readProject(sandbox)
      if (turn > 5 && payouts.size === 0) return
    }
    throw new Error("The payouts have not ended")
  })

  const pass = (ms: number) =>
    Effect.andThen(
      TestClock.adjust(ms),
      Effect.sync(() => model.advance(model.now + ms)),
    )

  /** Lets the engine close the windows that are over. */
  const settle = Effect.andThen(
    TestClock.adjust(1),
    Effect.andThen(
      paid,
      Effect.sync(() => model.advance(model.now + 1)),
    ),
  )

  const earn = Effect.gen(function* () {
    const userId = random.pick(users)
    if (random.chance(0.4)) {
      const amount = random.integer(1, 3)
      yield* running.engine.askUser(sandbox, reward(userId, amount))
      model.earn(userId, amount)
      return
    }
    const late = random.chance(0.3) ? random.integer(0, 3 * day) : 0
    const occurredAt = model.now - late
    const { reply } = yield* running.engine.askUser(sandbox, event(userId, "TAP", { occurredAt }))
    const credit = model.earn(userId, 3, occurredAt)
    undoable.push({ userId, eventId: reply.eventId, credit })
  })

  const undo = Effect.gen(function* () {
    const chosen = undoable.splice(random.integer(0, undoable.length - 1), 1)[0]
    if (chosen === undefined) return
    const { credit, eventId, userId } = chosen
    const { at, sequence } = recordNameOf("evt", eventId)!
    const command = { kind: "revocation", of: "event", sequence, at } as const
    yield* running.engine.askUser(sandbox, { userId, command })
    model.undo(userId, credit)
  })

  const hide = Effect.gen(function* () {
    const userId = random.pick(users)
    const hidden = random.chance(0.5)
    yield* running.engine.askUser(sandbox, {
      userId,
      command: { kind: "profile", change: { hidden } },
    })
    model.hide(userId, hidden)
  })

  const regroup = Effect.gen(function* () {
    const userId = random.pick(users)
    const city = random.pick(cities)
    yield* running.engine.askUser(sandbox, {
      userId,
      command: { kind: "profile", change: { attributes: city === null ? {} : { city } } },
    })
    model.regroup(userId, city === null || city === "" ? null : String(city))
  })

  const kill = Effect.gen(function* () {
    // In the middle of a snapshot or at any moment; the next start is at once or days later.
    if (random.chance(0.6)) {
      const others = [earn, regroup, end, undo, hide]
      const isDead = yield* troubleSnapshot(
        disk,
        random,
        Effect.andThen(pass(300 * minute), paid),
        others,
      )
      if (!isDead && random.chance(0.5)) return
    }
    yield* running.close("kill")
    if (random.chance(0.5)) yield* pass(random.integer(1, 3 * day))
    running = yield* open
    model.close()
    yield* settle
  })

  yield* season
  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.4) yield* earn
    else if (kind < 0.52) yield* regroup
    else if (kind < 0.55) yield* end
    else if (kind < 0.62) yield* undo
    else if (kind < 0.7) yield* hide
    else if (kind < 0.76) yield* Effect.andThen(zone, settle)
    else if (kind < 0.8) yield* kill
    else if (kind < 0.82) {
      yield* running.close()
      running = yield* open
      model.close()
      yield* settle
    } else if (kind < 0.95) yield* Effect.andThen(pass(random.integer(1, 600) * minute), paid)
    else yield* Effect.andThen(pass(random.integer(1, 10) * day), paid)
    if (step % 5 === 0) yield* compare(running.engine, model, random, users)
  }
  yield* paid
  yield* compare(running.engine, model, random, users)
  expect(running.broken).toEqual([])
  yield* running.close()
})

const compare = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: BoardModel,
  random: Random,
  users: ReadonlyArray<string>,
) {
  yield* compareBoard(engine, model, random, users, "all_time", 0)
  for (const userId of model.users.keys()) {
    const points = (yield* engine.readUser(sandbox, userId))?.points
    expect([userId, points]).toEqual([userId, model.won.get(userId) ?? 0])
  }
  for (const season of model.seasons) yield* compareSeason(engine, model, season)
  for (const kind of timedWindows) {
    const open = model.open(kind)
    for (const index of [open, open - 1, open - random.integer(2, 12)]) {
      yield* compareBoard(engine, model, random, users, kind, index)
    }
  }
})

const firstDateOf = ({ span }: BoardModel, kind: TimedWindow, index: number): string =>
  dateOf(kind === "days" ? dayOf(span.anchor)! + span.days * index : firstDayOf(kind, index))

/** How many of the last windows of a season are compared. */
const lastCompared = 3

/** The order of users with equal scores is not compared: a board that was made later lacks the records. */
const compareSeason = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: BoardModel,
  season: Season,
) {
  const read = Effect.fnUntraced(function* (window: BoardWindow, index: number) {
    const page = yield* engine.readBoard(sandbox, {
      board: season.id,
      window,
      ...(window !== "all_time" && { at: firstDateOf(model, window, index) }),
      limit: 100,
      offset: 0,
    })
    const rows = page.entries.map(({ inGroup, rank, score, userId }) => ({
      rank,
      userId,
      xp: score,
      group: inGroup?.group ?? null,
    }))
    return { closed: page.closed, rows: rows.sort(byUser) }
  })
  if (season.ended === undefined) {
    const { closed, rows } = yield* read("all_time", 0)
    const expected = model
      .board("all_time")
      .map(({ group, rank, userId, xp }) => ({ rank, userId, xp, group }))
      .sort(byUser)
    expect([season.id, closed, rows]).toEqual([season.id, false, expected])
    return
  }
  for (const kind of boardWindows) {
    const indexes = [...season.ended.keys()].flatMap((name) =>
      name.startsWith(kind) ? [Number(name.split(" ")[1])] : [],
    )
    for (const index of indexes.sort((one, other) => one - other).slice(-lastCompared)) {
      const expected = model
        .final(season, `${kind} ${index}`)
        .map(({ group, rank, userId, xp }) => ({ rank, userId, xp, group }))
        .sort(byUser)
      const found = yield* read(kind, index)
      expect([season.id, kind, index, found]).toEqual([
        season.id,
        kind,
        index,
        { closed: true, rows: expected },
      ])
    }
  }
})

/** The ranks in groups of the entries of a whole board. */
export const compareGroups = (entries: ReadonlyArray<BoardEntry>, shared: boolean): void => {
  for (const [index, { inGroup, score }] of entries.entries()) {
    if (inGroup === null) continue
    const before = entries
      .slice(0, index)
      .filter((other) => other.inGroup?.group === inGroup.group)
      .filter((other) => !shared || other.score !== score)
    expect([index, inGroup]).toEqual([index, { group: inGroup.group, rank: before.length + 1 }])
  }
}

/** Pages of a group, also around a user, beside the entries of the whole board. */
const comparePagesOfGroup = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  random: Random,
  window: WindowQuery,
  entries: ReadonlyArray<BoardEntry>,
) {
  const group = String(random.pick(cities))
  const own = entries.filter(({ inGroup }) => inGroup?.group === group)
  const offset = random.integer(0, own.length + 1)
  const limit = random.integer(1, 4)
  const asked = { ...window, group, limit }
  expect(yield* engine.readBoard(sandbox, { ...asked, offset })).toMatchObject({
    total: own.length,
    entries: own.slice(offset, offset + limit),
  })
  if (entries.length === 0) return
  const { inGroup, userId } = random.pick(entries)
  const at = own.findIndex((entry) => entry.userId === userId)
  const first = at < 0 ? 0 : Math.max(0, Math.min(at - Math.floor(limit / 2), own.length - limit))
  expect(yield* engine.readBoard(sandbox, { ...asked, offset: 0, around: userId })).toMatchObject({
    offset: first,
    me: inGroup?.group === group ? own[at] : null,
    entries: own.slice(first, first + limit),
  })
})

const byUser = (one: { readonly userId: string }, other: { readonly userId: string }): number =>
  one.userId < other.userId ? -1 : 1

const compareBoard = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: BoardModel,
  random: Random,
  users: ReadonlyArray<string>,
  kind: "all_time" | TimedWindow,
  index: number,
) {
  const window =
    kind === "all_time" ? { window: kind } : { window: kind, at: firstDateOf(model, kind, index) }
  const expected = model.board(kind, index)
  const before = kind === "all_time" ? [] : model.board(kind, index - 1)
  const isOldest = kind !== "all_time" && index === model.open(kind) - windowsKept[kind]
  const shown = ({ rank, userId, xp }: ModelEntry) => ({
    rank,
    userId,
    displayName: null,
    score: xp,
    xp: model.xpOf(userId),
    // The window before the oldest kept one may still exist or not.
    ...(!isOldest && {
      previousRank: before.find((entry) => entry.userId === userId)?.rank ?? null,
    }),
  })
  for (const order of boardOrders) {
    const further = yield* engine.readBoard(sandbox, {
      ...window,
      board: `ldb_${order}`,
      limit: 100,
      offset: 0,
    })
    const sign = order === "asc" ? -1 : 1
    const turned = ({ group, userId, xp }: ModelEntry) => ({
      rank: 1 + expected.filter((other) => sign * (other.xp - xp) > 0).length,
      score: xp,
      userId,
      group,
    })
    const sharedRanks = expected
      .map((entry) => turned(entry).rank)
      .sort((one, other) => one - other)
    const isShared = order === "desc"
    expect(further.entries.map(({ rank }) => rank)).toEqual(
      isShared ? sharedRanks : expected.map((_, index) => index + 1),
    )
    compareGroups(further.entries, isShared)
    const bare = further.entries.map(({ inGroup, rank, score, userId }, index) => ({
      rank: isShared ? rank : sharedRanks[index]!,
      score,
      userId,
      group: inGroup?.group ?? null,
    }))
    expect(bare.sort(byUser)).toEqual(expected.map(turned).sort(byUser))
    yield* comparePagesOfGroup(
      engine,
      random,
      { ...window, board: `ldb_${order}` },
      further.entries,
    )
  }
  if (kind === "days") return
  const offset = random.integer(0, expected.length + 1)
  const limit = random.integer(1, 10)
  const page = yield* engine.readBoard(sandbox, { ...window, limit, offset })
  expect(page).toMatchObject({
    total: expected.length,
    offset,
    entries: expected.slice(offset, offset + limit).map(shown),
  })
  const userId = random.pick(users)
  if (!model.users.has(userId)) return
  const around = yield* engine.readBoard(sandbox, { ...window, limit, offset: 0, around: userId })
  const position = expected.findIndex((entry) => entry.userId === userId)
  const first =
    position < 0
      ? 0
      : Math.max(0, Math.min(position - Math.floor(limit / 2), expected.length - limit))
  expect(around).toMatchObject({
    offset: first,
    me: position < 0 ? null : shown(expected[position]!),
    entries: expected.slice(first, first + limit).map(shown),
  })
})
