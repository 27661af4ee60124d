import { describe, expect, it } from "vitest"
import { zoneOf } from "../../../src/domain/values/Calendar.ts"
import { limitPeriods, periodAt, periodEnd } from "../../../src/domain/values/Periods.ts"

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]

/** Over both changes of the clocks of 2026, and the end of a year. */
const times = ["2026-03-28", "2026-10-24", "2026-12-30"].flatMap((date) =>
  Array.from({ length: 3 * 48 }, (_, half) => Date.parse(date) + half * 1_800_000 + 1),
)

describe("The end of a period", () => {
  it.each(limitPeriods.filter((per) => per !== "ever"))(
    "is the first moment of the next %s, in any time zone",
    (per) => {
      for (const name of zones) {
        const zone = zoneOf(name)
        for (const at of times) {
          const end = periodEnd(per, zone, at)!
          expect(end).toBeGreaterThan(at)
          const present = periodAt(per, zone, at)
          expect([name, at, periodAt(per, zone, end - 1)]).toEqual([name, at, present])
          expect(periodAt(per, zone, end)).toBeGreaterThan(present)
        }
      }
    },
  )

  it("never comes for a period that never resets", () => {
    expect(periodEnd("ever", zoneOf("UTC"), 0)).toBeNull()
  })
})
