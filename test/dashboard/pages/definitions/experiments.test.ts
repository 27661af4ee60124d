import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const experiments = `${base}/experiments`
const simple = {
  name: "Goal",
  "variants.0.key": "control",
  "variants.0.weight": "1",
  "variants.1.key": "goal",
  "variants.1.weight": "3",
}
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${experiments}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/experiments\/(exp_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/experiments/${id}`)).json
}

describe("The form of an experiment", () => {
  it("creates the typed experiment, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${experiments}/new`)
    const blank = fieldsOf(page.text, `${experiments}/new`)
    const fields = {
      ...blank,
      name: "Daily goal",
      "variants.1.key": "goal",
      "variants.1.weight": "2",
      endsAt: "2030-01-01T01:00:00+01:00",
    }
    const experiment = await create(fields)
    expect(experiment).toMatchObject({
      name: "Daily goal",
      key: "daily-goal",
      variants: [
        { key: "control", weight: 1 },
        { key: "goal", weight: 2 },
      ],
      metric: null,
      endsAt: "2030-01-01T00:00:00.000Z",
    })
    expect((await create(fields)).id).toBe(experiment.id)
  })

  it("marks the fields of a refusal", async () => {
    for (const [name, bad] of Object.entries({
      metric: "none",
      startsAt: "soon",
      "variants.0.key": "No Key",
      "variants.1.weight": "0",
    })) {
      const fields = { ...simple, [name]: bad }
      expectMarked(await world.owner.post(`${experiments}/new`, fields), name, bad)
    }
  })

  it("saves any experiment of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewExperiment",
      list: "experiments",
      count: 30,
      edit: (body: Json) => {
        body.status = "draft"
        if (body.metric !== undefined) delete body.metric
        for (const [place, variant] of body.variants.entries()) variant.key = `v${place}`
      },
    })
  })
})

describe("The pages of experiments", () => {
  it("list them with the shares of their variants, and show those of a user", async () => {
    const { id } = await create({ ...simple, name: "Listed" })
    const { text } = await world.owner.get(`${experiments}?status=active`)
    const name = `<a href="${experiments}/${id}"><bdi>Listed</bdi></a><br><code>listed</code>`
    expect(cellsOf(text, name).slice(0, 4)).toEqual([
      "active",
      "control 25%, goal 75%",
      "Back on day 7goal: no difference knownToo few users: 0, 0 of 100 each.",
      "everyone",
    ])
    const { json } = await world.api("POST", "/v1/events", { userId: "seen", action: "TAP" })
    const { variant } = json.experiments.find(({ experimentId }: Json) => experimentId === id)
    const user = (await world.owner.get(`${base}/users/seen`)).text
    expect(user).toContain(`<bdi>Listed</bdi></a>: <bdi>${variant}</bdi>, since `)
    expect(user).toContain(`Entered experiment <a href="${experiments}/${id}">`)
  })

  it("tell the results in sentences, with their warnings", async () => {
    const { id } = await create({ ...simple, name: "Told" })
    const page = `${experiments}/${id}`
    expect((await world.owner.get(page)).text).toContain(
      "<bdi>goal</bdi>: there are too few users to compare it with <bdi>control</bdi>.",
    )
    await world.api("POST", "/v1/metrics", {
      key: "taps",
      name: "Taps",
      aggregate: "count",
      actions: ["TAP"],
    })
    const told = await create({ ...simple, name: "With a metric", metric: "taps" })
    for (let user = 0; user < 20; user++) {
      for (let taps = 0; taps <= user % 3; taps++) {
        await world.api("POST", "/v1/events", { userId: `told-${user}`, action: "TAP" })
      }
    }
    const { text } = await world.owner.get(`${experiments}/${told.id}`)
    const ofGoal = `${base}/retention?of=experiment:${told.key}:goal`
    expect(text).toContain(`<a href="${ofGoal}"><bdi>goal</bdi></a>. Other metrics`)
    expect((await world.owner.get(ofGoal)).text).toContain("with the variant <bdi>goal</bdi>")
    expect(text).toContain("The experiment has not ended.")
    expect(text).toMatch(/The 95% interval of the difference, \S+ to \S+, (includes|leaves out) 0/)
    expect(text).toContain("Users by <bdi>taps</bdi> of a user, since they entered")
  })

  it("tell that variants do not differ, and why means have no interval", async () => {
    const metric = { key: "calls", name: "Calls", aggregate: "count", actions: ["CALL"] }
    await world.api("POST", "/v1/metrics", metric)
    const { id } = await create({ ...simple, name: "Alike", metric: "calls" })
    for (let user = 0; user < 20; user++) {
      await world.api("POST", "/v1/events", { userId: `alike-${user}`, action: "CALL" })
    }
    const clock = await world.api("GET", "/v1/test-clock")
    const advanceTo = new Date(Date.parse(clock.json.now) + 3 * 86_400_000).toISOString()
    await world.api("POST", "/v1/test-clock", { advanceTo })
    const { text } = await world.owner.get(`${experiments}/${id}`)
    expect(text).toContain(
      "<bdi>goal</bdi>: all its users have the same value, and so have those of <bdi>control</bdi>, so there is no interval of the difference.",
    )
    expect(text).toContain(
      "<bdi>goal</bdi> has 0%, as much as <bdi>control</bdi>. The 95% interval",
    )
  })
})
