import assert from "node:assert/strict"
import { describe, it } from "vitest"
import type { Criterion } from "../../src/domain/project/Definition.ts"
import { streakWith } from "../domain/definitions.ts"
import { randomBadge, randomCommand } from "./commands.ts"
import { DomainRun } from "./DomainRun.ts"
import {
  followedReminders,
  historyAddsUp,
  replayEqualsLive,
  undoneToNothing,
} from "./properties.ts"
import { seeds, seedsAfter } from "./random.ts"
import { stateView } from "./views.ts"

const users = ["__proto__", "constructor"]
/** Users who come once there are definitions, which their opening balances name. */
const late = ["toString", "valueOf", "isPrototypeOf", "hasOwnProperty"]

const play = (seed: number, steps: number): DomainRun => {
  const run = new DomainRun(seed)
  let step = 0
  try {
    for (; step < steps; step++) run.step(step < 0.6 * steps ? users : [...users, ...late])
  } catch (error) {
    throw new Error(`In step ${step} of seed ${seed}`, { cause: error })
  }
  return run
}

describe("The domain agrees with the naive model on every reply and every state", () => {
  let repeats = 0
  for (const seed of seedsAfter([1], 3)) {
    it(`in a run of 250 steps, after which all can be undone; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = play(seed, 250)
      repeats += run.repeats
      replayEqualsLive(run)
      historyAddsUp(run)
      followedReminders(run)
      undoneToNothing(run)
      replayEqualsLive(run)
      historyAddsUp(run)
    })
  }
  it("and ids are repeated in one of the runs", () => {
    if (process.env.LAUREL_TEST_SEED === undefined) assert(repeats > 0)
  })
})

describe("Streaks at risk", () => {
  it("are warned of in runs of the domain, once for each period", () => {
    assert(play(2, 250).warnings > 0)
  })
})

describe("Reminders", () => {
  it("of absences, of quests and of amounts that end are sent in runs of the domain, and followed", () => {
    const sent = { absences: 0, quests: 0, amounts: 0, followed: 0 }
    for (const seed of seedsAfter([6, 70, 78], 8)) {
      const run = play(seed, 250)
      sent.absences += run.reminders
      sent.quests += run.questsTold
      sent.amounts += run.amountsTold
      sent.followed += followedReminders(run)
    }
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    assert.deepEqual(
      Object.entries(sent).filter(([, count]) => count === 0),
      [],
    )
  })
})

/** Plays 150 steps with badges that are earned by all badges of a list. */
const playListedBadges = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const open = { set: "published", startsAt: null, endsAt: null, segment: null } as const
  const add = (criteria: Criterion): string => {
    const badge = { ...randomBadge(run), ...open, tiers: [], repeatable: false, criteria }
    run.define({ kind: "badge.created", badge })
    return badge.key
  }
  const list = (...badges: ReadonlyArray<string>) =>
    add({ kind: "badges", target: badges.length, badges })
  const counting = (target: number) =>
    add({ kind: "action_count", target, action: "TAP", where: [] })
  const [one, two, hand] = [counting(1), counting(2), add({ kind: "manual" })]
  const pair = list(one, add({ kind: "xp", target: 20 }))
  list(list(two), pair)
  list(hand, list(one, hand))
  for (let step = 0; step < 150; step++) run.step(users)
  return run
}

describe("Badges by badges agree with the naive model", () => {
  let earnedByBadges = 0
  const count = ({ project, records }: DomainRun) => {
    const isByBadges = (id: string) => project.badges.get(id)?.criteria.kind === "badges"
    for (const fact of records.flatMap(({ facts }) => facts)) {
      if (fact.kind === "badge.earned" && isByBadges(fact.badgeId)) earnedByBadges++
    }
  }
  for (const seed of seedsAfter([1, 2, 3], 2)) {
    it(`in a run of 150 steps, after which all can be undone; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = playListedBadges(seed)
      count(run)
      replayEqualsLive(run)
      historyAddsUp(run)
      undoneToNothing(run)
    })
  }
  it("and are earned in one of the runs", () => {
    if (process.env.LAUREL_TEST_SEED === undefined) assert(earnedByBadges > 0)
  })
})

