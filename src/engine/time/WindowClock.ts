/**
 * Closes the windows of leaderboards when they end, and leaderboards at their `endsAt`: it asks the
 * project actor for a record when the local day of an environment has changed, its time zone, or the
 * end of a leaderboard has come. At a start it does so for all environments, which closes what ended
 * while the server was down.
 *
 * Invariant: a window is closed only when all records that count for it are durable. Those were
 * decided before its end. So after the end the clock waits for the commit of everything appended so
 * far, and asks the actor in the same turn of the event loop, so that no record comes between. If
 * the settings have changed meanwhile, other windows may be over, and it begins again. A leaderboard
 * ends only when it is filled (`actor/BoardFills.ts`).
 *
 * During an advance of an environment's test clock, the steps of the advance close its windows
 * (`closeEnded`), each before the time moves on.
 *
 * Cost: it sleeps until the next midnight of any time zone in use, or the next end of a leaderboard. It reads the clock every
 * `clockCheckMs`, in case the clock was set.
 */
import { Effect, Latch } from "effect"
import {
  type CloseWindows,
  endingBoards,
  hasEnded,
  oldestOpenWindow,
  type WindowOver,
} from "../../domain/decide/CloseWindows.ts"
import {
  boardGraceMs,
  boundsOn,
  hasScores,
  lastZoneOf,
  spanOf,
  xpBoard,
} from "../../domain/project/BoardDefinition.ts"
import { isAdvancing, type ProjectState, timeIn } from "../../domain/project/Project.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import { timedWindows, type Zone, zoneOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import type { Boards } from "../boards/Boards.ts"
import type { CommitWaiter } from "../commit/GroupCommit.ts"
import { sleepUnlessOpened } from "./Clock.ts"

/** The parts of an environment that the window clock needs. */
interface WindowedEnvironment {
  readonly boards: Boards
  readonly project: { readonly state: ProjectState }
}

/** What the clocks that close windows need. `Command` closes windows. */
export interface ClosingOptions<Environment, Command> {
  /** How often the clock is looked at, in case it was set. */
  readonly clockCheckMs: number
  readonly environments: Iterable<Environment> & { of(id: string): Environment }
  readonly now: () => number
  /** Calls the waiter when everything appended so far is durable. */
  readonly afterCommit: (waiter: CommitWaiter) => void
  /** Asks the project actor to close windows; calls back with whether it did. */
  readonly close: (
    environment: Environment,
    command: Command,
    over: (closed: boolean) => void,
  ) => void
}

type WindowClockOptions<Environment extends WindowedEnvironment> = ClosingOptions<
  Environment,
  CloseWindows
>

export class WindowClock<Environment extends WindowedEnvironment> {
  readonly #options: WindowClockOptions<Environment>
  readonly #changed = Latch.makeUnsafe(false)
  /** When the local day of an environment or a leaderboard ends next; absent: it must be checked now. */
  readonly #ends = new Map<Environment, number>()

  constructor(options: WindowClockOptions<Environment>) {
    this.#options = options
  }

  /** A record is durable. It may have changed the time zone, or ended an advance. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor !== "project") return
    if (!facts.some(mayMoveDays)) return
    this.#ends.delete(this.#options.environments.of(subject.environment))
    this.#changed.openUnsafe()
  }

  /** Never ends. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* Effect.forEach(this.#due(), (environment) => this.#look(environment), {
        concurrency: limits.windowClosesConcurrentMax,
        discard: true,
      })
      let sleepMs = Number.POSITIVE_INFINITY
      for (const environment of this.#options.environments) {
        const end = this.#ends.get(environment) ?? 0
        sleepMs = Math.min(sleepMs, Math.max(0, end - this.#nowIn(environment)))
      }
      yield* sleepUnlessOpened(this.#changed, Math.min(sleepMs, this.#options.clockCheckMs))
    }
  })

  #due(): ReadonlyArray<Environment> {
    const at = this.#options.now()
    const ends = new Map<string, number>()
    const due: Array<Environment> = []
    for (const environment of this.#options.environments) {
      const { state } = environment.project
      const now = timeIn(state, at)
      if ((this.#ends.get(environment) ?? 0) > now) continue
      if (isAdvancing(state)) {
        // `committed` ends this wait.
        this.#ends.set(environment, Number.POSITIVE_INFINITY)
        continue
      }
      due.push(environment)
      const { timezone } = state.settings
      const day = `${timezone} ${now}`
      let end = ends.get(day)
      if (end === undefined) {
        end = nextMidnight(zoneOf(timezone), now)
        ends.set(day, end)
      }
      this.#ends.set(environment, Math.min(end, ...endsAfter(state, now)))
    }
    return due
  }

  #look(environment: Environment): Effect.Effect<void> {
    return Effect.map(this.closeEnded(environment), (closed) => {
      if (closed) return
      this.#ends.set(environment, this.#nowIn(environment) + limits.windowCloseRetryMs)
    })
  }

  #nowIn({ project }: Environment): number {
    return timeIn(project.state, this.#options.now())
  }

  /**
   * When the next open window ends that has users, or the next leaderboard, epoch milliseconds; infinity:
   * there is none.
   */
  nextEnd({ boards, project }: Environment): number {
    const zone = zoneOf(project.state.settings.timezone)
    const { leaderboards } = project.state
    let next = Math.min(
      ...endingBoards(project.state).map((board) => board.endsAt + boardGraceMs(board)),
    )
    for (const [boardId, { windows }] of boards.sets()) {
      const board = leaderboards.get(boardId) ?? xpBoard
      const graceMs = boardGraceMs(board)
      for (const kind of timedWindows) {
        const span = spanOf(board, kind)
        if (span === undefined) continue
        for (const [index, { total }] of windows[kind].open) {
          if (total > 0) next = Math.min(next, boundsOn(board, zone, span, index).endsAt + graceMs)
        }
      }
    }
    return next
  }

