import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-04T12:00:00.000Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `segments${places++}`)

const level = { kind: "level", op: "gte", value: 2 }
const pro = { kind: "attribute", attribute: "plan", op: "eq", value: "pro" }
const proSegment = { key: "pro", name: "Pro", conditions: [pro] }

const put = (place: Place, id: string, attributes: object) =>
  place.call("PUT", `/v1/users/${id}`, { body: { attributes } })

/** The members of a segment, once they are counted. */
const countOf = async (
  place: Place,
  key: string,
): Promise<{ count: number; countedAt: string }> => {
  for (;;) {
    const { members } = (await place.get(`/v1/segments/${key}`)).json
    if (members.count !== null && !members.counting) return members
  }
}

describe("segments", () => {
  it("are created with defaults, read, listed and changed", async () => {
    const place = newPlace()
    const { headers, json, status } = await place.post("/v1/segments", {
      name: "Gold users",
      conditions: [level],
    })
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/segments/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^seg_[0-9a-f]{32}$/),
      key: "gold-users",
      name: "Gold users",
      description: null,
      metadata: {},
      status: "active",
      match: "all",
      conditions: [level],
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    const { members, ...read } = (await place.get("/v1/segments/gold-users")).json
    expect(read).toEqual(json)
    expect(members).toMatchObject({ count: null, countedAt: null, counting: true })
    expect((await place.get("/v1/segments")).json.segments).toEqual([json])
    const changed = await place.patch(`/v1/segments/${json.id}`, {
      match: "any",
      metadata: { a: 1 },
    })
    expect(changed.json).toMatchObject({ match: "any", metadata: { a: 1 }, version: 2 })
    expect((await place.delete("/v1/segments/gold-users")).status).toBe(204)
    expect(problemOf(await place.delete("/v1/segments/gold-users"))).toEqual([
      404,
      "segment_not_found",
    ])
    expect((await place.get("/v1/segments")).json.segments).toEqual([])
    const { json: archived } = await place.get("/v1/segments?status=archived")
    expect(archived.segments).toMatchObject([{ id: json.id, status: "archived" }])
    expect((await place.get("/v1/segments/gold-users")).json.members.counting).toBe(false)
  })

  it("are changed only in the version that the caller knows", async () => {
    const place = newPlace()
    await place.create("/v1/segments", proSegment)
    const change = (version: string) =>
      place.call("PATCH", "/v1/segments/pro", {
        body: { name: "P" },
        headers: { "if-match": version },
      })
    expect(problemOf(await change('"9"'))).toEqual([412, "version_conflict"])
    expect((await change('"1"')).json.version).toBe(2)
  })

  it("have conditions within their bounds", async () => {
    const place = newPlace()
    const make = (conditions: unknown) => place.post("/v1/segments", { name: "S", conditions })
    const many = (count: number) => Array.from({ length: count }, () => level)
    expect((await make(many(limits.segmentConditionsMax))).status).toBe(201)
    const wrong: ReadonlyArray<readonly [conditions: unknown, pointer: string, code: string]> = [
      [many(limits.segmentConditionsMax + 1), "/conditions", "too_long"],
      [[], "/conditions", "too_short"],
      [[{ ...level, kind: "age" }], "/conditions/0/kind", "invalid_value"],
      [[{ ...level, path: "__proto__" }], "/conditions/0/path", "unknown_member"],
      [[{ ...level, value: undefined }], "/conditions/0/value", "missing"],
      [[{ ...pro, attribute: "" }], "/conditions/0/attribute", "too_short"],
      [[{ ...level, value: "x" }], "/conditions/0/value", "invalid_type"],
    ]
    for (const [conditions, pointer, code] of wrong) {
      expect(faultsOf(await make(conditions))).toEqual([[pointer, code]])
    }
    const name = "a".repeat(limits.attributeNameCharactersMax)
    expect((await make([{ ...pro, attribute: name }])).status).toBe(201)
    expect((await make([{ ...pro, attribute: `${name}a` }])).status).toBe(400)
  })

  it("belong to one environment", async () => {
    const [one, other] = [newPlace(), newPlace()]
    const id = await one.create("/v1/segments", proSegment)
    for (const name of [id, "pro"]) {
      expect(problemOf(await other.get(`/v1/segments/${name}`))[0]).toBe(404)
      expect(problemOf(await other.patch(`/v1/segments/${name}`, { name: "x" }))[0]).toBe(404)
      expect(problemOf(await other.get(`/v1/users?segment=${name}`))).toEqual([
        404,
        "segment_not_found",
      ])
    }
    const rule = { action: "TAP", reward: { xp: 1 }, segment: "pro" }
    expect(faultsOf(await other.post("/v1/rules", rule))).toEqual([
      ["/segment", "unknown_reference"],
    ])
    expect((await one.post("/v1/rules", rule)).status).toBe(201)
    expect(problemOf(await one.delete("/v1/segments/pro"))).toEqual([409, "in_use"])
  })

  it("decide who earns, and simulate and history name those that held", async () => {
    const place = newPlace()
    await place.create("/v1/segments", proSegment)
    await place.create("/v1/segments", { ...proSegment, key: "unused", name: "Unused" })
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 }, segment: "pro" })
    await put(place, "ada", { plan: "pro" })
    await put(place, "bob", { plan: "free" })
    const event = (userId: string) => ({ userId, action: "TAP" })
    const simulated = async (userId: string) => {
      const { segments, xp } = (await place.post("/v1/project/simulate", event(userId))).json
      return [xp.earned, segments]
    }
    expect([await simulated("ada"), await simulated("bob")]).toEqual([
      [5, ["pro"]],
      [0, []],
    ])
    expect((await place.track("ada", "TAP")).json.xp.earned).toBe(5)
    expect((await place.track("bob", "TAP")).json.xp.earned).toBe(0)
    const causes = async (id: string) =>
      (await place.get(`/v1/users/${id}/history?kind=event.tracked`)).json.facts.map(
        (fact: { cause: { segments: unknown } }) => fact.cause.segments,
      )
    expect([await causes("ada"), await causes("bob")]).toEqual([[["pro"]], [[]]])
    const rule = { action: "TAP", reward: { xp: 7 }, segment: "unused" }
    const draft = await place.post("/v1/project/preview", { event: event("ada"), rule })
    expect([draft.json.xp.earned, draft.json.segments]).toEqual([12, ["pro", "unused"]])
  })

  it("of a user are those of the present state", async () => {
    const place = newPlace()
    await place.create("/v1/segments", proSegment)
    await place.create("/v1/segments", { key: "level-two", name: "Two", conditions: [level] })
    await put(place, "ada", { plan: "pro" })
    const keys = async () => {
      const { json } = await place.get("/v1/users/ada/segments")
      expect(json.userId).toBe("ada")
      return json.segments.map(({ key }: { key: string }) => key)
    }
    expect(await keys()).toEqual(["pro"])
    await place.post("/v1/users/ada/rewards", { type: "xp", amount: 100 })
    expect(await keys()).toEqual(["pro", "level-two"])
    await put(place, "ada", {})
    expect(await keys()).toEqual(["level-two"])
    expect(problemOf(await place.get("/v1/users/nobody/segments"))).toEqual([404, "user_not_found"])
  })

  it("list their users page by page", async () => {
    const place = newPlace()
    await place.create("/v1/segments", proSegment)
    for (let n = 0; n < 9; n++) await put(place, `u${n}`, { plan: n % 2 === 0 ? "pro" : "free" })
    const ids: Array<string> = []
    for (let cursor = ""; ; ) {
      const { json } = await place.get(`/v1/users?segment=pro&limit=2${cursor}`)
      ids.push(...json.users.map(({ id }: { id: string }) => id))
      expect(json).not.toHaveProperty("total")
      if (!json.hasMore) break
      cursor = `&cursor=${json.nextCursor}`
    }
    expect(ids).toEqual(["u0", "u2", "u4", "u6", "u8"])
    const found = await place.get("/v1/users?segment=pro&query=6")
    expect(found.json.users).toMatchObject([{ id: "u6" }])
  })

  it("try conditions on a user before they are saved", async () => {
    const place = newPlace()
    await place.create("/v1/badges", { key: "first", name: "First", criteria: { kind: "manual" } })
    await put(place, "ada", { plan: "pro" })
    const conditions = [
      pro,
      level,
      { kind: "badge", badge: "first", op: "exists" },
      { kind: "inactive_days", op: "exists" },
    ]
    const preview = (userId: string, match: string) =>
      place.post("/v1/segments/preview", { userId, match, conditions })
    expect((await preview("ada", "any")).json).toEqual({
      userId: "ada",
      member: true,
      conditions: [
        { holds: true, found: "pro" },
        { holds: false, found: 1 },
        { holds: false, found: null },
        { holds: false, found: null },
      ],
    })
    expect((await preview("ada", "all")).json.member).toBe(false)
    expect((await preview("stranger", "any")).json.member).toBe(false)
    expect(problemOf(await place.get("/v1/users/stranger"))[0]).toBe(404)
    const badge = [{ kind: "badge", badge: "none", op: "exists" }]
    const unknown = await place.post("/v1/segments/preview", { userId: "a", conditions: badge })
    expect(faultsOf(unknown)).toEqual([["/conditions/0/badge", "unknown_reference"]])
    await place.post("/v1/users/ada/rewards", { reward: { badgeId: "first" } })
  })

  it("count their members in the background, and recount after an edit and when the count is old", async () => {
    const place = newPlace()
    await place.create("/v1/segments", proSegment)
    await place.create("/v1/segments", {
      ...proSegment,
      key: "all",
      conditions: [{ ...level, value: 1 }],
    })
    for (let n = 0; n < 30; n++) await put(place, `u${n}`, { plan: n < 7 ? "pro" : "free" })
    const first = await countOf(place, "pro")
    expect(first).toEqual({ count: 7, countedAt: expect.stringMatching(isoTime), counting: false })
    expect((await countOf(place, "all")).count).toBe(30)
    await put(place, "u20", { plan: "pro" })
    expect(await countOf(place, "pro")).toEqual(first)
    await place.patch("/v1/segments/pro", { conditions: [{ ...pro, op: "ne" }] })
    expect((await countOf(place, "pro")).count).toBe(22)
    await place.patch("/v1/segments/pro", { conditions: [pro] })
    expect((await countOf(place, "pro")).count).toBe(8)
    await place.call("DELETE", "/v1/users/u0")
    const until = (await place.get("/v1/test-clock")).json.now
    const advanceTo = new Date(Date.parse(until) + limits.segmentCountFreshMs).toISOString()
    expect((await place.post("/v1/test-clock", { advanceTo })).status).toBe(200)
    const stale = (await place.get("/v1/segments/pro")).json.members
    expect(stale).toMatchObject({ count: 8, counting: true })
    expect((await countOf(place, "pro")).count).toBe(7)
  })

  it("follow the test clock", async () => {
    const place = newPlace()
    const conditions = [{ kind: "inactive_days", op: "gte", value: 7 }]
    await place.create("/v1/segments", { key: "away", name: "Away", conditions })
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 }, segment: "away" })
    const earned = async () => (await place.track("ada", "TAP")).json.xp.earned
    expect(await earned()).toBe(0)
    const { now } = (await place.get("/v1/test-clock")).json
    const advance = (days: number) =>
      place.post("/v1/test-clock", {
        advanceTo: new Date(Date.parse(now) + days * 86_400_000).toISOString(),
      })
    await advance(6.9)
    expect(await earned()).toBe(0)
    await advance(13.95)
    expect((await place.get("/v1/users/ada/segments")).json.segments).toMatchObject([
      { key: "away" },
    ])
    expect(await earned()).toBe(5)
    expect(await earned()).toBe(0)
  })
})

