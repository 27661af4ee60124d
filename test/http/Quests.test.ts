import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { faultsOf, inHours, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `quests${places++}`)
const reward = { xp: 10 }
const lessons = { key: "lessons", action: "LESSON_DONE", target: 2 }

describe("POST /v1/quests", () => {
  it("creates a quest with defaults", async () => {
    const body = { title: "Read a book", reward: { xp: 0 } }
    const { headers, json, status } = await newPlace().post("/api/v1/quests", body)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/quests/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^qst_[0-9a-f]{32}$/),
      key: "read-a-book",
      title: "Read a book",
      description: null,
      status: "active",
      reward: { xp: 0, points: 0, badgeId: null },
      steps: [],
      startsAt: null,
      segment: null,
      endsAt: null,
      recurrence: "none",
      prerequisites: [],
      optIn: false,
      claim: "auto",
      metadata: {},
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
  })

  it("creates a quest with all members, and shows the same members later", async () => {
    const place = newPlace()
    const badgeId = await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })
    const first = await place.create("/v1/quests", { title: "First", reward })
    const where = [{ path: "score", op: "gte", value: 90 }]
    const body = {
      title: "Then",
      description: "Two\nlessons",
      reward: { xp: 5, points: 7, badgeId },
      steps: [
        { ...lessons, where },
        { key: "tap", action: "TAP", target: 1 },
      ],
      startsAt: "2026-01-01T01:00:00+01:00",
      endsAt: inHours(1),
      recurrence: "weekly",
      prerequisites: [first],
      status: "draft",
      metadata: { icon: "book", list: [1, null] },
    }
    const { json } = await place.post("/v1/quests", body)
    expect(json).toMatchObject({
      ...body,
      key: "then",
      prerequisites: ["first"],
      startsAt: "2026-01-01T00:00:00.000Z",
      steps: [
        { ...lessons, where },
        { key: "tap", action: "TAP", where: [], target: 1 },
      ],
    })
    const counts = { inProgress: 0, completed: 0 }
    expect((await place.get(`/v1/quests/${json.id}`)).json).toEqual({ ...json, counts })
  })

  it("starts a quest by the clock", async () => {
    const place = newPlace()
    const { json } = await place.post("/v1/quests", {
      title: "Later",
      reward,
      startsAt: inHours(1),
    })
    expect(json.status).toBe("scheduled")
    const metadata = { questId: json.id }
    expect(problemOf(await place.track("u", "QUEST_COMPLETE", metadata))).toEqual([
      409,
      "quest_not_active",
    ])
  })

  it("answers a repeat with the same Idempotency-Key with the first quest", async () => {
    const place = newPlace()
    const send = () =>
      place.call("POST", "/v1/quests", {
        body: { title: "Once", reward },
        headers: { "idempotency-key": "k" },
      })
    const [first, second] = [await send(), await send()]
    expect(second.json).toEqual(first.json)
    expect([second.headers.location, second.headers["idempotency-replayed"]]).toEqual([
      first.headers.location,
      "true",
    ])
    expect((await place.get("/v1/quests")).json.total).toBe(1)
  })
})

describe("GET /v1/quests", () => {
  it("lists quests in order, filtered by present status, in pages", async () => {
    const place = newPlace()
    const create = (title: string, more: object = {}) =>
      place.create("/v1/quests", { title, reward, ...more })
    for (const title of ["a", "b", "c", "d"]) await create(title)
    await create("draft", { status: "draft" })
    await create("later", { startsAt: inHours(1) })
    const paused = await create("paused")
    await place.patch(`/v1/quests/${paused}`, { status: "paused" })
    const ended = await create("ended")
    await place.patch(`/v1/quests/${ended}`, { endsAt: inHours(-1) })
    await place.delete(`/v1/quests/${await create("gone")}`)
    const list = async (query: string) => {
      const { hasMore, nextCursor, quests, total } = (await place.get(`/v1/quests${query}`)).json
      expect(nextCursor !== null).toBe(hasMore)
      cursor = nextCursor
      return [quests.map(({ title }: { title: string }) => title).join(" "), total, hasMore]
    }
    let cursor: string | null = null
    expect(await list("")).toEqual(["a b c d draft later paused ended", 8, false])
    expect(await list("?limit=5")).toEqual(["a b c d draft", 8, true])
    expect(await list(`?limit=3&cursor=${cursor}`)).toEqual(["later paused ended", 8, false])
    expect(await list("?status=active&limit=3")).toEqual(["a b c", 4, true])
    expect(await list(`?status=active&limit=3&cursor=${cursor}`)).toEqual(["d", 4, false])
    const found: ReadonlyArray<readonly [string, string]> = [
      ["draft", "draft"],
      ["scheduled", "later"],
      ["paused", "paused"],
      ["ended", "ended"],
      ["archived", "gone"],
    ]
    for (const [status, title] of found) {
      expect(await list(`?status=${status}`)).toEqual([title, 1, false])
    }
  })
})

