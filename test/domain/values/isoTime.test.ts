import { describe, expect, it } from "vitest"
import { isoTime, parseIsoTime } from "../../../src/domain/values/isoTime.ts"
import { Random, seeds } from "../../simulation/random.ts"

describe("a time in ISO 8601", () => {
  it.each(seeds(3))("is written as `Date` writes it; LAUREL_TEST_SEED=%d", (seed) => {
    const random = new Random(seed)
    const days = [0, -1, 20_000, 20_059, -719_529, 2_932_896, 2_932_897, 100_000_000, -100_000_000]
    for (let n = 0; n < 5_000; n++) {
      const start = random.pick(days) * 86_400_000
      const step = random.pick([1, 999, 1_000, 59_999, 60_000, 3_600_000, 86_399_999])
      for (const ms of [start, start + step, start - step, start + random.integer(0, 86_399_999)]) {
        if (Math.abs(ms) <= 8.64e15) expect(isoTime(ms)).toBe(new Date(ms).toISOString())
      }
    }
    expect(() => isoTime(Number.NaN)).toThrow(RangeError)
    expect(isoTime(0)).toBe("1970-01-01T00:00:00.000Z")
  })

  it.each([
    ["2026-11-01T09:30:00Z", "2026-11-01T09:30:00.000Z"],
    ["2026-11-01T09:30Z", "2026-11-01T09:30:00.000Z"],
    ["2026-11-01T09:30:00.5Z", "2026-11-01T09:30:00.500Z"],
    ["2026-11-01T09:30:00.123456789Z", "2026-11-01T09:30:00.123Z"],
    ["2026-11-01T00:30:00+05:45", "2026-10-31T18:45:00.000Z"],
    ["2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
  ])("%s is %s", (text, normal) => {
    expect(new Date(parseIsoTime(text)!).toISOString()).toBe(normal)
  })

  it.each([
    "",
    "2026-11-01",
    "2026-11-01T09:30:00",
    "2026-11-01 09:30:00Z",
    "2026-11-01t09:30:00z",
    "2026-11-01T09:30:00.Z",
    "2026-11-01T09:30:00+0100",
    "2026-11-01T24:00:00Z",
    "2026-11-01T09:60:00Z",
    "2026-11-01T09:30:60Z",
    "2026-11-01T09:30:00+24:00",
    "2026-11-01T09:30:00+01:60",
    "2026-00-01T09:30:00Z",
    "2026-13-01T09:30:00Z",
    "2026-11-00T09:30:00Z",
    "2026-11-31T09:30:00Z",
    "2023-02-29T09:30:00Z",
    "1900-02-29T09:30:00Z",
    "2026-11-01T09:30:00Z\n",
    "+002026-11-01T09:30:00Z",
    "1790000000000",
  ])("%j is none", (text) => {
    expect(parseIsoTime(text)).toBeUndefined()
  })
})
