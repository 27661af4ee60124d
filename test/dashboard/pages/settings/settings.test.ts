import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { limits } from "../../../../src/Limits.ts"
import { SchemaValues } from "../../../http/fuzz/SchemaValues.ts"
import { randomOf } from "../../../simulation/random.ts"
import { base, type Json, startWorld, type World } from "../definitions/world.ts"
import { cellsOf, expectMarked, type Fields, fieldsOf } from "../pageForm.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const settings = `${base}/settings`
const start = {
  name: null,
  timezone: "UTC",
  levelCurve: { kind: "quadratic", base: 50 },
  clientActions: ["LIKE"],
  reminders: null,
}
beforeEach(async () => {
  expect((await world.api("PATCH", "/v1/project", start)).status).toBe(200)
})

const read = async (): Promise<Json> => (await world.api("GET", "/v1/project")).json
const shown = async (): Promise<Fields> =>
  fieldsOf((await world.owner.get(settings)).text, settings)
const draft = (fields: Fields, intent: string) =>
  world.owner.post(`${settings}/draft`, { ...fields, intent })

describe("The form of the settings", () => {
  it("changes nothing if it is saved unchanged, for generated settings", async () => {
    const { json: document } = await world.api("GET", "/openapi.json")
    const values = new SchemaValues(document, randomOf(5), new Map([["key", ["a", "b", "c"]]]))
    let count = 0
    for (let tries = 0; tries < 400 && count < 30; tries++) {
      const body = values.valid({ $ref: "#/components/schemas/ProjectPatch" })
      if (values.below(3) === 0) body.levelCurve = { kind: "table", thresholds: [0, 5, 7] }
      if ((await world.api("PATCH", "/v1/project", body)).status !== 200) continue
      count++
      const before = await read()
      const { status, text } = await world.owner.post(settings, await shown())
      expect([status, text]).toEqual([303, expect.anything()])
      expect(await read()).toEqual({ ...before, version: before.version + 1 })
    }
    expect(count).toBe(30)
  })

  it("saves the typed texts, and clears cleared fields", async () => {
    const fields = {
      ...(await shown()),
      name: "Language school",
      timezone: "europe/berlin",
      "levelCurve.kind": "table",
      "levelCurve.thresholds": "0\r\n100 300,1000",
      clientActions: "TAP, SHARE\r\nREAD",
      "reminders.inactiveDays": "7, 3",
      "reminders.questDays": "2",
      "reminders.expiryDays": "7",
      "reminders.leagueDays": "1",
      "reminders.hour": "9",
      "reminders.unless": "quiet",
    }
    expect((await world.owner.post(settings, fields)).location).toContain(`${settings}?done=`)
    expect(await read()).toMatchObject({
      name: "Language school",
      timezone: "Europe/Berlin",
      levelCurve: { kind: "table", thresholds: [0, 100, 300, 1000] },
      clientActions: ["TAP", "SHARE", "READ"],
      reminders: {
        inactiveDays: [3, 7],
        questDays: 2,
        expiryDays: 7,
        leagueDays: 1,
        hour: 9,
        unless: "quiet",
      },
    })
    await world.owner.post(settings, {
      ...(await shown()),
      name: "",
      "reminders.inactiveDays": "",
      "reminders.questDays": "",
      "reminders.expiryDays": "",
      "reminders.leagueDays": "",
    })
    expect(await read()).toMatchObject({ name: "shop", reminders: null })
    const [entry] = await world.server.logged()
    expect(entry).toMatchObject({ action: "settings.update", environment: "sandbox" })
  })

  it("marks each wrong value at its field, and keeps all that was typed", async () => {
    const curve = (kind: string) => ({ "levelCurve.kind": kind })
    const wrong: ReadonlyArray<readonly [name: string, bad: string, more?: Fields]> = [
      ["name", "x".repeat(limits.titleCharactersMax + 1)],
      ["timezone", "Mars/Olympus"],
      ["timezone", ""],
      ["levelCurve.base", ""],
      ["levelCurve.base", "0"],
      ["levelCurve.xpPerLevel", "x", curve("linear")],
      ["levelCurve.factor", "0.5", { ...curve("geometric"), "levelCurve.base": "10" }],
      ["levelCurve.thresholds", "", curve("table")],
      ["levelCurve.thresholds", "1\n2", curve("table")],
      ["levelCurve.thresholds", "0\n5\n5", curve("table")],
      ["levelCurve.thresholds", "0\nmany", curve("table")],
      ["clientActions", "like"],
      ["clientActions", "LIKE\nLIKE"],
      ["reminders.inactiveDays", "3 three"],
      ["reminders.inactiveDays", "0"],
      ["reminders.questDays", "0"],
      ["reminders.expiryDays", "31"],
      ["reminders.leagueDays", "31"],
      ["reminders.hour", "24", { "reminders.inactiveDays": "3" }],
      ["reminders.unless", "x".repeat(200), { "reminders.inactiveDays": "3" }],
    ]
    const fields = await shown()
    for (const [name, bad, more] of wrong) {
      const sent = { ...fields, ...more, [name]: bad }
      for (const reply of [await world.owner.post(settings, sent), await draft(sent, "preview")]) {
        expectMarked(reply, name, bad)
        expect(fieldsOf(reply.text, settings)[name]).toBe(bad)
      }
    }
    expect(await read()).toMatchObject({ timezone: "UTC", levelCurve: start.levelCurve })
  })

  it("does not overwrite a change by somebody else that it did not show", async () => {
    const fields = await shown()
    await world.api("PATCH", "/v1/project", { timezone: "Asia/Tokyo" })
    const mine = { ...fields, "levelCurve.base": "70" }
    const refused = await world.owner.post(settings, mine)
    expect(refused.status).toBe(412)
    expect(refused.text).toMatch(/<code>timezone<\/code><\/td><td>Asia\/Tokyo<\/td><td>UTC</)
    const rows = fieldsOf((await draft(mine, "kind")).text, settings)
    expect((await world.owner.post(settings, rows)).status).toBe(412)
    expect((await read()).levelCurve.base).toBe(50)
    expect((await world.owner.post(settings, fieldsOf(refused.text, settings))).status).toBe(303)
    expect(await read()).toMatchObject({ timezone: "UTC", levelCurve: { base: 70 } })
  })

  it("shows which actions users may send themselves, before it is saved", async () => {
    const { text } = await draft({ ...(await shown()), clientActions: "TAP" }, "preview")
    expect(text).toContain("<li>Users may send TAP themselves.</li>")
    expect(text).toContain("<li>Users may not send LIKE themselves any more.</li>")
    expect((await read()).clientActions).toEqual(["LIKE"])
  })

  it("shows a viewer everything and cannot be changed", async () => {
    const { text } = await world.viewer.get(settings)
    expect(fieldsOf(text, settings)).toMatchObject({ timezone: "UTC" })
    expect(text).toMatch(/<fieldset class="bare" disabled>/)
    expect(text).not.toMatch(/Save settings|Preview changes/)
  })
})

