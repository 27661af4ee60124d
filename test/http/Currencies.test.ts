/** Currencies over HTTP: definitions, rewards, spends, reads, files, two environments. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { currency } from "../../src/http/api/examples/definitionExamples.ts"
import { limits } from "../../src/Limits.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
/** A project of its own with gems and hearts. */
const newPlace = async (): Promise<Place> => {
  const place = new Place(server, `currencies${places++}`)
  await place.post("/v1/currencies", { key: "gems", name: "Gems", max: 100 })
  await place.post("/v1/currencies", { name: "Hearts" })
  return place
}

describe("/v1/currencies", () => {
  it("creates, reads by id and key, lists, changes on condition, and archives", async () => {
    const place = new Place(server, "currencies")
    const { json, status } = await place.post("/v1/currencies", {
      key: "gems",
      name: "Gems",
      max: 100,
    })
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) }
    expect([status, json]).toEqual([201, { ...currency, id: json.id, ...times }])
    expect((await place.get("/v1/currencies/gems")).json).toEqual(json)
    expect((await place.get(`/v1/currencies/${json.id}`)).json).toEqual(json)
    const first = await place.get("/v1/currencies?limit=2")
    const keys = first.json.currencies.map(({ key }: { key: string }) => key)
    expect([keys, first.json.total, first.json.hasMore]).toEqual([["xp", "points"], 3, true])
    const next = await place.get(`/v1/currencies?cursor=${first.json.nextCursor}`)
    expect(next.json.currencies).toEqual([json])
    const stale = { "if-match": '"7"' }
    const patch = (body: object, headers = {}) =>
      place.call("PATCH", "/v1/currencies/gems", { body, headers })
    expect((await patch({ max: null }, stale)).status).toBe(412)
    const changed = await patch({ max: null, name: "Jewels", spendable: false })
    expect(changed.json).toMatchObject({ max: null, name: "Jewels", spendable: false, version: 2 })
    expect((await patch({ spendable: null })).json.spendable).toBe(true)
    expect((await place.call("DELETE", "/v1/currencies/gems")).status).toBe(204)
    expect((await place.call("DELETE", "/v1/currencies/gems")).json.code).toBe("currency_not_found")
    expect((await patch({ max: 1 })).json.code).toBe("invalid_transition")
    const archived = await place.get("/v1/currencies?status=archived")
    expect(archived.json.currencies).toMatchObject([{ key: "gems", status: "archived" }])
    const again = await place.post("/v1/currencies", { key: "gems", name: "Gems" })
    expect([again.status, again.json.code]).toEqual([409, "key_taken"])
  })

  it("limits what a user earns in a period, which an undo gives back", async () => {
    const place = await newPlace()
    const { json } = await place.post("/v1/currencies", {
      name: "Coins",
      earnLimit: { amount: 50, per: "week" },
    })
    expect(json.earnLimit).toEqual({ amount: 50, per: "week" })
    const patch = async (earnLimit: object | null) =>
      (await place.call("PATCH", "/v1/currencies/coins", { body: { earnLimit } })).json
    expect((await patch({ amount: 70 })).earnLimit).toEqual({ amount: 70, per: "week" })
    await place.post("/v1/rules", { action: "TAP", reward: { currencies: { coins: 60 } } })
    const tap = async () => (await place.post("/v1/events", { userId: "ada", action: "TAP" })).json
    const first = await tap()
    const second = await tap()
    const cut = { currency: "coins", amount: 50, by: "earnLimit" }
    expect([second.currencies.coins.earned, second.capped]).toEqual([10, [cut]])
    await place.call("DELETE", `/v1/users/ada/events/${first.eventId}`)
    expect((await tap()).currencies.coins.earned).toBe(60)
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const kinds = new Set(facts.map(({ kind }: Record<string, string>) => kind))
    expect([kinds.has("currency.capped"), kinds.has("currency.uncounted")]).toEqual([true, false])
    expect((await patch(null)).earnLimit).toBeNull()
    expect((await tap()).capped).toBeUndefined()
  })

  it("refills balances with time, which reads show before anything is recorded", async () => {
    const place = new Place(server, "refills")
    const refill = { amount: 2, everyMinutes: 60 }
    const unlimited = await place.post("/v1/currencies", { name: "Hearts", refill })
    expect(unlimited.json.errors).toMatchObject([{ pointer: "/max", code: "missing" }])
    const { json } = await place.post("/v1/currencies", { name: "Hearts", max: 5, refill })
    expect(json).toMatchObject({ key: "hearts", max: 5, refill })
    const user = await place.call("PUT", "/v1/users/ada", { body: {} })
    const later = (minutes: number) =>
      new Date(Date.parse(user.json.createdAt) + minutes * 60_000).toISOString()
    await place.post("/v1/test-clock", { advanceTo: later(90) })
    const expected = {
      balances: { xp: 0, points: 0, hearts: 2 },
      refills: { hearts: { amount: 2, nextAt: later(120), fullAt: later(180) } },
    }
    const paths = ["/v1/users/ada", "/v1/users/ada/progress"]
    for (const path of paths) expect((await place.get(path)).json).toMatchObject(expected)
    expect((await place.get("/v1/users?ids=ada")).json.users).toMatchObject([expected])
    const path = "/v1/users/ada/points/spend"
    const spent = await place.post(path, { currencies: { hearts: 1 } })
    expect(spent.json.balances).toMatchObject({ hearts: 1 })
    const { facts } = (await place.get("/v1/users/ada/history")).json
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "currency.refilled", amount: 2, total: 2 }),
    )
    const patch = async (body: object) =>
      (await place.call("PATCH", "/v1/currencies/hearts", { body })).json
    expect((await patch({ max: null })).errors).toMatchObject([{ pointer: "/max" }])
    expect((await patch({ refill: { everyMinutes: 30 } })).refill).toEqual({
      amount: 2,
      everyMinutes: 30,
    })
    expect((await patch({ refill: null, max: null })).refill).toBeNull()
    const { balances, refills } = (await place.get("/v1/users/ada")).json
    expect([balances.hearts, refills]).toEqual([1, undefined])
  })

  it("keeps credits pending for some days, in which nothing can be spent of them", async () => {
    const place = new Place(server, "pending")
    const { json } = await place.post("/v1/currencies", { name: "Gems", pendingDays: 2 })
    expect(json).toMatchObject({ key: "gems", pendingDays: 2 })
    const reward = { currencies: { gems: 5 } }
    const granted = (await place.post("/v1/users/ada/rewards", { reward })).json
    const { balances } = granted
    expect(balances).toMatchObject({ gems: 5 })
    const paths = ["/v1/users/ada", "/v1/users/ada/progress"]
    const [first] = await Promise.all(paths.map((path) => place.get(path)))
    const { gems } = first!.json.pending
    expect(gems).toEqual({
      amount: 5,
      lots: [{ amount: 5, spendableAt: expect.stringMatching(/T00:00:00.000Z$/) }],
    })
    for (const path of paths) {
      expect((await place.get(path)).json).toMatchObject({ balances, pending: { gems } })
    }
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const { spendableAt } = gems.lots[0]
    const pending = [{ currency: "gems", amount: 5, spendableAt }]
    expect([granted.pending, facts[0].pending]).toEqual([pending, pending])
    await place.post("/v1/rules", { action: "BUY", reward: { currencies: { gems: 2 } } })
    await place.post("/v1/rules", { action: "BUY", reward: { points: 1, currencies: { gems: 1 } } })
    const bought = (await place.post("/v1/events", { userId: "eve", action: "BUY" })).json
    expect(bought.pending).toEqual([{ currency: "gems", amount: 3, spendableAt }])
    const other = (await place.post("/v1/events", { userId: "eve", action: "LOOK" })).json
    expect(other.pending).toBeUndefined()
    expect(facts).toContainEqual(expect.objectContaining({ kind: "currency.earned", spendableAt }))
    const spend = () => place.post("/v1/users/ada/points/spend", { currencies: { gems: 5 } })
    expect((await spend()).json).toMatchObject({
      code: "insufficient_balance",
      balances: { gems: 0 },
    })
    await place.post("/v1/test-clock", { advanceTo: spendableAt })
    expect((await place.get("/v1/users/ada")).json.pending).toBeUndefined()
    expect((await spend()).json.balances).toMatchObject({ gems: 0 })
    const patch = { pendingDays: null }
    expect((await place.patch("/v1/currencies/gems", patch)).json.pendingDays).toBeNull()
  })

  it("expires amounts at midnight, and tells of it", async () => {
    const place = new Place(server, "expiry")
    const { json } = await place.post("/v1/currencies", {
      name: "Coins",
      expiry: { afterDays: 2 },
    })
    expect(json.expiry).toEqual({ afterDays: 2 })
    await place.post("/v1/rules", { action: "TAP", reward: { currencies: { coins: 5 } } })
    const { eventId } = (await place.post("/v1/events", { userId: "ada", action: "TAP" })).json
    await place.post("/v1/users/ada/points/spend", { currencies: { coins: 1 } })
    const { expiring } = (await place.get("/v1/users/ada/progress")).json
    const [{ expiresAt }] = expiring.coins.lots
    expect(expiring.coins).toEqual({ amount: 4, lots: [{ amount: 4, expiresAt }] })
    expect(expiresAt).toMatch(/T00:00:00.000Z$/)
    const earned = (await place.get("/v1/users/ada/history?kind=currency.earned")).json.facts
    const lastDay = new Date(Date.parse(expiresAt) - 1).toISOString().slice(0, 10)
    expect(earned).toMatchObject([{ lastDay }])
    await place.post("/v1/test-clock", { advanceTo: expiresAt })
    const after = (await place.get("/v1/users/ada")).json
    expect([after.balances.coins, after.expiring]).toEqual([0, undefined])
    const { facts } = (await place.get("/v1/users/ada/history?kind=currency.expired")).json
    expect(facts).toMatchObject([
      { currency: "coins", amount: 4, total: 0, cause: { kind: "clock" } },
    ])
    expect(Date.parse(facts[0].at)).toBeGreaterThanOrEqual(Date.parse(expiresAt))
    const undone = await place.call("DELETE", `/v1/users/ada/events/${eventId}`)
    expect(undone.json).toMatchObject({
      expired: { coins: 4 },
      shortfall: { currencies: { coins: 1 } },
    })
    const patch = async (body: object) =>
      (await place.call("PATCH", "/v1/currencies/coins", { body })).json
    expect((await patch({ expiry: { yearlyOn: "12-31" } })).expiry).toEqual({ yearlyOn: "12-31" })
    expect((await patch({ expiry: null })).expiry).toBeNull()
    const never = { max: 5, refill: { amount: 1, everyMinutes: 5 } }
    expect((await patch(never)).errors).toMatchObject([{ pointer: "/refill", code: "not_allowed" }])
  })

  it("have named levels, which users reach by what they earned", async () => {
    const place = new Place(server, "levels")
    const table = [
      { key: "bronze", name: "Bronze", from: 2 },
      { key: "silver", name: "Silver", from: 5, icon: "🥈" },
    ]
    const { json } = await place.post("/v1/currencies", { name: "Miles", levels: { table } })
    const shown = table.map((level) => ({ icon: null, ...level }))
    const [bronze, silver] = shown.map((level, index) => ({ number: index + 1, ...level }))
    const reward = { xp: 0, points: 0, badgeId: null }
    expect(json.levels).toEqual({
      of: "earned",
      table: shown.map((level) => ({ ...level, reward })),
    })
    await place.post("/v1/users/ada/rewards", { reward: { currencies: { miles: 3 } } })
    await place.post("/v1/users/ada/points/spend", { currencies: { miles: 2 } })
    const standing = { miles: { amount: 3, level: bronze, next: silver } }
    for (const path of ["/v1/users/ada", "/v1/users/ada/progress"]) {
      expect((await place.get(path)).json.levels).toEqual(standing)
    }
    expect((await place.get("/v1/definitions")).json.currencies).toMatchObject([
      { key: "miles", levels: { table } },
    ])
    const patch = async (path: string, levels: object | null) =>
      (await place.call("PATCH", path, { body: { levels } })).json
    const miles = "/v1/currencies/miles"
    expect((await patch(miles, { of: "balance", table })).levels.of).toBe("balance")
    const { levels } = (await place.get("/v1/users/ada")).json
    expect(levels.miles).toEqual({ amount: 1, level: null, next: bronze })
    const faultsOf = async (path: string, table: ReadonlyArray<object>) =>
      (await patch(path, { table })).errors.map(({ code, pointer }: Record<string, string>) => [
        pointer,
        code,
      ])
    expect(await faultsOf(miles, [])).toEqual([["/levels/table", "too_short"]])
    expect(await faultsOf(miles, [table[0]!, { ...table[0], from: 2 }])).toEqual([
      ["/levels/table/1/key", "duplicate"],
      ["/levels/table/1/from", "out_of_range"],
    ])
    const many = (count: number) =>
      Array.from({ length: count }, (_, from) => ({ key: `l${from}`, name: "L", from }))
    expect(await faultsOf(miles, many(limits.currencyLevelsMax + 1))).toEqual([
      ["/levels/table", "too_long"],
    ])
    const most = await patch(miles, { table: many(limits.currencyLevelsMax) })
    expect(most.levels.table).toHaveLength(limits.currencyLevelsMax)
    expect(await faultsOf("/v1/currencies/xp", table)).toEqual([["/levels", "not_allowed"]])
    expect((await patch(miles, null)).levels).toBeNull()
    expect((await place.get("/v1/users/ada")).json.levels).toBeUndefined()
  })

  it("have levels that pay once, which an undo takes back and a draft shows before it is saved", async () => {
    const place = new Place(server, "paying-levels")
    const reward = { points: 50, currencies: { miles: 1 } }
    const levels = { table: [{ key: "silver", name: "Silver", from: 5, reward }] }
    const { json } = await place.post("/v1/currencies", { name: "Miles", levels })
    expect(json.levels.table[0].reward).toEqual({ xp: 0, badgeId: null, ...reward })
    await place.post("/v1/rules", { action: "FLY", reward: { currencies: { miles: 6 } } })
    const { json: flown } = await place.track("ada", "FLY")
    expect(flown).toMatchObject({ points: { earned: 50 }, balances: { miles: 7, points: 50 } })
    const { facts } = (await place.get("/v1/users/ada/history?kind=points.earned")).json
    expect(facts).toMatchObject([{ amount: 50, source: { kind: "level", id: json.id } }])
    expect((await place.track("ada", "FLY")).json.points.earned).toBe(0)
    const undone = await place.call("DELETE", `/v1/users/ada/events/${flown.eventId}`)
    expect(undone.json).toMatchObject({ points: { revoked: 50 }, balances: { miles: 6 } })
    const file = (await place.get("/v1/definitions")).json
    expect(file.currencies[0].levels).toEqual(levels)
    const { json: diff } = await place.post("/v1/definitions/diff", { definitions: file })
    expect(diff.changes).toEqual([])
    const draft = {
      name: "Miles",
      key: "miles",
      levels: { table: [{ ...levels.table[0], reward: { xp: 9 } }] },
    }
    const asked = { event: { userId: "eve", action: "FLY" }, currencyId: "miles", currency: draft }
    const { json: simulated } = await place.post("/v1/project/preview", asked)
    expect(simulated.given).toContainEqual(
      expect.objectContaining({ source: { kind: "level", id: json.id }, xp: 9 }),
    )
  })

  it("have levels by a curve, which have numbers and no names", async () => {
    const place = new Place(server, "curves")
    const curve = { kind: "table", thresholds: [0, 4, 9] }
    const { json } = await place.post("/v1/currencies", { name: "Fame", levels: { curve } })
    expect(json.levels).toEqual({ of: "earned", curve })
    await place.post("/v1/users/ada/rewards", { reward: { currencies: { fame: 5 } } })
    const standing = async () => (await place.get("/v1/users/ada")).json.levels.fame
    const named = { key: null, name: null, icon: null }
    expect(await standing()).toEqual({
      amount: 5,
      level: { number: 2, from: 4, ...named },
      next: { number: 3, from: 9, ...named },
    })
    await place.post("/v1/users/ada/rewards", { reward: { currencies: { fame: 4 } } })
    expect(await standing()).toMatchObject({ amount: 9, level: { number: 3 }, next: null })
    const file = (await place.get("/v1/definitions")).json
    expect(file.currencies).toMatchObject([{ key: "fame", levels: { curve } }])
    const diff = await place.post("/v1/definitions/diff", { definitions: file })
    expect(diff.json.changes).toEqual([])
    const faultsOf = async (levels: object, path = "fame") => {
      const reply = await place.call("PATCH", `/v1/currencies/${path}`, { body: { levels } })
      return reply.json.errors.map(({ code, pointer }: Record<string, string>) => [pointer, code])
    }
    const table = [{ key: "a", name: "A", from: 0 }]
    expect(await faultsOf({ curve, table })).toEqual([["/levels", "invalid_value"]])
    expect(await faultsOf({ of: "earned" })).toEqual([["/levels", "invalid_value"]])
    expect(await faultsOf({ curve: { kind: "linear", base: 5 } })).toEqual([
      ["/levels/curve/xpPerLevel", "missing"],
      ["/levels/curve/base", "unknown_member"],
    ])
    expect(await faultsOf({ curve: { kind: "table", thresholds: [1] } })).toEqual([
      ["/levels/curve/thresholds/0", "out_of_range"],
    ])
    const refill = { amount: 1, everyMinutes: 1 }
    await place.post("/v1/currencies", { name: "Hearts", max: 5, refill })
    expect(await faultsOf({ table }, "hearts")).toEqual([["/levels", "not_allowed"]])
  })

  it("refuses an expiry that is none, out of bounds, or not that of such a currency", async () => {
    const place = await newPlace()
    const faultsOf = async (body: object, path = "/v1/currencies", method = "POST") => {
      const { json } = await place.call(method, path, { body })
      return (json.errors ?? []).map(({ code, pointer }: Record<string, string>) => [pointer, code])
    }
    const create = (expiry: object, more = {}) => faultsOf({ name: "Coins", expiry, ...more })
    expect(await create({})).toEqual([["/expiry", "invalid_value"]])
    expect(await create({ afterDays: 1, yearlyOn: "01-01" })).toEqual([
      ["/expiry", "invalid_value"],
    ])
    expect(await create({ afterDays: 0 })).toEqual([["/expiry/afterDays", "out_of_range"]])
    expect(await create({ inactivityDays: limits.expiryDaysMax + 1 })).toEqual([
      ["/expiry/inactivityDays", "out_of_range"],
    ])
    for (const yearlyOn of ["02-30", "13-01", "00-10", "1-1", "12-31T"]) {
      expect(await create({ yearlyOn })).toEqual([["/expiry/yearlyOn", "invalid_format"]])
    }
    expect(await create({ afterDays: 7 }, { pendingDays: 7 })).toEqual([
      ["/expiry/afterDays", "out_of_range"],
    ])
    const refill = { max: 5, refill: { amount: 1, everyMinutes: 5 } }
    expect(await create({ afterDays: 7 }, refill)).toEqual([["/refill", "not_allowed"]])
    const edit = (key: string) =>
      faultsOf({ expiry: { afterDays: 9 } }, `/v1/currencies/${key}`, "PATCH")
    expect(await edit("xp")).toEqual([["/expiry", "not_allowed"]])
    await place.call("PATCH", "/v1/currencies/hearts", { body: refill })
    const atOnce = { refill: null, expiry: { afterDays: 1 } }
    expect(await faultsOf(atOnce, "/v1/currencies/hearts", "PATCH")).toEqual([
      ["/expiry", "not_allowed"],
    ])
    await place.call("PATCH", "/v1/currencies/hearts", { body: { refill: null } })
    expect(await edit("hearts")).toEqual([["/expiry", "not_allowed"]])
    expect(await edit("points")).toEqual([])
    expect(await create({ afterDays: limits.expiryDaysMax }, { key: "longest" })).toEqual([])
    expect(await create({ yearlyOn: "02-29" }, { key: "leap" })).toEqual([])
  })

  it("refuses members of other kinds of definitions and amounts out of bounds", async () => {
    const place = await newPlace()
    const limit = await place.post("/v1/currencies", {
      name: "Coins",
      earnLimit: { amount: 0, per: "hour" },
      refill: { amount: 0, everyMinutes: limits.refillMinutesMax + 1 },
      pendingDays: limits.pendingDaysMax + 1,
    })
    expect(limit.json.errors.map(({ pointer }: Record<string, string>) => pointer)).toEqual([
      "/earnLimit/amount",
      "/earnLimit/per",
      "/refill/amount",
      "/refill/everyMinutes",
      "/pendingDays",
    ])
    const yearly = await place.post("/v1/currencies", {
      name: "Coins",
      max: 1,
      refill: { amount: 1, everyMinutes: limits.refillMinutesMax },
      pendingDays: limits.pendingDaysMax,
    })
    expect(yearly.status).toBe(201)
    const body = { name: "", max: 0, startsAt: "2026-12-01T00:00:00Z", status: "draft" }
    const { json } = await place.post("/v1/currencies", body)
    const faults = json.errors.map(({ code, pointer }: Record<string, string>) => [pointer, code])
    expect(faults.toSorted()).toEqual([
      ["/max", "out_of_range"],
      ["/name", "too_short"],
      ["/startsAt", "unknown_member"],
      ["/status", "unknown_member"],
    ])
  })
})