describe("GET /v1/quests/:id", () => {
  it("counts the users with unfinished progress and those who completed the quest", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", { title: "Two", reward, steps: [lessons] })
    await place.track("ada", "LESSON_DONE")
    await place.track("bob", "LESSON_DONE")
    await place.track("bob", "LESSON_DONE")
    await place.track("cyd", "OTHER")
    expect((await place.get(`/v1/quests/${id}`)).json.counts).toEqual({
      inProgress: 1,
      completed: 1,
    })
  })

  it("answers 404 for unknown quests and for those of another environment", async () => {
    const id = await newPlace().create("/v1/quests", { title: "T", reward })
    const elsewhere = newPlace()
    for (const path of [`/v1/quests/${id}`, "/v1/quests/__proto__", "/v1/quests/%20"]) {
      expect(problemOf(await elsewhere.get(path))).toEqual([404, "quest_not_found"])
      expect(problemOf(await elsewhere.patch(path, {}))).toEqual([404, "quest_not_found"])
      expect(problemOf(await elsewhere.delete(path))).toEqual([404, "quest_not_found"])
    }
  })
})

describe("PATCH /v1/quests/:id", () => {
  it("changes the members that it names, and removes those that are null", async () => {
    const place = newPlace()
    const body = {
      title: "Before",
      description: "D",
      reward: { xp: 5, points: 7 },
      steps: [lessons],
      startsAt: inHours(-1),
      endsAt: inHours(1),
      recurrence: "daily",
      metadata: { a: 1, b: { c: 2, d: 3 } },
    }
    const created = (await place.post("/v1/quests", body)).json
    const path = `/v1/quests/${created.id}`
    const same = await place.patch(path, {})
    expect(same.json).toEqual({
      ...created,
      version: 2,
      updatedAt: same.json.updatedAt,
    })
    const { json } = await place.patch(path, {
      title: "After",
      reward: { points: 8 },
      metadata: { b: { c: null }, e: 5 },
    })
    expect(json).toEqual({
      ...created,
      title: "After",
      reward: { xp: 5, points: 8, badgeId: null },
      metadata: { a: 1, b: { d: 3 }, e: 5 },
      version: 3,
      updatedAt: json.updatedAt,
    })
    const emptied = await place.patch(path, {
      description: null,
      reward: { points: null, badgeId: null },
      steps: null,
      startsAt: null,
      endsAt: null,
      recurrence: null,
      prerequisites: null,
      metadata: null,
    })
    expect(emptied.json).toMatchObject({
      title: "After",
      description: null,
      reward: { xp: 5, points: 0, badgeId: null },
      steps: [],
      startsAt: null,
      endsAt: null,
      recurrence: "none",
      prerequisites: [],
      metadata: {},
    })
  })

  it("may come as a merge patch or as JSON", async () => {
    const place = newPlace()
    const path = `/v1/quests/${await place.create("/v1/quests", { title: "T", reward })}`
    const send = (type: string) =>
      place.call("PATCH", path, { body: { title: type }, headers: { "content-type": type } })
    for (const type of ["application/merge-patch+json", "application/json; charset=utf-8"]) {
      expect((await send(type)).json.title).toBe(type)
    }
    const { headers, status } = await send("application/json-patch+json")
    expect([status, headers["accept-patch"]]).toEqual([
      415,
      "application/merge-patch+json, application/json",
    ])
  })

  it("changes the status where the contract allows it", async () => {
    const place = newPlace()
    const path = `/v1/quests/${await place.create("/v1/quests", { title: "T", reward, status: "draft" })}`
    const move = async (status: string) => {
      const reply = await place.patch(path, { status })
      return reply.status === 200 ? reply.json.status : problemOf(reply)
    }
    const refused = [409, "invalid_transition"]
    expect(await move("paused")).toEqual(refused)
    expect(await move("active")).toBe("active")
    expect(await move("draft")).toEqual(refused)
    expect(await move("scheduled")).toEqual(refused)
    expect(await move("paused")).toBe("paused")
    expect(await move("active")).toBe("active")
    expect(await move("ended")).toEqual(refused)
    expect(await move("archived")).toBe("archived")
    expect(await move("active")).toEqual(refused)
    expect(problemOf(await place.delete(path))).toEqual([404, "quest_not_found"])
  })

  it("keeps users' unfinished progress, by the keys of the steps", async () => {
    const place = newPlace()
    const steps = [lessons, { key: "old", action: "OLD", target: 3 }]
    const id = await place.create("/v1/quests", { title: "Q", reward, steps })
    await place.track("ada", "LESSON_DONE")
    await place.track("ada", "OLD")
    const changed = [
      { ...lessons, target: 3 },
      { key: "new", action: "NEW", target: 1 },
    ]
    await place.patch(`/v1/quests/${id}`, { title: "Q2", reward: { xp: 99 }, steps: changed })
    await place.track("ada", "NEW")
    const midway = (await place.track("ada", "LESSON_DONE")).json
    expect(midway.quests).toMatchObject([{ questId: id, progress: 0.75 }])
    const done = (await place.track("ada", "LESSON_DONE")).json
    expect(done.quests).toMatchObject([{ title: "Q2", status: "completed" }])
    expect(done.xp.earned).toBe(99)
  })

  it("completes at the next event for users who already reach a lowered target", async () => {
    const place = newPlace()
    const steps = [{ ...lessons, target: 5 }]
    const id = await place.create("/v1/quests", { title: "Q", reward, steps })
    for (let count = 0; count < 3; count++) await place.track("ada", "LESSON_DONE")
    await place.patch(`/v1/quests/${id}`, { steps: [lessons] })
    const { json } = await place.track("ada", "LESSON_DONE")
    expect(json.quests).toMatchObject([{ questId: id, status: "completed" }])
  })

  it("applies both of two changes that are sent at once", async () => {
    const place = newPlace()
    const path = `/v1/quests/${await place.create("/v1/quests", { title: "T", reward })}`
    const members = Array.from({ length: 20 }, (_, index) => `m${index}`)
    await Promise.all(members.map((name) => place.patch(path, { metadata: { [name]: 1 } })))
    expect(Object.keys((await place.get(path)).json.metadata).toSorted()).toEqual(
      members.toSorted(),
    )
  })

  it("cannot make a cycle of prerequisites, not even by two changes at once", async () => {
    const place = newPlace()
    const [a, b] = [
      await place.create("/v1/quests", { title: "A", reward }),
      await place.create("/v1/quests", { title: "B", reward }),
    ]
    const replies = await Promise.all([
      place.patch(`/v1/quests/${a}`, { prerequisites: [b] }),
      place.patch(`/v1/quests/${b}`, { prerequisites: [a] }),
    ])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400])
    const refused = replies.find(({ status }) => status === 400)!
    expect(faultsOf(refused)).toEqual([["/prerequisites/0", "cycle"]])
  })
})

