/**
 * Boosts: while a boost runs, rules and quests pay a multiple of some currencies.
 *
 * A boost counts for an event if it ran when the event occurred, whenever the event arrives:
 *
 * - It runs from `startsAt` to `endsAt`. The start is in it, the end is not. With `weekly` it runs
 *   only during these spells.
 * - A spell is a span of local time, `[from, to)`, that begins on its days. If `to` is not after
 *   `from`, it ends on the next day. A moment is in a spell if a clock on the wall shows a time of
 *   the spell. So a spell in the hour that daylight saving repeats runs in both hours, and a spell
 *   in the hour that daylight saving skips does not run.
 * - The clock is that of the project, or that of each user, in the zone of the time of the event.
 * - A boost multiplies an amount once, however many of its spells a moment is in.
 * - A boost with a segment multiplies only for users who are in the segment before the event.
 *
 * A personal boost runs for nobody by itself: a reward gives it to a user for some minutes
 * (`decide/Boosts.ts`). It has no period, no spells and no segment. It multiplies by its present
 * definition, as other boosts do, and once, however many rewards of it run.
 *
 * All boosts of a currency multiply together. The product of their factors is at most
 * `boostProductMax`. Factors have two decimals, and amounts are multiplied as whole numbers or
 * decimal fractions, so the result is exact. It is rounded down once.
 *
 * Cost: the boosts that run at a moment are found once for each zone and span of time between two
 * edges. An edge is the start or end of a boost or a spell, or a change of the zone's offset. An
 * event in the same span as the event before it compares two numbers. Late events have a span of
 * their own. If some have a segment, the sets of them that users have are kept, `setsKeptMax` at most.
 */
import { limits } from "../../Limits.ts"
import type { Zone } from "../values/Calendar.ts"
import { paysAt, type Targeted } from "./Definition.ts"
import { definitionWithKey } from "./DefinitionKey.ts"

export const weekdays = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const
export type Weekday = (typeof weekdays)[number]

/** A span of local time on some days of each week. Times are such as `18:00`; `to` may be `24:00`. */
export interface Spell {
  /** The days on which it begins. */
  readonly days: ReadonlyArray<Weekday>
  readonly from: string
  readonly to: string
}

export const boostTimeZones = ["project", "user"] as const

export interface Boost extends Targeted {
  readonly name: string
  /** The keys of the currencies that it multiplies. */
  readonly currencies: ReadonlyArray<string>
  readonly factor: number
  /** Empty: it runs all the time from its start to its end. */
  readonly weekly: ReadonlyArray<Spell>
  /** Whose clock the spells follow. */
  readonly timeZone: (typeof boostTimeZones)[number]
  /** Whether it runs only for users to whom a reward gave it. It never changes. */
  readonly personal: boolean
}

/** A personal boost that a user got: it runs from `startsAt` until `endsAt`, epoch milliseconds. */
export interface OwnBoost {
  readonly key: string
  readonly startsAt: number
  readonly endsAt: number
}

/** The boosts of a user's own after one more. The one that ends first leaves when there are many. */
export const withOwnBoost = (
  before: ReadonlyArray<OwnBoost>,
  one: OwnBoost,
): ReadonlyArray<OwnBoost> => {
  const after = [...before, one]
  if (after.length <= limits.ownBoostsMax) return after
  const first = Math.min(...after.map(({ endsAt }) => endsAt))
  after.splice(
    after.findIndex(({ endsAt }) => endsAt === first),
    1,
  )
  return after
}

export const withoutOwnBoost = (
  before: ReadonlyArray<OwnBoost>,
  { endsAt, key, startsAt }: OwnBoost,
): ReadonlyArray<OwnBoost> => {
  const at = before.findIndex(
    (one) => one.key === key && one.startsAt === startsAt && one.endsAt === endsAt,
  )
  return before.filter((_, index) => index !== at)
}

/** The personal boosts that run for a user at `at`, each once. */
export const ownBoostsAt = (
  boosts: ReadonlyMap<string, Boost>,
  own: ReadonlyArray<OwnBoost>,
  at: number,
): ReadonlyArray<Boost> => {
  const running = own.filter(({ endsAt, startsAt }) => at >= startsAt && at < endsAt)
  return [...new Set(running.map(({ key }) => key))].flatMap((key) => {
    const boost = definitionWithKey(boosts, key)
    return boost?.personal === true && paysAt(boost, at) ? [boost] : []
  })
}

