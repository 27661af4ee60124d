/** Leaderboards as definitions, and reads of their entries. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { BoardChange } from "../../domain/decide/BoardDefinitions.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { teamNotFound } from "../../domain/decide/TeamMembers.ts"
import {
  type Board,
  type BoardEntrants,
  type BoardScore,
  type BoardWindow,
  defaultWindows,
  hasWindow,
  kindOfWindow,
} from "../../domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../domain/project/BoardPrize.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { type LevelCurve, levelAt } from "../../domain/project/Level.ts"
import { unscaled } from "../../domain/project/Metric.ts"
import { isOffBoard, teamWithId } from "../../domain/project/Team.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { isDisqualified, type UserState } from "../../domain/user/User.ts"
import { invalidRequest, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { isoTimeOrNull, parseIsoTime } from "../../domain/values/isoTime.ts"
import type { BoardEntry, BoardPage, PageOf, TeamEntry } from "../../engine/boards/ReadBoard.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { BoardLookupRequest } from "../api/BoardEntries.ts"
import type { Leaderboard } from "../api/Leaderboard.ts"
import { LeaderboardPatch, type Leaderboards, NewLeaderboard } from "../api/Leaderboards.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  avatarNow,
  avatarOf,
  factOf,
  foundOr,
  isUnknownTo,
  named,
  newMembers,
  onlyIf,
  type PageQuery,
  pageAsked,
  patchOf,
  showDefinition,
} from "./Shapes.ts"

/** See `Bodies.restsOn`. A leaderboard of present values lacks much, and so does one of teams. */
const boardRests = {
  announceRanks: ["entrants"],
  endsAt: ["startsAt", "score"],
  graceMinutes: ["score"],
  groupBy: ["entrants"],
  prizes: ["windows", "score"],
  score: ["entrants"],
  segment: ["score"],
  startsAt: ["score"],
  status: ["score"],
  teamKind: ["entrants"],
  ties: ["score"],
  timeZone: ["entrants"],
  windows: ["timeZone", "score"],
}

/** The shares of users whose scores statistics show. */
const percents = [0, 1, 5, 10, 25, 50, 75, 90, 100]

export const boardHandlers = (engine: Engine["Service"]): Handlers<typeof Leaderboards> => ({
  ...kindOperations(engine, "leaderboard", {
    made: newBoard,
    bodies: {
      schemas: { created: NewLeaderboard, changed: LeaderboardPatch },
      valid: { name: "L", score: { currency: "xp" } },
      restsOn: boardRests,
    },
    changed: boardChange,
    show: showBoard,
  }),
  entries: {
    handle: ({ caller, params, query }) => readEntries(engine, caller, params.id, query),
  },
  groups: {
    handle: ({ caller, params, query }) => readGroups(engine, caller, params.id, query),
  },
  teams: {
    handle: ({ caller, params, query }) => readTeams(engine, caller, params.id, query),
  },
  lookup: {
    handle: ({ caller, params, payload }) => lookUp(engine, caller, params.id, payload),
  },
  close: {
    handle: ({ caller: { environment }, headers, idempotency, params }) => {
      const command = { kind: "closeLeaderboard", leaderboardId: params.id } as const
      const asked = engine.askProject(environment, onlyIf(headers, command), idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { leaderboard } = factOf(reply, "leaderboard.updated")
        const body = showBoard(leaderboard, decidedAt(reply))
        return { body, replayed, version: body.version }
      })
    },
  },
  ...standingHandlers(engine),
  stats: {
    handle: ({ caller, params, query: wanted }) =>
      Effect.gen(function* () {
        const { environment } = caller
        const found = yield* asked(engine, caller, params.id, wanted, "query/")
        const { closed, filling, paying, scores, total, ...window } = yield* engine.readBoardScores(
          environment,
          found.query,
          percents,
        )
        const of = windowOf(found.board, found.kind, window)
        const decimals = decimalsOf(engine, environment, found.board)
        const distribution = scores.map(({ percent, score }) => ({
          percent,
          score: unscaled(score, decimals),
        }))
        const state = { filling, closed, paying }
        return { body: { ...of, participants: total, distribution, ...state } }
      }),
  },
})

