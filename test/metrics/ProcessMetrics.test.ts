import { Effect, Exit, Scope } from "effect"
import { expect, it } from "vitest"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { observeProcess } from "../../src/metrics/ProcessMetrics.ts"
import { sampleValue } from "./exposition.ts"

it("report the event loop's delay, and the memory and CPU time of the process", async () => {
  const metrics = new Metrics()
  const value = (name: string, labels?: Record<string, string>) =>
    sampleValue(metrics.text(), name, labels)
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Scope.provide(observeProcess(metrics), scope))
  const delay = "laurel_event_loop_delay_seconds"
  const longerThan50Ms = () =>
    value(`${delay}_bucket`, { le: "+Inf" }) - value(`${delay}_bucket`, { le: "0.05" })
  const before = longerThan50Ms()
  const until = performance.now() + 120
  while (performance.now() < until);
  await expect.poll(longerThan50Ms).toBeGreaterThan(before)
  const longTurns = "laurel_event_loop_long_turns_seconds_count"
  await expect.poll(() => value(longTurns, { cause: "other" })).toBeGreaterThan(0)
  const collections = () => value("nodejs_gc_duration_seconds_count", { kind: "minor" })
  await expect
    .poll(() => {
      for (let count = 0; count < 1_000; count++) new Array(1_000).fill(count)
      return collections()
    })
    .toBeGreaterThan(0)
  expect(value("laurel_event_loop_busy_seconds_total")).toBeGreaterThan(0.1)
  expect(value("process_cpu_seconds_total")).toBeGreaterThan(0.1)
  expect(value("process_resident_memory_bytes")).toBeGreaterThan(value("nodejs_heap_used_bytes"))
  expect(Math.abs(value("process_start_time_seconds") - Date.now() / 1_000)).toBeLessThan(3_600)
  await Effect.runPromise(Scope.close(scope, Exit.void))
})
