/**
 * The badges and quests in the recaps of users after random events, undos, merges and kills equal the
 * users' states, and a naive count over all records.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { dateOf } from "../../../src/domain/values/Calendar.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { recapOf } from "../../../src/http/handlers/recapHandlers.ts"
import { badgeWith, questWith, ruleWith } from "../../domain/definitions.ts"
import { event, recordsOf, sandbox, startInMemory } from "../../engine/fixture.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

type Engined = Engine["Service"]

const dayMs = 86_400_000
const began = Date.parse("2026-10-05T10:00:00Z")
const actions = ["TAP", "LESSON", "GRANT"] as const

const define = Effect.fnUntraced(function* (engine: Engined) {
  const counting = (id: string, target: number) =>
    badgeWith({ id, criteria: { kind: "action_count", action: "TAP", where: [], target } })
  const lessons = { key: "lessons", action: "LESSON", where: [], target: 2 }
  yield* engine.askProject(sandbox, { kind: "createBadge", badge: counting("bdg_two", 2) })
  yield* engine.askProject(sandbox, { kind: "createBadge", badge: counting("bdg_three", 3) })
  yield* engine.askProject(sandbox, { kind: "createBadge", badge: badgeWith({ id: "bdg_given" }) })
  const rule = ruleWith({ id: "rul_1", action: "GRANT", reward: { badgeId: "bdg_given" } })
  yield* engine.askProject(sandbox, { kind: "createRule", rule })
  for (const recurrence of ["none", "daily"] as const) {
    const quest = questWith({ id: `qst_${recurrence}`, steps: [lessons], recurrence })
    yield* engine.askProject(sandbox, { kind: "createQuest", quest })
  }
})

/** By user and by quest and period: the completions that stand, by their records. */
type Completions = Map<string, Map<string, Map<number, number>>>

const completionsOf = (records: ReadonlyArray<JournalRecord>): Completions => {
  const all: Completions = new Map()
  for (const { at, cause, facts, sequence, subject } of records) {
    if (subject.actor !== "user" || facts.length === 0) continue
    const own = all.get(subject.userId) ?? new Map<string, Map<number, number>>()
    all.set(subject.userId, own)
    if (cause.kind === "revocation") for (const one of own.values()) one.delete(cause.sequence)
    if (cause.kind === "absorb") {
      for (const [key, theirs] of all.get(cause.from) ?? []) {
        own.set(key, new Map([...(own.get(key) ?? []), ...theirs]))
      }
    }
    for (const fact of facts) {
      if (fact.kind !== "quest.completed") continue
      const key = `${fact.questId}/${fact.period}`
      own.set(key, new Map(own.get(key)).set(sequence, Math.floor(at / dayMs)))
    }
  }
  return all
}

class World {
  readonly random: Random
  readonly users: Array<string> = []
  readonly #ids = new Map<string, Array<string>>()
  now = began
  #made = 0

  constructor(seed: number) {
    this.random = new Random(seed)
  }

  readonly track = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const { random, users } = this
    if (users.length === 0 || random.chance(0.15)) users.push(`u${users.length}_${this.#made}`)
    const userId = random.pick(users)
    const id = `e${this.#made++}`
    yield* engine.askUser(sandbox, event(userId, random.pick(actions), { id }))
    this.#ids.set(userId, [...(this.#ids.get(userId) ?? []), id])
  })

  readonly undo = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const userId = this.users.find((one) => (this.#ids.get(one) ?? []).length > 0)
    if (userId === undefined) return
    const ids = this.#ids.get(userId)!
    const [id] = ids.splice(this.random.integer(0, ids.length - 1), 1)
    const name = { ownId: id!, sequence: 0, at: 0 }
    yield* engine.askUser(sandbox, {
      userId,
      command: { kind: "revocation", of: "event", ...name },
    })
  })

  readonly merge = Effect.fnUntraced(function* (this: World, engine: Engined) {
    if (this.users.length < 2) return
    const from = this.random.pick(this.users)
    const into = this.random.pick(this.users.filter((one) => one !== from))
    if (!(this.#ids.has(from) && this.#ids.has(into))) return
    yield* engine.askUser(sandbox, { userId: from, command: { kind: "merge", into } })
    this.users.splice(this.users.indexOf(from), 1)
    this.#ids.set(into, [...this.#ids.get(into)!, ...this.#ids.get(from)!])
  })

  readonly compare = Effect.fnUntraced(function* (
    this: World,
    engine: Engined,
    records: ReadonlyArray<JournalRecord>,
  ) {
    const completions = completionsOf(records)
    const today = Math.floor(this.now / dayMs)
    const first = today - this.random.integer(0, 20)
    let quests = 0
    for (const userId of this.users) {
      const user = yield* engine.readUser(sandbox, userId)
      if (user === undefined) continue
      for (const from of [today - 300, first]) {
        const recap = yield* recapOf(engine, sandbox, userId, { from: dateOf(from) })
        const held = [...user.badges].flatMap(([id, awards]) =>
          awards.map(({ earnedAt }) => [id, earnedAt] as const),
        )
        const badges = recap.badges.map(({ earnedAt, id }) => [id, Date.parse(earnedAt)])
        const inRange = held.filter(([, at]) => at >= from * dayMs)
        expect([userId, badges.sort()]).toEqual([userId, inRange.sort()])
        const done = [...(completions.get(userId)?.values() ?? [])]
          .map((one) => Math.min(...one.values()))
          .filter((day) => day >= from && day <= today)
        expect([userId, from, recap.totals.quests]).toEqual([userId, from, done.length])
        quests += done.length
      }
    }
    return quests
  })
}

describe("The badges and quests of a recap", () => {
  for (const seed of seeds(3)) {
    it.effect(`equal a naive count after undos, merges and kills; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(began)
        const world = new World(seed)
        const state = new MemoryStorage.MemoryState()
        let running = yield* startInMemory({ state })
        yield* define(running.engine)
        let quests = 0
        for (let step = 0; step < 150; step++) {
          const choice = world.random.next()
          if (choice < 0.66) yield* world.track(running.engine)
          else if (choice < 0.8) yield* world.undo(running.engine)
          else if (choice < 0.88) yield* world.merge(running.engine)
          else if (choice < 0.98) {
            world.now += world.random.integer(1, 30) * 3_600_000
            yield* TestClock.setTime(world.now)
          } else {
            yield* running.close("kill")
            running = yield* startInMemory({ state })
          }
          if (step % 25 === 24) {
            quests += yield* world.compare(running.engine, recordsOf(state))
          }
        }
        expect(quests).toBeGreaterThan(0)
        yield* running.close("kill")
      }),
    )
  }
})
