/**
 * A server with something on every page: project `shop` with users, definitions, a webhook, keys
 * and a team.
 */
import { Effect } from "effect"
import type { Route } from "../../../src/dashboard/request/Route.ts"
import { type Browser, type DashboardServer, startDashboard } from "../fixture.ts"

export interface Sample {
  readonly server: DashboardServer
  readonly owner: Browser
  /** An API key of shop's sandbox. */
  readonly key: string
  /** The value of each named part of a path. */
  readonly params: Readonly<Record<string, string>>
}

// biome-ignore lint/suspicious/noExplicitAny: replies of the API are JSON
type Json = any

/** Asks the API; fails unless the reply is a 2xx. */
export const ask = async (
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Json> => {
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return text === "" ? undefined : JSON.parse(text)
}

/** `longNames`: some names leave little room for others. */
export const startSample = async ({ longNames = true } = {}): Promise<Sample> => {
  const server = await startDashboard()
  const owner = await server.owner()
  const makeKey = (environment: "production" | "sandbox", scope: "full" | "ingest") =>
    Effect.runPromise(server.keys.create({ project: "shop", environment, scope }))
  const { key } = await makeKey("sandbox", "full")
  const spare = await makeKey("sandbox", "ingest")
  await makeKey("production", "full")
  const directory = await Effect.runPromise(server.engine.readDirectory)
  const [project] = directory.projects.keys()
  await server.joined(owner, "grace", `viewer ${project}`)
  await owner.post("/dashboard/team/invite", { email: "alan@example.com", role: "owner" })
  await owner.post("/dashboard/account/profile", { email: "ada@example.com", name: longName })
  await owner.post("/dashboard/shop/sandbox/keys", { ...keyFields, name: longName })
  const made = await fill(server.url, key, longNames)
  const full = await Effect.runPromise(server.engine.readDirectory)
  const [account] = full.accounts.keys()
  const [invitation] = full.invitations.keys()
  const [session] = full.sessions.keys()
  const params = {
    project: "shop",
    environment: "sandbox",
    key: spare.id,
    account: account!,
    invitation: invitation!,
    session: session!,
    mechanicKind: "quest",
    mechanic: made.quest!,
    ...made,
  }
  return { server, owner, key, params }
}

const keyFields = { kind: "secret", scope: "full", expires: "30" }

/** As long as people write names: with spaces, and without. */
const longName = "Wolfeschlegelsteinhausenbergerdorff of the Northern Provinces"
const longAction = "SHARED_A_LESSON_WITH_A_FRIEND_FROM_THE_APP_ON_A_PHONE"

/** Definitions whose names leave little room for the other columns of a list. */
const defineLong = async (
  post: (path: string, body: unknown) => Promise<Json>,
  badgeId: string,
): Promise<void> => {
  await post("/rules", {
    action: longAction,
    where: [{ path: "course.language", op: "in", value: ["french", "spanish", "german"] }],
    reward: { xp: 1_000, points: 1_000, badgeId },
    multiplierPath: "course.the_length_of_the_course_in_hours",
    limit: { times: 20, per: "month" },
  })
  await post("/quests", {
    title: longName,
    status: "active",
    reward: { xp: 1_000, points: 1_000, badgeId },
    steps: ["one", "two"].map((key) => ({
      key,
      action: `${longAction}_${key.toUpperCase()}`,
      target: 2,
    })),
    recurrence: "monthly",
    startsAt: "2026-11-01T00:00:00Z",
    endsAt: "2030-11-01T00:00:00Z",
  })
  await post("/boosts", {
    name: longName,
    currencies: ["xp", "points"],
    factor: 1.25,
    weekly: [
      { days: ["monday", "tuesday", "wednesday", "thursday"], from: "18:00", to: "20:30" },
      { days: ["friday", "saturday", "sunday"], from: "22:00", to: "02:00" },
    ],
    startsAt: "2026-11-01T00:00:00Z",
    endsAt: "2030-11-01T00:00:00Z",
  })
  await post("/currencies", { key: "l".repeat(64), name: longName })
  await post("/streaks", {
    name: longName,
    needs: [
      { action: `L${"O".repeat(40)}NG`, target: 12 },
      { action: `L${"O".repeat(40)}NGER`, target: 3 },
    ],
    restDays: ["monday", "tuesday", "wednesday", "thursday", "friday"],
    startsAt: "2026-11-01T00:00:00Z",
    endsAt: "2030-11-01T00:00:00Z",
  })
  await post("/segments", {
    name: longName,
    match: "any",
    conditions: [
      {
        kind: "attribute",
        attribute: longAction,
        op: "in",
        value: ["french", "spanish", "german"],
      },
      { kind: "account_age_days", op: "lt", value: 30 },
      { kind: "percent", salt: "new-home", op: "lt", value: 10 },
    ],
  })
  await post("/badges", {
    name: longName,
    secret: true,
    criteria: { kind: "action_sum", action: longAction, sumPath: "course.hours", target: 100_000 },
  })
  await post("/metrics", {
    name: longName,
    aggregate: "sum",
    actions: [longAction],
    where: [{ path: "course.language", op: "in", value: ["french", "spanish", "german"] }],
    value: "course.hours",
    decimals: 2,
    unit: "hours",
  })
  await post("/webhooks", {
    url: `https://hooks.example.com/${"a".repeat(200)}`,
    description: longAction,
    events: ["xp.earned", "points.earned", "level.changed", "badge.earned"],
  })
  await post("/events", { userId: longAction.repeat(2), action: longAction })
}

/** The time at which the server of `startDashboard` starts. */
const now = Date.parse("2026-11-22T10:00:00Z")

/** Users, definitions and a webhook with deliveries; the ids of one each. */
const fill = async (
  url: string,
  key: string,
  longNames: boolean,
): Promise<Record<string, string>> => {
  const post = (path: string, body: unknown) => ask(url, key, "POST", path, body)
  await ask(url, key, "PATCH", "/project", { name: "Language school" })
  const streak = await post("/streaks", {
    key: "daily",
    name: "Daily lesson",
    needs: [{ action: "LESSON_DONE" }],
    milestones: [{ target: 7, reward: { points: 50 } }],
  })
  const rule = await post("/rules", {
    action: "LESSON_DONE",
    where: [{ path: "score", op: "gte", value: 50 }],
    reward: { xp: 50, points: 5 },
    limit: { times: 20, per: "day" },
  })
  await post("/rules", { action: "SHARED", reward: { xp: 5 }, cooldownSeconds: 60 })
  const currency = await post("/currencies", { key: "gems", name: "Gems", max: 100 })
  const badge = await post("/badges", {
    name: "Three lessons",
    description: "For three lessons with 90 points or more",
    icon: "🏅",
    criteria: { kind: "action_count", action: "LESSON_DONE", target: 3 },
  })
  const boost = await post("/boosts", { name: "Happy hour", currencies: ["points"], factor: 2 })
  const leaderboard = await post("/leaderboards", {
    name: "Point hunters",
    score: { currency: "points" },
    attributes: ["avatarUrl"],
  })
  const league = await post("/leagues", {
    name: "Weekly league",
    score: { currency: "xp" },
    divisions: [
      { key: "bronze", name: "Bronze", promote: 10, demote: 0 },
      { key: "silver", name: "Silver", promote: 0, demote: 5 },
    ],
  })
  const conditions = [{ kind: "badge", badge: badge.key, op: "exists" }]
  const segment = await post("/segments", { name: "Eager learners", conditions })
  const metric = await post("/metrics", {
    name: "Days with a lesson",
    aggregate: "distinct_days",
    actions: ["LESSON_DONE"],
    unit: "days",
  })
  if (longNames) await defineLong(post, badge.id)
  const quest = await post("/quests", {
    title: "First steps",
    description: "Finish two lessons",
    status: "active",
    reward: { xp: 100 },
    steps: [{ key: "lessons", action: "LESSON_DONE", target: 2 }],
  })
  const experiment = await post("/experiments", {
    name: "Daily goal",
    variants: ["control", "goal"].map((key) => ({ key, weight: 1 })),
  })
  const webhook = await post("/webhooks", {
    url: "https://hooks.example.com/laurel",
    description: "Our messenger",
    events: ["*"],
  })
  for (const [index, userId] of ["ada", "grace", "<b>x</b>", "\u{1f600}".repeat(32)].entries()) {
    for (let lesson = index; lesson < 4; lesson++) {
      const metadata = { score: 60 + 10 * lesson }
      await post("/events", { userId, action: "LESSON_DONE", metadata })
    }
  }
  const daysAgo = (days: number) => new Date(now - days * 86_400_000).toISOString()
  const events = [80, 50, 49, 43, 20, 13, 6, 5, 1].flatMap((days) =>
    ["ada", ...(days % 2 === 0 ? ["grace"] : [])].map((userId) => ({
      ...{ userId, action: "SHARED", occurredAt: daysAgo(days) },
    })),
  )
  await post("/events/import", { events })
  await ask(url, key, "PUT", "/users/ada", { displayName: "Ada Lovelace" })
  await ask(url, key, "PUT", "/users/grace", { displayName: longNames ? longName : "Grace Hopper" })
  const long = [longAction.repeat(2).slice(0, 128), "l".repeat(64)]
  for (const [id, kind] of [["falcons", "club"], ...(longNames ? [long] : [])]) {
    const name = longNames ? longName : "Falcons"
    await ask(url, key, "PUT", `/teams/${id}`, { kind, name, attributes: { seats: 12 } })
    for (const member of ["ada", ...(longNames ? [longAction.repeat(2)] : [])]) {
      await ask(url, key, "PUT", `/teams/${id}/members/${member}`)
    }
  }
  const event = await post("/events", { userId: "ada", action: "SHARED" })
  const reward = await post("/users/ada/rewards", { type: "points", amount: 20 })
  const spend = await post("/users/ada/points/spend", { amount: 5, reason: "Streak freeze" })
  const goal = await post("/goals", {
    name: longNames ? longName : "100 billion xp together",
    score: { currency: "xp" },
    target: 100_000_000_000,
    recurrence: "monthly",
    reward: { points: 1 },
  })
  const source = await post("/sources", {
    name: longName,
    kind: "github",
    mappings: [{ event: "pull_request", action: longAction.slice(0, 64), userId: "/sender/login" }],
  })
  const item = await post("/items", {
    name: longNames ? longName : "Streak freeze",
    price: { points: 1 },
    reward: { xp: 1 },
    limit: { times: 20, per: "month" },
    stock: 1_000_000,
    startsAt: "2026-11-01T00:00:00Z",
    endsAt: "2030-11-01T00:00:00Z",
  })
  const purchase = await post("/users/ada/purchases", { item: item.key })
  await post(`/webhooks/${webhook.id}/test`, undefined)
  const { deliveries } = await ask(url, key, "GET", `/webhooks/${webhook.id}/deliveries`)
  return {
    user: "ada",
    team: "falcons",
    event: event.eventId,
    reward: reward.rewardId,
    spend: spend.spendId,
    item: item.id,
    goal: goal.id,
    source: source.id,
    purchase: purchase.purchaseId,
    rule: rule.id,
    badge: badge.id,
    boost: boost.id,
    experiment: experiment.id,
    leaderboard: leaderboard.id,
    league: league.id,
    metric: metric.id,
    quest: quest.id,
    currency: currency.id,
    segment: segment.id,
    streak: streak.id,
    webhook: webhook.id,
    delivery: deliveries[0].id,
  }
}

/** The path of a route, with something that exists for each of its named parts. */
export const samplePath = ({ path }: Route, params: Sample["params"]): string =>
  path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) {
      throw new Error(
        `The path ${path} names ":${name}": give it a value in "params" of test/dashboard/browser/sample.ts`,
      )
    }
    return encodeURIComponent(value)
  })
