import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { MetricState } from "../../../src/domain/user/MetricState.ts"
import {
  emptyProfile,
  noBoardScores,
  noWindows,
  type UserState,
} from "../../../src/domain/user/User.ts"
import { userForm, userOf } from "../../../src/engine/archive/exports/ExportLines.ts"
import { Names } from "../../../src/engine/records/Names.ts"
import { BadState, decodeUser, encodeUser } from "../../../src/engine/records/UserCodec.ts"
import { attributeOf, sequenceOf, UserHead } from "../../../src/engine/records/UserHead.ts"
import { limits } from "../../../src/Limits.ts"
import { DomainRun } from "../../simulation/DomainRun.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { plainUser as plain } from "./users.ts"

const scores = (index: number, before: boolean) => ({
  index,
  xp: 5,
  sequence: 9,
  indexBefore: before ? index - 2 : 0,
  xpBefore: before ? 3 : 0,
  sequenceBefore: before ? 4 : 0,
})

const countedMetrics = new Map<string, MetricState>([
  ["mtr_1", { day: 20_000, values: [7, 3, null, 0, -2, null, 2 ** 53 - 1] }],
  [
    "mtr_2",
    {
      day: -3,
      values: [1, 1, null, 1, null, 1, null],
      times: [-9, 8, null, 9, null, 10, null],
    },
  ],
  [
    "mtr_3",
    {
      day: 20_003,
      values: [],
      days: [
        [-5, -5],
        [20_000, 20_003],
      ],
    },
  ],
  ["mtr_4", { day: 2, values: [], days: [], forgotten: { days: 3, through: 2 } }],
])

