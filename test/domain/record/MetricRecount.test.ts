import { describe, expect, it } from "vitest"
import { metricAggregates } from "../../../src/domain/project/Metric.ts"
import { MetricRecount } from "../../../src/domain/record/MetricRecount.ts"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { readMetric } from "../../../src/domain/user/MetricState.ts"
import { Random, seedsAfter } from "../../simulation/random.ts"
import { World } from "../decide/World.ts"

const dayMs = 86_400_000

/** Events over some weeks, some of them late, and undos of a third of them. */
const lived = (random: Random, aggregate: (typeof metricAggregates)[number]) => {
  const world = new World()
  const hasValue = aggregate !== "count" && aggregate !== "distinct_days"
  const metric = world.metric({ aggregate, value: hasValue ? "amount" : null })
  const open: Array<ReturnType<World["track"]>> = []
  for (let step = 0; step < 60; step++) {
    world.now += random.integer(0, 2 * dayMs)
    const occurredAt = world.now - (random.chance(0.5) ? 0 : random.integer(0, 20 * dayMs))
    open.push(world.track("TAP", { metadata: { amount: random.integer(1, 6) }, occurredAt }))
    if (random.chance(0.3)) world.undo(open.splice(random.integer(0, open.length - 1), 1)[0]!)
  }
  return { world, metric }
}

/** The state from the records, of which the last `late` came after the recount began. */
const recountedState = (
  records: ReadonlyArray<JournalRecord>,
  metricId: string,
  day: number,
  late: number,
) => {
  const split = records.length - late
  const since = new MetricRecount(metricId, 0)
  const events = records
    .slice(split)
    .toReversed()
    .flatMap((record) => since.eventsOf(record))
  if (since.open) return undefined
  const recount = new MetricRecount(metricId, day)
  for (const record of records.slice(0, split).toReversed()) recount.add(record)
  return { state: recount.stateWith(events.toReversed()) }
}

describe("A recount of the whole history", () => {
  it.each(metricAggregates)(
    "of %s gives the values of the user's state, whatever came late",
    (aggregate) => {
      let late = 0
      for (const seed of seedsAfter([1, 2, 3], 17)) {
        const random = new Random(seed)
        const { metric, world } = lived(random, aggregate)
        const today = Math.floor(world.now / dayMs)
        const live = world.user!.metrics.get(metric.id)
        for (const length of [0, 1, 2, 5, world.records.length]) {
          const found = recountedState(world.records, metric.id, live?.day ?? 0, length)
          if (found === undefined) continue
          if (length > 0) late++
          const shown = readMetric(found.state ?? undefined, today)
          expect(shown, `seed ${seed}, ${length} late`).toEqual(readMetric(live, today))
        }
      }
      if (process.env.LAUREL_TEST_SEED === undefined) expect(late).toBeGreaterThan(0)
    },
  )

  it("is open while a revoked event was not read, and is without events then", () => {
    const world = new World()
    const { id } = world.metric({ aggregate: "max", value: "amount" })
    const done = world.track("TAP", { metadata: { amount: 4 } })
    const { record } = world.undo(done)
    const recount = new MetricRecount(id, 0)
    recount.add(record)
    expect(recount.open).toBe(true)
    recount.add(done.record)
    expect(recount.open).toBe(false)
    expect(recount.stateWith([])).toBeNull()
  })
})
