/** The pages of currencies, and the amounts of further currencies in other forms. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.api("POST", "/v1/currencies", { key: "gems", name: "Gems", max: 50 })
})
afterAll(() => world.server.stop())

const currencies = `${base}/currencies`
const read = async (path: string): Promise<Json> => (await world.api("GET", path)).json

describe("The pages of currencies", () => {
  it("create, change and archive one", async () => {
    const limit = { "earnLimit.amount": "9", "earnLimit.per": "month" }
    const refill = { "refill.amount": "1", "refill.everyMinutes": "240" }
    const limits = { max: "5", ...limit, ...refill, pendingDays: "3" }
    const fields = { name: "Hearts", key: "hearts", spendable: "true", ...limits }
    const { location } = await world.owner.post(`${currencies}/new`, fields)
    expect(location).toContain("/currencies/cur_")
    const made = await read("/v1/currencies/hearts")
    expect(made).toMatchObject({ name: "Hearts", spendable: true, max: 5, description: null })
    expect(made.earnLimit).toEqual({ amount: 9, per: "month" })
    expect(made.refill).toEqual({ amount: 1, everyMinutes: 240 })
    expect(made.pendingDays).toBe(3)
    const both = (await world.owner.get(currencies)).text
    expect(both).toContain("9 a month")
    expect(both).toContain("1 every 240 min")
    await world.api("PUT", "/v1/users/hearty", {})
    expect((await world.owner.get(`${base}/users/hearty`)).text).toContain(", +1 at ")
    const address = `${currencies}/${made.id}`
    const form = fieldsOf((await world.owner.get(address)).text, address)
    const { spendable: _, ...others } = form
    const never = { "refill.amount": "", "refill.everyMinutes": "", pendingDays: "" }
    await world.owner.post(address, { ...others, ...never, max: "", description: "Lives" })
    const changed = await read("/v1/currencies/hearts")
    expect(changed).toMatchObject({ spendable: false, max: null, description: "Lives" })
    const half = await world.owner.post(address, { ...others, "earnLimit.per": "", version: "2" })
    expect(half.status).toBe(400)
    const unlimited = {
      ...others,
      ...never,
      "earnLimit.amount": "",
      "earnLimit.per": "",
      version: "2",
    }
    await world.owner.post(address, unlimited)
    expect((await read("/v1/currencies/hearts")).earnLimit).toBeNull()
    const stale = await world.owner.post(address, { ...form, max: "7" })
    expect(stale.status).toBe(412)
    await world.owner.post(`${address}/archive`, {})
    expect((await read("/v1/currencies/hearts")).status).toBe("archived")
    const list = (await world.owner.get(currencies)).text
    expect(list).toContain("Gems")
    expect(list).not.toContain("Hearts")
    expect((await world.owner.get(`${currencies}?status=archived`)).text).toContain("Hearts")
  })

  it("save every currency unchanged by its form", async () => {
    const edit = (body: Json) => {
      body.name ??= "Any"
      if (body.levels === undefined) return
      // Most generated levels would have both a table and a curve, and a curve with other members.
      const { curve, of, table } = body.levels
      if (table === undefined) {
        const whole = [
          { kind: "quadratic", base: 7 },
          { kind: "linear", xpPerLevel: 7 },
          { kind: "geometric", base: 7, factor: 1.5 },
          { kind: "table", thresholds: [0, 7] },
        ]
        const chosen = whole.find(({ kind }) => kind === curve?.kind) ?? whole[0]
        body.levels = { ...(of && { of }), curve: chosen }
        return
      }
      delete body.levels.curve
      table.forEach((level: Json, index: number) => {
        Object.assign(level, { key: `level-${index}`, from: index + 1 })
        if (level.reward !== undefined) level.reward = { xp: level.reward.xp || 7 }
      })
    }
    await roundTrip(world, { schema: "NewCurrency", list: "currencies", count: 12, edit })
  })

  it("have no button to archive xp and points, and viewers change nothing", async () => {
    const page = (await world.owner.get(`${currencies}/xp`)).text
    expect(page).not.toContain("Archive")
    expect((await world.viewer.get(`${currencies}/gems`)).text).toContain("disabled")
    expect((await world.viewer.post(`${currencies}/gems`, { name: "X" })).status).toBe(403)
  })

  it("try an event with the draft", async () => {
    await world.api("POST", "/v1/rules", {
      action: "TRY",
      reward: { currencies: { gems: 30 } },
    })
    const { id } = await read("/v1/currencies/gems")
    const address = `${currencies}/${id}`
    const form = fieldsOf((await world.owner.get(address)).text, address)
    const fields = { ...form, max: "9", intent: "try", "event.action": "TRY" }
    const { text } = await world.owner.post(`${address}/draft`, fields)
    expect(text).toContain("gems +30, then 30")
    expect(text).toContain("gems +9, then 9")
    expect((await read("/v1/currencies/gems")).max).toBe(50)
  })
})

describe("Amounts of further currencies", () => {
  it("are typed in the form of a rule, changed and removed", async () => {
    await world.api("POST", "/v1/currencies", { key: "coins", name: "Coins" })
    const reward = { "reward.xp": "1", "reward.currencies": "gems 5, coins 1" }
    await world.owner.post(`${base}/rules/new`, { action: "LESSON", key: "lesson", ...reward })
    const rule = await read("/v1/rules/lesson")
    expect(rule.reward).toEqual({
      xp: 1,
      points: 0,
      currencies: { gems: 5, coins: 1 },
      badgeId: null,
    })
    const address = `${base}/rules/${rule.id}`
    const save = async (text: string) => {
      const form = fieldsOf((await world.owner.get(address)).text, address)
      return world.owner.post(address, { ...form, "reward.currencies": text })
    }
    await save("coins 2")
    expect((await read("/v1/rules/lesson")).reward.currencies).toEqual({ coins: 2 })
    await save("")
    expect((await read("/v1/rules/lesson")).reward.currencies).toBeUndefined()
    for (const wrong of ["gems", "gems five", "none 1", "gems 5 6", "gems -1"]) {
      expect([wrong, (await save(wrong)).status]).toEqual([wrong, 400])
    }
  })

  it("may end, as the editor says, and pages of users and their histories show it", async () => {
    await world.owner.post(`${currencies}/new`, {
      name: "Stars",
      "expiry.kind": "afterDays",
      "expiry.days": "30",
    })
    const made = await read("/v1/currencies/stars")
    expect(made.expiry).toEqual({ afterDays: 30 })
    const address = `${currencies}/${made.id}`
    const save = async (fields: object) => {
      const form = fieldsOf((await world.owner.get(address)).text, address)
      expect([form["expiry.kind"], form["expiry.days"]]).toEqual(["afterDays", "30"])
      return world.owner.post(address, { ...form, ...fields })
    }
    const none = await save({ "expiry.days": "0" })
    expect([none.status, none.text]).toEqual([400, expect.stringContaining("must be from 1 to")])
    const badDay = await save({ "expiry.kind": "yearlyOn", "expiry.yearlyOn": "31.12." })
    expect([badDay.status, badDay.text]).toEqual([400, expect.stringContaining("such as 12-31")])
    await world.api("POST", "/v1/users/ida/rewards", { reward: { currencies: { stars: 3 } } })
    expect((await world.owner.get(`${base}/users/ida`)).text).toContain(", 3 of it until ")
    expect((await world.owner.get(currencies)).text).toContain("after 30 days")
    await save({ "expiry.kind": "yearlyOn", "expiry.yearlyOn": "12-31" })
    expect((await read("/v1/currencies/stars")).expiry).toEqual({ yearlyOn: "12-31" })
    await world.owner.post(address, {
      ...fieldsOf((await world.owner.get(address)).text, address),
      "expiry.kind": "",
    })
    expect((await read("/v1/currencies/stars")).expiry).toBeNull()
    const archive = await world.owner.post(`${address}/archive`, {})
    expect(archive.status).toBe(303)
  })

  it("have levels by names or a curve, as the editor says, which lists and users show", async () => {
    const address = `${currencies}/new`
    const row = { key: "silver", name: "Silver", from: "2", icon: "🥈" }
    const reward = { xp: 0, points: 7, badgeId: null }
    await world.owner.post(address, {
      name: "Fame",
      "levels.curve.kind": "named",
      "levels.of": "balance",
      "levels.table.0.reward.points": "7",
      ...Object.fromEntries(
        Object.entries(row).map(([name, value]) => [`levels.table.0.${name}`, value]),
      ),
    })
    const made = await read("/v1/currencies/fame")
    expect(made.levels).toEqual({ of: "balance", table: [{ ...row, from: 2, reward }] })
    await world.api("POST", "/v1/users/zoe/rewards", { reward: { currencies: { fame: 3 } } })
    const zoe = (await world.owner.get(`${base}/users/zoe`)).text
    expect(zoe).toContain(", level ")
    expect(zoe).toContain("Level in fame: none → ")
    expect((await world.owner.get(currencies)).text).toContain("Silver, by balance")
    const own = `${currencies}/${made.id}`
    const save = async (fields: Record<string, string>) => {
      const form = fieldsOf((await world.owner.get(own)).text, own)
      return world.owner.post(own, { ...form, ...fields })
    }
    const twice = {
      "levels.table.1.key": "silver",
      "levels.table.1.name": "S",
      "levels.table.1.from": "2",
    }
    const added = await save(twice)
    expect(added.status).toBe(400)
    expect(added.text).toContain("is the key of another level")
    expect((await save({ "levels.curve.kind": "linear" })).status).toBe(400)
    await save({ "levels.curve.kind": "linear", "levels.curve.xpPerLevel": "10" })
    const curve = { kind: "linear", xpPerLevel: 10 }
    expect((await read("/v1/currencies/fame")).levels).toEqual({ of: "balance", curve })
    const thresholds = "0\n5, 9"
    await save({ "levels.curve.kind": "table", "levels.curve.thresholds": thresholds })
    expect((await read("/v1/currencies/fame")).levels.curve.thresholds).toEqual([0, 5, 9])
    await save({ "levels.curve.kind": "" })
    expect((await read("/v1/currencies/fame")).levels).toBeNull()
  })

  it("are granted, spent and given back on the pages of a user", async () => {
    const user = `${base}/users/eve`
    await world.api("PUT", "/v1/users/eve", {})
    const reward = { type: "currency", currency: "gems", amount: "8" }
    const granted = await world.owner.post(`${user}/reward`, reward)
    expect(granted.status).toBe(303)
    await world.api("POST", "/v1/users/eve/rewards", { type: "points", amount: 4 })
    const spend = { amount: "1", currencies: "gems 3" }
    expect((await world.owner.post(`${user}/spend`, spend)).status).toBe(303)
    expect((await read("/v1/users/eve")).balances).toMatchObject({ points: 3, gems: 5 })
    await world.api("PATCH", "/v1/currencies/gems", { pendingDays: 1 })
    await world.api("POST", "/v1/users/mia/rewards", { reward: { currencies: { gems: 2 } } })
    const pending = (await world.owner.get(`${base}/users/mia`)).text
    expect(pending).toContain(", 2 of it pending (2 until ")
    await world.api("PATCH", "/v1/currencies/gems", { pendingDays: null })
    const page = (await world.owner.get(user)).text
    expect(page).toContain("gems −3 (5)")
    expect(page).toContain("gems +8 (8)")
    const short = await world.owner.post(`${user}/spend`, { amount: "", currencies: "gems 9" })
    expect(short.text).toContain("The user has 5 gems, 9 are needed.")
    const { spends } = await read("/v1/users/eve/points/spend")
    expect((await world.owner.post(`${user}/spends/${spends[0].spendId}/revoke`, {})).status).toBe(
      303,
    )
    expect((await read("/v1/users/eve")).balances).toMatchObject({ points: 4, gems: 8 })
  })
})
