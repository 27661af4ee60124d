/**
 * Closes the windows of leagues when their grace has ended, and settles them for each member
 * (`decide/Leagues.ts`).
 *
 * Invariants:
 * - A window is closed only when all records that count for it are durable: after the end the clock
 *   waits for the commit of everything appended so far, and then asks the project's actor. A window that
 *   ends during this wait, or is over only by settings that changed then, waits for the next commit.
 * - The windows of a league close one after the other: the next one only when the one before is
 *   settled for all but those who have refused for `leagueLateMs`. Of these the record of the next close
 *   keeps what the settling needs (`decide/Leagues.ts`), so that no rank moves, and they are asked until
 *   they are settled: each exactly once. More than `leagueLateMax` such users hold up the league, as
 *   it is not their fault. A test clock waits for none of them.
 * - Such a user is counted (`laurel_payments_failing`).
 * - A start goes on where a crash left off: the states of users say for whom a window is not settled.
 *
 * During an advance of a test clock, the steps of the advance close windows (`closeEnded`), and
 * move on only when they are settled (`nextEnd`).
 *
 * Cost: it looks at the end of each window with members, at most a few for a league. It asks
 * `leagueSettledMax` users at a time; `actor/Pace.ts` decides how many of them in a turn of the event loop.
 */
import { Effect, Latch } from "effect"
import {
  type CloseLeagues,
  leagueClosedThrough,
  leagueClosesAt,
} from "../../domain/decide/Leagues.ts"
import type { League } from "../../domain/project/League.ts"
import { isAdvancing, type ProjectState, timeIn } from "../../domain/project/Project.ts"
import type { JournalRecord, Tick } from "../../domain/record/Record.ts"
import { zoneOf } from "../../domain/values/Calendar.ts"
import type { LaurelError, Refusal } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Cohorts } from "../boards/Cohorts.ts"
import { sleepUnlessOpened } from "./Clock.ts"
import type { ClosingOptions } from "./WindowClock.ts"

/** The parts of an environment that the clock needs. */
interface LeagueEnvironment {
  readonly id: string
  readonly cohorts: Cohorts
  readonly project: { readonly state: ProjectState; readonly durable: ProjectState }
}

interface LeagueClockOptions<Environment extends LeagueEnvironment>
  extends ClosingOptions<Environment, CloseLeagues> {
  readonly askUsers: (
    environment: Environment,
    messages: ReadonlyArray<{ readonly userId: string; readonly command: Tick }>,
  ) => Effect.Effect<ReadonlyArray<Refusal>>
}

export class LeagueClock<Environment extends LeagueEnvironment> {
  readonly #options: LeagueClockOptions<Environment>
  readonly #changed = Latch.makeUnsafe(true)
  /** The environments in which somebody could not be settled, and when that is tried again. */
  readonly #retries = new Map<Environment, number>()
  /**
   * The users of each environment who could not be settled at the latest try, each with the environment's time
   * of the first refusal; absent: none.
   */
  readonly #failing = new Map<Environment, ReadonlyMap<string, number>>()

  constructor(options: LeagueClockOptions<Environment>) {
    this.#options = options
  }

  /** How many users wait for another try to settle their windows. */
  get failing(): number {
    return this.#failing.values().reduce((sum, users) => sum + users.size, 0)
  }

  /** A record is durable. It may have begun or closed a window, or moved its end. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor === "directory") return
    if (subject.actor === "project") {
      if (facts.some(({ kind }) => mayMoveEnds(kind))) this.#changed.openUnsafe()
      return
    }
    const { cohorts } = this.#options.environments.of(subject.environment)
    if (cohorts.takeNews()) this.#changed.openUnsafe()
  }

  /** Never ends. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      this.#changed.closeUnsafe()
      let waitMs = this.#options.clockCheckMs
      for (const environment of [...this.#options.environments]) {
        const { state } = environment.project
        if (state.leagues.size === 0) continue
        yield* this.#settle(environment)
        if (isAdvancing(state)) continue
        if (!(yield* this.closeEnded(environment))) {
          waitMs = Math.min(waitMs, limits.windowCloseRetryMs)
        }
        yield* this.#settle(environment)
        const at = timeIn(environment.project.state, this.#options.now())
        const retryMs = (this.#retries.get(environment) ?? Number.POSITIVE_INFINITY) - at
        const leftMs = Math.min(this.#nextClose(environment) - at, Math.max(retryMs, 1))
        waitMs = Math.max(1, Math.min(waitMs, leftMs))
      }
      yield* sleepUnlessOpened(this.#changed, waitMs)
    }
  })

  /** When the next window closes that has members; infinity: there is none. */
  #nextClose(environment: Environment): number {
    let next = Number.POSITIVE_INFINITY
    for (const league of environment.project.state.leagues.values()) {
      next = Math.min(next, this.#nextOf(environment, league)?.closesAt ?? next)
    }
    return next
  }

