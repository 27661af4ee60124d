import { describe, expect, it } from "vitest"
import { emptyProject, type ProjectState } from "../../../src/domain/project/Project.ts"
import type { SegmentCondition } from "../../../src/domain/project/Segment.ts"
import {
  holdsFor,
  isMember,
  Membership,
  type Person,
  percentOf,
} from "../../../src/domain/user/Membership.ts"
import { newcomer, type UserState } from "../../../src/domain/user/User.ts"
import { murmur3 } from "../../../src/domain/values/murmur3.ts"
import {
  badgeWith,
  currencyWith,
  levelWith,
  metricWith,
  segmentWith,
  withFacts,
} from "../definitions.ts"

const day = 86_400_000
const now = Date.parse("2026-11-04T12:00:00Z")

const project: ProjectState = withFacts(emptyProject, [
  { kind: "badge.created", badge: badgeWith({ id: "bdg_first", key: "first" }) },
  {
    kind: "metric.created",
    metric: metricWith({ id: "mtr_km", key: "km", aggregate: "sum", value: "km", decimals: 1 }),
  },
  {
    kind: "metric.created",
    metric: metricWith({ id: "mtr_coldest", key: "coldest", aggregate: "min", value: "c" }),
  },
])

const table = ["bronze", "silver", "gold"].map((key, index) => levelWith(key, 5 * (index + 1)))
const ranked: ProjectState = withFacts(project, [
  { kind: "currency.created", currency: currencyWith({ levels: { of: "balance", table } }) },
])
const withGems = (amount: number, project = ranked): Person => ({
  ...person({ balances: new Map([["gems", { amount, spent: 0 }]]) }),
  project,
})

const person = (user?: Partial<UserState>, userId = "ada"): Person => ({
  userId,
  user: user && { ...newcomer, id: userId, createdAt: now, updatedAt: now, ...user },
  project,
  now,
})

const withAttributes = (attributes: UserState["profile"]["attributes"]): Person =>
  person({ profile: { ...newcomer.profile, attributes } })

