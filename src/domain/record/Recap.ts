/**
 * What a user did in a range of days, made from the user's history.
 *
 * The history is read backwards, so the revocation of a record comes before the record, which then
 * counts for nothing. An event counts on the day on which it occurred, another record on the day of
 * its decision, both in the time zone that the recap is made for.
 *
 * Undo and merge. An undo that takes a badge back makes a fact of its own (`badge.revoked`). Without this fact the
 * badge counts, also if its event was undone: badges of streaks stay. A quest was completed unless the record that
 * completed it is undone.
 *
 * The history of a user has the records of users who were merged into it. Levels are those of the user alone. A badge
 * that several of these users had earned, or a period of a quest that several had completed, counts once, on the day
 * on which it was first earned or completed. A badge that was taken back after a merge is taken from both; one
 * that was taken back before, from its own user.
 *
 * Cost: memory by day of the range, by action, and by badge and quest of the history that is read.
 */
import type { Zone } from "../values/Calendar.ts"
import { occurredAtOf } from "./MetricRecount.ts"
import { creditedCurrency, isCredit, questKey } from "./Past.ts"
import { type BadgeRef, decidedAt, type Fact, type FactOf, type JournalRecord } from "./Record.ts"

/** The events and the xp of a day, which is counted from 1970-01-01. */
export interface RecapDay {
  readonly day: number
  readonly events: number
  readonly xp: number
}

/** `at`: when the badge was earned, epoch milliseconds. */
export interface RecapBadge extends BadgeRef {
  readonly at: number
}

/** `count`: the events in the range. `firstAt`: when the first event that was read occurred. */
interface ActionEvents {
  readonly count: number
  readonly firstAt: number
}

export class Recap {
  readonly #zone: Zone
  readonly #from: number
  readonly #to: number
  readonly #days = new Map<number, RecapDay>()
  readonly #actions = new Map<string, ActionEvents>()
  readonly #earned = new Map<string, number>()
  /** The longest run of each streak, by its key. */
  readonly #streaks = new Map<string, number>()
  /** The longest run of each streak after the fact that was read last; 0: it is not of the range. */
  readonly #longest = new Map<string, number>()
  #badges: Array<RecapBadge> = []
  /** The periods of quests that were completed, by `questKey`: whether the earliest completion is in the range. */
  readonly #quests = new Map<string, boolean>()
  /** The levels before the records of the range that were read, and after them. */
  #levels: { readonly from: number; readonly to: number }
  readonly #userId: string
  /** The sequences of revoked records that were not read yet. */
  readonly #revoked = new Set<number>()
  /** By user, the badges that were taken back and not read as given yet. */
  readonly #lost = new Map<string, Set<string>>()
  /** How many awards of each repeatable badge were taken back and not read as given yet. */
  readonly #lostTimes = new Map<string, number>()

  /** A recap of the days `from` to `to` of a user who has `level` now. */
  constructor(
    zone: Zone,
    from: number,
    to: number,
    { level, userId }: { readonly userId: string; readonly level: number },
  ) {
    this.#userId = userId
    this.#zone = zone
    this.#from = from
    this.#to = to
    this.#levels = { from: level, to: level }
  }

  /** Adds the user's next older record. */
  add(record: JournalRecord): void {
    const { cause, facts, sequence, subject } = record
    const isOwn = subject.actor === "user" && subject.userId === this.#userId
    const isRevoked = this.#revoked.delete(sequence)
    if (cause.kind === "revocation" && facts.length > 0) this.#revoked.add(cause.sequence)
    const at = occurredAtOf(record)
    const day = this.#zone.dayAt(at)
    const isInRange = day >= this.#from && day <= this.#to
    if (cause.kind === "event" && !isRevoked) this.#addEvent(cause.action, day, at, isInRange)
    const decidedOn = this.#zone.dayAt(decidedAt(record))
    this.#addBadges(record, isInRange)
    for (const fact of facts) {
      if (fact.kind === "level.changed" && isOwn) this.#addLevel(fact, decidedOn)
      if (fact.kind === "streak.extended" || fact.kind === "streak.counted") {
        this.#addStreak(fact, isInRange)
        if (isInRange) this.#reach(fact.key, fact.current)
      } else if (fact.kind === "streak.paused" || (fact.kind === "streak.repaired" && !isRevoked)) {
        this.#addStreak(fact, isInRange)
      }
      if (isRevoked) continue
      // An earlier completion of the same period is one of merged users.
      if (fact.kind === "quest.completed") this.#quests.set(questKey(fact), isInRange)
      if (isInRange) this.#addCredit(fact, day)
    }
  }

