import { describe, expect, it } from "vitest"
import { emptyTotal } from "../../../src/domain/record/foldGoal.ts"
import type { QuestState, UserState } from "../../../src/domain/user/User.ts"
import { newcomer } from "../../../src/domain/user/User.ts"
import { Counts } from "../../../src/engine/actor/Counts.ts"
import { type GoalRow, GoalRows } from "../../../src/engine/actor/GoalRows.ts"
import type { StoredSales } from "../../../src/engine/actor/Sales.ts"
import type { SavedState } from "../../../src/engine/archive/check/SavedState.ts"
import { CountsCheck } from "../../../src/engine/archive/check/UserCheck.ts"

const userIn = (
  quest: Partial<QuestState>,
  badges: UserState["badges"] = new Map(),
  more: Partial<UserState> = {},
) =>
  ({
    ...newcomer,
    ...more,
    badges,
    quests: new Map([
      ["q", { startedAt: 1, completedAt: null, expired: false, times: 0, ...quest }],
    ]),
  }) as unknown as UserState

/** The faults of a snapshot that counts so many users of quest `q` in environment `e`, where `users` are. */
const faultsOf = (
  users: ReadonlyArray<UserState>,
  stored: { readonly inProgress: number; readonly completed: number },
  holders: ReadonlyArray<readonly [name: string, count: number]> = [],
  sales: StoredSales = [],
  goals: ReadonlyArray<GoalRow> = [],
) => {
  const counts = new Counts()
  counts.sales.load(sales)
  const rows = new GoalRows()
  for (const row of goals) rows.total(row)
  counts.users = users.length
  counts.quests.set("q", stored)
  for (const [name, count] of holders) counts.badges.set(name, count)
  const entries = [counts.entry("e"), ...rows.begin("e")].map(({ key, value }) => [key, value])
  const saved = { entries: () => entries } as unknown as SavedState
  const check = new CountsCheck()
  check.load(saved)
  for (const user of users) check.add("e", user)
  const faults: Array<string> = []
  check.end((words) => faults.push(words))
  return faults
}

describe("A check of the counts", () => {
  it("counts as completed who has completed a quest at least once, and in progress who is in it", () => {
    const users = [
      userIn({}),
      userIn({ times: 1, completedAt: 2 }),
      userIn({ times: 1 }),
      userIn({ times: 2, completedAt: 2 }),
      userIn({ expired: true }),
    ]
    expect(faultsOf(users, { inProgress: 2, completed: 3 })).toEqual([])
    expect(faultsOf(users, { inProgress: 3, completed: 2 })).toEqual([
      "e counts 3 users midway in q, there are 2",
      "e counts 2 users who completed q, there are 3",
    ])
  })

  it("counts the holders of a badge, and of each of its tiers", () => {
    const gold = { tier: "gold", earnedAt: 1 }
    const users = [
      userIn({}, new Map([["b", [{ tier: "bronze", earnedAt: 1 }, gold]]])),
      userIn({}, new Map([["b", [{ tier: "bronze", earnedAt: 1 }]]])),
      userIn({}, new Map([["b", [{ tier: "", earnedAt: 1 }]]])),
    ]
    const quests = { inProgress: 3, completed: 0 }
    const right = [
      ["b", 3],
      ["b bronze", 2],
      ["b gold", 1],
    ] as const
    expect(faultsOf(users, quests, right)).toEqual([])
    expect(faultsOf(users, quests, [...right.slice(0, 2), ["gone", 1]])).toEqual([
      "e counts 1 holders of gone, there are 0",
      "e counts 0 holders of b gold, there are 1",
    ])
  })

  it("adds the units that users bought to those of erased users", () => {
    const buyer = (times: number, more: Partial<UserState> = {}) =>
      userIn({}, undefined, { ...more, purchases: new Map([["itm_1", { times, periods: [] }]]) })
    const quests = { inProgress: 2, completed: 0 }
    const faults = (users: ReadonlyArray<UserState>, sales: StoredSales) =>
      faultsOf(users, quests, [], sales)
    expect(faults([buyer(2), buyer(3)], [["itm_1", 9, 4]])).toEqual([])
    expect(faults([buyer(2), buyer(3)], [["itm_1", 9, 3]])).toEqual([
      "e counts 9 sold units of itm_1, there are 8",
    ])
    expect(faults([buyer(2), buyer(0)], [["itm_2", 1, 1]])).toEqual([
      "e counts 0 sold units of itm_1, there are 2",
    ])
    // Midway in a merge: the user who stays may have the units already.
    const merging = buyer(2, { leadsTo: { into: "ada", frozen: 7, done: false, at: 0 } })
    const absorbed = [{ userId: "bob", frozen: 7, merged: 8 }]
    expect(faults([buyer(3), merging], [["itm_1", 5]])).toEqual([])
    expect(faults([buyer(5, { absorbed }), merging], [["itm_1", 5]])).toEqual([])
  })

  it("adds what users contributed to a goal to what is gone from its total", () => {
    const merging = { leadsTo: { into: "ada", frozen: 7, done: false, at: 0 } }
    const user =
      (parts: ReadonlyArray<readonly [period: number, team: number, amount: number]>) =>
      (more: Partial<UserState> = {}) =>
        userIn({}, undefined, {
          ...more,
          goals: new Map([
            [
              "gol_1",
              parts.map(([period, team, amount]) => ({
                period,
                team,
                amount,
                since: 1,
                paid: false,
              })),
            ],
          ]),
        })
    const total = (period: number, sum: number, contributors: number) => ({
      ...emptyTotal(period),
      total: sum,
      contributors,
    })
    const faults = (users: ReadonlyArray<UserState>, goals: ReadonlyArray<GoalRow>) =>
      faultsOf(users, { inProgress: users.length, completed: 0 }, [], [], goals)
    const [ada, bob, none] = [
      user([[3, 0, 10]])(),
      user([
        [2, 0, 99],
        [3, 0, 5],
      ])(),
      user([[3, 0, 0]])(),
    ]
    const gone = { period: 3, total: 4, contributors: 1 }
    const row = { goalId: "gol_1", team: 0 }
    expect(faults([ada, bob, none], [{ ...row, total: total(3, 19, 3), gone }])).toEqual([])
    expect(faults([ada, bob], [{ ...row, total: total(3, 19, 3) }])).toEqual([
      "e counts 19 contributed to gol_1, there are 15",
      "e counts 3 contributors to gol_1, there are 2",
    ])
    // What is gone of an earlier period is over.
    const past = { ...gone, period: 2 }
    expect(faults([ada], [{ ...row, total: total(3, 10, 1), gone: past }])).toEqual([])
    expect(faults([user([[3, 7, 2]])()], [])).toEqual([
      "e counts 0 contributed to gol_1 by team 7, there are 2",
      "e counts 0 contributors to gol_1 by team 7, there are 1",
    ])
    // Midway in a merge: the user who stays may have the contribution already.
    const frozen = user([[3, 0, 10]])(merging)
    const absorbed = [{ userId: "bob", frozen: 7, merged: 8 }]
    expect(faults([ada, frozen], [{ ...row, total: total(3, 20, 2) }])).toEqual([])
    const both = user([[3, 0, 20]])({ absorbed })
    expect(faults([both, frozen], [{ ...row, total: total(3, 20, 1) }])).toEqual([])
  })
})
