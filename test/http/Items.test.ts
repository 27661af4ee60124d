/** Items over HTTP: their definitions, purchases, refunds, and the stock. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: tests look into replies of all kinds
type Json = any

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0

/** An environment with the currency gems. */
const newShop = async () => {
  const place = new Place(server, `shop${places++}`)
  await place.create("/v1/currencies", { key: "gems", name: "Gems" })
  return place
}

const poster = { key: "poster", name: "Poster", price: { gems: 5 } }

const grant = (place: Place, userId: string, reward: object) =>
  place.post(`/v1/users/${userId}/rewards`, { reward })

const buy = (place: Place, userId: string, item = "poster", more: object = {}) =>
  place.post(`/v1/users/${userId}/purchases`, { item, ...more })

const gemsOf = async (place: Place, userId: string) =>
  (await place.get(`/v1/users/${userId}`)).json.balances.gems

const stockOf = async (place: Place, item = "poster") => {
  const { left, sold, stock } = (await place.get(`/v1/items/${item}`)).json
  return { stock, sold, left }
}

describe("An item", () => {
  it("is created with defaults, patched member by member, and archived", async () => {
    const place = await newShop()
    await place.create("/v1/streaks", { key: "daily", name: "Daily", freezes: { max: 2 } })
    const { json } = await place.post("/v1/items", {
      ...poster,
      reward: { xp: 10, freezes: { daily: 1 } },
      limit: { times: 2 },
    })
    expect(json).toMatchObject({
      id: expect.stringMatching(/^itm_/),
      ...poster,
      status: "active",
      reward: { xp: 10, points: 0, badgeId: null, freezes: { daily: 1 } },
      limit: { times: 2, per: "ever" },
      stock: null,
    })
    const patched = await place.patch("/v1/items/poster", {
      price: { points: 3, gems: null },
      limit: { per: "day" },
      reward: { xp: null },
      stock: 4,
    })
    expect(patched.json).toMatchObject({
      price: { points: 3 },
      limit: { times: 2, per: "day" },
      reward: { xp: 0, freezes: { daily: 1 } },
      stock: 4,
    })
    const cleared = await place.patch("/v1/items/poster", {
      limit: null,
      reward: null,
      stock: null,
    })
    expect(cleared.json).toMatchObject({
      limit: null,
      reward: { xp: 0, points: 0, badgeId: null },
      stock: null,
    })
    expect((await place.get("/v1/items")).json).toMatchObject({
      items: [{ key: "poster", sold: 0, left: null }],
      total: 1,
    })
    expect((await place.delete("/v1/items/poster")).status).toBe(204)
    expect((await place.get("/v1/items")).json.total).toBe(0)
    expect((await place.get("/v1/items/poster")).json.status).toBe("archived")
  })

  it("is refused with all of its faults", async () => {
    const place = await newShop()
    const faults = async (body: object) =>
      faultsOf(await place.post("/v1/items", { ...poster, ...body }))
    expect(await faults({ price: {} })).toEqual([["/price", "out_of_range"]])
    expect(await faults({ price: { gems: 0 } })).toEqual([["/price/gems", "out_of_range"]])
    expect(await faults({ price: { rubies: 1, xp: 1 }, reward: { badgeId: "bdg_none" } })).toEqual(
      expect.arrayContaining([
        ["/price/rubies", "unknown_reference"],
        ["/price/xp", "not_allowed"],
        ["/reward/badgeId", "unknown_reference"],
      ]),
    )
    expect(await faults({ segment: "nobody" })).toEqual([["/segment", "unknown_reference"]])
    expect(await faults({ limit: { times: 0 } })).toEqual([["/limit/times", "out_of_range"]])
    expect(await faults({ stock: limits.itemStockMax + 1 })).toEqual([["/stock", "out_of_range"]])
    const period = { startsAt: "2030-01-02T00:00:00Z", endsAt: "2030-01-01T00:00:00Z" }
    expect(await faults({ name: 5, ...period })).toEqual([
      ["/name", "invalid_type"],
      ["/endsAt", "out_of_range"],
    ])
    expect((await place.post("/v1/items", { ...poster, stock: limits.itemStockMax })).status).toBe(
      201,
    )
    expect(faultsOf(await place.patch("/v1/items/poster", { price: { gems: null } }))).toEqual([
      ["/price", "too_short"],
    ])
    expect(problemOf(await place.delete("/v1/currencies/gems"))).toEqual([409, "in_use"])
  })

  it("costs at most as many currencies as the limit, and there are at most as many items", async () => {
    const place = await newShop()
    const price: Record<string, number> = { gems: 1 }
    for (let n = 1; n < limits.itemPricesMax; n++) {
      price[`c${n}`] = n
      await place.create("/v1/currencies", { key: `c${n}`, name: `C${n}` })
    }
    expect((await place.post("/v1/items", { ...poster, price })).status).toBe(201)
    const more = { ...price, points: 1 }
    expect(faultsOf(await place.post("/v1/items", { name: "Dear", price: more }))).toEqual([
      ["/price", "too_long"],
    ])
    expect(faultsOf(await place.patch("/v1/items/poster", { price: { points: 1 } }))).toEqual([
      ["/price", "too_long"],
    ])
    const items = Array.from({ length: limits.itemsMax - 1 }, (_, n) => ({
      id: `itm_${n}`,
      key: `item-${n}`,
      name: "Item",
      price: { points: 1 },
    }))
    for (let from = 0; from < items.length; from += 200) {
      const definitions = { items: items.slice(from, from + 200) }
      const applied = await place.post("/v1/definitions/apply", { definitions })
      expect(applied.status).toBe(200)
    }
    expect(
      problemOf(await place.post("/v1/items", { name: "More", price: { points: 1 } })),
    ).toEqual([409, "quota_exceeded"])
  })
})

