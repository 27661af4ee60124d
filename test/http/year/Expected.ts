/**
 * What a year (`Plan.ts`) amounts to: every figure from the list of its events alone, user by user and
 * day by day, without regard to cost.
 */
import { type Act, dayMs, liveDays, type Person, type Plan, sendingHour } from "./Plan.ts"

export const hourMs = 3_600_000

/** The definitions of the year. */
export const lessonXp = 10
export const questXp = 50
export const questLessons = 3
export const tiers = [
  { key: "few", target: 5 },
  { key: "many", target: 15 },
] as const
export const milestones = [3, 7, 30] as const
export const inactiveDays = 3
export const reminderHour = 10
/** Reminders are switched on after the events of this live day. */
export const remindersDay = 4
/** When the definitions are made, and the history is imported: an hour of the first live day. */
export const beginningHour = 12

interface DayCount {
  events: number
  xp: number
  badges: number
  quests: number
}

/** A user at the end of the year. `days`: local days, by the number of events that stand. */
export interface Life {
  readonly person: Person
  readonly days: Map<number, number>
  readonly acts: Array<Act>
  lessons: number
  shares: number
  xp: number
  points: number
  readonly kept: Set<number>
  readonly paused: Set<number>
  createdAt: number
  /** When the quest was begun and completed: times, and the local day of the completion. */
  begunAt: number | undefined
  completed: { readonly at: number; readonly day: number } | undefined
  /** By tier: when it was earned. */
  readonly earned: Map<string, { readonly at: number; readonly day: number }>
  ruleDay: number | undefined
  /** By local day: xp of events that stand. */
  readonly xpOn: Map<number, number>
}

const newLife = (person: Person): Life => ({
  person,
  days: new Map(),
  acts: [],
  lessons: 0,
  shares: 0,
  xp: 0,
  points: 0,
  kept: new Set(),
  paused: new Set(),
  createdAt: 0,
  begunAt: undefined,
  completed: undefined,
  earned: new Map(),
  ruleDay: undefined,
  xpOn: new Map(),
})

/** The lengths of the runs of a streak, by the last day of each. Paused days are not missed. */
export const runsOf = ({
  kept,
  paused,
}: Pick<Life, "kept" | "paused">): ReadonlyMap<number, number> => {
  const runs = new Map<number, number>()
  let last: number | undefined
  for (const day of [...kept].sort((one, other) => one - other)) {
    let before = day - 1
    while (paused.has(before) && !kept.has(before)) before--
    const length = last !== undefined && before === last ? runs.get(last)! : 0
    runs.set(day, length + 1)
    last = day
  }
  return runs
}

const plus = <Key>(counts: Map<Key, number>, key: Key, more = 1): void => {
  counts.set(key, (counts.get(key) ?? 0) + more)
}

/** A mechanic's days. */
export interface MechanicOn {
  readonly times: Map<number, number>
  readonly xp: Map<number, number>
}

export class Expected {
  readonly plan: Plan
  /** By user, without those who were erased and the ids that were merged into others. */
  readonly lives = new Map<string, Life>()
  /** What happened on a day, whatever became of it. */
  readonly on = new Map<number, DayCount>()
  readonly mechanics = new Map<string, MechanicOn>()
  readonly points = new Map<number, number>()
  /** The longest run that was seen on a day. */
  readonly runs = new Map<number, number>()
  readonly sentReminders = new Map<number, number>()
  readonly followedReminders = new Map<number, number>()
  /** The time at the end, epoch milliseconds, and the last day that has ended in every time zone. */
  readonly now: number
  readonly lastWhole: number

  constructor(plan: Plan, now: number) {
    this.plan = plan
    this.now = now
    this.lastWhole = Math.floor((now - 12 * hourMs) / dayMs) - 1 - plan.base
    for (const act of plan.acts) this.#live(act)
    for (const { from, to, userId } of plan.pauses) {
      for (let day = from; day <= to; day++) this.lives.get(userId)!.paused.add(day)
    }
    for (const life of this.lives.values()) this.#remind(life)
    // They buy after the events of the last live day.
    if (plan.buyers.length > 0) plus(this.of("item").times, liveDays - 1, plan.buyers.length)
    for (const [from, into] of plan.merges) this.#merge(from, into)
    for (const userId of plan.erased) this.lives.delete(userId)
  }

  /** The time at which events of a live day are received; of imported ones, when they occurred. */
  receivedAt({ at, sent }: Pick<Act, "at" | "sent">): number {
    return sent < 0 ? at : (this.plan.base + sent) * dayMs + sendingHour * hourMs
  }