const rich: UserState = {
  ...plain,
  boards: new Map([
    ["ldb_xp", { ...noBoardScores, disqualified: true }],
    [
      "ldb_1",
      {
        counted: 9,
        missed: 2,
        sequence: 5,
        windows: { ...noWindows, weekly: scores(7, true), days: scores(1_400, true) },
        disqualified: true,
      },
    ],
    ["ldb_2", { ...noBoardScores, missed: 3 }],
    [
      "ldb_3",
      {
        counted: 9,
        missed: 0,
        sequence: 5,
        windows: { ...noWindows, daily: scores(7, true) },
        share: { team: 300, total: 4, windows: { ...noWindows, daily: scores(7, true) } },
      },
    ],
    ["ldb_4", { ...noBoardScores, share: { team: 1, total: 0, windows: noWindows } }],
    [
      "ldb_5",
      {
        ...noBoardScores,
        kept: [
          { team: 300, window: "all_time", index: 0 },
          { team: 1, window: "daily", index: 20_000 },
          { team: 1, window: "days", index: -3 },
        ],
      },
    ],
  ]),
  activity: { firstDay: -40, lastWord: 2, words: [1 << 26, 0, 0b101] },
  remindedOn: 20_761,
  reminded: new Map([
    ["qst_1", -4],
    ["__proto__", 20_761],
  ]),
  unanswered: [
    ["user.inactive", 1_793_000_000_000],
    ["currency.expiring", 5],
  ],
  windows: { ...noWindows, daily: scores(20_000, true), weekly: scores(-3, false) },
  profile: {
    displayName: "Ada ÿ 🦊",
    timezone: "Asia/Kathmandu",
    attributes: JSON.parse('{"a":1.5,"b":true,"c":false,"d":"text","__proto__":-2}'),
    hidden: true,
  },
  badges: new Map([
    ["__proto__", [{ tier: "", earnedAt: 5, target: 3 }]],
    ["granted", [{ tier: "", earnedAt: 6 }]],
    [
      "tiered",
      [
        { tier: "gold", earnedAt: 7, target: 9 },
        { tier: "", earnedAt: 8, target: 2 },
        { tier: "constructor", earnedAt: 8 },
      ],
    ],
    ["repeated", [{ tier: "", earnedAt: 5, target: 10, times: 3 }]],
  ]),
  badgesPaid: new Map([
    ["__proto__", 1],
    ["tiered gold", 2],
  ]),
  levelsPaid: new Map([
    ["miles __proto__", 1],
    ["miles gold", 2],
  ]),
  badgeCounts: new Map([["bdg_1", 4.25]]),
  badgeRecounts: new Map([["bdg_1", 17]]),
  quests: new Map([
    [
      "qst_1",
      {
        period: 4,
        steps: JSON.parse('{"constructor":1,"__proto__":2}'),
        startedAt: 7,
        completedAt: 8,
        expired: false,
        times: 2,
      },
    ],
    [
      "qst_2",
      { period: -1, steps: {}, startedAt: null, completedAt: null, expired: true, times: 0 },
    ],
    [
      "qst_3",
      {
        period: 0,
        steps: {},
        startedAt: 7,
        completedAt: 9,
        expired: false,
        times: 1,
        joined: true,
        claim: "open",
      },
    ],
    [
      "qst_4",
      {
        period: 3,
        steps: {},
        startedAt: null,
        completedAt: null,
        expired: false,
        times: 0,
        claim: "paid",
      },
    ],
  ]),
  pastZones: [
    { timezone: null, until: 5 },
    { timezone: "UTC", until: 9 },
  ],
  questsCompleted: 2,
  points: 7,
  pointsSpent: 3,
  balances: new Map([
    ["gems", { amount: 12, spent: 5 }],
    ["hearts", { amount: 1, spent: 0, since: 60_000 }],
    ["quests", { amount: 0, spent: 0 }],
  ]),
  pending: new Map([
    ["gems", [[70_000, 4]]],
    [
      "points",
      [
        [70_000, 1],
        [80_000, 2, 20_770],
      ],
    ],
  ]),
  expiring: new Map([
    ["gems", { open: [[20_760, 20_764, 5]], expired: [] }],
    [
      "points",
      {
        open: [
          [20_770, 20_770, 1],
          [20_800, 20_803, 2],
        ],
        expired: [[20_600, 20_610, 9]],
      },
    ],
  ]),
  goals: new Map([
    [
      "gol_1",
      [
        { period: 20_759, team: 3, amount: 0, since: 8_000, paid: true },
        { period: 20_760, team: 0, amount: 2 ** 40, since: 9_001, paid: false },
        { period: 20_760, team: 4, amount: 5, since: 9_002, paid: true, claim: "kept" },
        { period: 20_760, team: 5, amount: 5, since: 9_003, paid: false, claim: "missed" },
      ],
    ],
  ]),
  leagues: new Map([
    [
      "lga_1",
      {
        division: 2,
        disqualified: true,
        entry: { window: 20_760, cohort: 12, score: 340, sequence: 9_000 },
        waiting: [{ window: 20_761, score: 5, sequence: 9_007 }],
        results: [
          {
            window: 20_758,
            division: 3,
            cohort: 1,
            score: 2,
            rank: 30,
            of: 30,
            outcome: "demoted",
          },
          {
            window: 20_759,
            division: 2,
            cohort: 4,
            score: 0,
            rank: null,
            of: 0,
            outcome: "stayed",
          },
        ],
      },
    ],
    ["lga_2", { division: 0, entry: null, waiting: [], results: [] }],
  ]),
  earnings: new Map([
    ["xp", [[1_998_049, 500]]],
    [
      "gems",
      [
        [1_998_025, 0],
        [1_998_049, 12],
      ],
    ],
  ]),
  streaks: new Map([
    [
      "daily",
      {
        days: [
          [20_000, 20_003],
          [20_005, 20_005],
        ],
        first: 20_000,
        length: 5,
        freezes: 1,
        best: 9,
        forgotten: { first: 19_000, last: 19_008, days: 9, freezes: 0 },
        bestForgotten: 9,
        grants: [
          [20_001, 2],
          [20_004, -1],
        ],
        waiting: 1,
        waitedBefore: 3,
        warned: 20_765,
        owed: [7, 30],
        pauses: [
          [19_990, 19_992],
          [20_004, 20_004],
        ],
        repairs: [
          [19_980, 19_999],
          [19_990, 20_003],
        ],
        fresh: 1,
        seen: [1, 4],
        broken: true,
      },
    ],
    [
      "weekly",
      {
        days: [[-5, -5]],
        first: -5,
        length: 1,
        freezes: 0,
        best: 1,
        broken: false,
        paid: [1, 10_000],
      },
    ],
  ]),
  streakCounts: new Map([
    [
      "weekly",
      [
        { period: -4, counts: { TAP: 1 } },
        { period: 2_900, counts: { SWIPE: 7, TAP: 2 } },
      ],
    ],
  ]),
  metrics: countedMetrics,
  boosts: [
    { key: "double", startsAt: 1_763_000_000_000, endsAt: 1_763_000_060_000 },
    { key: "constructor", startsAt: 0, endsAt: 1 },
  ],
  experiments: new Map([
    ["exp_1", { variant: "control", at: 1_763_000_000_000 }],
    ["exp_2", { variant: "constructor", at: 1, before: 7, mixed: true }],
  ]),
  ruleUses: new Map([
    ["rul_1", { periods: [[3, 1]], lastAt: 8, firstAt: 8 }],
    ["rul_2", { periods: [[0, 0]], lastAt: 8, firstAt: 2, since: 1 }],
  ]),
  rulesReached: new Map([
    ["rul_1", { times: 1, firstDay: 20_784 }],
    ["constructor", { times: 300, firstDay: 0 }],
  ]),
  lastReward: 10,
  lastSpend: 12,
}

