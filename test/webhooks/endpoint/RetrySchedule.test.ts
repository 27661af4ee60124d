import { describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import {
  defaultSchedule,
  longestPause,
  nextPause,
  parseSchedule,
  retryAfterOf,
} from "../../../src/webhooks/endpoint/RetrySchedule.ts"

const hour = 3_600_000

describe("The schedule", () => {
  it("tries ten times over three days", () => {
    expect(defaultSchedule.map((ms) => ms / 1_000)).toEqual([
      0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ])
  })

  it("spreads each pause over a fifth more and less", () => {
    const pauses = (random: number) =>
      defaultSchedule.map((_, tries) => nextPause(defaultSchedule, tries, undefined, () => random))
    expect(pauses(0)).toEqual(defaultSchedule.map((ms) => 0.8 * ms))
    expect(pauses(0.5)).toEqual(defaultSchedule)
    expect(pauses(1)).toEqual(defaultSchedule.map((ms) => Math.round(1.2 * ms)))
  })

  it("ends after the last attempt", () => {
    expect(nextPause(defaultSchedule, 10, undefined, Math.random)).toBeUndefined()
    expect(nextPause(defaultSchedule, 10, 5_000, Math.random)).toBeUndefined()
    expect(nextPause([0], 1, undefined, Math.random)).toBeUndefined()
  })

  it("waits as long as the receiver asks, but at least for its own pause", () => {
    const wait = (retryAfter: number) => nextPause([0, 10_000], 1, retryAfter, () => 0.5)
    expect([wait(1_000), wait(60_000)]).toEqual([10_000, 60_000])
    expect(longestPause([0, 10_000])).toBe(limits.webhookRetryAfterMsMax)
    expect(longestPause([0, 50 * hour])).toBe(60 * hour)
  })
})

describe("Retry-After", () => {
  const now = Date.parse("2026-11-01T12:00:00Z")

  it("is seconds or a date", () => {
    expect(retryAfterOf("120", now)).toBe(120_000)
    expect(retryAfterOf(" 7 ", now)).toBe(7_000)
    expect(retryAfterOf("Sun, 01 Nov 2026 12:05:00 GMT", now)).toBe(300_000)
  })

  it("has a bound", () => {
    const most = limits.webhookRetryAfterMsMax
    expect(retryAfterOf(String(most / 1_000), now)).toBe(most)
    expect(retryAfterOf(String(most / 1_000 + 1), now)).toBe(most)
    expect(retryAfterOf("9999999999", now)).toBe(most)
    expect(retryAfterOf("Fri, 01 Nov 2126 12:05:00 GMT", now)).toBe(most)
  })

  it("is ignored when it is malformed or past", () => {
    for (const value of [
      undefined,
      "",
      "0",
      "-5",
      "soon",
      "1.5",
      "1e3",
      "0x10",
      "99999999999",
      "Sun, 01 Nov 2026 11:55:00 GMT",
      "Sunday, 01-Nov-26 12:05:00 GMT",
      "Sun, 99 Nov 2026 12:05:00 GMT",
      "2026-11-01T12:05:00Z",
      "120, 240",
    ]) {
      expect([value, retryAfterOf(value, now)]).toEqual([value, undefined])
    }
  })
})

describe("A schedule as text", () => {
  it("is whole seconds with commas between", () => {
    expect(parseSchedule("0,5, 300")).toEqual([0, 5_000, 300_000])
    expect(parseSchedule("3")).toEqual([3_000])
    for (const wrong of ["", "0,", "a", "-1", "0.5", "0;5", "1e3", "0,,5"]) {
      expect(parseSchedule(wrong)).toBeUndefined()
    }
  })

  it("has a bounded number of bounded pauses", () => {
    const many = Array.from({ length: limits.webhookAttemptsMax }, () => "1")
    expect(parseSchedule(many.join())).toHaveLength(limits.webhookAttemptsMax)
    expect(parseSchedule([...many, "1"].join())).toBeUndefined()
    const most = limits.webhookPauseMsMax / 1_000
    expect(parseSchedule(String(most))).toEqual([limits.webhookPauseMsMax])
    expect(parseSchedule(String(most + 1))).toBeUndefined()
  })
})
