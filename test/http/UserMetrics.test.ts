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