const read = (user: UserState, names: Names) =>
  decodeUser(user.id, Buffer.from(encodeUser(user, 0, names)), names)

const headOf = (bytes: Buffer, at: number, end: number): UserHead => {
  const head = new UserHead()
  head.read(bytes, at, end)
  return head
}

describe("A user's state", () => {
  it.each([
    ["with nothing but xp", plain],
    ["with everything", rich],
    ["with a spend and no reward", { ...plain, lastSpend: 2 }],
    ["with a name that UTF-8 cannot hold", nameIs("a\ud800b")],
    ["with a long name", nameIs("ü".repeat(200))],
    ["with a negative zero", { ...plain, badgeCounts: new Map([["b", -0]]) }],
    ["with the largest integers", { ...plain, points: 2 ** 52 - 1, pointsSpent: 2 ** 53 - 1 }],
  ])("%s is read as it was written", (_, user) => {
    expect(read(user, new Names())).toEqual(user)
  })

  it("with everything is read from an export as it was written", () => {
    const form = JSON.parse(JSON.stringify(userForm(rich, 7)))
    expect(Result.getOrThrow(userOf(form))).toEqual({ user: rich, due: 7 })
  })

  it("without profile, windows and badges shares the empty ones", () => {
    const user = read(plain, new Names())
    expect(user.windows).toBe(noWindows)
    expect(user.profile).toBe(emptyProfile)
    expect(user.badges).toBe(user.streaks)
  })

  it("has the numbers for a start at its head, at any offset", () => {
    const names = new Names()
    const bytes = Buffer.concat([Buffer.alloc(3), encodeUser(rich, 0xffff_ffff, names), rest])
    const end = bytes.length - rest.length
    const head = headOf(bytes, 3, end)
    expect(head).toMatchObject({ sequence: 12, due: 0xffff_ffff, hidden: true, windows: 3 })
    expect(head).toMatchObject({ xp: Number.MAX_SAFE_INTEGER, scoreSequence: 11 })
    expect(head.slots.slice(0, 3)).toEqual([0, 1, 2])
    expect(head.indexes.slice(0, 3)).toEqual([20_000, 19_998, -3])
    expect(head.scores.slice(0, 3)).toEqual([5, 3, 5])
    expect(head.sequences.slice(0, 3)).toEqual([9, 4, 9])
    expect(head.displayName).toBe("Ada ÿ 🦊")
    expect(sequenceOf(bytes, 3, end)).toBe(12)
    expect(head).toMatchObject({ createdAt: rich.createdAt, lastEventAt: rich.lastEventAt })
  })

  it("has its attributes as text behind the head, at any offset", () => {
    for (const inline of [false, true]) {
      const names = new Names()
      if (inline) for (let n = 0; n < limits.stateNamesMax; n++) names.numberOf(`name-${n}`)
      const bytes = Buffer.concat([Buffer.alloc(3), encodeUser(rich, 7, names), rest])
      const read = (name: string) => attributeOf(bytes, 3, bytes.length - rest.length, name)
      expect(["a", "b", "c", "d", "__proto__"].map(read)).toEqual([
        "1.5",
        "true",
        "false",
        "text",
        "-2",
      ])
      expect(["e", "Ada ÿ 🦊", "text", ""].map(read)).toEqual(Array(4).fill(undefined))
    }
    const bare = Buffer.from(encodeUser(plain, 7, new Names()))
    expect(attributeOf(bare, 0, bare.length, "a")).toBeUndefined()
  })

  it("leaves nothing of the user before in a head that is read again", () => {
    const names = new Names()
    const head = headOf(
      Buffer.from(encodeUser(rich, 7, names)),
      0,
      encodeUser(rich, 7, names).length,
    )
    const bytes = Buffer.from(encodeUser({ ...plain, xp: 0, scoreSequence: 0 }, 0, names))
    head.read(bytes, 0, bytes.length)
    expect(head).toMatchObject({ xp: 0, scoreSequence: 0, windows: 0, displayName: null, due: 0 })
  })

  it("has names inline once the name table is full", () => {
    const names = new Names()
    for (let n = 0; n < limits.stateNamesMax; n++) names.numberOf(`name ${n}`)
    const bytes = Buffer.from(encodeUser(rich, 0, names))
    expect(names.size).toBe(limits.stateNamesMax + 1)
    expect(decodeUser(rich.id, bytes, names)).toEqual(rich)
    expect(bytes.includes("Asia/Kathmandu")).toBe(true)
  })

  it("is refused with a section or a name that is unknown", () => {
    const names = new Names()
    const bytes = Buffer.from(encodeUser(plain, 0, names))
    expect(() => decodeUser("ada", Buffer.concat([bytes, Buffer.of(99, 2, 0)]), names)).toThrow(
      "section 99 is unknown",
    )
    expect(() => decodeUser("ada", Buffer.concat([bytes, Buffer.of(1, 2, 0)]), names)).toThrow(
      "section 1 follows section 3",
    )
    const other = Buffer.from(encodeUser(rich, 0, names))
    expect(() => decodeUser("ada", other, new Names())).toThrow("there is no name")
  })
})

