import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { randomOf } from "../simulation/random.ts"
import { faultsOf, inHours, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { type Json, SchemaValues } from "./fuzz/SchemaValues.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `preview${places++}`)
const tap = { userId: "u", action: "TAP" }

const kinds = {
  rule: { path: "/v1/rules", schema: "NewRule", draftId: "rul_draft" },
  quest: { path: "/v1/quests", schema: "NewQuest", draftId: "qst_draft" },
  badge: { path: "/v1/badges", schema: "NewBadge", draftId: "bdg_draft" },
  boost: { path: "/v1/boosts", schema: "NewBoost", draftId: "bst_draft" },
  goal: { path: "/v1/goals", schema: "NewGoal", draftId: "gol_draft" },
} as const
type Kind = keyof typeof kinds

/** A patch that replaces every member that may change. */
const wholePatch = (kind: Kind, body: Json): Json => {
  const { criteria, key: _, repeatable: _never, reward, ...given } = body
  const rest = { description: null, startsAt: null, endsAt: null, ...given }
  if (kind === "boost") {
    const { personal: _, ...changed } = rest
    return { segment: null, weekly: null, timeZone: null, ...changed }
  }
  const targeted = { segment: null, ...rest }
  const noReward = { points: null, currencies: null, badgeId: null, freezes: null }
  if (kind === "badge") {
    const parts = {
      ...((criteria.kind === "action_count" || criteria.kind === "action_sum") && { where: null }),
      ...(criteria.kind === "streak" && { streak: null }),
      ...criteria,
    }
    const payment = { xp: null, points: null, currencies: null, freezes: null }
    const paid = reward === undefined ? null : { ...payment, ...reward }
    return { icon: null, secret: null, tiers: null, ...targeted, reward: paid, criteria: parts }
  }
  if (kind === "goal") {
    const none = { scope: "everyone", teamKind: null, recurrence: "none", minContribution: 1 }
    return { ...none, ...targeted, reward: { xp: null, ...noReward, ...reward } }
  }
  if (kind === "quest") {
    const none = { steps: null, recurrence: null, prerequisites: null, optIn: false, claim: "auto" }
    return { ...none, ...targeted, reward: { xp: null, ...noReward, ...reward } }
  }
  const none = { name: null, where: null, limit: null, cooldownSeconds: null }
  const factor = { multiplierPath: null, multiplierMin: null, multiplierMax: null }
  return { ...none, ...factor, ...targeted, reward: { xp: null, ...noReward, ...reward } }
}

describe("POST /v1/project/preview", () => {
  it("returns what a simulation returns once the drafts are saved, for generated drafts and events", async () => {
    const { json: document } = await server.call("GET", "/openapi.json", {})
    const random = randomOf(11)
    const counts = { created: 0, changed: 0, refused: 0, given: 0 }
    for (let round = 0; round < 250; round++) {
      const place = newPlace()
      const known = new Map([
        ["action", ["TAP"]],
        ["path", ["a", "b"]],
        ["multiplierPath", ["a"]],
        [
          "badgeId",
          [await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })],
        ],
        ["prerequisites", []],
        ["currencies", ["xp", "points"]],
        ["currencies.*", ["gems"]],
        ["freezes.*", ["daily"]],
        ["streak", ["daily"]],
        ["segment", ["beginners"]],
        ["metric", ["taps"]],
        ["badges", ["b", "listed"]],
        ["key", ["k1", "k2", "k3", "k4"]],
        ["startsAt", [inHours(-1), inHours(1)]],
        ["endsAt", [inHours(2)]],
      ])
      const listed = { key: "listed", name: "L", criteria: { kind: "manual" } }
      await place.create("/v1/badges", listed)
      await place.create("/v1/streaks", { key: "daily", name: "Daily" })
      await place.post("/v1/currencies", { key: "gems", name: "Gems", max: 4 })
      const conditions = [{ kind: "level", op: "eq", value: 1 }]
      await place.create("/v1/segments", { name: "Beginners", conditions })
      const taps = { key: "taps", name: "Taps", aggregate: "count", actions: ["TAP"] }
      await place.post("/v1/metrics", taps)
      const values = new SchemaValues(document, random, known)
      const bodyOf = (kind: Kind): Json => {
        const body = values.valid({ $ref: `#/components/schemas/${kinds[kind].schema}` })
        if (values.below(5) > 0) {
          for (const name of ["status", "startsAt"]) delete body[name]
        }
        if (body.criteria !== undefined && body.criteria.kind !== "metric") {
          delete body.criteria.metric
        }
        if (body.criteria?.kind === "badges") {
          for (const name of ["tiers", "repeatable"]) delete body[name]
          delete body.criteria.target
        } else if (body.criteria !== undefined) delete body.criteria.badges
        if (kind === "goal") {
          body.score = { metric: "taps" }
          delete body.teamKind
          delete body.scope
          delete body.minContribution
        }
        for (const one of [body, ...(body.steps ?? []), body.criteria ?? {}]) {
          if (one.target !== undefined) one.target = 1 + values.below(2)
          if (one.where?.length > 1 || values.below(3) > 0) delete one.where
        }
        return body
      }
      const kind = values.pick(Object.keys(kinds) as ReadonlyArray<Kind>)
      const { draftId, path } = kinds[kind]
      const event = { ...tap, metadata: { a: values.pick([1, 2.5, "x"]), b: true } }
      await place.post("/v1/events", event)
      let id: string | undefined
      for (let tries = values.below(2) * 8; tries > 0 && id === undefined; tries--) {
        id = (await place.post(path, bodyOf(kind))).json.id
      }
      const ask = async () => {
        const body = bodyOf(kind)
        const asked = { event, [kind]: body, ...(id !== undefined && { [`${kind}Id`]: id }) }
        return { body, preview: await place.post("/v1/project/preview", asked) }
      }
      let { body, preview } = await ask()
      for (let tries = values.below(2) * 6; tries > 0 && preview.status !== 200; tries--) {
        const next = await ask()
        body = next.body
        preview = next.preview
      }
      const saved =
        id === undefined
          ? await place.post(path, body)
          : await place.patch(`${path}/${id}`, wholePatch(kind, body))
      if (preview.status !== 200) {
        counts.refused++
        if (id !== undefined) continue
        expect([saved.status, saved.json.code]).toEqual([preview.status, preview.json.code])
        const faults = (saved.json.errors ?? []).map((fault: Json) => fault.pointer).sort()
        expect((preview.json.errors ?? []).map((fault: Json) => fault.pointer).sort()).toEqual(
          faults.map((pointer: string) => `/${kind}${pointer}`),
        )
        continue
      }
      expect([saved.status, saved.json]).toEqual([id === undefined ? 201 : 200, expect.anything()])
      counts[id === undefined ? "created" : "changed"]++
      const then = await place.post("/v1/project/simulate", event)
      const told = JSON.parse(JSON.stringify(preview.json).replaceAll(draftId, saved.json.id))
      expect({ ...told, occurredAt: "" }).toEqual({ ...then.json, occurredAt: "" })
      if (told.given.length > 0) counts.given++
    }
    expect(counts.created).toBeGreaterThan(20)
    expect(counts.changed).toBeGreaterThan(20)
    expect(counts.given).toBeGreaterThan(5)
    expect(counts.refused).toBeGreaterThan(0)
  })

  it("tries drafts of settings, a badge, a quest and a rule together, and changes nothing", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 1 } })
    const steps = [{ key: "tap", action: "TAP", target: 1 }]
    const drafts = {
      settings: { levelCurve: { kind: "linear", xpPerLevel: 10 } },
      streak: { key: "daily", name: "Daily" },
      badge: { name: "Week", criteria: { kind: "streak", streak: "daily", target: 1 } },
      quest: { title: "Once", reward: { xp: 20, badgeId: "bdg_draft" }, steps },
      rule: { action: "TAP", reward: { xp: 300 } },
    }
    const { json, status } = await place.post("/v1/project/preview", { event: tap, ...drafts })
    expect([status, json]).toMatchObject([
      200,
      {
        xp: { earned: 321, total: 321 },
        level: { before: 1, after: 33 },
        badges: [{ id: "bdg_draft", key: "week", name: "Week" }],
        streaks: [{ key: "daily", current: 1 }],
      },
    ])
    const now = (await place.post("/v1/project/simulate", tap)).json
    expect(now).toMatchObject({ xp: { earned: 1 }, streaks: [], badges: [], quests: [] })
    expect((await place.get("/v1/rules")).json.total).toBe(1)
    expect((await place.get("/v1/quests")).json.total).toBe(0)
    expect((await place.get("/v1/project")).json.levelCurve.kind).toBe("quadratic")
    expect((await place.get("/v1/users/u")).status).toBe(404)
  })

  it("returns all faults of all drafts and of the event, with pointers below their members", async () => {
    const preview = (body: object) => newPlace().post("/v1/project/preview", body)
    const form = await preview({
      event: { userId: "", action: "A", x: 1 },
      rule: { action: "a", reward: { badgeId: "bdg_none" } },
    })
    expect(faultsOf(form).toSorted()).toEqual([
      ["/event/userId", "too_short"],
      ["/event/x", "unknown_member"],
      ["/rule/action", "invalid_format"],
      ["/rule/reward/badgeId", "unknown_reference"],
    ])
    const stray = await preview({ event: tap, questId: "qst_1" })
    expect(faultsOf(stray)).toEqual([["/questId", "unknown_member"]])
    const meaning = await preview({
      event: tap,
      rule: { action: "TAP", reward: { badgeId: "bdg_none" } },
      badge: { name: "B", criteria: { kind: "streak", target: 1, streak: "none" } },
      quest: { title: "Q", reward: { xp: 1 }, endsAt: inHours(-1) },
      settings: { levelCurve: { kind: "table" } },
      streak: { name: "S", milestones: [{ target: 2, reward: { badgeId: "bdg_none" } }] },
    })
    expect(faultsOf(meaning).toSorted()).toEqual([
      ["/badge/criteria/streak", "unknown_reference"],
      ["/quest/endsAt", "out_of_range"],
      ["/rule/reward/badgeId", "unknown_reference"],
      ["/settings/levelCurve/thresholds", "missing"],
      ["/streak/milestones/0/reward/badgeId", "unknown_reference"],
    ])
    const late = { ...tap, occurredAt: "2020-01-01T00:00:00Z" }
    expect(faultsOf(await preview({ event: late }))).toEqual([
      ["/event/occurredAt", "out_of_range"],
    ])
    const gone = { event: tap, ruleId: "rul_none", rule: { action: "TAP", reward: { xp: 1 } } }
    expect(problemOf(await preview(gone))).toEqual([404, "rule_not_found"])
  })
})
