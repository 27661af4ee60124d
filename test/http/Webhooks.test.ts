/**
 * Every kind of message, from the HTTP call that causes it to a receiver on a real socket. The
 * receiver checks the signature with the `standardwebhooks` package, and the content with the
 * schema of the catalogue.
 */
import { Schema } from "effect"
import { Webhook } from "standardwebhooks"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { messageSchema } from "../../src/domain/message/MessageData.ts"
import { type MessageKind, messageKinds } from "../../src/domain/message/MessageKind.ts"
import { limits } from "../../src/Limits.ts"
import { answer, type Received, Receiver } from "../webhooks/Receiver.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"
import { asking, endAll, kindsOf, receiving, webhookUrls } from "./webhooks.ts"

const clock = new RunningClock("2026-11-03T12:00:00Z")
let server: TestServer
let receiver: Receiver
let webhook: { readonly id: string; readonly secret: string }

beforeAll(async () => {
  server = await startServer({ webhookUrls, clock })
  receiver = await Receiver.start()
  webhook = await asking(server).register(receiver)
  const { ask } = asking(server)
  await ask("POST", "/v1/streaks", {
    key: "daily",
    name: "Daily",
    needs: [{ action: "ANY" }],
    freezes: { max: 1 },
    milestones: [{ target: 2, reward: { points: 1 } }],
  })
  const rules = [
    { action: "GAIN", reward: { xp: 150 } },
    { action: "SCORE", reward: { points: 3 } },
  ]
  for (const rule of rules) await ask("POST", "/v1/rules", rule)
})
afterEach(endAll)
afterAll(async () => {
  await server.stop()
  await receiver.stop()
})

type Calls = ReturnType<typeof asking>
/** The members that the message must have; `userId` if it is about a user. */
type Expected = { readonly userId?: string; readonly [member: string]: unknown }

const later = (ms: number): string => new Date(clock.currentTimeMillisUnsafe() + ms).toISOString()
const hour = 3_600_000
const day = 24 * hour
/** Two in the morning in so many days. */
const early = (days: number): string => {
  const midnight = (Math.floor(clock.currentTimeMillisUnsafe() / day) + days) * day
  return new Date(midnight + 2 * hour).toISOString()
}

const quest = ({ ask }: Calls, action: string, more: object = {}): Promise<{ id: string }> =>
  ask("POST", "/v1/quests", {
    title: `${action} twice`,
    reward: { xp: 10 },
    steps: [{ key: "step", action, target: 2 }],
    ...more,
  })
const badge = ({ ask }: Calls, action: string): Promise<{ id: string }> =>
  ask("POST", "/v1/badges", {
    name: `Of ${action}`,
    criteria: { kind: "action_count", action, target: 1 },
  })
/** A gift of the personal boost `double`. */
const double = async ({ ask }: Calls) => {
  const { boosts } = await ask("GET", "/v1/boosts")
  if (boosts.length === 0) {
    const boost = { name: "Double", currencies: ["xp"], factor: 2, personal: true }
    await ask("POST", "/v1/boosts", boost)
  }
  return { key: "double", minutes: 30 }
}
const time = expect.stringMatching(/^\d{4}-.*Z$/)
const boostId = expect.stringMatching(/^bst_/)
const ownBoost = { boostId, key: "double", name: "Double", startsAt: time, endsAt: time }
const undo = ({ ask }: Calls, userId: string, eventId: string) =>
  ask("DELETE", `/v1/users/${userId}/events/${eventId}`)

const gems = async ({ ask, grant }: Calls, userId: string): Promise<{ rewardId: string }> => {
  const { currencies } = await ask("GET", "/v1/currencies")
  if (currencies.every(({ key }: { key: string }) => key !== "gems")) {
    await ask("POST", "/v1/currencies", { key: "gems", name: "Gems" })
  }
  return grant(userId, { reward: { currencies: { gems: 5 } } })
}

const spendGems = async (calls: Calls, userId: string): Promise<{ spendId: string }> => {
  await gems(calls, userId)
  const body = { currencies: { gems: 2 }, reason: "Freeze" }
  return calls.ask("POST", `/v1/users/${userId}/points/spend`, body)
}

const spend = async ({ ask, grant }: Calls, userId: string): Promise<{ spendId: string }> => {
  await grant(userId, { type: "points", amount: 5 })
  return ask("POST", `/v1/users/${userId}/points/spend`, { amount: 2, reason: "Freeze" })
}