describe("A condition of a segment", () => {
  it.each<[SegmentCondition, holds: Partial<UserState>, fails: Partial<UserState> | undefined]>([
    [{ kind: "level", op: "gte", value: 2 }, { xp: 100 }, { xp: 99 }],
    [{ kind: "level", op: "eq", value: 1 }, {}, { xp: 100 }],
    [{ kind: "balance", currency: "xp", op: "gt", value: 9 }, { xp: 10 }, { xp: 9 }],
    [{ kind: "balance", currency: "points", op: "lte", value: 9 }, { points: 9 }, { points: 10 }],
    [
      { kind: "balance", currency: "gems", op: "gte", value: 5 },
      { balances: new Map([["gems", { amount: 5, spent: 0 }]]) },
      { balances: new Map([["gems", { amount: 4, spent: 9 }]]) },
    ],
    [
      { kind: "badge", badge: "first", op: "exists" },
      { badges: new Map([["bdg_first", [{ tier: "", earnedAt: 1 }]]]) },
      { badges: new Map([["first", [{ tier: "", earnedAt: 1 }]]]) },
    ],
    [
      { kind: "badge", badge: "first", op: "exists", value: false },
      {},
      { badges: new Map([["bdg_first", [{ tier: "", earnedAt: 1 }]]]) },
    ],
    [
      { kind: "metric", metric: "km", op: "gte", value: 1.5 },
      { metrics: new Map([["mtr_km", { day: 1, values: [15] }]]) },
      { metrics: new Map([["mtr_km", { day: 1, values: [14] }]]) },
    ],
    [
      { kind: "metric", metric: "coldest", op: "lt", value: -4 },
      { metrics: new Map([["mtr_coldest", { day: 1, values: [-5] }]]) },
      { metrics: new Map([["mtr_coldest", { day: 1, values: [-4] }]]) },
    ],
    // Without an event, no comparison with a minimum holds.
    [
      { kind: "metric", metric: "coldest", op: "gt", value: -9 },
      { metrics: new Map([["mtr_coldest", { day: 1, values: [0] }]]) },
      {},
    ],
    [
      { kind: "account_age_days", op: "gte", value: 3 },
      { createdAt: now - 3 * day },
      { createdAt: now - 3 * day + 1 },
    ],
    [
      { kind: "inactive_days", op: "lt", value: 3 },
      { lastEventAt: now - 3 * day + 1 },
      { lastEventAt: now - 3 * day },
    ],
    // Without an event, no comparison with a number holds.
    [{ kind: "inactive_days", op: "gte", value: 0 }, { lastEventAt: now }, {}],
    [{ kind: "inactive_days", op: "exists", value: false }, {}, { lastEventAt: now }],
  ])("%j holds for %j and not for %j", (condition, holds, fails) => {
    expect(holdsFor(person(holds), condition)).toBe(true)
    expect(holdsFor(person(fails), condition)).toBe(false)
  })

  it("compares the level in a currency by its number or by its key, and 0 is below the first", () => {
    const condition = { kind: "currency_level", currency: "gems", op: "gte" } as const
    for (const value of [2, "silver"]) {
      expect(holdsFor(withGems(10), { ...condition, value })).toBe(true)
      expect(holdsFor(withGems(9), { ...condition, value })).toBe(false)
    }
    const isNone = { ...condition, op: "eq", value: 0 } as const
    expect(holdsFor(withGems(4), isNone)).toBe(true)
    expect(holdsFor({ ...person(), project: ranked }, isNone)).toBe(true)
  })

  it("names a level that an edit moved or removed, and nobody has a level that is gone", () => {
    const edited = (levels: typeof table) =>
      withFacts(ranked, [
        {
          kind: "currency.updated",
          currency: currencyWith({ levels: { of: "balance", table: levels } }),
        },
      ])
    const condition = { kind: "currency_level", currency: "gems", op: "eq", value: "gold" } as const
    expect(holdsFor(withGems(15), condition)).toBe(true)
    expect(holdsFor(withGems(15, edited(table.slice(1))), condition)).toBe(true)
    for (const op of ["eq", "ne", "lt"] as const) {
      expect(holdsFor(withGems(15, edited(table.slice(0, 2))), { ...condition, op })).toBe(false)
    }
    expect(holdsFor(withGems(15, project), { ...condition, value: 1 })).toBe(false)
  })

  it("takes a user without a state as a new one", () => {
    const nobody = person()
    for (const condition of [
      { kind: "level", op: "eq", value: 1 },
      { kind: "balance", currency: "points", op: "eq", value: 0 },
      { kind: "balance", currency: "gems", op: "eq", value: 0 },
      { kind: "streak", streak: "daily", op: "eq", value: 0 },
      { kind: "metric", metric: "km", op: "eq", value: 0 },
      { kind: "metric", metric: "coldest", op: "exists", value: false },
      { kind: "account_age_days", op: "eq", value: 0 },
      { kind: "inactive_days", op: "exists", value: false },
      { kind: "attribute", attribute: "plan", op: "ne", value: "pro" },
      { kind: "badge", badge: "first", op: "exists", value: false },
      { kind: "percent", salt: "s", op: "lt", value: 100 },
    ] as const)
      expect([condition.kind, holdsFor(nobody, condition)]).toEqual([condition.kind, true])
  })

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "length"])(
    "does not take %s for an attribute unless the user has it",
    (attribute) => {
      const condition = { kind: "attribute", attribute, op: "exists" } as const
      expect(holdsFor(withAttributes({}), condition)).toBe(false)
      const own = JSON.parse(`{${JSON.stringify(attribute)}: "x"}`)
      expect(holdsFor(withAttributes(own), condition)).toBe(true)
    },
  )

  it("takes the dots of an attribute's name as they are", () => {
    const condition = { kind: "attribute", attribute: "a.b", op: "eq", value: 1 } as const
    expect(holdsFor(withAttributes({ "a.b": 1 }), condition)).toBe(true)
    expect(holdsFor(withAttributes({ a: 1 }), condition)).toBe(false)
  })
})

