/**
 * The results of an experiment, and the retention of its variants and of a segment, after random events, late
 * ones, undos, merges, erasures and kills equal a naive count over all events.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { shownRetentionDays } from "../../../src/domain/user/ActivityOfAll.ts"
import { dateOf } from "../../../src/domain/values/Calendar.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { resultsOf } from "../../../src/http/handlers/experimentResults.ts"
import { retentionOf } from "../../../src/http/handlers/retentionResults.ts"
import { segmentWith } from "../../domain/definitions.ts"
import { limitedInFile } from "../../limited.ts"
import { hashOf } from "../../simulation/model/segments.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, sandbox, startInMemory } from "../fixture.ts"

// A read waits for a new result, however slow this machine is.
limitedInFile({ activityWaitMs: 600_000 })

type Engined = Engine["Service"]

const dayMs = 86_400_000
const began = Date.parse("2026-10-05T10:00:00Z")
const variants = ["control", "goal"]
/** As many days begin before the run as an event may be late. */
const cohortDays = 70

/** An event that stands. */
interface Done {
  readonly id: string
  readonly isLesson: boolean
  readonly day: number
}

interface Person {
  readonly done: Array<Done>
  exposure?: { variant: string; at: number; before: number; mixed: boolean }
}

const lessonsOf = ({ done }: Person): number => done.filter(({ isLesson }) => isLesson).length

/** Of two variants of the same weight. */
const drawn = (userId: string): string =>
  hashOf(`exp_goal:${userId}`) < 2n ** 31n ? "control" : "goal"

/** What two people had before their exposures, or have without one. */
const beforeOf = (person: Person): number => person.exposure?.before ?? lessonsOf(person)

class World {
  readonly random: Random
  readonly people = new Map<string, Person>()
  now = began
  isRunning = false
  #ids = 0
  #users = 0

  constructor(seed: number) {
    this.random = new Random(seed)
  }

  anyone(): string | undefined {
    return this.people.size === 0 ? undefined : this.random.pick([...this.people.keys()])
  }

  readonly track = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const { random } = this
    const known = this.anyone()
    const userId = known === undefined || random.chance(0.2) ? `u${this.#users++}` : known
    const isLesson = random.chance(0.6)
    const imported = random.chance(0.15)
    const occurredAt = this.now - (random.chance(0.3) ? random.integer(0, 12) * dayMs : 0)
    const id = `e${this.#ids++}`
    const more = { id, occurredAt, ...(imported && { imported: true as const }) }
    yield* engine.askUser(sandbox, event(userId, isLesson ? "LESSON" : "OPEN", more))
    const person = this.people.get(userId) ?? { done: [] }
    this.people.set(userId, person)
    if (this.isRunning && !imported && person.exposure === undefined) {
      const before = lessonsOf(person)
      person.exposure = { variant: drawn(userId), at: this.now, before, mixed: false }
    }
    person.done.push({ id, isLesson, day: Math.floor(occurredAt / dayMs) })
  })

  readonly undo = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const userId = this.anyone()
    const person = userId === undefined ? undefined : this.people.get(userId)
    if (userId === undefined || person === undefined || person.done.length === 0) return
    const [one] = person.done.splice(this.random.integer(0, person.done.length - 1), 1)
    const name = { ownId: one!.id, sequence: 0, at: 0 }
    const command = { kind: "revocation", of: "event", ...name } as const
    yield* engine.askUser(sandbox, { userId, command })
  })

  readonly merge = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const [from, into] = [this.anyone(), this.anyone()]
    if (from === undefined || into === undefined || from === into) return
    yield* engine.askUser(sandbox, { userId: from, command: { kind: "merge", into } })
    const [gone, stays] = [this.people.get(from)!, this.people.get(into)!]
    const [mine, theirs] = [stays.exposure, gone.exposure]
    if (mine !== undefined || theirs !== undefined) {
      stays.exposure = {
        variant: (mine ?? theirs)!.variant,
        at: Math.min(mine?.at ?? Number.POSITIVE_INFINITY, theirs?.at ?? Number.POSITIVE_INFINITY),
        before: beforeOf(stays) + beforeOf(gone),
        mixed:
          mine?.mixed === true ||
          theirs?.mixed === true ||
          (mine !== undefined && theirs !== undefined && mine.variant !== theirs.variant),
      }
    }
    stays.done.push(...gone.done)
    this.people.delete(from)
  })

  readonly erase = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const userId = this.anyone()
    if (userId === undefined) return
    yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
    this.people.delete(userId)
  })

  /** By variant: how many were exposed, how many count, and the mean; and who is left out. */
  expected(worth: (person: Person) => number | undefined) {
    const exposed = [...this.people.values()].filter(({ exposure }) => exposure !== undefined)
    const rows = variants.map((variant) => {
      const own = exposed.filter(
        ({ exposure }) => exposure!.variant === variant && !exposure!.mixed,
      )
      const values = own.flatMap((person) => worth(person) ?? [])
      const sum = values.reduce((all, one) => all + one, 0)
      const mean = values.length === 0 ? null : Number((sum / values.length).toPrecision(6))
      return [variant, own.length, values.length, mean]
    })
    return [exposed.filter(({ exposure }) => exposure!.mixed).length, ...rows]
  }

  readonly compare = Effect.fnUntraced(function* (this: World, engine: Engined) {
    const experiment = engine.projectNow(sandbox).experiments.get("exp_goal")!
    const read = (query: Parameters<typeof resultsOf>[3]) =>
      Effect.map(resultsOf(engine, sandbox, experiment, query), (results) => [
        results.leftOut,
        ...results.variants!.map(({ exposed, key, users, value }) => [key, exposed, users, value]),
      ])
    const lessons = (person: Person) => Math.max(0, lessonsOf(person) - person.exposure!.before)
    expect(yield* read({ metric: "lessons" })).toEqual(this.expected(lessons))
    const atLeast = this.expected((person) => Number(lessons(person) >= 2))
    expect(yield* read({ metric: "lessons", atLeast: "2" })).toEqual(atLeast)
    const lastWhole = Math.floor((this.now - dayMs / 2) / dayMs) - 1
    for (const days of [1, 7] as const) {
      const returned = this.expected(({ done, exposure }) => {
        const day = Math.floor(exposure!.at / dayMs) + days
        return day > lastWhole ? undefined : Number(done.some((one) => one.day === day))
      })
      expect([days, yield* read({ retention: `D${days}` })]).toEqual([days, returned])
    }
  })

  /** Of the users who began on each day, how many were active on the days after it. */
  cohorts(beganOf: (person: Person) => number | undefined) {
    const today = Math.floor(this.now / dayMs)
    const lastWhole = Math.floor((this.now - dayMs / 2) / dayMs) - 1
    const people = [...this.people.values()].map((person) => ({ person, began: beganOf(person) }))
    return Array.from({ length: cohortDays }, (_, place) => {
      const day = today - cohortDays + 1 + place
      const cohort = people.filter(({ began }) => began === day)
      const days = shownRetentionDays.map((after) => {
        const of = day + after > lastWhole ? 0 : cohort.length
        const active = cohort.filter(({ person }) =>
          person.done.some((one) => one.day === day + after),
        )
        return [after, of, of === 0 ? 0 : active.length]
      })
      return [dateOf(day), cohort.length, ...days]
    })
  }

  readonly compareRetention = Effect.fnUntraced(function* (this: World, engine: Engined) {
    // What was counted before is old.
    this.now += 600_000
    yield* TestClock.setTime(this.now)
    const from = dateOf(Math.floor(this.now / dayMs) - cohortDays + 1)
    const read = (query: Parameters<typeof retentionOf>[2]) =>
      Effect.map(retentionOf(engine, sandbox, { from, ...query }), ({ cohorts }) =>
        cohorts!.map(({ days, from, users }) => [
          from,
          users,
          ...days.map(({ day, of, users }) => [day, of, users]),
        ]),
      )
    for (const variant of variants) {
      const own = this.cohorts(({ exposure }) =>
        exposure?.variant === variant && !exposure.mixed
          ? Math.floor(exposure.at / dayMs)
          : undefined,
      )
      expect(yield* read({ experiment: "goal", variant })).toEqual(own)
    }
    const members = this.cohorts((person) =>
      lessonsOf(person) >= 2 ? Math.min(...person.done.map(({ day }) => day)) : undefined,
    )
    expect(yield* read({ segment: "learners" })).toEqual(members)
  })
}

