import { describe, expect, it } from "vitest"
import {
  boostsAt,
  nextSpells,
  noBoosts,
  RunningBoosts,
  type Spell,
} from "../../../src/domain/project/Boost.ts"
import { zoneOf } from "../../../src/domain/values/Calendar.ts"
import { limits } from "../../../src/Limits.ts"
import { runningThen } from "../../simulation/model/boosts.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { boostWith } from "../definitions.ts"

const product = (amount: number, ...factors: ReadonlyArray<number>): number =>
  new RunningBoosts(
    factors.map((factor, index) => boostWith({ id: `bst_${index}`, factor })),
  ).times("xp", amount)

describe("The product of an amount and factors", () => {
  it("is exact, and is rounded down once", () => {
    expect(product(10, 0.1)).toBe(1)
    expect(product(1_000, 0.1, 0.1, 0.1)).toBe(1)
    expect(product(10, 0.1, 3)).toBe(3)
    expect(product(100, 1.15)).toBe(115)
    expect(product(3, 0.5, 1.5)).toBe(2)
    // Rounded after each factor it would be 1 × 1.5 = 1.
    expect(product(3, 1.5, 0.5)).toBe(2)
    expect(product(2.5, 2)).toBe(5)
    expect(product(1e-9, 10)).toBe(0)
  })

  it("is 0 where it is below 1", () => {
    expect(product(1, 0.99)).toBe(0)
    expect(product(9, 0.1)).toBe(0)
    expect(product(10, 0.1)).toBe(1)
  })

  it("is at most ten times the amount", () => {
    expect(limits.boostProductMax).toBe(10)
    expect(product(7, 5, 2)).toBe(70)
    expect(product(7, 5, 2.01)).toBe(70)
    expect(product(7, 10, 10, 10)).toBe(70)
    expect(product(7, 10, 10, 0.1)).toBe(70)
    expect(product(7, 10, 10, 0.1, 0.1)).toBe(7)
  })

  it("is exact up to the largest safe integer", () => {
    expect(product(Number.MAX_SAFE_INTEGER, 0.1, 10)).toBe(Number.MAX_SAFE_INTEGER)
    expect(product(900_719_925_474_099, 10)).toBe(9_007_199_254_740_990)
    const half = product(Number.MAX_SAFE_INTEGER, 0.5)
    expect(half).toBe((Number.MAX_SAFE_INTEGER - 1) / 2)
  })
})

const at = (time: string): number => Date.parse(time)
const utc = zoneOf("UTC")

const runs = (boost: Parameters<typeof boostWith>[0], time: string, zone = "UTC"): boolean => {
  const made = boostWith({ id: "bst_1", ...boost })
  const { boosts } = boostsAt(new Map([[made.id, made]]), at(time), zoneOf(zone), () => utc)
  return boosts.length > 0
}

const friday: ReadonlyArray<Spell> = [{ days: ["friday"], from: "18:00", to: "20:00" }]

