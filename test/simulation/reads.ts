/** Compares everything that can be read of an engine with the model. */
import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { segmentsOf } from "../../src/domain/user/Membership.ts"
import { badgeProgress, questProgress, streakProgress } from "../../src/domain/user/Progress.ts"
import type { UserState } from "../../src/domain/user/User.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { sandbox } from "../engine/fixture.ts"
import { windowXp } from "./model/balances.ts"
import { isOff, lengthOn, onBoard, scoreSince, totalOn, valueOn } from "./model/boards.ts"
import { plusDays, windowKinds, windowOf } from "./model/calendar.ts"
import { teamsOf } from "./model/teams.ts"
import { closedOf, openWindow } from "./model/windows.ts"
import type { Oracle } from "./Oracle.ts"
import { progressView } from "./progressView.ts"
import type { Random } from "./random.ts"
import { compareRecaps } from "./recaps.ts"
import { compareSeries } from "./series.ts"
import { modelView, stateView } from "./views.ts"

export const compareReads = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  oracle: Oracle,
  random: Random,
  now: number,
  users: ReadonlyArray<string>,
) {
  const { model, project } = oracle
  const durable = yield* engine.readProject(sandbox)
  expect(durable).toEqual(project)
  const quests = new Map<string, { inProgress: number; completed: number }>()
  for (const userId of users) {
    const user = yield* engine.readUser(sandbox, userId)
    const records = oracle.records.get(userId) ?? []
    expect(user).toEqual(folded(records))
    expect(yield* historyOf(engine, userId)).toEqual(records.toReversed())
    if (user === undefined) {
      expect(model.log(userId)).toEqual([])
      continue
    }
    const place = model.place(userId, oracle.definitions)
    const { held, isIn } = model.membership(userId, place, now)
    for (const { key } of place.segments) isIn(key)
    const segments = segmentsOf({ userId, user, project, now }).map(({ key }) => key)
    expect(segments).toEqual(held())
    const seen = stateView(user, project, now)
    const profile = model.profile(userId)
    expect(seen).toEqual(modelView(model.log(userId), profile, place, now, seen))
    expect({
      badges: badgeProgress(user, project, now),
      quests: questProgress(user, project, now),
      streaks: streakProgress(user, project, now),
    }).toEqual(progressView(model.log(userId), place, now, isIn))
    for (const [questId, { completedAt, expired, startedAt, times }] of user.quests) {
      const counts = quests.get(questId) ?? { inProgress: 0, completed: 0 }
      if (startedAt !== null && completedAt === null && !expired) counts.inProgress++
      if (times > 0) counts.completed++
      quests.set(questId, counts)
    }
  }
  const counts = yield* engine.readCounts(sandbox)
  expect(counts.users).toBe(model.users.size)
  for (const { id } of oracle.definitions.items) {
    const units = model.sales.before(Number.POSITIVE_INFINITY, id)
    expect([id, counts.sold.get(id) ?? 0]).toEqual([id, units])
  }
  for (const [questId, expected] of quests) {
    expect({ questId, ...(counts.quests.get(questId) ?? nobody) }).toEqual({ questId, ...expected })
  }
  yield* compareBoards(engine, oracle, random, now)
  yield* compareFurther(engine, oracle, now)
  yield* compareTeams(engine, oracle, random, users)
  yield* compareSeries(engine, oracle, random, users)
  yield* compareRecaps(engine, oracle, random, now, users)
  const ids: Array<string> = []
  for (let hasMore = true; hasMore; ) {
    const limit = random.integer(1, 100)
    const page = yield* engine.listUsers(sandbox, { limit, after: ids.at(-1) })
    expect(page.total).toBe(model.users.size)
    if (page.hasMore) expect(page.users).toHaveLength(limit)
    ids.push(...page.users.map(({ id }) => id))
    ;({ hasMore } = page)
  }
  expect(ids).toEqual([...model.users.keys()].sort())
})

/** Compares the members of each team with the teams of each user. */
const compareTeams = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  { definitions, model }: Oracle,
  random: Random,
  users: ReadonlyArray<string>,
) {
  for (const team of definitions.teams) {
    const expected = users.toSorted().flatMap((userId) => {
      const own = teamsOf(model.log(userId), definitions.teams).get(team.kind)
      return own?.id === team.id ? [[userId, own.joinedAt]] : []
    })
    const found: Array<readonly [userId: string, joinedAt: number]> = []
    for (let hasMore = true; hasMore; ) {
      const limit = random.integer(1, 4)
      const after = found.at(-1)?.[0]
      const page = yield* engine.listTeamMembers(sandbox, { team, limit, after })
      if (page.hasMore) expect(page.members).toHaveLength(limit)
      for (const { joinedAt, user } of page.members) found.push([user.id, joinedAt])
      ;({ hasMore } = page)
    }
    expect({ team: team.id, members: found }).toEqual({ team: team.id, members: expected })
  }
})

const nobody = { inProgress: 0, completed: 0 }

const folded = (records: ReadonlyArray<JournalRecord>): UserState | undefined =>
  records.reduce<UserState | undefined>(applyUser, undefined)

const historyOf = (engine: Engine["Service"], userId: string) =>
  Effect.map(Stream.runCollect(engine.readHistory(sandbox, userId)), (chunks) => chunks.flat())

