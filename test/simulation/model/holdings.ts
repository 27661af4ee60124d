/**
 * Balances with their lots, replayed from the first decision on: what cannot be spent yet, what ends
 * with a day, and what has ended.
 */
import { dateOf, startOf } from "./calendar.ts"
import type { Course } from "./Definitions.ts"
import {
  amountIn,
  credited,
  type Ending,
  type Entry,
  type Happened,
  type Log,
  type Spent,
} from "./log.ts"
import { dayAt, type Places } from "./streaks.ts"

/** The time of a balance, where the user was until then, and how currencies refilled. */
export interface When {
  readonly now: number
  readonly courses: ReadonlyArray<Course>
  readonly places: Places
}

/** Credits whose last days are `from` to `to`. */
interface DayLot {
  from: number
  to: number
  amount: number
}

interface Waiting {
  readonly at: number
  amount: number
  lastDay: number | undefined
}

const sum = (lots: ReadonlyArray<{ readonly amount: number }>): number =>
  lots.reduce((total, { amount }) => total + amount, 0)

/** The balance of one currency while the decisions are replayed. */
export class Holding {
  balance = 0
  spent = 0
  waiting: Array<Waiting> = []
  lots: Array<DayLot> = []
  readonly ended: Array<DayLot> = []
  /** What each spend took from lots, by last day. */
  readonly #taken = new Map<Spent, Array<{ readonly day: number; amount: number }>>()
  readonly #key: string

  constructor(key: string) {
    this.#key = key
  }

  get pending(): number {
    return sum(this.waiting)
  }

  get expired(): number {
    return sum(this.ended)
  }

  /** What will end, and when. */
  endings(places: Places): ReadonlyArray<{ readonly amount: number; readonly expiresAt: number }> {
    const { zone } = places.at(-1)!
    const midnight = (day: number) => startOf(zone, dateOf(day + 1))
    const pending = this.waiting.flatMap(({ amount, at, lastDay }) =>
      lastDay === undefined ? [] : [{ amount, expiresAt: Math.max(at, midnight(lastDay)) }],
    )
    return [
      ...this.lots.map(({ amount, to }) => ({ amount, expiresAt: midnight(to) })),
      ...pending,
    ].sort((one, other) => one.expiresAt - other.expiresAt)
  }

  /** Time passes: what waited can be spent, and what has ended is gone. */
  pass(now: number, places: Places): void {
    for (const { amount, at, lastDay } of this.waiting) {
      if (at <= now && lastDay !== undefined) this.#add(lastDay, amount)
    }
    this.waiting = this.waiting.filter(({ at }) => at > now)
    const today = dayAt(places, now)
    for (const lot of this.lots.filter(({ to }) => to < today)) {
      this.balance -= lot.amount
      this.ended.push(lot)
    }
    this.lots = this.lots.filter(({ to }) => to >= today)
  }

