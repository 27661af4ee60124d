import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const metrics = `${base}/metrics`
const simple = { name: "Runs", aggregate: "count", actions: "RUN_DONE, WALK_DONE" }
const summed = { ...simple, name: "Distance", aggregate: "sum", value: "km", decimals: "1" }

const createdBy = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${metrics}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/metrics\/(mtr_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/metrics/${id}`)).json
}

describe("The form of a new metric", () => {
  it("creates the typed metric", async () => {
    expect(await createdBy({ ...simple, key: "runs" })).toMatchObject({
      key: "runs",
      aggregate: "count",
      actions: ["RUN_DONE", "WALK_DONE"],
      value: null,
      decimals: 0,
      unit: null,
    })
    expect(await createdBy({ ...summed, unit: "km" })).toMatchObject({
      aggregate: "sum",
      value: "km",
      decimals: 1,
      unit: "km",
    })
  })

  it("shows the fields of the chosen value, and keeps the other texts", async () => {
    const asked = { ...simple, description: "typed", aggregate: "max", intent: "kind" }
    const { text } = await world.owner.post(`${metrics}/new/draft`, asked)
    expect(fieldsOf(text, `${metrics}/new`)).toMatchObject({ description: "typed", value: "" })
  })

  it("marks each wrong value at its field, and keeps all that was typed", async () => {
    for (const [name, bad] of [
      ["name", ""],
      ["actions", ""],
      ["actions", "run_done"],
      ["value", ""],
      ["value", "a..b"],
      ["decimals", "5"],
      ["key", "Runs"],
    ] as const) {
      const sent = { ...summed, [name]: bad }
      const reply = await world.owner.post(`${metrics}/new`, sent)
      expectMarked(reply, name, bad)
      expect(fieldsOf(reply.text, `${metrics}/new`)).toMatchObject(sent)
    }
  })

  it("tries the metric with an event, and saves nothing", async () => {
    const fields = { ...simple, name: "Tried", key: "tried", actions: "TRIED", intent: "try" }
    const { text } = await world.owner.post(`${metrics}/new/draft`, fields)
    expect(text).toContain("tried: 1")
    expect((await world.api("GET", "/v1/metrics/tried")).status).toBe(404)
  })
})

describe("The page of a metric", () => {
  it("changes nothing if it is saved unchanged", async () => {
    await roundTrip(world, { schema: "NewMetric", list: "metrics", count: 20 })
  })

  it("changes name and unit, and shows what the metric counts", async () => {
    const { id } = await createdBy({ ...summed, key: "edited" })
    const address = `${metrics}/${id}`
    const { text } = await world.owner.get(address)
    expect(text).toContain("the sum of a number in the metadata")
    const fields = fieldsOf(text, address)
    expect(fields).not.toHaveProperty("aggregate")
    await world.owner.post(address, { ...fields, name: "Way", unit: "m" })
    expect((await world.api("GET", `/v1/metrics/${id}`)).json).toMatchObject({
      name: "Way",
      unit: "m",
    })
  })

  it("archives it, unless a badge needs it", async () => {
    const { id, version } = await createdBy({ ...simple, key: "needed" })
    const criteria = { kind: "metric", metric: "needed", target: 2 }
    const badge = (await world.api("POST", "/v1/badges", { name: "B", criteria })).json
    const archive = () => world.owner.post(`${metrics}/${id}/archive`, { version: String(version) })
    expect((await archive()).text).toContain("The metric is used by badge")
    await world.api("DELETE", `/v1/badges/${badge.id}`)
    expect((await archive()).status).toBe(303)
    expect((await world.owner.get(`${metrics}?status=archived`)).text).toContain("needed")
  })
})

describe("The backfill on the page of a metric", () => {
  it("starts once however often the form is sent, and shows its progress", async () => {
    await world.api("POST", "/v1/events", { userId: "old", action: "PAST" })
    const { id } = await createdBy({ ...simple, key: "past", actions: "PAST" })
    const address = `${metrics}/${id}`
    const page = async () => (await world.owner.get(address)).text
    expect(await page()).toContain("A backfill counts the events of before the metric was created.")
    const fields = fieldsOf(await page(), `${address}/backfill`)
    const sent = await Promise.all(
      [1, 2].map(() => world.owner.post(`${address}/backfill`, fields)),
    )
    const next = `${address}#backfill`
    expect(sent.map(({ location }) => location)).toEqual([next, next])
    let backfill: Json
    do {
      backfill = (await world.api("GET", "/v1/metrics/past/backfill")).json
    } while (backfill.status !== "finished")
    expect(await page()).toMatch(/<dt>Users changed<\/dt><dd>1<\/dd>/)
    const logged = (await world.server.logged()).map(
      ({ action, subject }) => `${action} ${subject}`,
    )
    expect(logged[0]).toBe(`metric.backfill ${id}`)
    expect(logged.filter((line) => line === `metric.backfill ${id}`)).toHaveLength(1)
    await world.api("DELETE", `/v1/metrics/${id}`)
    expect(await page()).not.toContain("backfill")
  })

  it("has no button for a viewer", async () => {
    const { id } = await createdBy({ ...simple, key: "looked" })
    const { text } = await world.viewer.get(`${metrics}/${id}`)
    expect(text).toContain("Backfill")
    expect(text).not.toContain("Start backfill")
  })
})

it("The page of a metric shows the last weeks of all users", async () => {
  const { id } = (
    await world.api("POST", "/v1/metrics", { name: "Week", aggregate: "count", actions: ["DONE"] })
  ).json
  await world.api("POST", "/v1/events", { userId: "ann", action: "DONE" })
  const read = async () => (await world.owner.get(`${metrics}/${id}`)).text
  let text = await read()
  expect(text).toContain("The values of all users are being computed")
  while (!text.includes("All users by week")) text = await read()
  expect(text).toMatch(/<td>\d{4}-\d\d-\d\d<\/td><td>1<\/td><td>1<\/td>/)
})

it("The page of a user shows the values of metrics", async () => {
  await world.api("POST", "/v1/metrics", { name: "Shown", aggregate: "count", actions: ["SEEN"] })
  await world.api("POST", "/v1/events", { userId: "ann", action: "SEEN" })
  const { text } = await world.owner.get(`${base}/users/ann`)
  expect(text).toContain("<h2>Metrics</h2>")
  expect(text).toMatch(/Metric <bdi[^>]*>shown<\/bdi>: 1/)
})
