/** What each mechanic did, in an engine: a naive count over all events agrees. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { comparedDays, roundedSeconds } from "../../../src/domain/user/MechanicTally.ts"
import { type QuestState, stepCountOf } from "../../../src/domain/user/User.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { mechanicOf, mechanicsListOf } from "../../../src/http/handlers/mechanicResults.ts"
import { badgeWith, questWith, ruleWith } from "../../domain/definitions.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, sandbox, startInMemory } from "../fixture.ts"

type Engined = Engine["Service"]

const dayMs = 86_400_000
const start = Date.parse("2026-03-01T00:00:00Z")
const target = 3

const define = Effect.fnUntraced(function* (engine: Engined) {
  yield* engine.askProject(sandbox, {
    kind: "createRule",
    rule: ruleWith({ id: "rul_tap", action: "TAP", reward: { xp: 5, points: 1 } }),
  })
  const criteria = { kind: "action_count", action: "TAP", where: [], target } as const
  yield* engine.askProject(sandbox, {
    kind: "createBadge",
    badge: badgeWith({ id: "bdg_taps", criteria }),
  })
  const steps = [
    { key: "tap", action: "TAP", where: [], target: 2 },
    { key: "swipe", action: "SWIPE", where: [], target: 1 },
  ]
  yield* engine.askProject(sandbox, {
    kind: "createQuest",
    quest: questWith({ id: "qst_both", steps, reward: { xp: 7 } }),
  })
})

interface Entry {
  readonly id: string
  readonly at: number
  readonly action: string
  undone: boolean
}

/** A user whom nothing but events describe; `earnedAt`: when the count reached the target. */
class NaiveUser {
  entries: Array<Entry> = []
  createdAt = 0
  earnedAt: number | null = null

  get days(): ReadonlySet<number> {
    return new Set(
      this.entries.filter((one) => !one.undone).map(({ at }) => Math.floor(at / dayMs)),
    )
  }

  count(action: string): number {
    return this.entries.filter((one) => one.action === action && !one.undone).length
  }

  /** After an event or an undo at `at`. */
  settle(at: number): void {
    const has = this.count("TAP") >= target
    if (!has) this.earnedAt = null
    else this.earnedAt ??= at
  }
}

const shareOf = (part: number, whole: number) =>
  whole === 0 ? null : Math.round((10_000 * part) / whole) / 10_000

class Model {
  readonly users = new Map<string, NaiveUser>()
  /** By day: the events that the rule rewarded, and the awards of the badge. */
  readonly rewarded = new Map<number, number>()
  awards = 0

  agrees = Effect.fnUntraced(function* (this: Model, engine: Engined) {
    // Makes what was counted before old.
    yield* TestClock.adjust("10 minutes")
    const now = engine.timeIn(sandbox)
    const users = [...this.users.values()]
    const holders = users.filter(({ earnedAt }) => earnedAt !== null)
    const badge = yield* mechanicOf(engine, sandbox, "badge", "taps", { days: 90 })
    expect(badge).toMatchObject({
      allUsers: users.length,
      users: holders.length,
      completed: holders.length,
      share: shareOf(holders.length, users.length),
      completions: this.awards,
      xp: 0,
    })
    const times = holders
      // A badge of a merged user may be from before the creation of the one who stays.
      .filter(({ createdAt, earnedAt }) => earnedAt! >= createdAt)
      .map(({ createdAt, earnedAt }) => roundedSeconds(earnedAt! - createdAt))
      .sort((one, other) => one - other)
    expect(badge.timeToComplete).toEqual(
      times.length === 0
        ? null
        : {
            users: times.length,
            p10: times[Math.ceil(0.1 * times.length) - 1],
            p25: times[Math.ceil(0.25 * times.length) - 1],
            median: times[Math.ceil(0.5 * times.length) - 1],
            p75: times[Math.ceil(0.75 * times.length) - 1],
            p90: times[Math.ceil(0.9 * times.length) - 1],
          },
    )
    const whole = Math.floor((now - 12 * 3_600_000) / dayMs) - 1
    const compared = (isEarly: boolean) =>
      comparedDays.map((day) => {
        const counted = users.filter(({ days, earnedAt }) => {
          if (days.size === 0) return false
          const first = Math.min(...days)
          const early = earnedAt !== null && Math.floor(earnedAt / dayMs) <= first + 6
          return early === isEarly && first + day <= whole
        })
        const came = counted.filter(({ days }) => days.has(Math.min(...days) + day))
        return {
          day,
          of: counted.length,
          users: came.length,
          share: shareOf(came.length, counted.length),
        }
      })
    expect(badge.firstWeek).toMatchObject({ reached: compared(true), others: compared(false) })
    const { mechanics } = yield* mechanicsListOf(engine, sandbox, { kind: "rule", days: 90 })
    const rewarded = [...this.rewarded.values()].reduce((sum, count) => sum + count, 0)
    const tapped = users.filter((user) => user.count("TAP") > 0)
    expect(mechanics[0]).toMatchObject({
      ...{ completions: rewarded, xp: 5 * rewarded },
      users: tapped.length,
    })
    const rule = yield* mechanicOf(engine, sandbox, "rule", "tap", { days: 90 })
    for (const { completions, date } of rule.days) {
      const day = Date.parse(date) / dayMs
      expect([date, completions]).toEqual([date, this.rewarded.get(day) ?? 0])
    }
    yield* this.questAgrees(engine)
  })

