/** Keys and statuses of rules, quests, badges and boosts over HTTP: in paths, bodies, lists and files. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, inHours, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `keys${places++}`)

const kinds = [
  ["rules", { action: "TAP", reward: { xp: 1 } }],
  ["quests", { title: "Tap", reward: { xp: 1 } }],
  ["badges", { name: "Tap", criteria: { kind: "xp", target: 5 } }],
  ["boosts", { name: "Tap", currencies: ["xp"], factor: 2 }],
  [
    "experiments",
    {
      name: "Tap",
      variants: [
        { key: "a", weight: 1 },
        { key: "b", weight: 1 },
      ],
    },
  ],
  ["sources", { name: "Tap", kind: "github", mappings: [] }],
  ["goals", { name: "Tap", score: { currency: "points" }, target: 5 }],
  ["items", { name: "Tap", price: { points: 1 } }],
  ["leaderboards", { name: "Tap", score: { currency: "points" } }],
  [
    "leagues",
    {
      name: "Tap",
      score: { currency: "points" },
      divisions: [{ key: "one", name: "One", promote: 0, demote: 0 }],
    },
  ],
] as const

describe.each(kinds)("the key of one of the %s", (plural, body) => {
  const path = `/v1/${plural}`

  it("is made from its name unless it is given, and each is used once", async () => {
    const place = newPlace()
    const keys: Array<string> = []
    for (const more of [{}, {}, { key: "own" }, {}]) {
      keys.push((await place.post(path, { ...body, ...more })).json.key)
    }
    expect(keys).toEqual(["tap", "tap-2", "own", "tap-3"])
    expect(problemOf(await place.post(path, { ...body, key: "own" }))).toEqual([409, "key_taken"])
    await place.delete(`${path}/own`)
    expect(problemOf(await place.post(path, { ...body, key: "own" }))).toEqual([409, "key_taken"])
    expect((await newPlace().post(path, { ...body, key: "own" })).status).toBe(201)
  })

  it("goes to one of many who ask for it at once, and is numbered where it is made", async () => {
    const place = newPlace()
    // An environment has few leagues.
    const count = plural === "leagues" ? 9 : 12
    const many = (more: object) =>
      Promise.all(Array.from({ length: count }, () => place.post(path, { ...body, ...more })))
    const asked = (await many({ key: "own" })).map(({ status }) => status).toSorted()
    expect(asked).toEqual([201, ...Array(count - 1).fill(409)])
    const made = (await many({})).map(({ json }) => json.key)
    expect(made.toSorted()).toEqual(
      ["tap", ...Array.from({ length: count - 1 }, (_, index) => `tap-${index + 2}`)].toSorted(),
    )
  })

  it("has the version that If-Match names", async () => {
    const place = newPlace()
    await place.post(path, { ...body, key: "own" })
    const ask = (method: string, version: number, change?: object) =>
      place.call(method, `${path}/own`, {
        ...(change && { body: change }),
        headers: { "if-match": `"${version}"` },
      })
    expect(problemOf(await ask("PATCH", 2, { metadata: { a: 1 } }))).toEqual([
      412,
      "version_conflict",
    ])
    expect((await ask("PATCH", 1, { metadata: { a: 1 } })).json.version).toBe(2)
    expect(problemOf(await ask("DELETE", 1))).toEqual([412, "version_conflict"])
    expect((await ask("DELETE", 2)).status).toBe(204)
    expect(problemOf(await ask("DELETE", 3))[0]).toBe(404)
  })

  it("stands in paths in place of the id", async () => {
    const place = newPlace()
    const { id } = (await place.post(path, { ...body, key: "own" })).json
    const found = (await place.get(`${path}/own`)).json
    expect(found).toMatchObject({ id, key: "own" })
    expect((await place.get(`${path}/${id}`)).json).toEqual(found)
    expect((await place.patch(`${path}/own`, { metadata: { a: 1 } })).json.id).toBe(id)
    expect((await place.delete(`${path}/own`)).status).toBe(204)
    expect((await place.delete(`${path}/own`)).status).toBe(404)
    expect((await place.get(`${path}/own`)).json.status).toBe("archived")
  })

  it("has bounds, does not look like an id, and never changes", async () => {
    const place = newPlace()
    const longest = "k".repeat(limits.keyCharactersMax)
    expect((await place.post(path, { ...body, key: longest })).json.key).toBe(longest)
    for (const key of [
      `${longest}k`,
      "",
      "1a",
      "Own",
      "bdg_a",
      "mtr_a",
      "qst_a",
      "rul_a",
      "bst_a",
    ]) {
      const reply = await place.post(path, { ...body, key })
      expect([key, faultsOf(reply)]).toEqual([key, [["/key", "invalid_format"]]])
    }
    expect(faultsOf(await place.patch(`${path}/${longest}`, { key: "new" }))).toEqual([
      ["/key", "unknown_member"],
    ])
  })

  it("keeps metadata and a description, which patches change", async () => {
    const place = newPlace()
    const more = { key: "own", description: "D", metadata: { a: 1, b: { c: 2 } } }
    expect((await place.post(path, { ...body, ...more })).json).toMatchObject(more)
    const { json } = await place.patch(`${path}/own`, {
      description: null,
      metadata: { a: null, b: { d: 3 } },
    })
    expect(json).toMatchObject({ description: null, metadata: { b: { c: 2, d: 3 } } })
    expect((await place.patch(`${path}/own`, { metadata: null })).json.metadata).toEqual({})
  })

  it("is listed by status", async () => {
    const place = newPlace()
    const make = (key: string, more: object = {}) => place.post(path, { ...body, key, ...more })
    await make("active")
    await make("draft", { status: "draft" })
    await make("scheduled", { startsAt: inHours(1) })
    await make("paused")
    await place.patch(`${path}/paused`, { status: "paused" })
    await make("ended", { endsAt: inHours(1) })
    // The end of a leaderboard cannot be in the past.
    if (plural === "leaderboards") await place.call("POST", `${path}/ended/close`)
    else await place.patch(`${path}/ended`, { endsAt: inHours(-1) })
    await make("archived")
    await place.patch(`${path}/archived`, { status: "archived" })
    const keysOf = async (query: string): Promise<ReadonlyArray<string>> =>
      (await place.get(`${path}${query}`)).json[plural]
        .map(({ key }: { key: string }) => key)
        // The leaderboard that always exists.
        .filter((key: string) => key !== "xp")
    const live = ["active", "draft", "scheduled", "paused", "ended"]
    expect(await keysOf("")).toEqual(live)
    for (const status of [...live, "archived"]) {
      expect(await keysOf(`?status=${status}`)).toEqual([status])
    }
    expect(faultsOf(await place.get(`${path}?status=gone`))).toEqual([
      ["query/status", "invalid_value"],
    ])
  })
})

describe("keys", () => {
  it("of quests are prerequisites, which ids may name as well", async () => {
    const place = newPlace()
    const quest = (key: string, more: object = {}) =>
      place.post("/v1/quests", { key, title: key, reward: { xp: 1 }, ...more })
    const { id } = (await quest("first")).json
    expect((await quest("second", { prerequisites: ["first"] })).json.prerequisites).toEqual([
      "first",
    ])
    const third = (await quest("third", { prerequisites: [id, "first", "second"] })).json
    expect(third.prerequisites).toEqual(["first", "second"])
    const complete = (questId: string) => place.track("u", "QUEST_COMPLETE", { questId })
    expect(problemOf(await complete(third.id))).toEqual([409, "quest_locked"])
    // A member whose name ends with Id holds an id.
    expect(problemOf(await complete("first"))).toEqual([404, "quest_not_found"])
    await complete(id)
    await complete((await place.get("/v1/quests/second")).json.id)
    expect((await complete(third.id)).json.quests).toMatchObject([{ status: "completed" }])
  })

  it("name the badge of a backfill", async () => {
    const place = newPlace()
    const { id } = (
      await place.post("/v1/badges", { name: "B", criteria: { kind: "xp", target: 1 } })
    ).json
    const started = await place.post("/v1/badges/b/backfill", {})
    expect([started.status, started.json.badgeId]).toEqual([202, id])
    expect((await place.get("/v1/badges/b/backfill")).json.badgeId).toBe(id)
  })
})

describe("a badge that is archived while rules ask to give it", () => {
  it("is archived with no such rule, or not at all", async () => {
    const place = newPlace()
    for (let time = 0; time < 10; time++) {
      const key = `b${time}`
      const badge = { key, name: "B", criteria: { kind: "manual" } }
      const { id } = (await place.post("/v1/badges", badge)).json
      const rule = { action: "TAP", reward: { badgeId: id } }
      const archive = () => place.patch(`/v1/badges/${key}`, { status: "archived" })
      const give = () => place.post("/v1/rules", rule)
      const both = time % 2 === 0 ? [archive(), give()] : [give(), archive()].toReversed()
      const [archived, given] = await Promise.all(both)
      expect([archived!.status, given!.status].toSorted()).toEqual(
        archived!.status === 200 ? [200, 400] : [201, 409],
      )
      const { status } = (await place.get(`/v1/badges/${key}`)).json
      expect(status).toBe(archived!.status === 200 ? "archived" : "active")
    }
  })
})

describe("a file", () => {
  const file = (badge: string) => ({
    badges: [{ id: badge, key: "b", name: "New", criteria: { kind: "manual" } }],
    rules: [{ key: "r", action: "TAP", reward: { badgeId: badge } }],
    quests: [{ key: "q", title: "Q", reward: { xp: 1, badgeId: badge } }],
  })
  const apply = (place: Place, definitions: object, more: object = {}) =>
    place.post("/v1/definitions/apply", { definitions, ...more })

  it("changes definitions with its keys, whatever their ids, and follows its own references", async () => {
    const place = newPlace()
    const { id } = (
      await place.post("/v1/badges", { key: "b", name: "Old", criteria: { kind: "manual" } })
    ).json
    const { json } = await apply(place, file("bdg_of-the-file"))
    expect(json).toMatchObject({ created: 2, updated: 1 })
    expect((await place.get("/v1/badges/b")).json).toMatchObject({ id, name: "New" })
    expect((await place.get("/v1/rules/r")).json.reward.badgeId).toBe(id)
    expect((await place.get("/v1/quests/q")).json.reward.badgeId).toBe(id)
    expect((await apply(place, file("bdg_of-the-file"), { delete: true })).json.changes).toEqual([])
  })

  it("gives new definitions its ids, or new ones, but none that is another's", async () => {
    const place = newPlace()
    await apply(place, file("bdg_mine"))
    expect((await place.get("/v1/badges/b")).json.id).toBe("bdg_mine")
    expect((await place.get("/v1/rules/r")).json.id).toMatch(/^rul_[0-9a-f]{32}$/)
    const other = [{ id: "bdg_mine", key: "other", name: "O", criteria: { kind: "manual" } }]
    expect(faultsOf(await apply(place, { badges: other }))).toEqual([
      ["/definitions/badges/0/id", "invalid_value"],
    ])
  })

  it("changes no archived definition, and archives those that it does not name", async () => {
    const place = newPlace()
    await apply(place, file("bdg_mine"))
    const none = { badges: [], quests: [], rules: [] }
    expect((await apply(place, none, { delete: true })).json.deleted).toBe(3)
    expect((await place.get("/v1/rules/r")).json.status).toBe("archived")
    expect(faultsOf(await apply(place, { badges: file("bdg_mine").badges }))).toEqual([
      ["/definitions/badges/0/key", "unknown_reference"],
    ])
  })
})