describe("A purchase", () => {
  it("takes the price, gives the reward with its levels and badges, and reads back", async () => {
    const place = await newShop()
    const badgeId = await place.create("/v1/badges", {
      key: "collector",
      name: "Collector",
      criteria: { kind: "manual" },
    })
    await place.create("/v1/items", { ...poster, reward: { xp: 150, badgeId } })
    await grant(place, "ada", { currencies: { gems: 12 }, points: 1 })
    const { json, status } = await buy(place, "ada", "poster", { id: "order-1" })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      purchaseId: expect.stringMatching(/^pur_/),
      userId: "ada",
      ...poster,
      duplicate: false,
      xp: { earned: 150, total: 150 },
      points: { earned: 0, total: 1 },
      balances: { xp: 150, points: 1, gems: 7 },
      level: { before: 1, after: 2 },
      badges: [{ key: "collector" }],
    })
    const { duplicate: _, ...bought } = json
    const path = "/v1/users/ada/purchases"
    const details = { ...bought, id: "order-1", revoked: false, revokedAt: null }
    expect((await place.get(`${path}/order-1`)).json).toMatchObject(details)
    expect((await place.get(`${path}/${json.purchaseId}`)).json).toMatchObject(details)
    await buy(place, "ada")
    const page = (await place.get(`${path}?limit=1`)).json
    expect(page).toMatchObject({ purchases: [{ id: null }], hasMore: true })
    const last = (await place.get(`${path}?cursor=${page.nextCursor}`)).json
    expect(last).toMatchObject({ purchases: [{ id: "order-1" }], hasMore: false })
    expect((await place.get("/v1/users/ada/points/spend")).json.spends).toEqual([])
    const history = (await place.get("/v1/users/ada/history")).json.facts
    expect(history.at(0)).toMatchObject({
      kind: "item.purchased",
      ...poster,
      cause: { kind: "purchase", item: "poster", id: null },
    })
    expect(history.map(({ kind }: { kind: string }) => kind)).toContain("currency.spent")
  })

  it("with a used id is the first one, and another item is refused", async () => {
    const place = await newShop()
    await place.create("/v1/items", poster)
    await place.create("/v1/items", { ...poster, key: "mug" })
    await grant(place, "ada", { currencies: { gems: 12 } })
    const first = (await buy(place, "ada", "poster", { id: "a" })).json
    expect((await buy(place, "ada", "poster", { id: "a" })).json).toEqual({
      ...first,
      duplicate: true,
    })
    const reused = await buy(place, "ada", "mug", { id: "a" })
    expect(problemOf(reused)).toEqual([409, "id_reused"])
    expect(reused.json.differs).toEqual(["/item"])
    await place.delete("/v1/users/ada/purchases/a")
    expect((await buy(place, "ada", "poster", { id: "a" })).json).toMatchObject({
      duplicate: true,
      revoked: true,
    })
    expect(await gemsOf(place, "ada")).toBe(12)
  })

  it("that is refused costs nothing", async () => {
    const place = await newShop()
    await place.create("/v1/items", { ...poster, price: { gems: 5, points: 3 } })
    expect(problemOf(await buy(place, "nobody"))).toEqual([404, "user_not_found"])
    await grant(place, "ada", { currencies: { gems: 4 }, points: 9 })
    expect(problemOf(await buy(place, "ada", "none"))).toEqual([404, "item_not_found"])
    const short = await buy(place, "ada")
    expect(problemOf(short)).toEqual([409, "insufficient_balance"])
    expect(short.json.balances).toEqual({ gems: 4 })
    await grant(place, "ada", { currencies: { gems: 96 } })
    await place.create("/v1/segments", {
      key: "pros",
      name: "Pros",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    const refused = async (change: object) => {
      await place.patch("/v1/items/poster", change)
      return problemOf(await buy(place, "ada"))
    }
    expect(await refused({ status: "paused" })).toEqual([409, "item_not_active"])
    expect(await refused({ status: "active", startsAt: "2099-01-01T00:00:00Z" })).toEqual([
      409,
      "item_not_active",
    ])
    expect(await refused({ startsAt: null, segment: "pros" })).toEqual([409, "not_in_segment"])
    expect(await refused({ segment: null, stock: 0 })).toEqual([409, "sold_out"])
    const { json } = await place.get("/v1/users/ada")
    expect(json.balances).toMatchObject({ gems: 100, points: 9 })
    expect(await stockOf(place)).toEqual({ stock: 0, sold: 0, left: 0 })
    await place.patch("/v1/items/poster", { stock: 5, limit: { times: 2 } })
    expect((await buy(place, "ada")).status).toBe(200)
    const second = (await buy(place, "ada")).json.purchaseId
    expect(problemOf(await buy(place, "ada"))).toEqual([409, "limit_reached"])
    await place.delete(`/v1/users/ada/purchases/${second}`)
    expect((await buy(place, "ada")).status).toBe(200)
    expect(problemOf(await buy(place, "ada"))).toEqual([409, "limit_reached"])
    expect((await place.get("/v1/users/ada")).json.balances).toMatchObject({ gems: 90, points: 3 })
    expect(await stockOf(place)).toEqual({ stock: 5, sold: 2, left: 3 })
  })

  it("scores on no leaderboard of a window", async () => {
    const place = await newShop()
    await place.create("/v1/items", { ...poster, reward: { xp: 50 } })
    await grant(place, "ada", { currencies: { gems: 5 } })
    await buy(place, "ada")
    const { json } = await place.get("/v1/leaderboard?window=daily")
    expect(json.entries).toEqual([])
    expect((await place.get("/v1/users/ada")).json.xp).toBe(50)
  })
})

