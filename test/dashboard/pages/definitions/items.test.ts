import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf, markedIn } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  for (const key of ["gems", "hearts"])
    await world.api("POST", "/v1/currencies", { key, name: key })
})
afterAll(() => world.server.stop())

const items = `${base}/items`
const simple = { name: "Hat", price: "points 5" }
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${items}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/items\/(itm_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/items/${id}`)).json
}

describe("The form of an item", () => {
  it("creates the typed item, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${items}/new`)
    const fields = {
      ...fieldsOf(page.text, `${items}/new`),
      name: "Signed poster",
      key: "poster",
      price: "gems 50, points 1000",
      "reward.xp": "10",
      stock: "10",
      "limit.times": "2",
      "limit.per": "week",
      endsAt: "2030-01-01T01:00:00+01:00",
    }
    const item = await create(fields)
    expect(item).toMatchObject({
      name: "Signed poster",
      key: "poster",
      price: { gems: 50, points: 1000 },
      reward: { xp: 10 },
      stock: 10,
      limit: { times: 2, per: "week" },
      endsAt: "2030-01-01T00:00:00.000Z",
    })
    expect((await create(fields)).id).toBe(item.id)
  })

  it("marks the fields of a refusal", async () => {
    const faults = {
      price: "rubies 5",
      stock: "-1",
      "limit.times": "0",
      "reward.currencies": "rubies 1",
      endsAt: "soon",
    }
    for (const [name, bad] of Object.entries(faults)) {
      const fields = { ...simple, "limit.per": name === "limit.times" ? "day" : "", [name]: bad }
      expectMarked(await world.owner.post(`${items}/new`, fields), name, bad)
    }
    const priceless = await world.owner.post(`${items}/new`, { ...simple, price: "" })
    expectMarked(priceless, "price", "")
  })

  it("takes a currency out of the price, and the stock and the limit away", async () => {
    const item = await create({
      ...simple,
      price: "gems 5, hearts 2",
      stock: "3",
      "limit.times": "1",
      "limit.per": "ever",
    })
    const address = `${items}/${item.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    expect(fields).toMatchObject({ price: "gems 5, hearts 2", stock: "3", "limit.times": "1" })
    const changed = { ...fields, price: "hearts 3", stock: "", "limit.times": "", "limit.per": "" }
    expect((await world.owner.post(address, changed)).status).toBe(303)
    expect((await world.api("GET", `/v1/items/${item.id}`)).json).toMatchObject({
      price: { hearts: 3 },
      stock: null,
      limit: null,
    })
  })

  it("saves any item of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewItem",
      list: "items",
      count: 30,
      edit: (body: Json) => {
        body.price = { points: 1 + Object.keys(body.price).length, gems: 5 }
      },
    })
  })
})

describe("The try of an item", () => {
  const tried = (fields: Record<string, string>, path = `${items}/new`) =>
    world.owner.post(`${path}/draft`, { ...simple, ...fields, intent: "try" })

  it("says what the user would pay and get, or why not, and changes nothing", async () => {
    const reward = { points: 12, currencies: { gems: 3 } }
    await world.api("POST", "/v1/users/trier/rewards", { reward })
    const fields = { "event.userId": "trier", price: "points 5, gems 3", "reward.xp": "150" }
    const { status, text } = await tried(fields)
    expect(status).toBe(200)
    expect(text).toContain("Purchase of <bdi>trier</bdi></h2>")
    expect(cellsOf(text, "Can buy it now")).toEqual(["yes"])
    expect(cellsOf(text, "Pays")).toEqual(["points 5, gems 3"])
    expect(cellsOf(text, "Gets")).toEqual(["150 xp"])
    expect(cellsOf(text, "Balances afterwards")[0]).toMatch(/xp 150, points 7, gems 0/)
    expect(cellsOf(text, "Level")).toEqual(["1 to 2"])
    const dear = await tried({ ...fields, price: "gems 4" })
    expect(cellsOf(dear.text, "Can buy it now")).toEqual(["no: The user has 3 gems, 4 are needed."])
    const { json } = await world.api("GET", "/v1/users/trier")
    expect([json.xp, json.points, json.balances.gems]).toEqual([0, 12, 3])
    expect(text).toContain('value="points 5, gems 3"')
  })

  it("counts what was sold and bought of a saved item", async () => {
    const { id } = await create({
      ...simple,
      name: "Tried",
      "limit.times": "1",
      "limit.per": "ever",
    })
    await world.api("POST", "/v1/users/fan/rewards", { type: "points", amount: 20 })
    await world.api("POST", "/v1/users/fan/purchases", { item: id })
    const address = `${items}/${id}`
    const saved = fieldsOf((await world.owner.get(address)).text, address)
    const reason = async (change: Record<string, string>) => {
      const { text } = await tried({ ...saved, "event.userId": "fan", ...change }, address)
      return cellsOf(text, "Can buy it now")[0]
    }
    expect(await reason({})).toBe("no: The user has bought 1 of 1.")
    expect(await reason({ "limit.times": "2" })).toBe("yes")
    expect(await reason({ "limit.times": "2", stock: "1" })).toMatch(/^no: The only unit is sold/)
  })

  it("marks the faults of the item and of the user at their fields", async () => {
    const wrong = await tried({ "event.userId": "x".repeat(500), price: "points 0" })
    expect([wrong.status, [...markedIn(wrong.text)].sort()]).toEqual([
      400,
      ["event.userId", "price"],
    ])
    const unknown = await tried({ "event.userId": "stranger" })
    expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining("of this user")])
    expect(markedIn((await tried({ price: "rubies 1", "event.userId": "fan" })).text)).toEqual([
      "price",
    ])
  })
})

describe("The pages of items", () => {
  it("list them with what is sold and left, and buttons pause, resume and archive them", async () => {
    const { id, version } = await create({
      ...simple,
      name: "Last hat",
      "reward.xp": "7",
      stock: "1",
      "limit.times": "2",
      "limit.per": "day",
    })
    const row = async () => {
      const { text } = await world.owner.get(`${items}?limit=100`)
      const name = `<a href="${items}/${id}"><bdi>Last hat</bdi></a><br><code>last-hat</code>`
      return cellsOf(text, name).slice(0, 7)
    }
    const about = ["points 5", "7 xp"]
    expect(await row()).toEqual(["active", ...about, "yes", "0 sold1 left", "2 a day", "everyone"])
    await world.api("POST", "/v1/users/ada/rewards", { type: "points", amount: 5 })
    expect((await world.api("POST", "/v1/users/ada/purchases", { item: id })).status).toBe(200)
    const soldOut = ["active", ...about, "no, sold out", "1 sold0 left", "2 a day", "everyone"]
    expect(await row()).toEqual(soldOut)
    expect((await world.owner.get(`${items}/${id}`)).text).toMatch(
      /<dt>Sold<\/dt><dd><span [^>]*>1<\/span><\/dd><\/div><div><dt>Left<\/dt><dd><span [^>]*>0</,
    )
    const press = async (verb: string, at: number) => {
      await world.owner.post(`${items}/${id}/${verb}`, { version: String(at) })
      return (await world.api("GET", `/v1/items/${id}`)).json.status
    }
    expect(await press("pause", version)).toBe("paused")
    expect((await row())[3]).toBe("no")
    expect(await press("resume", version + 1)).toBe("active")
    expect(await press("archive", version + 2)).toBe("archived")
    expect((await world.owner.get(`${items}/${id}`)).status).toBe(200)
  })
})