describe("A quest and a badge with a segment", () => {
  it("are seen by clients only as members", async () => {
    const place = newPlace()
    const environment = `prj_segments${places - 1}:sandbox`
    await place.create("/v1/segments", proSegment)
    const steps = [{ key: "taps", action: "TAP", target: 2 }]
    await place.create("/v1/quests", { title: "Q", reward: { xp: 1 }, steps, segment: "pro" })
    const criteria = { kind: "xp", target: 5 }
    await place.create("/v1/badges", { name: "B", criteria, segment: "pro" })
    await put(place, "ada", { plan: "pro" })
    await put(place, "bob", {})
    const tokenOf = (userId: string) =>
      server.accounts.addKey(`token-${userId}-segments`, {
        environment,
        kind: "user",
        scope: "user",
        userId,
      })
    const page = server.accounts.addKey("lk_pub_segments", {
      environment,
      kind: "publishable",
    })
    const seen = async (key: string) => {
      const [badges, quests, badge] = await Promise.all(
        ["/v1/badges", "/v1/quests", "/v1/badges/b"].map((path) =>
          place.call("GET", path, { key }),
        ),
      )
      return [badges!.json.badges.length, quests!.json.quests.length, badge!.status]
    }
    expect(await seen(tokenOf("ada"))).toEqual([1, 1, 200])
    expect(await seen(tokenOf("bob"))).toEqual([0, 0, 404])
    expect(await seen(page)).toEqual([0, 0, 404])
    expect(await seen(place.key)).toEqual([1, 1, 200])
    const progressOf = async (id: string) => {
      const { badges, quests } = (await place.get(`/v1/users/${id}/progress`)).json
      return [badges.length, quests.length]
    }
    expect([await progressOf("ada"), await progressOf("bob")]).toEqual([
      [1, 1],
      [0, 0],
    ])
  })
})

