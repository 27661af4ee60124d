/**
 * The counts of an environment: its users, the users in each quest, the holders of each badge and
 * tier, the events of each action (`ActionCounts`) and the paths of their metadata (`MetadataPaths`), the events of each of the last minutes
 * (`Activity`), what happened on each day (`DayCounts`) and what each mechanic did (`MechanicDays`),
 * reminders (`ReminderCounts`), recent erasures (`ErasedUsers`), lost ranks in leagues (`LostSeats`), and the totals of shared goals
 * (`GoalTotals`).
 *
 * Invariants:
 * - Each durable record is counted once, so no read scans all users.
 * - A snapshot has the counts as of its watermark, in the transaction that sets the watermark. The
 *   totals of goals have rows of their own (`GoalRows.ts`).
 *   Recovery counts every record after it, also if an interrupted snapshot already has newer states
 *   of users.
 *
 * Records that were erased from the journal count for nothing: a tombstone has neither an action nor a day.
 * A server counts each record before it is erased, so its counts keep the events of erased users. An archive
 * whose journal was rewritten by an erasure after its snapshot is folded without them: after its restore the
 * counts of actions, days and mechanics are lower by these events. Only sales and shared goals leave what
 * they need in the tombstone (`Remains.ts`), since their limits and targets rest on it.
 *
 * Cost: a few additions for a record, and one entry of the snapshot for an environment that
 * changed.
 */

import type { Effect } from "effect"
import { isMatched } from "../../domain/message/UserReply.ts"
import { awardName } from "../../domain/project/Definition.ts"
import {
  decidedAt,
  type Fact,
  type FactOf,
  type JournalRecord,
} from "../../domain/record/Record.ts"
import type { Remains } from "../../domain/record/Remains.ts"
import { limits } from "../../Limits.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { eachBody, encodeValue, jsonOf } from "../../storage/Values.ts"
import { DayCounts, dayOfRecord, type StoredDays } from "./DayCounts.ts"
import { ErasedUsers, type StoredErased } from "./ErasedUsers.ts"
import { GoalTotals } from "./GoalTotals.ts"
import { LostSeats, type StoredSeats } from "./LostSeats.ts"
import { MechanicDays, type StoredMechanics } from "./MechanicDays.ts"
import { MetadataPaths, type StoredPaths } from "./MetadataPaths.ts"
import { RecapDays, type StoredRecapDays } from "./RecapDays.ts"
import { ReminderCounts, type StoredReminders } from "./ReminderCounts.ts"
import { Sales, type StoredSales } from "./Sales.ts"

/*
 * How many events of each action an environment has had, and when it received the last one. An
 * event costs a look-up in a map. An undo and the erasure of a user change nothing: the events were
 * received.
 *
 * The first `actionsCountedMax` actions get a place each. Actions that no definition named when
 * they were first seen take at most `actionsUnmatchedMax` of these places, so random actions cannot
 * displace defined ones. Events of actions without a place are counted together.
 */

/** The number of events, and the time of the last one in epoch milliseconds. */
export interface Seen {
  readonly count: number
  readonly lastAt: number
}

export interface EnvironmentActions {
  readonly actions: ReadonlyMap<string, Seen>
  /** All actions without a place together; the count is 0 if there are none. */
  readonly others: Seen
}

interface Counted {
  count: number
  lastAt: number
  /** Whether a definition named the action when it was first seen. */
  readonly matched: boolean
}

type StoredActions = ReadonlyArray<
  readonly [action: string, count: number, lastAt: number, matched: 0 | 1]
>

type StoredOthers = readonly [count: number, lastAt: number]

export class ActionCounts {
  readonly #byAction = new Map<string, Counted>()
  readonly #others: Counted = { count: 0, lastAt: 0, matched: false }
  /** How many places are taken by actions that no definition named. */
  #unmatched = 0

  /** Counts an event that was received at `at`; returns whether the action has a place. */
  add(action: string, at: number, matched: boolean): boolean {
    const counted = this.#byAction.get(action) ?? this.#admit(action, matched)
    counted.count++
    counted.lastAt = at
    return counted !== this.#others
  }

