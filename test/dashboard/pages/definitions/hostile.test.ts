/**
 * Forms that no page would send, and texts that look like markup, on the pages of definitions and
 * settings.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../../../src/Limits.ts"
import { randomOf } from "../../../simulation/random.ts"
import { fieldsOf } from "../pageForm.ts"
import { base, startWorld, type World } from "./world.ts"

let world: World
const pages: Record<string, string> = {}
const hostile = `<b>x</b> "q" 'a' & \u202e javascript:alert(1) ${"\u{1f600}".repeat(9)}`

beforeAll(async () => {
  world = await startWorld()
  const made = {
    rules: {
      action: "TAP",
      reward: { xp: 1 },
      where: [{ path: hostile, op: "eq", value: hostile }],
    },
    quests: {
      title: hostile,
      description: hostile,
      reward: { xp: 1 },
      metadata: { [hostile]: hostile },
      steps: [{ key: "a", action: "TAP", target: 2 }],
    },
    badges: { name: hostile, icon: "<b>x", criteria: { kind: "xp", target: 5 } },
    boosts: {
      name: hostile,
      currencies: ["xp"],
      factor: 2,
      weekly: [{ days: ["friday"], from: "18:00", to: "20:00" }],
    },
  }
  for (const [list, body] of Object.entries(made)) {
    const { json, status } = await world.api("POST", `/v1/${list}`, body)
    expect([status, json]).toEqual([201, expect.anything()])
    pages[list] = `${base}/${list}/${json.id}`
  }
  await world.api("POST", "/v1/streaks", { key: "daily", name: hostile })
  await world.api("PATCH", "/v1/project", { name: hostile })
})
afterAll(() => world.server.stop())

describe("Texts of definitions", () => {
  it("are shown as text, on lists, forms and previews", async () => {
    const event = { "event.userId": "<b>x</b>", "event.action": "TAP", intent: "try" }
    for (const [list, address] of Object.entries(pages)) {
      const form = await world.owner.get(address)
      const fields = { ...fieldsOf(form.text, address), ...event }
      const tried = await world.owner.post(`${address}/draft`, fields)
      expect(tried.status).toBe(200)
      expect(tried.text).toContain("TAP of <bdi>&lt;b&gt;x&lt;/b&gt;</bdi>")
      const stale = await world.owner.post(address, { ...fields, version: "old", extra: "<b>x" })
      expect(stale.status).toBe(412)
      const shown = [await world.owner.get(`${base}/${list}`), form, tried, stale]
      for (const { text } of shown) {
        expect(text).toContain("&lt;b&gt;x")
        expect(text).not.toContain("<b>x")
      }
    }
    expect((await world.owner.get(`${base}/settings`)).text).not.toContain("<b>x")
  })
})

describe("Forms that no page sent", () => {
  const names = [
    "action",
    "where",
    "where.0",
    "where.0.path",
    "where.0.op",
    "where.0.value",
    "where.9999.path",
    "where.00001.path",
    "where.-1.path",
    "where.__proto__.path",
    "__proto__.x",
    "constructor.prototype",
    "a.".repeat(3_000),
    "..",
    "",
    "reward.xp",
    "reward",
    "limit.per",
    "limit.times",
    "multiplierPath",
    "title",
    "description",
    "status",
    "steps.0.key",
    "steps.0.where.0.path",
    "steps.0.where.0.where.0.where.0.where.0.path",
    "startsAt",
    "prerequisites",
    "metadata",
    "name",
    "criteria.kind",
    "criteria.target",
    "criteria.where.3.value",
    "timezone",
    "levelCurve.kind",
    "levelCurve.thresholds",
    "needs.0.action",
    "milestones.0.reward.currencies",
    "restDays",
    "event.userId",
    "event.action",
    "event.metadata",
    "idempotencyKey",
    "version",
    "notify",
    "currencies",
    "factor",
    "timeZone",
    "weekly",
    "weekly.0.days",
    "weekly.0.from",
    "weekly.9999.to",
  ]
  const texts = [
    "",
    " ",
    "TAP",
    "1",
    "-0",
    "1e999",
    "NaN",
    "null",
    "[",
    "[[[]]]",
    '{"__proto__":{"a":null}}',
    '{"a":null}',
    `${'{"a":'.repeat(4_000)}1${"}".repeat(4_000)}`,
    hostile,
    "\u0000",
    "\ud800",
    "\r\n\r\n",
    "x".repeat(5_000),
    "table",
    "action_count",
    "action_sum",
    "streak",
    "2026-02-30T00:00:00Z",
    "9".repeat(400),
  ]
  const intents = [
    "save",
    "try",
    "preview",
    "kind",
    "add:where",
    "add:steps.0.where",
    "add:__proto__",
  ]
  const odd = [
    "remove:where.0",
    "remove:steps",
    "remove:.",
    "add:..",
    `add:${"a.".repeat(50)}`,
    "x:y",
  ]

  it("are answered by a page and never by an internal error, at every address", async () => {
    const random = randomOf(23)
    const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)]!
    const addresses = [
      ...Object.values(pages),
      ...["rules", "quests", "badges", "boosts"].map((list) => `${base}/${list}/new`),
      `${base}/settings`,
    ].flatMap((address) => [address, `${address}/draft`])
    const statuses = new Set<number>()
    for (let round = 0; round < 300; round++) {
      const fields: Record<string, string> = { intent: pick([...intents, ...odd]) }
      for (let count = 1 + Math.floor(random() * 8); count > 0; count--) {
        fields[pick(names)] = pick(texts)
      }
      const address = pick(addresses)
      const { status, text } = await world.owner.post(address, fields)
      statuses.add(status)
      expect({ address, fields, status: status < 500 }).toEqual({ address, fields, status: true })
      expect(text).not.toContain("<b>x")
    }
    expect([...statuses].sort()).toEqual(expect.arrayContaining([200, 400]))
  })

  it("get no larger page for more rows than a definition may have", async () => {
    const rows: Record<string, string> = {}
    for (let row = 0; row < 3_000; row++) rows[`where.${row}.op`] = "eq"
    expect(new URLSearchParams(rows).toString().length).toBeLessThan(limits.pageBodyBytesMax)
    const { status, text } = await world.owner.post(`${base}/rules/new/draft`, {
      ...rows,
      intent: "add:where",
    })
    expect(status).toBe(200)
    expect(text.length).toBeLessThan(100_000)
  })
})
