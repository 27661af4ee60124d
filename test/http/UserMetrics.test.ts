/** Metrics of users over HTTP: definitions, and the values of users. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `metrics${places++}`)

const distance = {
  key: "km",
  name: "Kilometres run",
  aggregate: "sum",
  actions: ["RUN_DONE"],
  value: "km",
  decimals: 1,
  unit: "km",
}

describe("A metric", () => {
  it("is created, read by id and key, listed, changed and archived", async () => {
    const place = newPlace()
    const made = await place.post("/v1/metrics", distance)
    expect([made.status, made.headers.location]).toEqual([201, `/v1/metrics/${made.json.id}`])
    expect(made.json).toEqual({
      ...distance,
      id: expect.stringMatching(/^mtr_/),
      description: null,
      metadata: {},
      where: [],
      status: "active",
      version: 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await place.get("/v1/metrics/km")).json).toEqual(made.json)
    expect((await place.get("/v1/metrics")).json).toMatchObject({ metrics: [made.json], total: 1 })
    const changed = await place.patch("/v1/metrics/km", { name: "Distance", unit: null })
    expect(changed.json).toMatchObject({ name: "Distance", unit: null, version: 2 })
    for (const name of ["aggregate", "actions", "where", "value", "decimals", "key"]) {
      const value = name in distance ? distance[name as "key"] : []
      expect(faultsOf(await place.patch("/v1/metrics/km", { [name]: value }))).toEqual([
        [`/${name}`, "unknown_member"],
      ])
    }
    expect((await place.delete("/v1/metrics/km")).status).toBe(204)
    expect(problemOf(await place.delete("/v1/metrics/km"))).toEqual([404, "metric_not_found"])
    expect((await place.get("/v1/metrics")).json.metrics).toEqual([])
    const archived = (await place.get("/v1/metrics?status=archived")).json.metrics
    expect(archived).toMatchObject([{ key: "km", status: "archived" }])
    expect(problemOf(await place.post("/v1/metrics", distance))).toEqual([409, "key_taken"])
  })

  it("has bounds", async () => {
    const place = newPlace()
    const faults = async (more: object) =>
      faultsOf(await place.post("/v1/metrics", { ...distance, ...more }))
    expect(await faults({ decimals: limits.metricDecimalsMax + 1 })).toEqual([
      ["/decimals", "out_of_range"],
    ])
    expect(await faults({ decimals: -1 })).toEqual([["/decimals", "out_of_range"]])
    expect(await faults({ actions: [] })).toEqual([["/actions", "too_short"]])
    const many = Array.from({ length: limits.metricActionsMax + 1 }, (_, n) => `A${n}`)
    expect(await faults({ actions: many })).toEqual([["/actions", "too_long"]])
    expect(await faults({ actions: ["A", "A"] })).toEqual([["/actions/1", "duplicate"]])
    expect(await faults({ actions: ["QUEST_COMPLETE"] })).toEqual([["/actions/0", "invalid_value"]])
    expect(await faults({ unit: "x".repeat(limits.metricUnitCharactersMax + 1) })).toEqual([
      ["/unit", "too_long"],
    ])
    expect(await faults({ aggregate: "count" })).toEqual([
      ["/value", "unknown_member"],
      ["/decimals", "unknown_member"],
    ])
    const most = {
      ...distance,
      actions: many.slice(1),
      decimals: limits.metricDecimalsMax,
      unit: "x".repeat(limits.metricUnitCharactersMax),
    }
    expect((await place.post("/v1/metrics", most)).status).toBe(201)
  })
})

describe("The values of a user", () => {
  it("are in the reply to an event and to its undo, in the list, and in the history", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", distance)
    const best = { name: "Best", aggregate: "max", actions: ["RUN_DONE"], value: "km" }
    await place.post("/v1/metrics", best)
    const run = (km: number) => place.track("ann", "RUN_DONE", { km })
    await run(3.14)
    const { json } = await run(5)
    expect(json.metrics).toEqual([
      { key: "km", total: 8.1 },
      { key: "best", total: 5 },
    ])
    expect((await place.track("ann", "WALK_DONE")).json).not.toHaveProperty("metrics")
    expect((await place.get(`/v1/events/${json.eventId}`)).json.metrics).toEqual(json.metrics)
    const shown = (await place.get("/v1/users/ann/metrics")).json
    expect(shown).toMatchObject({
      userId: "ann",
      metrics: [
        { key: "km", unit: "km", total: 8.1, day: { current: 8.1, previous: 0 } },
        { key: "best", unit: null, total: 5, day: { current: 5, previous: null } },
      ],
    })
    const { json: undone } = await place.delete(`/v1/users/ann/events/${json.eventId}`)
    expect(undone.metrics).toEqual([
      { key: "km", total: 3.1 },
      { key: "best", total: 3 },
    ])
    const { facts } = (await place.get("/v1/users/ann/history?kind=metric.changed")).json
    expect(facts.map(({ key, total }: { key: string; total: number }) => [key, total])).toEqual([
      ["best", 3],
      ["km", 3.1],
      ["best", 5],
      ["km", 8.1],
      ["best", 3],
      ["km", 3.1],
    ])
    expect(facts[0].cause).toMatchObject({ kind: "revocation", eventId: json.eventId })
    expect(problemOf(await place.get("/v1/users/bob/metrics"))).toEqual([404, "user_not_found"])
  })

  it("of one tenant do not show in another, whatever the keys", async () => {
    const [one, other] = [newPlace(), newPlace()]
    for (const place of [one, other]) await place.post("/v1/metrics", distance)
    await one.track("ann", "RUN_DONE", { km: 4 })
    await other.track("ann", "RUN_DONE", { km: 1 })
    const totals = async (place: Place) =>
      (await place.get("/v1/users/ann/metrics")).json.metrics.map(
        ({ total }: { total: number }) => total,
      )
    expect([await totals(one), await totals(other)]).toEqual([[4], [1]])
    const { id } = (await one.get("/v1/metrics/km")).json
    expect(problemOf(await other.get(`/v1/metrics/${id}`))).toEqual([404, "metric_not_found"])
  })

  it("are foreseen by a simulation, of a draft too, which changes nothing", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", distance)
    await place.track("ann", "RUN_DONE", { km: 2 })
    const event = { userId: "ann", action: "RUN_DONE", metadata: { km: 3 } }
    const simulated = await place.post("/v1/project/simulate", event)
    expect(simulated.json.metrics).toEqual([{ key: "km", total: 5 }])
    const metric = { name: "Runs", aggregate: "count", actions: ["RUN_DONE"] }
    const badge = { name: "Far", criteria: { kind: "metric", metric: "km", target: 5 } }
    const preview = await place.post("/v1/project/preview", { event, metric, badge })
    expect(preview.json).toMatchObject({
      metrics: [
        { key: "km", total: 5 },
        { key: "runs", total: 1 },
      ],
      badges: [{ id: "bdg_draft" }],
    })
    expect((await place.get("/v1/users/ann/metrics")).json.metrics).toMatchObject([{ total: 2 }])
  })
})

describe("A badge by a metric", () => {
  it("is earned at the target, and keeps the metric from the archive", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", distance)
    const criteria = { kind: "metric", metric: "km", target: 10 }
    const badge = await place.post("/v1/badges", { name: "Ten", criteria })
    expect(badge.json.criteria).toEqual(criteria)
    await place.track("ann", "RUN_DONE", { km: 6.5 })
    const progress = (await place.get("/v1/users/ann/progress")).json.badges
    expect(progress).toMatchObject([{ name: "Ten", current: 6.5, target: 10 }])
    const reached = await place.track("ann", "RUN_DONE", { km: 3.5 })
    expect(reached.json.badges).toMatchObject([{ name: "Ten" }])
    expect(problemOf(await place.delete("/v1/metrics/km"))).toEqual([409, "in_use"])
    const byKey = async (metric: string) =>
      faultsOf(await place.post("/v1/badges", { name: "X", criteria: { ...criteria, metric } }))
    expect(await byKey("none")).toEqual([["/criteria/metric", "unknown_reference"]])
  })
})

describe("A file of definitions", () => {
  it("has metrics, and the badges that need them", async () => {
    const [here, there] = [newPlace(), newPlace()]
    await here.post("/v1/metrics", { ...distance, where: [{ path: "km", op: "gt", value: 0 }] })
    const criteria = { kind: "metric", metric: "km", target: 10 }
    await here.post("/v1/badges", { name: "Ten", criteria })
    const { json: definitions } = await here.get("/v1/definitions")
    expect(definitions.metrics).toMatchObject([{ key: "km", decimals: 1 }])
    const apply = (file: object) => there.post("/v1/definitions/apply", file)
    const applied = await apply({ definitions })
    expect(applied.json.changes).toMatchObject(
      [{ kind: "settings" }, { kind: "metric" }, { kind: "badge" }].slice(
        -applied.json.changes.length,
      ),
    )
    expect((await apply({ definitions })).json.changes).toEqual([])
    const removed = await apply({ definitions: { metrics: [], badges: [] }, delete: true })
    expect(removed.json.changes).toMatchObject([
      { op: "delete", kind: "badge" },
      { op: "delete", kind: "metric" },
    ])
  })
})

describe("The backfill of a metric", () => {
  /** The backfill when it is finished. */
  const finished = async (place: Place, path: string) => {
    while (true) {
      const { json } = await place.get(path)
      if (json.status === "finished") return json
    }
  }

  const totalOf = async (place: Place, userId: string) =>
    (await place.get(`/v1/users/${userId}/metrics`)).json.metrics[0].total

  it("counts the events of before the metric, shows its progress, and can be undone", async () => {
    const place = newPlace()
    const { json: old } = await place.track("ann", "RUN_DONE", { km: 4.2 })
    await place.track("ann", "RUN_DONE", { km: 1 })
    await place.track("bob", "WALK_DONE")
    const { id } = (await place.post("/v1/metrics", distance)).json
    await place.track("ann", "RUN_DONE", { km: 2 })
    expect(await totalOf(place, "ann")).toBe(2)
    const path = `/v1/metrics/${id}/backfill`
    expect(problemOf(await place.get(path))).toEqual([404, "backfill_not_found"])
    const started = await place.call("POST", "/v1/metrics/km/backfill")
    expect([started.status, started.headers.location]).toEqual([202, path])
    expect(started.json).toEqual({ metricId: id, startedAt: expect.any(String) })
    expect(await finished(place, "/v1/metrics/km/backfill")).toEqual({
      ...started.json,
      status: "finished",
      checked: 2,
      total: 2,
      changed: 1,
      finishedAt: expect.any(String),
    })
    expect(await totalOf(place, "ann")).toBe(7.2)
    expect(await totalOf(place, "bob")).toBe(0)
    const { json: series } = await place.get("/v1/users/ann/metrics/km/series")
    expect(series.points.at(-1)).toMatchObject({ value: 7.2 })
    const { facts } = (await place.get("/v1/users/ann/history?kind=metric.changed")).json
    expect(facts[0]).toMatchObject({ key: "km", total: 7.2, cause: { kind: "clock" } })
    const { json: undone } = await place.delete(`/v1/users/ann/events/${old.eventId}`)
    expect(undone.metrics).toEqual([{ key: "km", total: 3 }])
    expect(await totalOf(place, "ann")).toBe(3)
    expect((await place.call("POST", path)).status).toBe(202)
    expect(await finished(place, path)).toMatchObject({ changed: 0 })
    expect(await totalOf(place, "ann")).toBe(3)
  })

  it("pays nothing: a badge by the metric has a backfill of its own", async () => {
    const place = newPlace()
    await place.track("ann", "RUN_DONE", { km: 50 })
    await place.post("/v1/metrics", distance)
    const criteria = { kind: "metric", metric: "km", target: 42 }
    const badge = await place.create("/v1/badges", { name: "Marathon", criteria })
    await place.call("POST", "/v1/metrics/km/backfill")
    await finished(place, "/v1/metrics/km/backfill")
    expect((await place.get("/v1/users/ann")).json.badges).toEqual([])
    await place.call("POST", `/v1/badges/${badge}/backfill`)
    expect(await finished(place, `/v1/badges/${badge}/backfill`)).toMatchObject({ awarded: 1 })
    expect((await place.get("/v1/users/ann")).json.badges).toMatchObject([{ id: badge }])
  })

  it("is started once by requests with the same Idempotency-Key", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", distance)
    const headers = { "idempotency-key": "k" }
    const start = () => place.call("POST", "/v1/metrics/km/backfill", { headers })
    const [first, second] = [await start(), await start()]
    expect([second.status, second.json]).toEqual([202, first.json])
    expect(second.headers["idempotency-replayed"]).toBe("true")
  })

  it("is refused for a metric that is archived or does not exist", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", distance)
    const path = "/v1/metrics/km/backfill"
    await place.call("POST", path)
    await finished(place, path)
    await place.delete("/v1/metrics/km")
    expect(problemOf(await place.call("POST", path))).toEqual([409, "invalid_transition"])
    expect(problemOf(await place.get(path))).toEqual([404, "backfill_not_found"])
    const other = "/v1/metrics/none/backfill"
    expect(problemOf(await place.call("POST", other))).toEqual([404, "metric_not_found"])
    expect(problemOf(await place.get(other))).toEqual([404, "metric_not_found"])
  })
})
