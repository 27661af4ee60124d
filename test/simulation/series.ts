/** Compares the series of a metric, of each user and of all users together, with the model. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { type Metric, unscaled } from "../../src/domain/project/Metric.ts"
import { dateOf, firstDayOf, windowKindOf } from "../../src/domain/values/Calendar.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { seriesOfUser } from "../../src/http/handlers/metricSeries.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { sandbox } from "../engine/fixture.ts"
import { valueIn, windowsOf } from "./model/metrics.ts"
import type { Oracle } from "./Oracle.ts"
import type { Random } from "./random.ts"

export const compareSeries = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  { definitions, model }: Oracle,
  random: Random,
  users: ReadonlyArray<string>,
) {
  const metrics = definitions.metrics.filter(({ set }) => set !== "archived")
  if (metrics.length === 0) return
  const metric = random.pick(metrics)
  const by = random.pick(["day", "week", "month"] as const)
  const logs = users.map((userId) => model.log(userId))
  for (const [index, userId] of users.entries()) {
    const log = logs[index]!
    if (log.length === 0) continue
    const { points } = yield* seriesOfUser(engine, sandbox, userId, metric.key, { by })
    for (const { from, value } of points) {
      const expected = valueIn(log, metric, windowKindOf[by], from).value
      expect({ userId, by, from, value }).toEqual({ userId, by, from, value: expected })
    }
  }
  yield* compareAll(engine, metric, by, logs)
})

/** The day of the next series of all users: one that begins earlier than all before is a new one. */
let earliest = -1

const compareAll = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  metric: Metric,
  by: keyof typeof windowKindOf,
  logs: ReadonlyArray<ReturnType<Oracle["model"]["log"]>>,
) {
  const kind = windowKindOf[by]
  const query = { metricId: metric.id, kind, from: earliest-- }
  let { windows } = yield* engine.readMetricSeries(sandbox, query)
  for (let tries = 0; windows === null; tries++) {
    expect(tries).toBeLessThan(100_000)
    yield* yieldToEventLoop
    ;({ windows } = yield* engine.readMetricSeries(sandbox, query))
  }
  const seen = new Map([...windows].map(([index, each]) => [dateOf(firstDayOf(kind, index)), each]))
  const dates = new Set(logs.flatMap((log) => windowsOf(log, metric, kind)))
  expect([...seen.keys()].sort()).toEqual([...dates].sort())
  for (const first of dates) {
    const values = logs.map((log) => valueIn(log, metric, kind, first)).filter(({ has }) => has)
    const { users, value } = seen.get(first)!
    expect([first, users]).toEqual([first, values.length])
    expect(togetherOf(metric, values)).toContain(unscaled(value, metric.decimals))
  }
})

/** The values that all users together may have: several, if latest values are of one moment. */
const togetherOf = (
  { aggregate, decimals }: Metric,
  all: ReadonlyArray<ReturnType<typeof valueIn>>,
): ReadonlyArray<number> => {
  const values = all.map(({ value }) => value ?? 0)
  if (aggregate === "max") return [Math.max(...values)]
  if (aggregate === "min") return [Math.min(...values)]
  if (aggregate !== "last") {
    return [Number(values.reduce((sum, value) => sum + value, 0).toFixed(decimals))]
  }
  const latest = Math.max(...all.map((each) => each.latest))
  return all.filter((each) => each.latest === latest).map(({ value }) => value ?? 0)
}
