/**
 * Announces ranks on leaderboards with `announceRanks`. It compares the first places of each open window with
 * the ranks that were announced last, and asks the actor of each user whose rank differs for a record.
 *
 * Invariants:
 * - The announced ranks are the fold of durable records (`boards/AnnouncedRanks.ts`). A check begins when all requests
 *   of the one before are answered. So a kill neither repeats a change nor loses one: the next check finds each rank
 *   of the boards that no record has.
 * - After a check without changes meanwhile, the announced ranks of each open window are its first places.
 * - Each record has the rank at the check. A rank that changes back between two checks is not announced.
 *
 * The first `announceRanks` rows have a rank that is announced, also if more users share the last of these ranks: so
 * a board on which all scores are equal announces no more than others.
 *
 * Ownership: this class asks the actors of users. Of the announced ranks it removes those of windows that ended
 * without a record, and of users who are gone.
 *
 * Cost: a check reads the first places of all open windows of the environment, at most every `boardRanksLookMs`, after
 * records of its users; then a record for each rank that differs, through `Pace`. Without such a leaderboard a record
 * costs a comparison.
 */
import { Effect, Latch } from "effect"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { oldestOpenWindow } from "../../domain/decide/CloseWindows.ts"
import { closeOf } from "../../domain/project/BoardClose.ts"
import {
  type AnnouncingBoard,
  announces,
  type Board,
  hasWindow,
  metricOf,
} from "../../domain/project/BoardDefinition.ts"
import { unscaled } from "../../domain/project/Metric.ts"
import { timeIn } from "../../domain/project/Project.ts"
import type { RankChange, RankLook } from "../../domain/record/BoardFact.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { timedWindows, zoneOf } from "../../domain/values/Calendar.ts"
import type { Refusal } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RankedWindow } from "../boards/AnnouncedRanks.ts"
import type { BoardSet } from "../boards/BoardSet.ts"
import type { UserMessage } from "./Actor.ts"
import type { Environment, Environments } from "./Environments.ts"

interface RankNewsParts {
  readonly environments: Environments
  readonly now: () => number
  /** Asks many users; returns the refusals. */
  readonly askUsers: (
    environment: string,
    messages: ReadonlyArray<UserMessage<RankLook>>,
  ) => Effect.Effect<ReadonlyArray<Refusal>>
}

export class RankNews {
  readonly #parts: RankNewsParts
  readonly #woken = Latch.makeUnsafe(false)
  /** The environments with a leaderboard that announces ranks. */
  readonly #watched = new Set<string>()
  /** Those with records since the last check. */
  #changed = new Set<string>()
  /** The users, by environment, who met a defect and are left out for a while. */
  readonly #resting = new Set<string>()

  constructor(parts: RankNewsParts) {
    this.#parts = parts
  }

  /** A record is durable. */
  committed({ cause, facts, subject }: JournalRecord): void {
    if (subject.actor === "directory") return
    const { environment } = subject
    if (subject.actor === "user") {
      if (this.#watched.size === 0 || cause.kind === "ranks") return
      if (this.#watched.has(environment)) this.#look(environment)
    } else if (facts.some(({ kind }) => kind.startsWith("leaderboard."))) {
      this.#watch(this.#parts.environments.of(environment))
    }
  }

  #watch({ id, project }: Environment): void {
    if (![...project.durable.leaderboards.values()].some(announces)) {
      this.#watched.delete(id)
      return
    }
    this.#watched.add(id)
    this.#look(id)
  }

  #look(environment: string): void {
    this.#changed.add(environment)
    this.#woken.openUnsafe()
  }

  /** Ends when the engine does. */
  readonly run: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (const environment of this.#parts.environments) this.#watch(environment)
    while (true) {
      yield* this.#woken.await
      yield* Effect.sleep(limits.boardRanksLookMs)
      this.#woken.closeUnsafe()
      const changed = this.#changed
      this.#changed = new Set()
      for (const id of changed) {
        const environment = this.#parts.environments.of(id)
        for (const board of environment.project.durable.leaderboards.values()) {
          if (!announces(board)) continue
          if (yield* this.#announce(environment, board)) return
          yield* yieldToEventLoop
        }
      }
    }
  })

