/**
 * Wakes users who are due. It takes them from the agendas, checks whether they really are due, and
 * only then sends the user's actor a `tick`. A pause follows each group of users, so a midnight at
 * which many streaks break delays no request.
 *
 * An environment whose test clock is advancing moves on when none of its users is due: so the ticks
 * of an advance are decided in the order of their times (`TestClocks.ts`).
 */
import { Effect, type Latch } from "effect"
import { isAdvancing, type ProjectState, timeIn } from "../../domain/project/Project.ts"
import type { Tick } from "../../domain/record/Record.ts"
import { recountedMetric, type UserState } from "../../domain/user/User.ts"
import type { Refusal } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Boards } from "../boards/Boards.ts"
import { type Agenda, dueSecond } from "./Agenda.ts"
import { sleepUnlessOpened } from "./Clock.ts"

/** The parts of an environment that the ticker needs. */
interface TimedEnvironment {
  readonly id: string
  readonly agenda: Agenda
  readonly boards: Boards
  readonly project: { readonly state: ProjectState }
}

interface TickOf {
  readonly userId: string
  readonly command: Tick
}

interface TickerOptions<Environment extends TimedEnvironment> {
  /** How often the clock is looked at, in case it was set. */
  readonly clockCheckMs: number
  readonly environments: Iterable<Environment>
  /** The server's time. */
  readonly now: () => number
  /**
   * Moves on an environment whose test clock is advancing; returns the time until the next try, in
   * milliseconds.
   */
  readonly advance: (environment: Environment) => Effect.Effect<number>
  /** Opens when a user may be due earlier than before. */
  readonly dueSooner: Latch.Latch
  /** A user's state including records that are not durable yet. Makes no actor. */
  readonly peek: (environment: Environment, userId: string) => UserState | undefined
  /** Recounts the user's metrics in the background, unless that is under way. */
  readonly recount: (environment: Environment, userId: string) => void
  readonly askUsers: (
    environment: Environment,
    messages: ReadonlyArray<TickOf>,
  ) => Effect.Effect<ReadonlyArray<Refusal>>
}

export class Ticker<Environment extends TimedEnvironment> {
  readonly #options: TickerOptions<Environment>

  constructor(options: TickerOptions<Environment>) {
    this.#options = options
  }

  /** Never ends. */
  readonly run: Effect.Effect<never, Broken> = Effect.gen({ self: this }, function* () {
    while (true) {
      let waitMs = this.#options.clockCheckMs
      for (const environment of this.#options.environments) {
        const leftMs = environment.agenda.nextSecond * 1_000 - this.#nowIn(environment)
        if (leftMs <= 0) {
          yield* this.#look(environment)
          waitMs = 0
        } else if (isAdvancing(environment.project.state)) {
          waitMs = Math.min(waitMs, yield* this.#options.advance(environment))
        } else waitMs = Math.min(waitMs, leftMs)
      }
      if (waitMs > 0) yield* sleepUnlessOpened(this.#options.dueSooner, waitMs)
    }
  })

  #nowIn({ project }: Environment): number {
    return timeIn(project.state, this.#options.now())
  }

  /** Checks a group of users of one environment. */
  readonly #look = Effect.fnUntraced(function* (
    this: Ticker<Environment>,
    environment: Environment,
  ) {
    const { agenda, boards, project } = environment
    const { askUsers, peek, recount } = this.#options
    const now = () => this.#nowIn(environment)
    const group = agenda.take(Math.floor(now() / 1_000), limits.agendaGroupUsersMax)
    // A member may be listed and rechecked at once.
    const userIds = [...new Set(group)].map((member) => boards.members.idOf(member))
    const due: Array<TickOf> = []
    const set = (userId: string, second: number) => {
      const member = boards.members.find(userId)
      if (member !== undefined) agenda.set(member, second)
    }
    /** Whether a tick would change the user now. If not, sets the next due time. */
    const isDue = (userId: string, user: UserState | undefined): boolean => {
      const second = user === undefined ? 0 : dueSecond(user, project.state, now())
      if (second !== 0 && second * 1_000 <= now()) return true
      set(userId, second)
      return false
    }
    let looked = 0
    for (const userId of userIds) {
      if (looked >= turnParts) {
        looked = 0
        yield* yieldToEventLoop
      }
      const user = peek(environment, userId)
      looked +=
        userParts +
        (user === undefined ? 0 : user.quests.size + user.streaks.size + user.expiring.size)
      if (!isDue(userId, user)) continue
      if (user !== undefined && recountedMetric(user) !== undefined) recount(environment, userId)
      due.push({ userId, command: tick })
    }
    // The record of an accepted tick sets the next due time.
    for (const { index } of yield* askUsers(environment, due)) {
      const { userId } = due[index]!
      // Another record may have left nothing that is due.
      if (!isDue(userId, peek(environment, userId))) continue
      // Refusal for lack of room or space: tried again, in an advance at its target, so that it
      // makes no further step.
      const target = isAdvancing(project.state) ? project.state.testClock!.target : 0
      const retryAt = Math.max(now() + limits.agendaRetryMs, target)
      set(userId, Math.ceil(retryAt / 1_000))
    }
    const pauseMs = isAdvancing(project.state) ? limits.testClockPauseMs : limits.agendaPauseMs
    yield* group.length === 0 ? yieldToEventLoop : Effect.sleep(pauseMs)
  })
}

const tick: Tick = { kind: "tick" }
/** How many quests and streaks are looked at in one turn of the event loop. */
const turnParts = 1_000
/** The cost of any user, in quests and streaks. */
const userParts = 20
