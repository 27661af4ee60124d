/**
 * How many users an environment has, how many of them are midway in each quest or have completed it, how many events of
 * each action there were (`Counts.ts`), how many events in each of the last minutes (`Counts.ts`), and who was
 * erased lately (`ErasedUsers.ts`). The counts
 * are folded from durable records, each once, so that no read scans all users.
 *
 * A snapshot has them as of its watermark, in the transaction that sets it: recovery continues from there with
 * the records after it, also when an interrupted snapshot has newer states of some users already.
 */

import { Effect, Stream } from "effect"
import { isMatched } from "../../domain/message/UserReply.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue, encodeValue } from "../../storage/Values.ts"
import { ErasedUsers, type StoredErased } from "./ErasedUsers.ts"

/*
 * How many events an environment has had of each action, and when the last one was received: folded from durable records
 * like the other counts (`Counts.ts`), one look-up in a map for an event. An undo or the erasure of a user changes
 * nothing here: the events were seen.
 *
 * The first actions keep a place each, up to `actionsCountedMax`. Those that no definition named when they were
 * first seen take at most `actionsUnmatchedMax` of the places: no number of random actions takes the room of defined ones. Events of
 * actions without a place are counted together.
 */

/** Events: their number, and the time of the last one, epoch milliseconds. */
export interface Seen {
  readonly count: number
  readonly lastAt: number
}

export interface EnvironmentActions {
  readonly actions: ReadonlyMap<string, Seen>
  /** All actions without a place, together; a count of 0 if there are none. */
  readonly others: Seen
}

interface Counted {
  count: number
  lastAt: number
  /** Whether a definition named the action when it was first seen. */
  readonly matched: boolean
}

export type StoredActions = ReadonlyArray<
  readonly [action: string, count: number, lastAt: number, matched: 0 | 1]
>

export type StoredOthers = readonly [count: number, lastAt: number]

export class ActionCounts {
  readonly #byAction = new Map<string, Counted>()
  readonly #others: Counted = { count: 0, lastAt: 0, matched: false }
  /** Places of actions that no definition named. */
  #unmatched = 0

