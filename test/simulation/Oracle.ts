/**
 * The model behind the engine. It gets the durable records, gives the cause of each to the model as
 * a command, and says what the record must have done and what readers must see now. It takes from
 * the engine only the commands, their times and order, and the definitions as records change them.
 */

import assert from "node:assert/strict"
import { xpBoard } from "../../src/domain/project/BoardDefinition.ts"
import { isCounting } from "../../src/domain/project/Definition.ts"
import { emptyProject, type ProjectState } from "../../src/domain/project/Project.ts"
import { teamsAfter } from "../../src/domain/project/Team.ts"
import { applyProject } from "../../src/domain/record/applyProject.ts"
import {
  type Cause,
  decidedAt,
  type JournalRecord,
  type Revocation,
  type UserCommand,
} from "../../src/domain/record/Record.ts"
import { dateOf, firstDayOf, type WindowKind } from "../../src/domain/values/Calendar.ts"
import { firstOf } from "./answers.ts"
import { countInHistory } from "./model/badges.ts"
import { windowXp, windowXpSince, xpOf, xpSince } from "./model/balances.ts"
import { isOff } from "./model/boards.ts"
import { coursesAfter, type Definitions } from "./model/Definitions.ts"
import { Model, type Outcome, type Refused } from "./model/Model.ts"
import { countForPast } from "./model/metrics.ts"
import { type Closes, closedOf } from "./model/windows.ts"
import { outcomeOf, sorted, toldBy, toldIn } from "./views.ts"

interface Defined {
  readonly sequence: number
  readonly project: ProjectState
  readonly closed: Closes
  readonly moves: Definitions["moves"]
  readonly courses: Definitions["courses"]
}

export interface BoardRow {
  readonly rank: number
  readonly userId: string
  readonly xp: number
}

