/** Quests that users start and claim, over HTTP: definitions, replies, reads, history, files. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `starts${places++}`)
const quest = {
  title: "Taps",
  reward: { xp: 10 },
  steps: [{ key: "taps", action: "TAP", target: 1 }],
  optIn: true,
  claim: "manual",
}
const startPath = "/v1/users/ada/quests/taps/start"

describe("POST /v1/users/:id/quests/:quest/start", () => {
  it("starts the quest by its key or id, creates the user, and can be repeated", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", quest)
    const { json, status } = await place.call("POST", startPath)
    const progress = {
      questId: id,
      key: "taps",
      title: "Taps",
      status: "in_progress",
      steps: [{ key: "taps", current: 0, target: 1 }],
      periodEndsAt: null,
      completedAt: null,
    }
    expect([status, json]).toEqual([200, { userId: "ada", quest: progress }])
    const again = await place.call("POST", `/v1/users/ada/quests/${id}/start`)
    expect([again.status, again.json]).toEqual([200, json])
    expect((await place.get("/v1/users/ada/progress")).json.quests).toEqual([progress])
    expect((await place.get(`/v1/quests/${id}`)).json.counts).toEqual({
      inProgress: 1,
      completed: 0,
    })
    const { facts } = (await place.get("/v1/users/ada/history")).json
    expect(facts).toMatchObject([
      { kind: "quest.started", key: "taps", cause: { kind: "start" } },
      { kind: "user.created", cause: { kind: "start" } },
    ])
  })

  it("takes an Idempotency-Key", async () => {
    const place = newPlace()
    await place.create("/v1/quests", quest)
    const headers = { "idempotency-key": "one" }
    const first = await place.call("POST", startPath, { headers })
    const again = await place.call("POST", startPath, { headers })
    expect([again.status, again.json]).toEqual([200, first.json])
    expect(again.headers["idempotency-replayed"]).toBe("true")
  })

  it("refuses an unknown quest, one without optIn, and one that is locked or not active", async () => {
    const place = newPlace()
    await place.create("/v1/quests", { title: "First", reward: { xp: 0 } })
    await place.create("/v1/quests", { ...quest, title: "Locked", prerequisites: ["first"] })
    await place.create("/v1/quests", { ...quest, title: "Draft", status: "draft" })
    const start = async (key: string) =>
      problemOf(await place.call("POST", `/v1/users/ada/quests/${key}/start`))
    expect(await start("none")).toEqual([404, "quest_not_found"])
    expect(await start("first")).toEqual([409, "conflict"])
    expect(await start("locked")).toEqual([409, "quest_locked"])
    expect(await start("draft")).toEqual([409, "quest_not_active"])
    expect((await place.get("/v1/users/ada")).status).toBe(404)
  })
})

describe("A quest with claim: manual", () => {
  it("pays when it is claimed, once, and shows until then that it waits", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", quest)
    await place.call("POST", startPath)
    const done = await place.track("ada", "TAP")
    expect(done.json).toMatchObject({
      xp: { earned: 0 },
      quests: [{ status: "completed", claimable: true }],
    })
    const progress = async () => (await place.get("/v1/users/ada/progress")).json.quests[0]
    expect(await progress()).toMatchObject({ status: "completed", claimable: true })
    const claim = () => place.track("ada", "QUEST_COMPLETE", { questId: id })
    const claimed = (await claim()).json
    expect(claimed).toMatchObject({ xp: { earned: 10 }, quests: [{ alreadyCompleted: false }] })
    expect(claimed.quests[0]).not.toHaveProperty("claimable")
    expect(await progress()).not.toHaveProperty("claimable")
    expect((await claim()).json).toMatchObject({
      xp: { earned: 0 },
      quests: [{ alreadyCompleted: true }],
    })
    const undone = await place.delete(`/v1/users/ada/events/${claimed.eventId}`)
    expect(undone.json).toMatchObject({
      xp: { revoked: 10, total: 0 },
      quests: [{ status: "completed", claimable: true }],
    })
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const kinds = facts.map(({ kind }: { kind: string }) => kind)
    expect(kinds.filter((kind: string) => kind.startsWith("quest."))).toEqual([
      "quest.claim_revoked",
      "quest.repeated",
      "quest.claimed",
      "quest.completed",
      "quest.progressed",
      "quest.started",
    ])
  })

  it("is in files of definitions, in a simulation, and can be changed", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", quest)
    await place.create("/v1/quests", { title: "Plain", reward: { xp: 1 } })
    const { quests } = (await place.get("/v1/definitions")).json
    expect(quests[0]).toMatchObject({ optIn: true, claim: "manual" })
    expect(quests[1]).not.toHaveProperty("optIn")
    expect(quests[1]).not.toHaveProperty("claim")
    const other = newPlace()
    const applied = await other.post("/v1/definitions/apply", { definitions: { quests } })
    expect(applied.status).toBe(200)
    expect((await other.get("/v1/definitions")).json.quests).toEqual(quests)
    await place.call("POST", startPath)
    const body = { userId: "ada", action: "TAP" }
    expect((await place.post("/v1/project/simulate", body)).json).toMatchObject({
      given: [],
      quests: [{ claimable: true }],
    })
    const patched = await place.patch(`/v1/quests/${id}`, { claim: "auto", optIn: false })
    expect(patched.json).toMatchObject({ claim: "auto", optIn: false })
    expect((await place.post("/v1/project/simulate", body)).json.xp.earned).toBe(10)
  })
})
