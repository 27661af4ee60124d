/**
 * Makes the golden data anew: `npm run golden:make`, after each change of a stored form.
 *
 *     directory.tar.gz   a data directory with an archive, an audit log and an export
 *     answers.json       what the server answered about it
 *
 * A real server does one of everything on 29 October 2026 and stops; another one on 3 November is killed: the first
 * day is in the snapshot, the second one in the journal alone. Its receiver accepts, refuses or is not there.
 */
import { execFileSync } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type Answers,
  answersFile,
  answerTo,
  asksOf,
  directoryArchive,
  laurel,
  serve,
} from "./program.ts"

const first = Date.parse("2026-10-29T12:00:00Z")
const second = Date.parse("2026-11-03T12:00:00Z")
/** A kept answer lives a day, and no attempt of a delivery is due. */
const asked = second + 3_600_000

const work = await mkdtemp(join(tmpdir(), "laurel-golden-"))
const directory = join(work, "directory")

/** By path: what is sent, and the status of the reply. `/bad` gets one message, so that none waits behind its retry. */
const receivers: Readonly<
  Record<string, readonly [events: ReadonlyArray<string>, status: number]>
> = {
  "/good": [["xp.*", "badge.*", "quest.*"], 204],
  "/bad": [["badge.earned"], 500],
  "/gone": [["quest.completed"], 410],
}
const receiver = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(receivers[request.url!]![1]).end("no"))
})
await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done))
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const wish = ["--project", "shop", "--environment", "sandbox"]
const created = await laurel(directory, first, "keys", "create", ...wish, "--json").ended
const { key } = JSON.parse(created.split("\n").find((line) => line.startsWith("{"))!)