describe("A boost", () => {
  it("runs from its start on and before its end", () => {
    const period = { startsAt: at("2026-11-06T18:00:00Z"), endsAt: at("2026-11-06T20:00:00Z") }
    expect(runs(period, "2026-11-06T17:59:59.999Z")).toBe(false)
    expect(runs(period, "2026-11-06T18:00:00.000Z")).toBe(true)
    expect(runs(period, "2026-11-06T19:59:59.999Z")).toBe(true)
    expect(runs(period, "2026-11-06T20:00:00.000Z")).toBe(false)
  })

  it("runs only while it is published", () => {
    for (const set of ["draft", "paused", "archived"] as const) {
      expect(runs({ set }, "2026-11-06T18:00:00Z")).toBe(false)
    }
    expect(runs({ set: "published" }, "2026-11-06T18:00:00Z")).toBe(true)
  })

  it("runs in the minutes of its spells", () => {
    expect(runs({ weekly: friday }, "2026-11-06T17:59:59.999Z")).toBe(false)
    expect(runs({ weekly: friday }, "2026-11-06T18:00:00Z")).toBe(true)
    expect(runs({ weekly: friday }, "2026-11-06T19:59:59.999Z")).toBe(true)
    expect(runs({ weekly: friday }, "2026-11-06T20:00:00Z")).toBe(false)
    expect(runs({ weekly: friday }, "2026-11-05T19:00:00Z")).toBe(false)
  })

  it("runs over midnight and over the end of the week", () => {
    const night: ReadonlyArray<Spell> = [{ days: ["sunday"], from: "22:00", to: "02:00" }]
    expect(runs({ weekly: night }, "2026-11-08T21:59:59Z")).toBe(false)
    expect(runs({ weekly: night }, "2026-11-08T23:59:59Z")).toBe(true)
    expect(runs({ weekly: night }, "2026-11-09T00:00:00Z")).toBe(true)
    expect(runs({ weekly: night }, "2026-11-09T01:59:59Z")).toBe(true)
    expect(runs({ weekly: night }, "2026-11-09T02:00:00Z")).toBe(false)
    expect(runs({ weekly: night }, "2026-11-08T01:00:00Z")).toBe(false)
  })

  it("runs in both hours that daylight saving repeats, and never in the one that it skips", () => {
    const weekly: ReadonlyArray<Spell> = [{ days: ["sunday"], from: "02:00", to: "03:00" }]
    const inBerlin = (time: string) => runs({ weekly }, time, "Europe/Berlin")
    // On 2026-10-25 the clock of Berlin goes from 03:00 back to 02:00.
    expect(inBerlin("2026-10-24T23:59:59Z")).toBe(false)
    expect(inBerlin("2026-10-25T00:00:00Z")).toBe(true)
    expect(inBerlin("2026-10-25T00:59:59Z")).toBe(true)
    expect(inBerlin("2026-10-25T01:00:00Z")).toBe(true)
    expect(inBerlin("2026-10-25T01:59:59Z")).toBe(true)
    expect(inBerlin("2026-10-25T02:00:00Z")).toBe(false)
    // On 2026-03-29 it goes from 02:00 on to 03:00.
    expect(inBerlin("2026-03-29T00:59:59Z")).toBe(false)
    expect(inBerlin("2026-03-29T01:00:00Z")).toBe(false)
  })

  it("multiplies once where its own spells overlap", () => {
    const weekly: ReadonlyArray<Spell> = [
      ...friday,
      { days: ["friday", "saturday"], from: "19:00", to: "21:00" },
    ]
    const boost = boostWith({ weekly, factor: 2 })
    const all = new Map([[boost.id, boost]])
    const running = boostsAt(all, at("2026-11-06T19:30:00Z"), utc, () => utc)
    expect(running.times("xp", 5)).toBe(10)
    expect(running.appliedTo("xp")).toEqual([{ key: boost.key, factor: 2 }])
  })

  it("multiplies only its currencies", () => {
    const boost = boostWith({ currencies: ["points"], factor: 3 })
    const running = boostsAt(new Map([[boost.id, boost]]), 0, utc, () => utc)
    expect([running.times("xp", 5), running.times("points", 5)]).toEqual([5, 15])
    expect(running.appliedTo("xp")).toBeUndefined()
  })

  it("follows the clock of the project or of the user", () => {
    const [tokyo, berlin] = ["Asia/Tokyo", "Europe/Berlin"].map(zoneOf)
    const [ofProject, ofUser] = (["project", "user"] as const).map((timeZone, index) =>
      boostWith({ id: `bst_${index}`, weekly: friday, timeZone }),
    )
    const all = new Map([ofProject!, ofUser!].map((boost) => [boost.id, boost]))
    const keys = (time: string) =>
      boostsAt(all, at(time), berlin!, () => tokyo!).boosts.map(({ timeZone }) => timeZone)
    expect(keys("2026-11-06T10:00:00Z")).toEqual(["user"])
    expect(keys("2026-11-06T18:00:00Z")).toEqual(["project"])
    expect(keys("2026-11-06T12:00:00Z")).toEqual([])
  })
})

