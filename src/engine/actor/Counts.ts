/**
 * How many users an environment has, how many of them are midway in each quest or have completed it, how many events of
 * each action there were (`ActionCounts.ts`), how many events in each of the last minutes (`Activity.ts`), and who was
 * erased lately (`ErasedUsers.ts`). The counts
 * are folded from durable records, each once, so that no read scans all users.
 *
 * A snapshot has them as of its watermark, in the transaction that sets it: recovery continues from there with
 * the records after it, also when an interrupted snapshot has newer states of some users already.
 */
import { Effect, Stream } from "effect"
import { isMatched } from "../../domain/message/UserReply.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue, encodeValue } from "../../storage/Values.ts"
import { ActionCounts, type StoredActions, type StoredOthers } from "./ActionCounts.ts"
import { Activity, type StoredActivity } from "./Activity.ts"
import { ErasedUsers, type StoredErased } from "./ErasedUsers.ts"

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
