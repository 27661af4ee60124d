/**
 * Local days, ISO weeks and months of a time zone. A local day is the number of days since
 * 1970-01-01. The windows of a kind have consecutive indexes, so "next" and "same" are integer
 * arithmetic despite daylight saving.
 *
 * Cost: `Temporal` knows the zones but is slow. A `Zone` therefore caches local days with their
 * bounds. Most lookups are for today; late and imported events look up earlier days.
 */
import { limits } from "../../Limits.ts"

export const windowKinds = ["daily", "weekly", "monthly"] as const
export type WindowKind = (typeof windowKinds)[number]

/** Windows of so many local days. One of them begins on the date `anchor`. */
export interface DaysWindow {
  readonly days: number
  readonly anchor: string
}

/** How long the windows of a kind last. */
export type WindowSpan = WindowKind | DaysWindow

/** The windows that a leaderboard may have beside that of all time. It says itself how long its `days` last. */
export const timedWindows = [...windowKinds, "days"] as const
export type TimedWindow = (typeof timedWindows)[number]

/** The kinds of windows by the word for one of them. */
export const windowKindOf = { day: "daily", week: "weekly", month: "monthly" } as const

/**
 * The canonical spelling of the IANA time zone `name`, in any case; `undefined` if this machine
 * does not know the zone.
 */
export const canonicalTimeZone = (name: string): string | undefined => {
  // `Temporal` also accepts an offset such as `+02:00`, which has no daylight saving.
  if (!/^[A-Za-z]/.test(name)) return undefined
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
  } catch {
    return undefined
  }
}

/** Whether two valid names are the same zone, such as `Asia/Calcutta` and `Asia/Kolkata`. */
export const isSameTimeZone = (one: string, other: string): boolean => {
  if (one === other) return true
  const moment = Temporal.Instant.fromEpochMilliseconds(0)
  return moment.toZonedDateTimeISO(one).equals(moment.toZonedDateTimeISO(other))
}

export const isTimeZone = (name: string): boolean => canonicalTimeZone(name) !== undefined

const epoch = Temporal.PlainDate.from("1970-01-01")
const dayMs = 86_400_000
const hourMs = 3_600_000

/**
 * Upper bounds of the time between two records that count for the same window, changes of time zone
 * included.
 */
export const windowMsMax = { daily: 3 * dayMs, weekly: 9 * dayMs, monthly: 33 * dayMs }

const halfDayMs = dayMs / 2

/** The earliest calendar is so far ahead of UTC, the latest so far behind. */
const aheadMsMax = 14 * hourMs
const behindMsMax = 12 * hourMs

/** The last day that has begun in a time zone. */
export const lastBegunDay = (now: number): number => Math.floor((now + aheadMsMax) / dayMs)

/** The last day that has ended in every time zone. */
export const lastWholeDay = (now: number): number => Math.floor((now - behindMsMax) / dayMs) - 1
const daysKnownMax = 10_000
/** A power of two. */
const halfDaysKept = 256
/** The hours that a zone caches, after which it begins again. */
const hoursKept = 1_024

/** A span of time in epoch milliseconds, half open. */
interface Span {
  readonly from: number
  readonly until: number
}

const isWithin = (ms: number, { from, until }: Span): boolean => ms >= from && ms < until

/** How far local time is ahead of UTC, in milliseconds, in a span of time. */
export interface OffsetSpan extends Span {
  readonly offsetMs: number
}

/** The date of a local day, such as `2026-11-01`. */
export const dateOf = (day: number): string => epoch.add({ days: day }).toString()

/** The local day of a date such as `2026-11-01`; `undefined` for any other text. */
export const dayOf = (date: string): number | undefined => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  try {
    return epoch.until(Temporal.PlainDate.from(date, { overflow: "reject" })).days
  } catch {
    return undefined
  }
}

/** A local day, with its start and the start of the next day in epoch milliseconds. */
interface LocalDay extends Span {
  readonly day: number
}

/** Epoch milliseconds. */
interface Bounds {
  readonly startsAt: number
  readonly endsAt: number
}

export class Zone {
  readonly name: string
  /** The zones of a user who has had only this zone. */
  readonly alone = [{ zone: this as Zone, until: Number.POSITIVE_INFINITY }]
  #latest: LocalDay = { day: 0, from: 0, until: 0 }
  readonly #has = new Map<number, boolean>()
  #offset: OffsetSpan = { from: 0, until: 0, offsetMs: 0 }
  /** Cached days. The slot of a day is a half day of UTC that the day covers. */
  readonly #found: Array<LocalDay | undefined> = []
  readonly #hours = new Map<number, number>()
  /** The window of each kind that was asked for last. */
  readonly #windows = new Map<WindowKind, { readonly index: number; readonly bounds: Bounds }>()

  constructor(name: string) {
    this.name = name
  }

