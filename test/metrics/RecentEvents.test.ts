import { describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { RecentEvents } from "../../src/metrics/RecentEvents.ts"

const started = () => {
  const metrics = new Metrics()
  const tracked = metrics.counter("laurel_events_total", { outcome: "tracked" })
  const durationOf = (operation: string, status: string) =>
    metrics.histogram("laurel_http_request_duration_seconds", { operation, class: status })
  const single = durationOf("events.track", "2xx")
  const clock = { ms: 5_000 }
  const recent = new RecentEvents(metrics, () => clock.ms)
  /** Lets the time of one sample pass. */
  const step = () => {
    clock.ms += limits.recentSampleMs
    recent.sample()
  }
  return { clock, durationOf, recent, single, step, tracked }
}

describe("Recent events", () => {
  it("are counted a second, from the start on", () => {
    const { clock, recent, tracked } = started()
    tracked.add(500)
    clock.ms += 2_500
    expect(recent.state).toMatchObject({ seconds: 2.5, eventsPerSecond: 200 })
  })

  it("have quantiles of single events that succeeded, spread within their bucket", () => {
    const { durationOf, recent, single } = started()
    expect(recent.state).toMatchObject({ p50Ms: undefined, p99Ms: undefined })
    durationOf("events.track", "5xx").observe(9)
    durationOf("users.get", "2xx").observe(9)
    // 98 within half a millisecond, two between 5 and 10 ms.
    for (let event = 0; event < 98; event++) single.observe(0.0004)
    for (let event = 0; event < 2; event++) single.observe(0.006)
    const { p50Ms, p99Ms } = recent.state
    expect(p50Ms).toBeCloseTo((0.5 * 50) / 98, 6)
    expect(p99Ms).toBeCloseTo(7.5, 6)
    for (let event = 0; event < 10; event++) single.observe(60)
    expect(recent.state.p99Ms).toBe(Number.POSITIVE_INFINITY)
  })

  it("are forgotten after about a minute", () => {
    const { recent, single, step, tracked } = started()
    tracked.add(600)
    single.observe(0.004)
    for (let sample = 0; sample < limits.recentSamplesMax - 1; sample++) step()
    const seconds = ((limits.recentSamplesMax - 1) * limits.recentSampleMs) / 1_000
    expect(recent.state).toMatchObject({ seconds, eventsPerSecond: 600 / seconds })
    step()
    expect(recent.state).toEqual({
      seconds,
      eventsPerSecond: 0,
      p50Ms: undefined,
      p99Ms: undefined,
    })
  })
})
