/** The pages of streaks. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  await world.api("POST", "/v1/currencies", { key: "gems", name: "Gems" })
  const metric = { key: "distance", name: "Distance", aggregate: "count", actions: ["RUN"] }
  await world.api("POST", "/v1/metrics", metric)
  const conditions = [{ kind: "attribute", attribute: "away", op: "eq", value: true }]
  await world.api("POST", "/v1/segments", { key: "away", name: "Away", conditions })
})
afterAll(() => world.server.stop())

const streaks = `${base}/streaks`
const read = async (path: string): Promise<Json> => (await world.api("GET", path)).json

describe("The pages of streaks", () => {
  it("create, change, pause and archive one", async () => {
    const fields = {
      name: "Runs",
      key: "runs",
      every: "day",
      match: "any",
      "needs.0.action": "RUN",
      "needs.0.target": "2",
      "needs.1.action": "SWIM",
      "needs.1.target": "",
      "needs.2.metric": "distance",
      "needs.2.target": "5",
      restDays: "Sunday, saturday",
      "freezes.initial": "1",
      "freezes.everyDays": "7",
      "atRisk.hoursBefore": "4",
      "repair.withinDays": "3",
      "repair.price": "gems 2, points 5",
      "pauses.0.from": "2026-12-24",
      "pauses.0.to": "2026-12-26",
      "pauses.0.segment": "away",
      "milestones.0.target": "7",
      "milestones.0.reward.points": "5",
      "milestones.0.reward.currencies": "gems 2",
      "milestones.0.reward.freezes": "runs 1",
    }
    const { location } = await world.owner.post(`${streaks}/new`, fields)
    expect(location).toContain("/streaks/stk_")
    const made = await read("/v1/streaks/runs")
    expect(made).toMatchObject({
      every: "day",
      match: "any",
      needs: [
        { action: "RUN", target: 2 },
        { action: "SWIM", target: 1 },
        { metric: "distance", target: 5 },
      ],
      restDays: ["saturday", "sunday"],
      freezes: { initial: 1, max: 1, everyDays: 7 },
      atRisk: { hoursBefore: 4 },
      repair: { withinDays: 3, price: { gems: 2, points: 5 } },
      pauses: [{ from: "2026-12-24", to: "2026-12-26", segment: "away" }],
      milestones: [
        {
          target: 7,
          reward: {
            xp: 0,
            points: 5,
            currencies: { gems: 2 },
            badgeId: null,
            freezes: { runs: 1 },
          },
        },
      ],
    })
    await world.api("POST", "/v1/users/ann/rewards", { type: "xp", amount: 1 })
    const gift = { type: "freezes", streak: "runs", amount: "1" }
    // The streak has all the freezes that it can have.
    await world.owner.post(`${base}/users/ann/reward`, gift)
    const { text } = await world.owner.get(`${base}/users/ann`)
    expect(text).toContain("freezes of runs 0 (1), 1 cut")
    const list = (await world.owner.get(streaks)).text
    expect(list).toContain("2 × RUN or SWIM or 5 of the metric distance")
    expect(list).toContain("day, but saturday, sunday")
    const address = `${streaks}/${made.id}`
    const form = fieldsOf((await world.owner.get(address)).text, address)
    await world.owner.post(address, {
      ...form,
      name: "Sport",
      restDays: "",
      "freezes.initial": "0",
      "atRisk.hoursBefore": "",
      "repair.withinDays": "",
      "repair.price": "",
    })
    const changed = { name: "Sport", restDays: [], atRisk: null, repair: null }
    expect(await read("/v1/streaks/runs")).toMatchObject(changed)
    expect((await world.owner.post(address, { ...form, name: "Late" })).status).toBe(412)
    const bad = { ...form, version: "2", "milestones.0.target": "0" }
    expect((await world.owner.post(address, bad)).status).toBe(400)
    await world.owner.post(`${address}/archive`, {})
    expect((await read("/v1/streaks/runs")).status).toBe("archived")
    expect((await world.owner.get(streaks)).text).not.toContain("Sport")
  })

  it("save every streak unchanged by its form", async () => {
    const edit = (body: Json) => {
      body.name ??= "Any"
      if (body.every !== "day") body.restDays = []
      body.pauses = body.pauses?.map((_: Json, index: number) => {
        const from = `2026-12-${index + 1}`.replace(/-(\d)$/, "-0$1")
        return { from, to: from, ...(index === 0 && { segment: "away" }) }
      })
      if (body.pauses === undefined) delete body.pauses
      if (body.repair?.price != null) body.repair.price = { gems: 1 }
      if (body.atRisk !== undefined) body.atRisk = { hoursBefore: 23 }
      if (body.freezes !== undefined) body.freezes = { initial: 1, max: 2, everyDays: 3 }
      for (const need of body.needs ?? []) {
        if (typeof need.metric !== "string") continue
        need.metric = "distance"
        delete need.action
      }
      for (const { reward } of body.milestones ?? []) {
        delete reward.badgeId
        delete reward.currencies
        delete reward.freezes
        reward.points = 1
      }
    }
    await roundTrip(world, { schema: "NewStreak", list: "streaks", count: 10, edit })
  })
})
