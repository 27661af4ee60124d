import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  const metric = { aggregate: "sum", actions: ["RUN"], value: "km", decimals: 1 }
  await world.api("POST", "/v1/metrics", { key: "km", name: "Km", ...metric })
})
afterAll(() => world.server.stop())

const goals = `${base}/goals`
const simple = {
  name: "Together",
  "score.currency": "xp",
  scope: "everyone",
  target: "100",
  recurrence: "none",
  minContribution: "1",
}
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${goals}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/goals\/(gol_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/goals/${id}`)).json
}

describe("The form of a goal", () => {
  it("creates the typed goal, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${goals}/new`)
    const fields = {
      ...fieldsOf(page.text, `${goals}/new`),
      name: "Club run",
      key: "club-run",
      "score.currency": "",
      "score.metric": "km",
      scope: "team",
      teamKind: "club",
      target: "500",
      recurrence: "monthly",
      minContribution: "5",
      "reward.points": "20",
      endsAt: "2030-01-01T01:00:00+01:00",
    }
    const goal = await create(fields)
    expect(goal).toMatchObject({
      name: "Club run",
      key: "club-run",
      score: { metric: "km" },
      scope: "team",
      teamKind: "club",
      target: 500,
      recurrence: "monthly",
      minContribution: 5,
      reward: { points: 20 },
      endsAt: "2030-01-01T00:00:00.000Z",
    })
    expect((await create(fields)).id).toBe(goal.id)
  })

  it("marks the fields of a refusal", async () => {
    const faults = {
      "score.currency": "rubies",
      target: "0",
      minContribution: "101",
      teamKind: "club",
      endsAt: "soon",
    }
    for (const [name, bad] of Object.entries(faults)) {
      const fields = { ...simple, [name]: bad }
      expectMarked(await world.owner.post(`${goals}/new`, fields), name, bad)
    }
  })

  it("saves any goal of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewGoal",
      list: "goals",
      count: 12,
      edit: (body: Json) => {
        body.score = { currency: "points" }
        body.target = 1_000 + (body.minContribution ?? 1)
        if (body.scope === "team") body.teamKind = "club"
        else delete body.teamKind
      },
    })
  })
})

describe("The page of a goal", () => {
  it("shows what was reached, and how many users got the reward", async () => {
    const goal = await create({ ...simple, name: "Shown", target: "40", "reward.points": "5" })
    await world.api("POST", "/v1/users/ada/rewards", { type: "xp", amount: 10 })
    const shown = async () => (await world.owner.get(`${goals}/${goal.id}`)).text
    expect(await shown()).toContain("<dt>Total</dt><dd>10 of 40</dd>")
    expect(await shown()).toContain("<dt>Reached</dt><dd>25%</dd>")
    expect(await shown()).toContain("<dt>Reward paid</dt><dd>not yet</dd>")
    await world.api("POST", "/v1/users/bob/rewards", { type: "xp", amount: 30 })
    await vi.waitUntil(
      async () => (await world.api("GET", `/v1/goals/${goal.id}`)).json.progress.rewarded === 2,
      { timeout: 30_000 },
    )
    expect(await shown()).toContain("<dt>Reward paid</dt><dd>2 users</dd>")
    expect((await world.owner.get(goals)).text).toContain("100%")
    expect(await shown()).toContain("Top contributors of Shown")
    const history = (await world.owner.get(`${base}/users/ada`)).text
    expect(history).toContain(`/goals/${goal.id}"><bdi>Shown</bdi></a>: reward`)
  })

  it("ends the goal by a button, and extends it by another, with entries in the log", async () => {
    const goal = await create({ ...simple, name: "Ended", endsAt: "2099-01-01T00:00:00Z" })
    const own = `${goals}/${goal.id}`
    const versionOf = async () => (await world.api("GET", `/v1/goals/${goal.id}`)).json.version
    expect((await world.owner.get(own)).text).not.toContain("Contributed by day")
    await world.api("POST", "/v1/users/eve/rewards", { type: "xp", amount: 7 })
    const open = (await world.owner.get(own)).text
    expect(open).toContain("<figcaption>Contributed by day</figcaption>")
    expect(open).toMatch(/<td[^>]*>7 so far<\/td>/)
    const stale = await world.owner.post(`${own}/end`, { version: "99" })
    expect(stale.text).toContain("Nothing was changed")
    const ended = await world.owner.post(`${own}/end`, { version: String(await versionOf()) })
    expect(ended.location).toBe(own)
    const over = (await world.owner.get(own)).text
    expect(over).toContain("ended, key")
    expect(over).not.toContain(`action="${own}/end"`)
    await world.api("POST", "/v1/users/eve/rewards", { type: "xp", amount: 7 })
    const extend = async (endsAt: string) =>
      world.owner.post(`${own}/extend`, { version: String(await versionOf()), endsAt })
    expect((await extend("2020-01-01T00:00:00Z")).text).toContain("must be after the present end")
    expect((await extend("soon")).text).toContain("Nothing was changed")
    expect((await extend("2099-02-01T00:00:00Z")).location).toBe(own)
    await world.api("POST", "/v1/users/eve/rewards", { type: "xp", amount: 1 })
    expect((await world.api("GET", `/v1/goals/${goal.id}`)).json).toMatchObject({
      status: "active",
      endsAt: "2099-02-01T00:00:00.000Z",
      progress: { total: 8 },
    })
    const log = (await world.owner.get(`${base}/log?on=${goal.id}`)).text
    expect(log).toContain("<code>goal.end</code>")
    expect(log).toContain("<code>goal.extend</code>")
    const endless = await create({ ...simple, name: "Endless" })
    const page = (await world.owner.get(`${goals}/${endless.id}`)).text
    expect(page).toContain(`${goals}/${endless.id}/end`)
    expect(page).not.toContain(`${goals}/${endless.id}/extend`)
  })

  it("lists the teams with the highest totals", async () => {
    await world.api("PUT", "/v1/teams/owls", { kind: "nest", name: "Owls" })
    await world.api("PUT", "/v1/teams/owls/members/owl", {})
    const goal = await create({ ...simple, name: "Nests", scope: "team", teamKind: "nest" })
    const empty = (await world.owner.get(`${goals}/${goal.id}`)).text
    expect(empty).toContain("No team has contributed")
    await world.api("POST", "/v1/users/owl/rewards", { type: "xp", amount: 30 })
    const page = (await world.owner.get(`${goals}/${goal.id}`)).text
    expect(page).toContain("<bdi>Owls</bdi></a>")
    expect(page).toContain("30%")
  })
})