const rest = Buffer.from("other bytes")

function nameIs(displayName: string): UserState {
  return { ...plain, profile: { ...emptyProfile, displayName } }
}

describe("Generated states", () => {
  for (const seed of seeds(2)) {
    it(`are read as they were written, in one form, and no cut of it is a state; LAUREL_TEST_SEED=${seed}`, () => {
      const names = new Names()
      const run = new DomainRun(seed)
      for (let step = 0; step < 150; step++) {
        run.step(["ada", "bob"])
        for (const user of run.users.values()) if (user !== undefined) checkForm(user, names)
      }
    })

    it(`with a flipped bit are refused or another state; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const names = new Names()
      const bytes = Buffer.from(encodeUser(rich, 9, names))
      let refused = 0
      for (let bit = 0; bit < 8 * bytes.length; bit++) {
        const wrong = Buffer.from(bytes)
        wrong[bit >>> 3]! ^= 1 << (bit & 7)
        for (let more = random.integer(0, 2); more > 0; more--) {
          wrong[random.integer(0, wrong.length - 1)] = random.integer(0, 255)
        }
        refused += isRefused(wrong, names) ? 1 : 0
      }
      expect(refused).toBeGreaterThan(bytes.length)
    })
  }
})

/** Whether the bytes are refused; any other error fails the test. */
const isRefused = (bytes: Buffer, names: Names): boolean => {
  try {
    const user = decodeUser(rich.id, bytes, names)
    expect(read(user, names)).toEqual(user)
    return false
  } catch (error) {
    if (error instanceof BadState) return true
    throw error
  }
}

const checkForm = (user: UserState, names: Names): void => {
  const bytes = Buffer.from(encodeUser(user, 5, names))
  const again = decodeUser(user.id, bytes, names)
  expect(again).toEqual(user)
  expect(Buffer.from(encodeUser(again, 5, names))).toEqual(bytes)
  for (let end = 0; end < bytes.length; end++) {
    // A cut between two sections leaves a state without the later ones, which the length of the
    // entry around it tells.
    expect(isCut(bytes.subarray(0, end), names, user)).toBe(true)
  }
}

const isCut = (bytes: Buffer, names: Names, whole: UserState): boolean => {
  try {
    return !Object.is(decodeUser(whole.id, bytes, names), whole)
  } catch (error) {
    return error instanceof BadState
  }
}
