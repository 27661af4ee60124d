import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { vi } from "vitest"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { type ReplyTo, replyOf } from "../../../src/domain/message/UserReply.ts"
import type { Rule } from "../../../src/domain/project/Definition.ts"
import { emptyProject, type ProjectState } from "../../../src/domain/project/Project.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type {
  Fact,
  GrantedReward,
  JournalRecord,
  TrackedEvent,
  UserCommand,
} from "../../../src/domain/record/Record.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { questWith, ruleWith, withFacts } from "../definitions.ts"
import { decideRecalling } from "../recalled.ts"

const now = Date.parse("2026-11-01T12:00:00Z")

const projectWith = (...facts: ReadonlyArray<Fact>): ProjectState =>
  withFacts(emptyProject, facts, 1, now)

const rule = (action: string, xp: number, set: Rule["set"] = "published"): Fact => ({
  kind: "rule.created",
  rule: ruleWith({ id: `rul_${action}${xp}`, action, reward: { xp }, set }),
})

const quest = (id: string, xp: number, status: "draft" | "active" = "active"): Fact => ({
  kind: "quest.created",
  quest: questWith({
    id,
    title: `Quest ${id}`,
    set: status === "active" ? "published" : status,
    reward: { xp },
  }),
})

const track = (action: string, more: object = {}): TrackedEvent => ({
  kind: "event",
  action,
  ...more,
})

const grant = (amount: number): GrantedReward => ({
  kind: "reward",
  type: "xp",
  amount,
})

/** Decides and applies, as the actor does. */
const run = <Command extends UserCommand>(
  project: ProjectState,
  user: UserState | undefined,
  command: Command,
  sequence = 2,
) => {
  const decision = Result.getOrThrow(decideUser(user, project, command, now))
  const record: JournalRecord = {
    sequence,
    at: now,
    subject: { actor: "user", environment: "p:sandbox", userId: "u1" },
    ...decision,
  }
  return {
    record,
    user: applyUser(user, record)!,
    reply: replyOf(record) as ReplyTo<Command>,
  }
}

const refusal = (project: ProjectState, user: UserState | undefined, command: UserCommand) =>
  Result.getOrThrow(
    Result.flip(
      decideRecalling([], (past) =>
        decideUser(user, project, command, now, undefined, undefined, past),
      ),
    ),
  )

describe("An event", () => {
  it("earns the rewards of all active rules with its action, and creates the user", () => {
    const project = projectWith(
      rule("TAP", 10),
      rule("TAP", 5),
      rule("TAP", 7, "paused"),
      rule("X", 1),
    )
    const { record, reply, user } = run(project, undefined, track("TAP"))
    expect(record.facts.map(({ kind }) => kind)).toEqual([
      "user.created",
      "xp.earned",
      "xp.earned",
      "windows.credited",
      "event.tracked",
    ])
    expect(reply.xp).toEqual({ earned: 15, total: 15 })
    expect(user).toMatchObject({ id: "u1", xp: 15, createdAt: now, scoreSequence: 2 })
  })

  it("without a rule earns nothing and is still recorded", () => {
    const { record, reply } = run(emptyProject, undefined, track("TAP", { metadata: { a: 1 } }))
    expect(reply).toMatchObject({ xp: { earned: 0, total: 0 }, level: { before: 1, after: 1 } })
    expect(record.cause).toMatchObject({ kind: "event", metadata: { a: 1 } })
  })

  it("across several levels records one change of level", () => {
    const { record, reply } = run(projectWith(rule("TAP", 650)), undefined, track("TAP"))
    expect(record.facts).toContainEqual({ kind: "level.changed", from: 1, to: 4 })
    expect(reply.level).toEqual({ before: 1, after: 4 })
  })

  it("may be 30 days old or 5 minutes early, and no more", () => {
    const at = (occurredAt: number) => track("TAP", { occurredAt })
    const [oldest, earliest] = [now - limits.occurredAtPastMs, now + limits.occurredAtFutureMs]
    for (const fine of [oldest, earliest]) {
      expect(run(emptyProject, undefined, at(fine)).reply).toMatchObject({ occurredAt: fine })
    }
    for (const wrong of [oldest - 1, earliest + 1]) {
      expect(refusal(emptyProject, undefined, at(wrong))).toMatchObject({
        code: "invalid_request",
        errors: [{ pointer: "/occurredAt", code: "out_of_range" }],
      })
    }
  })
})