describe("Further currencies of a user", () => {
  it("are earned, spent all or nothing, refunded, revoked, and shown", async () => {
    const place = await newPlace()
    await place.post("/v1/rules", { action: "TAP", reward: { currencies: { gems: 60 } } })
    const event = await place.post("/v1/events", { userId: "ada", action: "TAP" })
    expect(event.json).toMatchObject({
      currencies: { gems: { earned: 60, total: 60 } },
      balances: { xp: 0, points: 0, gems: 60 },
    })
    const second = await place.post("/v1/events", { userId: "ada", action: "TAP" })
    expect(second.json.capped).toEqual([{ currency: "gems", amount: 20, by: "max" }])
    expect((await place.get(`/v1/events/${second.json.eventId}`)).json.capped).toEqual(
      second.json.capped,
    )
    const reward = { points: 2, currencies: { hearts: 3 } }
    const granted = await place.post("/v1/users/ada/rewards", { reward })
    expect(granted.json).toMatchObject({ reward, type: null, balances: { gems: 100, hearts: 3 } })
    const path = "/v1/users/ada/points/spend"
    const short = await place.post(path, { currencies: { gems: 101, hearts: 4 } })
    expect([short.status, short.json.code, short.json.balances]).toEqual([
      409,
      "insufficient_balance",
      { gems: 100, hearts: 3 },
    ])
    const spent = await place.post(path, { currencies: { gems: 90, points: 2 }, id: "hat" })
    expect(spent.json).toMatchObject({
      amount: 2,
      points: { spent: 2, total: 0 },
      currencies: { gems: { spent: 90, total: 10 } },
      balances: { gems: 10, hearts: 3 },
    })
    const repeat = await place.post(path, { currencies: { points: 2, gems: 90 }, id: "hat" })
    expect([repeat.status, repeat.json.duplicate]).toEqual([200, true])
    const other = await place.post(path, { currencies: { gems: 91, points: 2 }, id: "hat" })
    expect([other.status, other.json.differs]).toEqual([409, ["/currencies/gems"]])
    expect((await place.get(`${path}/hat`)).json.currencies).toEqual(spent.json.currencies)
    const undone = await place.call("DELETE", `/v1/users/ada/events/${event.json.eventId}`)
    expect(undone.json).toMatchObject({
      currencies: { gems: { revoked: 10, total: 0 } },
      shortfall: { xp: 0, points: 0, currencies: { gems: 50 } },
    })
    const refund = await place.call("DELETE", `${path}/hat`)
    expect(refund.json).toMatchObject({
      points: { refunded: 2, total: 2 },
      currencies: { gems: { refunded: 40, total: 40, shortfall: 50 } },
    })
    const balances = { xp: 0, points: 2, gems: 40, hearts: 3 }
    expect((await place.get("/v1/users/ada")).json.balances).toEqual(balances)
    expect((await place.get("/v1/users/ada/progress")).json.balances).toEqual(balances)
  })

  it("need either an amount or currencies in a spend, whose amounts are above 0", async () => {
    const place = await newPlace()
    const faults = async (body: object) => {
      const { json } = await place.post("/v1/users/ada/points/spend", body)
      return json.errors.map(({ code, pointer }: Record<string, string>) => [pointer, code])
    }
    expect(await faults({})).toEqual([["/amount", "missing"]])
    expect(await faults({ currencies: {} })).toEqual([["/currencies", "out_of_range"]])
    expect(await faults({ amount: 1, currencies: { gems: 1 } })).toEqual([
      ["/currencies", "unknown_member"],
    ])
    expect(await faults({ currencies: { gems: -1, hearts: 0.5 } })).toEqual([
      ["/currencies/gems", "out_of_range"],
      ["/currencies/hearts", "invalid_type"],
    ])
  })

  it("are in rewards by their keys: not xp and points, no unknown ones, up to the limit", async () => {
    const place = await newPlace()
    const faults = async (currencies: object) => {
      const { json } = await place.post("/v1/rules", { action: "TAP", reward: { currencies } })
      return json.errors.map(({ code, pointer }: Record<string, string>) => [pointer, code])
    }
    expect(await faults({ xp: 1 })).toEqual([["/reward/currencies/xp", "unknown_member"]])
    expect(await faults({ none: 1 })).toEqual([["/reward/currencies/none", "unknown_reference"]])
    expect(await faults({ gems: 0 })).toEqual([["/reward/currencies/gems", "out_of_range"]])
    const unknown = await place.post("/v1/users/ada/rewards", { reward: { currencies: { no: 1 } } })
    expect([unknown.status, unknown.json.code]).toEqual([404, "currency_not_found"])
    const body = { rewards: [{ userId: "ada", reward: { currencies: { no: 1 } } }] }
    const batch = await place.post("/v1/rewards/batch", body)
    expect(batch.json.results).toMatchObject([{ ok: false, status: 404 }])
  })

  it("of one environment are not those of another", async () => {
    const [here, there] = [await newPlace(), new Place(server, "elsewhere")]
    await here.post("/v1/users/ada/rewards", { reward: { currencies: { gems: 3 } } })
    await there.post("/v1/users/ada/rewards", { type: "xp", amount: 1 })
    expect((await there.get("/v1/users/ada")).json.balances).toEqual({ xp: 1, points: 0 })
    expect((await there.get("/v1/currencies/gems")).status).toBe(404)
  })
})

