import { describe, expect, it } from "vitest"
import { type ActiveDays, withDay } from "../../../src/domain/user/ActiveDays.ts"
import {
  ActivityOfAll,
  retentionDaysMax,
  shownRetentionDays,
} from "../../../src/domain/user/ActivityOfAll.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { type DaysByUser, naiveDay, naiveReturned } from "./naiveActivity.ts"

const today = 20_784

const activityOf = (users: DaysByUser): ActivityOfAll => {
  const all = new ActivityOfAll(today)
  for (const days of users.values()) {
    const { firstDay, lastWord, words } = [...days].reduce<ActiveDays | null>(withDay, null)!
    all.add({ firstDay, lastWord, words, count: words.length })
  }
  return all
}

const agree = (all: ActivityOfAll, users: DaysByUser): void => {
  for (let day = all.from; day <= all.to; day += 7) {
    expect([day, all.on(day)]).toEqual([day, naiveDay(users, day)])
    for (const after of [0, ...shownRetentionDays, retentionDaysMax]) {
      expect(all.returned(day, after)).toBe(naiveReturned(users, day, after))
    }
  }
  for (const day of [all.from, all.to]) expect(all.on(day)).toEqual(naiveDay(users, day))
}

describe("The activity of all users", () => {
  for (const seed of seeds(3)) {
    it(`agrees with a naive count, for rare and for frequent users; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const users = new Map<string, Set<number>>()
      for (let n = 0; n < 120; n++) {
        const began = today - random.integer(0, 460)
        const days = new Set([began])
        const gap = random.pick([1, 2, 8, 40, 200])
        for (let day = began; day <= today; day += random.integer(1, gap)) days.add(day)
        users.set(`u${n}`, days)
      }
      agree(activityOf(users), users)
    })
  }

  it("counts the month of the earliest day whole, and nobody outside of its days", () => {
    const earliest = today - limits.analyticsDaysMax
    const users = new Map([["ada", new Set([earliest - 29, today])]])
    const all = activityOf(users)
    expect(all.on(earliest)).toEqual({ daily: 0, weekly: 0, monthly: 1, fresh: 0 })
    expect(all.on(earliest + 1).monthly).toBe(0)
    expect(all.on(today).daily).toBe(1)
    expect(all.on(today + 1)).toEqual({ daily: 0, weekly: 0, monthly: 0, fresh: 0 })
    expect(all.returned(today, retentionDaysMax + 1)).toBe(0)
  })

  it("has the cohort of a first day before its days in no cohort", () => {
    const all = activityOf(new Map([["ada", new Set([today - 1_000, today - 950, today])]]))
    expect(all.on(today)).toEqual({ daily: 1, weekly: 1, monthly: 1, fresh: 0 })
    expect(all.returned(today, 0)).toBe(0)
  })
})
