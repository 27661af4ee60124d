import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `teams${places++}`)
const falcons = { kind: "club", name: "Falcons" }
const time = expect.stringMatching(isoTime)

const put = (place: Place, id: string, body: object = falcons) =>
  place.put(`/v1/teams/${encodeURIComponent(id)}`, body)
const join = async (place: Place, team: string, userId: string) =>
  (await place.call("PUT", `/v1/teams/${team}/members/${userId}`)).json
const leave = (place: Place, team: string, userId: string) =>
  place.delete(`/v1/teams/${team}/members/${userId}`)
const membersOf = async (place: Place, team: string, query = "") =>
  (await place.get(`/v1/teams/${team}/members${query}`)).json.members.map(
    ({ userId }: { userId: string }) => userId,
  )
const teamsOf = async (place: Place, userId: string) =>
  ((await place.get(`/v1/users/${userId}`)).json.teams ?? []).map(({ id }: { id: string }) => id)
const factsOf = async (place: Place, userId: string) =>
  (await place.get(`/v1/users/${userId}/history`)).json.facts.map(
    ({ cause, kind, teamId }: { cause: { kind: string }; kind: string; teamId?: string }) =>
      [kind, teamId, cause.kind].filter(Boolean).join(" "),
  )

describe("A team", () => {
  it("is created with the caller's id, changed member by member, read, and deleted", async () => {
    const place = newPlace()
    const { headers, json, status } = await put(place, "north/1")
    expect(status).toBe(200)
    expect(headers.etag).toBe('"1"')
    const created = { id: "north/1", ...falcons, attributes: {}, version: 1 }
    expect(json).toEqual({ ...created, createdAt: time, updatedAt: time })
    const attributes = { city: "Bremen", seats: 12 }
    const { json: changed } = await put(place, "north/1", { attributes })
    expect(changed).toMatchObject({ ...falcons, attributes, version: 2 })
    expect((await put(place, "north/1", { name: "Falcons" })).json).toEqual(changed)
    expect((await place.get("/v1/teams/north%2F1")).json).toEqual(changed)
    expect((await place.delete("/v1/teams/north%2F1")).status).toBe(204)
    expect(problemOf(await place.get("/v1/teams/north%2F1"))).toEqual([404, "team_not_found"])
    expect(problemOf(await place.delete("/v1/teams/north%2F1"))).toEqual([404, "team_not_found"])
  })

  it("is refused without a kind and a name, with all faults, and changes nothing", async () => {
    const place = newPlace()
    expect(faultsOf(await put(place, "a", {}))).toEqual([
      ["/kind", "missing"],
      ["/name", "missing"],
    ])
    expect(faultsOf(await put(place, "a", { kind: "Club", name: "", attributes: 1 }))).toEqual([
      ["/kind", "invalid_format"],
      ["/name", "too_short"],
      ["/attributes", "invalid_type"],
    ])
    await put(place, "a")
    expect(faultsOf(await put(place, "a", { kind: "class", name: "B" }))).toEqual([
      ["/kind", "invalid_value"],
    ])
    expect((await place.get("/v1/teams/a")).json).toMatchObject({ ...falcons, version: 1 })
  })

  it("is changed and deleted only in the version of If-Match, which creates nothing", async () => {
    const place = newPlace()
    const withTag = (method: string, tag: string, body?: object) =>
      place.call(method, "/v1/teams/a", { headers: { "If-Match": tag }, ...(body && { body }) })
    expect(problemOf(await withTag("PUT", '"1"', falcons))).toEqual([412, "version_conflict"])
    await put(place, "a")
    expect((await withTag("PUT", '"1"', { name: "B" })).json.version).toBe(2)
    expect(problemOf(await withTag("PUT", '"1"', { name: "C" }))).toEqual([412, "version_conflict"])
    expect(problemOf(await withTag("DELETE", '"1"'))).toEqual([412, "version_conflict"])
    expect((await withTag("DELETE", '"2"')).status).toBe(204)
  })

  it("is created once for each Idempotency-Key", async () => {
    const place = newPlace()
    const headers = { "Idempotency-Key": "one" }
    const send = () => place.call("PUT", "/v1/teams/a", { headers, body: falcons })
    await send()
    await put(place, "a", { name: "Later" })
    const { headers: replied, json } = await send()
    expect(replied["idempotency-replayed"]).toBe("true")
    expect(json).toMatchObject({ name: "Later", version: 2 })
  })

  it("is listed by id, all or one kind, in pages that a deletion does not move", async () => {
    const place = newPlace()
    for (let n = 0; n < 7; n++) {
      await put(place, `t${n}`, { kind: n % 2 === 0 ? "club" : "class", name: `T${n}` })
    }
    const page = async (query: string) => (await place.get(`/v1/teams?limit=2${query}`)).json
    const ids = ({ teams }: { teams: ReadonlyArray<{ id: string }> }) => teams.map(({ id }) => id)
    const first = await page("&kind=club")
    expect([ids(first), first.hasMore]).toEqual([["t0", "t2"], true])
    await place.delete("/v1/teams/t2")
    const second = await page(`&kind=club&cursor=${first.nextCursor}`)
    expect(second).toMatchObject({ hasMore: false, nextCursor: null })
    expect(ids(second)).toEqual(["t4", "t6"])
    expect(ids(await page(""))).toEqual(["t0", "t1"])
    const otherKind = await place.get(`/v1/teams?kind=class&cursor=${first.nextCursor}`)
    expect(faultsOf(otherKind)).toEqual([["query/cursor", "invalid_value"]])
  })

  it(`belongs to one of at most ${limits.teamKindsMax} kinds`, async () => {
    const place = newPlace()
    for (let n = 0; n < limits.teamKindsMax; n++) {
      expect((await put(place, `t${n}`, { kind: `k${n}`, name: "T" })).status).toBe(200)
    }
    const more = { kind: "more", name: "T" }
    expect(problemOf(await put(place, "more", more))).toEqual([409, "quota_exceeded"])
    expect((await put(place, "again", { kind: "k0", name: "T" })).status).toBe(200)
    await place.delete("/v1/teams/t1")
    expect((await put(place, "more", more)).status).toBe(200)
  })
})

