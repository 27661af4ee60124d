/**
 * Pays the rewards of shared goals that are complete, and completes goals whose targets an edit has
 * lowered to their totals (`decide/Goals.ts`). It works in the background, one place of an environment
 * after the other.
 *
 * Invariants:
 * - Nobody is paid twice: a payment is refused if the user's part says that it is paid.
 * - Nobody is left out. Nothing counts for a place once it is complete, so the durable states have all
 *   contributions when its completion is durable. A pass asks everyone who is due and not paid: all
 *   users, or those on the list of the team, who were its members at the completion (`user/GoalPart.ts`). A merge during a pass may move a part to a user who was passed,
 *   so another pass follows. A record says that the place is paid when a pass has met no merge.
 * - After a crash the pass begins again: who was paid is passed over.
 * - A place that meets a defect or a damaged record, in itself or in one of its users, is logged, counted
 *   (`laurel_payments_failing`), and tried again after `goalRetryMs`. The other users and the other places of the
 *   environment go on meanwhile, and so does a test clock. A user who met a defect is not asked for another
 *   place before that time, as with prizes (`Payouts.ts`).
 *
 * Ownership: this class asks the actors of users and of the project, and changes no state itself.
 *
 * Cost: a record for each contributor who is paid, and one for the place. A pass over everyone decodes
 * the state of each user. `payoutGroupUsersMax` users are asked together, and a pause follows each
 * group, so other commands find their turn.
 */
import { Cause, Effect, FiberSet } from "effect"
import { isCompletable } from "../../domain/decide/Goals.ts"
import { isDue } from "../../domain/decide/Payments.ts"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import { isAdvancing, timeIn } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { partOf } from "../../domain/user/GoalPart.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import { type Broken, isDamagedRecord, type Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import type { OwedGoal } from "../actor/GoalRows.ts"
import { placeName } from "../actor/GoalTotals.ts"
import { type Ended, insist } from "../badges/BackfillRun.ts"
import { readTeamMembers } from "../read/TeamMemberList.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { type AskUsers, type PaymentTo, payAll, Waiting } from "./payAll.ts"

interface GoalRewardsParts {
  readonly environments: Environments
  readonly storage: Storage["Service"]
  readonly now: () => number
  /** How many users are asked together. */
  readonly groupUsersMax: number
  readonly askUsers: AskUsers
  readonly askProject: (
    environment: string,
    command: ProjectCommand,
  ) => Effect.Effect<unknown, LaurelError>
}

export class GoalRewards {
  readonly #parts: GoalRewardsParts
  /** The environments with work under way, each with the places that wait for their next try. */
  readonly #running = new Map<string, Waiting>()
  /** How many users were merged in each environment. */
  readonly #merges = new Map<string, number>()
  /** The environments whose goals changed, or whose places were not looked at yet. */
  readonly #changed = new Set<string>()
  #fork: ((work: Effect.Effect<void, Broken>) => void) | undefined

  constructor(parts: GoalRewardsParts) {
    this.#parts = parts
  }