type Body = Readonly<Record<string, unknown>>
const clientOf = (url: string) => {
  const ask = async (method: string, path: string, body?: Body, idempotencyKey?: string) => {
    const more = idempotencyKey === undefined ? {} : { idempotencyKey }
    const { reply, status } = await answerTo(url, key, { method, path, body, ...more })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(reply)}`)
    // biome-ignore lint/suspicious/noExplicitAny: each caller knows its reply
    return reply as any
  }
  const post = (path: string, body?: Body, idempotencyKey?: string) =>
    ask("POST", path, body, idempotencyKey)
  return { ask, post }
}
const users = ["ada", "bob", "ève 𝄞"]
const events = (round: number) =>
  users.flatMap((userId, user) =>
    [1, 2, 3].map((n) => ({
      userId,
      action: n === 3 ? "READ" : "TAP",
      id: `${round}-${user}-${n}`,
      metadata: { score: n + 0.5, list: [null, true, { "ä\n": "\u2028" }] },
    })),
  )
/** Asked again in `answers.json`: a duplicate, and a kept answer. */
const lastEvent = { ...events(5)[0]!, id: "5-repeated" }
const lastBatch = { events: events(5) }

/** Metrics, sums, spending and client actions. */
const spend = async (url: string) => {
  const { ask, post } = clientOf(url)
  const sum = { kind: "action_sum", action: "RUN", sumPath: "km" }
  const tiers = [
    { key: "bronze", name: "Bronze", target: 2, reward: { xp: 5 } },
    { key: "gold", name: "Gold", target: 3 },
  ]
  await post("/v1/badges", { name: "Runner", criteria: sum, tiers })
  const km = { actions: ["RUN"], value: "km", decimals: 1, unit: "km" }
  for (const aggregate of ["sum", "max", "last"]) {
    await post("/v1/metrics", { name: `Run ${aggregate}`, aggregate, ...km })
  }
  await post("/v1/metrics", { name: "Days", aggregate: "distinct_days", actions: ["RUN", "TAP"] })
  for (const [key, score, more] of [
    ["spenders", { currency: "points" }, { order: "asc", ties: "first" }],
    ["runs", { metric: "run-sum" }, {}],
    ["longest", { metric: "run-max" }, { windows: ["all_time"] }],
    ["steady", { streak: "daily" }, {}],
  ] as const) {
    await post("/v1/leaderboards", { key, name: key, score, ...more })
  }
  await post("/v1/events", { userId: "bob", action: "RUN", metadata: { km: 2.25 } })
  await post("/v1/events", { userId: "ada", action: "RUN", metadata: { km: 1 } })
  await ask("PUT", "/v1/leaderboards/runs/entries/ada", { disqualified: true })
  await ask("PUT", "/v1/leaderboards/xp/entries/dan", { disqualified: true })
  await post("/v1/users/bob/points/spend", { amount: 1, id: "spend-1" })
  const { spendId } = await post("/v1/users/bob/points/spend", { amount: 1, id: "spend-2" })
  await ask("DELETE", `/v1/users/bob/points/spend/${spendId}`)
  await ask("PATCH", "/v1/project", { clientActions: ["TAP"] })
}

/** The first account of the dashboard. */
const setUp = async (url: string) => {
  const link = await readFile(join(directory, "setup-link"), "utf8")
  const token = link.trim().split("#")[1]!
  const fields = { email: "ada@example.com", name: "Ada", password: "correct horse battery", token }
  const { status } = await fetch(`${url}/dashboard/setup`, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { "sec-fetch-site": "same-origin" },
    redirect: "manual",
  })
  if (status !== 303) throw new Error(`The setup failed: ${status}`)
}

/** Waits until each delivery was tried, but those of a disabled webhook. */
const settled = async (url: string) => {
  const { ask } = clientOf(url)
  const { webhooks } = await ask("GET", "/v1/webhooks")
  for (const { id, url: target } of webhooks) {
    for (;;) {
      if (target.endsWith("/gone") && (await ask("GET", `/v1/webhooks/${id}`)).disabledReason) break
      const path = `/v1/webhooks/${id}/deliveries?status=pending&limit=100`
      const { deliveries } = await ask("GET", path)
      if (deliveries.every(({ attempts }: { attempts: number }) => attempts > 0)) break
      await new Promise((done) => setTimeout(done, 50))
    }
  }
}

await serve(directory, first, async (url) => {
  const { ask, post } = clientOf(url)
  await setUp(url)
  await ask("PATCH", "/v1/project", { name: "Shop", timezone: "Europe/Berlin" })
  await ask("POST", "/v1/streaks", {
    key: "daily",
    name: "Daily",
    freezes: { initial: 1 },
    milestones: [{ target: 1, reward: { points: 2 } }],
    atRisk: { hoursBefore: 20 },
    pauses: [{ from: "2026-01-01", to: "2026-01-02" }],
    repair: { withinDays: 366, price: { points: 1 } },
  })
  const needs = [{ action: "BUY", target: 2 }]
  await ask("POST", "/v1/streaks", { key: "weekly", name: "Weekly", every: "week", needs })
  for (const [path, [events]] of Object.entries(receivers)) {
    await post("/v1/webhooks", { url: receiverUrl + path, events })
  }
  const manual = await post("/v1/badges", { name: "Given", criteria: { kind: "manual" } })
  const reader = { kind: "action_count", target: 5, action: "READ" }
  await post("/v1/badges", { name: "Reader", criteria: reader })
  const streak = { kind: "streak", target: 2, streak: "daily" }
  await post("/v1/badges", { name: "Steady", criteria: streak, secret: true })
  const weekly = [{ days: ["tuesday"], from: "00:00", to: "24:00" }]
  await post("/v1/boosts", { name: "Reads", currencies: ["points"], factor: 1.5, weekly })
  await post("/v1/rules", { action: "TAP", reward: { xp: 10 }, limit: { times: 50, per: "day" } })
  const where = [{ path: "score", op: "gte", value: 2 }]
  await post("/v1/rules", { action: "READ", reward: { points: 2 }, where, cooldownSeconds: 1 })
  const steps = [{ key: "tap", action: "TAP", target: 2 }]
  await post("/v1/quests", { title: "Tap", reward: { xp: 5 }, steps, recurrence: "weekly" })
  const long = [{ key: "read", action: "READ", target: 50 }]
  await post("/v1/quests", { title: "Read", reward: { xp: 1, badgeId: manual.id }, steps: long })
  const taps = { kind: "action_count", action: "TAP", target: 5 }
  await post("/v1/badges", { name: "Taps", criteria: taps, repeatable: true, reward: { xp: 1 } })
  const once = [{ key: "read", action: "READ", target: 1 }]
  const started = { optIn: true, claim: "manual" }
  await post("/v1/quests", { title: "Start", reward: { xp: 1 }, steps: once, ...started })
  await post("/v1/users/bob/quests/start/start")
  await post("/v1/events/batch", { events: events(1) }, "batch-1")
  await post("/v1/events", events(2)[0]!, "one-1")
  await post("/v1/users/bob/rewards", { type: "badge", badgeId: manual.id })
  await post("/v1/users/bob/rewards", { reward: { freezes: { daily: 1 } } })
  await post("/v1/users/bob/streaks/daily/pauses", { from: "2026-01-01", to: "2026-01-02" })
  const variants = [
    { key: "control", weight: 1 },
    { key: "goal", weight: 2 },
  ]
  await post("/v1/experiments", { name: "Goal", variants })
  const divisions = ["low", "high"].map((key) => ({ key, name: key, promote: 1, demote: 1 }))
  const league = { key: "cup", name: "Cup", score: { currency: "xp" }, window: "daily" }
  const rewards = [{ division: "low", ranks: [1, 2], outcome: "promoted", reward: { points: 3 } }]
  await post("/v1/leagues", { ...league, divisions, cohortSize: 2, rewards })
  const own = { name: "Own", currencies: ["xp"], factor: 2, personal: true }
  await post("/v1/boosts", own)
  await post("/v1/users/bob/rewards", { reward: { boost: { key: "own", minutes: 60 } } })
  await post("/v1/users/bob/rewards", { type: "xp", amount: 7, id: "reward-1", reason: "Welcome" })
  const { eventId } = await post("/v1/events", { userId: "bob", action: "TAP", id: "undone" })
  await ask("DELETE", `/v1/users/bob/events/${eventId}`)
  await ask("PUT", "/v1/users/ada", { displayName: "Ada", attributes: { plan: "pro" } })
  await ask("PUT", `/v1/users/${encodeURIComponent("ève 𝄞")}`, {
    hidden: true,
    timezone: "Asia/Tokyo",
  })
  await ask("PUT", "/v1/users/dan/opening", {
    balances: { xp: 40, points: 9 },
    earned: { points: 20 },
    streaks: { daily: { current: 3, best: 5, lastDay: "2026-10-28" } },
    badges: [{ badge: "given", earnedAt: "2025-05-01T10:00:00Z" }],
  })
  await post("/v1/events", { userId: "gone", action: "TAP" })
  await ask("DELETE", "/v1/users/gone")
  await spend(url)
  await settled(url)
})

await serve(
  directory,
  second,
  async (url) => {
    const { post } = clientOf(url)
    await post("/v1/events/batch", { events: events(3) }, "batch-3")
    await laurel(directory, second, "snapshots", "create").ended
    await post("/v1/events", lastEvent, "one-5")
    await post("/v1/events/batch", lastBatch, "batch-5")
    await post("/v1/rules", { action: "LATE", reward: { xp: 1 }, status: "draft" })
    await laurel(directory, second, "snapshots", "export", join(directory, "export.ndjson")).ended
    await settled(url)
  },
  "SIGKILL",
)
receiver.close()
receiver.closeAllConnections()

const transient = ["lock*", "server.json", "setup-link", "lock.mdb", "opening.mdb*"].flatMap(
  (name) => ["--exclude", name],
)
execFileSync("tar", ["-C", work, ...transient, "-czf", directoryArchive, "directory"])

await serve(directory, asked, async (url) => {
  const repeats = [
    { method: "POST", path: "/v1/events", body: lastEvent },
    { method: "POST", path: "/v1/events", body: lastEvent, idempotencyKey: "one-5" },
    { method: "POST", path: "/v1/events/batch", body: lastBatch },
    { method: "POST", path: "/v1/events/batch", body: lastBatch, idempotencyKey: "batch-5" },
    {
      method: "POST",
      path: "/v1/users/bob/rewards",
      body: { type: "xp", amount: 9, id: "reward-1" },
    },
  ]
  const asks = [...repeats, ...(await asksOf(url, key))]
  const answers = []
  for (const ask of asks) answers.push(await answerTo(url, key, ask))
  const content: Answers = { at: new Date(asked).toISOString(), key, answers: [] }
  const lines = answers.map((each) => JSON.stringify(each)).join(",\n")
  const text = JSON.stringify(content).replace("[]", () => `[\n${lines}\n]`)
  await writeFile(answersFile, `${text}\n`)
})
await rm(work, { recursive: true })
