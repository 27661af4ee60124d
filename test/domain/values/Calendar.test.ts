/** Against `Temporal`, used without any cleverness, at moments around every change of a clock. */
import { describe, expect, it } from "vitest"
import {
  dateOf,
  dayOf,
  firstDayOf,
  isTimeZone,
  windowKinds,
  windowOfDay,
  Zone,
  zoneOf,
} from "../../../src/domain/values/Calendar.ts"
import { Random, seeds } from "../../simulation/random.ts"

const dayMs = 86_400_000

const spans = [
  { days: 2, anchor: "2026-01-05" },
  { days: 14, anchor: "1969-12-30" },
  { days: 92, anchor: "2099-02-28" },
]

/** Among them: half hours, clocks that skip midnight or repeat it, a place that skipped a whole day. */
const zones = [
  "UTC",
  "Europe/Berlin",
  "Europe/Dublin",
  "America/New_York",
  "America/Havana",
  "America/Asuncion",
  "America/St_Johns",
  "America/Sao_Paulo",
  "Africa/Casablanca",
  "Asia/Kolkata",
  "Asia/Beirut",
  "Asia/Tehran",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Kiritimati",
  "Pacific/Pago_Pago",
  "Antarctica/Troll",
]

const startOf = (zone: string, date: Temporal.PlainDate): number =>
  date.toZonedDateTime(zone).epochMilliseconds

/** The date on the clock, or the one after it where that has begun: once, before the clock went back over midnight. */
const dateAt = (zone: string, ms: number): Temporal.PlainDate => {
  const date = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate()
  const next = date.add({ days: 1 })
  return startOf(zone, next) <= ms ? next : date
}

/** The moments at which the clocks of a zone change in these years. */
const changes = (zone: string, from: string, until: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  let at = Temporal.Instant.from(from).toZonedDateTimeISO(zone)
  for (;;) {
    const next = at.getTimeZoneTransition("next")
    if (next === null || next.epochMilliseconds > Date.parse(until)) return found
    found.push(next.epochMilliseconds)
    at = next
  }
}

const moments = (zone: string, random: Random): ReadonlyArray<number> => [
  ...changes(zone, "2009-01-01T00:00Z", "2030-01-01T00:00Z").flatMap((change) =>
    [-dayMs, -3_600_001, -1, 0, 1, 1_800_000, 3_600_000, dayMs].map((offset) => change + offset),
  ),
  ...Array.from({ length: 200 }, () => random.integer(-20 * 365 * dayMs, 80 * 365 * dayMs)),
]

describe("A zone", () => {
  for (const seed of seeds(1)) {
    const random = new Random(seed)
    for (const name of zones) {
      it(`knows the days of ${name}, in whatever order it is asked; again with LAUREL_TEST_SEED=${seed}`, () => {
        const zone = new Zone(name)
        const asked = moments(name, random)
        // Near each other, then far apart: what it remembers of the last day must not show.
        for (const at of [...asked, ...asked.map(() => random.pick(asked))]) {
          const day = zone.dayAt(at)
          expect(dateOf(day)).toBe(dateAt(name, at).toString())
          const from = zone.startOfDay(day)
          expect(from).toBe(startOf(name, Temporal.PlainDate.from(dateOf(day))))
          expect(zone.dayAt(from)).toBe(day)
          expect(zone.startOfDay(day + 1)).toBeGreaterThan(from)
        }
      })

      it(`has each moment of ${name} in one window of each kind, which follow each other`, () => {
        const zone = zoneOf(name)
        for (const at of moments(name, random)) {
          for (const kind of [...windowKinds, ...spans]) {
            const index = zone.windowAt(kind, at)
            const { endsAt, startsAt } = zone.windowBounds(kind, index)
            expect(zone.windowBounds(kind, index + 1).startsAt).toBe(endsAt)
            expect(zone.windowAt(kind, startsAt)).toBe(index)
            const date = dateAt(name, at)
            const first = Temporal.PlainDate.from(dateOf(firstDayOf(kind, index)))
            if (typeof kind === "object") {
              expect(first.until(date).days).toBeGreaterThanOrEqual(0)
              expect(first.until(date).days).toBeLessThan(kind.days)
              const apart = Temporal.PlainDate.from(kind.anchor).until(first).days
              expect(Math.abs(apart % kind.days)).toBe(0)
            }
            if (kind === "daily") expect(first.equals(date)).toBe(true)
            if (kind === "weekly") {
              expect(first.dayOfWeek).toBe(1)
              expect([first.yearOfWeek, first.weekOfYear]).toEqual([
                date.yearOfWeek,
                date.weekOfYear,
              ])
            }
            if (kind === "monthly") {
              expect([first.year, first.month, first.day]).toEqual([date.year, date.month, 1])
            }
          }
        }
      })
    }
  }

  it("ends a day once: in St. John's, clocks went back at a minute past midnight", () => {
    const zone = new Zone("America/St_Johns")
    const midnight = Date.parse("2009-11-01T00:00:00-02:30")
    const days = [-1, 0, 59_999, 60_000, 3_600_000].map((after) => zone.dayAt(midnight + after))
    expect(days.map(dateOf)).toEqual(["2009-10-31", ...Array(4).fill("2009-11-01")])
  })

  it("gives a day that a place skipped no moment: Apia had no 30 December 2011", () => {
    const zone = new Zone("Pacific/Apia")
    const skipped = dayOf("2011-12-30")!
    const change = Date.parse("2011-12-30T10:00:00Z")
    expect(dateOf(zone.dayAt(change - 1))).toBe("2011-12-29")
    expect(dateOf(zone.dayAt(change))).toBe("2011-12-31")
    expect(zone.startOfDay(skipped)).toBe(change)
    expect(zone.startOfDay(skipped + 1)).toBe(change)
  })
})

describe("Local days and windows", () => {
  it("are counted from 1970-01-01, a Thursday, also backwards", () => {
    expect(dayOf("1970-01-01")).toBe(0)
    expect(dayOf("1969-12-31")).toBe(-1)
    expect(windowOfDay("weekly", 0)).toBe(0)
    expect(windowOfDay("weekly", 3)).toBe(0)
    expect(windowOfDay("weekly", 4)).toBe(1)
    expect(windowOfDay("weekly", -4)).toBe(-1)
    expect(windowOfDay("monthly", 30)).toBe(0)
    expect(windowOfDay("monthly", 31)).toBe(1)
    expect(windowOfDay("monthly", -1)).toBe(-1)
  })

  it("have dates that exist, in one spelling", () => {
    for (const date of ["2024-02-29", "2026-11-01", "0001-01-01"])
      expect(dateOf(dayOf(date)!)).toBe(date)
    for (const text of ["2026-02-29", "2026-13-01", "2026-1-1", "20261101", "", "2026-11-01T00:00"])
      expect(dayOf(text)).toBeUndefined()
  })
})

describe("A time zone", () => {
  it("is one that the IANA database has, not an offset", () => {
    for (const name of zones) expect(isTimeZone(name)).toBe(true)
    for (const name of ["", "Mars/Olympus", "+02:00", "-0500", "Europe/Berlin ", "Europe"])
      expect(isTimeZone(name)).toBe(false)
  })
})