export class Oracle {
  readonly model = new Model()
  /** All definitions so far, oldest first. */
  #defined: ReadonlyArray<Defined> = [
    {
      sequence: 0,
      project: emptyProject,
      closed: new Map(),
      moves: [],
      courses: [],
    },
  ]
  /** The record that closed each window. */
  readonly #closings = new Map<string, number>()
  /** The records of each user since the last erasure, oldest first. */
  readonly records = new Map<string, ReadonlyArray<JournalRecord>>()

  get #latest(): Defined {
    return this.#defined.at(-1)!
  }

  get project(): ProjectState {
    return this.#latest.project
  }

  get definitions(): Definitions {
    return this.#definitionsAt(Number.POSITIVE_INFINITY)
  }

  #definitionsAt(sequence: number): Definitions {
    const { closed, courses, moves, project } = this.#defined.findLast(
      (defined) => defined.sequence < sequence,
    )!
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
    } = project
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
      moves,
      courses,
      closed,
    }
  }

  /** Takes in a record of the project. */
  define(record: JournalRecord): void {
    const { sequence } = record
    let { closed, moves } = this.#latest
    for (const fact of record.facts) {
      if (fact.kind === "leaderboard.closed") {
        const { boardId } = fact
        closed = new Map(closed).set(boardId, { ...closedOf(closed, boardId), over: sequence })
      }
      if (fact.kind !== "leaderboard.window_closed" || fact.window === "all_time") continue
      // `boards.ts` compares windows of days.
      if (fact.window === "days") continue
      const boardId = fact.board?.boardId ?? xpBoard.id
      const first = dateOf(firstDayOf(fact.window, fact.index))
      const through = { ...closedOf(closed, boardId), [fact.window]: first }
      closed = new Map(closed).set(boardId, through)
      this.#closings.set(`${boardId} ${fact.window} ${first}`, sequence)
    }
    const { timezone } = this.project.settings
    const project = applyProject(this.project, record)
    if (project.settings.timezone !== timezone) {
      moves = [...moves, { zone: timezone, until: decidedAt(record) }]
    }
    const courses = coursesAfter(
      this.#latest.courses,
      project.currencies.values(),
      decidedAt(record),
    )
    this.#defined = [...this.#defined, { sequence, project, closed, moves, courses }]
  }

  /** Notes a record of a user that became durable, in the order of the journal. */
  note(record: JournalRecord): void {
    this.model.sales.take(record, this.#definitionsAt(record.sequence))
  }

  /** Takes in a record of a user, which must have done what the model makes of its cause. */
  take(record: JournalRecord): void {
    const { cause, sequence, subject } = record
    if (subject.actor !== "user") return
    const { userId } = subject
    if (cause.kind === "request" || record.facts.length === 0) {
      // The record has nothing but the promise to an Idempotency-Key.
      assert.equal(record.facts.length, 0)
      assert(this.model.users.has(userId), "a user who does not exist has no records")
      this.records.set(userId, [...(this.records.get(userId) ?? []), record])
      return
    }
    assert.equal(
      firstOf(cause, this.records.get(userId) ?? []),
      undefined,
      "a command is executed once",
    )
    const definitions = this.#definitionsAt(sequence)
    const now = decidedAt(record)
    const expected = this.expect(userId, cause, definitions, { now, sequence })
    if (cause.kind === "tick") {
      const entry = this.model.log(userId).at(-1)
      assert(entry?.kind === "ticked")
      assert.deepEqual(toldBy(record), toldIn(entry))
      this.#countForPast(userId, record)
    }
    if (expected !== undefined) {
      assert.deepEqual(unnoted(outcomeOf(record), cause), unnoted(sorted(expected), cause))
    }
    const before = cause.kind === "erasure" ? [] : (this.records.get(userId) ?? [])
    this.records.set(userId, cause.kind === "erasure" ? [] : [...before, record])
  }

  /** The outcome that `command` must have now; `undefined`: the oracle does not know one. */
  expect(
    userId: string,
    command: UserCommand,
    definitions: Definitions,
    moment: { readonly now: number; readonly sequence: number },
  ): Outcome | Refused | undefined {
    const { model } = this
    const known = model.users.has(userId)
    switch (command.kind) {
      case "event":
      case "reward":
      case "spend":
      case "purchase":
        return model.named(userId, command, definitions, moment)
      case "revocation":
        return model.undo(userId, this.#inEnvironment(userId, command), definitions, moment)
      case "profile":
        model.setProfile(userId, command.change, moment)
        return undefined
      case "erasure":
        model.erase(userId)
        this.#backfilled.delete(userId)
        return known ? undefined : { refused: "user_not_found" }
      case "start":
        return model.start(userId, command, definitions, moment)
      case "opening":
        return model.open(userId, command, definitions, moment)
      case "pause":
        return model.pause(userId, command, definitions, moment)
      case "disqualify":
        return model.disqualify(userId, command, definitions, moment)
      case "join":
      case "leave":
        return model.move(userId, command, definitions, moment)
      case "tick":
        model.tick(userId, definitions, moment)
        return undefined
      case "backfill": {
        const badge = definitions.badges.find(({ id }) => id === command.badgeId)
        if (badge !== undefined && isCounting(badge.criteria) && command.counted !== undefined) {
          assert.equal(command.counted, countInHistory(model.log(userId), badge))
        }
        return known
          ? model.backfill(userId, command, definitions, moment)
          : { refused: "conflict" }
      }
    }
  }

  /** The metrics that a backfill has counted, by user. */
  readonly #backfilled = new Map<string, Set<string>>()

  #countForPast(userId: string, { facts, sequence }: JournalRecord): void {
    const { definitions, model } = this
    const before = this.#backfilled.get(userId) ?? new Set()
    this.#backfilled.set(userId, before)
    for (const fact of facts) {
      if (fact.kind !== "metric.changed" || fact.state?.backfilled === undefined) continue
      const metric = definitions.metrics.find(({ id }) => id === fact.metricId)
      if (metric === undefined || before.has(metric.id)) continue
      before.add(metric.id)
      const { places } = model.place(userId, definitions)
      countForPast(model.log(userId), metric, places, sequence)
    }
  }

  /** A command names a record by the server's time; the model knows only the environment's. */
  #inEnvironment(userId: string, command: Revocation): Revocation {
    const { at, sequence } = command
    const found = this.records.get(userId)?.find((record) => record.sequence === sequence)
    return found?.at === at ? { ...command, at: decidedAt(found) } : command
  }

  /** The outcome that `command` would have now. Changes nothing. */
  foresee(
    userId: string,
    command: UserCommand,
    now: number,
    sequence = Number.MAX_SAFE_INTEGER,
  ): Outcome | Refused | undefined {
    const expect = () => this.expect(userId, command, this.definitions, { now, sequence })
    return this.model.tried(userId, expect)
  }

  /** Whether a user qualifies for a badge and does not have it. */
  qualifies(userId: string, badgeId: string, now: number): boolean {
    const given = this.foresee(userId, { kind: "backfill", badgeId, notify: false }, now)
    return given !== undefined && !("refused" in given) && given.badges.length > 0
  }

  /** The board of the window that begins on this date, or of all time: all users, sorted. */
  board(kind: "all_time" | WindowKind, first = ""): ReadonlyArray<BoardRow> {
    const closing = this.#closings.get(`${xpBoard.id} ${kind} ${first}`)
    // A window without listed users is closed with the next one, without a record of its own: a
    // user who was hidden then and is shown later does not return to it.
    if (
      kind !== "all_time" &&
      closing === undefined &&
      first <= closedOf(this.#latest.closed)[kind]
    )
      return []
    const rows = [...this.model.users].flatMap(([userId, log]) => {
      if (this.#isHidden(userId, closing)) return []
      const [xp, since] =
        kind === "all_time"
          ? [xpOf(log), xpSince(log)]
          : [windowXp(log, kind, first), windowXpSince(log, kind, first)]
      return xp > 0 ? [{ userId, xp, since }] : []
    })
    rows.sort((one, other) => other.xp - one.xp || one.since - other.since)
    return rows.map(({ userId, xp }) => ({
      rank: 1 + rows.filter((other) => other.xp > xp).length,
      userId,
      xp,
    }))
  }

  /**
   * Whether a user is not on a board: hidden or disqualified now, or on a closed board, at any time
   * since.
   */
  #isHidden(userId: string, closing: number | undefined): boolean {
    const log = this.model.log(userId)
    if (this.model.profile(userId).hidden || isOff(log, xpBoard.id)) return true
    if (closing === undefined) return false
    const wasOff = (changes: ReadonlyArray<{ sequence: number; off: boolean }>) =>
      changes.findLast(({ sequence }) => sequence < closing)?.off === true ||
      changes.some(({ off, sequence }) => sequence > closing && off)
    return (
      wasOff(
        log.flatMap((entry) =>
          entry.kind === "profile" && entry.change.hidden !== undefined
            ? [{ sequence: entry.sequence, off: entry.change.hidden }]
            : [],
        ),
      ) ||
      wasOff(
        log.flatMap((entry) =>
          entry.kind === "listed" && entry.boardId === xpBoard.id
            ? [{ sequence: entry.sequence, off: entry.disqualified }]
            : [],
        ),
      )
    )
  }
}

/** An undo may come before the end of a quest is recorded: then the user is still midway in it. */
const unnoted = (outcome: Outcome | Refused, { kind }: Cause): Outcome | Refused =>
  kind !== "revocation" || "refused" in outcome
    ? outcome
    : {
        ...outcome,
        quests: outcome.quests.map((quest) => ({
          ...quest,
          status: quest.status === "expired" ? "in_progress" : quest.status,
        })),
      }
