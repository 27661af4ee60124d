/** Makes the subjects of the reference's examples on a server. */
import type { TestServer } from "./fixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
export type Json = any

/** Existing ids by their prefix, and existing keys by those of examples. */
export type RealIds = Readonly<Record<string, string>>

const ids = /^(qst|bdg|bst|cur|gol|itm|ldb|lga|mtr|rul|seg|stk|whk|evt|rwd|spd|pur|dlv|msg)_/

/** The body with the server's ids and keys in place of those of examples. */
export const withRealIds = (node: Json, real: RealIds): Json => {
  if (typeof node === "string") return real[ids.exec(node)?.[1] ?? node] ?? node
  if (Array.isArray(node)) return node.map((child) => withRealIds(child, real))
  if (typeof node !== "object" || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, child]) => [key, withRealIds(child, real)]),
  )
}

const post = async (server: TestServer, path: string, body: unknown): Promise<Json> => {
  const { json, status, text } = await server.call("POST", path, { body })
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`)
  return json
}

/** A metric that no test has archived yet: an environment has room for few. */
const metricOf = async (server: TestServer): Promise<Json> => {
  const name = "Kilometres run"
  const { json } = await server.call("GET", "/v1/metrics?status=active&limit=100")
  const metric = { name, aggregate: "sum", actions: ["RUN_DONE"], value: "km", decimals: 1 }
  return (
    json.metrics.find((known: Json) => known.name === name) ??
    (await post(server, "/v1/metrics", metric))
  )
}

const put = async (server: TestServer, path: string, body?: unknown): Promise<void> => {
  const { status, text } = await server.call("PUT", path, body === undefined ? {} : { body })
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`)
}

