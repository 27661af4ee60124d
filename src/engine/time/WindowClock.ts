/**
 * Closes the windows of leaderboards when they end: for every environment whose local day has changed, and for
 * one whose time zone has, it asks the project actor for a record. At start it does so for all, and closes the windows
 * that ended while the server was down.
 *
 * A window may be closed once all records that count for it are durable. Those were decided before its end, so
 * it waits, after the end, for the commit of all that was appended by then, and then asks within the same
 * turn of the event loop: nothing can come in between. If the settings have changed while it waited, other
 * windows may be over, and it starts again.
 *
 * It sleeps until the next midnight of any zone that is in use, and looks at the clock every
 * `clockCheckMs`, in case that was set.
 */
import { Effect, Latch } from "effect"
import { openWindow } from "../../domain/decide/CloseWindows.ts"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { type WindowKind, windowKinds, type Zone, zoneOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import type { Boards } from "../boards/Boards.ts"
import type { CommitWaiter } from "../commit/GroupCommit.ts"
import { sleepUnlessOpened } from "./Clock.ts"

type CloseWindows = Extract<ProjectCommand, { readonly kind: "closeWindows" }>

/** An environment, as its windows end. */
export interface WindowedEnvironment {
  readonly boards: Boards
  readonly project: { readonly state: ProjectState }
}

export interface WindowClockOptions<Environment extends WindowedEnvironment> {
  /** How often the clock is looked at, in case it was set. */
  readonly clockCheckMs: number
  readonly environments: Iterable<Environment> & { of(id: string): Environment }
  readonly now: () => number
  /** Calls the waiter when everything appended so far is durable. */
  readonly afterCommit: (waiter: CommitWaiter) => void
  /** Asks the project actor; calls back with whether it did. */
  readonly close: (
    environment: Environment,
    command: CloseWindows,
    over: (closed: boolean) => void,
  ) => void
}

export class WindowClock<Environment extends WindowedEnvironment> {
  readonly #options: WindowClockOptions<Environment>
  readonly #changed = Latch.makeUnsafe(false)
  /** When the local day of an environment ends; absent: to be looked at now. */
  readonly #dayEnds = new Map<Environment, number>()

  constructor(options: WindowClockOptions<Environment>) {
    this.#options = options
  }

  /** A record is durable: settings that changed may include the time zone. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor !== "project") return
    if (!facts.some(({ kind }) => kind === "project.updated")) return
    this.#dayEnds.delete(this.#options.environments.of(subject.environment))
    this.#changed.openUnsafe()
  }

  /** Runs for ever. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* Effect.forEach(this.#due(), (environment) => this.#look(environment), {
        concurrency: limits.windowClosesConcurrentMax,
        discard: true,
      })
      let next = Number.POSITIVE_INFINITY
      for (const environment of this.#options.environments) {
        next = Math.min(next, this.#dayEnds.get(environment) ?? 0)
      }
      const sleepMs = Math.max(0, next - this.#options.now())
      yield* sleepUnlessOpened(this.#changed, Math.min(sleepMs, this.#options.clockCheckMs))
    }
  })

  #due(): ReadonlyArray<Environment> {
    const now = this.#options.now()
    const ends = new Map<string, number>()
    const due: Array<Environment> = []
    for (const environment of this.#options.environments) {
      if ((this.#dayEnds.get(environment) ?? 0) > now) continue
      due.push(environment)
      const { timezone } = environment.project.state.settings
      let end = ends.get(timezone)
      if (end === undefined) {
        end = nextMidnight(zoneOf(timezone), now)
        ends.set(timezone, end)
      }
      this.#dayEnds.set(environment, end)
    }
    return due
  }

  #look(environment: Environment): Effect.Effect<void> {
    return Effect.map(this.#close(environment), (closed) => {
      if (!closed) this.#dayEnds.set(environment, this.#options.now() + limits.windowCloseRetryMs)
    })
  }

  /** Closes what is over; answers false when that must be tried again. */
  #close(environment: Environment): Effect.Effect<boolean> {
    const { afterCommit, close, now } = this.#options
    const { boards, project } = environment
    return Effect.callback((resume) => {
      const { settings } = project.state
      const at = now()
      const closeNow = () => {
        markTurn("rollover")
        if (project.state.settings !== settings) return resume(this.#close(environment))
        const zone = zoneOf(settings.timezone)
        const windows: Array<{ window: WindowKind; index: number; total: number }> = []
        for (const window of windowKinds) {
          const open = openWindow(project.state, zone, window, at)
          for (const { index, total } of boards.windows[window].over(open)) {
            windows.push({ window, index, total })
          }
        }
        if (windows.length === 0) return resume(Effect.succeed(true))
        const command = { kind: "closeWindows", windows } as const
        close(environment, command, (closed) => resume(Effect.succeed(closed)))
      }
      // No caller waits.
      afterCommit({ committed: closeNow, stalled: () => true })
    })
  }
}

/** When the local day ends, epoch milliseconds. */
const nextMidnight = (zone: Zone, now: number): number => zone.startOfDay(zone.dayAt(now) + 1)
