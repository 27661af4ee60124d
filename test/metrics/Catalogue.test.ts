/** A server's metrics, the catalogue, the documentation and the dashboard agree. */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Collector } from "../../src/cli/process/Collector.ts"
import { DataUseMetrics } from "../../src/cli/process/DataUse.ts"
import { AccessLog } from "../../src/cli/process/Logging.ts"
import { observeCluster } from "../../src/cluster/clusterMetrics.ts"
import { Forwarder } from "../../src/cluster/Forwarder.ts"
import { Owners } from "../../src/cluster/Owners.ts"
import { ArchiveMetrics } from "../../src/engine/archive/ArchiveMetrics.ts"
import { ShipmentMetrics } from "../../src/engine/archive/bucket/Shipments.ts"
import { DatabaseMetrics } from "../../src/engine/archive/DatabaseWatch.ts"
import { RequestMetrics } from "../../src/http/request/RequestMetrics.ts"
import { catalogue, type MetricKind } from "../../src/metrics/Catalogue.ts"
import { turnCauses } from "../../src/metrics/LongTurns.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { observeProcess } from "../../src/metrics/ProcessMetrics.ts"
import { flushesOf } from "../../src/storage/durable/DurableStorage.ts"
import { startServer } from "../http/fixture.ts"
import { documentedMetrics } from "./documentation.ts"
import { familiesOf } from "./exposition.ts"

const all = new Map<string, MetricKind>(Object.entries(catalogue))
const folder = resolve(import.meta.dirname, "../../src/metrics")

describe("The catalogue of metrics", () => {
  it("adds no ages of several partitions up", () => {
    const ages = [...all].filter(([name]) => /_age_seconds$/.test(name))
    expect(ages.length).toBeGreaterThan(2)
    for (const [name, { combined }] of ages) expect([name, combined]).toEqual([name, "largest"])
  })

  it("lists exactly the metrics of a server in use, with type, labels and description", async () => {
    const server = await startServer()
    try {
      await server.call("POST", "/v1/events", { body: { userId: "u", action: "A" } })
      new ArchiveMetrics(server.metrics, undefined, Date.now)
      new ShipmentMetrics(server.metrics, Date.now)
      new DatabaseMetrics(server.metrics, true)
      const bytes = { journal: 1, database: 1, audit: 1, archives: 1 }
      const room = { free: 1, total: 2 }
      const dataUse = new DataUseMetrics(server.metrics, Date.now)
      dataUse.sampled({ bytes, room: { data: room, archives: room } })
      flushesOf(server.metrics)
      new Collector(server.metrics)
      new AccessLog(process.stdout, server.metrics)
      const owners = new Owners({ url: "", address: "", lockExpirationMs: 1 })
      const requests = new RequestMetrics(new Metrics())
      const forwarder = new Forwarder({
        ...{ owners, address: "", serves: () => false },
        secret: "",
        metrics: requests,
        partitionOf: () => 1,
      })
      observeCluster(server.metrics, owners, forwarder, () => ({
        handler: undefined,
        following: undefined,
      }))
      const text = await Effect.runPromise(
        Effect.scoped(Effect.map(observeProcess(server.metrics), () => server.metrics.text())),
      )
      const families = familiesOf(text)
      expect([...families.keys()].sort()).toEqual([...all.keys()].sort())
      for (const [name, { help, samples, type }] of families) {
        const kind = all.get(name)!
        expect([name, type, help]).toEqual([name, kind.type, kind.help])
        expect(samples.length).toBeGreaterThan(0)
        for (const sample of samples) {
          const labels = Object.keys(sample.labels).filter((label) => label !== "le")
          expect([sample.name, ...labels]).toEqual([sample.name, ...kind.labels])
        }
      }
    } finally {
      await server.stop()
    }
  })

  it("names metrics as Prometheus wants it", () => {
    for (const [name, { bounds = [], help, type }] of all) {
      expect(name).toMatch(/^(laurel|process|nodejs)(_[a-z]+)+$/)
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"])
      expect(name).not.toMatch(/_(ms|milliseconds|kib|percent|count|sum|bucket)(_|$)/)
      expect(help).toMatch(/^[A-Z1].*\.$/)
      expect([...bounds].sort((a, b) => a - b)).toEqual(bounds)
    }
  })

  it("is the table of the documentation", () => {
    const lines = readFileSync(join(folder, "README.md"), "utf8").split("\n")
    const table = lines.filter((line) => line.startsWith("| `"))
    expect(table).toEqual(documentedMetrics())
    const causes = lines.flatMap((line) => /^- ((`\w+`,? ?)+): /.exec(line)?.[1] ?? [])
    expect(causes.join(", ").match(/\w+/g)?.sort()).toEqual([...turnCauses].sort())
  })
})

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string }>
}

describe("The dashboard", () => {
  const dashboard = JSON.parse(
    readFileSync(join(folder, "../../deploy/grafana/dashboards/laurel.json"), "utf8"),
  )
  const panels: ReadonlyArray<Panel> = dashboard.panels
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

  /** The metrics of an expression, each with what is asked of its labels and whether it is its rate that counts. */
  const metricsIn = (expression: string) =>
    [...expression.matchAll(/(rate\()?\b((?:laurel|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
      ([, rate, name = "", selector = ""]) => ({
        rate: rate !== undefined,
        name,
        labels: [...selector.matchAll(/(\w+)\s*(?:=|=~|!=|!~)\s*"/g)].map(([, label]) => label!),
      }),
    )

  it("shows only metrics that exist, in the way of their type", () => {
    expect(expressions.length).toBeGreaterThan(20)
    for (const expression of expressions) {
      const used = metricsIn(expression)
      expect(used.length, expression).toBeGreaterThan(0)
      for (const { labels, name, rate } of used) {
        const part = /_(bucket|sum|count)$/.exec(name)?.[0] ?? ""
        const base = all.has(name) ? name : name.slice(0, name.length - part.length)
        const kind = all.get(base)
        expect(kind, `${name} in ${expression}`).toBeDefined()
        expect([expression, base !== name]).toEqual([expression, kind?.type === "histogram"])
        expect([expression, rate]).toEqual([expression, kind?.type !== "gauge"])
        for (const label of labels) expect(["job", ...kind!.labels]).toContain(label)
      }
      const by = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) =>
        list!.split(/, ?/),
      )
      const known = used.flatMap(({ name }) => [
        ...(all.get(name.replace(/_bucket$/, ""))?.labels ?? []),
        ...(name.endsWith("_bucket") ? ["le"] : []),
      ])
      for (const label of by) expect(known, expression).toContain(label)
    }
  })

  it("shows every metric of the service", () => {
    const shown = new Set(
      expressions.flatMap(metricsIn).map(({ name }) => name.replace(/_(bucket|sum|count)$/, "")),
    )
    expect([...all.keys()].filter((name) => !shown.has(name))).toEqual([])
  })

  it("names in its legends labels that its series have", () => {
    for (const { targets = [] } of panels) {
      for (const { expr, legendFormat } of targets) {
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          const kept = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(/, ?/)
          const [metric] = metricsIn(expr)
          expect(kept ?? all.get(metric!.name)!.labels, expr).toContain(label)
        }
      }
    }
  })

  it("has panels that do not lie on one another", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const places = new Set<string>()
    for (const { gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
          expect(places.has(`${x} ${y}`)).toBe(false)
          places.add(`${x} ${y}`)
        }
      }
    }
  })
})
