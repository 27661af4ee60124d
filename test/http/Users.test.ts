/** Users, and rewards that are granted and revoked by request. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { questWith } from "../domain/definitions.ts"
import { type Reply, startServer, type TestServer } from "./fixture.ts"

const environment = "prj_test:sandbox"
const badgeId = "bdg_medal"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  const define = (command: Parameters<TestServer["engine"]["askProject"]>[1]) =>
    Effect.runPromise(server.engine.askProject(environment, command))
  await define({
    kind: "createBadge",
    badge: {
      id: badgeId,
      name: "Medal",
      description: "For the brave.",
      icon: "medal.svg",
      secret: false,
      criteria: { kind: "manual" },
    },
  })
  await define({
    kind: "createQuest",
    quest: questWith({
      id: "qst_taps",
      title: "Two taps",
      reward: { xp: 100, points: 7, badgeId },
      steps: [{ key: "taps", action: "TAP", where: [], target: 2 }],
    }),
  })
})
afterAll(() => server.stop())

const post = (path: string, body: unknown) => server.call("POST", path, { body })
const put = (id: string, body: unknown) =>
  server.call("PUT", `/v1/users/${encodeURIComponent(id)}`, { body })
const get = (path: string) => server.call("GET", path)
const remove = (path: string) => server.call("DELETE", path)
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const faultsOf = ({ json, status }: Reply) => {
  expect([status, json.code]).toEqual([400, "invalid_request"])
  return json.errors.map(({ code, pointer }: { code: string; pointer: string }) => [pointer, code])
}

describe("PUT /v1/users/:id", () => {
  it("creates a user with the members sent, and defaults for the rest", async () => {
    const { json, status } = await put("ada", { displayName: "Ada" })
    expect(status).toBe(200)
    expect(json).toEqual({
      id: "ada",
      displayName: "Ada",
      timezone: null,
      attributes: {},
      hidden: false,
      xp: 0,
      level: 1,
      points: 0,
      balances: { xp: 0, points: 0 },
      badges: [],
      lastEventAt: null,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    expect((await get("/v1/users/ada")).json).toEqual(json)
  })

  it("changes the members sent, and nothing else", async () => {
    const profile = {
      displayName: "Bob",
      timezone: "Europe/Berlin",
      attributes: { plan: "pro", seats: 5, beta: true },
      hidden: true,
    }
    await put("bob", profile)
    expect((await put("bob", {})).json).toMatchObject(profile)
    const changed = { ...profile, attributes: { seats: 6 } }
    expect((await put("bob", { attributes: { seats: 6 } })).json).toMatchObject(changed)
    const { json } = await put("bob", { displayName: null, timezone: null, hidden: false })
    expect(json).toMatchObject({ displayName: null, timezone: null, hidden: false })
    expect(json.attributes).toEqual({ seats: 6 })
  })

  it("keeps a time zone as the database writes it, however it was sent", async () => {
    for (const [sent, kept] of [
      ["europe/berlin", "Europe/Berlin"],
      ["ASIA/CALCUTTA", "Asia/Calcutta"],
      ["utc", "UTC"],
    ]) {
      expect((await put("zed", { timezone: sent })).json.timezone).toBe(kept)
      expect((await get("/v1/users/zed")).json.timezone).toBe(kept)
    }
  })

  it("accepts every bound", async () => {
    const names = Array.from({ length: limits.attributesMax }, (_, index) => `n${index}`)
    const bodies: ReadonlyArray<object> = [
      { displayName: "x" },
      { displayName: "😀".repeat(limits.displayNameCharactersMax) },
      { timezone: "UTC" },
      { timezone: "America/Argentina/Buenos_Aires" },
      { attributes: Object.fromEntries(names.map((name) => [name, 1])) },
      { attributes: { ["ü".repeat(limits.attributeNameCharactersMax)]: "" } },
      { attributes: { x: "é".repeat(limits.attributeTextCharactersMax) } },
      { attributes: { x: "two\nlines", constructor: false, y: -1.5e300 } },
    ]
    for (const body of bodies) {
      const { json, status } = await put("bounds", body)
      expect([body, status]).toEqual([body, 200])
      expect(json).toMatchObject(body)
    }
  })

  it("refuses values beyond every bound, all faults at once, and changes nothing", async () => {
    await put("same", { displayName: "Same" })
    const before = (await get("/v1/users/same")).json
    const names = Array.from({ length: limits.attributesMax + 1 }, (_, index) => `n${index}`)
    const long = "x".repeat(limits.attributeNameCharactersMax + 1)
    const cases: ReadonlyArray<readonly [object, string, string]> = [
      [{ displayName: "" }, "/displayName", "too_short"],
      [
        { displayName: "x".repeat(limits.displayNameCharactersMax + 1) },
        "/displayName",
        "too_long",
      ],
      [{ displayName: "two\nlines" }, "/displayName", "invalid_format"],
      [{ displayName: 5 }, "/displayName", "invalid_type"],
      [{ timezone: "Europe/Atlantis" }, "/timezone", "invalid_value"],
      [{ timezone: "+02:00" }, "/timezone", "invalid_value"],
      [{ timezone: "" }, "/timezone", "invalid_value"],
      [{ attributes: Object.fromEntries(names.map((n) => [n, 1])) }, "/attributes", "too_long"],
      [{ attributes: { [long]: 1 } }, `/attributes/${long}`, "too_long"],
      [{ attributes: { "": 1 } }, "/attributes/", "too_short"],
      [{ attributes: { "a\u0000": 1 } }, "/attributes/a\u0000", "invalid_format"],
      [
        { attributes: { x: "é".repeat(limits.attributeTextCharactersMax + 1) } },
        "/attributes/x",
        "too_long",
      ],
      [{ attributes: { x: null } }, "/attributes/x", "invalid_type"],
      [{ attributes: { x: {} } }, "/attributes/x", "invalid_type"],
      [{ attributes: [] }, "/attributes", "invalid_type"],
      [JSON.parse('{"attributes":{"__proto__":{}}}'), "/attributes/__proto__", "invalid_type"],
      [{ hidden: "yes" }, "/hidden", "invalid_type"],
      [{ hidden: null }, "/hidden", "invalid_type"],
      [{ name: "x" }, "/name", "unknown_member"],
    ]
    for (const [body, pointer, code] of cases) {
      expect(faultsOf(await put("same", body))).toEqual([[pointer, code]])
    }
    expect(faultsOf(await put("same", { displayName: 1, timezone: "x", hidden: 1 }))).toHaveLength(
      3,
    )
    const tooLong = await put("u".repeat(129), { hidden: true })
    expect(faultsOf(tooLong)).toEqual([["path/id", "too_long"]])
    expect((await get("/v1/users/same")).json).toEqual(before)
  })

  it("finds no user where an erasure came between the change and the reply", async () => {
    const erasing = await startServer({
      wrapEngine: (engine) => ({
        ...engine,
        askUser: (environment, message, ...idempotency) =>
          Effect.tap(engine.askUser(environment, message, ...idempotency), () => {
            const command = { kind: "erasure" } as const
            return Effect.orDie(engine.askUser(environment, { userId: message.userId, command }))
          }),
      }),
    })
    try {
      const { json, status } = await erasing.call("PUT", "/v1/users/gone", { body: {} })
      expect([status, json.code]).toEqual([404, "user_not_found"])
    } finally {
      await erasing.stop()
    }
  })

  it("needs a key that may write", async () => {
    for (const scope of ["read", "ingest"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}`, { scope })
      const { status } = await server.call("PUT", "/v1/users/x", { key, body: {} })
      expect(status).toBe(403)
    }
  })
})

describe("POST /v1/users/:id/rewards", () => {
  it("grants points, which leave xp and level alone", async () => {
    const { json } = await post("/v1/users/pia/rewards", { type: "points", amount: 50 })
    expect(json).toMatchObject({
      type: "points",
      amount: 50,
      badgeId: null,
      xp: { earned: 0, total: 0 },
      points: { earned: 50, total: 50 },
      level: { before: 1, after: 1 },
    })
    expect((await get("/v1/users/pia")).json).toMatchObject({ xp: 0, points: 50 })
  })

  it("grants a badge once", async () => {
    const grant = { type: "badge", badgeId, reason: "Brave" }
    const first = await post("/v1/users/bea/rewards", grant)
    const earned = {
      id: badgeId,
      key: "medal",
      name: "Medal",
      earnedAt: expect.stringMatching(isoTime),
    }
    expect(first.json).toMatchObject({ type: "badge", amount: null, badgeId, badges: [earned] })
    const again = await post("/v1/users/bea/rewards", grant)
    expect(again.json).toMatchObject({ duplicate: false, badges: [] })
    const { json } = await get("/v1/users/bea")
    expect(json.badges).toEqual([{ ...earned, description: "For the brave.", icon: "medal.svg" }])
    const progress = await get("/v1/users/bea/progress")
    expect(progress.json.badges).toEqual([{ ...earned, current: 1, target: 1 }])
  })

  it("grants several parts at once, which are undone together", async () => {
    const grant = { reward: { xp: 300, points: 7, badgeId }, reason: "Brave", id: "all" }
    const first = await post("/v1/users/mia/rewards", grant)
    expect([first.status, first.json]).toMatchObject([
      200,
      {
        reward: grant.reward,
        type: null,
        amount: null,
        badgeId,
        duplicate: false,
        xp: { earned: 300, total: 300 },
        points: { earned: 7, total: 7 },
        balances: { xp: 300, points: 7 },
        level: { before: 1, after: 3 },
        badges: [{ id: badgeId }],
      },
    ])
    const again = await post("/v1/users/mia/rewards", grant)
    expect(again.json).toEqual({ ...first.json, duplicate: true })
    const { facts } = (await get("/v1/users/mia/history?kind=reward.granted")).json
    expect(facts).toMatchObject([
      {
        cause: {
          reward: grant.reward,
          type: null,
          amount: null,
          badgeId,
          reason: "Brave",
          id: "all",
        },
      },
    ])
    const undone = await remove("/v1/users/mia/rewards/all")
    expect(undone.json).toMatchObject({
      xp: { revoked: 300, total: 0 },
      points: { revoked: 7, total: 0 },
      level: { before: 3, after: 1 },
      badges: [{ id: badgeId }],
    })
    expect((await get("/v1/users/mia")).json).toMatchObject({ xp: 0, points: 0, badges: [] })
  })

  it("gives one part as `type` does", async () => {
    for (const [part, type, amount] of [
      [{ xp: 5 }, "xp", 5],
      [{ xp: 0, points: 5 }, "points", 5],
      [{ badgeId }, "badge", null],
    ] as const) {
      const { json } = await post(`/v1/users/part-${type}/rewards`, { reward: part })
      const reward = { xp: 0, points: 0, badgeId: null, ...part }
      expect(json).toMatchObject({ reward, type, amount, badgeId: reward.badgeId })
      const other = await post(`/v1/users/by-type-${type}/rewards`, {
        type,
        ...(amount === null ? { badgeId } : { amount }),
      })
      expect(other.json).toMatchObject({ reward, xp: json.xp, points: json.points })
    }
  })

  it("gives nothing if one part cannot be given", async () => {
    const unknown = await post("/v1/users/whole/rewards", { reward: { xp: 5, badgeId: "b" } })
    expect([unknown.status, unknown.json.code]).toEqual([404, "badge_not_found"])
    expect((await get("/v1/users/whole")).status).toBe(404)
  })

  it("has either `reward` or `type`, and at least one part", async () => {
    const reward = { xp: 5 }
    const most = limits.amountMax
    const cases: ReadonlyArray<readonly [object, ReadonlyArray<readonly [string, string]>]> = [
      [{ type: "xp", amount: 5, reward }, [["/reward", "unknown_member"]]],
      [{ type: "gold", reward }, [["/type", "invalid_value"]]],
      [{ reward, amount: 5 }, [["/amount", "unknown_member"]]],
      [{ reward, badgeId }, [["/badgeId", "unknown_member"]]],
      [{ reward: {} }, [["/reward", "missing"]]],
      [{ reward: { xp: 0, points: 0 } }, [["/reward", "missing"]]],
      [
        { reward: { gold: 1 } },
        [
          ["/reward/gold", "unknown_member"],
          ["/reward", "missing"],
        ],
      ],
      [{ reward: { xp: most + 1 } }, [["/reward/xp", "out_of_range"]]],
      [{ reward: { points: -1 } }, [["/reward/points", "out_of_range"]]],
      [{ reward: { xp: 1, badgeId: "b".repeat(129) } }, [["/reward/badgeId", "too_long"]]],
      [{ reward: null }, [["/reward", "invalid_type"]]],
      [{ amount: 5 }, [["/type", "missing"]]],
    ]
    for (const [body, faults] of cases) {
      const found = faultsOf(await post("/v1/users/x3/rewards", body))
      expect([body, found]).toEqual([body, faults])
    }
    const largest = { reward: { xp: most, points: most } }
    expect((await post("/v1/users/x3/rewards", largest)).status).toBe(200)
  })

  it("answers 404 for an unknown badge", async () => {
    const { json, status } = await post("/v1/users/x1/rewards", { type: "badge", badgeId: "b" })
    expect([status, json.code]).toEqual([404, "badge_not_found"])
    expect((await get("/v1/users/x1")).status).toBe(404)
  })

  it("reports members that are missing or foreign to the type", async () => {
    const cases: ReadonlyArray<readonly [object, ReadonlyArray<readonly [string, string]>]> = [
      [{}, [["/type", "missing"]]],
      [{ type: "gold", amount: 1 }, [["/type", "invalid_value"]]],
      [{ type: "xp" }, [["/amount", "missing"]]],
      [{ type: "points" }, [["/amount", "missing"]]],
      [{ type: "badge" }, [["/badgeId", "missing"]]],
      [
        { type: "badge", amount: 1 },
        [
          ["/badgeId", "missing"],
          ["/amount", "unknown_member"],
        ],
      ],
      [{ type: "xp", amount: 1, badgeId }, [["/badgeId", "unknown_member"]]],
      [{ type: "points", amount: 0 }, [["/amount", "out_of_range"]]],
      [{ type: "points", amount: limits.amountMax + 1 }, [["/amount", "out_of_range"]]],
      [{ type: "badge", badgeId: "" }, [["/badgeId", "too_short"]]],
      [{ type: "badge", badgeId: "b".repeat(129) }, [["/badgeId", "too_long"]]],
      [{ type: "badge", badgeId: 5 }, [["/badgeId", "invalid_type"]]],
    ]
    for (const [body, faults] of cases) {
      const found = faultsOf(await post("/v1/users/x2/rewards", body))
      expect(found.toSorted()).toEqual(faults.toSorted())
    }
    for (const body of [[], '"xp"', 5, null]) {
      expect(faultsOf(await post("/v1/users/x2/rewards", body))).toEqual([["", "invalid_type"]])
    }
    const largest = { type: "points", amount: limits.amountMax }
    expect((await post("/v1/users/x2/rewards", largest)).status).toBe(200)
  })
})

describe("DELETE of a reward or an event", () => {
  it("takes back the rewards as far as the balance allows, once", async () => {
    const granted = await post("/v1/users/rita/rewards", { type: "xp", amount: 300 })
    const path = `/v1/users/rita/rewards/${granted.json.rewardId}`
    const { json, status } = await remove(path)
    expect(status).toBe(200)
    expect(json).toEqual({
      rewardId: granted.json.rewardId,
      userId: "rita",
      xp: { revoked: 300, total: 0 },
      points: { revoked: 0, total: 0 },
      level: { before: 3, after: 1 },
      badges: [],
      quests: [],
      shortfall: { xp: 0, points: 0 },
    })
    expect((await get("/v1/users/rita")).json).toMatchObject({ xp: 0, level: 1 })
    const again = await remove(path)
    expect([again.status, again.json.code]).toEqual([404, "reward_not_found"])
  })

  it("takes back the rewards of an event through a quest: xp, points, badge, completion", async () => {
    await post("/v1/events", { userId: "emil", action: "TAP" })
    const second = await post("/v1/events", { userId: "emil", action: "TAP" })
    expect(second.json.quests).toMatchObject([{ questId: "qst_taps", status: "completed" }])
    const { json } = await remove(`/v1/users/emil/events/${second.json.eventId}`)
    expect(json).toEqual({
      eventId: second.json.eventId,
      userId: "emil",
      xp: { revoked: 100, total: 0 },
      points: { revoked: 7, total: 0 },
      level: { before: 2, after: 1 },
      badges: [{ id: badgeId, key: "medal", name: "Medal" }],
      quests: [
        {
          questId: "qst_taps",
          key: "taps",
          title: "Two taps",
          status: "in_progress",
          progress: 0.5,
          alreadyCompleted: false,
        },
      ],
      shortfall: { xp: 0, points: 0 },
    })
    const progress = (await get("/v1/users/emil/progress")).json
    expect(progress.quests).toMatchObject([
      { status: "in_progress", steps: [{ key: "taps", current: 1, target: 2 }] },
    ])
  })

  it("answers 404 for unknown ids, another user's, and ids of the other kind", async () => {
    const { json: reward } = await post("/v1/users/r1/rewards", { type: "xp", amount: 1 })
    const { json: event } = await post("/v1/events", { userId: "r1", action: "TAP" })
    const { rewardId } = reward
    const { eventId } = event
    const asReward = eventId.replace("evt", "rwd")
    const huge = `rwd_${"z".repeat(20)}`
    const cases = [
      [`/v1/users/r1/rewards/${eventId}`, "reward_not_found"],
      [`/v1/users/r1/rewards/${asReward}`, "reward_not_found"],
      [`/v1/users/r1/rewards/${rewardId}0`, "reward_not_found"],
      [`/v1/users/r1/rewards/${huge}`, "reward_not_found"],
      ["/v1/users/r1/rewards/%F0%9F%98%80", "reward_not_found"],
      [`/v1/users/r2/rewards/${rewardId}`, "reward_not_found"],
      [`/v1/users/nobody/events/${eventId}`, "event_not_found"],
      [`/v1/users/r1/events/${rewardId}`, "event_not_found"],
      ["/v1/users/r1/events/x", "event_not_found"],
    ] as const
    for (const [path, code] of cases) {
      const { json, status } = await remove(path)
      expect([path, status, json.code]).toEqual([path, 404, code])
    }
    const key = server.accounts.addKey("lk_test_other", { environment: "prj_other:sandbox" })
    const elsewhere = await server.call("DELETE", `/v1/users/r1/rewards/${rewardId}`, { key })
    expect(elsewhere.status).toBe(404)
    expect((await get("/v1/users/r1")).json.xp).toBe(1)
  })
})

describe("GET /v1/users/:id", () => {
  it("answers 404 for an unknown user, as do progress and history", async () => {
    for (const path of ["", "/progress", "/history"]) {
      const { json, status } = await get(`/v1/users/nobody${path}`)
      expect([path, status, json.code]).toEqual([path, 404, "user_not_found"])
    }
  })
})