/** A boost that multiplied an amount, with its factor at that time. */
export interface AppliedBoost {
  readonly key: string
  readonly factor: number
}

/* Spells as spans of the local week, in milliseconds since Monday, 00:00. */

type WeekSpan = readonly [from: number, to: number]

const minuteMs = 60_000
const dayMs = 86_400_000
const weekMs = 7 * dayMs
/** 1970-01-01 was a Thursday. */
const epochOfWeekMs = 3 * dayMs

const timeOfDayMs = (time: string): number => {
  const [hours, minutes] = time.split(":").map(Number)
  return (hours! * 60 + minutes!) * minuteMs
}

/** The spans of the spells in a week, in order. No two overlap or touch. */
const spansOf = (weekly: ReadonlyArray<Spell>): ReadonlyArray<WeekSpan> => {
  const spans: Array<WeekSpan> = []
  for (const { days, from, to } of weekly) {
    const fromMs = timeOfDayMs(from)
    const toMs = timeOfDayMs(to)
    const lengthMs = toMs > fromMs ? toMs - fromMs : toMs + dayMs - fromMs
    for (const day of days) {
      const start = weekdays.indexOf(day) * dayMs + fromMs
      const end = start + lengthMs
      spans.push([start, Math.min(end, weekMs)])
      if (end > weekMs) spans.push([0, end - weekMs])
    }
  }
  spans.sort(([one], [other]) => one - other)
  const merged: Array<[number, number]> = []
  for (const [from, to] of spans) {
    const last = merged.at(-1)
    if (last === undefined || from > last[1]) merged.push([from, to])
    else last[1] = Math.max(last[1], to)
  }
  return merged
}

/** A span of time, half open, in which the same boosts run. */
interface Span {
  readonly from: number
  readonly until: number
}

interface Compiled {
  readonly boost: Boost
  readonly spans: ReadonlyArray<WeekSpan>
}

const compiled = (boost: Boost): Compiled => ({ boost, spans: spansOf(boost.weekly) })

/** Whether a published boost runs at `at`, and a span around `at` in which that stays. */
const stateAt = (
  { boost, spans }: Compiled,
  zone: Zone,
  at: number,
): Span & { readonly runs: boolean } => {
  let from = Number.NEGATIVE_INFINITY
  let until = Number.POSITIVE_INFINITY
  for (const edge of [boost.startsAt, boost.endsAt]) {
    if (edge === null) continue
    if (edge <= at) from = Math.max(from, edge)
    else until = Math.min(until, edge)
  }
  let runs = paysAt(boost, at)
  if (runs && spans.length > 0) {
    const offset = zone.offsetAt(at)
    from = Math.max(from, offset.from)
    until = Math.min(until, offset.until)
    const local = at + offset.offsetMs + epochOfWeekMs
    const inWeek = ((local % weekMs) + weekMs) % weekMs
    const week = at - inWeek
    runs = false
    // Before the first span and behind the last one, the next edge is in another week at most.
    from = Math.max(from, week)
    until = Math.min(until, week + weekMs)
    for (const [start, end] of spans) {
      if (inWeek >= start && inWeek < end) runs = true
      for (const edge of [start, end]) {
        if (edge <= inWeek) from = Math.max(from, week + edge)
        else until = Math.min(until, week + edge)
      }
    }
  }
  return { runs, from, until }
}

/** The next spans of time in which the boost runs, the present one included, at most `count`. */
export const nextSpells = (
  boost: Pick<Boost, "endsAt" | "startsAt" | "timeZone" | "weekly">,
  zone: Zone,
  now: number,
  count: number,
): ReadonlyArray<{ readonly startsAt: number; readonly endsAt: number }> => {
  const found: Array<{ startsAt: number; endsAt: number }> = []
  const whole = compiled({ ...boost, set: "published" } as Boost)
  // A span may begin and end without a change of state, such as at the end of a week.
  let at = Math.max(now, boost.startsAt ?? now)
  for (let step = 0; step < spansSearchedMax && at < Number.POSITIVE_INFINITY; step++) {
    const { from, runs, until } = stateAt(whole, zone, at)
    const last = found.at(-1)
    if (runs && last?.endsAt === from) last.endsAt = until
    else if (runs && found.length === count) break
    else if (runs) found.push({ startsAt: from, endsAt: until })
    at = until
  }
  return found
}