/**
 * Compares the present windows of all leaderboards of users but `xp`. `contests.test.ts` compares those
 * of teams.
 */
const compareFurther = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  { definitions, model }: Oracle,
  now: number,
) {
  const { closed, leaderboards, settings } = definitions
  const ofUsers = leaderboards.filter(({ entrants }) => entrants === "users")
  for (const board of ofUsers.filter(({ key, set }) => key !== "xp" && set !== "archived")) {
    // The ranks of one that has ended are compared elsewhere (`boards.ts`).
    if (closedOf(closed, board.id).over !== undefined) continue
    for (const window of board.windows) {
      // `boards.ts` compares windows of days.
      if (typeof window === "object") continue
      const first =
        window === "all_time"
          ? ""
          : openWindow([], window, settings.timezone, closedOf(closed, board.id), now)
      const rows = [...model.users.keys()].flatMap((userId) => {
        const log = model.log(userId)
        const own = onBoard(log, board.id)
        const { score, since } =
          "streak" in board.score
            ? lengthOn(log, board.score.streak, model.place(userId, definitions), now)
            : window === "all_time"
              ? totalOn(log, board, definitions)
              : {
                  score: windowXp(own, window, first),
                  since: scoreSince(log, board.id, window, first),
                }
        const isShown = !model.profile(userId).hidden && !isOff(log, board.id)
        if (!isShown || board.set === "draft") return []
        const value = valueOn(log, board, definitions)
        if (value !== undefined) return value === null ? [] : [{ userId, score: value, since: 0 }]
        return score > 0 ? [{ userId, score, since }] : []
      })
      const sign = board.order === "asc" ? -1 : 1
      rows.sort(
        (one, other) =>
          sign * (other.score - one.score) ||
          one.since - other.since ||
          (one.userId < other.userId ? -1 : 1),
      )
      const rankIn = (all: typeof rows, row: (typeof rows)[number]) =>
        board.ties === "first"
          ? all.indexOf(row) + 1
          : 1 + all.filter((other) => sign * (other.score - row.score) > 0).length
      const groupOf = ({ userId }: (typeof rows)[number]) => {
        const attributes = new Map(Object.entries(model.profile(userId).attributes))
        const value = board.groupBy === null ? undefined : attributes.get(board.groupBy)
        return value === undefined ? null : `${value}`
      }
      const ranked = rows.map((row) => {
        const group = groupOf(row)
        const among = rows.filter((other) => groupOf(other) === group)
        return {
          rank: rankIn(rows, row),
          userId: row.userId,
          score: row.score,
          inGroup: group === null ? null : { group, rank: rankIn(among, row) },
        }
      })
      const page = yield* engine.readBoard(sandbox, {
        board: board.id,
        window,
        ...(first !== "" && { at: first }),
        limit: 100,
        offset: 0,
      })
      if (page.filling) continue
      if (board.groupBy !== null) {
        const query = { board: board.id, window, ...(first !== "" && { at: first }), limit: 100 }
        const { groups } = yield* engine.readBoardGroups(sandbox, query)
        const names = [...new Set(ranked.flatMap(({ inGroup }) => inGroup?.group ?? []))]
        const expected = names.sort().map((name) => {
          const own = ranked.filter(({ inGroup }) => inGroup?.group === name)
          return { name, total: own.length, leader: own[0] }
        })
        expect(groups).toMatchObject(expected)
      }
      expect({ board: board.id, window, entries: page.entries }).toMatchObject({
        board: board.id,
        window,
        entries: ranked,
      })
    }
  }
})

const compareBoards = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  oracle: Oracle,
  random: Random,
  now: number,
) {
  const { closed, settings } = oracle.definitions
  const shown = (rows: ReturnType<Oracle["board"]>) =>
    rows.map(({ rank, userId, xp }) => ({
      rank,
      userId,
      displayName: oracle.model.profile(userId).displayName,
      score: xp,
      xp: totals.get(userId) ?? 0,
    }))
  const all = oracle.board("all_time")
  const totals = new Map(all.map(({ userId, xp }) => [userId, xp]))
  const page = yield* engine.readBoard(sandbox, { limit: 100, offset: 0 })
  expect(page.entries).toMatchObject(shown(all))
  for (const { rank, userId } of all) expect(yield* engine.readRank(sandbox, userId)).toBe(rank)
  for (const kind of windowKinds) {
    // The open window, and a past one.
    const open = openWindow([], kind, settings.timezone, closedOf(closed), now)
    const past = windowOf(kind, plusDays(open, -random.integer(1, kind === "daily" ? 12 : 60)))
    for (const first of [open, past]) {
      const { entries, total } = yield* engine.readBoard(sandbox, {
        window: kind,
        at: first,
        limit: 100,
        offset: 0,
      })
      const expected = oracle.board(kind, first)
      const before = oracle.board(kind, windowOf(kind, plusDays(first, -1)))
      expect({ kind, first, total, entries }).toMatchObject({
        kind,
        first,
        total: expected.length,
        entries: shown(expected).map((entry) => ({
          ...entry,
          previousRank: before.find(({ userId }) => userId === entry.userId)?.rank ?? null,
        })),
      })
    }
  }
})