  /** Returns whether the engine takes no more commands. */
  readonly #announce = Effect.fnUntraced(function* (
    this: RankNews,
    environment: Environment,
    board: AnnouncingBoard,
  ) {
    const { id } = environment
    const all = rankChanges(environment, board, this.#parts.now())
    const messages = all.filter(({ userId }) => !this.#resting.has(`${id} ${userId}`))
    if (messages.length === 0) return false
    for (const { error, index } of yield* this.#parts.askUsers(id, messages)) {
      const { code } = error
      const { userId } = messages[index]!
      if (code === "shutting_down") return true
      // The window has closed, or the user was merged into another.
      if (code === "conflict") continue
      if (code === "user_not_found") environment.announced.forget(userId)
      else yield* this.#rest(id, userId, code)
    }
    return false
  })

  readonly #rest = Effect.fnUntraced(function* (
    this: RankNews,
    environment: string,
    userId: string,
    code: string,
  ) {
    const name = `${environment} ${userId}`
    yield* Effect.logError("A rank could not be announced; tried again", { user: userId, code })
    this.#resting.add(name)
    const again = Effect.sync(() => {
      this.#resting.delete(name)
      this.#look(environment)
    })
    yield* Effect.forkChild(Effect.delay(again, limits.boardRanksRetryMs))
  })
}

/** The ranks to announce on a leaderboard. Drops those of windows that are over. */
const rankChanges = (
  { announced, boards, project: { durable } }: Environment,
  board: AnnouncingBoard,
  serverNow: number,
): ReadonlyArray<UserMessage<RankLook>> => {
  const set = boards.of(board.id)
  const closes = closeOf(durable.boardCloses, board.id)
  if (set === undefined || set.ended !== undefined || closes.over || !set.isFilled) return []
  const open = [...openWindows(set, board)]
  const zone = zoneOf(durable.settings.timezone)
  const now = timeIn(durable, serverNow)
  // An empty window closes without a record.
  for (const window of announced.windowsOf(board.id)) {
    const { window: kind } = window
    if (kind === "all_time" || open.some(([one]) => isSame(one, window))) continue
    const isOver = window.index < oldestOpenWindow(durable, board, zone, kind, now)
    if (isOver) announced.drop(window)
    else open.push([window, undefined])
  }
  const decimals = metricOf(durable.metrics, board)?.decimals ?? 0
  const shown = (key: number): number | null =>
    key === 0 ? null : unscaled(set.scoreOf(key), decimals)
  return open.flatMap(([window, rows]) => {
    const { index, window: kind } = window
    if (kind !== "all_time" && index <= closes[kind]) return []
    return changesIn(announced.of(window), rows, board).map(({ key, to, ...ranks }) => ({
      userId: to,
      command: { kind: "ranks" as const, change: { ...window, ...ranks, score: shown(key), to } },
    }))
  })
}

const isSame = (one: RankedWindow, other: RankedWindow): boolean =>
  one.window === other.window && one.index === other.index

/** The open windows of a leaderboard with their rows. */
function* openWindows(
  set: BoardSet,
  board: Board,
): Generator<readonly [window: RankedWindow, rows: Leaderboard | undefined]> {
  const { id: boardId } = board
  if (hasWindow(board, "all_time")) {
    yield [{ boardId, window: "all_time", index: 0 }, set.allTime]
  }
  for (const window of timedWindows) {
    if (!hasWindow(board, window)) continue
    for (const [index, rows] of set.windows[window].open) yield [{ boardId, window, index }, rows]
  }
}

interface Change extends Pick<RankChange, "rank" | "previousRank"> {
  readonly to: string
  /** The key of the score; 0: not listed. */
  readonly key: number
}

/** The differences between the first places and the announced ranks. Users who have left come first. */
const changesIn = (
  announced: ReadonlyMap<string, number>,
  rows: Leaderboard | undefined,
  { announceRanks, ties }: AnnouncingBoard,
): ReadonlyArray<Change> => {
  const first = new Set<string>()
  const come: Array<Change> = []
  let place = 0
  rows?.visit(0, announceRanks, (member, key, shared) => {
    place++
    const to = rows.members.idOf(member)
    const rank = ties === "shared" ? shared : place
    const previousRank = announced.get(to) ?? null
    first.add(to)
    if (rank !== previousRank) come.push({ to, key, rank, previousRank })
  })
  const left: Array<Change> = []
  for (const [to, previousRank] of announced) {
    if (!first.has(to)) left.push({ to, key: rows?.scoreOf(to) ?? 0, rank: null, previousRank })
  }
  return [...left, ...come]
}
