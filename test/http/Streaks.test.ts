/** Streaks over HTTP: definitions, the streaks of a user, a token of a user. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { streak } from "../../src/http/api/examples/definitionExamples.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `streaks${places++}`)
const daily = {
  key: "daily",
  name: "Daily lesson",
  needs: [{ action: "LESSON_DONE" }],
  freezes: { initial: 1, max: 3, everyDays: 7 },
  milestones: [{ target: 7, reward: { points: 50 } }],
}

describe("/v1/streaks", () => {
  it("creates, reads by id and key, lists, changes on condition, and archives", async () => {
    const place = newPlace()
    const { json, status } = await place.post("/v1/streaks", daily)
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) }
    expect([status, json]).toEqual([201, { ...streak, id: json.id, ...times }])
    expect((await place.get("/v1/streaks/daily")).json).toEqual(json)
    expect((await place.get(`/v1/streaks/${json.id}`)).json).toEqual(json)
    await place.post("/v1/streaks", { name: "Weekly", every: "week" })
    const { json: list } = await place.get("/v1/streaks?limit=1")
    expect(list).toMatchObject({ streaks: [json], total: 2, hasMore: true })
    const { json: rest } = await place.get(`/v1/streaks?limit=1&cursor=${list.nextCursor}`)
    expect(rest.streaks).toMatchObject([{ key: "weekly", every: "week", needs: [] }])
    const patch = (body: object, headers = {}) =>
      place.call("PATCH", "/v1/streaks/daily", { body, headers })
    expect((await patch({ match: "any" }, { "if-match": '"7"' })).status).toBe(412)
    const changed = await patch({ restDays: ["sunday"], freezes: null, milestones: null })
    expect(changed.json).toMatchObject({
      restDays: ["sunday"],
      freezes: { initial: 0, max: 0, everyDays: null },
      milestones: [],
      needs: [{ action: "LESSON_DONE", target: 1 }],
      version: 2,
    })
    expect((await patch({ every: "week" })).status).toBe(400)
    expect((await place.call("DELETE", "/v1/streaks/daily")).status).toBe(204)
    expect((await place.call("DELETE", "/v1/streaks/daily")).json.code).toBe("streak_not_found")
    const archived = await place.get("/v1/streaks?status=archived")
    expect(archived.json.streaks).toMatchObject([{ key: "daily", status: "archived" }])
  })
})

describe("GET /v1/users/:id/streaks", () => {
  it("shows the present period of each streak that is no draft and not archived", async () => {
    const place = newPlace()
    await place.post("/v1/streaks", daily)
    const needs = [{ action: "RUN", target: 2 }]
    await place.post("/v1/streaks", { key: "runs", name: "Runs", every: "week", needs })
    await place.post("/v1/streaks", { name: "Later", status: "draft" })
    await place.post("/v1/streaks", { name: "Gone" })
    await place.delete("/v1/streaks/gone")
    await place.track("u", "LESSON_DONE")
    const { json } = await place.track("u", "RUN")
    expect(json.streaks).toEqual([])
    const shown = (await place.get("/v1/users/u/streaks")).json
    expect(shown).toMatchObject({
      userId: "u",
      streaks: [
        {
          key: "daily",
          every: "day",
          current: 1,
          freezes: 1,
          period: { kept: true, needs: [{ action: "LESSON_DONE", current: 1, target: 1 }] },
          milestones: [{ target: 7, paid: false }],
        },
        {
          key: "runs",
          every: "week",
          current: 0,
          lastDay: null,
          breaksAt: null,
          period: { kept: false, needs: [{ action: "RUN", current: 1, target: 2 }] },
        },
      ],
    })
    expect(shown.streaks).toHaveLength(2)
    const progress = (await place.get("/v1/users/u/progress")).json
    expect(progress.streaks.map(({ key }: { key: string }) => key)).toEqual(["daily", "runs"])
    expect((await place.get("/v1/users/nobody/streaks")).json.code).toBe("user_not_found")
  })

  it("shows a milestone as paid, its source in the history, and neither after an undo", async () => {
    const place = newPlace()
    const milestones = [{ target: 1, reward: { points: 5 } }]
    const id = await place.create("/v1/streaks", { ...daily, milestones })
    const { json } = await place.track("u", "LESSON_DONE")
    expect(json.points).toEqual({ earned: 5, total: 5 })
    const read = async () => (await place.get("/v1/users/u/streaks")).json.streaks[0]
    expect((await read()).milestones).toEqual([{ target: 1, paid: true }])
    const facts = (await place.get("/v1/users/u/history")).json.facts
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "points.earned", source: { kind: "streak", id } }),
    )
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "streak.milestone_reached", streakId: id, target: 1 }),
    )
    await place.delete(`/v1/users/u/events/${json.eventId}`)
    expect(await read()).toMatchObject({ current: 1, milestones: [{ target: 1, paid: false }] })
  })
})