  /** The quest by each user's own progress. */
  questAgrees = Effect.fnUntraced(function* (this: Model, engine: Engined) {
    const states: Array<QuestState> = []
    for (const userId of this.users.keys()) {
      const quest = (yield* engine.readUser(sandbox, userId))?.quests.get("qst_both")
      if (quest?.startedAt != null) states.push(quest)
    }
    const done = states.filter(({ completedAt }) => completedAt !== null)
    const stepped = (key: string, least: number) =>
      states.filter(
        ({ completedAt, steps }) => completedAt !== null || stepCountOf(steps, key) >= least,
      ).length
    const far = (least: number) =>
      states.filter(
        ({ completedAt, steps }) =>
          completedAt !== null ||
          Number(stepCountOf(steps, "tap") >= 2) + Number(stepCountOf(steps, "swipe") >= 1) >=
            least,
      ).length
    const quest = yield* mechanicOf(engine, sandbox, "quest", "both", {})
    expect(quest).toMatchObject({ users: states.length, completed: done.length })
    expect(quest.funnel.map(({ users }) => users)).toEqual([states.length, far(1), far(2)])
    expect(quest.steps).toMatchObject([
      { key: "tap", begun: stepped("tap", 1), finished: stepped("tap", 2) },
      { key: "swipe", begun: stepped("swipe", 1), finished: stepped("swipe", 1) },
    ])
    expect(quest.timeToComplete?.users ?? 0).toBe(done.length)
  })
}

describe("Mechanics", () => {
  for (const seed of seeds(3)) {
    it.effect(
      `agree with a naive count after events, undo, merges, erasures and crashes; LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(start)
          const random = new Random(seed)
          const state = new MemoryStorage.MemoryState()
          let running = yield* startInMemory({ state }, { snapshotIntervalMs: 3_600_000 })
          yield* define(running.engine)
          const model = new Model()
          let made = 0
          for (let step = 0; step < 260; step++) {
            const { engine } = running
            yield* TestClock.adjust(random.integer(1, 12) * 3_600_000)
            const now = engine.timeIn(sandbox)
            const known = [...model.users.keys()]
            const userId = random.pick([...known.slice(-6), ...known, `user${made++}`])
            const user = model.users.get(userId) ?? new NaiveUser()
            const what = random.integer(0, 23)
            const undoable = user.entries.filter(({ undone }) => !undone)
            const had = user.earnedAt !== null
            if (what < 18 || user.entries.length === 0) {
              const action = random.pick(["TAP", "TAP", "SWIPE"])
              const { reply } = yield* engine.askUser(sandbox, event(userId, action))
              const { eventId: id } = reply as { readonly eventId: string }
              if (user.entries.length === 0) user.createdAt = now
              user.entries.push({ id, at: now, action, undone: false })
              user.settle(now)
              model.users.set(userId, user)
              const day = Math.floor(now / dayMs)
              if (action === "TAP") model.rewarded.set(day, (model.rewarded.get(day) ?? 0) + 1)
              if (!had && user.earnedAt !== null) model.awards++
            } else if (what < 21 && undoable.length > 0) {
              const entry = random.pick(undoable)
              const name = recordNameOf("evt", entry.id)!
              const command = { kind: "revocation", of: "event", ...name } as const
              yield* engine.askUser(sandbox, { userId, command })
              entry.undone = true
              user.settle(now)
            } else if (what === 21) {
              yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
              model.users.delete(userId)
            } else if (what === 22 && known.length > 1) {
              const into = random.pick(known.filter((other) => other !== userId))
              yield* engine.askUser(sandbox, { userId, command: { kind: "merge", into } })
              const stays = model.users.get(into)!
              stays.entries.push(...user.entries)
              model.users.delete(userId)
              // Whether a merge awards a badge at once is not what is counted here.
              const awards = (yield* engine.readUser(sandbox, into))!.badges.get("bdg_taps")
              if (awards !== undefined && stays.earnedAt === null && !had) model.awards++
              stays.earnedAt = awards?.[0]?.earnedAt ?? null
            } else if (what === 23) {
              yield* running.close(random.chance(0.5) ? "kill" : undefined)
              running = yield* startInMemory({ state }, { snapshotIntervalMs: 3_600_000 })
            }
            if (step % 50 === 49) yield* model.agrees(running.engine)
          }
          yield* model.agrees(running.engine)
          yield* running.close()
        }),
    )
  }
})
