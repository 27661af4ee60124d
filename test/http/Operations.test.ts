import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fullKey, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const post = (path: string, body: unknown) => server.call("POST", path, { body })
const get = (path: string) => server.call("GET", path)

/** An environment that no other test uses. */
const freshKey = (name: string) =>
  server.accounts.addKey(`lk_test_${name}`, { environment: `prj_${name}:sandbox` })

describe("POST /v1/events", () => {
  it("creates the user and earns nothing if no rule matches", async () => {
    const { json, status } = await post("/v1/events", { userId: "new", action: "NOTHING" })
    expect(status).toBe(200)
    expect(json).toEqual({
      eventId: expect.stringMatching(/^evt_[0-9a-z]{10,}$/),
      userId: "new",
      action: "NOTHING",
      duplicate: false,
      occurredAt: expect.stringMatching(isoTime),
      receivedAt: expect.stringMatching(isoTime),
      xp: { earned: 0, total: 0 },
      points: { earned: 0, total: 0 },
      level: { before: 1, after: 1 },
      badges: [],
      quests: [],
      streaks: [],
      matched: false,
    })
  })

  it("earns the rewards of the rules of its action, and changes the level", async () => {
    await post("/v1/rules", { action: "LESSON_DONE", reward: { xp: 60 } })
    await post("/v1/rules", { action: "LESSON_DONE", reward: { xp: 50 } })
    await post("/v1/rules", { action: "LESSON_DONE", reward: { xp: 1_000 }, status: "draft" })
    const { json } = await post("/v1/events", { userId: "learner", action: "LESSON_DONE" })
    expect(json.xp).toEqual({ earned: 110, total: 110 })
    expect(json.level).toEqual({ before: 1, after: 2 })
  })

  it("answers a known event id with the first outcome and changes nothing", async () => {
    const event = { userId: "once", action: "LESSON_DONE", id: "lesson-1" }
    const first = await post("/v1/events", event)
    const second = await post("/v1/events", { ...event, action: "OTHER" })
    expect(second.json).toEqual({ ...first.json, duplicate: true, differs: ["/action"] })
    expect((await get("/v1/users/once")).json.xp).toBe(110)
  })

  it("credits the time the caller names, whatever its zone", async () => {
    const moment = new Date(Date.now() - 3_600_000)
    const occurredAt = new Date(moment.getTime() + 7_200_000).toISOString().replace("Z", "+02:00")
    const { json } = await post("/v1/events", { userId: "zoned", action: "X", occurredAt })
    expect(json.occurredAt).toBe(moment.toISOString())
  })

  it("gives a quest's reward once for QUEST_COMPLETE", async () => {
    const quest = (await post("/v1/quests", { title: "First steps", reward: { xp: 300 } })).json
    const complete = {
      userId: "quester",
      action: "QUEST_COMPLETE",
      metadata: { questId: quest.id },
    }
    const shown = {
      questId: quest.id,
      key: "first-steps",
      title: "First steps",
      status: "completed",
      progress: 1,
    }
    const first = (await post("/v1/events", complete)).json
    expect(first.xp).toEqual({ earned: 300, total: 300 })
    expect(first.quests).toEqual([{ ...shown, alreadyCompleted: false }])
    const again = (await post("/v1/events", complete)).json
    expect(again.xp).toEqual({ earned: 0, total: 300 })
    expect(again.quests).toEqual([{ ...shown, alreadyCompleted: true }])
    expect((await get("/v1/users/quester/progress")).json.quests).toEqual([
      {
        questId: quest.id,
        key: "first-steps",
        title: "First steps",
        status: "completed",
        steps: [],
        periodEndsAt: null,
        completedAt: first.receivedAt,
      },
    ])
  })

  it("refuses QUEST_COMPLETE without a quest, for an unknown one, and for one that is a draft", async () => {
    const complete = (metadata?: object) =>
      post("/v1/events", { userId: "q2", action: "QUEST_COMPLETE", metadata })
    for (const metadata of [undefined, {}, { questId: 5 }]) {
      const { json, status } = await complete(metadata)
      expect([status, json.errors[0].pointer]).toEqual([400, "/metadata/questId"])
    }
    const unknown = await complete({ questId: "qst_none" })
    expect([unknown.status, unknown.json.code]).toEqual([404, "quest_not_found"])
    const draft = { title: "Later", reward: { xp: 1 }, status: "draft" }
    const quest = (await post("/v1/quests", draft)).json
    const refused = await complete({ questId: quest.id })
    expect([refused.status, refused.json.code]).toEqual([409, "quest_not_active"])
    expect((await get("/v1/users/q2")).status).toBe(404)
  })
})

