import { describe, expect, it } from "@effect/vitest"
import {
  archiveKeptMs,
  expiredArchives,
  type Retention,
  type RetentionCandidate,
} from "../../../src/storage/archive/ArchiveRetention.ts"
import { Random, seeds } from "../../simulation/random.ts"

const hourMs = 3_600_000
const now = Date.UTC(2026, 10, 21, 12)

/** One archive in each of these hours before now, at so many minutes past the hour. */
const hoursAgo = (
  hours: ReadonlyArray<number>,
  more: Partial<RetentionCandidate> = {},
  minutes = 5,
): ReadonlyArray<RetentionCandidate> =>
  hours.map((hour) => ({
    id: `${hour}h${minutes}`,
    at: now - hour * hourMs + minutes * 60_000,
    reason: "schedule",
    good: true,
    ...more,
  }))

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

const kept = (archives: ReadonlyArray<RetentionCandidate>, retention: Retention) => {
  const expired = new Set(expiredArchives(archives, retention))
  return archives.filter(({ id }) => !expired.has(id)).map(({ id }) => id)
}

describe("The retention of archives", () => {
  it("keeps one for each of the last 24 hours and each of the last 7 days", () => {
    const ids = kept(hoursAgo(range(24 * 30)), { hourly: 24, daily: 7 })
    // 21 November, 12 o'clock: the 20th ended with the archive of 23 o'clock, 13 hours ago.
    const days = [37, 61, 85, 109, 133].map((hours) => `${hours}h5`)
    expect(ids).toEqual([...range(24).map((hour) => `${hour}h5`), ...days])
  })

  it("keeps the newest of each hour and lets the others go, oldest first", () => {
    const archives = [
      ...hoursAgo([1], {}, 10),
      ...hoursAgo([1], {}, 50),
      ...hoursAgo([1], {}, 30),
      ...hoursAgo([0], {}, 1),
    ]
    expect(expiredArchives(archives, { hourly: 24, daily: 7 })).toEqual(["1h10", "1h30"])
  })

  it("counts only hours and days that have archives, so that nothing goes while nothing comes", () => {
    const old = hoursAgo(range(24).map((hour) => hour + 24 * 365))
    expect(kept(old, { hourly: 24, daily: 7 })).toEqual(old.map(({ id }) => id))
  })

  it("keeps archives made by hand as long as the oldest daily one", () => {
    const asked = hoursAgo([2, 30, 100, 24 * 8], { reason: "request" }, 20)
    const ids = kept([...hoursAgo(range(24 * 30)), ...asked], { hourly: 3, daily: 7 })
    expect(ids.filter((id) => id.endsWith("h20"))).toEqual(["2h20", "30h20", "100h20"])
  })

  it("always keeps the newest good one, and gives no place to one that is not good", () => {
    const bad = hoursAgo([0, 3], { good: false }, 30)
    const archives = [...hoursAgo([1, 2, 3]), ...bad]
    expect(kept(archives, { hourly: 0, daily: 0 })).toEqual(["1h5", "0h30", "3h30"])
    expect(kept(archives, { hourly: 2, daily: 0 })).toEqual(["1h5", "2h5", "0h30", "3h30"])
    expect(kept(bad, { hourly: 0, daily: 0 })).toEqual(["0h30", "3h30"])
  })

  it("deletes every archive by the age that archiveKeptMs returns", () => {
    const random = new Random(1)
    for (let round = 0; round < 30; round++) {
      const retention = { hourly: random.integer(0, 40), daily: random.integer(0, 4) }
      const intervalMs = random.pick([20 * 60_000, hourMs, 5 * hourMs, 40 * hourMs])
      const most = archiveKeptMs(retention, intervalMs)
      let archives: ReadonlyArray<RetentionCandidate> = []
      for (let at = now; at < now + 2 * most && archives.length < 2_000; at += intervalMs) {
        const reason = random.pick(["schedule", "request"] as const)
        archives = [...archives, { id: `a${at}`, at, reason, good: true }]
        const ids = new Set(kept(archives, retention))
        archives = archives.filter(({ id }) => ids.has(id))
        expect(at - archives[0]!.at).toBeLessThanOrEqual(most)
      }
    }
  })

  for (const seed of seeds(20)) {
    it(`lets nothing go that it kept before, unless something newer came (seed ${seed})`, () => {
      const random = new Random(seed)
      const retention = { hourly: random.integer(0, 5), daily: random.integer(0, 5) }
      let archives: ReadonlyArray<RetentionCandidate> = []
      let at = now
      for (let step = 0; step < 200; step++) {
        at += random.integer(1, 20 * hourMs)
        const reason = random.pick(["schedule", "request"] as const)
        archives = [...archives, { id: `a${step}`, at, reason, good: random.chance(0.9) }]
        const ids = kept(archives, retention)
        archives = archives.filter(({ id }) => ids.includes(id))
        expect(kept(archives, retention)).toEqual(ids)
        const newestGood = archives.findLast(({ good }) => good)
        if (newestGood !== undefined) expect(ids).toContain(newestGood.id)
      }
    })
  }
})