const standingHandlers = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Leaderboards>, "disqualify" | "disqualifyTeam"> => ({
  disqualify: {
    handle: ({ caller: { environment }, idempotency, params, payload: { disqualified } }) =>
      Effect.gen(function* () {
        const { id, userId } = params
        const { leaderboards: present } = yield* engine.readProject(environment)
        const named = definitionOf(present, id)
        if (named !== undefined) yield* ranking("users", named)
        const command = { kind: "disqualify", leaderboard: id, disqualified } as const
        const asked = yield* engine.askUser(environment, { userId, command }, idempotency)
        const { leaderboards } = yield* engine.readProject(environment)
        const board = yield* foundOr(definitionOf(leaderboards, id), boardNotFound)
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const body = {
          leaderboard: board.key,
          userId: user.id,
          disqualified: isDisqualified(user, board.id),
        }
        return { body, replayed: asked.replayed }
      }),
  },
  disqualifyTeam: {
    handle: ({ caller: { environment }, idempotency, params, payload: { disqualified } }) =>
      Effect.gen(function* () {
        const { id: leaderboard, teamId } = params
        const { leaderboards: present } = yield* engine.readProject(environment)
        const named = definitionOf(present, leaderboard)
        if (named !== undefined) yield* ranking("teams", named)
        const command = { kind: "disqualifyTeam", teamId, leaderboard, disqualified } as const
        const { replayed } = yield* engine.askProject(environment, command, idempotency)
        const { leaderboards, teams } = engine.projectNow(environment)
        const board = yield* foundOr(definitionOf(leaderboards, leaderboard), boardNotFound)
        const team = yield* foundOr(teamWithId(teams, teamId), teamNotFound)
        const is = isOffBoard(team, board.id)
        return { body: { leaderboard: board.key, teamId, disqualified: is }, replayed }
      }),
  },
})

interface WindowAsked {
  readonly at?: string
  readonly group?: string
  readonly window?: BoardWindow
}

/** The board that a path names, if the caller may see it, and the window of it that a request asks for. */
const asked = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  id: string,
  { at, group, window }: WindowAsked,
  pointer: string,
) {
  const { environment } = caller
  const { leaderboards } = yield* engine.readProject(environment)
  const board = yield* foundOr(definitionOf(leaderboards, id), boardNotFound)
  if (board.set === "archived" || isUnknownTo(caller, board, engine.timeIn(environment))) {
    return yield* Effect.fail(boardNotFound)
  }
  const kind = window ?? kindOfWindow(board.windows[0]!)
  if (!hasWindow(board, kind)) {
    const kinds = board.windows.map(kindOfWindow).join(", ")
    const detail = `must be one of the leaderboard's windows: ${kinds}`
    const fault = { pointer: `${pointer}window`, code: "invalid_value", detail }
    return yield* Effect.fail(invalidRequest([fault]))
  }
  if (group !== undefined && board.groupBy === null) {
    const detail = "must be left out: the leaderboard has no groupBy"
    const fault = { pointer: `${pointer}group`, code: "not_allowed", detail }
    return yield* Effect.fail(invalidRequest([fault]))
  }
  const of = { ...timeOf(at), ...(group !== undefined && { group }) }
  return { board, kind, query: { board: board.id, window: kind, ...of } }
})

interface PlaceAsked {
  readonly around?: string
  readonly limit?: number
  readonly offset?: number
}

/** The place of the page that a request asks for. Fails for two places. */
const placeOf = ({ around, limit = limits.pageDefault, offset }: PlaceAsked) =>
  around !== undefined && offset !== undefined
    ? Effect.fail(twoPlaces)
    : Effect.succeed({ limit, offset: offset ?? 0, ...(around !== undefined && { around }) })

/** The members that describe a page. */
const pageBody = <Read, Entry>(
  { me, offset, total, ...page }: PageOf<Read>,
  { limit }: { readonly limit: number },
  show: (entry: Read) => Entry,
) => {
  const entries = page.entries.map(show)
  const body = { entries, total, limit, offset, hasMore: offset + entries.length < total }
  return me === undefined ? body : { ...body, me: me && show(me) }
}

const readEntries = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  id: string,
  query: WindowAsked & PlaceAsked,
) {
  const { environment } = caller
  const place = yield* placeOf(query)
  const { board, kind, query: window } = yield* asked(engine, caller, id, query, "query/")
  yield* ranking("users", board)
  const page = yield* engine.readBoard(environment, { ...window, ...place })
  const body = pageBody(page, place, showIn(engine, environment, board))
  const { closed, filling, paying } = page
  return { body: { ...windowOf(board, kind, page), ...body, filling, closed, paying } }
})