  /** The local day at `ms` (epoch milliseconds): the latest day that has begun. */
  dayAt(ms: number): number {
    if (isWithin(ms, this.#latest)) return this.#latest.day
    const place = Math.floor(ms / halfDayMs) & (halfDaysKept - 1)
    let found = this.#found[place]
    if (found === undefined || !isWithin(ms, found)) {
      found = this.#find(ms)
      this.#found[place] = found
    }
    this.#latest = found
    return found.day
  }

  #find(ms: number): LocalDay {
    const date = Temporal.Instant.fromEpochMilliseconds(ms)
      .toZonedDateTimeISO(this.name)
      .toPlainDate()
    const day = epoch.until(date).days
    const next = this.startOfDay(day + 1)
    // If daylight saving sets clocks back over midnight, the day before does not return.
    return ms >= next
      ? { day: day + 1, from: next, until: this.startOfDay(day + 2) }
      : { day, from: this.startOfDay(day), until: next }
  }

  /**
   * The start of the local day in epoch milliseconds: its first moment, even if the zone skips
   * midnight.
   */
  startOfDay(day: number): number {
    if (day === this.#latest.day && this.#latest.until > 0) return this.#latest.from
    return epoch.add({ days: day }).toZonedDateTime(this.name).epochMilliseconds
  }

  /**
   * When the clock shows the full hour on the local day, epoch milliseconds: the first time of two,
   * and the end of the gap if daylight saving skips the hour.
   */
  hourOn(day: number, hour: number): number {
    const place = day * 24 + hour
    let at = this.#hours.get(place)
    if (at === undefined) {
      const date = epoch.add({ days: day })
      at = date.toZonedDateTime({ timeZone: this.name, plainTime: { hour } }).epochMilliseconds
      if (this.#hours.size >= hoursKept) this.#hours.clear()
      this.#hours.set(place, at)
    }
    return at
  }

  /**
   * How long before the hours of UTC the hours of the zone begin at `ms`, in milliseconds: 0 unless
   * the offset has minutes.
   */
  hourShiftAt(ms: number): number {
    const { offsetMs } = this.offsetAt(ms)
    return ((offsetMs % hourMs) + hourMs) % hourMs
  }

  /** The offset from UTC at `ms`, and the span of time in which it holds. */
  offsetAt(ms: number): OffsetSpan {
    if (isWithin(ms, this.#offset)) return this.#offset
    const now = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.name)
    const next = now.getTimeZoneTransition("next")
    // A transition at this very moment starts the span.
    const before = now.add({ nanoseconds: 1 }).getTimeZoneTransition("previous")
    this.#offset = {
      from: before === null ? Number.NEGATIVE_INFINITY : before.epochMilliseconds,
      until: next === null ? Number.POSITIVE_INFINITY : next.epochMilliseconds,
      offsetMs: Math.round(now.offsetNanoseconds / 1_000_000),
    }
    return this.#offset
  }

  /** Whether the zone has this day: a zone that moved over the date line skipped a day. */
  hasDay(day: number): boolean {
    let has = this.#has.get(day)
    if (has === undefined) {
      has = this.dayAt(this.startOfDay(day)) === day
      if (this.#has.size >= daysKnownMax) this.#has.clear()
      this.#has.set(day, has)
    }
    return has
  }

  /** The index of the window of the span at `ms`. */
  windowAt(span: WindowSpan, ms: number): number {
    return windowOfDay(span, this.dayAt(ms))
  }

  /** The start of a window and the start of the next one, epoch milliseconds. */
  windowBounds(span: WindowSpan, index: number): Bounds {
    const known = typeof span === "object" ? undefined : this.#windows.get(span)
    if (known?.index === index) return known.bounds
    const bounds = {
      startsAt: this.startOfDay(firstDayOf(span, index)),
      endsAt: this.startOfDay(firstDayOf(span, index + 1)),
    }
    if (typeof span === "string") this.#windows.set(span, { index, bounds })
    return bounds
  }
}

/**
 * The index of the window of the span that contains this local day. 1970-01-01, a Thursday, was in
 * week 0. The window 0 of a span of days is the first that begins on 1970-01-01 or later.
 */
export const windowOfDay = (span: WindowSpan, day: number): number => {
  if (typeof span === "object") return Math.floor((day - firstOfDays(span)) / span.days)
  switch (span) {
    case "daily":
      return day
    case "weekly":
      return Math.floor((day + 3) / 7)
    case "monthly": {
      if (day >= month.from && day < month.until) return month.index
      const date = new Date(day * dayMs)
      const index = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
      month = { index, from: firstDayOf("monthly", index), until: firstDayOf("monthly", index + 1) }
      return index
    }
  }
}

// Caches the last result. It never changes a result.
let month = { index: 0, from: 0, until: 31 }

/** The first local day of a window. */
export const firstDayOf = (span: WindowSpan, index: number): number => {
  if (typeof span === "object") return firstOfDays(span) + index * span.days
  switch (span) {
    case "daily":
      return index
    case "weekly":
      return index * 7 - 3
    case "monthly":
      return Date.UTC(1970, index) / dayMs
  }
}

/** The first day of the window 0. A date is the time of its midnight in UTC. */
const firstOfDays = ({ anchor, days }: DaysWindow): number => {
  const day = Date.parse(anchor) / dayMs
  return day - Math.floor(day / days) * days
}

/** A time zone that held until `until`, epoch milliseconds. */
export interface PastZone<Name> {
  readonly timezone: Name
  readonly until: number
}

/** The time zone at `at`: one of `past` (oldest first) or `present`. */
export const zoneAt = <Name>(
  past: ReadonlyArray<PastZone<Name>>,
  present: Name,
  at: number,
): Name => {
  const held = past.find(({ until }) => at < until)
  return held === undefined ? present : held.timezone
}

/**
 * `past` and the zone that held until `until`. Beyond `pastZonesMax` the oldest zone is dropped.
 */
export const withPastZone = <Name>(
  past: ReadonlyArray<PastZone<Name>> | undefined,
  timezone: Name,
  until: number,
): ReadonlyArray<PastZone<Name>> =>
  [...(past ?? []), { timezone, until }].slice(-limits.pastZonesMax)

const zones = new Map<string, Zone>()
/** The last zone returned. */
let latestZone = new Zone("UTC")

/** The shared zone with this name, which `isTimeZone` accepts. */
export const zoneOf = (name: string): Zone => {
  if (name === latestZone.name) return latestZone
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = new Zone(name)
    zones.set(name, zone)
  }
  latestZone = zone
  return zone
}
