/**
 * One seeded run of the domain's pure functions against the model: random definitions, edits,
 * commands and jumps of the clock. After each, the reply and the whole state are compared.
 */

import assert from "node:assert/strict"
import { Result } from "effect"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { decideRepeat } from "../../src/domain/decide/Repeat.ts"
import { revocationNotFound } from "../../src/domain/decide/Revocation.ts"
import { type EventReply, replyOf } from "../../src/domain/message/UserReply.ts"
import { hasScores, xpBoard } from "../../src/domain/project/BoardDefinition.ts"
import { emptyProject, type ProjectState } from "../../src/domain/project/Project.ts"
import { teamsAfter } from "../../src/domain/project/Team.ts"
import { applyProject } from "../../src/domain/record/applyProject.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { JournalRecord, ProjectFact, UserCommand } from "../../src/domain/record/Record.ts"
import { segmentsOf } from "../../src/domain/user/Membership.ts"
import { dueAt } from "../../src/domain/user/Progress.ts"
import type { UserState } from "../../src/domain/user/User.ts"
import { dateOf, dayOf, windowOfDay } from "../../src/domain/values/Calendar.ts"
import { Sales } from "../../src/engine/actor/Sales.ts"
import { versioned } from "../domain/definitions.ts"
import { decideRecalling } from "../domain/recalled.ts"
import { firstOf } from "./answers.ts"
import {
  beginnings,
  randomBadge,
  randomBoard,
  randomBoost,
  randomCommand,
  randomCurrency,
  randomEdit,
  randomExperiment,
  randomItem,
  randomMetric,
  randomQuest,
  randomRule,
  randomSegment,
  randomSettings,
  randomStreak,
  randomTeam,
  type Surroundings,
  zones,
} from "./commands.ts"
import { nextWindow, windowAt, windowKinds } from "./model/calendar.ts"
import { type Course, coursesAfter, type Definitions, type Move } from "./model/Definitions.ts"
import { Model, type Outcome, type Refused } from "./model/Model.ts"
import { isNamed, type Named } from "./model/repeats.ts"
import { type Closes, closedOf } from "./model/windows.ts"
import { Random } from "./random.ts"
import { modelView, outcomeOf, sorted, stateView, toldBy, toldIn } from "./views.ts"

const environment = "demo:sandbox"

/**
 * The domain, called as the engine calls it, one record after another, with the model beside it.
 */
export class DomainRun implements Surroundings {
  readonly random: Random
  readonly model = new Model()
  project: ProjectState = emptyProject
  moves: ReadonlyArray<Move> = []
  courses: ReadonlyArray<Course> = []
  closes: Closes = new Map()
  readonly users = new Map<string, UserState | undefined>()
  readonly #sales = new Sales()
  /** All decisions for users, and those that were not erased. */
  readonly journal: Array<JournalRecord> = []
  records: ReadonlyArray<JournalRecord> = []
  readonly undone = new Set<string>()
  readonly refusals = new Set<string>()
  /** How many commands repeated an id and got the first outcome. */
  repeats = 0
  /** How many warnings and reminders ticks have decided. */
  warnings = 0
  reminders = 0
  questsTold = 0
  amountsTold = 0
  now: number
  sequence = 0

  readonly settled: boolean
  readonly recurAnew = new Set<string>()

  constructor(seed: number) {
    this.random = new Random(seed)
    this.now = Date.parse(this.random.pick(beginnings))
    this.settled = this.random.chance(0.6)
    const timezone = this.random.pick(zones)
    this.define({ kind: "project.updated", settings: { ...emptyProject.settings, timezone } })
    // Rewards of all kinds can give it from the start.
    if (this.random.chance(0.8)) {
      const boost = { ...randomBoost(this, true), set: "published" } as const
      this.define({ kind: "boost.created", boost })
    }
  }

  readonly sequenceOf = (userId: string): number => this.users.get(userId)?.sequence ?? 0