  #addEvent(action: string, day: number, at: number, isInRange: boolean): void {
    const { count, firstAt } = this.#actions.get(action) ?? { count: 0, firstAt: at }
    this.#actions.set(action, {
      count: count + (isInRange ? 1 : 0),
      firstAt: Math.min(firstAt, at),
    })
    if (isInRange) this.#addToDay(day, 1, 0)
  }

  #addToDay(day: number, events: number, xp: number): void {
    const before = this.#days.get(day) ?? { day, events: 0, xp: 0 }
    this.#days.set(day, { day, events: before.events + events, xp: before.xp + xp })
  }

  #addLevel({ from }: FactOf<"level.changed">, day: number): void {
    if (day > this.#to) this.#levels = { from, to: from }
    else if (day >= this.#from) this.#levels = { from, to: this.#levels.to }
  }

  /** An undo never removes a streak day, so the facts of revoked records count, too. */
  #addStreak({ key, streak }: StreakGrowth, isInRange: boolean): void {
    const later = this.#longest.get(key)
    if (later !== undefined && later > streak.best) this.#reach(key, later)
    // A late event, a pause or a repair may have made a run of the past the longest.
    this.#longest.set(key, isInRange ? streak.best : 0)
  }

  #reach(key: string, length: number): void {
    this.#streaks.set(key, Math.max(this.#streaks.get(key) ?? 0, length))
  }

  /** Backwards, since an undo may take a badge back and award it again in one record. */
  #addBadges(record: JournalRecord, isInRange: boolean): void {
    const { cause, facts, subject } = record
    const owner = subject.actor === "user" ? subject.userId : ""
    for (const fact of facts.toReversed()) {
      if (fact.kind === "badge.revoked") this.#lose(owner, fact)
      if (fact.kind !== "badge.earned" || !this.#isKept(owner, fact)) continue
      const { badgeId, key, name, tier, times } = fact
      if (times === undefined) this.#dropLater(badgeKey(fact))
      if (!isInRange) continue
      const at = occurredAtOf(record)
      this.#badges.push({ badgeId, key, name, ...(tier !== undefined && { tier }), at })
    }
    // What the user lost later, the user who was taken in here has lost, too.
    if (cause.kind === "absorb" && facts.length > 0) {
      this.#lost.set(cause.from, new Set(this.#lost.get(owner)))
    }
  }

  #lose(owner: string, fact: FactOf<"badge.revoked">): void {
    const key = badgeKey(fact)
    if (fact.times !== undefined) {
      this.#lostTimes.set(key, (this.#lostTimes.get(key) ?? 0) + 1)
      return
    }
    const lost = this.#lost.get(owner)
    if (lost === undefined) this.#lost.set(owner, new Set([key]))
    else lost.add(key)
  }

  /** Whether no later record took the badge back. */
  #isKept(owner: string, fact: FactOf<"badge.earned">): boolean {
    const key = badgeKey(fact)
    if (fact.times === undefined) return this.#lost.get(owner)?.delete(key) !== true
    const lost = this.#lostTimes.get(key) ?? 0
    if (lost > 0) this.#lostTimes.set(key, lost - 1)
    return lost === 0
  }

  /** Drops a badge that another one of merged users had earned later. */
  #dropLater(key: string): void {
    this.#badges = this.#badges.filter((one) => badgeKey(one) !== key)
  }

  #addCredit(fact: Fact, day: number): void {
    if (!isCredit(fact)) return
    const currency = creditedCurrency(fact)
    this.#earned.set(currency, (this.#earned.get(currency) ?? 0) + fact.amount)
    if (currency === "xp") this.#addToDay(day, 0, fact.amount)
  }

  /** What the user earned, by the key of the currency; xp and points are two of them. */
  get earned(): ReadonlyMap<string, number> {
    return this.#earned
  }

  get levels(): { readonly from: number; readonly to: number } {
    return this.#levels
  }

  get quests(): number {
    return [...this.#quests.values()].filter(Boolean).length
  }

  /** The longest run of each streak, by its key. */
  get streaks(): ReadonlyMap<string, number> {
    // No older fact was read: the first one made its run the longest.
    for (const [key, best] of this.#longest) if (best > 0) this.#reach(key, best)
    return this.#streaks
  }

  /** Latest first. */
  get badges(): ReadonlyArray<RecapBadge> {
    return this.#badges
  }

  get events(): number {
    return [...this.#days.values()].reduce((sum, { events }) => sum + events, 0)
  }

  /** The days with an event. */
  get activeDays(): number {
    return [...this.#days.values()].filter(({ events }) => events > 0).length
  }

  /** The day with the most xp; of equal ones the day with the most events, then the earliest. */
  get bestDay(): RecapDay | undefined {
    return [...this.#days.values()].sort(
      (one, other) => other.xp - one.xp || other.events - one.events || one.day - other.day,
    )[0]
  }

  /** The actions of the range, most events first. */
  get actions(): ReadonlyArray<{ readonly action: string; readonly count: number }> {
    return [...this.#actions]
      .filter(([, { count }]) => count > 0)
      .sort(([one, a], [other, b]) => b.count - a.count || (one < other ? -1 : 1))
      .map(([action, { count }]) => ({ action, count }))
  }

  /** The actions whose first event that was read is in the range, oldest first. */
  get firsts(): ReadonlyArray<{ readonly action: string; readonly at: number }> {
    return [...this.#actions]
      .filter(([, { count, firstAt }]) => count > 0 && this.#zone.dayAt(firstAt) >= this.#from)
      .map(([action, { firstAt }]) => ({ action, at: firstAt }))
      .sort((one, other) => one.at - other.at || (one.action < other.action ? -1 : 1))
  }
}

/** A fact that may make a run of the streak longer. */
type StreakGrowth = Pick<FactOf<"streak.extended">, "key" | "streak">

const badgeKey = ({ badgeId, tier }: BadgeRef): string => `${badgeId}/${tier?.key ?? ""}`