describe("DELETE /v1/quests/:id", () => {
  it("archives the quest: it can still be read but not completed, and a second request gets 404", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", { title: "T", reward })
    const path = `/v1/quests/${id}`
    const { headers, status, text } = await place.delete(path)
    expect([status, text, headers["content-type"]]).toEqual([204, "", undefined])
    expect((await place.get(path)).json.status).toBe("archived")
    expect(problemOf(await place.track("u", "QUEST_COMPLETE", { questId: id }))).toEqual([
      409,
      "quest_not_active",
    ])
    expect(problemOf(await place.delete(path))).toEqual([404, "quest_not_found"])
    expect(problemOf(await place.patch(path, { title: "X" }))).toEqual([409, "invalid_transition"])
  })

  it("expires unfinished progress, and leaves rewards of completed users", async () => {
    const place = newPlace()
    const id = await place.create("/v1/quests", { title: "Two", reward, steps: [lessons] })
    for (const user of ["ada", "bob", "bob"]) await place.track(user, "LESSON_DONE")
    await place.delete(`/v1/quests/${id}`)
    const standing = async (user: string) => {
      const { json } = await place.get(`/v1/users/${user}/progress`)
      return [json.xp, json.quests.map(({ status }: { status: string }) => status)]
    }
    expect(await standing("ada")).toEqual([0, ["expired"]])
    expect(await standing("bob")).toEqual([10, ["completed"]])
    expect((await place.track("ada", "LESSON_DONE")).json.quests).toEqual([])
  })

  it("refuses to archive a prerequisite of other quests, and names them", async () => {
    const place = newPlace()
    const first = await place.create("/v1/quests", { title: "First", reward })
    const then = { title: "Then", reward, prerequisites: [first] }
    const second = await place.create("/v1/quests", then)
    const refused = await place.delete(`/v1/quests/${first}`)
    expect(problemOf(refused)).toEqual([409, "in_use"])
    expect(refused.json.detail).toContain(`quest ${second} (Then)`)
    expect((await place.get(`/v1/quests/${first}`)).json.status).toBe("active")
    await place.patch(`/v1/quests/${second}`, { prerequisites: [] })
    expect((await place.delete(`/v1/quests/${first}`)).status).toBe(204)
  })

  it("needs a key of full scope", async () => {
    const place = newPlace()
    const path = `/v1/quests/${await place.create("/v1/quests", { title: "T", reward })}`
    for (const scope of ["read", "ingest"] as const) {
      const environment = place.key.replace("lk_test_", "prj_")
      const key = server.accounts.addKey(`${place.key}_${scope}`, {
        environment: `${environment}:sandbox`,
        scope,
      })
      const got = await place.call("GET", path, { key })
      expect(got.status).toBe(scope === "read" ? 200 : 403)
      for (const [method, body] of [
        ["DELETE", undefined],
        ["PATCH", {}],
      ] as const) {
        const reply = await place.call(method, path, { key, body })
        expect(problemOf(reply)).toEqual([403, "insufficient_scope"])
      }
    }
  })
})
