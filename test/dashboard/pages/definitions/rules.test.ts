import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf, markedIn, unplacedIn } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const rules = `${base}/rules`
const newRule = (fields: Record<string, string>) => world.owner.post(`${rules}/new`, fields)
const createdBy = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await newRule(fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/rules\/(rul_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/rules/${id}`)).json
}
const simple = { action: "TAP", "reward.xp": "5" }

describe("The form of a new rule", () => {
  it("creates the typed rule, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${rules}/new`)
    const fields = {
      ...fieldsOf(page.text, `${rules}/new`),
      action: " PURCHASE ",
      name: "A purchase",
      key: "shop",
      status: "draft",
      startsAt: "2026-01-01T01:00:00+01:00",
      metadata: '{"a": 1}',
      "where.0.path": "cart.currency",
      "where.0.op": "in",
      "where.0.value": '["EUR", 5, null]',
      "where.1.path": "code",
      "where.1.op": "eq",
      "where.1.value": '"42"',
      "where.2.path": "",
      "where.2.op": "eq",
      "where.2.value": "",
      "reward.xp": "10",
      "reward.points": "2",
      multiplierPath: "cart.total",
      multiplierMax: "500",
      "limit.times": "3",
      "limit.per": "day",
      cooldownSeconds: "60",
    }
    const rule = await createdBy(fields)
    expect(rule).toMatchObject({
      action: "PURCHASE",
      where: [
        { path: "cart.currency", op: "in", value: ["EUR", 5, null] },
        { path: "code", op: "eq", value: "42" },
      ],
      reward: { xp: 10, points: 2, badgeId: null },
      multiplierPath: "cart.total",
      multiplierMin: 0,
      multiplierMax: 500,
      limit: { times: 3, per: "day" },
      cooldownSeconds: 60,
      name: "A purchase",
      key: "shop",
      status: "draft",
      startsAt: "2026-01-01T00:00:00.000Z",
      metadata: { a: 1 },
    })
    expect((await createdBy(fields)).id).toBe(rule.id)
    const { json } = await world.api("GET", "/v1/rules")
    expect(json.rules.filter(({ action }: Json) => action === "PURCHASE")).toHaveLength(1)
  })

  it("gets or loses a row of conditions without being saved", async () => {
    const typed = {
      ...simple,
      action: "ROWS",
      "where.0.path": "a",
      "where.0.op": "gt",
      "where.0.value": "1",
      "where.1.path": "b",
      "where.1.op": "eq",
      "where.1.value": "<2>",
    }
    const draft = (intent: string) => world.owner.post(`${rules}/new/draft`, { ...typed, intent })
    const more = fieldsOf((await draft("add:where")).text, `${rules}/new`)
    expect(more).toMatchObject({ ...typed, "where.2.path": "", "where.2.op": "eq" })
    const { text } = await draft("add:where")
    expect(text).toContain(`formaction="${rules}/new/draft#where"`)
    expect(text).toContain('<fieldset id="where">')
    const less = fieldsOf((await draft("remove:where.0")).text, `${rules}/new`)
    expect(less).toMatchObject({ "where.0.path": "b", "where.0.value": "<2>" })
    expect(less).not.toHaveProperty("where.1.path")
    const { json } = await world.api("GET", "/v1/rules")
    expect(json.rules.map(({ action }: Json) => action)).not.toContain("ROWS")
  })

  it("suggests the paths that events of its action had, and warns beside one that none had", async () => {
    const metadata = { "<b>": "text", cart: { total: 5 } }
    await world.api("POST", "/v1/events", { userId: "ada", action: "SEEN", metadata })
    const typed = {
      ...simple,
      action: "SEEN",
      "where.0.path": "cart.totl",
      "where.0.op": "gt",
      "where.0.value": "1",
      multiplierPath: "<b>",
    }
    const intent = { intent: "add:where" }
    const { text } = await world.owner.post(`${rules}/new/draft`, { ...typed, ...intent })
    expect(text).toContain('<option value="&lt;b&gt;"><option value="cart.total">')
    expect(text).toMatch(/name="where\.0\.path"[^>]* aria-describedby="where\.0\.path-warning"/)
    expect(text).toContain("No event of SEEN had this path lately. Did you mean <code>cart.total<")
    expect(text).toContain("Events of SEEN had no number there, but: text.")
    const right = { ...typed, "where.0.path": "cart.total", multiplierPath: "cart.total" }
    const { text: fine } = await world.owner.post(`${rules}/new/draft`, { ...right, ...intent })
    expect(fine).not.toContain('class="warning"')
    // A warning refuses nothing: events may come later.
    const rule = await createdBy({ ...typed, action: "SEEN" })
    expect((await world.owner.get(`${rules}/${rule.id}`)).text).toContain('class="warning"')
  })

  it("marks each wrong value at its field, and keeps all that was typed", async () => {
    const condition = { "where.0.path": "a", "where.0.op": "eq", "where.0.value": "1" }
    const wrong: ReadonlyArray<
      readonly [name: string, bad: string, more?: Record<string, string>]
    > = [
      ["action", ""],
      ["action", "small"],
      ["where.0.path", "a..b", condition],
      ["where.0.path", "", condition],
      ["where.0.op", "like", condition],
      ["where.0.value", "", condition],
      ["where.0.value", "[1]", condition],
      ["where.0.value", '[{"a":1}]', { ...condition, "where.0.op": "in" }],
      ["where.0.value", "[1e999]", { ...condition, "where.0.op": "in" }],
      ["reward.xp", "many"],
      ["reward.xp", "-1"],
      ["reward.xp", "1.5"],
      ["reward.points", "1e999"],
      ["reward.badgeId", "bdg_unknown"],
      ["reward.currencies", "rubies 1"],
      ["reward.currencies", "points many"],
      ["reward.freezes", "nowhere 1"],
      ["multiplierMin", "1"],
      ["multiplierMax", "-1", { multiplierPath: "a" }],
      ["multiplierPath", "a..b"],
      ["limit.times", "0", { "limit.per": "day" }],
      ["limit.times", "", { "limit.per": "day" }],
      ["limit.per", "", { "limit.times": "3" }],
      ["cooldownSeconds", "x"],
      ["key", "Not a key"],
      ["key", "rul_x"],
      ["startsAt", "tomorrow"],
      ["endsAt", "2020-01-01T00:00:00Z"],
      ["metadata", "{"],
    ]
    for (const [name, bad, more] of wrong) {
      const sent = { ...simple, ...more, [name]: bad }
      const reply = await newRule(sent)
      expectMarked(reply, name, bad)
      // A list of options cannot show another value.
      const { "where.0.op": _, ...typed } = sent as Record<string, string>
      expect(fieldsOf(reply.text, `${rules}/new`)).toMatchObject(typed)
    }
    const many = Object.fromEntries(
      Array.from({ length: 11 }, (_, row) => [
        [`where.${row}.path`, "a"],
        [`where.${row}.op`, "exists"],
      ]).flat(),
    )
    expect(markedIn((await newRule({ ...simple, ...many })).text)).toEqual(["where"])
  })
})

