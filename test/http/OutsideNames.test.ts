/** Names that every JavaScript object inherits, chosen by callers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"] as const
/** The names that are valid keys of a step. */
const keys = names.filter((name) => /^[a-z_]+$/.test(name))

const storage = new MemoryState()
let server: TestServer
let place: Place

const open = async () => {
  server = await startServer({ storage })
  place = new Place(server, "names")
}
/** Closes with a snapshot, and restarts from it. */
const restart = async () => {
  await server.stop()
  await open()
}
beforeAll(open)
afterAll(() => server.stop())

/** An object with one member of this name. In a literal, `__proto__` would set the prototype. */
const named = (name: string, value: unknown): object => Object.fromEntries([[name, value]])

describe("A name that every object inherits works like any other", () => {
  it("as a quest's step: it counts to its target, and completes the quest, over a restart", async () => {
    for (const key of keys) {
      const action = `STEP_${key.toUpperCase()}`
      const steps = [
        { key, action, target: 3 },
        { key: "other", action, target: 3 },
      ]
      const body = { title: key, reward: { xp: 7 }, steps }
      const questId = await place.create("/v1/quests", body)
      const first = await place.track(key, action)
      expect(first.json.quests).toMatchObject([{ questId, progress: 1 / 3 }])
      await restart()
      const second = await place.track(key, action)
      expect(second.json.quests).toMatchObject([{ questId, progress: 2 / 3 }])
      const { json } = await place.get(`/v1/users/${key}/progress`)
      expect(json.quests).toContainEqual(
        expect.objectContaining({
          questId,
          steps: [
            { key, current: 2, target: 3 },
            { key: "other", current: 2, target: 3 },
          ],
        }),
      )
      await restart()
      const third = await place.track(key, action)
      expect(third.json).toMatchObject({
        xp: { earned: 7 },
        quests: [{ questId, status: "completed", progress: 1 }],
      })
      const undone = await place.delete(`/v1/users/${key}/events/${third.json.eventId}`)
      expect(undone.json.quests).toMatchObject([{ questId, progress: 2 / 3 }])
      const { records } = (await place.get(`/v1/users/${key}/export`)).json
      const counted = records.flatMap(({ facts }: { facts: ReadonlyArray<object> }) =>
        facts.filter((fact) => "step" in fact && fact.step === key),
      )
      expect(counted).toMatchObject([{ current: 3 }, { current: 2 }, { current: 1 }])
    }
  })

  it("as a streak: its days count, over a restart", async () => {
    // A key of a definition begins with a letter.
    const keys = ["constructor"]
    const streaks: Array<string> = []
    for (const key of keys) streaks.push(await place.create("/v1/streaks", { key, name: key }))
    const badges = await Promise.all(
      keys.map((key) =>
        place.create("/v1/badges", {
          name: key,
          criteria: { kind: "streak", streak: key, target: 1 },
        }),
      ),
    )
    const { json } = await place.track("streaks", "ANY")
    expect(json.streaks).toEqual(keys.map((key) => ({ key, current: 1, best: 1 })))
    expect(json.badges.map(({ id }: { id: string }) => id)).toEqual(badges)
    await restart()
    const progress = await place.get("/v1/users/streaks/progress")
    expect(progress.json.streaks).toMatchObject(keys.map((key) => ({ key, current: 1 })))
    const archive = () => Promise.all(streaks.map((id) => place.delete(`/v1/streaks/${id}`)))
    expect(new Set((await archive()).map(({ status }) => status))).toEqual(new Set([409]))
    await Promise.all(badges.map((id) => place.delete(`/v1/badges/${id}`)))
    expect(new Set((await archive()).map(({ status }) => status))).toEqual(new Set([204]))
  })

  it("as a path in metadata: it finds own members only", async () => {
    for (const name of names) {
      const action = `PATH_${name.toUpperCase()}`
      const where = [{ path: `${name}.name`, op: "exists" }]
      await place.create("/v1/rules", { action, where, reward: { xp: 1 } })
      const multiplierPath = `${name}.length`
      await place.create("/v1/rules", { action, multiplierPath, reward: { points: 1 } })
      const criteria = { kind: "action_count", action, where, target: 1 }
      const badgeId = await place.create("/v1/badges", { name, criteria })
      const bare = await place.track(`bare ${name}`, action, {})
      expect(bare.json).toMatchObject({ xp: { earned: 0 }, points: { earned: 0 }, badges: [] })
      const sent = await place.track(`sent ${name}`, action, named(name, { name: 1, length: 5 }))
      expect(sent.json).toMatchObject({
        xp: { earned: 1 },
        points: { earned: 5 },
        badges: [{ id: badgeId }],
      })
    }
  })

  it("as a user, an event, a reward and an Idempotency-Key: none is confused with another, over a restart", async () => {
    await place.create("/v1/rules", { action: "NAMED", reward: { xp: 2 } })
    for (const name of names) {
      const body = { userId: name, action: "NAMED", id: name }
      const first = await place.post("/v1/events", body)
      expect(first.json).toMatchObject({ duplicate: false, xp: { earned: 2 } })
      const grant = (options = {}) =>
        place.call("POST", `/v1/users/${name}/rewards`, {
          body: { type: "xp", amount: 5, id: name },
          ...options,
        })
      expect((await grant()).json).toMatchObject({ duplicate: false })
      const headers = { "idempotency-key": name }
      const kept = { body: { userId: name, action: "NAMED" }, headers }
      const keyed = await place.call("POST", "/v1/events", kept)
      expect(keyed.headers["idempotency-replayed"]).toBeUndefined()
      await restart()
      expect((await place.post("/v1/events", body)).json).toMatchObject({
        duplicate: true,
        eventId: first.json.eventId,
      })
      expect((await grant()).json).toMatchObject({ duplicate: true })
      const again = await place.call("POST", "/v1/events", kept)
      expect(again.json.eventId).toBe(keyed.json.eventId)
      expect((await place.get(`/v1/users/${name}`)).json).toMatchObject({ id: name })
      expect((await place.get(`/v1/leaderboard/${name}`)).status).toBeLessThan(500)
    }
  })

  it("as an attribute: it is kept", async () => {
    const attributes = Object.fromEntries(names.map((name) => [name, "x"]))
    for (const name of names) {
      const body = { attributes: named(name, "x") }
      const put = await place.call("PUT", "/v1/users/attributes", { body })
      expect([put.status, put.json.attributes]).toEqual([200, named(name, "x")])
    }
    await place.call("PUT", "/v1/users/attributes", { body: { attributes } })
    await restart()
    const { text } = await place.get("/v1/users/attributes")
    expect(text).toContain(`"attributes":${JSON.stringify(attributes)}`)
    expect((await place.get("/v1/users/attributes/history")).text).toContain('"__proto__":"x"')
  })

  it("as the id of a missing definition and as an unknown parameter: it is refused", async () => {
    // Definitions with these titles have these keys.
    const place = new Place(server, "no-names")
    for (const name of names) {
      for (const group of ["quests", "rules", "badges", "boosts", "webhooks"]) {
        expect((await place.get(`/v1/${group}/${name}`)).status).toBe(404)
      }
      expect((await place.get(`/v1/quests?${name}=1`)).status).toBe(400)
      const quest = { title: "Q", reward: { xp: 1, badgeId: name }, prerequisites: [name] }
      expect((await place.post("/v1/quests", quest)).json.errors).toMatchObject([
        { code: "unknown_reference" },
        { code: "unknown_reference" },
      ])
      const criteria = { kind: "streak", streak: "constructor", target: 1 }
      const badge = await place.post("/v1/badges", { name, criteria })
      expect(badge.json.errors).toMatchObject([{ code: "unknown_reference" }])
    }
  })
})