const define = Effect.fnUntraced(function* (engine: Engined) {
  const experiment = {
    ...{ id: "exp_goal", key: "goal", name: "Goal", metric: "lessons" },
    variants: variants.map((key) => ({ key, weight: 1 })),
  }
  yield* engine.askProject(sandbox, { kind: "createExperiment", experiment })
  const conditions = [{ kind: "metric", metric: "lessons", op: "gte", value: 2 }] as const
  const segment = segmentWith({ id: "seg_learners", key: "learners", conditions })
  yield* engine.askProject(sandbox, { kind: "createSegment", segment })
})

describe("The results of an experiment", () => {
  for (const seed of seeds(5)) {
    it.effect(`equal a naive count after random commands and kills; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(began)
        const world = new World(seed)
        const state = new MemoryStorage.MemoryState()
        let running = yield* startInMemory({ state })
        const none = { where: [], value: null, decimals: 0, unit: null }
        const metric = { id: "mtr_lessons", key: "lessons", name: "Lessons", ...none }
        yield* running.engine.askProject(sandbox, {
          kind: "createMetric",
          metric: { ...metric, aggregate: "count", actions: ["LESSON"] },
        })
        for (let step = 0; step < 150; step++) {
          if (step === 15) {
            yield* define(running.engine)
            world.isRunning = true
          }
          const choice = world.random.next()
          if (choice < 0.7) yield* world.track(running.engine)
          else if (choice < 0.8) yield* world.undo(running.engine)
          else if (choice < 0.84) yield* world.merge(running.engine)
          else if (choice < 0.86) yield* world.erase(running.engine)
          else if (choice < 0.96) {
            world.now += world.random.integer(1, 48) * 3_600_000
            yield* TestClock.setTime(world.now)
          } else {
            yield* running.close("kill")
            running = yield* startInMemory({ state })
          }
          if (world.isRunning && step % 10 === 9) {
            yield* world.compare(running.engine)
            if (step % 30 === 29) yield* world.compareRetention(running.engine)
          }
        }
        yield* world.compare(running.engine)
        yield* world.compareRetention(running.engine)
        yield* running.close("kill")
      }),
    )
  }
})