  get definitions(): Definitions {
    const {
      badges,
      boosts,
      currencies,
      experiments,
      items,
      leaderboards,
      metrics,
      quests,
      rules,
      segments,
      settings,
      streaks,
      teams,
    } = this.project
    return {
      settings,
      badges: [...badges.values()],
      currencies: [...currencies.values()],
      quests: [...quests.values()],
      segments: [...segments.values()],
      streaks: [...streaks.values()],
      rules: [...rules.values()],
      boosts: [...boosts.values()],
      metrics: [...metrics.values()],
      leaderboards: [...leaderboards.values()],
      experiments: [...experiments.values()],
      items: [...items.values()],
      teams: [...teamsAfter(teams, undefined)],
      closed: this.closes,
      moves: this.moves,
      courses: this.courses,
    }
  }

  define(...facts: ReadonlyArray<ProjectFact>): void {
    const record: JournalRecord = {
      sequence: ++this.sequence,
      at: this.now,
      subject: { actor: "project", environment },
      cause: { kind: "request" },
      facts: versioned(this.project, facts),
    }
    this.project = applyProject(this.project, record)
    this.courses = coursesAfter(this.courses, this.project.currencies.values(), this.now)
  }

  /**
   * Decides and applies as the user's actor does, and compares reply and state with the model's.
   */
  command(userId: string, command: UserCommand): void {
    if (command.kind === "tick") {
      this.#tick(userId)
      return
    }
    const moment = { now: this.now, sequence: this.sequence + 1 }
    const actual = this.#decide(userId, command)
    const expected = this.#expect(userId, command, moment)
    if ("refused" in actual) this.refusals.add(actual.refused)
    if (expected === undefined) assert(!("refused" in actual))
    else assert.deepEqual(actual, sorted(expected))
    this.compare(userId)
  }