const readGroups = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  id: string,
  query: Omit<WindowAsked, "group"> & PageQuery,
) {
  const { environment } = caller
  const { at, window: named } = query
  const page = yield* pageAsked("boardGroups", environment, { id, at, window: named }, query)
  const { board, kind, query: window } = yield* asked(engine, caller, id, query, "query/")
  if (board.groupBy === null) {
    const detail = "must be a leaderboard with a groupBy"
    return yield* Effect.fail(invalidRequest([{ pointer: "path/id", code: "not_allowed", detail }]))
  }
  const read = { ...window, limit: page.limit, after: page.after?.[0] }
  const found = yield* engine.readBoardGroups(environment, read)
  const { closed, filling, hasMore, paying } = found
  const show = showIn(engine, environment, board)
  const groups = found.groups.map(({ leader, name: group, total }) => ({
    group,
    total,
    leader: show(leader),
  }))
  const last = hasMore ? found.groups.at(-1) : undefined
  const end = page.end(last && [last.name])
  return { body: { ...windowOf(board, kind, found), groups, ...end, filling, closed, paying } }
})

const lookUp = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  id: string,
  payload: typeof BoardLookupRequest.Type,
) {
  const { environment } = caller
  const { board, kind, query } = yield* asked(engine, caller, id, payload, "/")
  yield* ranking("users", board)
  const found = yield* engine.lookUpOnBoard(environment, query, payload.users)
  const { closed, filling, paying, places, total, ...window } = found
  const shown = showIn(engine, environment, board)
  const isOff = (userId: string) => {
    const user = Effect.runSync(engine.readUser(environment, userId))
    return user !== undefined && isDisqualified(user, board.id)
  }
  const users = places.map(({ entry, rankAmong, userId }) => ({
    userId,
    rankAmong,
    entry: entry && shown(entry),
    disqualified: entry === null && isOff(userId),
  }))
  const state = { filling, closed, paying }
  return { body: { ...windowOf(board, kind, window), users, total, ...state } }
})

const readTeams = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  caller: Caller,
  id: string,
  query: WindowAsked & PlaceAsked,
) {
  const { environment } = caller
  const place = yield* placeOf(query)
  const { board, kind, query: window } = yield* asked(engine, caller, id, query, "query/")
  yield* ranking("teams", board)
  const page = yield* engine.readTeamBoard(environment, { ...window, ...place })
  const decimals = decimalsOf(engine, environment, board)
  const show = ({ previousRank, prizes, rank, score, team }: TeamEntry) => ({
    rank,
    team: { id: team.id, name: team.name },
    ...avatarOf(team.attributes),
    attributes: attributesOf(team, board.attributes),
    score: unscaled(score, decimals),
    previousRank,
    prizes,
  })
  const { closed, paying } = page
  const body = pageBody(page, place, show)
  return { body: { ...windowOf(board, kind, page), ...body, closed, paying } }
})

/** Fails for a board that ranks others. */
const ranking = (
  wanted: BoardEntrants,
  { entrants, key }: Board,
): Effect.Effect<void, LaurelError<"invalid_request">> => {
  if (entrants === wanted) return Effect.void
  const path = `/v1/leaderboards/${key}/${entrants === "teams" ? "teams" : "entries"}`
  const detail = `must be a leaderboard that ranks ${wanted}: read ${path}`
  return Effect.fail(invalidRequest([{ pointer: "path/id", code: "not_allowed", detail }]))
}

/** The board of xp as it has always been read, with levels. */
export const leaderboardHandlers = (engine: Engine["Service"]): Handlers<typeof Leaderboard> => ({
  get: {
    handle: ({ caller: { environment }, query }) =>
      Effect.gen(function* () {
        const place = yield* placeOf(query)
        const { at, window: kind = "all_time" } = query
        const page = yield* engine.readBoard(environment, { window: kind, ...timeOf(at), ...place })
        const { settings } = yield* engine.readProject(environment)
        const body = pageBody(page, place, showXpEntry(engine, environment, settings.levelCurve))
        return { body: { window: shownWindow(kind, page), ...body } }
      }),
  },
})

const showXpEntry =
  (engine: Engine["Service"], environment: string, curve: LevelCurve) =>
  ({ displayName, previousRank, rank, score, userId, xp }: BoardEntry) => ({
    rank,
    userId,
    displayName,
    ...avatarNow(engine, environment, userId),
    xp: score,
    level: levelAt(curve, xp),
    previousRank,
  })

/** The decimals of the board's scores. */
const decimalsOf = (engine: Engine["Service"], environment: string, { score }: Board): number => {
  if (!("metric" in score)) return 0
  const { metrics } = Effect.runSync(engine.readProject(environment))
  return definitionOf(metrics, score.metric)?.decimals ?? 0
}

