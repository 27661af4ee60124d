/** Items under bad requests, other tenants, jumps of the clock, and edits while they are bought. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { limits } from "../../src/Limits.ts"
import { Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const dayMs = 86_400_000
const poster = { key: "poster", name: "Poster", price: { gems: 5 } }

/** An environment with gems, an item, and a user with gems. */
const newShop = async (item: object = {}, gems = 100) => {
  const place = new Place(server, `trouble${places++}`)
  await place.create("/v1/currencies", { key: "gems", name: "Gems" })
  await place.create("/v1/items", { ...poster, ...item })
  await place.post("/v1/users/ada/rewards", { reward: { currencies: { gems } } })
  return place
}

const buy = (place: Place, body: unknown = { item: "poster" }, userId = "ada") =>
  place.post(`/v1/users/${userId}/purchases`, body)

const seen = async (place: Place) => {
  const { left, sold } = (await place.get("/v1/items/poster")).json
  return { left, sold, gems: (await place.get("/v1/users/ada")).json.balances.gems }
}

describe("A purchase", () => {
  it("with a bad body is refused and changes nothing", async () => {
    const place = await newShop({ stock: 3 })
    const before = await seen(place)
    const bodies: ReadonlyArray<unknown> = [
      ...[null, [], 7, {}],
      ...[null, 7, "", [], {}, ["poster"], "x".repeat(1_000)].map((item) => ({ item })),
      { item: "poster", id: "" },
      { item: "poster", id: 7 },
      { item: "poster", id: "x".repeat(limits.idCharactersMax + 1) },
      { item: "poster", price: { gems: 0 } },
      { item: "poster", quantity: 2 },
      { items: ["poster"] },
    ]
    for (const body of bodies) {
      const { json, status } = await buy(place, body)
      expect([body, status, json.code]).toEqual([body, 400, "invalid_request"])
    }
    for (const item of ["__proto__", "constructor", "toString", "itm_none", "POSTER "]) {
      const { json, status } = await buy(place, { item })
      expect([item, status]).toEqual([item, json.code === "item_not_found" ? 404 : 400])
    }
    expect(await seen(place)).toEqual(before)
  })

  it("in one environment touches nothing of another with the same keys and ids", async () => {
    const [mine, theirs] = [await newShop({ stock: 1 }), await newShop({ stock: 1 })]
    const theirItem = (await theirs.get("/v1/items/poster")).json.id
    const before = await seen(theirs)
    const { purchaseId } = (await buy(mine, { item: "poster", id: "order" })).json
    expect(problemOf(await buy(mine, { item: theirItem }))).toEqual([404, "item_not_found"])
    for (const id of [purchaseId, "order"]) {
      const path = `/v1/users/ada/purchases/${id}`
      expect(problemOf(await theirs.get(path))).toEqual([404, "purchase_not_found"])
      expect(problemOf(await theirs.delete(path))).toEqual([404, "purchase_not_found"])
    }
    expect(await seen(theirs)).toEqual(before)
    expect((await buy(theirs, { item: "poster", id: "order" })).json.duplicate).toBe(false)
    expect(await seen(mine)).toEqual({ left: 0, sold: 1, gems: 95 })
  })

  it("is refunded once, by its own user alone, and not as a spend", async () => {
    const place = await newShop()
    const { purchaseId } = (await buy(place)).json
    await place.post("/v1/users/bob/rewards", { reward: { currencies: { gems: 9 } } })
    expect(problemOf(await place.delete(`/v1/users/bob/purchases/${purchaseId}`))).toEqual([
      404,
      "purchase_not_found",
    ])
    for (const kind of ["points/spend", "rewards"]) {
      const { status } = await place.delete(`/v1/users/ada/${kind}/${purchaseId}`)
      expect([kind, status]).toEqual([kind, 404])
    }
    expect(await seen(place)).toMatchObject({ sold: 1, gems: 95 })
    const all = await Promise.all(
      Array.from({ length: 5 }, () => place.delete(`/v1/users/ada/purchases/${purchaseId}`)),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404])
    expect(await seen(place)).toMatchObject({ sold: 0, gems: 100 })
  })
})

