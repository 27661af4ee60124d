import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { CriterionParts } from "../../../src/domain/decide/BadgeDefinitions.ts"
import type { Badge } from "../../../src/domain/project/Definition.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import type { QuestCounts, Seen } from "../../../src/engine/actor/Counts.ts"
import type { Engine, UserMessage } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { badgeWith, questWith } from "../../domain/definitions.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, reward, sandbox, start, startInMemory } from "../fixture.ts"

/** The counts computed from all users. */
const recount = (users: ReadonlyArray<UserState | undefined>) => {
  const quests = new Map<string, QuestCounts>()
  const badges = new Map<string, number>()
  const hold = (name: string) => badges.set(name, (badges.get(name) ?? 0) + 1)
  // A former id leads to the user who stays.
  const there = new Map(users.flatMap((user) => (user === undefined ? [] : [[user.id, user]])))
    .values()
    .toArray()
  for (const user of there) {
    for (const [questId, { completedAt, expired, startedAt, times }] of user.quests) {
      const midway = startedAt !== null && completedAt === null && !expired
      if (!midway && times === 0) continue
      const { completed, inProgress } = quests.get(questId) ?? { inProgress: 0, completed: 0 }
      quests.set(questId, {
        inProgress: inProgress + Number(midway),
        completed: completed + Number(times > 0),
      })
    }
  }
  for (const user of there) {
    for (const [badgeId, awards] of user.badges) {
      hold(badgeId)
      for (const { tier } of awards) if (tier !== "") hold(`${badgeId} ${tier}`)
    }
  }
  // Nobody buys anything here: `Sales.test.ts` does.
  return { users: there.length, quests, badges, sold: new Map() }
}

/** The paths of metadata as a list of all events tells them. Its metadata has texts one level deep. */
class PathModel {
  readonly #looked: Array<{ action: string; period: number; paths: ReadonlyArray<string> }> = []

  add(action: string, metadata: object, eventId: string): void {
    const { at, sequence } = recordNameOf("evt", eventId)!
    const period = Math.floor(at / limits.pathsPeriodMs)
    const before = this.#looked.filter((one) => one.action === action && one.period === period)
    const isSampled = (Math.imul(sequence, 0x9e3779b1) >>> 0) % limits.pathsSample === 0
    if (before.length >= limits.pathsLookedFirst && !isSampled) return
    this.#looked.push({ action, period, paths: Object.keys(metadata) })
  }

  of(action: string, now: number) {
    const latest = Math.floor(now / limits.pathsPeriodMs) - 1
    const looked = this.#looked.filter((one) => one.action === action && one.period >= latest)
    const events = new Map<string, number>()
    for (const path of looked.flatMap(({ paths }) => paths)) {
      events.set(path, (events.get(path) ?? 0) + 1)
    }
    return { looked: looked.length, events }
  }
}

const createQuest = (quest: Parameters<typeof questWith>[0]) => ({
  kind: "createQuest" as const,
  quest: questWith(quest),
})

const createBadge = ({
  criteria,
  ...badge
}: Partial<Omit<Badge, "criteria">> & { readonly criteria?: CriterionParts }) => ({
  kind: "createBadge" as const,
  badge: { ...badgeWith(badge), ...(criteria !== undefined && { criteria }) },
})

const nothing = { xp: 0, points: 0, badgeId: null }

const step = (action: string, target: number) => ({ key: action, action, where: [], target })

const readAll = (engine: Engine["Service"], userIds: ReadonlyArray<string>) =>
  Effect.forEach(userIds, (userId) => engine.readUser(sandbox, userId))

const dayMs = 86_400_000