/** More than the edges of all spells of a week, several times over. */
const spansSearchedMax = 1_000

/* The boosts that run at a moment, and their product. */

/** A fraction. */
interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** The product of the boosts of a currency, also as numbers, which may be rounded if they are large. */
interface Product extends Fraction {
  readonly applied: ReadonlyArray<AppliedBoost>
  readonly numeratorNumber: number
  readonly denominatorNumber: number
}

/** A factor is a number of hundredths. */
export const factorScale = 10 ** limits.boostFactorDecimals

const productOf = (boosts: ReadonlyArray<Boost>, currency: string): Product | undefined => {
  const applied = boosts.filter(({ currencies }) => currencies.includes(currency))
  if (applied.length === 0) return undefined
  let numerator = 1n
  for (const { factor } of applied) numerator *= BigInt(Math.round(factor * factorScale))
  const denominator = BigInt(factorScale) ** BigInt(applied.length)
  const most = BigInt(limits.boostProductMax)
  const product: Fraction =
    numerator > most * denominator
      ? { numerator: most, denominator: 1n }
      : { numerator, denominator }
  return {
    applied: applied.map(({ factor, key }) => ({ key, factor })),
    ...product,
    numeratorNumber: Number(product.numerator),
    denominatorNumber: Number(product.denominator),
  }
}

/** How many sets of the boosts of one moment are kept with their products. */
const setsKeptMax = 32

/** The boosts that run at a moment. */
export class RunningBoosts {
  readonly boosts: ReadonlyArray<Boost>
  readonly #products = new Map<string, Product | undefined>()
  readonly #isForAll: boolean
  /** Those of a user, by their ids. */
  readonly #sets = new Map<string, RunningBoosts>()

  constructor(boosts: ReadonlyArray<Boost>) {
    this.boosts = boosts
    this.#isForAll = boosts.every(({ segment }) => segment === null)
  }

  /** The boosts for a user who is in the segments that `isIn` affirms. */
  forMember(isIn: (segment: string | null) => boolean): RunningBoosts {
    if (this.#isForAll) return this
    const own = this.boosts.filter(({ segment }) => isIn(segment))
    if (own.length === 0) return noBoosts
    const name = own.map(({ id }) => id).join(" ")
    let found = this.#sets.get(name)
    if (found === undefined) {
      found = new RunningBoosts(own)
      if (this.#sets.size >= setsKeptMax) this.#sets.clear()
      this.#sets.set(name, found)
    }
    return found
  }

  /** Those and more. */
  plus(more: ReadonlyArray<Boost>): RunningBoosts {
    return more.length === 0 ? this : new RunningBoosts([...this.boosts, ...more])
  }

  #productOf(currency: string): Product | undefined {
    if (this.boosts.length === 0) return undefined
    let product = this.#products.get(currency)
    if (product === undefined && !this.#products.has(currency)) {
      product = productOf(this.boosts, currency)
      this.#products.set(currency, product)
    }
    return product
  }

  /** The boosts of a currency; `undefined`: none. */
  appliedTo(currency: string): ReadonlyArray<AppliedBoost> | undefined {
    return this.#productOf(currency)?.applied
  }

  /** Whether `times` would return the amount itself. */
  keeps(currency: string, amount: number): boolean {
    if (amount === 0) return true
    return Number.isInteger(amount) && this.#productOf(currency) === undefined
  }

  /** The amount, at least 0, times the boosts of the currency, rounded down. */
  times(currency: string, amount: number): number {
    const product = this.#productOf(currency)
    if (product === undefined) return Math.floor(amount)
    // Usually the numbers are small, and faster than large integers.
    const scaled = amount * product.numeratorNumber
    if (Number.isInteger(amount) && Number.isSafeInteger(scaled)) {
      return (scaled - (scaled % product.denominatorNumber)) / product.denominatorNumber
    }
    const [digits, denominator] = fractionOf(amount)
    return Number((digits * product.numerator) / (denominator * product.denominator))
  }
}

/** The number as JSON writes it, as a fraction: 1.25 is 125 of 100. */
const fractionOf = (amount: number): readonly [numerator: bigint, denominator: bigint] => {
  if (Number.isInteger(amount)) return [BigInt(amount), 1n]
  const [digits, exponent] = amount.toExponential().split("e")
  const [whole, decimals = ""] = digits!.split(".")
  const scale = decimals.length - Number(exponent)
  const numerator = BigInt(`${whole}${decimals}`)
  return [numerator, 10n ** BigInt(scale)]
}

export const noBoosts = new RunningBoosts([])

interface RunningSpan extends Span {
  readonly running: RunningBoosts
}

/** The spans of a zone that were asked for last: of the latest events, and of an earlier one. */
interface Spans {
  latest: RunningSpan
  late: RunningSpan | undefined
}

/** The boosts of a set of definitions that follow one kind of clock. */
class Schedule {
  readonly #published: ReadonlyArray<Compiled>
  readonly #spans = new Map<Zone, Spans>()