describe("A limit of an item", () => {
  it("begins again with the next day, and a zone further west does not bring the day back", async () => {
    const place = await newShop({ limit: { times: 1, per: "day" } })
    const status = async () => (await buy(place)).status
    await place.patch("/v1/project", { timezone: "Pacific/Kiritimati" })
    // Kiritimati is 14 hours ahead of UTC all year, so a day ends there at 10 o'clock.
    const utcDay = (Math.floor(Date.now() / dayMs) + 2) * dayMs
    const at = async (hour: number, seconds: number) => {
      const advanceTo = new Date(utcDay + hour * 3_600_000 + seconds * 1_000).toISOString()
      expect((await place.post("/v1/test-clock", { advanceTo })).status).toBeLessThan(300)
      await vi.waitFor(async () => {
        const { json } = await place.get("/v1/test-clock")
        expect([json.status, json.now >= advanceTo]).toEqual(["ready", true])
      })
    }
    await at(10, -5)
    expect(await status()).toBe(200)
    expect(await status()).toBe(409)
    await at(10, 1)
    expect(await status()).toBe(200)
    // In UTC it is the day before, on which the user has bought nothing by this calendar.
    expect((await place.patch("/v1/project", { timezone: "UTC" })).status).toBe(200)
    expect(problemOf(await buy(place))).toEqual([409, "limit_reached"])
    await at(24, 1)
    expect(problemOf(await buy(place))).toEqual([409, "limit_reached"])
    await at(48, 1)
    expect(await status()).toBe(200)
  })
})

describe("An edit of an item", () => {
  it("that raises the stock sells as many more, also to buyers who ask meanwhile", async () => {
    const place = await newShop({ stock: 1 })
    expect((await buy(place)).status).toBe(200)
    expect(problemOf(await buy(place))).toEqual([409, "sold_out"])
    const [raised, ...tries] = await Promise.all([
      place.patch("/v1/items/poster", { stock: 4 }),
      ...Array.from({ length: 12 }, () => buy(place)),
    ])
    expect(raised.status).toBe(200)
    const late = await Promise.all(Array.from({ length: 12 }, () => buy(place)))
    const bought = [...tries, ...late].filter(({ status }) => status === 200)
    expect(bought.length).toBe(3)
    expect(await seen(place)).toEqual({ left: 0, sold: 4, gems: 80 })
  })

  it("that archives it ends the sale: repeats and refunds of what was bought go on", async () => {
    const place = await newShop({ stock: 2 })
    const { purchaseId } = (await buy(place, { item: "poster", id: "order" })).json
    const [archived, ...tries] = await Promise.all([
      place.delete("/v1/items/poster"),
      ...Array.from({ length: 6 }, () => buy(place)),
    ])
    expect(archived.status).toBe(204)
    const more = tries.filter(({ status }) => status === 200).length
    for (const refused of tries.filter(({ status }) => status !== 200)) {
      expect(["item_not_active", "sold_out"]).toContain(refused.json.code)
    }
    expect(problemOf(await buy(place))).toEqual([409, "item_not_active"])
    expect((await buy(place, { item: "poster", id: "order" })).json).toMatchObject({
      purchaseId,
      duplicate: true,
    })
    // Nothing live costs the currency any more. The price returns all the same.
    expect((await place.delete("/v1/currencies/gems")).status).toBe(204)
    const { json, status } = await place.delete("/v1/users/ada/purchases/order")
    expect([status, json.price]).toEqual([200, { gems: { refunded: 5, shortfall: 0 } }])
    expect((await place.get("/v1/items/poster")).json.sold).toBe(more)
  })
})
