import { describe, expect, it } from "vitest"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { samplesOf } from "./exposition.ts"

const zeros = (count: number): ReadonlyArray<number> => Array.from({ length: count }, () => 0)

describe("Metrics", () => {
  it("count up, and show their counts", () => {
    const metrics = new Metrics()
    const tracked = metrics.counter("laurel_events_total", { outcome: "tracked" })
    metrics.readCounter("laurel_events_total", () => 7, { outcome: "refused" })
    tracked.increment()
    tracked.add(4)
    expect(samplesOf(metrics.text(), "laurel_events_total")).toEqual([
      { labels: { outcome: "tracked" }, value: 5 },
      { labels: { outcome: "refused" }, value: 7 },
    ])
    expect(metrics.text()).toContain("# TYPE laurel_events_total counter\n")
    expect(metrics.text()).toMatch(/^# HELP laurel_events_total Events by outcome/)
  })

  it("read gauges when they are asked for, not before", () => {
    const metrics = new Metrics()
    let read = 0
    metrics.gauge("laurel_http_connections", () => ++read)
    expect(read).toBe(0)
    expect(samplesOf(metrics.text(), "laurel_http_connections")).toEqual([{ labels: {}, value: 1 }])
    expect(samplesOf(metrics.text(), "laurel_http_connections")).toEqual([{ labels: {}, value: 2 }])
  })

  it("put observations into cumulative buckets, a bound belonging to its own", () => {
    const metrics = new Metrics()
    const records = metrics.histogram("laurel_commit_batch_records")
    for (const value of [1, 4, 4, 5, 100_000]) records.observe(value)
    const text = metrics.text()
    const buckets = samplesOf(text, "laurel_commit_batch_records_bucket")
    expect(buckets.map(({ labels, value }) => [labels.le, value])).toEqual([
      ["1", 1],
      ["4", 3],
      ["16", 4],
      ["64", 4],
      ["256", 4],
      ["1024", 4],
      ["4096", 4],
      ["16384", 4],
      ["+Inf", 5],
    ])
    expect(samplesOf(text, "laurel_commit_batch_records_sum")[0]?.value).toBe(100_014)
    expect(samplesOf(text, "laurel_commit_batch_records_count")[0]?.value).toBe(5)
  })

  it("tell a page the numbers of those that have the labels it asks for", () => {
    const metrics = new Metrics()
    metrics.counter("laurel_events_total", { outcome: "tracked" }).add(5)
    metrics.readCounter("laurel_events_total", () => 7, { outcome: "refused" })
    metrics.gauge("laurel_overloaded", () => {
      throw new Error("unreadable")
    })
    expect(metrics.value("laurel_events_total", { outcome: "tracked" })).toBe(5)
    expect(metrics.value("laurel_events_total")).toBe(12)
    expect(metrics.value("laurel_http_connections")).toBe(0)
    expect(metrics.value("laurel_overloaded")).toBeNaN()
    const duration = "laurel_http_request_duration_seconds"
    const ofStatus = (status: string) =>
      metrics.histogram(duration, { operation: "events.track", class: status })
    ofStatus("2xx").observe(0.0007)
    ofStatus("4xx").observe(99)
    expect([...metrics.observations(duration, { class: "2xx" })]).toEqual([0, 1, ...zeros(13)])
    expect([...metrics.observations(duration)]).toEqual([0, 1, ...zeros(12), 1])
  })

  it("of two servers in one process have nothing to do with each other", () => {
    const [one, other] = [new Metrics(), new Metrics()]
    one.counter("laurel_actor_failures_total").increment()
    other.counter("laurel_actor_failures_total")
    expect(samplesOf(other.text(), "laurel_actor_failures_total")[0]?.value).toBe(0)
  })
})