describe("A file of definitions", () => {
  it("brings segments and those who name them to another environment", async () => {
    const [from, to] = [newPlace(), newPlace()]
    const conditions = [pro, { kind: "percent", salt: "s", op: "lt", value: 10 }]
    await from.create("/v1/segments", {
      ...proSegment,
      match: "any",
      conditions,
      metadata: { a: 1 },
    })
    await from.create("/v1/rules", { action: "TAP", reward: { xp: 5 }, segment: "pro" })
    const { json: definitions } = await from.get("/v1/definitions")
    expect(definitions.segments).toEqual([
      {
        id: expect.stringMatching(/^seg_/),
        ...proSegment,
        match: "any",
        conditions,
        metadata: { a: 1 },
      },
    ])
    expect(definitions.rules[0].segment).toBe("pro")
    const diff = await to.post("/v1/definitions/diff", { definitions })
    expect(diff.json.changes).toMatchObject([
      { op: "create", kind: "segment", key: "pro", name: "Pro" },
      { op: "create", kind: "rule" },
    ])
    expect((await to.post("/v1/definitions/apply", { definitions })).json.created).toBe(2)
    expect((await to.post("/v1/definitions/apply", { definitions })).json.changes).toEqual([])
    expect((await to.get("/v1/definitions")).json).toEqual(definitions)
    const none = { definitions: { segments: [], rules: [] }, delete: true }
    expect((await to.post("/v1/definitions/apply", none)).json.deleted).toBe(2)
  })
})