/** The repair of a streak that broke the day before yesterday. */
const repaired = async ({ ask, track }: Pick<Calls, "ask" | "track">, userId: string) => {
  const fragile = { name: "Fragile", needs: [{ action: "FRAGILE" }], repair: { withinDays: 2 } }
  const { streaks } = await ask("GET", "/v1/streaks")
  if (streaks.every(({ key }: { key: string }) => key !== "fragile")) {
    await ask("POST", "/v1/streaks", fragile)
  }
  await track(userId, "FRAGILE", { occurredAt: later(-3 * day) })
  const { repaired, spendId } = await ask("POST", `/v1/users/${userId}/streaks/fragile/repair`, {})
  const { from, to } = repaired
  return { spendId, key: "fragile", from, to }
}

/**
 * A league of its own for one user, who is alone in a cohort of two: promoted on the first day, and
 * demoted on the second, or not. Some days pass.
 */
const inLeague = async ({ ask, grant }: Calls, name: string, days: number): Promise<Expected> => {
  const userId = `league-${name}`
  const promote = name === "stayed" ? 0 : 1
  await ask("POST", "/v1/leagues", {
    key: name,
    name,
    score: { currency: "xp" },
    divisions: [
      { key: "low", name: "Low", promote, demote: 0 },
      { key: "high", name: "High", promote: 0, demote: 2 },
    ],
    cohortSize: 2,
    window: "daily",
  })
  await grant(userId)
  for (let past = 1; past <= days; past++) {
    clock.set(later(day))
    const outcomes = async () => (await ask("GET", `/v1/users/${userId}/leagues/${name}`)).history
    await vi.waitUntil(async () => (await outcomes()).length === past, { timeout: 30_000 })
    if (past < days) await grant(userId)
  }
  const league = { key: name, name, cohort: 1 }
  // The users of other messages must not join it.
  const end = () => ask("DELETE", `/v1/leagues/${name}`)
  if (days === 0) await end()
  if (days === 0) return { userId, ...league, division: { key: "low", name: "Low" } }
  const [last] = (await ask("GET", `/v1/users/${userId}/leagues/${name}`)).history
  expect(last.outcome).toBe(name === "closed" ? "promoted" : name)
  await end()
  return { userId, ...league, rank: 1, of: 1, cause: { kind: "clock", id: null } }
}

const midnight = expect.stringMatching(/T00:00:00\.000Z$/)
const aDay = { startsAt: midnight, endsAt: midnight }

/** A goal of its own, towards which one user contributes. */
const ofGoal = async ({ ask, grant }: Calls, name: string, amount: number): Promise<Expected> => {
  const userId = `goal-${name}`
  const key = `goal-${name}`
  const goal = { key, name, score: { currency: "points" }, target: 100, reward: { points: 5 } }
  await ask("POST", "/v1/goals", { ...goal, recurrence: "daily" })
  await grant(userId, { type: "points", amount })
  if (amount === 100) {
    const isPaid = async () => (await ask("GET", `/v1/goals/${key}`)).progress.rewarded === 1
    await vi.waitUntil(isPaid, { timeout: 30_000 })
  }
  await ask("DELETE", `/v1/goals/${key}`)
  const reached = { percent: amount, total: amount, target: 100, contributors: 1 }
  return { userId, key, name, teamId: null, period: aDay, ...reached }
}

const buy = async ({ ask, grant }: Calls, userId: string) => {
  const { items } = await ask("GET", "/v1/items")
  const item = { key: "poster", name: "Poster", price: { points: 2 } }
  if (items.length === 0) await ask("POST", "/v1/items", item)
  await grant(userId, { type: "points", amount: 5 })
  return ask("POST", `/v1/users/${userId}/purchases`, { item: "poster" })
}