  /** The oldest open window of the league with members, and when it closes; `undefined`: that is not known. */
  #nextOf(
    environment: Environment,
    league: League,
  ): { readonly index: number; readonly closesAt: number } | undefined {
    const { cohorts, project } = environment
    const { state } = project
    if (league.set === "archived") return undefined
    const through = leagueClosedThrough(state, league.id)
    const index = cohorts.windowsOf(league.id).find((window) => window > through)
    if (index === undefined) return undefined
    const closesAt = leagueClosesAt(league, zoneOf(state.settings.timezone), index)
    if (!cohorts.isSettling(league, state)) return { index, closesAt }
    const freeAt = this.#freeAt(environment, league)
    return freeAt === undefined ? undefined : { index, closesAt: Math.max(closesAt, freeAt) }
  }

  /** When unsettled users no longer hold up the league; `undefined`: not all of them refuse, or they are too many. */
  #freeAt(environment: Environment, league: League): number | undefined {
    const { cohorts, project } = environment
    const failing = this.#failing.get(environment)
    const left = cohorts.unsettledIn(league, project.state)
    if (failing === undefined || left > Math.min(failing.size, limits.leagueLateMax)) {
      return undefined
    }
    let since = 0
    for (const { userIds } of cohorts.unsettled(project.state, league.id)) {
      for (const userId of userIds)
        since = Math.max(since, failing.get(userId) ?? Number.POSITIVE_INFINITY)
    }
    return since === Number.POSITIVE_INFINITY ? undefined : since + limits.leagueLateMs
  }

  /** `#nextClose`, or a time that is past while somebody waits to be settled. */
  nextEnd(environment: Environment): number {
    const { cohorts, project } = environment
    const waits =
      !this.#retries.has(environment) &&
      [...project.state.leagues.values()].some((league) =>
        cohorts.isSettling(league, project.state),
      )
    return waits ? 0 : this.#nextClose(environment)
  }

  /** Closes the windows that are over; returns false if that must be tried again. */
  closeEnded(environment: Environment): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const at = timeIn(environment.project.state, this.#options.now())
      return at < this.#nextClose(environment) ? Effect.succeed(true) : this.#close(environment, at)
    })
  }

  #close(environment: Environment, at: number): Effect.Effect<boolean> {
    const { afterCommit, close } = this.#options
    const { project } = environment
    const { settings } = project.state
    return Effect.callback((resume) => {
      const closeNow = () => {
        markTurn("rollover")
        if (project.state.settings !== settings) return resume(this.closeEnded(environment))
        const windows = this.#over(environment, at)
        if (windows.length === 0) return resume(Effect.succeed(true))
        const command = { kind: "closeLeagues", windows } as const
        close(environment, command, (closed) => resume(Effect.succeed(closed)))
      }
      // No caller waits for this, so it waits as long as the disk is full.
      afterCommit({ committed: closeNow, stalled: () => true })
    })
  }

  /** Of each league, the oldest open window with members, if it is over at `at`. */
  #over(environment: Environment, at: number): CloseLeagues["windows"] {
    const { cohorts, project } = environment
    const { state } = project
    return [...state.leagues.values()].flatMap((league: League) => {
      const next = this.#nextOf(environment, league)
      if (next === undefined || at < next.closesAt) return []
      const { id: leagueId } = league
      const { index } = next
      const counts = cohorts.countsOf(leagueId, index)
      return [{ leagueId, index, ...counts, late: cohorts.lateIn(league, state) }]
    })
  }

  /** Settles closed windows for all who wait, group by group. */
  readonly #settle = Effect.fnUntraced(function* (
    this: LeagueClock<Environment>,
    environment: Environment,
  ) {
    const { askUsers, now } = this.#options
    const { cohorts, project } = environment
    const at = () => timeIn(project.state, now())
    if ((this.#retries.get(environment) ?? 0) > at()) return
    this.#retries.delete(environment)
    let group: Array<string> = []
    const before = this.#failing.get(environment)
    const failing = new Map<string, number>()
    const settle = Effect.fnUntraced(function* () {
      markTurn("rollover")
      const asked = group.map((userId) => ({ userId, command: tick }))
      group = []
      const refusals = yield* askUsers(environment, asked)
      for (const { error, index } of refusals) {
        const { userId } = asked[index]!
        if (!isSettled(error)) failing.set(userId, before?.get(userId) ?? at())
      }
      yield* yieldToEventLoop
    })
    for (const { userIds } of cohorts.unsettled(project.durable)) {
      group.push(...userIds)
      if (group.length >= limits.leagueSettledMax) yield* settle()
    }
    if (group.length > 0) yield* settle()
    if (failing.size === 0) {
      this.#failing.delete(environment)
      return
    }
    this.#failing.set(environment, failing)
    this.#retries.set(environment, at() + limits.leagueRetryMs)
  })
}

const tick: Tick = { kind: "tick" }

/** `conflict`: a command has settled the user meanwhile. `user_not_found`: the user is gone. */
const isSettled = ({ code }: LaurelError): boolean =>
  code === "conflict" || code === "user_not_found"

/** Whether a fact of this kind may begin, close or move a window. */
const mayMoveEnds = (kind: string): boolean =>
  kind.startsWith("league.") || kind === "project.updated" || kind === "testClock.moved"
