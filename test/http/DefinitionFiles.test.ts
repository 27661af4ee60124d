/** Definitions as a file over HTTP: export, diff, and application in another environment. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: bodies of replies are JSON
type Json = any

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `file${++places}`)
const exported = async (place: Place): Promise<Json> => (await place.get("/v1/definitions")).json
const send = (place: Place, to: "apply" | "diff", definitions: unknown, more: object = {}) =>
  place.post(`/v1/definitions/${to}`, { definitions, ...more })
const applied = async (place: Place, definitions: unknown, more: object = {}): Promise<Json> => {
  const { json, status } = await send(place, "apply", definitions, more)
  expect([status, json]).toEqual([200, expect.anything()])
  return json
}

/** Makes one definition of each kind, by its own operation. */
const fill = async (place: Place) => {
  await place.patch("/v1/project", {
    name: "School",
    timezone: "europe/berlin",
    clientActions: ["TAP"],
    reminders: {
      inactiveDays: [3, 7],
      questDays: 2,
      expiryDays: 7,
      leagueDays: 1,
      hour: 9,
      unless: "quiet",
    },
    levelCurve: { kind: "table", thresholds: [0, 10] },
  })
  const distance = { name: "Distance", aggregate: "sum", actions: ["RUN"], value: "km" }
  await place.create("/v1/metrics", distance)
  await place.create("/v1/streaks", {
    name: "Daily",
    needs: [{ action: "RUN" }, { action: "SWIM", target: 2 }, { metric: "distance", target: 5 }],
    match: "any",
    restDays: ["sunday"],
    freezes: { initial: 1, max: 2, everyDays: 7 },
    milestones: [{ target: 3, reward: { points: 5 } }],
  })
  await place.create("/v1/streaks", { name: "Weekly", every: "week", status: "draft" })
  const badgeId = await place.create("/v1/badges", {
    name: "Ten",
    icon: "🏅",
    secret: true,
    criteria: { kind: "action_sum", action: "RUN", sumPath: "km", target: 10 },
  })
  await place.create("/v1/badges", { name: "Days", criteria: { kind: "streak", target: 7 } })
  const first = await place.create("/v1/quests", { title: "First", reward: { xp: 0, badgeId } })
  await place.create("/v1/quests", {
    title: "Second",
    description: "Two",
    reward: { xp: 5, points: 1 },
    status: "draft",
    steps: [
      { key: "km", action: "RUN", sumPath: "km", target: 3 },
      { key: "n", action: "RUN", where: [{ path: "a", op: "exists" }], target: 3 },
      { key: "m", metric: "distance", target: 3 },
    ],
    startsAt: "2030-01-01T00:00:00+01:00",
    endsAt: "2031-01-01T00:00:00Z",
    recurrence: "weekly",
    prerequisites: [first],
    metadata: { a: { b: [null] } },
  })
  await place.create("/v1/boosts", {
    name: "Happy hour",
    currencies: ["xp", "points"],
    factor: 1.25,
    weekly: [{ days: ["friday", "saturday"], from: "22:00", to: "02:00" }],
    timeZone: "user",
    startsAt: "2030-01-01T00:00:00Z",
  })
  await place.create("/v1/leaderboards", {
    name: "Season",
    score: { currency: "points" },
    windows: ["weekly", { days: 14, anchor: "2026-01-05" }],
    timeZone: "user",
    order: "asc",
    ties: "first",
    attributes: ["avatarUrl"],
    prizes: [
      { window: "weekly", ranks: [1, 3], reward: { points: 5, badgeId } },
      { window: "weekly", percent: 10, reward: { xp: 1 } },
    ],
    keepWindows: 52,
    graceMinutes: 30,
    announceRanks: 10,
    startsAt: "2030-01-01T00:00:00Z",
  })
  await place.create("/v1/leaderboards", {
    name: "Club cup",
    score: { currency: "xp" },
    entrants: "teams",
    teamKind: "club",
    windows: ["weekly"],
  })
  await place.create("/v1/experiments", {
    name: "Goal",
    variants: [
      { key: "a", weight: 1 },
      { key: "b", weight: 3 },
    ],
    metric: "distance",
    startsAt: "2030-01-01T00:00:00Z",
  })
  await place.create("/v1/leagues", {
    name: "Cup",
    score: { currency: "points" },
    divisions: [
      { key: "bronze", name: "Bronze", icon: "🥉", promote: 3, demote: 0 },
      { key: "silver", name: "Silver", promote: 0, demote: 2 },
    ],
    cohortSize: 10,
    window: "daily",
    graceMinutes: 15,
    rewards: [
      { division: "silver", ranks: [1, 3], outcome: "promoted", reward: { points: 5, badgeId } },
      { outcome: "stayed", reward: { xp: 1 } },
    ],
  })
  await place.create("/v1/sources", {
    name: "Code",
    kind: "github",
    secret: "a-secret-that-no-file-has",
    mappings: [
      {
        event: "pull_request",
        where: [{ path: "/action", op: "eq", value: "closed" }],
        action: "PULL_REQUEST_MERGED",
        userId: "/pull_request/user/login",
        id: "/pull_request/id",
        occurredAt: "/pull_request/merged_at",
        metadata: { repository: "/repository/full_name" },
      },
      { action: "CODE", userId: "/sender/login" },
    ],
  })
  await place.create("/v1/goals", {
    name: "Together",
    score: { metric: "distance" },
    scope: "team",
    teamKind: "club",
    target: 500,
    recurrence: "weekly",
    reward: { badgeId },
    minContribution: 5,
  })
  await place.create("/v1/items", {
    name: "Poster",
    price: { points: 50 },
    reward: { badgeId },
    limit: { times: 1 },
    stock: 10,
  })
  const rule = await place.create("/v1/rules", { action: "TAP", reward: { badgeId } })
  await place.patch(`/v1/rules/${rule}`, { status: "paused" })
  await place.create("/v1/rules", {
    action: "BUY",
    where: [{ path: "a", op: "eq", value: null }],
    reward: { xp: 1, points: 2 },
    multiplierPath: "total",
    multiplierMin: 1,
    limit: { times: 3, per: "day" },
    cooldownSeconds: 60,
  })
  const paused = await place.create("/v1/quests", { title: "Paused", reward: { xp: 1 } })
  await place.patch(`/v1/quests/${paused}`, { status: "paused" })
  const gone = await place.create("/v1/quests", { title: "Gone", reward: { xp: 1 } })
  await place.delete(`/v1/quests/${gone}`)
}