  #live(act: Act): void {
    const { person } = act
    let life = this.lives.get(person.id)
    if (life === undefined) {
      life = newLife(person)
      this.lives.set(person.id, life)
      const beginning = this.plan.base * dayMs + beginningHour * hourMs
      life.createdAt = act.sent < 0 ? beginning : this.receivedAt(act)
    }
    if (act.undone !== true) {
      this.#track(life, act)
      return
    }
    // A kept day of a streak outlives an undo; nothing else does.
    const before: Life = {
      ...life,
      days: new Map(life.days),
      acts: [...life.acts],
      xpOn: new Map(life.xpOn),
      earned: new Map(life.earned),
    }
    this.#track(life, act)
    this.lives.set(person.id, before)
  }

  #track(life: Life, act: Act): void {
    const { action, at, day } = act
    life.acts.push(act)
    plus(life.days, day)
    const count = this.#dayCount(day)
    count.events++
    const receivedAt = this.receivedAt(act)
    const factor = isWeekend(at) ? 2 : 1
    let isBoosted = false
    const earn = (place: string, base: number) => {
      const xp = base * factor
      isBoosted ||= factor > 1
      life.xp += xp
      count.xp += xp
      plus(life.xpOn, day, xp)
      plus(this.of(place).xp, day, xp)
    }
    if (action === "LESSON") {
      plus(this.of("rule").times, day)
      earn("rule", lessonXp)
      life.points++
      plus(this.points, day)
      life.ruleDay ??= day
      life.lessons++
      this.#keep(life, day)
    }
    if (action === "SHARE") life.shares++
    if (action !== "LOOK" && life.completed === undefined) {
      life.begunAt ??= receivedAt
      if (life.lessons >= questLessons && life.shares > 0) {
        life.completed = { at: receivedAt, day: this.localDay(life.person, receivedAt) }
        count.quests++
        plus(this.of("quest").times, day)
        earn("quest", questXp)
      }
    }
    for (const { key, target } of tiers) {
      if (life.lessons < target || life.earned.has(key)) continue
      life.earned.set(key, { at: receivedAt, day: this.localDay(life.person, receivedAt) })
      count.badges++
      plus(this.of("badge").times, day)
    }
    if (isBoosted) plus(this.of("boost").times, day)
  }

  #keep(life: Life, day: number): void {
    if (life.kept.has(day)) return
    life.kept.add(day)
    plus(this.of("streak").times, day)
  }

  localDay({ zone }: Person, at: number): number {
    return Math.floor((at + zone.offsetHours * hourMs) / dayMs) - this.plan.base
  }

  #dayCount(day: number): DayCount {
    const known = this.on.get(day)
    if (known !== undefined) return known
    const count = { events: 0, xp: 0, badges: 0, quests: 0 }
    this.on.set(day, count)
    return count
  }

  of(place: string): MechanicOn {
    const known = this.mechanics.get(place)
    if (known !== undefined) return known
    const made = { times: new Map(), xp: new Map() }
    this.mechanics.set(place, made)
    return made
  }

  /** The reminders of a user's absences, and whether an event followed within a day. */
  #remind({ acts, days, person }: Life): void {
    const offset = person.zone.offsetHours * hourMs
    const isOn = (this.plan.base + remindersDay) * dayMs + sendingHour * hourMs
    // A day that came late was no active day when the reminder was due.
    const onTime = new Set(acts.filter(({ day, sent }) => sent <= day).map(({ day }) => day))
    const active = [...days.keys()].filter((day) => onTime.has(day)).sort((a, b) => a - b)
    for (const [place, day] of active.entries()) {
      const due = (this.plan.base + day + inactiveDays) * dayMs + reminderHour * hourMs - offset
      const next = active[place + 1]
      if (due <= isOn || due > this.now || (next !== undefined && next < day + inactiveDays))
        continue
      const sentOn = Math.floor(due / dayMs) - this.plan.base
      plus(this.sentReminders, sentOn)
      const isFollowed = acts.some((act) => {
        const received = this.receivedAt(act)
        return act.sent >= 0 && act.at > due && received <= due + dayMs && received > due
      })
      if (isFollowed) plus(this.followedReminders, sentOn)
    }
  }

  #merge(from: string, into: string): void {
    const [gone, stays] = [this.lives.get(from)!, this.lives.get(into)!]
    this.lives.delete(from)
    for (const [day, events] of gone.days) plus(stays.days, day, events)
    stays.acts.push(...gone.acts)
    for (const day of gone.kept) stays.kept.add(day)
    stays.lessons += gone.lessons
    stays.xp += gone.xp
    stays.points += gone.points
    if (gone.ruleDay !== undefined) {
      stays.ruleDay = Math.min(gone.ruleDay, stays.ruleDay ?? gone.ruleDay)
    }
    if (gone.begunAt !== undefined) {
      stays.begunAt = Math.min(gone.begunAt, stays.begunAt ?? gone.begunAt)
    }
    stays.createdAt = Math.min(gone.createdAt, stays.createdAt)
  }
}

/** 1970-01-01 was a Thursday. */
const isWeekend = (at: number): boolean => [2, 3].includes(Math.floor(at / dayMs) % 7)
