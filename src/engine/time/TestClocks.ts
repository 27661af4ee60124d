/**
 * Advances the test clocks of sandboxes. An advance leads an environment's time to its target in
 * steps, each to the next moment at which a user is due or a window ends, and moves on only when
 * all that was due is decided. So streaks break, quests expire and windows close in the order of
 * their times, and records and messages have those times, as if the time had passed.
 *
 * Invariants:
 * - Each step is a record of the project actor (`decide/TestClock.ts`). After a crash, a restore or
 *   a failover the advance goes on from the last durable step.
 * - An advance ends (`ready`) when its target is reached, no user is due, no window is over and no
 *   payout is under way: prizes are paid at the time of the close. A user whose tick was refused is
 *   tried again at the target, and once more later. A payout whose payments failed is under way again
 *   at its next try. So a failing actor does not hold an advance for ever.
 * - A step passes nothing that a record in flight makes due: agenda and boards have durable records
 *   only, so a step also looks at users with other ones.
 * - Between two steps the environment's time runs with the server's. Events are decided meanwhile.
 *
 * Ownership: `Ticker` calls `advance`, so an environment has one step at a time, and none while it
 * looks at due users.
 *
 * Cost: a step costs one record and one flush of the journal. There are at most as many steps as
 * different moments: users of one time zone share their midnights.
 */
import { Effect } from "effect"
import type { StepClock } from "../../domain/decide/TestClock.ts"
import { isAdvancing, type ProjectState, timeIn } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Agenda } from "./Agenda.ts"

/** The parts of an environment that an advance needs. */
interface AdvancingEnvironment {
  readonly agenda: Agenda
  readonly dueInFlight: () => number
  readonly project: { readonly state: ProjectState; readonly durable: ProjectState }
}

interface TestClocksOptions<Environment extends AdvancingEnvironment> {
  /** The server's time. */
  readonly now: () => number
  readonly windows: {
    readonly closeEnded: (environment: Environment) => Effect.Effect<boolean>
    readonly nextEnd: (environment: Environment) => number
  }
  /** Whether prizes or rewards are being paid. */
  readonly isPaying: (environment: Environment) => boolean
  /** Asks the project actor; returns whether it moved. */
  readonly move: (environment: Environment, command: StepClock) => Effect.Effect<boolean>
  /** Wakes the ticker. */
  readonly sooner: () => void
}

export class TestClocks<Environment extends AdvancingEnvironment> {
  readonly #options: TestClocksOptions<Environment>
  /** Called when an advance of any environment has ended. */
  readonly #waiting = new Set<() => void>()

  constructor(options: TestClocksOptions<Environment>) {
    this.#options = options
  }

  /** Takes the next step of an advance; returns the time until the next try, in milliseconds. */
  readonly advance = (environment: Environment): Effect.Effect<number> =>
    Effect.flatMap(this.#options.windows.closeEnded(environment), (closed) => {
      if (!closed) return Effect.succeed(limits.windowCloseRetryMs)
      // `committed` ends this wait.
      if (this.#options.isPaying(environment)) return Effect.succeed(limits.agendaRetryMs)
      const command = this.#nextStep(environment)
      // Records in flight become durable, or a window ends, before the next try.
      if (command === undefined) return Effect.as(yieldToEventLoop, 0)
      return Effect.map(this.#options.move(environment, command), (moved) =>
        moved ? 0 : limits.agendaRetryMs,
      )
    })

  /** `undefined`: something is due by now, and comes first. */
  #nextStep(environment: Environment): StepClock | undefined {
    const { now, windows } = this.#options
    const { state } = environment.project
    const at = timeIn(state, now())
    const dueAt = Math.min(
      environment.agenda.nextSecond * 1_000,
      windows.nextEnd(environment),
      environment.dueInFlight(),
    )
    if (dueAt <= at || state.testClock === undefined) return undefined
    const { target } = state.testClock
    return at >= target ? { kind: "stepClock" } : { kind: "stepClock", to: Math.min(dueAt, target) }
  }

  /** A record is durable. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor !== "project") return
    for (const fact of facts) {
      const isPaid = fact.kind === "leaderboard.prizes_paid" || fact.kind === "goal.rewards_paid"
      if (isPaid) this.#options.sooner()
      if (fact.kind !== "testClock.moved") continue
      this.#options.sooner()
      if (fact.status === "advancing") continue
      for (const resume of [...this.#waiting]) resume()
    }
  }

  /** Ends when the environment's durable state has no advance under way. */
  readonly ready = (environment: Environment): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!isAdvancing(environment.project.durable)) return Effect.void
      const ended = Effect.callback<void>((resume) => {
        const over = () => {
          this.#waiting.delete(over)
          resume(Effect.void)
        }
        this.#waiting.add(over)
        return Effect.sync(() => this.#waiting.delete(over))
      })
      return ended.pipe(
        // The caller resumes after the batch, not in the middle of it.
        Effect.andThen(yieldToEventLoop),
        Effect.andThen(this.ready(environment)),
      )
    })
}