/** Makes one subject of each kind; returns their ids. */
export const makeWorld = async (server: TestServer): Promise<RealIds> => {
  const { json: begun } = await server.call("GET", "/v1/streaks")
  const daily = { key: "daily", name: "Daily lesson", repair: { withinDays: 30 } }
  if (begun.total === 0) await post(server, "/v1/streaks", daily)
  // A test may archive it, and an environment keeps few archived ones.
  const streak =
    begun.streaks.find(({ key }: Json) => key !== "daily") ??
    (await post(server, "/v1/streaks", { name: "Evening run" }))
  const badge = await post(server, "/v1/badges", {
    name: "Rich",
    criteria: { kind: "xp", target: 1_000 },
  })
  const metric = await metricOf(server)
  const quest = await post(server, "/v1/quests", {
    title: "Before",
    reward: { xp: 1 },
    optIn: true,
  })
  const { json: known } = await server.call("GET", "/v1/currencies?limit=100")
  if (known.currencies.every(({ key }: Json) => key !== "gems")) {
    await post(server, "/v1/currencies", { key: "gems", name: "Gems" })
  }
  const currency =
    known.currencies.find(({ name }: Json) => name === "Coins") ??
    (await post(server, "/v1/currencies", { name: "Coins" }))
  const limit = { times: 1, per: "day" }
  const rule = await post(server, "/v1/rules", {
    action: "TAP",
    reward: { xp: 1 },
    limit,
  })
  // Of the worlds of one server, the latest has a boost: few may be active.
  for (const { id } of (await server.call("GET", "/v1/boosts")).json.boosts) {
    await server.call("DELETE", `/v1/boosts/${id}`)
  }
  const boost = await post(server, "/v1/boosts", {
    name: "Happy",
    currencies: ["points"],
    factor: 2,
  })
  // And a leaderboard: a currency has few.
  for (const { id, key } of (await server.call("GET", "/v1/leaderboards")).json.leaderboards) {
    if (key !== "xp") await server.call("DELETE", `/v1/leaderboards/${id}`)
  }
  const leaderboard = await post(server, "/v1/leaderboards", {
    name: "Hunters",
    score: { currency: "gems" },
    windows: ["all_time", "weekly"],
    groupBy: "city",
  })
  const teamBoard = await post(server, "/v1/leaderboards", {
    name: "Cup of the clubs",
    score: { currency: "xp" },
    entrants: "teams",
    teamKind: "club",
    windows: ["weekly"],
  })
  // And an experiment, for the same reason.
  for (const { id } of (await server.call("GET", "/v1/experiments")).json.experiments) {
    await server.call("DELETE", `/v1/experiments/${id}`)
  }
  const experiment = await post(server, "/v1/experiments", {
    name: "Goal",
    variants: [
      { key: "control", weight: 1 },
      { key: "goal", weight: 1 },
    ],
  })
  // An environment has few, and a test may archive it.
  const { json: sets } = await server.call("GET", "/v1/segments?limit=100")
  const conditions = [{ kind: "level", op: "eq", value: 1 }]
  const segment =
    sets.segments.find(({ name }: Json) => name === "Beginners") ??
    (await post(server, "/v1/segments", { name: "Beginners", conditions }))
  // So with leagues.
  const { json: cups } = await server.call("GET", "/v1/leagues?limit=100")
  const divisions = [
    { key: "bronze", name: "Bronze", promote: 10, demote: 0 },
    { key: "silver", name: "Silver", promote: 0, demote: 5 },
  ]
  const league =
    cups.leagues.find(({ name }: Json) => name === "Cup") ??
    (await post(server, "/v1/leagues", { name: "Cup", score: { currency: "xp" }, divisions }))
  const webhook = await post(server, "/v1/webhooks", {
    url: "https://example.com/hook",
    events: ["*"],
  })
  // The streak of the user broke, and can be repaired.
  const { json: clock } = await server.call("GET", "/v1/test-clock")
  const occurredAt = new Date(Date.parse(clock.now) - 3 * 86_400_000).toISOString()
  await post(server, "/v1/events", { userId: "user-42", action: "TAP", occurredAt, id: "past" })
  const event = await post(server, "/v1/events", { userId: "user-42", action: "TAP" })
  const reward = await post(server, "/v1/users/user-42/rewards", { type: "xp", amount: 1 })
  await post(server, "/v1/users/user-42/rewards", { type: "points", amount: 300 })
  await post(server, "/v1/users/user-42/rewards", { reward: { currencies: { gems: 9 } } })
  const spend = await post(server, "/v1/users/user-42/points/spend", { amount: 1 })
  // So with goals.
  const { json: targets } = await server.call("GET", "/v1/goals?limit=100")
  const goal =
    targets.goals.find(({ name }: Json) => name === "Together") ??
    (await post(server, "/v1/goals", {
      name: "Together",
      score: { currency: "points" },
      target: 1e9,
    }))
  const clubRun = { name: "Club run", score: { currency: "xp" }, scope: "team", teamKind: "club" }
  const teamGoal =
    targets.goals.find(({ name }: Json) => name === clubRun.name) ??
    (await post(server, "/v1/goals", { ...clubRun, target: 1e9 }))
  // So with sources.
  const { json: services } = await server.call("GET", "/v1/sources?limit=100")
  const source =
    services.sources.find(({ name }: Json) => name === "Payments") ??
    (await post(server, "/v1/sources", {
      name: "Payments",
      kind: "stripe",
      secret: sourceSecret,
      mappings: [],
    }))
  const item = await post(server, "/v1/items", { name: "Poster", price: { points: 1 } })
  const purchase = await post(server, "/v1/users/user-42/purchases", { item: item.key })
  await post(server, "/v1/users/visitor-7/rewards", { type: "xp", amount: 1 })
  await put(server, "/v1/teams/falcons", { kind: "club", name: "Falcons" })
  await put(server, "/v1/teams/falcons/members/user-42")
  return {
    "first-lesson": badge.key,
    "first-steps": quest.key,
    "good-lesson": rule.key,
    "active-learners": segment.key,
    seg: segment.id,
    "kilometres-run": metric.key,
    stk: streak.id,
    bdg: badge.id,
    cur: currency.id,
    mtr: metric.id,
    qst: quest.id,
    rul: rule.id,
    "happy-hour": boost.key,
    bst: boost.id,
    "gem-hunters": leaderboard.key,
    ldb: leaderboard.id,
    "club-cup": teamBoard.key,
    "daily-goal": experiment.key,
    exp: experiment.id,
    "weekly-league": league.key,
    lga: league.id,
    "silver-12": "bronze-1",
    whk: webhook.id,
    evt: event.eventId,
    rwd: reward.rewardId,
    spd: spend.spendId,
    tea: "falcons",
    "streak-freeze": item.key,
    "thousand-kilometres": goal.key,
    "thousand-points": goal.key,
    "club-run": teamGoal.key,
    itm: item.id,
    gol: goal.id,
    src: source.id,
    delivery: source.path.slice("/v1/ingest/".length),
    pur: purchase.purchaseId,
  }
}

const kindOf: Readonly<Record<string, string>> = {
  quests: "qst",
  rules: "rul",
  badges: "bdg",
  boosts: "bst",
  leaderboards: "ldb",
  experiments: "exp",
  leagues: "lga",
  items: "itm",
  goals: "gol",
  sources: "src",
  currencies: "cur",
  segments: "seg",
  metrics: "mtr",
  streaks: "stk",
  webhooks: "whk",
  teams: "tea",
}

/** The secret of the source. */
export const sourceSecret = "whsec_of_the_example_world"

/** The path with existing ids in place of its parameters. */
export const realPath = (path: string, real: RealIds): string =>
  path
    .replace("/users/{id}/merge", "/users/visitor-7/merge")
    .replace("/streaks/{key}/", "/streaks/daily/")
    .replace("/leaderboards/{id}/teams", `/leaderboards/${real["club-cup"]}/teams`)
    .replace("{teamId}", real.tea!)
    .replace("/users/{id}/opening", "/users/newcomer-3/opening")
    .replace("{eventId}", real.evt!)
    .replace("{rewardId}", real.rwd!)
    .replace("{spendId}", real.spd!)
    .replace("{purchaseId}", real.pur!)
    .replace("{metricId}", real.mtr!)
    .replace("{userId}", "user-42")
    .replace("{leagueId}", real.lga!)
    .replace("{cohort}", "bronze-1")
    .replace("{project}/{environment}/{source}", real.delivery!)
    .replace("{id}", real[kindOf[path.split("/")[2]!] ?? ""] ?? "user-42")