describe("QUEST_COMPLETE", () => {
  const project = projectWith(quest("q1", 50), quest("q2", 20, "draft"), rule("QUEST_COMPLETE", 9))
  const complete = (questId: unknown) => track("QUEST_COMPLETE", { metadata: { questId } })

  it("gives the quest's reward, and no rule's", () => {
    const { reply, user } = run(project, undefined, complete("q1"))
    expect(reply).toMatchObject({
      xp: { earned: 50, total: 50 },
      quests: [{ questId: "q1", title: "Quest q1", alreadyCompleted: false }],
    })
    expect(user.quests.get("q1")).toMatchObject({ completedAt: now, times: 1 })
  })

  it("gives it once", () => {
    const { user } = run(project, undefined, complete("q1"))
    const again = run(project, user, complete("q1"), 3)
    expect(again.reply).toMatchObject({
      xp: { earned: 0, total: 50 },
      quests: [{ questId: "q1", alreadyCompleted: true }],
    })
    expect(again.user).toMatchObject({ xp: 50, scoreSequence: 2, sequence: 3 })
  })

  it("is refused without a quest's id, for an unknown quest and for one that is not active", () => {
    for (const command of [complete(undefined), complete(7), track("QUEST_COMPLETE")]) {
      expect(refusal(project, undefined, command)).toMatchObject({
        code: "invalid_request",
        errors: [{ pointer: "/metadata/questId" }],
      })
    }
    expect(refusal(project, undefined, complete("__proto__")).code).toBe("quest_not_found")
    expect(refusal(project, undefined, complete("q2")).code).toBe("quest_not_active")
  })
})

describe("A reward", () => {
  it("is granted up to the largest balance and refused beyond, changing nothing", () => {
    const near = { ...run(emptyProject, undefined, grant(1)).user, xp: limits.balanceMax - 10 }
    expect(run(emptyProject, near, grant(10), 3).user.xp).toBe(limits.balanceMax)
    expect(refusal(emptyProject, near, grant(11)).code).toBe("balance_overflow")
  })
})

describe("replyOf", () => {
  it("replies the same from a record read back from the journal", () => {
    const { record, reply } = run(projectWith(rule("TAP", 650)), undefined, track("TAP"))
    expect(replyOf(JSON.parse(JSON.stringify(record)))).toEqual(reply)
  })

  it("has no reply to a record of another actor", () => {
    const { record } = run(emptyProject, undefined, grant(1))
    const other = { ...record, subject: { actor: "directory" } } as const
    expect(() => replyOf(other)).toThrow("answers no command")
  })
})

describe("A record with thousands of facts", () => {
  const count = 2_000
  const ids = Array.from({ length: count }, (_, n) => `id${n}`)

  /** How many entries are copied from map to map, and looked at by `filter`, while `work` runs. */
  const copiedDuring = (work: () => void): number => {
    let copied = 0
    class CountedMap<K, V> extends Map<K, V> {
      constructor(entries?: Iterable<readonly [K, V]>) {
        super(entries)
        copied += this.size
      }
    }
    const filter = vi.spyOn(Array.prototype, "filter")
    vi.stubGlobal("Map", CountedMap)
    try {
      work()
    } finally {
      vi.unstubAllGlobals()
      for (const list of filter.mock.contexts) copied += (list as ReadonlyArray<unknown>).length
      filter.mockRestore()
    }
    return copied
  }

  it("copies each part of the state once, and makes its reply in one pass", () => {
    const project = projectWith(
      ...ids.map((id): Fact => {
        const limit = { times: 5, per: "day" } as const
        const reward = { xp: 1 }
        return { kind: "rule.created", rule: ruleWith({ id, action: "A", reward, limit }) }
      }),
      ...ids.map((id): Fact => {
        const steps = [{ key: "s", action: "A", where: [], target: 3 }]
        return { kind: "quest.created", quest: questWith({ id, steps }) }
      }),
    )
    const command = { kind: "event", action: "A" } as const
    let user: UserState | undefined
    for (let sequence = 1; sequence <= 2; sequence++) {
      const { cause, facts } = Result.getOrThrow(decideUser(user, project, command, now))
      const record: JournalRecord = {
        sequence,
        at: now,
        subject: { actor: "user", environment: "p:sandbox", userId: "u1" },
        cause,
        facts,
      }
      const before = user
      const copied = copiedDuring(() => {
        user = applyUser(before, record)
        expect(replyOf(record)).toMatchObject({ quests: { length: count } })
      })
      // Of what was there: the uses of rules, and the quests. Periods of a use are filtered, a few each.
      expect(copied).toBeLessThan(2 * count + 4 * count)
    }
    expect(user?.ruleUses.size).toBe(count)
    expect(user?.quests.size).toBe(count)
  })
})
