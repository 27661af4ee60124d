/** Users who were active in a range of days, beside a naive count. */
import { describe, expect, it } from "vitest"
import { type ActiveDays, withDay } from "../../../src/domain/user/ActiveDays.ts"
import { RangeUsers } from "../../../src/domain/user/RangeUsers.ts"
import { Random, seeds } from "../../simulation/random.ts"

const today = 20_784

describe("The users of a range of days", () => {
  for (const seed of seeds(5)) {
    it(`are those with a day in it, each once; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const users = Array.from({ length: 40 }, () =>
        Array.from({ length: random.integer(1, 8) }, () => today - random.integer(0, 400)),
      )
      for (let round = 0; round < 30; round++) {
        const from = today - random.integer(0, 400)
        const to = from + random.integer(0, random.pick([0, 5, 400]))
        const range = new RangeUsers(from, to)
        for (const days of users) {
          const active = days.reduce<ActiveDays | null>(withDay, null)!
          range.add({ ...active, count: active.words.length })
        }
        const isIn = (day: number) => day >= from && day <= to
        expect(range.users).toBe(users.filter((days) => days.some(isIn)).length)
      }
    })
  }
})