  /** Resumes what a crash left, then follows the records; never ends by itself. */
  readonly run: Effect.Effect<void, Broken> = Effect.scoped(
    Effect.gen({ self: this }, function* () {
      const fibers = yield* FiberSet.make<void, Broken>()
      const fork = yield* FiberSet.runtime(fibers)<never>()
      this.#fork = (work) => {
        fork(work)
      }
      for (const environment of this.#parts.environments) {
        this.#changed.add(environment.id)
        this.#wake(environment)
      }
      yield* FiberSet.join(fibers)
    }),
  )

  /** How many payments have met a defect and wait for their next try. */
  get failing(): number {
    let failing = 0
    for (const { failed } of this.#running.values()) {
      for (const count of failed.values()) failing += count
    }
    return failing
  }

  /** Whether rewards of the environment are owed for a place that does not wait for its next try. */
  isPaying({ counts: { goals }, id }: Environment): boolean {
    if (!goals.isAnyOwed) return false
    const failed = this.#running.get(id)?.failed
    return failed === undefined || !goals.owed.keys().every((name) => failed.has(name))
  }

  /** A record is durable. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor === "directory") return
    const { environment: id } = subject
    for (const { kind } of facts) {
      if (kind === "user.merged") this.#merges.set(id, (this.#merges.get(id) ?? 0) + 1)
      if (kind === "goal.updated") this.#changed.add(id)
      if (kind !== "goal.completed" && kind !== "goal.updated") continue
      this.#wake(this.#parts.environments.of(id))
    }
  }

  #wake(environment: Environment): void {
    const { counts, id } = environment
    const running = this.#running.get(id)
    if (running !== undefined) running.changed.openUnsafe()
    if (this.#fork === undefined || running !== undefined) return
    if (counts.goals.owed.size === 0 && !this.#changed.has(id)) return
    const waiting = new Waiting()
    this.#running.set(id, waiting)
    this.#fork(Effect.catchTag(this.#work(environment, waiting), "Ended", () => Effect.void))
  }

  readonly #work = Effect.fnUntraced(function* (
    this: GoalRewards,
    environment: Environment,
    waiting: Waiting,
  ): Effect.fn.Return<void, Broken | Ended> {
    const { counts, id } = environment
    const { failed, failedUsers } = waiting
    let retryAt = Number.POSITIVE_INFINITY
    while (true) {
      if (this.#changed.delete(id)) yield* this.#complete(environment)
      const { owed } = counts.goals
      // In the same turn as the look, so that a later completion begins its own fiber.
      if (owed.size === 0 && !this.#changed.has(id)) {
        this.#running.delete(id)
        return
      }
      const next = owed.entries().find(([name]) => !failed.has(name))
      if (next === undefined) {
        if (this.#changed.has(id)) continue
        yield* waiting.rest(retryAt)
        continue
      }
      const [name, place] = next
      const left = yield* Effect.catchCause(this.#pay(environment, place, failedUsers), (cause) => {
        // These must not end the process: they would do so at each start.
        if (!Cause.hasDies(cause) && !isDamagedRecord(Cause.squash(cause))) {
          return Effect.failCause(cause)
        }
        const logged = Effect.logError(
          "The rewards of a goal crashed; tried again",
          { place: name },
          cause,
        )
        return Effect.as(logged, 1)
      })
      if (left === 0) continue
      failed.set(name, left)
      retryAt = (yield* monotonicMs) + limits.goalRetryMs
    }
  })

  /** Completes the places that an edit has left with enough. */
  readonly #complete = Effect.fnUntraced(function* (
    this: GoalRewards,
    { counts, id, project }: Environment,
  ) {
    for (const goalId of project.state.goals.keys()) {
      while (true) {
        const goal = project.state.goals.get(goalId)
        const now = timeIn(project.state, this.#parts.now())
        if (goal === undefined || !isCompletable(project.state, counts.goals, goal, now)) break
        yield* this.#ask(id, { kind: "completeGoal", goalId })
        yield* yieldToEventLoop
      }
    }
  })

  /** Returns how many payments failed. */
  readonly #pay = Effect.fnUntraced(function* (
    this: GoalRewards,
    environment: Environment,
    owed: OwedGoal,
    failedUsers: Set<string>,
  ): Effect.fn.Return<number, Broken | Ended> {
    const { id } = environment
    let merges: number | undefined
    let paid = 0
    do {
      merges = this.#merges.get(id)
      const pass = new Pass(this.#parts, environment, owed, failedUsers)
      yield* owed.goal.team === undefined ? pass.everyone : pass.members
      if (pass.failed > 0) return pass.failed
      paid = pass.paid
    } while (merges !== this.#merges.get(id))
    yield* this.#ask(id, { kind: "finishGoal", place: placeIn(owed), paid })
    return 0
  })

  #ask(environment: string, command: ProjectCommand): Effect.Effect<void, Ended> {
    return Effect.asVoid(insist(this.#parts.askProject(environment, command)))
  }
}

const placeIn = ({ goal: { key: _, name: __, ...place } }: OwedGoal) => place

/** Asks everyone who is due the reward of a place. */
class Pass {
  readonly #parts: GoalRewardsParts
  readonly #environment: Environment
  readonly #owed: OwedGoal
  readonly #name: string
  readonly #failedUsers: Set<string>
  #group: Array<PaymentTo> = []
  /** Users who have the reward. */
  paid = 0
  /** Users who met a defect. */
  failed = 0

  constructor(
    parts: GoalRewardsParts,
    environment: Environment,
    owed: OwedGoal,
    failedUsers: Set<string>,
  ) {
    this.#failedUsers = failedUsers
    this.#parts = parts
    this.#environment = environment
    this.#owed = owed
    this.#name = placeName(owed.goal)
  }

  readonly everyone: Effect.Effect<void, Ended> = Effect.gen({ self: this }, function* () {
    let turnEndsAt = performance.now() + limits.boardFillTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = this.#environment.usersFrom(prefix)
      prefix = next
      yield* this.#see(users)
      if (performance.now() < turnEndsAt) continue
      yield* yieldToEventLoop
      turnEndsAt = performance.now() + limits.boardFillTurnMs
    }
    yield* this.#payGroup
  })

  /** Those who are, or were, in the team and have a part. The team may be deleted. */
  readonly members: Effect.Effect<void, Broken | Ended> = Effect.gen({ self: this }, function* () {
    const { storage } = this.#parts
    const { goal } = this.#owed
    // Who has a part is listed, whatever the kind of the team was.
    const team = { kind: "", number: goal.team! }
    const former = ({ goals }: UserState) => partOf(goals.get(goal.goalId), goal) !== undefined
    const limit = this.#parts.groupUsersMax
    let after: string | undefined
    while (true) {
      const query = { team, limit, after, former }
      const page = yield* readTeamMembers(storage, this.#environment, query)
      yield* this.#see(page.members.map(({ user }) => user))
      if (!page.hasMore) break
      after = page.members.at(-1)!.user.id
    }
    yield* this.#payGroup
  })

  readonly #see = Effect.fnUntraced(function* (this: Pass, users: ReadonlyArray<UserState>) {
    const { goal, madeAt, min, reward } = this.#owed
    for (const user of users) {
      const part = partOf(user.goals.get(goal.goalId), goal)
      if (part === undefined) continue
      if (part.paid) this.paid++
      else if (isDue(user, part, min)) {
        const { id: userId } = user
        const what = { goal, rewards: [reward], min, madeAt }
        const command = { kind: "payment", payout: this.#name, to: userId, ...what } as const
        this.#group.push({ userId, command })
        if (this.#group.length >= this.#parts.groupUsersMax) yield* this.#payGroup
      }
    }
  })

  get #payGroup(): Effect.Effect<void, Ended> {
    return Effect.gen({ self: this }, function* () {
      const group = this.#group
      if (group.length === 0) return
      this.#group = []
      const { id } = this.#environment
      const { failed, paid } = yield* payAll(this.#parts.askUsers, id, group, this.#failedUsers)
      this.paid += paid
      this.failed += failed.length
      yield* yieldToEventLoop
      const isHasty = isAdvancing(this.#environment.project.state)
      yield* Effect.sleep(isHasty ? limits.testClockPauseMs : limits.payoutPauseMs)
    })
  }
}