  /** Counts an event that was received at `at`. */
  add(action: string, at: number, matched: boolean): void {
    const counted = this.#byAction.get(action) ?? this.#admit(action, matched)
    counted.count++
    counted.lastAt = at
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

  /** As of this moment, for others to keep. */
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

  /** Members for the snapshot; none while no event was counted. */
  stored(): { readonly actions?: StoredActions; readonly others?: StoredOthers } {
    const { count, lastAt } = this.#others
    if (this.#byAction.size === 0) return {}
    const actions: StoredActions = Array.from(
      this.#byAction,
      ([action, { count, lastAt, matched }]) => [action, count, lastAt, matched ? 1 : 0],
    )
    return count === 0 ? { actions } : { actions, others: [count, lastAt] }
  }
}

/*
 * How many events an environment had in each of the last minutes: 60 counters, one of them current. They are folded from
 * durable records like the other counts (`Counts.ts`), so that they survive a restart.
 */

const minuteMs = 60_000

/** Minutes that have events: their numbers since the epoch, and the events of each. */
export type StoredActivity = ReadonlyArray<readonly [minute: number, events: number]>

export class Activity {
  /** By minute, in a ring. */
  readonly #events = new Uint32Array(limits.activityMinutes)
  /** The latest minute that was counted, as a number of minutes since the epoch. */
  #latest = 0

  /** Counts an event of the time `at`, epoch milliseconds. */
  count(at: number): void {
    this.#add(Math.floor(at / minuteMs), 1)
  }

  /** Events of each of the last minutes, oldest first; the last is the minute of `now`, which is not over. */
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

  /** A member for the snapshot; none while no minute has events. */
  stored(): { readonly minutes?: StoredActivity } {
    const first = this.#latest + 1 - limits.activityMinutes
    const minutes: Array<readonly [number, number]> = []
    for (let minute = first; minute <= this.#latest; minute++) {
      const events = this.#events[minute % limits.activityMinutes]
      if (events !== undefined && events > 0) minutes.push([minute, events])
    }
    return minutes.length === 0 ? {} : { minutes }
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

/** Users in a quest. A user who completed one that recurs and is in it again counts for both. */
export interface QuestCounts {
  /** Began it and have neither completed it nor let it expire. */
  readonly inProgress: number
  /** Have completed it at least once. */
  readonly completed: number
}

export interface EnvironmentCounts {
  readonly users: number
  /** By the quest's id; a quest without users may be missing. */
  readonly quests: ReadonlyMap<string, QuestCounts>
}

export class Counts implements EnvironmentCounts {
  users = 0
  readonly quests = new Map<string, QuestCounts>()
  readonly actions = new ActionCounts()
  readonly activity = new Activity()
  readonly erased = new ErasedUsers()
  /** It has changed since the last snapshot. */
  changed = false

  fold(record: JournalRecord): void {
    const { at, cause, facts, subject } = record
    for (const fact of facts) this.#fold(fact)
    if (cause.kind === "erasure" && subject.actor === "user") {
      this.changed = true
      this.erased.add(subject.userId, at)
    }
    // A kept refusal has no facts.
    if (cause.kind !== "event" || facts.length === 0) return
    this.changed = true
    this.actions.add(cause.action, at, isMatched(record))
    // Imported history is no traffic of the time of its import.
    this.activity.count(cause.imported === true ? (cause.occurredAt ?? at) : at)
  }

  #fold(fact: Fact): void {
    switch (fact.kind) {
      case "user.created":
        this.changed = true
        this.users++
        break
      case "user.deleted":
        this.changed = true
        this.users--
        for (const questId of fact.inProgress) this.#add(questId, -1, 0)
        for (const questId of fact.completed) this.#add(questId, 0, -1)
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

  /** As of this moment, for others to keep. */
  copy(): EnvironmentCounts {
    return { users: this.users, quests: new Map(this.quests) }
  }

  /** Takes over what a snapshot has. */
  load(body: Uint8Array): void {
    const stored: Stored = JSON.parse(Buffer.from(body).toString("utf8"))
    const { actions = [], erased, minutes = [], others = [0, 0], quests, users } = stored
    this.users = users
    for (const [questId, inProgress, completed] of quests) {
      this.quests.set(questId, { inProgress, completed })
    }
    this.actions.load(actions, others)
    this.activity.load(minutes)
    if (erased !== undefined) this.erased.load(erased)
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
      ...this.actions.stored(),
      ...this.activity.stored(),
      ...this.erased.stored(),
    }
    const key = compositeKey(countsPrefix, environment)
    return { table: "meta", key, value: encodeValue(JSON.stringify(stored)) }
  }
}

const nobody: QuestCounts = { inProgress: 0, completed: 0 }

interface Stored {
  readonly users: number
  readonly quests: ReadonlyArray<readonly [questId: string, inProgress: number, completed: number]>
  /** Absent in values that were written before actions were counted. */
  readonly actions?: StoredActions
  readonly others?: StoredOthers
  /** Absent in values that were written before minutes were counted. */
  readonly minutes?: StoredActivity
  /** Absent without an erasure of the last day. */
  readonly erased?: StoredErased
}

export const countsPrefix = "counts"

/** Loads what the snapshot has into the counts of each environment. */
export const loadCounts = (
  storage: Storage["Service"],
  countsOf: (environment: string) => Counts,
): Effect.Effect<void, Broken> =>
  Stream.runForEach(
    storage.readEntries({ table: "meta", ...rangeOf(compositeKey(countsPrefix)) }),
    (entries) =>
      Effect.forEach(
        entries,
        ([key, value]) =>
          Effect.map(decodeValue(value, { table: "meta", key }), (body) => {
            const [, environment] = keyParts(key) as [string, string]
            countsOf(environment).load(body)
          }),
        { discard: true },
      ),
  )