const minimal = (id = "rul_a", more: object = {}) => ({
  id,
  key: id
    .slice(4)
    .replace(/^(?=[^a-z])/, "k")
    .slice(0, 64),
  action: "TAP",
  reward: { xp: 1 },
  ...more,
})

describe("A file of definitions", () => {
  it("removes client actions and reminders that the file does not have, and writes nothing else", async () => {
    const [from, to] = [newPlace(), newPlace()]
    const file = await exported(from)
    expect(file.settings.reminders).toBe(null)
    expect(file.settings.clientActions).toEqual([])
    expect((await applied(to, file)).changes).toEqual([])
    await to.patch("/v1/project", { clientActions: ["TAP"], reminders: { inactiveDays: [1] } })
    expect((await applied(to, file)).changes).toMatchObject([{ kind: "settings" }])
    expect((await exported(to)).settings.reminders).toBe(null)
    expect((await exported(to)).settings.clientActions).toEqual([])
    expect((await applied(to, file)).changes).toEqual([])
  })

  it("copies all definitions from one environment to another, with the same keys and ids", async () => {
    const [sandbox, production] = [newPlace(), newPlace()]
    await fill(sandbox)
    const file = await exported(sandbox)
    const plan = (await send(production, "diff", file)).json
    expect(plan).toMatchObject({ created: 18, updated: 1, deleted: 0 })
    const { members: _, ...settings } = plan.changes[0]
    const done = await applied(production, file)
    expect(done.changes[0]).toEqual(settings)
    expect(done.changes.length).toBe(19)
    expect(await exported(production)).toEqual(file)
    for (const path of [
      "/v1/rules",
      "/v1/quests",
      "/v1/badges",
      "/v1/boosts",
      "/v1/leaderboards",
      "/v1/experiments",
      "/v1/leagues",
      "/v1/items",
      "/v1/goals",
      "/v1/sources",
      "/v1/streaks",
      "/v1/project",
    ]) {
      const undated = ({ createdAt: _, id: __, updatedAt: ___, version: ____, ...rest }: Json) => {
        // The address of a source has its environment, and no file has its secret.
        const { path: _____, secretState: ______, ...members } = rest
        return members
      }
      const shown = async (place: Place) => {
        const { json } = await place.get(path)
        const items = json.rules ??
          json.quests ??
          json.badges ??
          json.boosts ??
          json.leaderboards ??
          json.experiments ??
          json.leagues ??
          json.items ??
          json.goals ??
          json.sources ??
          json.streaks ?? [json]
        return items.map(undated)
      }
      const all = await shown(production)
      expect(all.length).toBe((await shown(sandbox)).length)
      expect(all).toEqual(expect.arrayContaining(await shown(sandbox)))
    }
  })

  it("changes nothing and writes nothing when it is applied again, also with delete", async () => {
    const place = newPlace()
    await fill(place)
    const file = await exported(place)
    const times = async () => (await place.get("/v1/rules")).json.rules
    const before = await times()
    const version = expect.any(Number)
    const nothing = { created: 0, updated: 0, deleted: 0, changes: [] }
    for (const more of [{}, { delete: true }]) {
      expect((await send(place, "diff", file, more)).json).toEqual({ version, ...nothing })
      expect(await applied(place, file, more)).toEqual(nothing)
    }
    expect(await times()).toEqual(before)
  })

  it("shows the differences member by member in its diff, and changes nothing", async () => {
    const place = newPlace()
    await applied(place, { rules: [minimal()] })
    const file = { rules: [minimal("rul_a", { cooldownSeconds: 5 }), minimal("rul_b")] }
    const { json } = await send(place, "diff", file)
    expect(json).toEqual({
      version: 2,
      created: 1,
      updated: 1,
      deleted: 0,
      changes: [
        {
          op: "update",
          kind: "rule",
          id: "rul_a",
          key: "a",
          name: "TAP",
          members: [{ name: "cooldownSeconds", before: null, after: "5" }],
        },
        {
          op: "create",
          kind: "rule",
          id: "rul_b",
          key: "b",
          name: "TAP",
          members: [
            { name: "action", before: null, after: '"TAP"' },
            { name: "reward", before: null, after: '{"xp":1}' },
          ],
        },
      ],
    })
    expect((await place.get("/v1/rules")).json.total).toBe(1)
  })

  it("has an experiment and a segment that asks for it, in whatever order they come", async () => {
    const place = newPlace()
    const variants = ["a", "b"].map((key) => ({ key, weight: 1 }))
    const condition = { kind: "experiment", experiment: "goal", op: "in", value: ["b"] }
    const file = {
      segments: [{ key: "in-b", name: "In b", conditions: [condition] }],
      experiments: [{ key: "goal", name: "Goal", variants }],
    }
    expect((await applied(place, file)).created).toBe(2)
    const other = { ...condition, value: ["c"] }
    const segments = [{ key: "in-b", name: "In b", conditions: [other] }]
    const reply = await send(place, "apply", { ...file, segments })
    expect(faultsOf(reply)).toEqual([
      ["/definitions/segments/0/conditions/0/value", "invalid_value"],
    ])
    expect(faultsOf(await send(place, "apply", { segments }))).toEqual([
      ["/definitions/segments/0/conditions/0/value", "invalid_value"],
    ])
    const less = { segments: [], experiments: [] }
    expect((await applied(place, less, { delete: true })).deleted).toBe(2)
  })

  it("removes definitions that it does not name only with delete", async () => {
    const place = newPlace()
    await fill(place)
    const less = {
      metrics: [],
      badges: [],
      boosts: [],
      leaderboards: [],
      experiments: [],
      leagues: [],
      items: [],
      goals: [],
      sources: [],
      quests: [],
      rules: [],
      streaks: [],
    }
    expect((await applied(place, less)).changes).toEqual([])
    expect(await applied(place, less, { delete: true })).toMatchObject({ deleted: 18 })
    const { settings: _, ...left } = await exported(place)
    expect(left).toEqual({ currencies: [], ...less, segments: [] })
  })

  it("is refused as a whole, with all faults at once", async () => {
    const place = newPlace()
    const reply = await send(place, "apply", {
      unknown: 1,
      settings: { tier: "pro" },
      badges: [{ id: "x", key: "x", name: "", criteria: { kind: "none" } }],
      quests: [{ id: "qst_a", key: "a", title: "T", reward: { xp: 1 }, state: "active" }],
      rules: [minimal("rul_a"), minimal("rul_c", { reward: { xps: 1 } })],
    })
    expect(faultsOf(reply).toSorted()).toEqual([
      ["/definitions/badges/0/criteria/kind", "invalid_value"],
      ["/definitions/badges/0/id", "invalid_format"],
      ["/definitions/badges/0/name", "too_short"],
      ["/definitions/quests/0/state", "unknown_member"],
      ["/definitions/rules/1/reward", "missing"],
      ["/definitions/rules/1/reward/xps", "unknown_member"],
      ["/definitions/settings/tier", "unknown_member"],
      ["/definitions/unknown", "unknown_member"],
    ])
    const twice = await send(place, "apply", { rules: [minimal("rul_a"), minimal("rul_a")] })
    expect(faultsOf(twice)).toEqual([
      ["/definitions/rules/1/key", "duplicate"],
      ["/definitions/rules/1/id", "duplicate"],
    ])
    const half = { rules: [minimal("rul_ok"), minimal("rul_b", { reward: { badgeId: "none" } })] }
    for (const to of ["apply", "diff"] as const) {
      expect(faultsOf(await send(place, to, half))).toEqual([
        ["/definitions/rules/1/reward/badgeId", "unknown_reference"],
      ])
    }
    expect((await place.get("/v1/rules")).json.total).toBe(0)
  })

  it("is applied once for an Idempotency-Key, and replayed with the first reply", async () => {
    const place = newPlace()
    await applied(place, { rules: [minimal()] })
    const options = {
      body: { definitions: { rules: [] }, delete: true },
      headers: { "idempotency-key": "once" },
    }
    const first = await place.call("POST", "/v1/definitions/apply", options)
    await applied(place, { rules: [minimal("rul_b")] })
    const again = await place.call("POST", "/v1/definitions/apply", options)
    expect([again.json, again.headers["idempotency-replayed"]]).toEqual([first.json, "true"])
    expect(first.json.deleted).toBe(1)
    expect((await place.get("/v1/rules")).json.total).toBe(1)
    const equal = { body: { definitions: {} }, headers: { "idempotency-key": "equal" } }
    for (const _ of [1, 2]) {
      const { json, status } = await place.call("POST", "/v1/definitions/apply", equal)
      expect([status, json.changes]).toEqual([200, []])
    }
  })

  it("is applied once when many callers apply it at once", async () => {
    const place = newPlace()
    const rules = Array.from({ length: 50 }, (_, index) => minimal(`rul_${index}`))
    const replies = await Promise.all(Array.from({ length: 20 }, () => applied(place, { rules })))
    expect(replies.reduce((sum: number, { created }: Json) => sum + created, 0)).toBe(50)
  })

  it("needs a key of full scope except for the export, and has a bound in bytes", async () => {
    const place = newPlace()
    const key = server.accounts.addKey("lk_test_file_read", { scope: "read" })
    expect((await server.call("GET", "/v1/definitions", { key })).status).toBe(200)
    for (const to of ["apply", "diff"]) {
      const reply = await server.call("POST", `/v1/definitions/${to}`, {
        key,
        body: { definitions: {} },
      })
      expect(problemOf(reply)).toEqual([403, "insufficient_scope"])
    }
    const bytes = (count: number) => `{"definitions":{}${" ".repeat(count - 18)}}`
    const sized = (count: number) =>
      place.call("POST", "/v1/definitions/diff", { body: bytes(count) })
    expect((await sized(limits.definitionsBytesMax)).status).toBe(200)
    expect((await sized(limits.definitionsBytesMax + 1)).status).toBe(413)
  })

  it("has ids of its own form, up to the maximum length", async () => {
    const place = newPlace()
    const longest = `rul_${"a".repeat(64)}`
    expect((await applied(place, { rules: [minimal(longest)] })).created).toBe(1)
    for (const id of [`${longest}a`, "rul_", "rul_A", "qst_a", "rul_a b", "__proto__"]) {
      const reply = await send(place, "apply", { rules: [{ ...minimal(), id }] })
      expect([id, faultsOf(reply)]).toEqual([id, [["/definitions/rules/0/id", "invalid_format"]]])
    }
  })
})
