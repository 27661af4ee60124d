import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

describe("GET /v1/actions", () => {
  it("lists no action of an environment without events", async () => {
    const { json, status } = await new Place(server, "noActions").get("/v1/actions")
    const others = { count: 0, lastReceivedAt: null }
    const page = { total: 0, hasMore: false, nextCursor: null }
    expect([status, json]).toEqual([200, { actions: [], others, ...page }])
  })

  it("lists the actions of all events by name, and whether a definition names them", async () => {
    const place = new Place(server, "actions")
    const rule = { action: "LESSON_DONE", reward: { xp: 5 } }
    const ruleId = await place.create("/v1/rules", rule)
    const { json: done } = await place.track("u", "LESSON_DONE")
    const misspelt = (await place.track("u", "LESON_DONE")).json
    const imported = [{ userId: "u", action: "OLD", occurredAt: "2020-01-01T00:00:00Z" }]
    await place.post("/v1/events/import", { events: imported })
    const again = (await place.track("u", "LESSON_DONE")).json
    await place.post("/v1/project/simulate", { userId: "u", action: "SIMULATED" })
    await place.delete(`/v1/users/u/events/${misspelt.eventId}`)
    await place.delete("/v1/users/u")

    const { json, status } = await place.get("/v1/actions")
    expect(status).toBe(200)
    const byAction = new Map<string, object>(
      json.actions.map(({ action, ...rest }: { action: string }) => [action, rest]),
    )
    expect([...byAction.keys()]).toEqual(["LESON_DONE", "LESSON_DONE", "OLD"])
    const { receivedAt } = again
    expect(receivedAt >= done.receivedAt).toBe(true)
    expect(byAction.get("LESSON_DONE")).toEqual({
      count: 2,
      lastReceivedAt: receivedAt,
      matched: true,
      metadata: { looked: 2, paths: [], more: false },
    })
    expect(byAction.get("LESON_DONE")).toEqual({
      count: 1,
      lastReceivedAt: misspelt.receivedAt,
      matched: false,
      metadata: { looked: 1, paths: [], more: false },
    })

    await place.delete(`/v1/rules/${ruleId}`)
    await place.create("/v1/rules", { ...rule, action: "LESON_DONE" })
    const later = (await place.get("/v1/actions")).json.actions
    const known = (action: string) =>
      later.find((each: { action: string }) => each.action === action).matched
    expect([known("LESSON_DONE"), known("LESON_DONE")]).toEqual([false, true])
  })

  it("has the paths of the metadata that events carried, without values, and of no other environment", async () => {
    const [one, other] = [new Place(server, "pathsOne"), new Place(server, "pathsOther")]
    await one.track("u", "BUY", { cart: { total: 5 }, "ada@example.com": "secret-value" })
    await one.track("u", "BUY", { cart: { total: "5" }, "~1/x": [1] })
    await other.track("u", "BUY", { theirs: 1 })
    const { json } = await one.get("/v1/actions")
    expect(json.actions[0].metadata).toEqual({
      looked: 2,
      paths: [
        { path: "cart.total", kinds: ["text", "number"], events: 2 },
        { path: "~1/x", kinds: ["list"], events: 1 },
      ],
      more: true,
    })
    expect(JSON.stringify(json)).not.toMatch(/theirs|secret|ada@/)
  })
})
