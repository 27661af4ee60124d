import { describe, expect, it } from "vitest"
import { emptyProfile, noWindows, type UserState } from "../../../src/domain/user/User.ts"
import {
  decodeUser,
  decodeUserHead,
  encodeUser,
  hasWindows,
  StoredNames,
  visitWindows,
} from "../../../src/engine/records/UserCodec.ts"
import { dataViewOf } from "../../../src/storage/Keys.ts"

const plain: UserState = {
  id: "ada",
  sequence: 12,
  xp: Number.MAX_SAFE_INTEGER,
  scoreSequence: 11,
  points: 7,
  pointsSpent: 0,
  windows: noWindows,
  profile: emptyProfile,
  badges: new Map(),
  badgeCounts: new Map(),
  badgeRecounts: new Map(),
  quests: new Map(),
  questsCompleted: 0,
  pastZones: [],
  streaks: new Map(),
  ruleUses: new Map(),
  createdAt: 1,
  updatedAt: 2,
}

const scores = (index: number, before: boolean) => ({
  index,
  xp: 5,
  sequence: 9,
  indexBefore: before ? index - 2 : 0,
  xpBefore: before ? 3 : 0,
  sequenceBefore: before ? 4 : 0,
})

const rich: UserState = {
  ...plain,
  id: "a ÿ 🦊",
  windows: { daily: scores(20_000, true), weekly: scores(-3, false), monthly: noWindows.monthly },
  profile: { displayName: "Ada", timezone: "Asia/Kathmandu", attributes: { a: 1 }, hidden: true },
  badges: new Map([["__proto__", { earnedAt: 5, target: 3 }]]),
  badgeCounts: new Map([["bdg_1", 4]]),
  badgeRecounts: new Map([["bdg_1", 17]]),
  pastZones: [{ timezone: null, until: 5 }],
  questsCompleted: 2,
  ruleUses: new Map([["rul_1", { periods: [[3, 1]], lastAt: 8, firstAt: 6 }]]),
}

describe("A user's value", () => {
  it.each([
    ["with nothing but xp", plain],
    ["with everything", rich],
  ])("%s is read as it was written", (_, user) => {
    expect(decodeUser(encodeUser(user, 0))).toEqual(user)
  })

  it("has the numbers for a start at its head, at any offset", () => {
    const value = Buffer.concat([Buffer.alloc(3), encodeUser(rich, 0xffff_ffff)])
    const view = dataViewOf(value)
    expect(decodeUserHead(view, 3)).toEqual({
      sequence: 12,
      xp: Number.MAX_SAFE_INTEGER,
      scoreSequence: 11,
      due: 0xffff_ffff,
      hidden: true,
    })
    const visited: Array<ReadonlyArray<number>> = []
    visitWindows(view, 3, (...window) => visited.push(window))
    const [dailyLatest, dailyBefore, weeklyLatest] = [0, 1, 2]
    expect(visited).toEqual([
      [dailyLatest, 20_000, 5, 9],
      [dailyBefore, 19_998, 3, 4],
      [weeklyLatest, -3, 5, 9],
    ])
    expect(hasWindows(view, 3)).toBe(true)
  })

  it("without windows has no bytes for them, hidden or not", () => {
    expect(hasWindows(dataViewOf(encodeUser(plain, 0)), 0)).toBe(false)
    const hidden = { ...plain, profile: { ...emptyProfile, hidden: true } }
    expect(hasWindows(dataViewOf(encodeUser(hidden, 0)), 0)).toBe(false)
    expect(decodeUser(encodeUser(plain, 0)).windows).toBe(noWindows)
    expect(decodeUser(encodeUser(plain, 0)).profile).toBe(emptyProfile)
  })

  it("has a display name that is found among consecutive values", () => {
    const named = (displayName: string | null, profile: Partial<UserState["profile"]> = {}) => ({
      ...plain,
      profile: { displayName, timezone: null, attributes: {}, hidden: false, ...profile },
    })
    const users = [
      plain,
      rich,
      named(null, { attributes: { displayName: "an attribute" } }),
      named("ü 🦊"),
      named('"profile":{"displayName":"no'),
      named("ends with a backslash \\"),
      named("line\nbreak and \u0001 and \ud800"),
      { ...named("x"), id: '"profile":{"displayName":"' },
      plain,
      // The members have another order, as in an import.
      { ...plain, profile: { hidden: false, attributes: {}, timezone: null, displayName: "last" } },
      plain,
    ]
    const values = users.map((user) => Buffer.from(encodeUser(user, 0)))
    const names = new StoredNames(Buffer.concat(values))
    let end = 0
    for (const [place, user] of users.entries()) {
      end += values[place]!.length
      expect(names.next(end)).toBe(user.profile.displayName)
    }
    expect(names.next(end)).toBeNull()
  })
})
