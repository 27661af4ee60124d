/**
 * States of users: one with an event, and one with badges, quests, streaks and limited rules. The
 * reference is JSON of the same state, with its maps as pairs.
 */
import { newcomer, noWindows, type UserState } from "../../src/domain/user/User.ts"
import { Names } from "../../src/engine/records/Names.ts"
import { decodeUser, encodeUser } from "../../src/engine/records/UserCodec.ts"
import { UserStates } from "../../src/engine/users/UserStates.ts"
import { limits } from "../../src/Limits.ts"
import { answer } from "../children.ts"
import { userIdAt } from "../events.ts"
import { median } from "../statistics.ts"

interface KindReport {
  readonly kind: string
  readonly bytes: number
  readonly inline: number
  readonly json: number
  readonly memory: number
  /** The bytes of its id. */
  readonly name: number
  /** µs. */
  readonly encode: number
  readonly decode: number
}

export interface StatesReport {
  readonly kinds: ReadonlyArray<KindReport>
  /** µs, by kind. */
  readonly stringify: Readonly<Record<string, number>>
  readonly parse: Readonly<Record<string, number>>
}

const at = 1_795_000_000_000
const scores = (index: number) => ({
  index,
  xp: 40,
  sequence: 1_234_567,
  indexBefore: index - 1,
  xpBefore: 90,
  sequenceBefore: 1_134_567,
})

const plain: UserState = {
  ...newcomer,
  id: userIdAt(0),
  sequence: 1_234_567,
  xp: 1_250,
  scoreSequence: 1_234_567,
  windows: {
    ...noWindows,
    daily: { ...noWindows.daily, index: 20_776, xp: 10, sequence: 1_234_567 },
    weekly: { ...noWindows.weekly, index: 2_968, xp: 10, sequence: 1_234_567 },
    monthly: { ...noWindows.monthly, index: 682, xp: 10, sequence: 1_234_567 },
  },
  createdAt: at,
  updatedAt: at,
}

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}_0mi8k3f2a4c9${n}`)

const rich: UserState = {
  ...plain,
  points: 320,
  pointsSpent: 80,
  windows: { ...noWindows, daily: scores(20_776), weekly: scores(2_968), monthly: scores(682) },
  profile: {
    displayName: "Ada Lovelace",
    timezone: "Europe/London",
    attributes: { plan: "pro", seats: 5 },
    hidden: false,
  },
  badges: new Map(ids("bdg", 4).map((id) => [id, [{ tier: "", earnedAt: at, target: 10 }]])),
  badgeCounts: new Map(ids("bdg", 6).map((id, n) => [id, 7 * n])),
  quests: new Map(
    ids("qst", 3).map((id, n) => [
      id,
      {
        period: 2_968,
        steps: { lessons: n, minutes: 25 },
        startedAt: at,
        completedAt: n === 0 ? at : null,
        expired: false,
        times: n,
      },
    ]),
  ),
  questsCompleted: 3,
  streaks: new Map([
    [
      "daily",
      {
        days: [
          [20_700, 20_740],
          [20_742, 20_776],
        ],
        first: 20_700,
        length: 76,
        freezes: 1,
        best: 76,
        broken: false,
      },
    ],
  ]),
  ruleUses: new Map(
    ids("rul", 2).map((id) => [id, { periods: [[20_776, 3]], lastAt: at, firstAt: at }]),
  ),
}

const pairs = (_: string, value: unknown) => (value instanceof Map ? [...value] : value)

const microseconds = (times: number, run: () => unknown): number => {
  const rounds = Array.from({ length: 5 }, () => {
    const startedAt = performance.now()
    for (let n = 0; n < times; n++) run()
    return ((performance.now() - startedAt) * 1_000) / times
  })
  return median(rounds)
}

/** A name table that has no room. */
const fullNames = (): Names => {
  const names = new Names()
  for (let n = 0; n < limits.stateNamesMax; n++) names.numberOf(`${n}`)
  return names
}

const reportOf = (kind: string, user: UserState, users: number): KindReport => {
  const names = new Names()
  const bytes = Buffer.from(encodeUser(user, 0, names))
  const counted = { bytes: 0 }
  const states = new UserStates(counted)
  for (let n = 0; n < users; n++) states.put({ ...user, id: userIdAt(n) }, 0)
  return {
    kind,
    bytes: bytes.length,
    inline: encodeUser(user, 0, fullNames()).length,
    json: JSON.stringify(user, pairs).length,
    memory: counted.bytes / users,
    name: user.id.length,
    encode: microseconds(users, () => encodeUser(user, 0, names)),
    decode: microseconds(users, () => decodeUser(user.id, bytes, names)),
  }
}

await answer(async ({ users }: { readonly users: number }): Promise<StatesReport> => {
  const both = [
    ["plain", plain],
    ["rich", rich],
  ] as const
  const ofBoth = (run: (user: UserState) => () => unknown) =>
    Object.fromEntries(both.map(([kind, user]) => [kind, microseconds(users, run(user))]))
  return {
    kinds: both.map(([kind, user]) => reportOf(kind, user, users)),
    stringify: ofBoth((user) => () => JSON.stringify(user, pairs)),
    parse: ofBoth((user) => {
      const text = JSON.stringify(user, pairs)
      return () => JSON.parse(text)
    }),
  }
})