/** The call that causes each kind. It returns the expected content of the message. */
const causes: { readonly [Kind in MessageKind]: (calls: Calls) => Promise<Expected> } = {
  "event.tracked": async ({ track }) => {
    const { eventId } = await track("tracked", "ANY", { metadata: { lesson: 7 } })
    const cause = { kind: "event", id: eventId }
    return { userId: "tracked", action: "ANY", eventId, metadata: { lesson: 7 }, cause }
  },
  "xp.earned": async ({ track }) => {
    await track("xp-earned", "GAIN")
    const source = { kind: "rule", id: expect.stringMatching(/^rul_/) }
    return { userId: "xp-earned", amount: 150, total: 150, source }
  },
  "xp.revoked": async (calls) => {
    const { eventId } = await calls.track("xp-revoked", "GAIN")
    await undo(calls, "xp-revoked", eventId)
    const cause = { kind: "revocation", id: eventId }
    return { userId: "xp-revoked", amount: 150, total: 0, cause }
  },
  "points.earned": async ({ track }) => {
    await track("points-earned", "SCORE")
    return { userId: "points-earned", amount: 3, total: 3 }
  },
  "points.revoked": async (calls) => {
    const { eventId } = await calls.track("points-revoked", "SCORE")
    await undo(calls, "points-revoked", eventId)
    return { userId: "points-revoked", amount: 3, total: 0 }
  },
  "points.spent": async (calls) => {
    const { spendId } = await spend(calls, "points-spent")
    const cause = { kind: "spend", id: spendId }
    return { userId: "points-spent", spendId, amount: 2, total: 3, reason: "Freeze", cause }
  },
  "points.refunded": async (calls) => {
    const { spendId } = await spend(calls, "points-refunded")
    await calls.ask("DELETE", `/v1/users/points-refunded/points/spend/${spendId}`)
    const cause = { kind: "revocation", id: spendId }
    return { userId: "points-refunded", spendId, amount: 2, total: 5, shortfall: 0, cause }
  },
  "currency.earned": async (calls) => {
    await gems(calls, "gems-earned")
    const source = { kind: "reward", id: null }
    return { userId: "gems-earned", currency: "gems", amount: 5, total: 5, source }
  },
  "currency.revoked": async (calls) => {
    const { rewardId } = await gems(calls, "gems-revoked")
    await calls.ask("DELETE", `/v1/users/gems-revoked/rewards/${rewardId}`)
    const cause = { kind: "revocation", id: rewardId }
    return { userId: "gems-revoked", currency: "gems", amount: 5, total: 0, cause }
  },
  "currency.spent": async (calls) => {
    const { spendId } = await spendGems(calls, "gems-spent")
    const cause = { kind: "spend", id: spendId }
    const spent = { currency: "gems", amount: 2, total: 3, reason: "Freeze" }
    return { userId: "gems-spent", spendId, ...spent, cause }
  },
  "currency.refunded": async (calls) => {
    const { spendId } = await spendGems(calls, "gems-refunded")
    await calls.ask("DELETE", `/v1/users/gems-refunded/points/spend/${spendId}`)
    const cause = { kind: "revocation", id: spendId }
    const refunded = { currency: "gems", amount: 2, total: 5, shortfall: 0 }
    return { userId: "gems-refunded", spendId, ...refunded, cause }
  },
  "currency.expired": async ({ ask, grant }) => {
    await ask("POST", "/v1/currencies", { name: "Coins", expiry: { afterDays: 1 } })
    await grant("coins-expired", { reward: { currencies: { coins: 4 } } })
    clock.set(later(2 * day))
    const cause = { kind: "clock", id: null }
    return { userId: "coins-expired", currency: "coins", amount: 4, total: 0, cause }
  },
  "currency.expiring": async ({ ask, grant }) => {
    await ask("POST", "/v1/currencies", { name: "Tokens", expiry: { afterDays: 2 } })
    await ask("PATCH", "/v1/project", { reminders: { expiryDays: 1, hour: 0 } })
    await grant("tokens-expiring", { reward: { currencies: { tokens: 4 } } })
    clock.set(early(2))
    const cause = { kind: "clock", id: null }
    const endings = [{ amount: 4, expiresAt: time }]
    return {
      userId: "tokens-expiring",
      currency: "tokens",
      amount: 4,
      expiresAt: time,
      endings,
      cause,
    }
  },
  "currency.level_changed": async ({ ask, grant }) => {
    const table = [{ key: "silver", name: "Silver", from: 3 }]
    await ask("POST", "/v1/currencies", { key: "miles", name: "Miles", levels: { table } })
    await grant("level-of-miles", { reward: { currencies: { miles: 4 } } })
    const to = { number: 1, key: "silver", name: "Silver" }
    return { userId: "level-of-miles", currency: "miles", from: null, to }
  },
  "level.changed": async ({ grant }) => {
    await grant("level", { type: "xp", amount: 350 })
    return { userId: "level", from: 1, to: 3, levels: [2, 3] }
  },
  "badge.earned": async (calls) => {
    const { id } = await badge(calls, "PRAISED")
    await calls.track("badge-earned", "PRAISED")
    const source = { kind: "criteria", id: null }
    return { userId: "badge-earned", badgeId: id, key: "of-praised", name: "Of PRAISED", source }
  },
  "badge.revoked": async (calls) => {
    const { id } = await badge(calls, "MISTAKEN")
    const { eventId } = await calls.track("badge-revoked", "MISTAKEN")
    await undo(calls, "badge-revoked", eventId)
    return { userId: "badge-revoked", badgeId: id, key: "of-mistaken", name: "Of MISTAKEN" }
  },
  "boost.earned": async (calls) => {
    const boost = await double(calls)
    await calls.ask("POST", "/v1/users/boost-earned/rewards", { reward: { boost } })
    const source = { kind: "reward", id: null }
    return { userId: "boost-earned", ...ownBoost, source }
  },
  "boost.revoked": async (calls) => {
    const boost = await double(calls)
    const given = { reward: { boost }, id: "gift" }
    await calls.ask("POST", "/v1/users/boost-revoked/rewards", given)
    await calls.ask("DELETE", "/v1/users/boost-revoked/rewards/gift")
    return { userId: "boost-revoked", ...ownBoost }
  },
  "experiment.exposed": async ({ ask, track }) => {
    const variants = [
      { key: "control", weight: 1 },
      { key: "goal", weight: 1 },
    ]
    const { id } = await ask("POST", "/v1/experiments", { name: "Goal", variants })
    await track("exposed", "ANY")
    await ask("DELETE", `/v1/experiments/${id}`)
    const variant = expect.stringMatching(/^(control|goal)$/)
    return { userId: "exposed", experimentId: id, key: "goal", name: "Goal", variant }
  },
  "metric.changed": async ({ ask, track }) => {
    const metric = { key: "km", name: "Km", aggregate: "sum", actions: ["RAN"] }
    await ask("POST", "/v1/metrics", { ...metric, value: "km", decimals: 1 })
    await track("metric-changed", "RAN", { metadata: { km: 4.25 } })
    return { userId: "metric-changed", key: "km", total: 4.3 }
  },
  "streak.extended": async ({ track }) => {
    await track("streak-extended", "ANY")
    return { userId: "streak-extended", key: "daily", current: 1, best: 1 }
  },
  "streak.milestone_reached": async ({ track }) => {
    await track("milestone", "ANY")
    clock.set(later(day))
    await track("milestone", "ANY")
    const streakId = expect.stringMatching(/^stk_/)
    return { userId: "milestone", streakId, key: "daily", name: "Daily", target: 2 }
  },
  "streak.freezes_earned": async ({ ask }) => {
    await ask("POST", "/v1/users/frozen/rewards", { reward: { freezes: { daily: 1 } } })
    const source = { kind: "reward", id: null }
    return { userId: "frozen", key: "daily", amount: 1, total: 1, source }
  },
  "streak.freezes_revoked": async ({ ask }) => {
    const granted = { reward: { freezes: { daily: 1 } } }
    const { rewardId } = await ask("POST", "/v1/users/thawed/rewards", granted)
    await ask("DELETE", `/v1/users/thawed/rewards/${rewardId}`)
    return { userId: "thawed", key: "daily", amount: 1, total: 0 }
  },
  "streak.broken": async ({ track }) => {
    await track("streak-broken", "ANY")
    clock.set(later(3 * day))
    const cause = { kind: "clock", id: null }
    return { userId: "streak-broken", key: "daily", length: 1, best: 1, cause }
  },
  "streak.at_risk": async ({ ask, track }) => {
    const risky = { name: "Risky", needs: [{ action: "RISKY" }], atRisk: { hoursBefore: 23 } }
    await ask("POST", "/v1/streaks", risky)
    await track("streak-at-risk", "RISKY")
    clock.set(later(day))
    const cause = { kind: "clock", id: null }
    const endsAt = expect.stringMatching(/T00:00:00.000Z$/)
    return { userId: "streak-at-risk", key: "risky", current: 1, freezes: 0, endsAt, cause }
  },
  "streak.paused": async ({ ask, track }) => {
    await track("streak-paused", "ANY")
    const days = { from: "2026-01-01", to: "2026-01-02" }
    await ask("POST", "/v1/users/streak-paused/streaks/daily/pauses", days)
    const cause = { kind: "pause", id: null }
    return { userId: "streak-paused", key: "daily", ...days, current: 1, cause }
  },
  "leaderboard.disqualified": async ({ ask, grant }) => {
    await grant("disqualified")
    await ask("PUT", "/v1/leaderboards/xp/entries/disqualified", { disqualified: true })
    const cause = { kind: "disqualify", id: null }
    const leaderboard = { id: "ldb_xp", key: "xp" }
    return { userId: "disqualified", leaderboard, disqualified: true, cause }
  },
  "leaderboard.rank_changed": async ({ ask, grant }) => {
    await ask("POST", "/v1/currencies", { key: "told", name: "Told" })
    const board = { key: "told", name: "Told", score: { currency: "told" }, windows: ["all_time"] }
    const { id } = await ask("POST", "/v1/leaderboards", { ...board, announceRanks: 1 })
    await grant("told", { reward: { currencies: { told: 7 } } })
    const isTold = async () =>
      (await ask("GET", "/v1/users/told/history?kind=leaderboard.rank_changed")).facts.length === 1
    await vi.waitUntil(isTold, { timeout: 30_000 })
    await ask("DELETE", "/v1/leaderboards/told")
    const leaderboard = { id, key: "told" }
    const ranks = { rank: 1, previousRank: null, score: 7 }
    const cause = { kind: "ranks", id: null }
    return {
      userId: "told",
      leaderboard,
      window: "all_time",
      startsAt: null,
      endsAt: null,
      ...ranks,
      cause,
    }
  },
  "leaderboard.team_disqualified": async ({ ask }) => {
    await ask("PUT", "/v1/teams/crows", { kind: "flock", name: "Crows" })
    const score = { currency: "xp" }
    const teams = { entrants: "teams", teamKind: "flock" }
    const board = { key: "flocks", name: "Flocks", score, ...teams }
    const { id, key } = await ask("POST", "/v1/leaderboards", board)
    await ask("PUT", "/v1/leaderboards/flocks/teams/crows", { disqualified: true })
    const team = { teamId: "crows", teamKind: "flock", name: "Crows" }
    return { ...team, leaderboard: { id, key }, disqualified: true }
  },
  "league.disqualified": async ({ ask, grant }) => {
    const { id, key, name } = await ask("POST", "/v1/leagues", {
      name: "Fair league",
      score: { currency: "points" },
      divisions: [{ key: "only", name: "Only", promote: 0, demote: 0 }],
    })
    await grant("out-of-league")
    await ask("PUT", `/v1/leagues/${id}/members/out-of-league`, { disqualified: true })
    await ask("DELETE", `/v1/leagues/${id}`)
    const cause = { kind: "disqualify", id: null }
    return { userId: "out-of-league", leagueId: id, key, name, disqualified: true, cause }
  },
  "streak.repaired": async ({ ask, track }) => {
    const { spendId, ...days } = await repaired({ ask, track }, "streak-repaired")
    const cause = { kind: "spend", id: spendId }
    return { userId: "streak-repaired", ...days, current: 1, cause }
  },
  "streak.repair_undone": async ({ ask, track }) => {
    const { spendId, ...days } = await repaired({ ask, track }, "repair-undone")
    await ask("DELETE", `/v1/users/repair-undone/points/spend/${spendId}`)
    const cause = { kind: "revocation", id: spendId }
    return { userId: "repair-undone", ...days, current: 0, cause }
  },
  "quest.started": async (calls) => {
    const { id } = await quest(calls, "STARTED")
    await calls.track("quest-started", "STARTED")
    return { userId: "quest-started", questId: id, key: "started-twice", title: "STARTED twice" }
  },
  "quest.progressed": async (calls) => {
    const { id } = await quest(calls, "PROGRESSED")
    await calls.track("quest-progressed", "PROGRESSED")
    const step = { step: "step", current: 1, target: 2, progress: 0.5 }
    return { userId: "quest-progressed", questId: id, ...step }
  },
  "quest.completed": async (calls) => {
    const { id } = await quest(calls, "COMPLETED")
    for (let time = 0; time < 2; time++) await calls.track("quest-completed", "COMPLETED")
    return { userId: "quest-completed", questId: id, times: 1 }
  },
  "quest.claimed": async (calls) => {
    const { id } = await quest(calls, "CLAIMED", { claim: "manual" })
    for (let time = 0; time < 2; time++) await calls.track("quest-claimed", "CLAIMED")
    await calls.track("quest-claimed", "QUEST_COMPLETE", { metadata: { questId: id } })
    return { userId: "quest-claimed", questId: id, key: "claimed-twice" }
  },
  "quest.claim_lapsed": async (calls) => {
    const { id } = await quest(calls, "LAPSED", { claim: "manual", recurrence: "daily" })
    for (let time = 0; time < 2; time++) await calls.track("claim-lapsed", "LAPSED")
    clock.set(later(day))
    return { userId: "claim-lapsed", questId: id, cause: { kind: "clock", id: null } }
  },
  "quest.expired": async (calls) => {
    const { id } = await quest(calls, "EXPIRED", { endsAt: later(hour) })
    await calls.track("quest-expired", "EXPIRED")
    clock.set(later(2 * hour))
    return { userId: "quest-expired", questId: id, cause: { kind: "clock", id: null } }
  },
  "quest.ending": async (calls) => {
    await calls.ask("PATCH", "/v1/project", { reminders: { questDays: 1, hour: 0 } })
    const at = early(2)
    const endsAt = new Date(Date.parse(at) + hour).toISOString()
    const { id } = await quest(calls, "ENDING", { endsAt })
    await calls.track("quest-ending", "ENDING")
    clock.set(at)
    const cause = { kind: "clock", id: null }
    return { userId: "quest-ending", questId: id, endsAt, progress: 0.5, cause }
  },
  "quest.created": async (calls) => {
    const { id } = await quest(calls, "CREATED")
    return { quest: expect.objectContaining({ id, title: "CREATED twice", status: "active" }) }
  },
  "quest.updated": async (calls) => {
    const { id } = await quest(calls, "UPDATED")
    await calls.ask("PATCH", `/v1/quests/${id}`, { title: "Changed" })
    return { quest: expect.objectContaining({ id, title: "Changed" }) }
  },
  "reward.granted": async ({ grant }) => {
    const body = { type: "points", amount: 5, reason: "Well done" }
    const { rewardId } = await grant("reward-granted", body)
    return { userId: "reward-granted", rewardId, badgeId: null, ...body }
  },
  "reward.revoked": async ({ ask, grant }) => {
    const { rewardId } = await grant("reward-revoked")
    await ask("DELETE", `/v1/users/reward-revoked/rewards/${rewardId}`)
    return { userId: "reward-revoked", rewardId, xp: { earned: -5, total: 0 } }
  },
  "item.purchased": async (calls) => {
    const { itemId, purchaseId } = await buy(calls, "item-purchased")
    const cause = { kind: "purchase", id: purchaseId }
    const bought = { itemId, key: "poster", name: "Poster", price: { points: 2 } }
    return { userId: "item-purchased", purchaseId, ...bought, cause }
  },
  "item.refunded": async (calls) => {
    const { purchaseId } = await buy(calls, "item-refunded")
    await calls.ask("DELETE", `/v1/users/item-refunded/purchases/${purchaseId}`)
    const cause = { kind: "revocation", id: purchaseId }
    const price = { points: { refunded: 2, shortfall: 0 } }
    return { userId: "item-refunded", purchaseId, key: "poster", price, cause }
  },
  "leaderboard.window_closed": async ({ grant }) => {
    await grant("on-the-board")
    clock.set(later(day))
    const leaderboard = { id: "ldb_xp", key: "xp" }
    const endsAt = expect.stringMatching(/T00:00/)
    // The end of the day may be that of a week or a month, whose message comes first.
    const window = expect.stringMatching(/^(daily|weekly|monthly)$/)
    return { leaderboard, window, total: expect.any(Number), endsAt }
  },
  "team.joined": async ({ ask }) => {
    await ask("PUT", "/v1/teams/owls", { kind: "club", name: "Owls" })
    await ask("PUT", "/v1/teams/owls/members/joiner")
    const cause = { kind: "join", id: null }
    return { userId: "joiner", teamId: "owls", teamKind: "club", name: "Owls", cause }
  },
  "team.left": async ({ ask }) => {
    await ask("PUT", "/v1/teams/owls", { kind: "club", name: "Owls" })
    await ask("PUT", "/v1/teams/owls/members/leaver")
    await ask("DELETE", "/v1/teams/owls/members/leaver")
    const cause = { kind: "leave", id: null }
    return { userId: "leaver", teamId: "owls", teamKind: "club", name: "Owls", cause }
  },
  "team.deleted": async ({ ask }) => {
    await ask("PUT", "/v1/teams/doves", { kind: "club", name: "Doves" })
    await ask("DELETE", "/v1/teams/doves")
    return { teamId: "doves", teamKind: "club", name: "Doves" }
  },
  "league.joined": (calls) => inLeague(calls, "joined", 0),
  "league.promoted": (calls) => inLeague(calls, "promoted", 1),
  "league.stayed": (calls) => inLeague(calls, "stayed", 1),
  "league.demoted": (calls) => inLeague(calls, "demoted", 2),
  "league.closing": async ({ ask, grant }) => {
    await ask("PATCH", "/v1/project", { reminders: { leagueDays: 1, hour: 23 } })
    const divisions = [{ key: "only", name: "Only", promote: 0, demote: 0 }]
    const league = { key: "closing", name: "Closing", score: { currency: "xp" }, divisions }
    await ask("POST", "/v1/leagues", { ...league, window: "daily" })
    clock.set(early(1))
    await grant("league-closing")
    clock.set(new Date(Date.parse(early(0)) + 21 * hour).toISOString())
    const history = "/v1/users/league-closing/history?kind=league.closing"
    const isTold = async () => (await ask("GET", history)).facts.length === 1
    await vi.waitUntil(isTold, { timeout: 30_000 })
    // The users of other messages must not join it.
    await ask("DELETE", "/v1/leagues/closing")
    const cause = { kind: "clock", id: null }
    const place = { rank: 1, of: 1, size: 1, outcome: "stayed", score: expect.any(Number) }
    return { userId: "league-closing", key: "closing", cohort: 1, ...place, cause }
  },
  "league.window_closed": async (calls) => {
    await inLeague(calls, "closed", 1)
    const league = { id: expect.stringMatching(/^lga_/), key: "closed" }
    return { league, window: "daily", cohorts: 1, total: 1 }
  },
  "goal.progressed": (calls) => ofGoal(calls, "progressed", 25),
  "goal.completed": (calls) => ofGoal(calls, "completed", 100),
  "goal.rewarded": async (calls) => {
    const { key, name, period, teamId } = await ofGoal(calls, "rewarded", 100)
    const reward = { xp: 0, points: 5, badgeId: null }
    const cause = { kind: "goal", id: null }
    return { userId: "goal-rewarded", key, name, teamId, period, reward, cause }
  },
  "goal.rewards_paid": async (calls) => {
    const { key, name, period, teamId } = await ofGoal(calls, "paid", 100)
    return { key, name, teamId, period, rewarded: 1 }
  },
  "leaderboard.prize_won": async ({ ask, grant }) => {
    const prizes = [{ window: "daily", ranks: [1, 1], reward: { points: 9 } }]
    const board = { key: "prized", name: "Prized", score: { currency: "xp" }, prizes }
    await ask("POST", "/v1/leaderboards", board)
    await grant("winner")
    clock.set(later(day))
    const leaderboard = { id: expect.stringMatching(/^ldb_/), key: "prized" }
    const cause = { kind: "prize", id: null }
    const reward = { xp: 0, points: 9, badgeId: null }
    return { userId: "winner", leaderboard, window: "daily", rank: 1, reward, cause }
  },
  "leaderboard.prizes_paid": async ({ ask, grant }) => {
    const prizes = [{ window: "daily", percent: 1, reward: { points: 9 } }]
    // The leaderboard of the test before would pay as well.
    await ask("DELETE", "/v1/leaderboards/prized")
    const board = { key: "shared-out", name: "Shared out", score: { currency: "xp" }, prizes }
    await ask("POST", "/v1/leaderboards", board)
    await grant("best")
    clock.set(later(day))
    const leaderboard = { id: expect.stringMatching(/^ldb_/), key: "shared-out" }
    return { leaderboard, window: "daily", winners: 1 }
  },
  "user.created": async ({ ask }) => {
    await ask("PUT", "/v1/users/user-created", { displayName: "Ada" })
    return { userId: "user-created", cause: { kind: "profile", id: null } }
  },
  "user.opened": async ({ ask }) => {
    await ask("POST", "/v1/streaks", { key: "brought", name: "Brought along" })
    const body = { balances: { xp: 150 }, streaks: { brought: { current: 0, best: 9 } } }
    await ask("PUT", "/v1/users/opened/opening", body)
    const streaks = [{ key: "brought", current: 0, best: 9 }]
    const balances = { xp: 150, points: 0 }
    const cause = { kind: "opening", id: null }
    return { userId: "opened", balances, level: 2, streaks, badges: [], cause }
  },
  "user.merged": async ({ ask, grant }) => {
    await grant("visitor-7", { type: "xp", amount: 20 })
    await grant("member-7", { type: "xp", amount: 30 })
    await ask("POST", "/v1/users/visitor-7/merge", { into: "member-7" })
    const cause = { kind: "merge", id: null }
    return { userId: "member-7", from: "visitor-7", gained: { xp: 20 }, totals: { xp: 50 }, cause }
  },
  "user.inactive": async ({ ask, track }) => {
    await ask("PATCH", "/v1/project", { reminders: { inactiveDays: [1], hour: 0 } })
    await track("user-inactive", "ANY")
    clock.set(later(day))
    const cause = { kind: "clock", id: null }
    const lastDay = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    return { userId: "user-inactive", days: 1, lastDay, cause }
  },
  "user.deleted": async ({ ask, grant }) => {
    await grant("user-deleted")
    await ask("DELETE", "/v1/users/user-deleted")
    return { userId: "user-deleted" }
  },
  "test_clock.advanced": async ({ ask }) => {
    const advanceTo = later(hour)
    await ask("POST", "/v1/test-clock", { advanceTo })
    return { advancedTo: advanceTo }
  },
  "webhook.disabled": async ({ grant, register }) => {
    const gone = await receiving()
    gone.answer = answer(410)
    const { id } = await register(gone, ["reward.granted"])
    await grant("of-the-gone")
    await gone.atLeast(1)
    return { webhookId: id, reason: "gone", description: null }
  },
  "webhook.test": async ({ ask }) => {
    await ask("POST", `/v1/webhooks/${webhook.id}/test`)
    return { webhookId: webhook.id }
  },
}