describe("The form of a rule", () => {
  it("changes nothing if it is saved unchanged, for rules of every kind", async () => {
    await world.api("POST", "/v1/currencies", { key: "gems", name: "Gems" })
    await world.api("POST", "/v1/streaks", { key: "daily", name: "Daily" })
    const known = new Map([
      ["currencies.*", ["gems"]],
      ["freezes.*", ["daily"]],
    ])
    await roundTrip(world, { schema: "NewRule", list: "rules", count: 60, known })
  })

  it("changes the rule, and clears cleared fields", async () => {
    const rule = await createdBy({
      ...simple,
      action: "CHANGE",
      "where.0.path": "a",
      "where.0.op": "exists",
      "limit.times": "3",
      "limit.per": "day",
      cooldownSeconds: "5",
    })
    const address = `${rules}/${rule.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    const { location } = await world.owner.post(address, {
      ...fields,
      "reward.xp": "7",
      "where.0.path": "",
      "limit.times": "",
      "limit.per": "",
      cooldownSeconds: "",
    })
    expect(location).toContain(`${address}?done=`)
    expect((await world.owner.get(location!)).text).toContain("Saved.")
    const { json } = await world.api("GET", `/v1/rules/${rule.id}`)
    expect(json).toMatchObject({
      where: [],
      limit: null,
      cooldownSeconds: null,
      reward: { xp: 7, points: 0 },
    })
  })

  it("does not overwrite a change by somebody else that it did not show", async () => {
    const rule = await createdBy({ ...simple, action: "BOTH" })
    const address = `${rules}/${rule.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    await world.api("PATCH", `/v1/rules/${rule.id}`, { reward: { points: 9 } })
    const mine = { ...fields, "reward.xp": "6" }
    const refused = await world.owner.post(address, mine)
    expect(refused.status).toBe(412)
    expect(refused.text).toContain("somebody else saved a change")
    expect(refused.text).toMatch(/<code>reward.points<\/code><\/td><td>9<\/td><td>0</)
    expect((await world.api("GET", `/v1/rules/${rule.id}`)).json.reward).toMatchObject({
      xp: 5,
      points: 9,
    })
    const row = await world.owner.post(`${address}/draft`, { ...mine, intent: "add:where" })
    const still = await world.owner.post(address, fieldsOf(row.text, address))
    expect(still.status).toBe(412)
    const again = await world.owner.post(address, fieldsOf(refused.text, address))
    expect(again.status).toBe(303)
    expect((await world.api("GET", `/v1/rules/${rule.id}`)).json.reward).toMatchObject({
      xp: 6,
      points: 0,
    })
  })

  it("shows a viewer everything and cannot be changed", async () => {
    const rule = await createdBy({ ...simple, action: "LOOK" })
    const { text } = await world.viewer.get(`${rules}/${rule.id}`)
    expect(text).toMatch(/<fieldset class="bare" disabled>/)
    expect(fieldsOf(text, `${rules}/${rule.id}`)).toMatchObject({ action: "LOOK" })
    expect(text).not.toContain("Save rule")
    expect((await world.viewer.get(rules)).text).not.toMatch(
      /Create rule|Pause<|Archive<|<th scope="col">Actions/,
    )
    expect((await world.owner.get(rules)).text).toMatch(/Create rule/)
  })

  it("says in production that it saves there", async () => {
    const { text } = await world.owner.get("/dashboard/shop/production/rules/new")
    expect(text).toMatch(/Create rule<\/button> <span>in <span class="badge production">production/)
  })
})

describe("Try", () => {
  const event = {
    "event.userId": "trier",
    "event.action": "TRIED",
    "event.metadata": '{"n": 3}',
    intent: "try",
  }
  const conditions = { "where.0.path": "n", "where.0.op": "gte", "where.0.value": "3" }
  const send = () =>
    world.api("POST", "/v1/events", { userId: "trier", action: "TRIED", metadata: { n: 3 } })

  it("shows what an event earns now and with the rule, and the saved rule gives just that", async () => {
    const draft = { ...simple, ...conditions, action: "TRIED", "reward.xp": "150" }
    const { status, text } = await world.owner.post(`${rules}/new/draft`, { ...draft, ...event })
    expect(status).toBe(200)
    expect(cellsOf(text, "Xp")).toEqual(["+0, then 0", "+150, then 150"])
    expect(cellsOf(text, "Level")).toEqual(["1", "1 to 2"])
    expect(cellsOf(text, "From")).toEqual(["", "this rule: 150 xp"])
    expect((await world.api("GET", "/v1/users/trier")).status).toBe(404)
    const rule = await createdBy(fieldsOf(text, `${rules}/new`))
    expect((await send()).json.xp).toEqual({ earned: 150, total: 150 })
    const address = `${rules}/${rule.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    const changed = { ...fields, ...event, "reward.xp": "20", multiplierPath: "n" }
    const again = await world.owner.post(`${address}/draft`, changed)
    expect(cellsOf(again.text, "Xp")).toEqual(["+150, then 300", "+60, then 210"])
    expect((await world.owner.post(address, fieldsOf(again.text, address))).status).toBe(303)
    expect((await send()).json.xp).toEqual({ earned: 60, total: 210 })
  })

  it("marks the faults of the event and of the rule at their fields", async () => {
    const wrong = { ...event, "event.userId": "x".repeat(500), "event.metadata": '{"n": }' }
    const { status, text } = await world.owner.post(`${rules}/new/draft`, {
      ...simple,
      ...wrong,
      "reward.xp": "many",
    })
    expect(status).toBe(400)
    expect(markedIn(text)).toEqual(["reward.xp", "event.userId", "event.metadata"])
    expect(text).toMatch(/Metadata must be JSON: /)
    expect(unplacedIn(text)).toEqual([])
    const deep = { ...event, "event.metadata": `{"a":${"[".repeat(8_000)}${"]".repeat(8_000)}}` }
    const nested = await world.owner.post(`${rules}/new/draft`, { ...simple, ...deep })
    expect([nested.status, markedIn(nested.text)]).toEqual([400, ["event.metadata"]])
  })
})

describe("The first try of a rule", () => {
  const intent = "try"
  const blank = { "event.userId": "", "event.action": "", "event.metadata": "" }
  const tried = (fields: Record<string, string>) =>
    world.owner.post(`${rules}/new/draft`, { ...simple, ...blank, ...fields, intent })

  it("with no field of the event filled in sends the rule's action for a user without events", async () => {
    const { status, text } = await tried({ action: "FIRST_TRY", "reward.xp": "50" })
    expect([status, markedIn(text)]).toEqual([200, []])
    expect(text).toContain('<h2 id="outcome-title">FIRST_TRY of a new user</h2>')
    expect(cellsOf(text, "Xp")).toEqual(["+0, then 0", "+50, then 50"])
    expect(fieldsOf(text, `${rules}/new`)).toMatchObject(blank)
  })

  it("marks a wrong action at the rule only, and accepts the corrected one", async () => {
    const refused = await tried({ action: "first try", "reward.xp": "50" })
    expect([refused.status, markedIn(refused.text)]).toEqual([400, ["action"]])
    expect(refused.text).toContain("Nothing was tried: see the fields that are marked.")
    const { status, text } = await world.owner.post(`${rules}/new/draft`, {
      ...fieldsOf(refused.text, `${rules}/new`),
      action: "FIRST_TRY",
      intent,
    })
    expect([status, markedIn(text)]).toEqual([200, []])
    expect(cellsOf(text, "Xp")).toEqual(["+0, then 0", "+50, then 50"])
  })

  it("marks a wrong action of the event at the event", async () => {
    const { status, text } = await tried({ action: "FIRST_TRY", "event.action": "other action" })
    expect([status, markedIn(text)]).toEqual([400, ["event.action"]])
  })
})

describe("The buttons of a rule", () => {
  it("pause, resume and archive it", async () => {
    const { id } = await createdBy({ ...simple, action: "PRESS" })
    const send = async () =>
      (await world.api("POST", "/v1/events", { userId: "u", action: "PRESS" })).json.xp.earned
    expect(await send()).toBe(5)
    expect((await world.owner.post(`${rules}/${id}/pause`)).location).toBe(rules)
    expect(await send()).toBe(0)
    await world.owner.post(`${rules}/${id}/resume`)
    expect(await send()).toBe(5)
    await world.owner.post(`${rules}/${id}/archive`)
    expect(await send()).toBe(0)
    const twice = await world.owner.post(`${rules}/${id}/archive`)
    expect(twice.status).toBe(404)
    expect(twice.text).toContain("No rule of this project has this id or key.")
  })

  it("are logged with the rule's id", async () => {
    const { id } = await createdBy({ ...simple, action: "LOGGED" })
    await world.owner.post(`${rules}/${id}/pause`)
    await world.owner.post(`${rules}/new/draft`, { intent: "add:where" })
    const logged = (await world.server.logged()).map(
      ({ action, subject }) => `${action} ${subject}`,
    )
    expect(logged.slice(0, 2)).toEqual([`rule.pause ${id}`, `rule.create ${id}`])
  })
})