  constructor(boosts: Iterable<Boost>, timeZone: Boost["timeZone"]) {
    this.#published = [...boosts]
      .filter(
        ({ personal, set, ...boost }) =>
          set === "published" && !personal && boost.timeZone === timeZone,
      )
      .map(compiled)
  }

  get isEmpty(): boolean {
    return this.#published.length === 0
  }

  runningAt(zone: Zone, at: number): RunningBoosts {
    const known = this.#spans.get(zone)
    if (known !== undefined && isIn(known.latest, at)) return known.latest.running
    if (known?.late !== undefined && isIn(known.late, at)) return known.late.running
    const found = this.#find(zone, at)
    if (known === undefined) this.#spans.set(zone, { latest: found, late: undefined })
    else if (at >= known.latest.until) known.latest = found
    else known.late = found
    return found.running
  }

  #find(zone: Zone, at: number): RunningSpan {
    let from = Number.NEGATIVE_INFINITY
    let until = Number.POSITIVE_INFINITY
    const running: Array<Boost> = []
    for (const one of this.#published) {
      const state = stateAt(one, zone, at)
      from = Math.max(from, state.from)
      until = Math.min(until, state.until)
      if (state.runs) running.push(one.boost)
    }
    return { from, until, running: running.length === 0 ? noBoosts : new RunningBoosts(running) }
  }
}

const isIn = ({ from, until }: Span, at: number): boolean => at >= from && at < until

interface Schedules {
  readonly project: Schedule
  readonly user: Schedule
}

const schedules = new WeakMap<ReadonlyMap<string, Boost>, Schedules>()

/** The last result: most events have the same boosts as the event before. */
let asked: { readonly boosts: ReadonlyMap<string, Boost>; readonly found: Schedules } | undefined

const schedulesOf = (boosts: ReadonlyMap<string, Boost>): Schedules => {
  if (asked?.boosts === boosts) return asked.found
  let found = schedules.get(boosts)
  if (found === undefined) {
    found = {
      project: new Schedule(boosts.values(), "project"),
      user: new Schedule(boosts.values(), "user"),
    }
    schedules.set(boosts, found)
  }
  asked = { boosts, found }
  return found
}

/** The boosts that run at `at`. `userZone` is asked only if a boost follows the users' clocks. */
export const boostsAt = (
  boosts: ReadonlyMap<string, Boost>,
  at: number,
  projectZone: Zone,
  userZone: () => Zone,
): RunningBoosts => {
  if (boosts.size === 0) return noBoosts
  const { project, user } = schedulesOf(boosts)
  const ofProject = project.isEmpty ? noBoosts : project.runningAt(projectZone, at)
  const ofUser = user.isEmpty ? noBoosts : user.runningAt(userZone(), at)
  if (ofUser === noBoosts) return ofProject
  if (ofProject === noBoosts) return ofUser
  return new RunningBoosts([...ofProject.boosts, ...ofUser.boosts])
}