/**
 * Checks a request like a receiver that has only the secret and the `standardwebhooks` package,
 * which reads `Date`.
 */
const verify = ({ body, headers }: Received, secret = webhook.secret): unknown => {
  vi.useFakeTimers({ toFake: ["Date"], now: Number(headers["webhook-timestamp"]) * 1_000 })
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
}

const decode = (kind: MessageKind, message: unknown): unknown =>
  Schema.decodeUnknownSync(messageSchema(kind) as unknown as Schema.Codec<unknown>, {
    onExcessProperty: "error",
  })(message)

/** Whether a message is of the expected user and league: leagues of other tests close, too. */
const isOf = (data: Expected, { key, league, userId }: Expected): boolean =>
  data.userId === userId &&
  (key === undefined || data.key === key) &&
  (league === undefined || (data.league as Expected).key === (league as Expected).key)

describe("Each kind of message", () => {
  it("of the catalogue is tested here", async () => {
    const { kinds } = await asking(server).ask("GET", "/v1/webhook-events")
    const offered = kinds.map(({ kind }: { readonly kind: MessageKind }) => kind)
    expect(Object.keys(causes).toSorted()).toEqual(offered.toSorted())
  })

  it.each(messageKinds)("reaches the receiver when its cause is called: %s", async (kind) => {
    const before = receiver.received.length
    const expected = await causes[kind](asking(server))
    const found = () =>
      receiver.received
        .slice(before)
        .find(({ message }) => message.type === kind && isOf(message.data, expected))
    await receiver.until(() => found() !== undefined)
    const received = found()!
    expect(received.message).toMatchObject({
      id: received.headers["webhook-id"],
      type: kind,
      project: "prj_test",
      environment: "sandbox",
      data: { sequence: expect.any(Number), ...expected },
    })
    expect(decode(kind, received.message)).toEqual(received.message)
  })

  it("was signed, sent once, and short", () => {
    const others = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    for (const received of receiver.received) {
      expect(verify(received)).toEqual(received.message)
      expect(() => verify(received, others)).toThrow("No matching signature")
      expect(Buffer.byteLength(received.body)).toBeLessThan(limits.messageBytesMax)
    }
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"])
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(kindsOf(receiver))).toEqual(new Set(messageKinds))
  })

  it("is dated with the time of its attempt", async () => {
    const { ask, register } = asking(server)
    const other = await receiving()
    const { id } = await register(other)
    await ask("POST", `/v1/webhooks/${id}/test`)
    await other.atLeast(1)
    const seconds = Number(other.received[0]!.headers["webhook-timestamp"])
    expect(Math.abs(clock.currentTimeMillisUnsafe() / 1_000 - seconds)).toBeLessThan(60)
  })

  it("is not sent for imported events", async () => {
    const { ask, grant, register } = asking(server)
    const other = await receiving()
    await register(other)
    const event = { userId: "imported", action: "GAIN", occurredAt: "2025-01-01T00:00:00Z" }
    await ask("POST", "/v1/events/import", { events: [event] })
    await grant("after-the-import")
    await other.until(() => kindsOf(other).includes("reward.granted"))
    const users = other.received.map(({ message }) => message.data.userId)
    expect(new Set(users)).toEqual(new Set(["after-the-import"]))
  })
})
