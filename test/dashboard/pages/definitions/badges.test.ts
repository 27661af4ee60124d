import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../../../src/Limits.ts"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.api("POST", "/v1/streaks", { key: "daily", name: "Daily" })
  for (const key of ["first", "second"]) {
    await world.api("POST", "/v1/badges", { key, name: key, criteria: { kind: "manual" } })
  }
  await world.api("POST", "/v1/metrics", { name: "Taps", aggregate: "count", actions: ["TAP"] })
})
afterAll(() => world.server.stop())

const badges = `${base}/badges`
const simple = { name: "Level two", "criteria.kind": "level", "criteria.target": "2" }
const counted = { ...simple, "criteria.kind": "action_count", "criteria.action": "TAP" }
const read = async (id: string): Promise<Json> => (await world.api("GET", `/v1/badges/${id}`)).json
const createdBy = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${badges}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/badges\/(bdg_\w+)\?done=[\w-]+$/.exec(location)!
  return read(id!)
}

describe("The form of a new badge", () => {
  it("creates the typed badge, for each kind of criteria", async () => {
    const condition = { path: "a", op: "eq", value: 1 }
    const typed = {
      "criteria.where.0.path": "a",
      "criteria.where.0.op": "eq",
      "criteria.where.0.value": "1",
    }
    const kinds: ReadonlyArray<readonly [fields: Record<string, string>, criteria: Json]> = [
      [
        { "criteria.kind": "xp", "criteria.target": "100" },
        { kind: "xp", target: 100 },
      ],
      [
        { ...counted, ...typed, "criteria.target": "3" },
        { kind: "action_count", target: 3, action: "TAP", where: [condition] },
      ],
      [
        { ...counted, "criteria.kind": "action_sum", "criteria.sumPath": "run.km" },
        { kind: "action_sum", target: 2, action: "TAP", where: [], sumPath: "run.km" },
      ],
      [
        { "criteria.kind": "streak", "criteria.target": "7", "criteria.streak": "daily" },
        { kind: "streak", target: 7, streak: "daily" },
      ],
      [
        { "criteria.kind": "streak", "criteria.target": "7", "criteria.streak": "" },
        { kind: "streak", target: 7, streak: null },
      ],
      [
        { "criteria.kind": "metric", "criteria.target": "7", "criteria.metric": "taps" },
        { kind: "metric", target: 7, metric: "taps" },
      ],
      [
        {
          "criteria.kind": "badges",
          "criteria.badges.0": "second",
          "criteria.badges.1": "",
          "criteria.badges.2": "first",
        },
        { kind: "badges", target: 2, badges: ["second", "first"] },
      ],
      [{ "criteria.kind": "manual" }, { kind: "manual" }],
    ]
    for (const [fields, criteria] of kinds) {
      const repeatable = String(criteria.kind).startsWith("action_")
      const repeats = repeatable ? { repeatable: "true" } : {}
      const badge = await createdBy({
        ...fields,
        ...repeats,
        name: "Any",
        icon: "🏅",
        secret: "true",
      })
      expect(badge).toMatchObject({ name: "Any", icon: "🏅", secret: true, description: null })
      expect(badge.repeatable).toBe(repeatable)
      expect(badge.criteria).toEqual(criteria)
    }
  })

  it("shows the fields of the chosen kind, and keeps the other texts", async () => {
    const fields = { ...simple, description: "typed", "criteria.kind": "streak", intent: "kind" }
    const { text } = await world.owner.post(`${badges}/new/draft`, fields)
    const shown = fieldsOf(text, `${badges}/new`)
    expect(shown).toMatchObject({
      description: "typed",
      "criteria.target": "2",
      "criteria.streak": "",
    })
    expect(shown).not.toHaveProperty("criteria.action")
  })

  it("marks each wrong value at its field, and keeps all that was typed", async () => {
    const wrong: ReadonlyArray<readonly [name: string, bad: string, of?: Record<string, string>]> =
      [
        ["name", ""],
        ["icon", "x".repeat(limits.iconCharactersMax + 1)],
        ["description", "x".repeat(limits.descriptionCharactersMax + 1)],
        ["criteria.target", ""],
        ["criteria.target", "0"],
        ["criteria.target", "ten"],
        ["criteria.action", "", counted],
        ["criteria.action", "QUEST_COMPLETE", counted],
        ["criteria.sumPath", "", { ...counted, "criteria.kind": "action_sum" }],
        ["criteria.streak", "none", { "criteria.kind": "streak" }],
        ["criteria.metric", "none", { "criteria.kind": "metric" }],
        ["criteria.metric", "", { "criteria.kind": "metric" }],
        ["criteria.where.0.path", "a..b", { ...counted, "criteria.where.0.op": "exists" }],
      ]
    for (const [name, bad, of] of wrong) {
      const sent = { ...simple, ...of, [name]: bad }
      const reply = await world.owner.post(`${badges}/new`, sent)
      expectMarked(reply, name, bad)
      expect(fieldsOf(reply.text, `${badges}/new`)).toMatchObject(sent)
    }
    const list = { name: "All", "criteria.kind": "badges" }
    const sent = { ...list, "criteria.badges.0": "first", "criteria.badges.1": "none" }
    const reply = await world.owner.post(`${badges}/new`, sent)
    expectMarked(reply, "criteria.badges.1", "none")
    expect(fieldsOf(reply.text, `${badges}/new`)).toMatchObject(sent)
    expectMarked(await world.owner.post(`${badges}/new`, list), "criteria.badges", undefined)
  })
})