/** How entries of the board are shown, with its attributes and groups. */
const showIn = (engine: Engine["Service"], environment: string, board: Board) => {
  const decimals = decimalsOf(engine, environment, board)
  const profileOf = (userId: string) =>
    board.attributes.length === 0
      ? undefined
      : Effect.runSync(engine.readUser(environment, userId))?.profile
  return (entry: BoardEntry) => ({
    ...showEntry(entry, decimals),
    ...avatarNow(engine, environment, entry.userId),
    attributes: attributesOf(profileOf(entry.userId), board.attributes),
    ...(board.groupBy !== null && groupShown(entry)),
  })
}

const groupShown = ({ inGroup }: BoardEntry) => ({
  group: inGroup?.group ?? null,
  groupRank: inGroup?.rank ?? null,
})

const boardNotFound = definitionNotFound("leaderboard")

const userNotFound = laurelError(
  "user_not_found",
  "No event or reward of this user was accepted yet.",
)

const twoPlaces = invalidRequest([
  {
    pointer: "query/offset",
    code: "invalid_value",
    detail: "must not be sent together with around",
  },
])

/** A date stays text: the board reads it in the project's time zone. */
const timeOf = (at: string | undefined) =>
  at === undefined ? undefined : { at: parseIsoTime(at) ?? at }

type Bounds = Pick<BoardPage, "endsAt" | "startsAt">

const shownWindow = <Kind extends BoardWindow>(kind: Kind, { endsAt, startsAt }: Bounds) => ({
  kind,
  startsAt: isoTimeOrNull(startsAt),
  endsAt: isoTimeOrNull(endsAt),
})

const windowOf = ({ key }: Board, kind: BoardWindow, bounds: Bounds) => ({
  leaderboard: key,
  window: shownWindow(kind, bounds),
})

const showEntry = (
  { displayName, previousRank, prizes, rank, score, userId }: BoardEntry,
  decimals: number,
) => ({
  rank,
  userId,
  displayName,
  score: unscaled(score, decimals),
  previousRank,
  prizes,
})

/** Of the attributes of a user or a team, those with these names. */
const attributesOf = (
  of: Pick<UserState["profile"], "attributes"> | undefined,
  names: ReadonlyArray<string>,
): UserState["profile"]["attributes"] => {
  const all = of?.attributes ?? {}
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]!]),
  )
}

export const newBoard = (payload: typeof NewLeaderboard.Type, id: string) => {
  const {
    attributes = [],
    entrants = "users",
    name,
    order = "desc",
    ties = "shared",
    windows,
  } = payload
  const score = scoreOf(payload.score)
  const prizes = prizesOf(payload.prizes)
  const {
    announceRanks = null,
    graceMinutes = 0,
    groupBy = null,
    keepWindows = null,
    teamKind = null,
    timeZone = "project",
  } = payload
  const shown = { entrants, teamKind, order, ties, attributes, prizes, keepWindows, graceMinutes }
  const given = { timeZone, groupBy, announceRanks }
  const members = { windows: windows ?? defaultWindows(score), ...given, ...shown }
  return { id, ...newMembers(payload), name, score, ...members }
}

/** The API has checked that the score has one member. */
const scoreOf = (score: (typeof NewLeaderboard.Type)["score"]): BoardScore => score as BoardScore

const boardChange = (patch: typeof LeaderboardPatch.Type): BoardChange => {
  const { attributes, entrants, graceMinutes, order, prizes, score, ties, timeZone } = patch
  return named({
    ...patchOf(patch),
    score: score && scoreOf(score),
    entrants: entrants === null ? ("users" as const) : entrants,
    timeZone: timeZone === null ? ("project" as const) : timeZone,
    order: order === null ? ("desc" as const) : order,
    ties: ties === null ? ("shared" as const) : ties,
    attributes: attributes === null ? [] : attributes,
    graceMinutes: graceMinutes === null ? 0 : graceMinutes,
    prizes: prizes === undefined ? undefined : prizesOf(prizes ?? []),
  })
}

const prizesOf = (prizes: (typeof NewLeaderboard.Type)["prizes"] = []) =>
  prizes.map(({ percent, ranks = [], reward, window }): BoardPrize => {
    const [from = 1, to = from] = ranks
    // A prize has one of both (`ranksOrPercent`).
    const wins = percent === undefined ? { ranks: [from, to] as const } : { percent }
    return { window, ...wins, reward: allParts(reward) }
  })

const showBoard = (board: Board, now: number) => showDefinition(board, now)