  #admit(action: string, matched: boolean): Counted {
    const isFull = this.#byAction.size >= limits.actionsCountedMax
    if (isFull || (!matched && this.#unmatched >= limits.actionsUnmatchedMax)) return this.#others
    return this.#set(action, { count: 0, lastAt: 0, matched })
  }

  #set(action: string, counted: Counted): Counted {
    if (!counted.matched) this.#unmatched++
    this.#byAction.set(action, counted)
    return counted
  }

  /** A copy that later events do not change. */
  copy(): EnvironmentActions {
    const actions = new Map<string, Seen>()
    for (const [action, { count, lastAt }] of this.#byAction) actions.set(action, { count, lastAt })
    const { count, lastAt } = this.#others
    return { actions, others: { count, lastAt } }
  }

  load(actions: StoredActions, [count, lastAt]: StoredOthers): void {
    for (const [action, count, lastAt, matched] of actions) {
      this.#set(action, { count, lastAt, matched: matched === 1 })
    }
    this.#others.count = count
    this.#others.lastAt = lastAt
  }

  /** The members for the snapshot. */
  stored(): { readonly actions: StoredActions; readonly others: StoredOthers } {
    const actions: StoredActions = Array.from(
      this.#byAction,
      ([action, { count, lastAt, matched }]) => [action, count, lastAt, matched ? 1 : 0],
    )
    return { actions, others: [this.#others.count, this.#others.lastAt] }
  }
}

/*
 * How many events an environment had in each of the last `activityMinutes` minutes, the current one
 * included. Like the other counts they survive a restart.
 */

const minuteMs = 60_000

/** The minutes with events, as numbers of minutes since the epoch, and the events of each. */
type StoredActivity = ReadonlyArray<readonly [minute: number, events: number]>

export class Activity {
  /** A ring of counters by minute. */
  readonly #events = new Uint32Array(limits.activityMinutes)
  /** The latest minute that was counted, as a number of minutes since the epoch. */
  #latest = 0

  /** Counts an event at the time `at` (epoch milliseconds). */
  count(at: number): void {
    this.#add(Math.floor(at / minuteMs), 1)
  }

  /**
   * Events of each of the last minutes, oldest first; the last is the minute of `now`, which is not
   * over.
   */
  perMinute(now: number): ReadonlyArray<number> {
    const minute = Math.floor(now / minuteMs)
    if (minute > this.#latest) this.#advance(minute)
    return Array.from(
      this.#events,
      (_, index) => this.#events[(minute + 1 + index) % limits.activityMinutes]!,
    )
  }

  load(stored: StoredActivity): void {
    for (const [minute, events] of stored) this.#add(minute, events)
  }

  /** The value for the snapshot. */
  stored(): StoredActivity {
    const first = this.#latest + 1 - limits.activityMinutes
    const minutes: Array<readonly [number, number]> = []
    for (let minute = first; minute <= this.#latest; minute++) {
      const events = this.#events[minute % limits.activityMinutes]
      if (events !== undefined && events > 0) minutes.push([minute, events])
    }
    return minutes
  }

  #add(minute: number, events: number): void {
    if (minute > this.#latest) this.#advance(minute)
    if (minute > this.#latest - limits.activityMinutes) {
      this.#events[minute % limits.activityMinutes]! += events
    }
  }

  #advance(minute: number): void {
    const passed = Math.min(minute - this.#latest, limits.activityMinutes)
    for (let back = 0; back < passed; back++) {
      this.#events[(minute - back) % limits.activityMinutes] = 0
    }
    this.#latest = minute
  }
}

/**
 * The users in a quest. A user who completed a recurring quest and is in it again counts for both.
 */
export interface QuestCounts {
  /** Users who have started the quest, and for whom it is neither completed nor expired. */
  readonly inProgress: number
  /** Users who have completed the quest at least once. */
  readonly completed: number
}

export interface EnvironmentCounts {
  readonly users: number
  /** By the quest's id; a quest without users may be missing. */
  readonly quests: ReadonlyMap<string, QuestCounts>
  /** The users who have a badge or a tier, by its name (`heldNames`); without holders: absent. */
  readonly badges: ReadonlyMap<string, number>
  /** The units of items that were sold and not refunded, by the item's id. */
  readonly sold: ReadonlyMap<string, number>
}

export class Counts implements EnvironmentCounts {
  users = 0
  readonly quests = new Map<string, QuestCounts>()
  readonly badges = new Map<string, number>()
  readonly actions = new ActionCounts()
  readonly paths = new MetadataPaths()
  readonly activity = new Activity()
  readonly days = new DayCounts()
  readonly mechanics = new MechanicDays()
  readonly reminders = new ReminderCounts()
  readonly recapDays = new RecapDays()
  readonly erased = new ErasedUsers()
  /** The ranks in closed windows of leagues that users had who are gone. */
  readonly lostSeats = new LostSeats()
  readonly sales = new Sales()
  readonly goals = new GoalTotals()
  /** Whether the counts have changed since the last snapshot. */
  changed = false

  fold(record: JournalRecord): void {
    const { cause, facts, subject } = record
    for (const fact of facts) this.#fold(fact, record.sequence)
    this.foldGoals(record)
    if (this.days.fold(record)) this.changed = true
    if (this.reminders.fold(record)) this.changed = true
    if (this.recapDays.fold(record, () => dayOfRecord(record))) this.changed = true
    if (this.mechanics.fold(record, () => dayOfRecord(record))) this.changed = true
    if (cause.kind === "erasure" && subject.actor === "user") {
      this.changed = true
      this.erased.add(subject.userId, record.at)
    }
    // A kept refusal has no facts.
    if (cause.kind !== "event" || facts.length === 0) return
    this.changed = true
    const at = decidedAt(record)
    const matched = isMatched(record)
    if (this.actions.add(cause.action, at, matched)) {
      this.paths.look(cause.action, cause.metadata, record, matched)
    }
    // An imported event counts in the minute in which it occurred, not in that of its import.
    this.activity.count(cause.imported === true ? (cause.occurredAt ?? at) : at)
  }

  /** Counts what an erased record left. */
  left({ goals, sold }: Remains): void {
    this.changed = true
    if (sold !== undefined) this.sales.left(sold)
    if (goals !== undefined) this.goals.left(goals)
  }

  get sold(): ReadonlyMap<string, number> {
    return this.sales.sold
  }

  /** Counts what a record of a user or of the project has of shared goals. */
  foldGoals(record: JournalRecord): void {
    for (const fact of record.facts) this.goals.durable(fact, record)
  }

  #fold(fact: Fact, sequence: number): void {
    switch (fact.kind) {
      case "user.created":
        this.changed = true
        this.users++
        break
      case "user.merged":
        for (const questId of fact.entered) this.#add(questId, 1, 0)
        for (const questId of fact.left) this.#add(questId, -1, 0)
        for (const questId of fact.completed) this.#add(questId, 0, 1)
        for (const name of fact.badges) this.#hold(name, 1)
        break
      case "user.aliased":
      case "user.deleted":
        this.changed = true
        if (fact.kind === "user.aliased" || fact.alias !== true) this.users--
        for (const questId of fact.inProgress) this.#add(questId, -1, 0)
        for (const questId of fact.completed) this.#add(questId, 0, -1)
        for (const name of fact.badges) this.#hold(name, -1)
        for (const seat of fact.seats ?? []) this.lostSeats.add(seat)
        if (fact.kind === "user.deleted") {
          this.sales.erased(fact.units)
          this.goals.erased(fact.goals)
        }
        break
      case "user.opened":
        for (const name of openedNames(fact)) this.#hold(name, 1)
        break
      case "badge.earned":
        if (fact.first === true) this.#hold(fact.badgeId, 1)
        if (fact.tier !== undefined) this.#hold(awardName(fact.badgeId, fact.tier.key), 1)
        break
      case "badge.revoked":
        if (fact.last === true) this.#hold(fact.badgeId, -1)
        if (fact.tier !== undefined) this.#hold(awardName(fact.badgeId, fact.tier.key), -1)
        break
      case "item.purchased":
      case "item.refunded":
        this.changed = true
        this.sales.durable(fact, sequence)
        break
      case "quest.started":
        this.#add(fact.questId, 1, 0)
        break
      case "quest.expired":
        this.#add(fact.questId, -1, 0)
        break
      case "quest.completed":
        this.#add(fact.questId, -1, fact.times === 1 ? 1 : 0)
        break
      case "quest.reverted": {
        const { from, to } = fact
        const midway = Number(to === "in_progress") - Number(from === "in_progress")
        this.#add(fact.questId, midway, from === "completed" && fact.times === 0 ? -1 : 0)
        break
      }
    }
  }

  #hold(name: string, by: 1 | -1): void {
    this.changed = true
    const after = (this.badges.get(name) ?? 0) + by
    if (after === 0) this.badges.delete(name)
    else this.badges.set(name, after)
  }

  #add(questId: string, inProgress: number, completed: number): void {
    this.changed = true
    const before = this.quests.get(questId) ?? nobody
    const after = {
      inProgress: before.inProgress + inProgress,
      completed: before.completed + completed,
    }
    if (after.inProgress === 0 && after.completed === 0) this.quests.delete(questId)
    else this.quests.set(questId, after)
  }

  /** A copy that later records do not change. */
  copy(): EnvironmentCounts {
    return {
      users: this.users,
      quests: new Map(this.quests),
      badges: new Map(this.badges),
      sold: new Map(this.sold),
    }
  }

  /** Loads the counts that the snapshot has. */
  load(body: Uint8Array): void {
    const stored: Stored = jsonOf(body)
    // An export may lack counts of events if there are none.
    const {
      actions = [],
      badges,
      days = [],
      erased,
      mechanics = [],
      minutes = [],
      others = [0, 0],
      paths,
      quests,
      recapDays = [],
      reminders = [],
      seats = [],
      sold = [],
      users,
    } = stored
    this.users = users
    for (const [questId, inProgress, completed] of quests) {
      this.quests.set(questId, { inProgress, completed })
    }
    for (const [name, holders] of badges) this.badges.set(name, holders)
    this.sales.load(sold)
    this.actions.load(actions, others)
    if (paths !== undefined) this.paths.load(paths)
    this.activity.load(minutes)
    this.days.load(days)
    this.mechanics.load(mechanics)
    this.reminders.load(reminders)
    this.recapDays.load(recapDays)
    if (erased !== undefined) this.erased.load(erased)
    this.lostSeats.load(seats)
  }

  /** The entry for the snapshot. */
  entry(environment: string): Entry {
    const quests: Stored["quests"] = Array.from(
      this.quests,
      ([questId, { completed, inProgress }]) => [questId, inProgress, completed],
    )
    const stored: Stored = {
      users: this.users,
      quests,
      badges: [...this.badges],
      ...(this.sold.size > 0 && { sold: this.sales.stored() }),
      ...this.actions.stored(),
      ...this.paths.stored(),
      minutes: this.activity.stored(),
      days: this.days.stored(),
      ...this.mechanics.stored(),
      ...this.reminders.stored(),
      ...this.recapDays.stored(),
      ...this.erased.stored(),
      ...this.lostSeats.stored(),
    }
    const key = compositeKey(countsPrefix, environment)
    return { table: "meta", key, value: encodeValue(JSON.stringify(stored)) }
  }
}

/** The names of the badges and tiers that the user had before, each once. */
const openedNames = ({ badges }: FactOf<"user.opened">): ReadonlySet<string> =>
  new Set(badges.flatMap(({ badgeId, tier }) => [badgeId, awardName(badgeId, tier?.key)]))

const nobody: QuestCounts = { inProgress: 0, completed: 0 }

interface Stored {
  readonly users: number
  readonly quests: ReadonlyArray<readonly [questId: string, inProgress: number, completed: number]>
  readonly badges: ReadonlyArray<readonly [name: string, holders: number]>
  /** Absent without a sale. */
  readonly sold?: StoredSales
  readonly actions: StoredActions
  readonly others: StoredOthers
  /** Absent without an event. */
  readonly paths?: StoredPaths
  readonly minutes: StoredActivity
  readonly days: StoredDays
  /** Absent: no mechanic did anything. */
  readonly mechanics?: StoredMechanics
  /** Absent: none was sent. */
  readonly reminders?: StoredReminders
  /** Absent: nothing was earned but xp. */
  readonly recapDays?: StoredRecapDays
  /** Absent without an erasure of the last day. */
  readonly erased?: StoredErased
  /** Absent: none. */
  readonly seats?: StoredSeats
}

export const countsPrefix = "counts"

/** Loads the counts of each environment from the snapshot. */
export const loadCounts = (
  storage: Storage["Service"],
  countsOf: (environment: string) => Counts,
): Effect.Effect<void, Broken> =>
  eachBody(storage, { table: "meta", ...rangeOf(compositeKey(countsPrefix)) }, (key, body) => {
    const [, environment] = keyParts(key) as [string, string]
    countsOf(environment).load(body)
  })