describe("The boosts at a moment", () => {
  it("are none, without a question for the user's zone, where no boost is defined", () => {
    const never = () => {
      throw new Error("asked for the zone of the user")
    }
    expect(boostsAt(new Map(), 0, utc, never)).toBe(noBoosts)
    const boost = boostWith({ set: "paused", timeZone: "user" })
    expect(boostsAt(new Map([[boost.id, boost]]), 0, utc, never)).toBe(noBoosts)
  })

  it("are the same object until something starts or ends", () => {
    const boost = boostWith({ weekly: friday })
    const all = new Map([[boost.id, boost]])
    const of = (time: string) => boostsAt(all, at(time), utc, () => utc)
    const first = of("2026-11-06T18:00:00Z")
    expect(of("2026-11-06T19:59:59Z")).toBe(first)
    // A late event does not displace what the latest events use.
    expect(of("2026-10-30T19:00:00Z")).not.toBe(first)
    expect(of("2026-11-06T19:00:00Z")).toBe(first)
  })

  for (const seed of seeds(2)) {
    it(`are those that a clock on the wall shows, in any order; again with LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const zones = [
        "UTC",
        "Europe/Berlin",
        "America/Havana",
        "Australia/Lord_Howe",
        "Pacific/Apia",
      ]
      const days = ["monday", "wednesday", "saturday", "sunday"] as const
      const times = ["00:00", "01:15", "02:00", "02:30", "03:00", "12:00", "23:45"]
      for (let round = 0; round < 60; round++) {
        const zone = random.pick(zones)
        const begin = at(random.pick(["2026-10-20T00:00:00Z", "2026-03-25T00:00:00Z"]))
        const made = Array.from({ length: random.integer(1, 5) }, (_, index) => {
          const weekly = Array.from({ length: random.integer(0, 3) }, () => {
            const from = random.pick(times)
            const others = [...times.filter((time) => time !== from), "24:00"]
            const chosen = days.filter(() => random.chance(0.5))
            const own = chosen.length > 0 ? chosen : (["sunday"] as const)
            return { days: own, from, to: random.pick(others) }
          })
          const startsAt = random.chance(0.3) ? begin + random.integer(0, 20 * 86_400_000) : null
          return boostWith({ id: `bst_${index}`, weekly, startsAt })
        })
        const all = new Map(made.map((boost) => [boost.id, boost]))
        for (let look = 0; look < 60; look++) {
          const moment = begin + random.integer(0, 25 * 96) * 900_000 - random.integer(0, 1)
          const found = boostsAt(all, moment, zoneOf(zone), () => utc).boosts
          const expected = runningThen(made, { project: zone, user: "UTC" }, moment)
          expect(found).toEqual(expected)
        }
      }
    })
  }
})

describe("The next spells", () => {
  const spells = (boost: Parameters<typeof boostWith>[0], now: string, zone = "UTC") =>
    nextSpells(boostWith(boost), zoneOf(zone), at(now), 3).map(({ endsAt, startsAt }) =>
      [startsAt, endsAt].map((ms) => (Number.isFinite(ms) ? new Date(ms).toISOString() : ms)),
    )

  it("are those of the next weeks, with the present one", () => {
    expect(spells({ weekly: friday }, "2026-11-06T19:00:00Z")).toEqual([
      ["2026-11-06T18:00:00.000Z", "2026-11-06T20:00:00.000Z"],
      ["2026-11-13T18:00:00.000Z", "2026-11-13T20:00:00.000Z"],
      ["2026-11-20T18:00:00.000Z", "2026-11-20T20:00:00.000Z"],
    ])
  })

  it("are whole over the end of the week, and end with the boost", () => {
    const weekly: ReadonlyArray<Spell> = [{ days: ["sunday"], from: "22:00", to: "02:00" }]
    const endsAt = at("2026-11-16T00:30:00Z")
    expect(spells({ weekly, endsAt }, "2026-11-08T12:00:00Z")).toEqual([
      ["2026-11-08T22:00:00.000Z", "2026-11-09T02:00:00.000Z"],
      ["2026-11-15T22:00:00.000Z", "2026-11-16T00:30:00.000Z"],
    ])
    expect(spells({ weekly, endsAt }, "2026-11-16T00:30:00Z")).toEqual([])
  })

  it("have the length that the clocks give them", () => {
    const weekly: ReadonlyArray<Spell> = [{ days: ["sunday"], from: "01:00", to: "04:00" }]
    const [first] = spells({ weekly }, "2026-10-24T12:00:00Z", "Europe/Berlin")
    expect(first).toEqual(["2026-10-24T23:00:00.000Z", "2026-10-25T03:00:00.000Z"])
  })

  it("are one without an end for a boost without spells", () => {
    expect(spells({}, "2026-11-08T12:00:00Z")).toEqual([
      [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
    ])
  })
})
