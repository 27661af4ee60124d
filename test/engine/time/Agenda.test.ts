import { describe, expect, it } from "vitest"
import { Agenda, never } from "../../../src/engine/time/Agenda.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"

const takeAll = (agenda: Agenda, second: number): ReadonlyArray<number> => {
  const taken: Array<number> = []
  while (agenda.nextSecond <= second) taken.push(...agenda.take(second, 3))
  return taken.toSorted((one, other) => one - other)
}

describe("An agenda", () => {
  it("returns members when they are due, in groups, and each once", () => {
    const agenda = new Agenda()
    for (let member = 0; member < 10; member++) agenda.set(member, 100 + (member % 2))
    expect(agenda.nextSecond).toBe(100)
    expect(agenda.take(99, 10)).toEqual([])
    expect(agenda.take(100, 3)).toHaveLength(3)
    expect(takeAll(agenda, 100)).toHaveLength(2)
    expect(takeAll(agenda, 200)).toEqual([1, 3, 5, 7, 9])
    expect(agenda.nextSecond).toBe(Number.POSITIVE_INFINITY)
  })

  it("returns a member whose time moved later only at the new time", () => {
    const agenda = new Agenda()
    agenda.set(1, 100)
    agenda.set(1, 300)
    expect(takeAll(agenda, 299)).toEqual([])
    expect(takeAll(agenda, 300)).toEqual([1])
  })

  it("reports an earlier time once, and forgets members without a due time", () => {
    let sooner = 0
    const agenda = new Agenda(() => sooner++)
    agenda.set(1, 100)
    agenda.set(2, 100)
    agenda.set(3, 200)
    expect(sooner).toBe(1)
    agenda.set(3, 50)
    expect(sooner).toBe(2)
    agenda.set(1, 0)
    agenda.set(3, never)
    expect(takeAll(agenda, 1_000)).toEqual([2])
  })

  it("rechecks all members with a due time, slice by slice", () => {
    const agenda = new Agenda()
    const members = limits.agendaScanMembersMax + 10
    for (let member = 0; member < members; member++)
      agenda.set(member, member % 3 === 0 ? never : 0)
    agenda.set(1, 500)
    agenda.recheck()
    expect(agenda.nextSecond).toBe(0)
    const taken = new Set<number>()
    while (agenda.nextSecond === 0) for (const member of agenda.take(1, 1_000)) taken.add(member)
    expect(taken.size).toBe(Math.ceil(members / 3) + 1)
    expect(taken.has(1)).toBe(true)
    expect(takeAll(agenda, 500)).toEqual([1])
  })

  it.each(seeds(5))("equals a list of due times, seed %i", (seed) => {
    const random = new Random(seed)
    const agenda = new Agenda()
    const due = new Map<number, number>()
    let now = 1
    for (let step = 0; step < 3_000; step++) {
      const member = random.integer(0, 40)
      if (random.chance(0.7)) {
        const second = random.chance(0.1)
          ? 0
          : random.chance(0.1)
            ? never
            : now + random.integer(-3, 60)
        agenda.set(member, Math.max(0, second))
        due.set(member, Math.max(0, second))
      } else {
        now += random.integer(0, 10)
        const expected = [...due].filter(([, second]) => second > 0 && second <= now)
        expect(takeAll(agenda, now)).toEqual(
          expected.map(([member]) => member).toSorted((one, other) => one - other),
        )
        // As the ticker does it.
        for (const [member] of expected) {
          const next = random.chance(0.5) ? 0 : now + random.integer(1, 30)
          agenda.set(member, next)
          due.set(member, next)
        }
      }
    }
  })
})