describe("GET /v1/users/:id", () => {
  it("shows xp, level, badges and points with every member of the contract", async () => {
    await post("/v1/users/ada/rewards", { type: "xp", amount: 650 })
    const { json, status } = await get("/v1/users/ada")
    expect(status).toBe(200)
    expect(json).toEqual({
      id: "ada",
      displayName: null,
      timezone: null,
      attributes: {},
      hidden: false,
      xp: 650,
      level: 4,
      points: 0,
      balances: { xp: 650, points: 0 },
      badges: [],
      lastEventAt: null,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: expect.stringMatching(isoTime),
    })
  })

  it("answers 404 for an unknown user", async () => {
    for (const path of ["/v1/users/nobody", "/v1/users/nobody/progress"]) {
      const { json, status } = await get(path)
      expect([status, json.code]).toEqual([404, "user_not_found"])
    }
  })

  it("takes ids of any Unicode, percent-encoded slashes and names of object members", async () => {
    const ids = ["a/b", "ü💚", "__proto__", "constructor", "a%2Fb", "...", "x y", "?#", "progress"]
    for (const id of ids) {
      const path = `/v1/users/${encodeURIComponent(id)}`
      const granted = await post(`${path}/rewards`, { type: "xp", amount: 5 })
      expect([granted.status, granted.json.userId, granted.json.xp.total]).toEqual([200, id, 5])
      expect((await get(path)).json.id).toBe(id)
    }
  })
})

describe("The ids . and .., which URLs cannot hold", () => {
  const refused = { code: "invalid_format", detail: "must not be . or .., which URLs cannot hold" }

  it("are refused wherever a caller chooses an id", async () => {
    for (const id of [".", ".."]) {
      const bodies = [
        ["/v1/events", { userId: id, action: "TAP" }, "/userId"],
        ["/v1/events", { userId: "dots", action: "TAP", id }, "/id"],
        ["/v1/users/dots/rewards", { type: "xp", amount: 5, id }, "/id"],
        ["/v1/users/dots/points/spend", { amount: 5, id }, "/id"],
        ["/v1/project/simulate", { userId: id, action: "TAP" }, "/userId"],
      ] as const
      for (const [path, body, pointer] of bodies) {
        const { json, status } = await post(path, body)
        expect([status, json.errors]).toEqual([400, [{ pointer, ...refused }]])
      }
      const batch = await post("/v1/events/batch", { events: [{ userId: id, action: "TAP" }] })
      expect(batch.json).toMatchObject({ accepted: 0, rejected: 1 })
      for (const path of [`/v1/users/${id}`, `/v1/users/${id.replaceAll(".", "%2e")}`]) {
        const text = await server.raw(
          `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${fullKey}\r\n\r\n`,
        )
        const { errors } = JSON.parse(text.slice(text.indexOf("\r\n\r\n")))
        expect(errors).toEqual([{ pointer: "path/id", ...refused }])
      }
    }
    expect((await get("/v1/users/dots")).status).toBe(404)
  })
})

describe("GET /v1/users/:id/progress", () => {
  it("shows the progress within the level, and the rank", async () => {
    await post("/v1/users/bob/rewards", { type: "xp", amount: 999_999 })
    const { json } = await get("/v1/users/bob/progress")
    expect(json).toEqual({
      userId: "bob",
      xp: 999_999,
      level: 141,
      levelProgress: {
        xpAtStart: 987_000,
        xpAtNext: 1_001_100,
        xpInto: 12_999,
        xpToNext: 1_101,
        ratio: 12_999 / 14_100,
      },
      rank: 1,
      points: 0,
      balances: { xp: 999_999, points: 0 },
      badges: [],
      quests: expect.any(Array),
      streaks: [],
    })
  })

  it("has no rank without xp", async () => {
    await post("/v1/events", { userId: "beginner", action: "NOTHING" })
    expect((await get("/v1/users/beginner/progress")).json.rank).toBeNull()
  })
})

describe("POST /v1/users/:id/rewards", () => {
  it("grants xp, and a second grant with the same id changes nothing", async () => {
    const grant = { type: "xp", amount: 100, reason: "Welcome", id: "welcome" }
    const first = await post("/v1/users/carol/rewards", grant)
    expect(first.status).toBe(200)
    expect(first.json).toEqual({
      rewardId: expect.stringMatching(/^rwd_[0-9a-z]{10,}$/),
      userId: "carol",
      reward: { xp: 100, points: 0, badgeId: null },
      type: "xp",
      amount: 100,
      badgeId: null,
      duplicate: false,
      xp: { earned: 100, total: 100 },
      points: { earned: 0, total: 0 },
      balances: { xp: 100, points: 0 },
      level: { before: 1, after: 2 },
      badges: [],
    })
    const second = await post("/v1/users/carol/rewards", { ...grant, amount: 7 })
    expect(second.json).toEqual({ ...first.json, duplicate: true, differs: ["/amount"] })
  })
})