describe("The items for a user", () => {
  const shopOf = async (place: Place, userId: string, query = "") =>
    (await place.get(`/v1/users/${userId}/items${query}`)).json

  it("say for each why it cannot be bought, as the purchase would be refused", async () => {
    const place = await newShop()
    await place.create("/v1/currencies", { key: "coins", name: "Coins", pendingDays: 14 })
    await place.create("/v1/segments", {
      key: "pros",
      name: "Pros",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    const sell = (key: string, more: object) =>
      place.create("/v1/items", { ...poster, key, ...more })
    await sell("poster", { limit: { times: 2, per: "week" } })
    await sell("dear", { price: { gems: 9, points: 30, coins: 1 } })
    await sell("paused", {})
    await place.patch("/v1/items/paused", { status: "paused" })
    await sell("once", { price: { gems: 1 }, limit: { times: 1 } })
    await sell("gone", { stock: 0 })
    await sell("draft", { status: "draft" })
    await sell("later", { startsAt: "2099-01-01T00:00:00Z" })
    await sell("pro", { segment: "pros" })
    await grant(place, "ada", { currencies: { gems: 8, coins: 7 }, points: 40 })
    await buy(place, "ada", "once")
    const shop = await shopOf(place, "ada")
    expect(shop).toMatchObject({ userId: "ada", total: 5, hasMore: false })
    expect(shop.spendable).toEqual({ gems: 7, coins: 0, points: 40 })
    const seen = shop.items.map(({ bought, key, limitEndsAt, refusal }: Json) => [
      key,
      bought,
      limitEndsAt !== null,
      refusal?.code ?? null,
    ])
    expect(seen).toEqual([
      ["poster", 0, true, null],
      ["dear", 0, false, "insufficient_balance"],
      ["paused", 0, false, "item_not_active"],
      ["once", 1, false, "limit_reached"],
      ["gone", 0, false, "sold_out"],
    ])
    expect(shop.items[1].refusal.missing).toEqual({ gems: 2, coins: 1 })
    expect(Object.keys(shop.items[2].refusal)).toEqual(["code", "detail"])
    // The refused purchases first: one that succeeds changes the balances.
    for (const { key, refusal } of shop.items.toReversed()) {
      const { json, status } = await buy(place, "ada", key)
      if (refusal === null) expect(status).toBe(200)
      else expect([json.code, json.detail]).toEqual([refusal.code, refusal.detail])
    }
    await place.put("/v1/users/ada", { attributes: { plan: "pro" } })
    expect((await shopOf(place, "ada")).items.at(-1).key).toBe("pro")
    expect((await shopOf(place, "ada")).items[0].bought).toBe(1)
  })

  it("come in pages, and are not there for an unknown user", async () => {
    const place = await newShop()
    for (const key of ["a", "b", "c"]) await place.create("/v1/items", { ...poster, key })
    await grant(place, "ada", { points: 1 })
    const keysOf = ({ items }: Json) => items.map(({ key }: Json) => key)
    const first = await shopOf(place, "ada", "?limit=2")
    expect([keysOf(first), first.hasMore, first.total]).toEqual([["a", "b"], true, 3])
    const next = await shopOf(place, "ada", `?limit=2&cursor=${first.nextCursor}`)
    expect([keysOf(next), next.hasMore]).toEqual([["c"], false])
    await grant(place, "bob", { points: 1 })
    const other = await place.get(`/v1/users/bob/items?limit=2&cursor=${first.nextCursor}`)
    expect(faultsOf(other)).toEqual([["query/cursor", "invalid_value"]])
    expect(problemOf(await place.get("/v1/users/nobody/items"))).toEqual([404, "user_not_found"])
  })

  it("leave out what has expired by the time of the read", async () => {
    const place = await newShop()
    await place.create("/v1/currencies", {
      key: "stars",
      name: "Stars",
      expiry: { afterDays: 1 },
    })
    await place.create("/v1/items", { ...poster, price: { stars: 1 } })
    await grant(place, "ada", { currencies: { stars: 3 } })
    expect((await shopOf(place, "ada")).spendable.stars).toBe(3)
    const inDays = new Date(Date.now() + 3 * 86_400_000).toISOString()
    expect((await place.post("/v1/test-clock", { advanceTo: inDays })).status).toBe(200)
    const { items, spendable } = await shopOf(place, "ada")
    expect([spendable.stars, items[0].refusal.missing]).toEqual([0, { stars: 1 }])
  })
})

describe("The preview of an item", () => {
  const preview = (place: Place, item: object, more: object = {}) =>
    place.post("/v1/items/preview", { userId: "ada", item, ...more })

  it("is the purchase that would follow, and changes nothing", async () => {
    const place = await newShop()
    await grant(place, "ada", { currencies: { gems: 12 } })
    const draft = { ...poster, reward: { xp: 150, points: 3 }, stock: 1 }
    const { json, status } = await preview(place, draft)
    expect([status, json.userId, json.refusal]).toEqual([200, "ada", null])
    expect((await place.get("/v1/items")).json.total).toBe(0)
    expect(await gemsOf(place, "ada")).toBe(12)
    await place.create("/v1/items", draft)
    const { badges, balances, level, points, price, xp } = (await buy(place, "ada")).json
    expect(json.purchase).toEqual({ badges, balances, level, points, price, xp })
  })

  it("of a saved item counts what was sold and bought, and says why it is refused", async () => {
    const place = await newShop()
    await place.create("/v1/segments", {
      key: "pros",
      name: "Pros",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    await grant(place, "ada", { currencies: { gems: 12 } })
    const itemId = await place.create("/v1/items", { ...poster, stock: 2 })
    await buy(place, "ada")
    const codeOf = async (change: object) => {
      const { json, status } = await preview(place, { ...poster, ...change }, { itemId })
      expect(status).toBe(200)
      return json.refusal?.code ?? null
    }
    expect(await codeOf({})).toBe(null)
    expect(await codeOf({ stock: 1 })).toBe("sold_out")
    expect(await codeOf({ limit: { times: 1 } })).toBe("limit_reached")
    expect(await codeOf({ segment: "pros" })).toBe("not_in_segment")
    expect(await codeOf({ endsAt: "2020-01-01T00:00:00Z" })).toBe("item_not_active")
    const dear = await preview(place, { ...poster, price: { gems: 9 } }, { itemId })
    expect(dear.json).toMatchObject({
      purchase: null,
      refusal: { code: "insufficient_balance", missing: { gems: 2 } },
    })
    expect(await stockOf(place)).toEqual({ stock: 2, sold: 1, left: 1 })
  })

  it("is refused with the faults of the draft below /item", async () => {
    const place = await newShop()
    await grant(place, "ada", { currencies: { gems: 12 } })
    expect(faultsOf(await preview(place, { ...poster, price: { gems: 0, rubies: 1 } }))).toEqual(
      expect.arrayContaining([["/item/price/gems", "out_of_range"]]),
    )
    expect(faultsOf(await preview(place, { ...poster, price: { rubies: 1 } }))).toEqual([
      ["/item/price/rubies", "unknown_reference"],
    ])
    expect(problemOf(await preview(place, poster, { itemId: "itm_none" }))).toEqual([
      404,
      "item_not_found",
    ])
    expect(problemOf(await preview(place, poster, { userId: "nobody" }))).toEqual([
      404,
      "user_not_found",
    ])
  })
})

describe("The refund of a purchase", () => {
  it("returns price and unit, and takes the reward back", async () => {
    const place = await newShop()
    await place.create("/v1/items", { ...poster, reward: { points: 10, xp: 150 }, stock: 1 })
    await grant(place, "ada", { currencies: { gems: 5 } })
    const { purchaseId } = (await buy(place, "ada")).json
    expect(await stockOf(place)).toEqual({ stock: 1, sold: 1, left: 0 })
    await place.post("/v1/users/ada/points/spend", { amount: 4 })
    const path = `/v1/users/ada/purchases/${purchaseId}`
    const { json } = await place.delete(path)
    expect(json).toMatchObject({
      purchaseId,
      key: "poster",
      price: { gems: { refunded: 5, shortfall: 0 } },
      xp: { revoked: 150, total: 0 },
      points: { revoked: 6, total: 0 },
      level: { before: 2, after: 1 },
      shortfall: { xp: 0, points: 4 },
      balances: { gems: 5, xp: 0, points: 0 },
    })
    expect(problemOf(await place.delete(path))).toEqual([404, "purchase_not_found"])
    expect((await place.get(path)).json.revoked).toBe(true)
    expect(await stockOf(place)).toEqual({ stock: 1, sold: 0, left: 1 })
    expect((await buy(place, "ada")).status).toBe(200)
  })

  it("takes a reward in the currency of the price from the price", async () => {
    const place = await newShop()
    await place.create("/v1/items", { ...poster, reward: { currencies: { gems: 3 } } })
    await grant(place, "ada", { currencies: { gems: 5 } })
    const { purchaseId } = (await buy(place, "ada")).json
    await place.post("/v1/users/ada/points/spend", { currencies: { gems: 3 } })
    const { json } = await place.delete(`/v1/users/ada/purchases/${purchaseId}`)
    expect(json).toMatchObject({
      price: { gems: { refunded: 5, shortfall: 0 } },
      currencies: { gems: { revoked: 3, total: 2 } },
      shortfall: { xp: 0, points: 0 },
    })
    expect(await gemsOf(place, "ada")).toBe(2)
  })
})

describe("The stock of an item", () => {
  it("goes to as many buyers as there are units, of 1,000 at once", async () => {
    const place = await newShop()
    const units = 10
    await place.create("/v1/items", { ...poster, stock: units })
    const buyers = Array.from({ length: 1_000 }, (_, n) => `buyer-${n}`)
    const rewards = buyers.map((userId) => ({ userId, reward: { currencies: { gems: 9 } } }))
    await place.post("/v1/rewards/batch", { rewards })
    const replies = await Promise.all(buyers.map((userId) => buy(place, userId)))
    const refusals = replies.filter(({ status }) => status !== 200)
    expect(replies.length - refusals.length).toBe(units)
    expect(new Set(refusals.map(({ json }) => json.code))).toEqual(new Set(["sold_out"]))
    expect(await stockOf(place)).toEqual({ stock: units, sold: units, left: 0 })
    const balances = await Promise.all(buyers.map((userId) => gemsOf(place, userId)))
    expect(balances.filter((gems) => gems === 4).length).toBe(units)
    expect(balances.filter((gems) => gems === 9).length).toBe(buyers.length - units)
  })

  it("may be set below what was sold, and stays sold for erased and merged users", async () => {
    const place = await newShop()
    await place.create("/v1/items", { ...poster, stock: 3, limit: { times: 2 } })
    for (const userId of ["ada", "bob", "cyd"]) {
      await grant(place, userId, { currencies: { gems: 50 } })
      expect((await buy(place, userId)).status).toBe(200)
    }
    expect((await place.patch("/v1/items/poster", { stock: 1 })).status).toBe(200)
    expect(await stockOf(place)).toEqual({ stock: 1, sold: 3, left: 0 })
    await place.delete("/v1/users/cyd")
    const merged = await place.post("/v1/users/bob/merge", { into: "ada" })
    expect(merged.status).toBe(200)
    expect(await stockOf(place)).toEqual({ stock: 1, sold: 3, left: 0 })
    await place.patch("/v1/items/poster", { stock: 4 })
    expect(problemOf(await buy(place, "ada"))).toEqual([409, "limit_reached"])
    const { purchases } = (await place.get("/v1/users/ada/purchases")).json
    expect(purchases.length).toBe(2)
    const [bobs] = purchases
    await place.delete(`/v1/users/ada/purchases/${bobs.purchaseId}`)
    expect(await stockOf(place)).toEqual({ stock: 4, sold: 2, left: 2 })
    expect((await buy(place, "ada")).status).toBe(200)
  })
})