describe("An environment", () => {
  it(`has at most ${limits.teamsMax} teams`, async () => {
    const place = newPlace()
    // A list of so many takes long to make one by one.
    const [one, other] = [limits.teamsMax, 2]
    Object.assign(limits, { teamsMax: other })
    try {
      for (const id of ["a", "b"]) expect((await put(place, id)).status).toBe(200)
      expect(problemOf(await put(place, "c"))).toEqual([409, "quota_exceeded"])
      expect((await put(place, "b", { name: "Changed" })).status).toBe(200)
      await place.delete("/v1/teams/a")
      expect((await put(place, "c")).status).toBe(200)
    } finally {
      Object.assign(limits, { teamsMax: one })
    }
  })
})

describe("A member of a team", () => {
  it("is added once, shown with the user, listed, and removed", async () => {
    const place = newPlace()
    await put(place, "a")
    const joined = await join(place, "a", "ada")
    expect(joined).toEqual({
      userId: "ada",
      teams: [{ id: "a", ...falcons, joinedAt: time }],
    })
    expect(await join(place, "a", "ada")).toEqual(joined)
    expect((await place.get("/v1/users/ada")).json.teams).toEqual(joined.teams)
    await place.put("/v1/users/ada", { displayName: "Ada" })
    expect((await place.get("/v1/teams/a/members")).json).toEqual({
      members: [{ userId: "ada", displayName: "Ada", joinedAt: joined.teams[0].joinedAt }],
      hasMore: false,
      nextCursor: null,
    })
    expect((await leave(place, "a", "ada")).status).toBe(204)
    expect(await membersOf(place, "a")).toEqual([])
    expect((await place.get("/v1/users/ada")).json.teams).toBeUndefined()
    expect(problemOf(await leave(place, "a", "ada"))).toEqual([404, "member_not_found"])
    expect(problemOf(await leave(place, "none", "ada"))).toEqual([404, "team_not_found"])
    const nowhere = await place.call("PUT", "/v1/teams/none/members/ada")
    expect(problemOf(nowhere)).toEqual([404, "team_not_found"])
  })

  it("leaves the former team of the kind, with both facts in the history, and no other", async () => {
    const place = newPlace()
    await put(place, "a")
    await put(place, "b", { kind: "club", name: "B" })
    await put(place, "c", { kind: "class", name: "C" })
    for (const team of ["a", "c", "b"]) await join(place, team, "ada")
    expect((await teamsOf(place, "ada")).toSorted()).toEqual(["b", "c"])
    expect(await membersOf(place, "a")).toEqual([])
    expect(await membersOf(place, "b")).toEqual(["ada"])
    expect(await factsOf(place, "ada")).toEqual([
      "team.joined b join",
      "team.left a join",
      "team.joined c join",
      "team.joined a join",
      "user.created join",
    ])
  })

  it("is in no team once the team is deleted, nor in a new team with its id", async () => {
    const place = newPlace()
    await put(place, "a")
    await join(place, "a", "ada")
    await place.delete("/v1/teams/a")
    expect(await teamsOf(place, "ada")).toEqual([])
    await put(place, "a")
    expect(await teamsOf(place, "ada")).toEqual([])
    expect(await membersOf(place, "a")).toEqual([])
    expect(problemOf(await leave(place, "a", "ada"))).toEqual([404, "member_not_found"])
    await join(place, "a", "ada")
    expect(await membersOf(place, "a")).toEqual(["ada"])
  })

  it("is listed by id, in pages that changes do not move", async () => {
    const place = newPlace()
    await put(place, "a")
    for (const userId of ["e", "b", "d", "c", "a"]) await join(place, "a", userId)
    const first = (await place.get("/v1/teams/a/members?limit=2")).json
    expect(first.hasMore).toBe(true)
    await leave(place, "a", "b")
    expect(await membersOf(place, "a", `?limit=2&cursor=${first.nextCursor}`)).toEqual(["c", "d"])
    await put(place, "b")
    const other = await place.get(`/v1/teams/b/members?cursor=${first.nextCursor}`)
    expect(faultsOf(other)).toEqual([["query/cursor", "invalid_value"]])
  })

  it("is gone with the erased user, and a new user with the id is none", async () => {
    const place = newPlace()
    await put(place, "a")
    await join(place, "a", "ada")
    await place.delete("/v1/users/ada")
    expect(await membersOf(place, "a")).toEqual([])
    await place.track("ada", "TAP")
    expect(await membersOf(place, "a")).toEqual([])
  })

  it("keeps its team in a merge, and gets the team of a kind of which it has none", async () => {
    const place = newPlace()
    await put(place, "a")
    await put(place, "b")
    await put(place, "c", { kind: "class", name: "C" })
    await join(place, "a", "visitor")
    await join(place, "c", "visitor")
    await join(place, "b", "ada")
    await place.post("/v1/users/visitor/merge", { into: "ada" })
    expect((await teamsOf(place, "ada")).toSorted()).toEqual(["b", "c"])
    expect(await membersOf(place, "a")).toEqual([])
    expect(await membersOf(place, "c")).toEqual(["ada"])
    expect(await join(place, "a", "visitor")).toMatchObject({ userId: "ada" })
    expect(await membersOf(place, "a")).toEqual(["ada"])
    expect(await membersOf(place, "b")).toEqual([])
  })

  it("gets the team of the merged user in place of a deleted one", async () => {
    const place = newPlace()
    for (const team of ["a", "b"]) await put(place, team)
    await join(place, "a", "ada")
    await join(place, "b", "visitor")
    await place.delete("/v1/teams/a")
    await place.post("/v1/users/visitor/merge", { into: "ada" })
    expect(await teamsOf(place, "ada")).toEqual(["b"])
    expect(await membersOf(place, "b")).toEqual(["ada"])
  })
})