describe("A percentage", () => {
  it("is MurmurHash3, as its reference computes it", () => {
    // From the test vectors of https://github.com/aappleby/smhasher and its ports.
    expect(murmur3("")).toBe(0)
    expect(murmur3("test")).toBe(0xba6bd213)
    expect(murmur3("Hello, world!")).toBe(0xc0363e43)
    expect(murmur3("The quick brown fox jumps over the lazy dog")).toBe(0x2e4ff723)
    expect(percentOf("te", "st")).toBe((murmur3("te:st") / 2 ** 32) * 100)
  })

  const share = (salt: string, op: "lt" | "gte", value: number, users = 20_000): number => {
    const condition = { kind: "percent", salt, op, value } as const
    let members = 0
    for (let n = 0; n < users; n++)
      if (holdsFor(person(undefined, `user-${n}`), condition)) members++
    return members / users
  }

  it("of 0 has nobody, and of 100 everybody", () => {
    expect([share("a", "lt", 0), share("a", "lt", 100)]).toEqual([0, 1])
    expect([share("a", "gte", 0), share("a", "gte", 100)]).toEqual([1, 0])
  })

  it("has about its share of users with similar ids, for each salt", () => {
    // Within 5 standard deviations of a fair draw.
    for (const salt of ["a", "b", "new-home", "ü"]) {
      for (const percent of [1, 10, 50, 90]) {
        const p = percent / 100
        const bound = 5 * Math.sqrt((p * (1 - p)) / 20_000)
        expect(Math.abs(share(salt, "lt", percent) - p)).toBeLessThan(bound)
      }
    }
  })

  it("keeps its members as it grows, and is independent of other salts", () => {
    const ids = Array.from({ length: 20_000 }, (_, n) => `user-${n}`)
    const within = (salt: string, percent: number) =>
      ids.filter((id) => percentOf(salt, id) < percent)
    const wider = new Set(within("a", 20))
    expect(within("a", 10).every((id) => wider.has(id))).toBe(true)
    const both = within("b", 50).filter((id) => percentOf("c", id) < 50).length
    expect(Math.abs(both / ids.length - 0.25)).toBeLessThan(5 * Math.sqrt(0.1875 / 20_000))
  })
})

describe("A segment", () => {
  const yes = { kind: "level", op: "eq", value: 1 } as const
  const no = { kind: "level", op: "gt", value: 1 } as const

  it("has the users for whom all or any of its conditions hold", () => {
    const isIn = (match: "all" | "any", ...conditions: ReadonlyArray<SegmentCondition>) =>
      isMember(person({}), { match, conditions })
    expect([isIn("all", yes, yes), isIn("all", yes, no), isIn("all", no, no)]).toEqual([
      true,
      false,
      false,
    ])
    expect([isIn("any", yes, yes), isIn("any", yes, no), isIn("any", no, no)]).toEqual([
      true,
      true,
      false,
    ])
  })

  it("is evaluated once, and only if somebody asks", () => {
    const segments = [
      segmentWith({ id: "seg_yes", conditions: [yes] }),
      segmentWith({ id: "seg_no", conditions: [no, yes] }),
      segmentWith({ id: "seg_gone", conditions: [yes], set: "archived" }),
    ]
    const state = withFacts(
      project,
      segments.map((segment) => ({ kind: "segment.created" as const, segment })),
    )
    const membership = new Membership({ ...person({}), project: state })
    expect([membership.conditions, membership.held]).toEqual([0, undefined])
    expect([membership.has(null), membership.has("no"), membership.held]).toEqual([
      true,
      false,
      undefined,
    ])
    for (const _ of [1, 2]) expect(membership.has("yes")).toBe(true)
    expect([membership.has("gone"), membership.has("missing")]).toEqual([false, false])
    expect([membership.conditions, membership.held]).toEqual([4, ["yes"]])
  })
})
