/**
 * Reads leaderboards: finds the board of a window, live, frozen or stored, and adds to its rows the
 * users' xp, display names and ranks in the window before.
 *
 * Invariants: a page shows durable state only, and one window as a whole: rows, ranks and total
 * come from one board.
 *
 * On a board by the calendars of users, the present window is that of the project's date, and a window can
 * be read from its first day in any zone on.
 *
 * Cost: a page reads no user. Users' xp are the scores on the all-time board, and names are in
 * `Boards`, also for users who are not in memory. Only stored boards are read from LMDB.
 */
import { Effect } from "effect"
import { Gaps } from "../../domain/board/Gaps.ts"
import { oldestOpenWindow, openWindow } from "../../domain/decide/CloseWindows.ts"
import { teamNotFound } from "../../domain/decide/TeamMembers.ts"
import { closeOf } from "../../domain/project/BoardClose.ts"
import {
  type BoardWindow,
  boundsOn,
  firstZoneOf,
  spanOf,
  xpBoard,
} from "../../domain/project/BoardDefinition.ts"
import type { Gives } from "../../domain/project/Definition.ts"
import { payoutId } from "../../domain/project/Payout.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { type Team, type Teams, teamWithId } from "../../domain/project/Team.ts"
import type { UserState } from "../../domain/user/User.ts"
import {
  dayOf,
  type WindowSpan,
  windowOfDay,
  type Zone,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import {
  type ErrorCode,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { BoardSet } from "./BoardSet.ts"
import {
  type BoardRow,
  type BoardSource,
  boardInMemory,
  type GroupPlace,
  offsetAround,
  pageOf,
  rankOf,
  totalOf,
} from "./BoardSource.ts"
import type { RankedEnvironment } from "./Boards.ts"
import {
  type Found,
  isOpen,
  noBoard,
  nothingFound,
  sharesRanks,
  windowOf,
  wonBy,
} from "./FoundWindow.ts"
import { keptOf, oldestKept } from "./Retention.ts"
import { openStoredBoard } from "./StoredBoard.ts"
import type { Windows } from "./Windows.ts"

/** A window of a board. */
export interface WindowQuery {
  /** The id of the definition; by default the board `xp`. */
  readonly board?: string
  /** `all_time` by default. */
  readonly window?: BoardWindow
  /**
   * A time (epoch milliseconds) or a local date such as `2026-11-01` within the window; by default
   * now.
   */
  readonly at?: number | string
  /** Only the users of this group; the board must have groups. */
  readonly group?: string
}

export interface BoardQuery extends WindowQuery {
  readonly limit: number
  readonly offset: number
  /** The user, or the team, in the middle of the page; replaces `offset`. */
  readonly around?: string
}

export interface BoardEntry {
  readonly rank: number
  readonly userId: string
  readonly displayName: string | null
  /** The score in the window. */
  readonly score: number
  /** All xp of the user, which decide the level. */
  readonly xp: number
  /**
   * The rank in the window before; null: the user was not listed there, or this is the all-time
   * board.
   */
  readonly previousRank: number | null
  /** What the user has won in the window, by the rank at its close. */
  readonly prizes: ReadonlyArray<Gives>
  /** The user's group and the rank there; null: the user has none, or the board. */
  readonly inGroup: GroupPlace | null
}

/** An entry of a board that ranks teams. */
export interface TeamEntry extends Pick<BoardEntry, "rank" | "score" | "previousRank" | "prizes"> {
  readonly team: Pick<Team, "id" | "name" | "attributes">
}

export interface PageOf<Entry> {
  /** Epoch milliseconds; null for all time. */
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly entries: ReadonlyArray<Entry>
  readonly total: number
  /** The position of the first entry, from 0. */
  readonly offset: number
  /** Whether the board was just made, and some users are not listed yet. */
  readonly filling: boolean
  /** Whether the window takes no more scores. */
  readonly closed: boolean
  /** Whether prizes of the window are still to be paid. */
  readonly paying: boolean
  /** The entry of `around`; null: not listed; absent: the query has no `around`. */
  readonly me?: Entry | null
}

export type BoardPage = PageOf<BoardEntry>

/** The place of a user on a board; `rank` null: not listed. */
export interface BoardPlaceOf {
  readonly userId: string
  readonly entry: BoardEntry | null
  /** The rank among the users of the look-up that are listed. */
  readonly rankAmong: number | null
}

/** A window of a board with what a read of it found. */
export type OfWindow<A> = Pick<
  BoardPage,
  "startsAt" | "endsAt" | "total" | "filling" | "closed" | "paying"
> &
  A

/** A group of a board: the number of its listed users, and the first of them. */
export interface BoardGroup {
  readonly name: string
  readonly total: number
  readonly leader: BoardEntry
}

/** The page of groups after the group `after`, by name. */
export interface GroupsQuery extends Omit<WindowQuery, "group"> {
  readonly after?: string | undefined
  readonly limit: number
}

/** The score that a user has who is in the given share of the best. */
export interface ScoreAt {
  readonly percent: number
  readonly score: number
}

export type WindowCode = "invalid_request" | "storage_unavailable"
export type BoardCode = WindowCode | "user_not_found"

interface BoardReaderOptions {
  readonly storage: Storage["Service"]
  readonly now: () => number
  /** The durable state of a user, warm or cold. */
  readonly readUser: (
    environment: string,
    userId: string,
  ) => Effect.Effect<UserState | undefined, LaurelError<"storage_unavailable">>
  readonly broken: (cause: Broken) => LaurelError<"storage_unavailable">
}

/** How rows become entries, and what fails for an id that nothing has. */
interface Reading<Entry, Code extends ErrorCode> {
  readonly entriesOf: (
    found: Found,
    rows: ReadonlyArray<BoardRow>,
  ) => Effect.Effect<ReadonlyArray<Entry>, LaurelError<"storage_unavailable">>
  readonly known: (id: string) => Effect.Effect<void, LaurelError<WindowCode | Code>>
}

const noGaps = new Gaps()
const noNames = Effect.succeed<ReadonlyArray<string>>([])
const noPlaces = Effect.succeed<ReadonlyArray<GroupPlace | null>>([])

export class BoardReader {
  readonly #options: BoardReaderOptions

  constructor(options: BoardReaderOptions) {
    this.#options = options
  }

  /**
   * A page of a board. `invalid_request`: there is no such window; `user_not_found`: for `around`.
   */
  read(
    environment: RankedEnvironment,
    query: BoardQuery,
  ): Effect.Effect<BoardPage, LaurelError<BoardCode>> {
    return this.#page(environment, query, {
      entriesOf: (found, rows) => this.#entries(environment, found, rows),
      // Only a user who is not listed may be unknown.
      known: (userId) =>
        Effect.flatMap(this.#isUnknown(environment, userId), (isUnknown) =>
          isUnknown ? Effect.fail(userNotFound) : Effect.void,
        ),
    })
  }

  /**
   * `read` for a board that ranks teams; `around` is the id of a team. `team_not_found`: for `around`.
   */
  readTeams(
    environment: RankedEnvironment,
    query: BoardQuery,
  ): Effect.Effect<PageOf<TeamEntry>, LaurelError<WindowCode | "team_not_found">> {
    const { teams } = environment.project.durable
    return this.#page(environment, query, {
      entriesOf: (found, rows) => this.#teamEntries(teams, found, rows),
      known: (teamId) =>
        teamWithId(teams, teamId) === undefined ? Effect.fail(teamNotFound) : Effect.void,
    })
  }

  #page<Entry, Code extends ErrorCode>(
    environment: RankedEnvironment,
    query: BoardQuery,
    { entriesOf, known }: Reading<Entry, Code>,
  ): Effect.Effect<PageOf<Entry>, LaurelError<WindowCode | Code>> {
    const self = this
    const { around, limit } = query
    return Effect.gen(function* () {
      const found = yield* self.#find(environment, query)
      const { listed } = found
      let { offset } = query
      let me: BoardRow | undefined
      if (around !== undefined) {
        me = yield* self.#safely(listed.find(around))
        if (me === undefined) yield* known(around)
        offset = me === undefined ? 0 : offsetAround(listed, me, limit)
        if (me !== undefined) [me] = yield* self.#wholeRows(found, [me])
      }
      const shown = yield* self.#safely(pageOf(listed, offset, limit))
      const rows = yield* self.#wholeRows(found, shown)
      const entries = yield* entriesOf(found, rows)
      const page = { ...windowOf(found), entries, offset }
      if (around === undefined) return page
      if (me === undefined) return { ...page, me: null }
      const mine = entries[rows.findIndex(({ userId }) => userId === around)]
      return { ...page, me: mine ?? (yield* entriesOf(found, [me]))[0]! }
    })
  }

  /** Rows that the query asks for as rows of the whole board. */
  #wholeRows(
    { board, listed }: Found,
    rows: ReadonlyArray<BoardRow>,
  ): Effect.Effect<ReadonlyArray<BoardRow>, LaurelError<"storage_unavailable">> {
    return listed === board ? Effect.succeed(rows) : this.#rowsOnBoard({ board }, rows)
  }

  /** Rows of groups as rows of the whole board. */
  #rowsOnBoard(
    { board }: Pick<Found, "board">,
    rows: ReadonlyArray<BoardRow>,
  ): Effect.Effect<ReadonlyArray<BoardRow>, LaurelError<"storage_unavailable">> {
    const whole = Effect.forEach(rows, ({ userId }) => board.find(userId))
    return this.#safely(
      Effect.map(whole, (found) => found.flatMap((row) => (row === undefined ? [] : [row]))),
    )
  }

  /** The places of these users, best first; those who are not listed come last. */
  lookUp(
    environment: RankedEnvironment,
    query: WindowQuery,
    userIds: ReadonlyArray<string>,
  ): Effect.Effect<
    OfWindow<{ readonly places: ReadonlyArray<BoardPlaceOf> }>,
    LaurelError<WindowCode>
  > {
    const self = this
    return Effect.gen(function* () {
      const found = yield* self.#find(environment, query)
      const { board } = found
      const rows: Array<BoardRow> = []
      const others: Array<BoardPlaceOf> = []
      for (const userId of userIds) {
        const row = yield* self.#safely(board.find(userId))
        if (row !== undefined) rows.push(row)
        else others.push({ userId, entry: null, rankAmong: null })
      }
      rows.sort((one, other) => one.position - other.position)
      const entries = yield* self.#entries(environment, found, rows)
      let rankAmong = 0
      const places = entries.map((entry, index): BoardPlaceOf => {
        if (index === 0 || entry.rank !== entries[index - 1]!.rank) rankAmong = index + 1
        return { userId: entry.userId, entry, rankAmong }
      })
      return { ...windowOf(found), places: [...places, ...others] }
    })
  }

  /** The scores at these percents of the users, from the first rank on. */
  scoresAt(
    environment: RankedEnvironment,
    query: WindowQuery,
    percents: ReadonlyArray<number>,
  ): Effect.Effect<OfWindow<{ readonly scores: ReadonlyArray<ScoreAt> }>, LaurelError<WindowCode>> {
    const self = this
    return Effect.gen(function* () {
      const found = yield* self.#find(environment, query)
      const { listed } = found
      const total = totalOf(listed)
      const scores: Array<ScoreAt> = []
      for (const percent of total === 0 ? [] : percents) {
        const place = Math.max(0, Math.ceil((percent / 100) * total) - 1)
        const [row] = yield* self.#safely(pageOf(listed, place, 1))
        scores.push({ percent, score: found.boards.scoreOf(row!.score) })
      }
      return { ...windowOf(found), scores }
    })
  }

  /** The groups with listed users, by name. */
  readGroups(
    environment: RankedEnvironment,
    { after, limit, ...query }: GroupsQuery,
  ): Effect.Effect<
    OfWindow<{ readonly groups: ReadonlyArray<BoardGroup>; readonly hasMore: boolean }>,
    LaurelError<WindowCode>
  > {
    const self = this
    return Effect.gen(function* () {
      const found = yield* self.#find(environment, query)
      const { groups } = found.board
      const read = groups === undefined ? noNames : groups.names(after, limit + 1)
      const names = yield* self.#safely(read)
      const listed: Array<Pick<BoardGroup, "name" | "total">> = []
      const firsts: Array<BoardRow> = []
      for (const name of names.slice(0, limit)) {
        const group = yield* self.#safely(groups!.of(name))
        const [first] = group === undefined ? [] : yield* self.#safely(pageOf(group, 0, 1))
        if (group === undefined || first === undefined) continue
        listed.push({ name, total: totalOf(group) })
        firsts.push(first)
      }
      const rows = yield* self.#rowsOnBoard(found, firsts)
      const leaders = yield* self.#entries(environment, found, rows)
      const byId = new Map(leaders.map((leader) => [leader.userId, leader]))
      const shown = listed.flatMap((group, index) => {
        const leader = byId.get(firsts[index]!.userId)
        return leader === undefined ? [] : [{ ...group, leader }]
      })
      return { ...windowOf(found), groups: shown, hasMore: names.length > limit }
    })
  }

  #isUnknown(
    environment: RankedEnvironment,
    userId: string,
  ): Effect.Effect<boolean, LaurelError<"storage_unavailable">> {
    return Effect.map(this.#options.readUser(environment.id, userId), (user) => user === undefined)
  }

  #teamEntries(
    teams: Teams,
    found: Found,
    rows: ReadonlyArray<BoardRow>,
  ): Effect.Effect<ReadonlyArray<TeamEntry>, LaurelError<"storage_unavailable">> {
    return Effect.map(this.#ranksOf(found, rows), (ranks) =>
      rows.map(({ first, position, score, userId: id }, index) => ({
        ...ranks[index]!,
        team: teamWithId(teams, id) ?? { id, name: id, attributes: {} },
        score: found.boards.scoreOf(score),
        prizes: wonBy(found, { first, position }),
      })),
    )
  }

  /** The ranks of rows, in the window and in the one before. */
  #ranksOf(
    found: Found,
    rows: ReadonlyArray<BoardRow>,
  ): Effect.Effect<
    ReadonlyArray<Pick<BoardEntry, "rank" | "previousRank">>,
    LaurelError<"storage_unavailable">
  > {
    const { before, board } = found
    const shared = sharesRanks(found)
    const ranksBefore =
      before.size === 0 ? Effect.succeed(undefined) : this.#safely(before.ranks(rows, shared))
    return Effect.map(ranksBefore, (ranks) =>
      rows.map((row, index) => ({
        rank: rankOf(board.gaps, row, shared),
        previousRank: ranks?.[index] ?? null,
      })),
    )
  }

  #entries(
    { boards }: RankedEnvironment,
    found: Found,
    rows: ReadonlyArray<BoardRow>,
  ): Effect.Effect<ReadonlyArray<BoardEntry>, LaurelError<"storage_unavailable">> {
    const { allTime, members, names } = boards
    const allXp = (member: number | undefined) => (member === undefined ? 0 : allTime.score(member))
    const { groups } = found.board
    const places = groups && this.#safely(groups.places(rows, sharesRanks(found)))
    const read = Effect.all([this.#ranksOf(found, rows), places ?? noPlaces])
    return Effect.map(read, ([ranks, inGroups]) =>
      rows.map(({ first, position, score, userId, member = members.find(userId) }, index) => ({
        ...ranks[index]!,
        inGroup: inGroups[index] ?? null,
        userId,
        displayName: member === undefined ? null : names.get(member),
        score: found.boards.scoreOf(score),
        // On the all-time board the score is the user's xp.
        xp: found.boards === boards && found.startsAt === null ? score : allXp(member),
        prizes: wonBy(found, { first, position }),
      })),
    )
  }

  #find(
    environment: RankedEnvironment,
    query: WindowQuery,
  ): Effect.Effect<Found, LaurelError<WindowCode>> {
    const { group } = query
    return Effect.flatMap(this.#findWindow(environment, query), (found) => {
      const { board } = found
      if (group === undefined) return Effect.succeed({ ...found, listed: board })
      const rows = board.groups === undefined ? Effect.succeed(noBoard) : board.groups.of(group)
      return Effect.map(this.#safely(rows), (listed = noBoard) => ({ ...found, listed }))
    })
  }

  #findWindow(
    environment: RankedEnvironment,
    { at, board: boardId, window = "all_time" }: WindowQuery,
  ): Effect.Effect<Omit<Found, "listed">, LaurelError<WindowCode>> {
    const boards = boardId === undefined ? environment.boards : environment.boards.of(boardId)
    if (boards === undefined) return Effect.succeed(nothingFound)
    const id = boardId ?? xpBoard.id
    const project = environment.project.durable
    if (window === "all_time") {
      if (at === undefined) return this.#findAllTime(environment, id, boards)
      return refuse("invalid_value", "must be left out: the board of all time has no past windows")
    }
    const serverNow = this.#options.now()
    const zone = zoneOf(project.settings.timezone)
    const definition = project.leaderboards.get(id) ?? { ...xpBoard, id }
    const span = spanOf(definition, window)
    if (span === undefined) return Effect.succeed(nothingFound)
    const now = timeIn(project, serverNow)
    const open = openWindow(project, definition, zone, window, now)
    const index = at === undefined ? open : indexAt(span, at, zone)
    const newest = openWindow(project, definition, firstZoneOf(definition, zone), window, now)
    if (index > newest) return refuse("out_of_range", "must not be later than the present window")
    if (index < oldestKept(environment, id, window, serverNow)) {
      const kept = keptOf(environment, id, window)
      return refuse("out_of_range", `must lie in the present window or in the ${kept} before it`)
    }
    const windows = boards.windows[window]
    const closed = windows.closed(index)
    const { endsAt, startsAt } = closed ?? boundsOn(definition, zone, span, index)
    const state = {
      closed:
        index < oldestOpenWindow(project, definition, zone, window, now) ||
        closeOf(project.boardCloses, id).over,
      paying: project.payouts.has(payoutId({ boardId: id, window, index })),
      prizes: closed?.prizes,
    }
    return Effect.map(
      Effect.all([
        this.#window(environment, { boardId, kind: window, index }, windows),
        this.#window(environment, { boardId, kind: window, index: index - 1 }, windows),
      ]),
      ([board, before]) => ({ boards, startsAt, endsAt, ...state, board, before }),
    )
  }

  #findAllTime(
    environment: RankedEnvironment,
    boardId: string,
    boards: BoardSet,
  ): Effect.Effect<Omit<Found, "listed">, LaurelError<"storage_unavailable">> {
    const { allTime, ended } = boards
    const found = { boards, startsAt: null, endsAt: null, before: noBoard }
    if (ended === undefined) {
      return Effect.succeed({ ...found, ...isOpen, board: boardInMemory(allTime, noGaps) })
    }
    const place = { boardId, window: "all_time", kind: "all_time", index: 0 } as const
    const paying = environment.project.durable.payouts.has(payoutId(place))
    const state = { closed: true, paying, prizes: ended.closed(0)?.prizes }
    return Effect.map(this.#window(environment, place, ended), (board) => ({
      ...found,
      ...state,
      board,
    }))
  }

  /** The board of a window, in whichever state it is; an empty board if the window had no users. */
  #window(
    environment: RankedEnvironment,
    of: {
      readonly boardId: string | undefined
      readonly kind: BoardWindow
      readonly index: number
    },
    windows: Windows,
  ): Effect.Effect<BoardSource, LaurelError<"storage_unavailable">> {
    const { boardId: board = xpBoard.id, index, kind } = of
    const stored = windows.stored.get(index)
    if (stored !== undefined) {
      const place = { environment: environment.id, board, kind, index }
      return this.#safely(openStoredBoard(this.#options.storage, place, stored))
    }
    const frozen = windows.frozen.find((one) => one.index === index)
    if (frozen !== undefined) {
      return Effect.succeed(boardInMemory(frozen.board, frozen.gaps, frozen.gone))
    }
    const rows = windows.open.get(index)
    return Effect.succeed(rows === undefined ? noBoard : boardInMemory(rows, noGaps))
  }

  #safely<A>(read: Effect.Effect<A, Broken>): Effect.Effect<A, LaurelError<"storage_unavailable">> {
    return Effect.mapError(read, (broken) => this.#options.broken(broken))
  }
}

const indexAt = (span: WindowSpan, at: number | string, zone: Zone): number => {
  if (typeof at === "number") return zone.windowAt(span, at)
  const day = dayOf(at)
  if (day === undefined) throw new RangeError(`${at} is no date`)
  return windowOfDay(span, day)
}

const refuse = (
  code: string,
  detail: string,
): Effect.Effect<never, LaurelError<"invalid_request">> =>
  Effect.fail(invalidRequest([{ pointer: "query/at", code, detail }]))

const userNotFound = laurelError(
  "user_not_found",
  "No event or reward of the user in around was accepted yet.",
)