describe("The preview of a change", () => {
  const xp = { a: 30, b: 99, c: 100, d: 250, e: 600, hidden: 600 }

  beforeAll(async () => {
    for (const [userId, amount] of Object.entries(xp)) {
      await world.api("POST", `/v1/users/${userId}/rewards`, { type: "xp", amount })
    }
    await world.api("POST", "/v1/events", { userId: "nothing", action: "NOTHING" })
    await world.api("PUT", "/v1/users/hidden", { hidden: true })
  })

  it("counts the users of each level as they will be after saving", async () => {
    const fields = {
      ...(await shown()),
      "levelCurve.kind": "table",
      "levelCurve.thresholds": "0 30 100 251 600",
    }
    const { text } = await draft(fields, "preview")
    expect(cellsOf(text, "2")).toEqual(["100", "30 changed", "2", "2"])
    expect(cellsOf(text, "1")).toEqual(["0", "0", "4", "2"])
    expect((await read()).levelCurve.kind).toBe("quadratic")
    const levelOf = async (userId: string): Promise<number> =>
      (await world.api("GET", `/v1/users/${userId}`)).json.level
    const countsNow = async () => {
      const counts = Array.from({ length: 21 }, () => 0)
      for (const userId of [...Object.keys(xp), "nothing"]) {
        const level = userId === "hidden" ? 1 : await levelOf(userId)
        counts[Math.min(level, 21) - 1]!++
      }
      return counts.map(String)
    }
    const columns = (page: string, column: number) =>
      Array.from({ length: 21 }, (_, index) =>
        cellsOf(page, index === 20 ? "above 20" : String(index + 1)).at(column),
      )
    expect(columns(text, 2)).toEqual(await countsNow())
    await world.owner.post(settings, fieldsOf(text, settings))
    expect(columns(text, 3)).toEqual(await countsNow())
  })

  it("says when windows would end", async () => {
    world.server.clock.set("2026-11-22T20:00:00Z")
    const fields = {
      ...(await shown()),
      timezone: "Asia/Tokyo",
    }
    const { text } = await draft(fields, "preview")
    expect(cellsOf(text, "daily")).toEqual(["2026-11-23 00:00 UTC", "2026-11-23 15:00 UTC"])
    expect(cellsOf(text, "monthly")).toEqual(["2026-12-01 00:00 UTC", "2026-11-30 15:00 UTC"])
    expect(text).not.toContain("<h3>Levels</h3>")
    const same = await draft(await shown(), "preview")
    expect(same.text).toContain("Nothing that users notice.")
  })

  it("leaves no user, event or record behind", async () => {
    const before = await Effect.runPromise(world.server.engine.readDirectory)
    const { json } = await world.api("GET", "/v1/users")
    await draft({ ...(await shown()), timezone: "Asia/Tokyo" }, "preview")
    expect((await world.api("GET", "/v1/users")).json).toEqual(json)
    expect((await world.api("GET", "/v1/users/preview")).status).toBe(404)
    expect(await Effect.runPromise(world.server.engine.readDirectory)).toBe(before)
  })
})
