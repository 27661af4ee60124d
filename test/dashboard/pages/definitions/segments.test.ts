import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../../../src/Limits.ts"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.api("POST", "/v1/streaks", { key: "daily", name: "Daily" })
  const taps = { key: "taps", name: "Taps", aggregate: "count", actions: ["TAP"] }
  await world.api("POST", "/v1/metrics", taps)
  await world.api("POST", "/v1/badges", { key: "first", name: "F", criteria: { kind: "manual" } })
  await world.api("PUT", "/v1/users/ada", { attributes: { plan: "pro" } })
})
afterAll(() => world.server.stop())

const segments = `${base}/segments`
const pro = {
  "conditions.0.kind": "attribute",
  "conditions.0.attribute": "plan",
  "conditions.0.op": "eq",
  "conditions.0.value": "pro",
}
const badgeHeld = {
  "conditions.0.kind": "badge",
  "conditions.0.op": "exists",
  "conditions.0.value": "",
}
const read = async (id: string): Promise<Json> =>
  (await world.api("GET", `/v1/segments/${id}`)).json
const createdBy = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${segments}/new`, fields)
  const [, id] = /\/segments\/(seg_\w+)\?done=/.exec(location ?? "") ?? []
  if (id === undefined) throw new Error(text)
  return read(id)
}

/** A form with a row for each kind of condition, and the conditions in it. */
const everyKind: ReadonlyArray<Json> = [
  { kind: "attribute", attribute: "plan", op: "in", value: ["pro", 2] },
  { kind: "attribute", attribute: "__proto__", op: "eq", value: "42" },
  { kind: "level", op: "gte", value: 5 },
  { kind: "balance", currency: "points", op: "lt", value: 7 },
  { kind: "badge", badge: "first", op: "exists", value: false },
  { kind: "streak", streak: "daily", op: "gt", value: 1 },
  { kind: "metric", metric: "taps", op: "lt", value: -1.5 },
  { kind: "account_age_days", op: "lte", value: 30 },
  { kind: "inactive_days", op: "exists" },
  { kind: "percent", salt: "s", op: "lt", value: 12.5 },
]

describe("The form of a segment", () => {
  it("creates what is typed, and saves it unchanged", async () => {
    const { json } = await world.api("POST", "/v1/segments", {
      name: "Every kind",
      match: "any",
      conditions: everyKind,
      metadata: { a: 1 },
    })
    const address = `${segments}/${json.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    const copy = await createdBy({ ...fields, key: "copy" })
    expect(copy).toMatchObject({ match: "any", conditions: everyKind, metadata: { a: 1 } })
    expect((await world.owner.post(address, fields)).status).toBe(303)
    const { members: _, updatedAt: __, version: ___, ...after } = await read(json.id)
    expect(json).toMatchObject(after)
  })

  it("adds rows, and shows the fields of the chosen kind", async () => {
    const fields = { ...pro, name: "S", "conditions.0.kind": "percent", intent: "kind" }
    const { text } = await world.owner.post(`${segments}/new/draft`, fields)
    const shown = fieldsOf(text, `${segments}/new`)
    expect(shown).toMatchObject({ "conditions.0.kind": "percent", "conditions.0.salt": "" })
    expect(shown).not.toHaveProperty(["conditions.0.attribute"])
    const more = await world.owner.post(`${segments}/new/draft`, {
      ...pro,
      intent: "add:conditions",
    })
    expect(fieldsOf(more.text, `${segments}/new`)).toMatchObject({ "conditions.1.value": "" })
  })

  it("marks each wrong value at its field", async () => {
    const wrong: ReadonlyArray<readonly [name: string, bad: string, of?: Record<string, string>]> =
      [
        ["name", ""],
        ["key", "Not a key"],
        ["conditions.0.attribute", "x".repeat(limits.attributeNameCharactersMax + 1)],
        ["conditions.0.badge", "none", badgeHeld],
        ["conditions.0.value", "x", { "conditions.0.kind": "level" }],
        ["conditions.0.op", "contains", { "conditions.0.kind": "level" }],
        ["metadata", "{"],
      ]
    for (const [name, bad, of = {}] of wrong) {
      const fields = { name: "S", ...pro, ...of, [name]: bad }
      expectMarked(await world.owner.post(`${segments}/new`, fields), name, bad)
    }
  })

  it("tries its conditions on a user, and saves nothing", async () => {
    const attempt = (userId: string) =>
      world.owner.post(`${segments}/new/draft`, { name: "S", ...pro, userId, intent: "try" })
    const ada = await attempt("ada")
    expect(ada.text).toContain("is in the segment")
    expect(cellsOf(ada.text, "attribute plan is pro")).toEqual(["yes", "pro"])
    const fresh = await attempt("")
    expect(fresh.text).toContain("A new user is not in the segment")
    expect(cellsOf(fresh.text, "attribute plan is pro")).toEqual(["no", "none"])
  })
})

describe("The pages of segments and users", () => {
  it("show segments, their members, and the segments of a user", async () => {
    const { id } = await createdBy({ name: "Pro users", key: "pro-users", ...pro })
    const list = (await world.owner.get(segments)).text
    expect(list).toContain("Pro users")
    expect(list).toContain("attribute plan is pro")
    const members = (await world.owner.get(`${base}/users?segment=pro-users`)).text
    expect(members).toContain("ada")
    expect((await world.owner.get(`${base}/users/ada`)).text).toContain(`${segments}/${id}`)
    const archived = await world.owner.post(`${segments}/${id}/archive`, { version: "1" })
    expect(archived.status).toBe(303)
    expect((await read(id)).status).toBe("archived")
    expect((await world.owner.get(`${segments}?status=archived`)).text).toContain("Pro users")
  })

  it("let a rule be for a segment", async () => {
    await createdBy({ name: "Payers", key: "payers", ...pro })
    const rule = { action: "TAP", "reward.xp": "1", segment: "payers" }
    const { location } = await world.owner.post(`${base}/rules/new`, rule)
    const [, id] = /\/rules\/(rul_\w+)\?/.exec(location!)!
    expect((await world.api("GET", `/v1/rules/${id}`)).json.segment).toBe("payers")
  })
})