describe("The form of a badge", () => {
  it("changes nothing if it is saved unchanged, for badges of every kind", async () => {
    const known = new Map([
      ["streak", ["daily"]],
      ["metric", ["taps"]],
      ["badges", ["first", "second"]],
    ])
    // Tiers have rising targets, which take the place of the badge's target and reward.
    const edit = (body: Json): void => {
      for (const paying of [body, ...(body.tiers ?? [])]) {
        if (paying.reward !== undefined) paying.reward = { xp: paying.reward.xp || 7 }
      }
      const { kind } = body.criteria
      // Members of other kinds are refused, so most generated criteria would be.
      if (kind !== "streak") delete body.criteria.streak
      if (kind !== "metric") delete body.criteria.metric
      if (kind !== "badges") delete body.criteria.badges
      if (kind === "manual" || kind === "badges") delete body.tiers
      if (kind === "badges") delete body.criteria.target
      if ((body.tiers ?? []).length === 0) return
      body.tiers.forEach((tier: Json, index: number) => {
        Object.assign(tier, { key: `tier-${index}`, target: index + 1 })
      })
      delete body.reward
      delete body.criteria.target
    }
    await roundTrip(world, { schema: "NewBadge", list: "badges", count: 25, known, edit })
  })

  it("adds, changes and removes tiers, which take the place of target and reward", async () => {
    const badge = await createdBy({ ...counted, name: "Tiers", "reward.xp": "5" })
    expect(badge.reward).toEqual({ xp: 5, points: 0, badgeId: null })
    const address = `${badges}/${badge.id}`
    const save = async (change: Record<string, string>, without = /^$/) => {
      const fields = fieldsOf((await world.owner.get(address)).text, address)
      const kept = Object.entries({ ...fields, ...change }).filter(([name]) => !without.test(name))
      const { status } = await world.owner.post(address, Object.fromEntries(kept))
      return [status, await read(badge.id)]
    }
    const tier = (place: number, key: string, target: string) => ({
      [`tiers.${place}.key`]: key,
      [`tiers.${place}.name`]: key.toUpperCase(),
      [`tiers.${place}.target`]: target,
    })
    const tiers = {
      ...tier(0, "bronze", "3"),
      ...tier(1, "gold", "9"),
      "tiers.1.icon": "🥇",
      "tiers.1.reward.xp": "70",
    }
    const nothing = { xp: 0, points: 0, badgeId: null }
    const shown = [
      { key: "bronze", name: "BRONZE", target: 3, icon: null, reward: nothing },
      { key: "gold", name: "GOLD", target: 9, icon: "🥇", reward: { ...nothing, xp: 70 } },
    ]
    expect(await save(tiers)).toMatchObject([303, { tiers: shown, reward: nothing }])
    expect((await read(badge.id)).criteria.target).toBe(3)
    expect(await save({ "tiers.0.target": "4" }, /^tiers\.1/)).toMatchObject([
      303,
      { tiers: [{ ...shown[0], target: 4 }], criteria: { target: 4 } },
    ])
    await world.api("PATCH", `/v1/badges/${badge.id}`, { status: "paused" })
    const list = (await world.owner.get(`${badges}?status=paused`)).text
    expect(list).toContain("4 × TAP")
    expect(await save({ "criteria.target": "2" }, /^tiers/)).toMatchObject([
      303,
      { tiers: [], criteria: { target: 2 } },
    ])
    const falling = { ...counted, ...tier(0, "a", "3"), ...tier(1, "b", "3") }
    expectMarked(await world.owner.post(`${badges}/new`, falling), "tiers.1.target", "3")
  })

  it("adds and removes rows of the list of badges, and its page and its list name these", async () => {
    const shown = await world.owner.post(`${badges}/new/draft`, {
      name: "All",
      "criteria.kind": "badges",
      "criteria.badges.0": "first",
      intent: "add:criteria.badges",
    })
    const fields = fieldsOf(shown.text, `${badges}/new`)
    expect(fields).toMatchObject({ "criteria.badges.0": "first", "criteria.badges.1": "" })
    expect(fields).not.toHaveProperty("criteria.target")
    expect(shown.text).not.toContain("Add tier")
    const badge = await createdBy({ ...fields, "criteria.badges.1": "second" } as never)
    const address = `${badges}/${badge.id}`
    const saved = fieldsOf((await world.owner.get(address)).text, address)
    const removed = await world.owner.post(`${address}/draft`, {
      ...saved,
      intent: "remove:criteria.badges.0",
    })
    const left = fieldsOf(removed.text, address)
    expect(left).toMatchObject({ "criteria.badges.0": "second" })
    expect((await world.owner.post(address, left)).status).toBe(303)
    expect((await read(badge.id)).criteria).toEqual({
      kind: "badges",
      target: 1,
      badges: ["second"],
    })
    expect((await world.owner.get(`${badges}?limit=100`)).text).toContain("the badges second")
  })

  it("says how many users have the badge and each tier, as the list does for the badge", async () => {
    const tier = (place: number, key: string, target: string) => ({
      [`tiers.${place}.key`]: key,
      [`tiers.${place}.name`]: key.toUpperCase(),
      [`tiers.${place}.target`]: target,
    })
    const held = { "criteria.kind": "action_count", "criteria.action": "HELD" }
    const tiers = { ...tier(0, "low", "1"), ...tier(1, "high", "2") }
    const badge = await createdBy({ name: "Held", ...held, ...tiers })
    for (const userId of ["h1", "h2", "h1"]) {
      await world.api("POST", "/v1/events", { userId, action: "HELD" })
    }
    const { holders } = await read(badge.id)
    expect([holders.count, holders.tiers.high.count]).toEqual([2, 1])
    const { text } = await world.owner.get(`${badges}/${badge.id}`)
    expect(text).toMatch(/Users who have it: 2 \([\d.]+%\)/)
    expect(text).toMatch(/LOW: 2 \([\d.]+%\)/)
    expect(text).toMatch(/HIGH: 1 \([\d.]+%\)/)
    expect((await world.owner.get(`${badges}?limit=100`)).text).toMatch(/<td>2 \([\d.]+%\)<\/td>/)
  })

  it("changes the kind of the criteria, and clears cleared fields", async () => {
    const badge = await createdBy({ ...counted, name: "Kind", icon: "x", description: "y" })
    const address = `${badges}/${badge.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    const changed = { ...fields, icon: "", description: "", "criteria.kind": "points" }
    expect((await world.owner.post(address, changed)).status).toBe(303)
    expect(await read(badge.id)).toMatchObject({
      icon: null,
      description: null,
      criteria: { kind: "points", target: 2 },
    })
  })

  it("tries the badge with an event that earns it", async () => {
    await world.api("POST", "/v1/events", { userId: "u", action: "TRIED" })
    const fields = { ...counted, name: "Tried", "criteria.action": "TRIED", "criteria.target": "1" }
    const event = { "event.userId": "u", "event.action": "TRIED", intent: "try" }
    const { text } = await world.owner.post(`${badges}/new/draft`, { ...fields, ...event })
    expect(cellsOf(text, "Badges")).toEqual(["", "Tried"])
  })
})

describe("The buttons of a badge", () => {
  it("archive it, unless a rule gives it", async () => {
    const badge = await createdBy({ name: "Gone", "criteria.kind": "manual" })
    const given = { action: "GONE", reward: { badgeId: badge.id } }
    const rule = (await world.api("POST", "/v1/rules", given)).json
    const refused = await world.owner.post(`${badges}/${badge.id}/archive`)
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(rule.id)])
    await world.api("DELETE", `/v1/rules/${rule.id}`)
    expect((await world.owner.post(`${badges}/${badge.id}/archive`)).location).toBe(badges)
    expect((await read(badge.id)).status).toBe("archived")
    expect((await world.owner.get(badges)).text).not.toContain(badge.id)
    expect((await world.owner.get(`${badges}?status=archived`)).text).toContain(badge.id)
  })

  it("pause and resume it, and its page and its list show its key and status", async () => {
    const badge = await createdBy({ ...simple, name: "Press", key: "press-me" })
    for (const [verb, status] of [
      ["pause", "paused"],
      ["resume", "active"],
    ] as const) {
      expect((await world.owner.post(`${badges}/${badge.id}/${verb}`)).location).toBe(badges)
      expect((await read(badge.id)).status).toBe(status)
      const { text } = await world.owner.get(`${badges}/${badge.id}`)
      expect(text).toContain(`${status}, key <code>press-me</code>`)
      const list = (await world.owner.get(`${badges}?status=${status}&limit=100`)).text
      expect(list).toContain("<code>press-me</code>")
    }
  })

  it("start one backfill however often the form is sent, and show its progress", async () => {
    for (const userId of ["a", "b", "c"]) {
      await world.api("POST", "/v1/events", { userId, action: "PAST" })
    }
    const badge = await createdBy({ ...counted, "criteria.action": "PAST", "criteria.target": "1" })
    const address = `${badges}/${badge.id}`
    const page = async () => (await world.owner.get(address)).text
    expect(await page()).toContain("A backfill awards the badge")
    const fields = { ...fieldsOf(await page(), `${address}/backfill`), notify: "true" }
    const sent = await Promise.all(
      [1, 2].map(() => world.owner.post(`${address}/backfill`, fields)),
    )
    expect(sent.map(({ location }) => location)).toEqual([
      `${address}#backfill`,
      `${address}#backfill`,
    ])
    let backfill: Json
    do {
      backfill = (await world.api("GET", `/v1/badges/${badge.id}/backfill`)).json
    } while (backfill.status !== "finished")
    expect(backfill).toMatchObject({ notify: true, awarded: 3 })
    const text = await page()
    expect(text).toMatch(/<dt>Users awarded<\/dt><dd>3<\/dd>/)
    expect(text).toMatch(/<dt>Messages<\/dt><dd>sent<\/dd>/)
    const logged = (await world.server.logged()).map(
      ({ action, subject }) => `${action} ${subject}`,
    )
    expect(logged[0]).toBe(`badge.backfill ${badge.id}`)
  })

  it("start no backfill of a badge that is given by hand", async () => {
    const badge = await createdBy({ name: "Hand", "criteria.kind": "manual" })
    expect((await world.owner.get(`${badges}/${badge.id}`)).text).not.toContain("backfill")
    const refused = await world.owner.post(`${badges}/${badge.id}/backfill`)
    expect(refused.status).toBe(409)
  })

  it("do not exist for a viewer", async () => {
    const badge = await createdBy({ ...simple, name: "Look" })
    const { text } = await world.viewer.get(`${badges}/${badge.id}`)
    expect(text).toContain("Backfill")
    expect(text).not.toMatch(/Start backfill|Archive|Save badge|Try</)
  })
})