  /** When the clock changes the user next, within the next weeks; otherwise now. */
  #nextDue(userId: string): number {
    const user = this.users.get(userId)
    const due = user === undefined ? this.now : dueAt(user, this.project, this.now)
    return due > this.now && due < this.now + 20 * 86_400_000 ? due : this.now
  }

  /** Sends a tick. Its facts change nothing visible, and exist exactly if something was due. */
  #tick(userId: string): void {
    const user = this.users.get(userId)
    const due = user !== undefined && dueAt(user, this.project, this.now) <= this.now
    const moment = { now: this.now, sequence: this.sequence + 1 }
    const actual = this.#decide(userId, { kind: "tick" })
    assert.equal(!("refused" in actual), due)
    if (due) {
      const told = this.model.tick(userId, this.definitions, moment)
      assert.deepEqual(toldBy(this.journal.at(-1)!), toldIn(told))
      this.warnings += told.warned.length
      this.reminders += told.reminded.length
      this.questsTold += told.ended.quests.length
      this.amountsTold += told.ended.amounts.length
    } else {
      assert.deepEqual(this.model.warningsDue(userId, this.definitions, this.now), [])
      assert.deepEqual(this.model.pausesDue(userId, this.definitions, this.now), [])
      assert.deepEqual(this.model.remindersDue(userId, this.definitions, this.now), [])
      const { amounts, quests } = this.model.endingsDue(userId, this.definitions, this.now)
      assert.deepEqual([...amounts, ...quests], [])
    }
    this.compare(userId)
    const after = this.users.get(userId)
    if (after !== undefined) assert(dueAt(after, this.project, this.now) > this.now)
  }

  #decide(userId: string, command: UserCommand): Outcome | Refused {
    const user = this.users.get(userId)
    const found =
      command.kind === "revocation"
        ? this.records.find(
            ({ sequence, subject }) =>
              sequence === command.sequence &&
              subject.actor === "user" &&
              subject.userId === userId,
          )
        : undefined
    const key = command.kind === "revocation" ? `${userId} ${command.sequence}` : ""
    if (command.kind === "revocation" && this.undone.has(key))
      return { refused: revocationNotFound(command.of).code }
    const own = this.#recordsOf(userId)
    const first = firstOf(command, own)
    if (first !== undefined && isNamed(command)) return this.#repeat(userId, command, first)
    if (first !== undefined && command.kind === "opening") {
      const decided = decideRepeat(command, first, false)
      return Result.isFailure(decided) ? { refused: decided.failure.code } : outcomeOf(first)
    }
    const decided = decideRecalling(own, (past) =>
      decideUser(
        user,
        this.project,
        command,
        this.now,
        found,
        undefined,
        past,
        userId,
        undefined,
        undefined,
        this.#sales.taken,
      ),
    )
    if (Result.isFailure(decided)) return { refused: decided.failure.code }
    const { cause, facts } = decided.success
    const record: JournalRecord = {
      sequence: this.sequence + 1,
      at: this.now,
      subject: { actor: "user", environment, userId },
      cause,
      // After a round trip through the journal's text.
      facts: JSON.parse(JSON.stringify(facts)),
    }
    if (facts.length === 0) return outcomeOf(record)
    this.sequence++
    if (command.kind === "revocation") this.undone.add(key)
    this.records = [...this.records, record]
    this.journal.push(record)
    this.#sales.appended(record)
    this.model.sales.take(record, this.definitions)
    this.users.set(userId, applyUser(user, record))
    return outcomeOf(record)
  }

  #recordsOf(userId: string): ReadonlyArray<JournalRecord> {
    return this.records.filter(
      ({ subject }) => subject.actor === "user" && subject.userId === userId,
    )
  }

  /** Answers a command whose id the record `first` has, and compares the answer with the model's. */
  #repeat(userId: string, command: Named, first: JournalRecord): Outcome | Refused {
    const read: JournalRecord = JSON.parse(JSON.stringify(first))
    const revoked = this.undone.has(`${userId} ${first.sequence}`)
    const decided = decideRepeat(command, read, revoked)
    if (Result.isFailure(decided)) return { refused: decided.failure.code }
    const repeat = { ...decided.success, differs: decided.success.differs.toSorted() }
    assert.deepEqual(repeat, this.model.repeat(userId, command))
    const { differs, duplicate, revoked: since } = replyOf(read, repeat) as EventReply
    assert.deepEqual({ duplicate, differs, revoked: since }, { duplicate: true, ...repeat })
    this.repeats++
    return outcomeOf(read)
  }

  #expect(
    userId: string,
    command: UserCommand,
    moment: { readonly now: number; readonly sequence: number },
  ): Outcome | Refused | undefined {
    const known = this.model.users.has(userId)
    switch (command.kind) {
      case "event":
      case "reward":
      case "spend":
      case "purchase":
        return this.model.named(userId, command, this.definitions, moment)
      case "revocation":
        return this.model.undo(userId, command, this.definitions, moment)
      case "profile":
        this.model.setProfile(userId, command.change, moment)
        return undefined
      case "erasure":
        this.model.erase(userId)
        this.records = this.records.filter(
          ({ subject }) => subject.actor !== "user" || subject.userId !== userId,
        )
        return known ? undefined : { refused: "user_not_found" }
      case "backfill":
        return known
          ? this.model.backfill(userId, command, this.definitions, moment)
          : { refused: "conflict" }
      case "start":
        return this.model.start(userId, command, this.definitions, moment)
      case "opening":
        return this.model.open(userId, command, this.definitions, moment)
      case "pause":
        return this.model.pause(userId, command, this.definitions, moment)
      case "disqualify":
        return this.model.disqualify(userId, command, this.definitions, moment)
      case "join":
      case "leave":
        return this.model.move(userId, command, this.definitions, moment)
      case "tick":
        return undefined
    }
  }

  compare(userId: string): void {
    const state = this.users.get(userId)
    const log = this.model.log(userId)
    assert.equal(state === undefined, log.length === 0)
    if (state === undefined) return
    const place = this.model.place(userId, this.definitions)
    const { held, isIn } = this.model.membership(userId, place, this.now)
    for (const { key } of place.segments) isIn(key)
    const { now, project } = this
    const segments = segmentsOf({ userId, user: state, project, now }).map(({ key }) => key)
    assert.deepEqual(segments, held())
    const seen = stateView(state, this.project, this.now)
    const profile = this.model.profile(userId)
    assert.deepEqual(seen, modelView(log, profile, place, this.now, seen))
  }

  /** Closes the windows that have ended, as the window clock does, possibly late. */
  closeWindows(): void {
    const zone = this.project.settings.timezone
    const boards = [...this.project.leaderboards.values()].filter(hasScores)
    for (const { id, key } of boards) {
      for (const window of windowKinds) {
        const open = windowAt(window, zone, this.now)
        const closed = closedOf(this.closes, id)
        if (closed[window] !== "" && nextWindow(window, closed[window]) >= open) continue
        const last = previous(window, open)
        this.closes = new Map(this.closes).set(id, { ...closed, [window]: last })
        this.define({
          kind: "leaderboard.window_closed",
          ...(id !== xpBoard.id && { board: { boardId: id, key } }),
          window,
          index: windowOfDay(window, dayOf(last)!),
          startsAt: 0,
          endsAt: 0,
          total: 0,
        })
      }
    }
  }

  /** A random command. It may have an id, which may be that of an earlier one. */
  #command(userId: string): UserCommand {
    const { random } = this
    const made = randomCommand(this, userId)
    if (!isNamed(made) || random.chance(0.6)) return made
    const id = `id${random.integer(0, 12)}`
    const first = firstOf({ ...made, id }, this.#recordsOf(userId))?.cause
    if (first === undefined || !isNamed(first) || random.chance(0.3)) return { ...made, id }
    const retry: Named = random.chance(0.5) ? first : JSON.parse(JSON.stringify(first), reversed)
    if (retry.kind !== "event" || random.chance(0.5)) return retry
    return { ...retry, occurredAt: this.now - random.integer(0, 1) }
  }

  /** Makes a random step. */
  step(users: ReadonlyArray<string>): void {
    const { random } = this
    const kind = random.next()
    if (kind < 0.004)
      this.define({ kind: "experiment.created", experiment: randomExperiment(this) })
    else if (kind < 0.018) this.define({ kind: "segment.created", segment: randomSegment(this) })
    else if (kind < 0.035) this.define({ kind: "rule.created", rule: randomRule(this) })
    else if (kind < 0.06) this.define({ kind: "badge.created", badge: randomBadge(this) })
    else if (kind < 0.075) this.define({ kind: "quest.created", quest: randomQuest(this) })
    else if (kind < 0.085) this.define({ kind: "boost.created", boost: randomBoost(this) })
    else if (kind < 0.09) this.define(...randomCurrency(this))
    else if (kind < 0.095)
      this.define({ kind: "leaderboard.created", leaderboard: randomBoard(this) })
    else if (kind < 0.105) this.define({ kind: "metric.created", metric: randomMetric(this) })
    else if (kind < 0.115) this.define(...randomStreak(this))
    else if (kind < 0.13) this.define(...randomTeam(this))
    else if (kind < 0.14) this.define({ kind: "item.created", item: randomItem(this) })
    else if (kind < 0.165) this.define(...randomEdit(this))
    else if (kind < 0.175) {
      // A moment belongs to one zone only.
      this.now++
      const before = this.project.settings.timezone
      this.define({ kind: "project.updated", settings: randomSettings(this) })
      if (this.project.settings.timezone !== before)
        this.moves = [...this.moves, { zone: before, until: this.now }]
    } else if (kind < 0.275) {
      this.now += random.pick([
        1,
        1000,
        60_000,
        3_600_000,
        7 * 3_600_000,
        86_400_000,
        86_400_000 * 3,
        86_400_000 * 8,
      ])
      // Reminders are due for a few hours only.
      if (random.chance(0.3)) this.now = this.#nextDue(random.pick(users))
      if (random.chance(0.8)) this.closeWindows()
      for (const userId of users) {
        if (random.chance(0.5)) this.command(userId, { kind: "tick" })
        else this.compare(userId)
      }
    } else {
      const userId = random.pick(users)
      const command = this.#command(userId)
      if (command.kind === "profile") this.now++
      // Ended periods are recorded before an undo, so that the user's state is unambiguous.
      if (command.kind === "revocation" && this.model.users.has(userId))
        this.command(userId, { kind: "tick" })
      this.command(userId, command)
    }
  }
}

/** A reviver that turns the order of members around. */
const reversed = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).reverse())
    : value

const previous = (kind: (typeof windowKinds)[number], first: string): string =>
  dateOf(
    kind === "daily"
      ? dayOf(first)! - 1
      : kind === "weekly"
        ? dayOf(first)! - 7
        : dayOf(windowAt("monthly", "UTC", (dayOf(first)! - 1) * 86_400_000))!,
  )
