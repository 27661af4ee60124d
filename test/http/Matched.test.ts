import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let place: Place
beforeAll(async () => {
  server = await startServer()
  place = new Place(server, "matched")
  await place.create("/v1/rules", { action: "LESSON_DONE", reward: { xp: 5 } })
})
afterAll(() => server.stop())

const event = (action: string, id?: string) => ({
  userId: "u",
  action,
  ...(id !== undefined && { id }),
})

describe("matched in the reply to an event", () => {
  it("is false for a misspelt action and absent for a known one", async () => {
    const misspelt = await place.post("/v1/events", event("LESON_DONE"))
    expect(misspelt).toMatchObject({ status: 200, json: { matched: false } })
    const known = await place.post("/v1/events", event("LESSON_DONE"))
    expect(known.status).toBe(200)
    expect(known.json).not.toHaveProperty("matched")
  })

  it.each(["batch", "import"])("is in each result of a %s, also a replayed one", async (path) => {
    const events = [event("LESSON_DONE"), event("LESON_DONE")]
    const send = () =>
      place.call("POST", `/v1/events/${path}`, {
        body: { events },
        headers: { "idempotency-key": `matched-${path}` },
      })
    for (const { json, status } of [await send(), await send()]) {
      expect(status).toBe(200)
      expect(json.results.map(({ matched }: { matched?: boolean }) => matched)).toEqual([
        undefined,
        false,
      ])
    }
  })

  it("is the same for a duplicate as in the first outcome", async () => {
    await place.post("/v1/events", event("LATER", "first"))
    const ruleId = await place.create("/v1/rules", { action: "LATER", reward: { xp: 5 } })
    const unknownThen = await place.post("/v1/events", event("LATER", "first"))
    expect(unknownThen.json).toMatchObject({ duplicate: true, matched: false })

    const known = await place.post("/v1/events", event("LATER", "second"))
    expect(known.json).not.toHaveProperty("matched")
    await place.delete(`/v1/rules/${ruleId}`)
    const knownThen = await place.post("/v1/events", event("LATER", "second"))
    expect(knownThen.json.duplicate).toBe(true)
    expect(knownThen.json).not.toHaveProperty("matched")
  })

  it("is in a simulation, and in a preview according to the drafts", async () => {
    const simulated = await place.post("/v1/project/simulate", event("DRAFTED"))
    expect(simulated).toMatchObject({ status: 200, json: { matched: false } })
    const rule = { action: "DRAFTED", reward: { xp: 5 } }
    const previewed = await place.post("/v1/project/preview", { event: event("DRAFTED"), rule })
    expect(previewed).toMatchObject({ status: 200, json: { xp: { earned: 5 } } })
    expect(previewed.json).not.toHaveProperty("matched")
  })
})