describe("Counts", () => {
  it.effect("have the number of users, and of users in each quest", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      expect(yield* engine.readCounts(sandbox)).toEqual(recount([]))
      yield* engine.askProject(sandbox, createQuest({ id: "q1", steps: [step("TAP", 2)] }))
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* engine.askUser(sandbox, event("u2", "TAP"))
      yield* engine.askUser(sandbox, event("u3", "TAP"))
      yield* engine.askUser(sandbox, event("u3", "TAP"))
      const quests = new Map([["q1", { inProgress: 1, completed: 1 }]])
      expect(yield* engine.readCounts(sandbox)).toEqual({
        users: 3,
        quests,
        badges: new Map(),
        sold: new Map(),
      })
      expect(yield* engine.readCounts(production)).toEqual(recount([]))
    }),
  )

  it.effect(
    "have the time of an erasure while a token may be valid, through snapshots and crashes",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const options = { snapshotIntervalMs: 3_600_000 }
        const open = Effect.suspend(() => start(MemoryStorage.make({ state }), options))
        const erase = (userId: string) => ({ userId, command: { kind: "erasure" } as const })
        let running = yield* open
        const atOf = (userId: string) => running.engine.erasedAt(sandbox, userId)
        for (const userId of ["u1", "u2", "u3"]) {
          yield* running.engine.askUser(sandbox, reward(userId, 5))
        }
        yield* TestClock.adjust(1_000)
        yield* running.engine.askUser(sandbox, erase("u1"))
        const first = atOf("u1")
        expect(first).toBeGreaterThan(0)
        expect([atOf("u2"), running.engine.erasedAt(production, "u1")]).toEqual([0, 0])
        // One erasure is in a snapshot, the other only in the journal.
        yield* TestClock.adjust(options.snapshotIntervalMs)
        yield* running.engine.askUser(sandbox, erase("u2"))
        const second = atOf("u2")
        yield* running.close("kill")
        running = yield* open
        expect([atOf("u1"), atOf("u2"), atOf("u3")]).toEqual([first, second, 0])
        yield* running.engine.askUser(sandbox, reward("u1", 5))
        expect(atOf("u1")).toBe(first)
        yield* TestClock.adjust(limits.userTokenSecondsMax * 1_000)
        yield* running.engine.askUser(sandbox, reward("u3", 5))
        yield* TestClock.adjust(options.snapshotIntervalMs)
        yield* running.close("kill")
        running = yield* open
        expect([atOf("u1"), atOf("u2")]).toEqual([0, 0])
      }),
  )

  for (const seed of seeds(2)) {
    it.effect(`equal a recount after random commands and crashes; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Infinity }
        const options = {
          snapshotIntervalMs: dayMs / 4,
          snapshotSliceEntriesMax: 3,
          decodedUsersMax: 4,
        }
        const open = Effect.suspend(() => {
          disk.writesLeft = Infinity
          return start(dyingDisk(MemoryStorage.make({ state }), disk), options)
        })
        let running = yield* open
        const quests = [
          createQuest({ id: "once", steps: [step("TAP", 2), step("SWIPE", 1)] }),
          createQuest({ id: "byEvent" }),
          createQuest({ id: "daily", steps: [step("TAP", 3)], recurrence: "daily" }),
          createQuest({ id: "later", steps: [step("SWIPE", 2)], prerequisites: ["once"] }),
          createQuest({ id: "short", steps: [step("TAP", 4)], endsAt: 3 * dayMs }),
          createQuest({ id: "weekly", recurrence: "weekly" }),
        ]
        for (const quest of quests) yield* running.engine.askProject(sandbox, quest)
        const tiers = [1, 3].map((target) => ({
          key: `t${target}`,
          name: "T",
          target,
          icon: null,
          reward: nothing,
        }))
        const tapped = { kind: "action_count", action: "TAP", where: [] } as const
        const badges = [
          createBadge({ id: "taps", criteria: { ...tapped, target: 1 }, tiers }),
          createBadge({ id: "pairs", criteria: { ...tapped, target: 2 }, repeatable: true }),
          createBadge({ id: "hand" }),
          createBadge({ id: "both", criteria: { kind: "badges", badges: ["taps", "hand"] } }),
        ]
        for (const badge of badges) yield* running.engine.askProject(sandbox, badge)
        const userIds = Array.from({ length: 8 }, (_, index) => `u${index}`)
        const given: Array<{ readonly userId: string; readonly eventId: string }> = []
        const actions = new Map<string, Seen>()
        const paths = new PathModel()

        const message = (): UserMessage => {
          const userId = random.pick(userIds)
          const kind = random.next()
          if (kind < 0.2 && given.length > 0) {
            const { eventId, userId } = random.pick(given)
            const name = recordNameOf("evt", eventId)!
            return { userId, command: { kind: "revocation", of: "event", ...name } }
          }
          if (kind < 0.35) return { userId, command: { kind: "tick" } }
          if (kind < 0.4) return { userId, command: { kind: "profile", change: {} } }
          if (kind < 0.43) return { userId, command: { kind: "erasure" } }
          if (kind < 0.46) return { userId, command: { kind: "merge", into: random.pick(userIds) } }
          if (kind < 0.49)
            return { userId, command: { kind: "reward", type: "badge", badgeId: "hand" } }
          if (kind < 0.52) {
            const badges = [
              { badge: "hand", earnedAt: 0 },
              { badge: "taps", tier: "t3", earnedAt: 0 },
              { badge: "taps", tier: "t1", earnedAt: 0 },
            ]
            return { userId, command: { kind: "opening", badges } }
          }
          if (kind < 0.58) {
            const metadata = { questId: random.pick(["byEvent", "weekly"]) }
            return event(userId, "QUEST_COMPLETE", { metadata })
          }
          const names = ["score", "plan", "page"].filter(() => random.chance(0.4))
          const metadata = Object.fromEntries(names.map((name) => [name, "text"]))
          return event(userId, random.pick(["TAP", "SWIPE"]), { metadata })
        }

        const ask = Effect.fnUntraced(function* (times: number) {
          for (let time = 0; time < times; time++) {
            yield* yieldToEventLoop
            const messages = Array.from({ length: random.integer(1, 6) }, message)
            const outcomes = yield* running.engine.askUsers(sandbox, messages)
            for (const [index, outcome] of outcomes.entries()) {
              if ("_tag" in outcome || outcome.kind !== "event") continue
              const { command } = messages[index]!
              const metadata = command.kind === "event" ? command.metadata : undefined
              paths.add(outcome.action, metadata ?? {}, outcome.eventId)
              const { action, eventId, receivedAt, userId } = outcome
              given.push({ userId, eventId })
              const { count, lastAt } = actions.get(action) ?? { count: 0, lastAt: 0 }
              actions.set(action, { count: count + 1, lastAt: Math.max(lastAt, receivedAt) })
            }
          }
        })

        for (let step = 0; step < 200; step++) {
          const kind = random.next()
          if (kind < 0.05) yield* TestClock.adjust(random.integer(0, dayMs))
          else if (kind < 0.15) {
            // The power may fail in the middle of a snapshot, while commands arrive.
            const fails = random.chance(0.5)
            if (fails) disk.writesLeft = random.integer(0, 8)
            yield* Effect.all([TestClock.adjust(options.snapshotIntervalMs), ask(5)], {
              concurrency: "unbounded",
            })
            if (fails || random.chance(0.4)) {
              yield* running.close("kill")
              running = yield* open
            }
          } else yield* ask(1)
          const counts = yield* running.engine.readCounts(sandbox)
          expect(counts).toEqual(recount(yield* readAll(running.engine, userIds)))
          const others = { count: 0, lastAt: 0 }
          expect(yield* running.engine.readActions(sandbox)).toEqual({ actions, others })
          for (const action of actions.keys()) {
            const { looked, more, paths: seen } = yield* running.engine.readPaths(sandbox, action)
            expect(more).toBe(false)
            const events = new Map(seen.map((one) => [one.path, one.events]))
            expect({ looked, events }).toEqual(paths.of(action, running.engine.now()))
          }
        }
        yield* running.close()
      }),
    )
  }
})

/** A disk that, after a number of writes, takes no more of a snapshot, as before a power cut. */
const dyingDisk = (
  storage: Storage["Service"],
  disk: { writesLeft: number },
): Storage["Service"] => ({
  ...storage,
  writeEntries: (entries) =>
    Effect.andThen(
      yieldToEventLoop,
      Effect.suspend(() => (disk.writesLeft-- > 0 ? storage.writeEntries(entries) : Effect.never)),
    ),
})