  /** Closes the windows that are over; returns false if that must be tried again. */
  closeEnded(environment: Environment): Effect.Effect<boolean> {
    const { afterCommit, close } = this.#options
    const { boards, project } = environment
    return Effect.callback((resume) => {
      const { settings } = project.state
      const at = this.#nowIn(environment)
      const closeNow = () => {
        markTurn("rollover")
        if (project.state.settings !== settings) return resume(this.closeEnded(environment))
        const { isComplete, windows } = windowsOver(boards, project.state, at)
        if (windows.length === 0) return resume(Effect.succeed(isComplete))
        const command = { kind: "closeWindows", windows } as const
        close(environment, command, (closed) => resume(Effect.succeed(closed && isComplete)))
      }
      // No caller waits for this, so it waits as long as the disk is full.
      afterCommit({ committed: closeNow, stalled: () => true })
    })
  }
}

/** What is over at `at`. `isComplete`: no leaderboard that has ended waits to be filled. */
const windowsOver = (boards: Boards, state: ProjectState, at: number) => {
  const zone = zoneOf(state.settings.timezone)
  const ended = new Set(endingBoards(state).flatMap((one) => (hasEnded(one, at) ? one.id : [])))
  const windows: Array<WindowOver> = []
  let isComplete = true
  for (const [boardId, set] of boards.sets()) {
    const board = state.leaderboards.get(boardId)
    if (board === undefined) continue
    const of = set === boards ? undefined : { boardId }
    const ends = ended.has(boardId)
    if (ends && !set.isFilled) {
      isComplete = false
      continue
    }
    for (const window of timedWindows) {
      const open = ends
        ? Number.POSITIVE_INFINITY
        : oldestOpenWindow(state, board, zone, window, at)
      for (const over of set.windows[window].over(open)) windows.push({ ...of, window, ...over })
    }
    if (ends) windows.push({ ...of, window: "all_time", index: 0, total: set.allTime.total })
  }
  return { windows, isComplete }
}

/** The next ends of leaderboards, and of the days of each, behind its grace. */
const endsAfter = (state: ProjectState, now: number): ReadonlyArray<number> => {
  const zone = zoneOf(state.settings.timezone)
  const midnights = new Map<string, number>()
  for (const board of state.leaderboards.values()) {
    const graceMs = boardGraceMs(board)
    const name = `${board.timeZone} ${graceMs}`
    // The clock looks at the midnight of the project in any case.
    if (name === "project 0" || !hasScores(board) || midnights.has(name)) continue
    midnights.set(name, nextMidnight(lastZoneOf(board, zone), now - graceMs) + graceMs)
  }
  return [
    ...endingBoards(state).flatMap((board) =>
      hasEnded(board, now) ? [] : [board.endsAt + boardGraceMs(board)],
    ),
    ...midnights.values(),
  ]
}

/** Whether the local day of the environment, or a leaderboard, may end at another time of the server. */
const mayMoveDays = (fact: Fact): boolean =>
  fact.kind === "project.updated" ||
  fact.kind === "leaderboard.created" ||
  fact.kind === "leaderboard.updated" ||
  (fact.kind === "testClock.moved" && fact.status === "ready")

/** When the local day ends, epoch milliseconds. */
const nextMidnight = (zone: Zone, now: number): number => zone.startOfDay(zone.dayAt(now) + 1)
