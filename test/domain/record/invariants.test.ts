import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { firstVersion } from "../../../src/domain/project/Definition.ts"
import { defaultSettings, emptyProject } from "../../../src/domain/project/Project.ts"
import { applyProject } from "../../../src/domain/record/applyProject.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { Fact, JournalRecord, UserCommand } from "../../../src/domain/record/Record.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { BrokenInvariant } from "../../../src/domain/values/invariants.ts"
import { badgeWith, questWith, ruleWith } from "../definitions.ts"

const reward = { kind: "reward", type: "xp", amount: 1 } as const

const recordOf = (sequence: number, ...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence,
  at: 0,
  subject: { actor: "user", environment: "p:sandbox", userId: "ada" },
  cause: reward,
  facts,
})

const ada = applyUser(undefined, recordOf(5, { kind: "user.created" }))!

describe("A record of a user", () => {
  const xp = (total: number): Fact => ({
    kind: "xp.earned",
    amount: 1,
    total,
    source: "reward",
  })
  const points = (total: number): Fact => ({
    kind: "points.earned",
    amount: 1,
    total,
    source: "reward",
  })

  it("is applied when it comes after the last record of the state", () => {
    expect(applyUser(ada, recordOf(6, xp(1)))).toMatchObject({ sequence: 6, xp: 1 })
  })

  it("is not applied twice, nor after a later record", () => {
    for (const sequence of [5, 4]) {
      expect(() => applyUser(ada, recordOf(sequence, xp(1)))).toThrow(
        new BrokenInvariant(`Record ${sequence} does not come after record 5`),
      )
    }
  })

  it("is not applied to the state of another user", () => {
    const grace = { ...ada, id: "grace" }
    expect(() => applyUser(grace, recordOf(6, xp(1)))).toThrow(
      new BrokenInvariant("Record 6 would be applied to another user"),
    )
  })

  it.each([-1, 0.5, Number.NaN, 2 ** 53])(
    "is not applied when it sets a balance to %d",
    (total) => {
      const broken = (what: string) =>
        new BrokenInvariant(`The balance of ${what} would be ${total}`)
      expect(() => applyUser(ada, recordOf(6, xp(total)))).toThrow(broken("xp"))
      expect(() => applyUser(ada, recordOf(6, points(total)))).toThrow(broken("points"))
    },
  )

  it("is not applied when it refunds more points than the user has spent", () => {
    const refund: Fact = { kind: "points.refunded", amount: 1, total: 1, shortfall: 0 }
    expect(() => applyUser(ada, recordOf(6, refund))).toThrow(
      new BrokenInvariant("The balance of spent points would be -1"),
    )
  })
})

describe("A record of a reward or a spend", () => {
  const granted = (before?: number): Fact => ({
    kind: "reward.granted",
    xp: 0,
    points: 0,
    level: 1,
    ...(before !== undefined && { before }),
  })
  const spent = (before?: number): Fact => ({
    kind: "points.spent",
    amount: 0,
    total: 0,
    ...(before !== undefined && { before }),
  })

  const recordFor = (sequence: number, fact: Fact): JournalRecord => {
    const record = recordOf(sequence, fact)
    return fact.kind === "points.spent"
      ? { ...record, cause: { kind: "spend", amount: 1 } }
      : record
  }

  it("is applied when it names the last record of its kind", () => {
    const facts = [granted(), spent(), granted(6), granted(8), spent(7)]
    let user = ada
    for (const [index, fact] of facts.entries()) user = applyUser(user, recordFor(6 + index, fact))!
    expect(user).toMatchObject({ lastReward: 9, lastSpend: 10 })
  })

  it("is not applied when it names another record, or none", () => {
    const user = { ...ada, lastReward: 3, lastSpend: 4 }
    for (const before of [undefined, 2, 4]) {
      expect(() => applyUser(user, recordOf(6, granted(before)))).toThrow(
        new BrokenInvariant(`Record 6 names ${before ?? 0} as the last reward, not 3`),
      )
    }
    expect(() => applyUser(user, recordFor(6, spent(3)))).toThrow(
      new BrokenInvariant("Record 6 names 3 as the last spend, not 4"),
    )
  })
})

describe("A decision about a user whose balance is broken", () => {
  const decide = (user: Partial<UserState>, command: UserCommand) => () =>
    Result.getOrThrow(decideUser({ ...ada, ...user }, emptyProject, command, 0))

  it("fails before its record is made", () => {
    const grant = (type: "xp" | "points"): UserCommand => ({ kind: "reward", type, amount: 1 })
    expect(decide({ xp: -2 }, grant("xp"))).toThrow(BrokenInvariant)
    expect(decide({ points: 0.5 }, grant("points"))).toThrow(BrokenInvariant)
    expect(decide({ points: 1.5 }, { kind: "spend", amount: 1 })).toThrow(BrokenInvariant)
  })
})

describe("A record of a project", () => {
  const record = (sequence: number, ...facts: ReadonlyArray<Fact>): JournalRecord => ({
    sequence,
    at: 0,
    subject: { actor: "project", environment: "p:sandbox" },
    cause: { kind: "request" },
    facts,
  })
  const closed = (index: number): Fact => ({
    kind: "leaderboard.window_closed",
    window: "daily",
    index,
    startsAt: 0,
    endsAt: 1,
    total: 0,
  })

  it("is not applied twice", () => {
    const state = applyProject(emptyProject, record(1))
    expect(() => applyProject(state, record(1))).toThrow(
      new BrokenInvariant("Record 1 does not come after record 1"),
    )
  })

  it("closes a window once, and no window before the last closed one", () => {
    const state = applyProject(emptyProject, record(1, closed(7), closed(8)))
    expect(state.boardCloses.get("ldb_xp")?.daily).toBe(8)
    for (const index of [8, 7]) {
      expect(() => applyProject(state, record(2, closed(index)))).toThrow(
        new BrokenInvariant(`The ldb_xp daily window ${index} would close after window 8`),
      )
    }
  })

  it("changes a definition, a webhook or the settings to their next version only", () => {
    const webhook = {
      id: "whk_1",
      url: "https://example.com/",
      events: ["*"],
      description: null,
      status: "enabled",
      disabledReason: null,
      disabledAt: null,
      secret: "s1",
      previousSecret: null,
      ...firstVersion(0),
    } as const
    const state = applyProject(
      emptyProject,
      record(
        1,
        { kind: "rule.created", rule: ruleWith({}) },
        { kind: "quest.created", quest: questWith({}) },
        { kind: "badge.created", badge: badgeWith({}) },
        { kind: "webhook.created", webhook },
      ),
    )
    for (const version of [1, 3, 2.5]) {
      const facts: ReadonlyArray<readonly [string, Fact]> = [
        ["rul_1", { kind: "rule.updated", rule: ruleWith({ version }) }],
        ["qst_1", { kind: "quest.updated", quest: questWith({ version }) }],
        ["bdg_1", { kind: "badge.updated", badge: badgeWith({ version, set: "archived" }) }],
        ["whk_1", { kind: "webhook.updated", webhook: { ...webhook, since: 1, version } }],
        ["the settings", { kind: "project.updated", settings: { ...defaultSettings, version } }],
      ]
      for (const [what, fact] of facts) {
        expect(() => applyProject(state, record(2, fact))).toThrow(
          new BrokenInvariant(`Version ${version} of ${what} would follow version 1`),
        )
      }
    }
  })
})