describe("GET /v1/leaderboard", () => {
  it("ranks users by xp; equal users share a rank and stand in order of arrival", async () => {
    const key = freshKey("board")
    const grant = (user: string, amount: number) =>
      server.call("POST", `/v1/users/${user}/rewards`, { key, body: { type: "xp", amount } })
    await grant("second", 500)
    await grant("first", 900)
    await grant("also-second", 500)
    await grant("last", 1)
    const read = (path: string) => server.call("GET", path, { key })
    const { json } = await read("/v1/leaderboard")
    const entry = (rank: number, userId: string, xp: number, level: number) => ({
      rank,
      userId,
      displayName: null,
      xp,
      level,
      previousRank: null,
    })
    expect(json).toEqual({
      window: { kind: "all_time", startsAt: null, endsAt: null },
      entries: [
        entry(1, "first", 900, 4),
        entry(2, "second", 500, 3),
        entry(2, "also-second", 500, 3),
        entry(4, "last", 1, 1),
      ],
      total: 4,
      limit: 20,
      offset: 0,
      hasMore: false,
    })
    const page = (await read("/api/v1/leaderboard?limit=1&offset=2&window=all_time")).json
    expect([page.entries, page.hasMore]).toEqual([[entry(2, "also-second", 500, 3)], true])
    const past = (await read("/v1/leaderboard?offset=9007199254740991")).json
    expect([past.entries, past.total, past.hasMore]).toEqual([[], 4, false])
  })
})

describe("webhooks", () => {
  const url = "https://example.com/laurel"

  it("show their secret once, at creation", async () => {
    const key = freshKey("webhooks")
    const body = { url, events: ["xp.earned", "quest.*"], description: "Ours" }
    const created = await server.call("POST", "/v1/webhooks", { key, body })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`/v1/webhooks/${created.json.id}`)
    const { secret, ...shown } = created.json
    expect(Buffer.from(secret.slice("whsec_".length), "base64")).toHaveLength(32)
    expect(shown).toEqual({
      ...body,
      id: expect.stringMatching(/^whk_/),
      status: "enabled",
      disabledReason: null,
      disabledAt: null,
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: expect.stringMatching(isoTime),
    })
    const { json, text } = await server.call("GET", "/v1/webhooks", { key })
    expect(json.webhooks).toEqual([shown])
    expect(text).not.toContain("whsec_")
  })

  it("keep the normalised URL", async () => {
    const { json } = await post("/v1/webhooks", {
      url: "HTTP://EXAMPLE.com:80/a/../b?c#d",
      events: ["*"],
    })
    expect(json.url).toBe("http://example.com/b?c")
  })

  it("are refused for addresses inside the network", async () => {
    const urls = [
      "http://127.0.0.1/",
      "http://2130706433/",
      "http://localhost:8080/",
      "https://[::ffff:10.0.0.1]/",
      "http://169.254.169.254/latest/meta-data",
      "ftp://example.com/",
      "https://user:secret@example.com/",
      "example.com",
    ]
    for (const refused of urls) {
      const { json, status, text } = await post("/v1/webhooks", { url: refused, events: ["*"] })
      expect([refused, status, json.errors[0].pointer]).toEqual([refused, 400, "/url"])
      expect(text).not.toContain("secret")
    }
  })

  it("need https in production", async () => {
    const key = server.accounts.addKey("lk_live_full", {
      environment: "prj_test:production",
      environmentName: "production",
    })
    const create = (address: string) =>
      server.call("POST", "/v1/webhooks", { key, body: { url: address, events: ["*"] } })
    expect((await create("http://example.com/")).json.errors[0].pointer).toBe("/url")
    expect((await create(url)).status).toBe(201)
  })
})

describe("environments", () => {
  it("share nothing", async () => {
    const sandbox = freshKey("apart")
    const production = server.accounts.addKey("lk_live_apart", {
      environment: "prj_apart:production",
      environmentName: "production",
    })
    const body = { type: "xp", amount: 5 }
    await server.call("POST", "/v1/users/u/rewards", { key: sandbox, body })
    expect((await server.call("GET", "/v1/users/u", { key: sandbox })).json.xp).toBe(5)
    expect((await server.call("GET", "/v1/users/u", { key: production })).status).toBe(404)
    const board = await server.call("GET", "/v1/leaderboard", { key: production })
    expect(board.json.entries).toEqual([])
  })
})
