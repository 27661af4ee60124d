/**
 * The examples of problems match the server's replies: each problem is provoked, and compared with
 * its example.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AddressRanges } from "../../src/accounts/AddressRanges.ts"
import { limits } from "../../src/Limits.ts"
import { type Json, makeWorld, type RealIds } from "./exampleWorld.ts"
import { type CallOptions, type Reply, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let real: RealIds
let document: Json
beforeAll(async () => {
  server = await startServer()
  real = await makeWorld(server)
  document = (await server.call("GET", "/openapi.json", { key: null })).json
})
afterAll(() => server.stop())

const exampleOf = (name: string, code: string): Json =>
  document.components.schemas[name].examples.find((example: Json) => example.code === code)

const event = { userId: "user-42", action: "LESSON_DONE" }
const complete = (questId: string) => ({
  body: { userId: "user-42", action: "QUEST_COMPLETE", metadata: { questId } },
})
const created = async (path: string, body: unknown): Promise<string> => {
  const { json, status, text } = await server.call("POST", path, { body })
  if (status !== 201) throw new Error(`${path} answered ${status}: ${text}`)
  return json.id
}
const reward = { xp: 1 }
const steps = [{ key: "taps", action: "TAP_TWICE", target: 2 }]
const archived = async (path: string, body: unknown): Promise<string> => {
  const id = await created(path, body)
  await server.call("DELETE", `${path}/${id}`)
  return id
}
const manual = { name: "Moderator", criteria: { kind: "manual" } }

type Case = readonly [schema: string, code: string, provoke: () => Promise<Reply>]

const send = (options: CallOptions) => server.call("POST", "/v1/events", options)
const get = (path: string) => server.call("GET", path)
const buy = (item: string) => server.call("POST", "/v1/users/user-42/purchases", { body: { item } })

const cases: ReadonlyArray<Case> = [
  ["BadRequest", "invalid_request", () => send({ body: { ...event, userId: 42 } })],
  ["BadRequest", "invalid_json", () => send({ body: '{"userId":"user-42","action":}' })],
  ["Unauthorized", "unauthorized", () => send({ key: null, body: event })],
  [
    "InsufficientScope",
    "insufficient_scope",
    () => send({ key: server.accounts.addKey("lk_test_read", { scope: "read" }), body: event }),
  ],
  [
    "SandboxOnly",
    "sandbox_only",
    () => {
      const place = { environment: "prj_test:production", environmentName: "production" } as const
      const key = server.accounts.addKey("lk_live_clock", place)
      return server.call("GET", "/v1/test-clock", { key })
    },
  ],
  [
    "KeyRestricted",
    "address_not_allowed",
    () => {
      const restrictions = { origins: undefined, addresses: new AddressRanges(["10.0.0.0/8"]) }
      return send({ key: server.accounts.addKey("lk_test_away", { restrictions }), body: event })
    },
  ],
  [
    "KeyRestricted",
    "origin_not_allowed",
    () => {
      const origins = new Set(["https://app.example"])
      const restrictions = { origins, addresses: undefined }
      const key = server.accounts.addKey("lk_test_page", { restrictions })
      return send({ key, headers: { origin: "https://other.example" }, body: event })
    },
  ],
  [
    "RateLimited",
    "rate_limited",
    async () => {
      const key = server.accounts.addKey("lk_test_slow", { limit: 1 })
      await send({ key, body: event })
      return send({ key, body: event })
    },
  ],
  [
    "BatchTooLarge",
    "batch_too_large",
    () =>
      server.call("POST", "/v1/events/batch", {
        key: server.accounts.addKey("lk_test_free", { limit: 100 }),
        body: { events: Array(101).fill(event) },
      }),
  ],
  ["BodyTooLarge", "body_too_large", () => send({ body: " ".repeat(limits.bodyBytesMax + 1) })],
  [
    "UnsupportedMediaType",
    "unsupported_media_type",
    () => send({ headers: { "Content-Type": "text/plain" }, body: JSON.stringify(event) }),
  ],
  [
    "IdempotencyKeyReused",
    "idempotency_key_reused",
    async () => {
      const headers = { "Idempotency-Key": "reused" }
      await send({ headers, body: event })
      return send({ headers, body: { ...event, userId: "user-43" } })
    },
  ],
  ["UserNotFound", "user_not_found", () => get("/v1/users/nobody")],
  ["QuestNotFound", "quest_not_found", () => get("/v1/quests/qst_none")],
  ["RuleNotFound", "rule_not_found", () => get("/v1/rules/rul_none")],
  ["BadgeNotFound", "badge_not_found", () => get("/v1/badges/bdg_none")],
  ["LeaderboardNotFound", "leaderboard_not_found", () => get("/v1/leaderboards/ldb_none")],
  [
    "LeaderboardOrTeamNotFound",
    "leaderboard_not_found",
    () => get("/v1/leaderboards/ldb_none/teams"),
  ],
  [
    "LeaderboardOrTeamNotFound",
    "team_not_found",
    () => get(`/v1/leaderboards/${real["club-cup"]}/teams?around=nobody`),
  ],
  ["LeagueNotFound", "league_not_found", () => get("/v1/leagues/lga_none")],
  [
    "MechanicNotFound",
    "mechanic_not_found",
    () => get("/v1/analytics/mechanics/quest/daily-lesson"),
  ],
  ["CohortNotFound", "league_not_found", () => get("/v1/leagues/lga_none/cohorts/silver-12")],
  ["CohortNotFound", "cohort_not_found", () => get(`/v1/leagues/${real.lga}/cohorts/bronze-99`)],
  ["LeagueOfUserNotFound", "league_not_found", () => get("/v1/users/user-42/leagues/lga_none")],
  ["LeagueOfUserNotFound", "user_not_found", () => get(`/v1/users/nobody/leagues/${real.lga}`)],
  ["GoalNotFound", "goal_not_found", () => get("/v1/goals/gol_none")],
  ["GoalOfTeamNotFound", "goal_not_found", () => get("/v1/goals/gol_none/teams/falcons")],
  ["GoalOfTeamNotFound", "team_not_found", () => get(`/v1/goals/${real.gol}/teams/falcons`)],
  ["SourceNotFound", "source_not_found", () => get("/v1/sources/src_none")],
  ["ItemNotFound", "item_not_found", () => get("/v1/items/itm_none")],
  [
    "PurchaseNotFound",
    "purchase_not_found",
    () => server.call("DELETE", "/v1/users/user-42/purchases/pur_none"),
  ],
  [
    "BuyerNotFound",
    "item_not_found",
    () => server.call("POST", "/v1/users/user-42/purchases", { body: { item: "itm_none" } }),
  ],
  [
    "PurchaseConflict",
    "item_not_active",
    async () => {
      const item = await created("/v1/items", { name: "Paused", price: { points: 1 } })
      await server.call("PATCH", `/v1/items/${item}`, { body: { status: "paused" } })
      return buy(item)
    },
  ],
  [
    "PurchaseConflict",
    "limit_reached",
    async () => {
      const limit = { times: 2, per: "week" }
      const item = await created("/v1/items", { name: "Few", price: { points: 1 }, limit })
      await buy(item)
      await buy(item)
      return buy(item)
    },
  ],
  [
    "PurchaseConflict",
    "not_in_segment",
    async () => {
      const segment = "active-learners"
      const conditions = [{ kind: "level", op: "gt", value: 1_000 }]
      await server.call("POST", "/v1/segments", { body: { key: segment, name: "Few", conditions } })
      return buy(await created("/v1/items", { name: "Secret", price: { points: 1 }, segment }))
    },
  ],
  [
    "PurchaseConflict",
    "sold_out",
    async () => {
      const stock = { name: "Rare", price: { points: 1 }, stock: 1 }
      const item = await created("/v1/items", stock)
      await buy(item)
      await server.call("PATCH", `/v1/items/${item}`, { body: { stock: 100 } })
      for (let unit = 1; unit < 100; unit++) await buy(item)
      return buy(item)
    },
  ],
  ["BoostNotFound", "boost_not_found", () => get("/v1/boosts/bst_none")],
  ["TeamNotFound", "team_not_found", () => get("/v1/teams/none")],
  [
    "MemberNotFound",
    "member_not_found",
    () => server.call("DELETE", "/v1/teams/falcons/members/stranger"),
  ],
  ["WebhookNotFound", "webhook_not_found", () => get("/v1/webhooks/whk_none")],
  ["BackfillNotFound", "backfill_not_found", () => get(`/v1/badges/${real.bdg}/backfill`)],
  [
    "MetricBackfillNotFound",
    "backfill_not_found",
    async () => {
      const metric = { name: "New", aggregate: "count", actions: ["NEW"] }
      return get(`/v1/metrics/${await created("/v1/metrics", metric)}/backfill`)
    },
  ],
  [
    "DeliveryNotFound",
    "delivery_not_found",
    () => get(`/v1/webhooks/${real.whk}/deliveries/dlv_none`),
  ],
  [
    "EventNotFound",
    "event_not_found",
    () => server.call("DELETE", "/v1/users/user-42/events/evt_none"),
  ],
  [
    "RewardNotFound",
    "reward_not_found",
    () => server.call("DELETE", "/v1/users/user-42/rewards/rwd_none"),
  ],
  [
    "SpendNotFound",
    "spend_not_found",
    () => server.call("DELETE", "/v1/users/user-42/points/spend/spd_none"),
  ],
  [
    "SpendConflict",
    "insufficient_points",
    async () => {
      const amount = 300
      await server.call("POST", "/v1/users/rich/rewards", { body: { type: "points", amount } })
      return server.call("POST", "/v1/users/rich/points/spend", { body: { amount: 500 } })
    },
  ],
  [
    "SpendConflict",
    "id_reused",
    async () => {
      const path = "/v1/users/rich/points/spend"
      await server.call("POST", "/v1/users/rich/rewards", { body: { type: "points", amount: 3 } })
      await server.call("POST", path, { body: { amount: 1, id: "order-1" } })
      return server.call("POST", path, { body: { amount: 2, id: "order-1" } })
    },
  ],
  [
    "EventConflict",
    "quest_not_active",
    async () => {
      const id = await created("/v1/quests", { title: "Paused", reward })
      await server.call("PATCH", `/v1/quests/${id}`, { body: { status: "paused" } })
      return send(complete(id))
    },
  ],
  [
    "EventConflict",
    "quest_incomplete",
    async () => send(complete(await created("/v1/quests", { title: "Open", reward, steps }))),
  ],
  [
    "EventConflict",
    "quest_locked",
    async () => {
      const prerequisites = [await created("/v1/quests", { title: "First", reward, steps })]
      return send(complete(await created("/v1/quests", { title: "Next", reward, prerequisites })))
    },
  ],
  [
    "ChangeConflict",
    "invalid_transition",
    async () => {
      const id = await archived("/v1/quests", { title: "Over", reward })
      return server.call("PATCH", `/v1/quests/${id}`, { body: { title: "Again" } })
    },
  ],
  [
    "ArchivedConflict",
    "invalid_transition",
    async () => {
      const id = await archived("/v1/rules", { action: "A", reward: { xp: 1 } })
      return server.call("PATCH", `/v1/rules/${id}`, { body: { name: "Again" } })
    },
  ],
  [
    "BackfillConflict",
    "invalid_transition",
    async () => {
      const id = await archived("/v1/badges", manual)
      return server.call("POST", `/v1/badges/${id}/backfill`, { body: {} })
    },
  ],
  [
    "RotationConflict",
    "quota_exceeded",
    async () => {
      const path = `/v1/webhooks/${real.whk}/rotate-secret`
      for (let secrets = 1; secrets < limits.webhookSecretsMax; secrets++) {
        await server.call("POST", path)
      }
      return server.call("POST", path)
    },
  ],
  [
    "WebhookConflict",
    "webhook_disabled",
    async () => {
      const path = `/v1/webhooks/${real.whk}`
      await server.call("PATCH", path, { body: { status: "disabled" } })
      return server.call("POST", `${path}/test`)
    },
  ],
]

describe("The example of a problem", () => {
  it.each(cases)("%s %s equals the server's reply", async (schema, code, provoke) => {
    const { instance: where, requestId: _example, ...example } = exampleOf(schema, code)
    const { instance, requestId: _reply, ...problem } = (await provoke()).json
    expect(problem).toEqual(example)
    const shape = (path: string) => path.split("/").map((part, index) => (index === 2 ? part : ""))
    expect(shape(instance)).toEqual(shape(where))
  })

  it("names the badge and the quest that holds it", async () => {
    const badgeId = await created("/v1/badges", manual)
    const questId = await created("/v1/quests", {
      title: "First steps",
      reward: { xp: 1, badgeId },
    })
    const { detail } = (await server.call("DELETE", `/v1/badges/${badgeId}`)).json
    const example = exampleOf("UseConflict", "in_use").detail
    expect(detail).toBe(example.replace(/qst_\w+/, questId))
  })

  it("tells the bounds as they are", () => {
    const bounds: ReadonlyArray<readonly [string, string, number]> = [
      ["DefinitionConflict", "quota_exceeded", limits.rulesMax],
      ["BoostConflict", "quota_exceeded", limits.runningBoostsMax],
      ["RotationConflict", "quota_exceeded", limits.webhookSecretsMax],
      ["StreamQuota", "quota_exceeded", limits.streamsOfEnvironmentMax],
      ["EventConflict", "balance_overflow", limits.balanceMax],
    ]
    for (const [schema, code, bound] of bounds) {
      expect(exampleOf(schema, code).detail.match(/\d+/)[0]).toBe(String(bound))
    }
  })
})
