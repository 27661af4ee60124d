/** Results of experiments of an engine: an effect by construction, merges, undos and a restart. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Experiment, variantOf } from "../../../src/domain/project/Experiment.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { resultsOf } from "../../../src/http/handlers/experimentResults.ts"
import { limits } from "../../../src/Limits.ts"
import { limitedInFile } from "../../limited.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, sandbox, startInMemory } from "../fixture.ts"

// A read waits for a new result, however slow this machine is.
limitedInFile({ activityWaitMs: 600_000, experimentListWaitMs: 600_000 })

type Engined = Engine["Service"]

const dayMs = 86_400_000
const began = Date.parse("2026-10-05T10:00:00Z")
const variants = [
  { key: "control", weight: 1 },
  { key: "goal", weight: 1 },
]

const defineMetrics = Effect.fnUntraced(function* (engine: Engined) {
  const none = { where: [], value: null, decimals: 0, unit: null }
  for (const key of ["lessons", "other"]) {
    const metric = { id: `mtr_${key}`, key, name: key, aggregate: "count", ...none } as const
    yield* engine.askProject(sandbox, {
      kind: "createMetric",
      metric: { ...metric, actions: ["LESSON"] },
    })
  }
})

const define = Effect.fnUntraced(function* (engine: Engined) {
  const experiment = { id: "exp_goal", key: "goal", name: "Goal", variants, metric: "lessons" }
  yield* engine.askProject(sandbox, { kind: "createExperiment", experiment })
})

const experimentOf = (engine: Engined): Experiment =>
  engine.projectNow(sandbox).experiments.get("exp_goal")!

const read = (engine: Engined, query: Parameters<typeof resultsOf>[3] = {}) =>
  resultsOf(engine, sandbox, experimentOf(engine), query)

/** The users `u0` to `u<n − 1>` of each variant. */
const usersOf = (perVariant: number): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>(variants.map(({ key }) => [key, []]))
  for (let n = 0; [...found.values()].some(({ length }) => length < perVariant); n++) {
    const own = found.get(variantOf({ id: "exp_goal", variants }, `u${n}`))!
    if (own.length < perVariant) own.push(`u${n}`)
  }
  return found
}

const send = (engine: Engined, users: ReadonlyArray<string>, action: string) =>
  engine.tellUsers(
    sandbox,
    users.map((userId) => event(userId, action)),
  )

describe("The last result of an experiment", () => {
  it.effect("is counted at most once a minute, however often it is read, and after an edit", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(began)
      const { engine } = yield* startInMemory()
      yield* defineMetrics(engine)
      yield* define(engine)
      const [user] = usersOf(1).get("control")!
      yield* send(engine, [user!], "OPEN")
      const last = () => engine.readLastResult(sandbox, experimentOf(engine), { retentionDays: 1 })
      const first = yield* last()
      expect(first.result!.of("control").exposed).toBe(1)
      yield* send(engine, usersOf(3).get("control")!, "OPEN")
      yield* TestClock.adjust(limits.segmentCountFreshMs - 1)
      expect((yield* last()).result).toBe(first.result)
      yield* TestClock.adjust(1)
      // It is old: this read begins a new count, and does not wait for it.
      expect(yield* last()).toMatchObject({ result: first.result, counting: true })
      yield* read(engine, { retention: "D1" })
      expect((yield* last()).result!.of("control").exposed).toBe(3)
      const change = { name: "Another name" }
      yield* engine.askProject(sandbox, { kind: "updateExperiment", experimentId: "goal", change })
      const edited = yield* last()
      expect(edited.result!.experiment.name).toBe("Another name")
    }),
  )
})

describe("The results of an experiment", () => {
  it.effect("are those of its construction, also after a restart", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(began)
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      const perVariant = 500
      const users = usersOf(perVariant)
      const all = [...users.values()].flat()
      yield* defineMetrics(first.engine)
      yield* first.engine.tellUsers(
        sandbox,
        all.map((userId) => event(userId, "LESSON", { imported: true })),
      )
      yield* define(first.engine)
      // All enter; half of the control and 55 % of the others come back on day 7 and learn twice.
      yield* send(first.engine, all, "OPEN")
      yield* TestClock.adjust(7 * dayMs)
      const back = [...users.get("control")!.slice(0, 250), ...users.get("goal")!.slice(0, 275)]
      yield* send(first.engine, back, "LESSON")
      yield* send(first.engine, back, "LESSON")
      yield* TestClock.adjust(2 * dayMs)
      yield* first.close("kill")
      const { engine } = yield* startInMemory({ state })
      const retention = yield* read(engine, { retention: "D7" })
      expect(retention).toMatchObject({ measure: "share", since: "exposure", leftOut: 0 })
      const counts = { exposed: perVariant, users: perVariant }
      expect(retention.variants).toMatchObject([
        { key: "control", ...counts, value: 0.5, difference: null },
        { key: "goal", ...counts, value: 0.55, difference: { value: 0.05, excludesZero: false } },
      ])
      expect(retention.sampleRatio).toEqual({ chiSquare: 0, p: 1, mismatch: false })
      expect(retention.warnings).toEqual(["not_ended"])
      const metric = yield* read(engine)
      expect(metric).toMatchObject({ metric: "lessons", measure: "mean", since: "exposure" })
      expect(metric.variants!.map(({ value }) => value)).toEqual([1, 1.1])
      const share = yield* read(engine, { atLeast: "2" })
      expect(share.variants!.map(({ value }) => value)).toEqual([0.5, 0.55])
      // Another metric also has the lesson of before they entered.
      const other = yield* read(engine, { metric: "other" })
      expect(other).toMatchObject({ metric: "other", since: "ever" })
      expect(other.variants!.map(({ value }) => value)).toEqual([2, 2.1])
    }),
  )

  it.effect("leave out days that have not ended, mixed users, undone events and erased users", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(began)
      const { engine } = yield* startInMemory()
      yield* defineMetrics(engine)
      yield* define(engine)
      const users = usersOf(3)
      const [control, goal] = [users.get("control")!, users.get("goal")!]
      yield* send(engine, [...control, ...goal], "LESSON")
      const shown = Effect.map(read(engine), (results) => [
        results.leftOut,
        ...results.variants!.map(({ exposed, users, value }) => [exposed, users, value]),
      ])
      expect(yield* shown).toEqual([0, [3, 3, 1], [3, 3, 1]])
      const early = yield* read(engine, { retention: "D1" })
      expect(early.variants!.map(({ exposed, users, value }) => [exposed, users, value])).toEqual([
        [3, 0, null],
        [3, 0, null],
      ])
      yield* engine.askUser(sandbox, {
        userId: control[0]!,
        command: { kind: "merge", into: goal[0]! },
      })
      expect(yield* shown).toEqual([1, [2, 2, 1], [2, 2, 1]])
      yield* engine.askUser(sandbox, { userId: control[1]!, command: { kind: "erasure" } })
      expect(yield* shown).toEqual([1, [1, 1, 1], [2, 2, 1]])
      const { reply } = yield* engine.askUser(sandbox, event(goal[1]!, "LESSON"))
      expect(yield* shown).toEqual([1, [1, 1, 1], [2, 2, 1.5]])
      const ended = { endsAt: began, startsAt: began - dayMs }
      yield* engine.askProject(sandbox, {
        kind: "updateExperiment",
        experimentId: "goal",
        change: ended,
      })
      expect((yield* read(engine)).warnings).toEqual(["few_users"])
      expect(reply.xp.earned).toBe(0)
    }),
  )
})