describe("A segment", () => {
  it("asks for the team of a kind, as of before the event", async () => {
    const place = newPlace()
    for (const team of ["a", "b"]) await put(place, team)
    const condition = { kind: "team", team: "club", op: "in", value: ["a", "z"] }
    await place.create("/v1/segments", { name: "Of a", conditions: [condition] })
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 }, segment: "of-a" })
    await join(place, "b", "ada")
    const xpOf = async () => (await place.track("ada", "TAP")).json.xp.total
    expect(await xpOf()).toBe(0)
    await join(place, "a", "ada")
    expect(await xpOf()).toBe(5)
    await place.delete("/v1/teams/a")
    expect(await xpOf()).toBe(5)
    const preview = async (op: object) =>
      (
        await place.post("/v1/segments/preview", {
          userId: "ada",
          conditions: [{ kind: "team", team: "club", ...op }],
        })
      ).json
    expect((await preview({ op: "exists", value: false })).member).toBe(true)
    expect((await preview({ op: "ne", value: "a" })).member).toBe(true)
  })

  it("refuses a comparison of teams by order, and a condition without the kind", async () => {
    const place = newPlace()
    const conditions = [
      { kind: "team", team: "club", op: "gt", value: "a" },
      { kind: "team", op: "eq", value: "a" },
    ]
    expect(faultsOf(await place.post("/v1/segments", { name: "S", conditions }))).toEqual([
      ["/conditions/0/op", "invalid_value"],
      ["/conditions/1/team", "missing"],
    ])
  })
})
