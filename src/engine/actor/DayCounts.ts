/**
 * What happened in an environment on each of the latest days: events received, xp earned, badges and
 * tiers earned, quests completed. Like the counts of actions, an undo and the erasure of a user change
 * nothing. An event, and what it earned, counts on the day that its record names
 * (`record/EventDay.ts`), anything else on the day of UTC on which it was decided.
 *
 * Cost: a look-up in a map for a record that counts; at most `dayCountsMax` days, about 10 KiB of the
 * snapshot.
 */
import { eventDayOf } from "../../domain/record/EventDay.ts"
import { decidedAt, type JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"

export interface DayCount {
  readonly events: number
  readonly xp: number
  readonly badges: number
  readonly quests: number
}

type Counted = { -readonly [Name in keyof DayCount]: DayCount[Name] }

const nothing: DayCount = { events: 0, xp: 0, badges: 0, quests: 0 }

/** The days on which something happened, in their order. */
export type StoredDays = ReadonlyArray<
  readonly [day: number, events: number, xp: number, badges: number, quests: number]
>

const dayMs = 86_400_000

/** The day on which a record counts. */
export const dayOfRecord = (record: JournalRecord): number =>
  eventDayOf(record) ?? Math.floor(decidedAt(record) / dayMs)

export class DayCounts {
  readonly #byDay = new Map<number, Counted>()
  /** The latest day. */
  #latest = Number.NEGATIVE_INFINITY

  on(day: number): DayCount {
    return this.#byDay.get(day) ?? nothing
  }

  /** Counts a record; returns whether anything counted. */
  fold(record: JournalRecord): boolean {
    let counted: Counted | undefined
    for (const fact of record.facts) {
      switch (fact.kind) {
        case "event.tracked":
          counted ??= this.#of(record)
          counted.events++
          break
        case "xp.earned":
          counted ??= this.#of(record)
          counted.xp += fact.amount
          break
        case "badge.earned":
          counted ??= this.#of(record)
          counted.badges++
          break
        case "quest.completed":
          counted ??= this.#of(record)
          counted.quests++
          break
      }
    }
    return counted !== undefined
  }

  #of(record: JournalRecord): Counted {
    return this.#at(dayOfRecord(record))
  }

  #at(day: number): Counted {
    const known = this.#byDay.get(day)
    if (known !== undefined) return known
    const counted = { ...nothing }
    if (day <= this.#latest - limits.dayCountsMax) return counted
    this.#byDay.set(day, counted)
    if (day <= this.#latest) return counted
    this.#latest = day
    for (const old of this.#byDay.keys()) {
      if (old <= day - limits.dayCountsMax) this.#byDay.delete(old)
    }
    return counted
  }

  load(days: StoredDays): void {
    for (const [day, events, xp, badges, quests] of days) {
      Object.assign(this.#at(day), { events, xp, badges, quests })
    }
  }

  /** The value for the snapshot. */
  stored(): StoredDays {
    return [...this.#byDay]
      .sort(([one], [other]) => one - other)
      .map(([day, { badges, events, quests, xp }]) => [day, events, xp, badges, quests] as const)
  }
}