describe("A file of definitions", () => {
  it("brings currencies, also changed xp, to another environment, and archives them with delete", async () => {
    const [from, to] = [await newPlace(), new Place(server, "target")]
    await from.call("PATCH", "/v1/currencies/xp", { body: { name: "Stars", max: 5_000 } })
    await from.post("/v1/rules", { action: "TAP", reward: { currencies: { gems: 2 } } })
    await from.call("PATCH", "/v1/currencies/hearts", {
      body: {
        earnLimit: { amount: 5, per: "day" },
        max: 9,
        refill: { amount: 1, everyMinutes: 5 },
        pendingDays: 7,
      },
    })
    await from.call("PATCH", "/v1/currencies/gems", { body: { expiry: { yearlyOn: "12-31" } } })
    const file = (await from.get("/v1/definitions")).json
    expect(file.currencies).toMatchObject([
      { key: "xp", name: "Stars", max: 5_000 },
      { key: "gems", name: "Gems", max: 100, expiry: { yearlyOn: "12-31" } },
      {
        key: "hearts",
        name: "Hearts",
        max: 9,
        earnLimit: { amount: 5, per: "day" },
        refill: { amount: 1, everyMinutes: 5 },
        pendingDays: 7,
      },
    ])
    const { currencies, rules } = file
    const apply = (definitions: object, more = {}) =>
      to.post("/v1/definitions/apply", { definitions, ...more })
    expect((await apply({ currencies, rules })).json).toMatchObject({ created: 3, updated: 1 })
    expect((await apply({ currencies, rules })).json.changes).toEqual([])
    expect((await to.get("/v1/definitions")).json.currencies).toEqual(currencies)
    const kept = await apply({ currencies: [] }, { delete: true })
    expect([kept.status, kept.json.errors[0].pointer]).toEqual([400, "/definitions/currencies"])
    const all = { currencies: [], rules: [] }
    expect((await apply(all, { delete: true })).json).toMatchObject({ deleted: 3 })
    expect((await to.get("/v1/currencies/xp")).json.name).toBe("Stars")
  })
})

describe("A draft of a currency", () => {
  it("shows what its maximum would cut", async () => {
    const place = await newPlace()
    await place.post("/v1/rules", { action: "TAP", reward: { currencies: { gems: 60 } } })
    const event = { userId: "ada", action: "TAP" }
    const currency = { name: "Gems", max: 25 }
    const { json } = await place.post("/v1/project/preview", {
      event,
      currency,
      currencyId: "gems",
    })
    expect(json).toMatchObject({
      currencies: { gems: { earned: 25, total: 25 } },
      capped: [{ currency: "gems", amount: 35, by: "max" }],
      given: [{ source: { kind: "rule" }, currencies: { gems: 25 } }],
    })
    expect((await place.post("/v1/project/simulate", event)).json.capped).toBeUndefined()
  })
})
