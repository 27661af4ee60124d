import { describe, expect, it } from "vitest"
import {
  type ActiveDays,
  activeWordsMax,
  daysOf,
  isActiveOn,
  lastDayOf,
  unitedDays,
  withDay,
  withoutDay,
  wordDays,
} from "../../../src/domain/user/ActiveDays.ts"
import { Random, seeds } from "../../simulation/random.ts"

const today = 20_784

const daysWith = (days: ReadonlyArray<number>): ActiveDays =>
  days.reduce<ActiveDays | null>(withDay, null)!

/** The days that the words must have: at least those of the 400 days before the last day. */
const recent = (days: Iterable<number>): ReadonlyArray<number> => {
  const all = [...new Set(days)].sort((one, other) => one - other)
  return all.filter((day) => day > all.at(-1)! - 400)
}

describe("The active days of a user", () => {
  it("are in one word for one day, whichever it is", () => {
    for (let day = today - wordDays; day <= today; day++) {
      const { words } = daysWith([day])
      expect(words).toHaveLength(1)
      expect(daysOf(daysWith([day]))).toEqual([day])
    }
  })

  it("are the same object after a further event of a day", () => {
    const days = daysWith([today - 1, today])
    expect(withDay(days, today)).toBe(days)
    expect(withDay(days, today - 1)).toBe(days)
  })

  it("have a bounded number of words, and the first day however old it is", () => {
    const days = daysWith(Array.from({ length: 2_000 }, (_, n) => today - 1_999 + n))
    expect(days.words).toHaveLength(activeWordsMax)
    expect(days.firstDay).toBe(today - 1_999)
    expect(daysOf(days).length).toBeGreaterThanOrEqual(400)
    const older = withDay(days, today - 5_000)
    expect(older).toEqual({ ...days, firstDay: today - 5_000 })
    expect([isActiveOn(older, today - 5_000), isActiveOn(older, today - 1_999)]).toEqual([
      true,
      false,
    ])
  })

  for (const seed of seeds(4)) {
    it(`agree with a set of days, in any order and with removals; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      let days: ActiveDays | null = null
      const all = new Set<number>()
      for (let step = 0; step < 600; step++) {
        // All within the words, so that nothing is forgotten: the set is the whole truth.
        const day = today - random.integer(0, 390)
        if (random.integer(0, 2) > 0 || days === null) {
          days = withDay(days, day)
          all.add(day)
        } else if (all.size > 1 && day !== days.firstDay) {
          days = withoutDay(days, day)!
          all.delete(day)
        }
        expect(daysOf(days)).toEqual([...all].sort((one, other) => one - other))
        expect([days.firstDay, lastDayOf(days)]).toEqual([Math.min(...all), Math.max(...all)])
        expect(isActiveOn(days, day)).toBe(all.has(day))
        expect(days.words[0]).not.toBe(0)
        expect(days.words.at(-1)).not.toBe(0)
      }
    })

    it(`are the same in any order, over years; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const list = Array.from({ length: 60 }, () => today - random.integer(0, 1_200))
      const one = daysWith(list)
      expect(daysWith(random.shuffled(list))).toEqual(one)
      const kept = daysOf(one).filter((day) => day > lastDayOf(one) - 400)
      expect(kept).toEqual(recent(list))
      expect(one.firstDay).toBe(Math.min(...list))
    })

    it(`of two users are those of both; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const list = () => Array.from({ length: 20 }, () => today - random.integer(0, 700))
      const [mine, theirs] = [list(), list()]
      const both = daysWith([...mine, ...theirs])
      const united = unitedDays(daysWith(mine), daysWith(theirs))
      const recentOf = (days: ActiveDays) =>
        daysOf(days).filter((day) => day > lastDayOf(both) - 400)
      expect([united.firstDay, lastDayOf(united)]).toEqual([both.firstDay, lastDayOf(both)])
      expect(recentOf(united)).toEqual(recentOf(both))
      expect(unitedDays(null, daysWith(theirs))).toEqual(daysWith(theirs))
    })
  }
})
