/**
 * How many reminders of each kind users of an environment got on each of the latest days, and after how
 * many of them an event came within a day (`domain/user/Comeback.ts`). Like the counts of actions, an
 * undo and the erasure of a user change nothing. A reminder counts on the day of UTC on which it was
 * sent, and so does the event that followed it.
 *
 * Cost: a look at the kinds of a record's facts; at most `dayCountsMax` days, about 20 KiB of the
 * snapshot.
 */
import { decidedAt, type JournalRecord } from "../../domain/record/Record.ts"
import { isReminderKind, type ReminderKind } from "../../domain/user/Comeback.ts"
import { limits } from "../../Limits.ts"

/** Of one kind and day. */
export interface ReminderCount {
  readonly sent: number
  /** Those after which an event came within a day. */
  readonly returned: number
}

type Counted = { -readonly [Name in keyof ReminderCount]: ReminderCount[Name] }

const nothing: ReminderCount = { sent: 0, returned: 0 }

/** The days with reminders, in their order. */
export type StoredReminders = ReadonlyArray<
  readonly [day: number, kind: ReminderKind, sent: number, returned: number]
>

const dayMs = 86_400_000

export class ReminderCounts {
  readonly #byDay = new Map<number, Map<ReminderKind, Counted>>()
  /** The latest day. */
  #latest = Number.NEGATIVE_INFINITY

  on(day: number, kind: ReminderKind): ReminderCount {
    return this.#byDay.get(day)?.get(kind) ?? nothing
  }

  /** Counts a record; returns whether anything counted. */
  fold(record: JournalRecord): boolean {
    let isCounted = false
    for (const fact of record.facts) {
      if (fact.kind === "reminders.followed") {
        for (const [kind, at] of fact.reminders) this.#at(Math.floor(at / dayMs), kind).returned++
        isCounted = true
      } else if (isReminderKind(fact.kind)) {
        this.#at(Math.floor(decidedAt(record) / dayMs), fact.kind).sent++
        isCounted = true
      }
    }
    return isCounted
  }

  #at(day: number, kind: ReminderKind): Counted {
    const kinds = this.#byDay.get(day) ?? this.#admit(day)
    let counted = kinds.get(kind)
    if (counted === undefined) {
      counted = { ...nothing }
      kinds.set(kind, counted)
    }
    return counted
  }

  #admit(day: number): Map<ReminderKind, Counted> {
    const kinds = new Map<ReminderKind, Counted>()
    if (day <= this.#latest - limits.dayCountsMax) return kinds
    this.#byDay.set(day, kinds)
    if (day <= this.#latest) return kinds
    this.#latest = day
    for (const old of this.#byDay.keys()) {
      if (old <= day - limits.dayCountsMax) this.#byDay.delete(old)
    }
    return kinds
  }

  load(stored: StoredReminders): void {
    for (const [day, kind, sent, returned] of stored) {
      Object.assign(this.#at(day, kind), { sent, returned })
    }
  }

  /** The member for the snapshot; none without a reminder. */
  stored(): { readonly reminders?: StoredReminders } {
    if (this.#byDay.size === 0) return {}
    const reminders = [...this.#byDay]
      .sort(([one], [other]) => one - other)
      .flatMap(([day, kinds]) =>
        Array.from(kinds, ([kind, { returned, sent }]) => [day, kind, sent, returned] as const),
      )
    return { reminders }
  }
}