/** Plays 150 steps with a streak of days that users repair and whose repairs are undone. */
const playRepairs = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const milestones = [2, 3, 5].map((target) => ({
    target,
    reward: { xp: 1, points: target, badgeId: null },
  }))
  const repair = { withinDays: 4, price: run.random.pick([null, { points: 1 }]) }
  const freezes = run.random.pick([
    { initial: 0, max: 0, everyDays: null },
    { initial: 1, max: 2, everyDays: 2 },
  ])
  const streak = streakWith({
    id: "stk_repaired",
    key: "repaired",
    milestones,
    repair,
    freezes,
  })
  run.define({ kind: "streak.created", streak })
  const criteria = { kind: "streak", target: 3, streak: "repaired" } as const
  const open = { set: "published", startsAt: null, endsAt: null, segment: null } as const
  const badge = { ...randomBadge(run), ...open, tiers: [], repeatable: false, criteria }
  run.define({ kind: "badge.created", badge })
  for (let step = 0; step < 150; step++) {
    run.step(users)
    const userId = run.random.pick(users)
    if (run.random.chance(0.3)) {
      run.command(userId, { kind: "spend", currencies: {}, repair: "repaired" })
    }
    const repairs = run.records.filter(
      ({ cause, subject }) =>
        cause.kind === "spend" && subject.actor === "user" && subject.userId === userId,
    )
    if (repairs.length > 0 && run.random.chance(0.1)) {
      const { at, sequence } = run.random.pick(repairs)
      run.command(userId, { kind: "revocation", of: "spend", sequence, at })
    }
  }
  return run
}

describe("Repairs of streaks agree with the naive model", () => {
  const happened = new Set<string>()
  const note = ({ records }: DomainRun) => {
    for (const { facts } of records) for (const { kind } of facts) happened.add(kind)
  }
  for (const seed of seedsAfter([1, 2, 3], 2)) {
    it(`in a run of 150 steps with a streak of days; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = playRepairs(seed)
      note(run)
      replayEqualsLive(run)
      historyAddsUp(run)
      undoneToNothing(run)
    })
  }
  it("and both happen in one of the runs", () => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const kind of ["streak.repaired", "streak.repair_undone"]) assert(happened.has(kind), kind)
  })
})

describe("Users, but for what they buy, are independent of each other", () => {
  for (const seed of seeds(2)) {
    it(`whatever the order of their commands; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      // The same definitions, then the same commands: one user after the other, or interleaved.
      const [turns, oneByOne] = [play(seed, 100), play(seed, 100)]
      const commands = Array.from({ length: 60 }, (_, index) => {
        const userId = users[index % users.length]!
        return { userId, command: randomCommand(turns, userId) }
      }).filter(({ command: { kind } }) => !["revocation", "backfill", "purchase"].includes(kind))
      for (const { command, userId } of commands) turns.command(userId, command)
      for (const userId of users) {
        for (const { command } of commands.filter((one) => one.userId === userId)) {
          oneByOne.command(userId, command)
        }
      }
      for (const userId of users) assert.deepEqual(seen(turns, userId), seen(oneByOne, userId))
    })
  }
})

/** The visible state of a user without sequences. */
const seen = ({ now, project, users }: DomainRun, userId: string) => {
  const user = users.get(userId)
  if (user === undefined) return undefined
  const { boards, lastPurchase: _, windows, xpSince: __, ...rest } = stateView(user, project, now)
  const bareOf = (of: typeof windows) =>
    Object.values(of).map((latest) => latest.map(({ first, xp }) => [first, xp]))
  const scores = Object.values(boards).map((board) => [board.score, bareOf(board.windows)])
  return { ...rest, bare: bareOf(windows), scores }
}