  #add(day: number, amount: number): void {
    const lot = this.lots.find(({ from, to }) => from <= day && day <= to)
    if (lot === undefined) this.lots.push({ from: day, to: day, amount })
    else lot.amount += amount
    this.lots.sort((one, other) => one.to - other.to)
  }

  /** What a decision does. */
  take(entry: Entry, places: Places): void {
    if (entry.kind === "opened") {
      const spent = amountIn(entry.spent, this.#key)
      // What time had added before is set, too.
      if (entry.currencies.has(this.#key)) this.balance = 0
      this.balance -= spent
      this.spent += spent
    }
    if (
      entry.kind === "event" ||
      entry.kind === "reward" ||
      entry.kind === "purchase" ||
      entry.kind === "backfilled" ||
      entry.kind === "opened"
    ) {
      for (const { currency, lastDay } of "kept" in entry ? entry.kept : []) {
        if (currency === this.#key) this.#keep(lastDay)
      }
      this.balance += credited(entry, this.#key)
      for (const one of entry.endings) if (one.currency === this.#key) this.#credit(one)
    }
    if (entry.kind === "undone") this.#undo(entry.of)
    if (entry.kind === "spent") this.#spend(entry)
    if (entry.kind === "refunded") this.#refund(entry.spent, dayAt(places, entry.at))
  }

  #credit({ amount, at, lastDay }: Ending): void {
    if (at === undefined) {
      this.#add(lastDay!, amount)
      return
    }
    const same = this.waiting.find((one) => one.at === at)
    if (same === undefined) this.waiting.push({ at, amount, lastDay })
    else {
      same.amount += amount
      const isEndless = same.lastDay === undefined || lastDay === undefined
      same.lastDay = isEndless ? undefined : Math.max(same.lastDay!, lastDay)
    }
    this.waiting.sort((one, other) => one.at - other.at)
  }

  #keep(day: number): void {
    const early = this.lots.filter(({ to }) => to < day)
    if (early.length > 0) {
      const from = early[0]!.from
      const late = this.lots.filter((lot) => !early.includes(lot))
      const joined = late.find((lot) => lot.from <= day)
      if (joined === undefined) late.unshift({ from, to: day, amount: sum(early) })
      else Object.assign(joined, { from, amount: joined.amount + sum(early) })
      this.lots = late
    }
    for (const one of this.waiting) {
      if (one.lastDay !== undefined) one.lastDay = Math.max(one.lastDay, day)
    }
  }

  #spend(entry: Spent): void {
    let left = amountIn(entry.amounts, this.#key)
    this.balance -= left
    this.spent += left
    const taken: Array<{ readonly day: number; amount: number }> = []
    for (const lot of this.lots) {
      const some = Math.min(left, lot.amount)
      left -= some
      lot.amount -= some
      if (some > 0) taken.push({ day: lot.to, amount: some })
    }
    this.lots = this.lots.filter(({ amount }) => amount > 0)
    this.#taken.set(entry, taken)
  }

  #refund(spent: Spent, today: number): void {
    const asked = amountIn(spent.amounts, this.#key)
    const back = Math.min(asked, this.spent)
    this.balance += back
    this.spent -= back
    let missing = asked - back
    for (const { amount, day } of this.#taken.get(spent) ?? []) {
      const lost = Math.min(missing, amount)
      missing -= lost
      if (amount > lost) this.#add(Math.max(day, today + 7), amount - lost)
    }
  }

  #undo(of: Happened): void {
    const asked = credited(of, this.#key)
    if (asked === 0) return
    let left = asked
    const from = (lot: { amount: number } | undefined): number => {
      const some = lot === undefined ? 0 : Math.min(left, lot.amount)
      if (lot !== undefined) lot.amount -= some
      left -= some
      return some
    }
    const free = { amount: this.balance - this.pending - sum(this.lots) }
    const { at, lastDay } = of.endings.find(({ currency }) => currency === this.#key) ?? {}
    const isOwn = (lot: DayLot) => lastDay !== undefined && lot.from <= lastDay && lastDay <= lot.to
    from(this.waiting.find((one) => one.at === at))
    from(this.lots.find(isOwn))
    const ended = from(this.ended.find(isOwn))
    if (lastDay === undefined) from(free)
    for (const lot of this.lots.toReversed()) from(lot)
    from(free)
    for (const one of this.waiting.toReversed()) from(one)
    this.balance -= asked - ended - left
    // More is missing than was spent: another lot had it when it ended.
    for (const lot of this.ended.toReversed()) {
      const some = Math.min(Math.max(0, left - this.spent), lot.amount)
      lot.amount -= some
      left -= some
    }
    this.spent = Math.max(0, this.spent - left)
    this.waiting = this.waiting.filter(({ amount }) => amount > 0)
    this.lots = this.lots.filter(({ amount }) => amount > 0)
  }
}

/** The balance of a currency with its lots. */
export const holdingOf = (log: Log, key: string, { courses, now, places }: When): Holding => {
  const holding = new Holding(key)
  const own = courses.filter((course) => course.key === key)
  let clock = Math.max(log[0]?.at ?? Number.POSITIVE_INFINITY, own[0]?.at ?? 0)
  let since = clock
  const wait = (to: number): void => {
    while (own.length > 0 && clock < to) {
      const { max, refill } = own.findLast(({ at }) => at <= clock)!
      const edited = own.find(({ at }) => at > clock)?.at ?? Number.POSITIVE_INFINITY
      const end = Math.min(to, edited)
      if (refill !== null && max !== null) {
        const ms = refill.everyMinutes * 60_000
        for (; holding.balance < max && since + ms <= end; since += ms) {
          holding.balance = Math.min(max, holding.balance + refill.amount)
        }
      }
      if (refill === null || max === null || holding.balance >= max || end === edited) since = end
      clock = end
    }
  }
  for (const entry of log) {
    wait(entry.at)
    holding.pass(entry.at, places)
    holding.take(entry, places)
    if (entry.kind === "opened" && entry.currencies.has(key)) since = entry.at
    // Full, if only until the next record of the same millisecond: the wait begins again.
    const max = own.findLast(({ at }) => at <= clock)?.max
    if (max != null && holding.balance >= max) since = clock
  }
  wait(now)
  if (log.length > 0) holding.pass(now, places)
  return holding
}
