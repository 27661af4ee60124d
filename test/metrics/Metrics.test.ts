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

  describe("of several parts of a process", () => {
    const sampleOf = (metrics: Metrics, name: string) => samplesOf(metrics.text(), name)[0]?.value

    it("are added up, in the text as for a page", () => {
      const whole = new Metrics()
      const [one, other] = [new Metrics(whole), new Metrics(whole)]
      one.counter("laurel_events_total", { outcome: "tracked" }).add(5)
      other.counter("laurel_events_total", { outcome: "tracked" }).add(2)
      other.counter("laurel_events_total", { outcome: "refused" }).add(1)
      one.gauge("laurel_users", () => 30)
      other.gauge("laurel_users", () => 12)
      expect(samplesOf(whole.text(), "laurel_events_total")).toEqual([
        { labels: { outcome: "tracked" }, value: 7 },
        { labels: { outcome: "refused" }, value: 1 },
      ])
      expect(whole.value("laurel_events_total")).toBe(8)
      expect(sampleOf(whole, "laurel_users")).toBe(42)
      expect(one.value("laurel_users")).toBe(42)
      for (const metrics of [one, other]) {
        metrics.histogram("laurel_commit_batch_records").observe(4)
      }
      one.histogram("laurel_commit_batch_records").observe(5)
      expect(sampleOf(whole, "laurel_commit_batch_records_count")).toBe(3)
      expect(sampleOf(whole, "laurel_commit_batch_records_sum")).toBe(13)
      expect([...whole.observations("laurel_commit_batch_records")].slice(0, 3)).toEqual([0, 2, 1])
    })

    it("show the largest age and deviation, the smallest of what all share", () => {
      const whole = new Metrics()
      const [one, other] = [new Metrics(whole), new Metrics(whole)]
      one.gauge("laurel_clock_ahead_seconds", () => -7)
      other.gauge("laurel_clock_ahead_seconds", () => 3)
      expect(sampleOf(whole, "laurel_clock_ahead_seconds")).toBe(-7)
      one.gauge("laurel_disk_size_bytes", () => 9, { disk: "data" })
      other.gauge("laurel_disk_size_bytes", () => 8, { disk: "data" })
      expect(sampleOf(whole, "laurel_disk_size_bytes")).toBe(8)
      one.gauge("laurel_snapshot_age_seconds", () => 60)
      other.gauge("laurel_snapshot_age_seconds", () => 0)
      expect(sampleOf(whole, "laurel_snapshot_age_seconds")).toBe(60)
      expect(whole.value("laurel_snapshot_age_seconds")).toBe(60)
    })

    it("are NaN where those of one part cannot be read", () => {
      for (const name of [
        "laurel_journal_lag_bytes",
        "laurel_snapshot_age_seconds",
        "laurel_database_checked",
      ] as const) {
        const whole = new Metrics()
        new Metrics(whole).gauge(name, () => {
          throw new Error("unreadable")
        })
        new Metrics(whole).gauge(name, () => 1)
        expect([name, whole.value(name)]).toEqual([name, Number.NaN])
        expect(whole.readFailures).toBe(1)
      }
    })

    it("stay counted when their part goes, and begin at 0 with the next", () => {
      const whole = new Metrics()
      const [one, other] = [new Metrics(whole), new Metrics(whole)]
      other.counter("laurel_archives_total", { outcome: "made" }).add(1)
      const recordsOf = (part: Metrics) => {
        const journal = { durable: 1_000 }
        part.readCounter("laurel_journal_records_total", () => journal.durable)
        part.counter("laurel_archives_total", { outcome: "made" }).add(2)
        part.histogram("laurel_commit_batch_records").observe(4)
        part.gauge("laurel_journal_lag_bytes", () => 9)
        return journal
      }
      const shown = () =>
        [
          "laurel_journal_records_total",
          "laurel_archives_total",
          "laurel_commit_batch_records_count",
          "laurel_journal_lag_bytes",
        ].map((name) => sampleOf(whole, name))
      recordsOf(one).durable = 1_030
      expect(shown()).toEqual([30, 3, 1, 9])
      one.remove()
      one.remove()
      expect(shown()).toEqual([30, 3, 1, undefined])
      recordsOf(one)
      expect(shown()).toEqual([30, 5, 2, 9])
    })

    it("show a counter as it is read in a process without parts", () => {
      const metrics = new Metrics()
      metrics.readCounter("laurel_journal_records_total", () => 1_000)
      expect(sampleOf(metrics, "laurel_journal_records_total")).toBe(1_000)
    })
  })
})
