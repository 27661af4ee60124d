import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { randomOf } from "../../../simulation/random.ts"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const boosts = `${base}/boosts`
const simple = { name: "Double", currencies: "xp", factor: "2", timeZone: "project" }
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${boosts}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/boosts\/(bst_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/boosts/${id}`)).json
}

describe("The form of a boost", () => {
  it("creates the typed boost, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${boosts}/new`)
    const fields = {
      ...fieldsOf(page.text, `${boosts}/new`),
      name: "Happy hour",
      key: "happy",
      currencies: "xp, points",
      factor: "1.5",
      timeZone: "user",
      "weekly.0.days": "Friday saturday",
      "weekly.0.from": "22:00",
      "weekly.0.to": "02:00",
      "weekly.1.days": "",
      "weekly.1.from": "",
      "weekly.1.to": "",
      startsAt: "2026-01-01T01:00:00+01:00",
    }
    const boost = await create(fields)
    expect(boost).toMatchObject({
      name: "Happy hour",
      key: "happy",
      currencies: ["xp", "points"],
      factor: 1.5,
      timeZone: "user",
      weekly: [{ days: ["friday", "saturday"], from: "22:00", to: "02:00" }],
      startsAt: "2026-01-01T00:00:00.000Z",
    })
    expect((await create(fields)).id).toBe(boost.id)
  })

  it("marks the fields of a refusal", async () => {
    const spell = { "weekly.0.days": "friday", "weekly.0.from": "18:00", "weekly.0.to": "20:00" }
    const wrong = {
      currencies: "xp gems",
      factor: "11",
      "weekly.0.days": "fryday",
      "weekly.0.from": "25:00",
      "weekly.0.to": "18:00",
      startsAt: "soon",
    }
    for (const [name, bad] of Object.entries(wrong)) {
      const fields = { ...simple, ...spell, [name]: bad }
      expectMarked(await world.owner.post(`${boosts}/new`, fields), name, bad)
    }
  })

  it("adds and removes spells, and shows when the typed boost runs next", async () => {
    const draft = async (fields: Record<string, string>) =>
      (await world.owner.post(`${boosts}/new/draft`, { ...simple, ...fields })).text
    const added = await draft({ intent: "add:weekly" })
    expect(added).toContain('name="weekly.0.from"')
    expect(added).toContain("without an end")
    const typed = {
      "weekly.0.days": "monday",
      "weekly.0.from": "18:00",
      "weekly.0.to": "20:00",
      startsAt: "2030-01-01T00:00:00Z",
      endsAt: "2030-01-15T00:00:00Z",
    }
    const shown = await draft({ ...typed, intent: "add:weekly" })
    const times = [...shown.matchAll(/<li>from <time datetime="([^"]+)"/g)].map(([, at]) => at)
    expect(times).toEqual(["2030-01-07T18:00:00.000Z", "2030-01-14T18:00:00.000Z"])
    expect(await draft({ ...typed, intent: "remove:weekly.0" })).not.toContain("weekly.0.from")
    const over = { ...typed, startsAt: "", endsAt: "2020-01-01T00:00:00Z" }
    expect(await draft({ ...over, intent: "add:weekly" })).toContain("Never again.")
  })

  it("tries an event with the draft", async () => {
    await world.api("POST", "/v1/rules", { action: "TRY", reward: { xp: 5 } })
    const fields = { ...simple, "event.action": "TRY", intent: "try" }
    const { text } = await world.owner.post(`${boosts}/new/draft`, fields)
    expect(text).toContain("double × 2")
    expect(text).toContain("+10, then 10")
  })

  it("saves any boost of the API unchanged", async () => {
    const random = randomOf(5)
    await roundTrip(world, {
      schema: "NewBoost",
      list: "boosts",
      count: 30,
      known: new Map([["currencies", ["xp", "points"]]]),
      edit: (body: Json) => {
        body.factor = Math.round(10 + random() * 990) / 100
        body.status = "draft"
        body.currencies = random() < 0.5 ? ["xp"] : ["points", "xp"]
        for (const spell of body.weekly ?? []) if (spell.to === spell.from) spell.to = "24:00"
      },
    })
  })
})

describe("The list of boosts", () => {
  it("shows them, and its buttons pause, resume and archive", async () => {
    const { id, version } = await create({ ...simple, name: "Listed" })
    const { text } = await world.owner.get(`${boosts}?status=active`)
    const name = `<a href="${boosts}/${id}"><bdi>Listed</bdi></a><br><code>listed</code>`
    expect(cellsOf(text, name).slice(0, 4)).toEqual(["active", "xp × 2", "always", "everyone"])
    const press = async (verb: string, at: number) => {
      await world.owner.post(`${boosts}/${id}/${verb}`, { version: String(at) })
      return (await world.api("GET", `/v1/boosts/${id}`)).json.status
    }
    expect(await press("pause", version)).toBe("paused")
    expect(await press("resume", version)).toBe("paused")
    expect(await press("resume", version + 1)).toBe("active")
    expect(await press("archive", version + 2)).toBe("archived")
  })
})
