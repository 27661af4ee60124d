import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const time = expect.stringMatching(isoTime)
let places = 0
const newPlace = () => new Place(server, `experiments${places++}`)
const variants = [
  { key: "control", weight: 1 },
  { key: "goal", weight: 1 },
]
const goal = { name: "Daily goal", variants }
const track = async (place: Place, userId: string, more: object = {}) =>
  (await place.post("/v1/events", { userId, action: "TAP", ...more })).json

/** The experiment once its last result is counted. */
const counted = async (place: Place) => {
  for (;;) {
    const { json } = await place.get("/v1/experiments/daily-goal")
    if (json.result.countedAt !== null) return json
  }
}

describe("experiments", () => {
  it("are created with defaults, and read", async () => {
    const place = newPlace()
    const { headers, json, status } = await place.post("/v1/experiments", goal)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/experiments/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^exp_[0-9a-f]{32}$/),
      key: "daily-goal",
      name: "Daily goal",
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      endsAt: null,
      segment: null,
      variants,
      metric: null,
      weightsChangedAt: null,
      version: 1,
      createdAt: time,
      updatedAt: time,
    })
    const { result, ...read } = await counted(place)
    expect(read).toEqual(json)
    expect(result).toEqual({
      ...{ metric: null, atLeast: null, retention: "D7", measure: "share", since: "exposure" },
      ...{ countedAt: time, counting: false, enoughUsers: false },
      variants: variants.map(({ key }) => ({ key, users: 0, value: null, difference: null })),
      warnings: ["not_ended", "few_users"],
    })
    const heavy = variants.map(({ key }) => ({ key, weight: 5 }))
    const changed = await place.patch("/v1/experiments/daily-goal", { variants: heavy })
    expect(changed.json).toMatchObject({ variants: heavy, weightsChangedAt: time, version: 2 })
  })

  it("are refused with all their faults", async () => {
    const place = newPlace()
    const many = Array.from({ length: limits.experimentVariantsMax + 1 }, (_, index) => ({
      key: `v${index}`,
      weight: 1,
    }))
    for (const [body, faults] of [
      [{ ...goal, variants: variants.slice(1) }, [["/variants", "too_short"]]],
      [{ ...goal, variants: many }, [["/variants", "too_long"]]],
      [{ ...goal, variants: [variants[0], variants[0]] }, [["/variants/1/key", "duplicate"]]],
      [
        {
          ...goal,
          variants: [
            { key: "A", weight: 0 },
            { key: "b", weight: limits.experimentWeightMax + 1 },
          ],
        },
        [
          ["/variants/0/key", "invalid_format"],
          ["/variants/0/weight", "out_of_range"],
          ["/variants/1/weight", "out_of_range"],
        ],
      ],
      [
        { ...goal, segment: "none", metric: "none" },
        [
          ["/segment", "unknown_reference"],
          ["/metric", "unknown_reference"],
        ],
      ],
    ] as const) {
      const reply = await place.post("/v1/experiments", body)
      expect(faultsOf(reply).toSorted()).toEqual(faults.toSorted())
    }
    const most = { ...goal, variants: many.slice(1) }
    expect((await place.post("/v1/experiments", most)).status).toBe(201)
  })

  it("tell each user's variant in replies, histories and messages of the user alone", async () => {
    const place = newPlace()
    const { id: experimentId, key, name } = (await place.post("/v1/experiments", goal)).json
    const first = await track(place, "ada", { id: "first" })
    const { variant } = first.experiments[0]
    expect(["control", "goal"]).toContain(variant)
    const entered = { experimentId, key, name, variant }
    expect(first.experiments).toEqual([entered])
    // A repeat has the first outcome; a later event enters nothing.
    const again = await track(place, "ada", { id: "first" })
    expect(again).toMatchObject({ duplicate: true, experiments: [entered] })
    expect(await track(place, "ada")).not.toHaveProperty("experiments")
    const user = (await place.get("/v1/users/ada")).json
    expect(user.experiments).toEqual([{ ...entered, exposedAt: time, counted: true }])
    const { facts } = (await place.get("/v1/users/ada/history?kind=experiment.exposed")).json
    expect(facts).toMatchObject([{ ...entered, cause: { kind: "event" } }])
    const simulated = (await place.post("/v1/project/simulate", { userId: "bob", action: "TAP" }))
      .json
    expect(simulated.experiments).toMatchObject([{ experimentId }])
    expect((await place.get("/v1/users/bob")).status).toBe(404)
    const exported = (await place.get("/v1/users/ada/export")).json
    expect(exported.state.experiments[experimentId]).toMatchObject({ variant })
    await place.delete("/v1/experiments/daily-goal")
    expect((await place.get("/v1/users/ada")).json).not.toHaveProperty("experiments")
  })

  it("show that results leave a user out after a merge of two variants", async () => {
    const place = newPlace()
    await place.post("/v1/experiments", goal)
    const byVariant = new Map<string, string>()
    for (let user = 0; byVariant.size < 2; user++) {
      const { experiments, userId } = await track(place, `user-${user}`)
      byVariant.set(experiments[0].variant, userId)
    }
    const [into, from] = [byVariant.get("control")!, byVariant.get("goal")!]
    await place.post(`/v1/users/${from}/merge`, { into })
    const { experiments } = (await place.get(`/v1/users/${into}`)).json
    expect(experiments).toMatchObject([{ variant: "control", counted: false }])
  })

  it("are archived only while no segment asks for them", async () => {
    const place = newPlace()
    await place.post("/v1/experiments", goal)
    const conditions = [{ kind: "experiment", experiment: "daily-goal", op: "eq", value: "goal" }]
    await place.post("/v1/segments", { name: "Sees it", conditions })
    const path = "/v1/experiments/daily-goal"
    expect(problemOf(await place.delete(path))).toEqual([409, "in_use"])
    await place.delete("/v1/segments/sees-it")
    expect((await place.delete(path)).status).toBe(204)
    expect((await place.get(path)).json.status).toBe("archived")
  })

  it("have results by variant, as JSON and as a table, for servers alone", async () => {
    const place = newPlace()
    const metric = { key: "taps", name: "Taps", aggregate: "count", actions: ["TAP"] }
    await place.post("/v1/metrics", metric)
    await place.post("/v1/experiments", { ...goal, metric: "taps" })
    const variantOf = new Map<string, string>()
    for (let user = 0; user < 12; user++) {
      const { experiments, userId } = await track(place, `user-${user}`)
      variantOf.set(userId, experiments[0].variant)
    }
    const path = "/v1/experiments/daily-goal/results"
    const { json } = await place.get(path)
    expect(json).toMatchObject({
      experiment: "daily-goal",
      metric: "taps",
      atLeast: null,
      retention: null,
      measure: "mean",
      since: "exposure",
      leftOut: 0,
      counting: false,
      sampleRatio: { mismatch: false },
      warnings: ["not_ended", "few_users"],
    })
    for (const { exposed, key, users, value } of json.variants) {
      const own = [...variantOf.values()].filter((variant) => variant === key).length
      expect([exposed, users, value]).toEqual([own, own, own === 0 ? null : 1])
    }
    const { headers, text } = await place.get(`${path}?atLeast=2&format=csv`)
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8")
    const [head, ...rows] = text.trimEnd().split("\r\n")
    expect(head).toBe(
      "key,weight,exposed,users,value,low,high,difference,differenceLow,differenceHigh,excludesZero",
    )
    expect(rows.map((row) => row.split(",")[0])).toEqual(["control", "goal"])
    await place.patch("/v1/experiments/daily-goal", {
      variants: variants.map(({ key }) => ({ key, weight: 2 })),
    })
    const changed = (await place.get(`${path}?retention=D7`)).json
    expect(changed).toMatchObject({ retention: "D7", metric: null, sampleRatio: null })
    expect(changed.warnings).toEqual(["not_ended", "weights_changed", "few_users"])
  })

  it("have their last result in short in lists, unless they are drafts or archived", async () => {
    const place = newPlace()
    const metric = { key: "taps", name: "Taps", aggregate: "count", actions: ["TAP"] }
    await place.post("/v1/metrics", metric)
    await place.post("/v1/experiments", { ...goal, metric: "taps" })
    await place.post("/v1/experiments", { ...goal, name: "Later", status: "draft" })
    for (let user = 0; user < 40; user++) {
      for (let taps = 0; taps <= user % 3; taps++) await track(place, `user-${user}`)
    }
    const { result } = await counted(place)
    const listed = (await place.get("/v1/experiments")).json.experiments
    expect(listed.map((one: { key: string; result: unknown }) => [one.key, one.result])).toEqual([
      ["daily-goal", result],
      ["later", null],
    ])
    const whole = (await place.get("/v1/experiments/daily-goal/results")).json
    const { experiment: _, leftOut: __, sampleRatio: ___, ...members } = whole
    expect(whole.variants[1].difference).toMatchObject({ low: expect.any(Number) })
    expect(result).toEqual({
      ...members,
      countedAt: time,
      variants: whole.variants.map(
        ({ difference, key, users, value }: (typeof result.variants)[number]) => {
          return { key, users, value, difference }
        },
      ),
      enoughUsers: false,
    })
    await place.delete("/v1/experiments/daily-goal")
    const archived = (await place.get("/v1/experiments?status=archived")).json.experiments
    expect(archived).toMatchObject([{ key: "daily-goal", result: null }])
  })

  it("name the faults of what results are asked for", async () => {
    const place = newPlace()
    await place.post("/v1/experiments", goal)
    const path = "/v1/experiments/daily-goal/results"
    for (const [query, faults] of [
      ["?atLeast=1", [["query/metric", "missing"]]],
      ["?metric=none", [["query/metric", "unknown_reference"]]],
      ["?retention=D2", [["query/retention", "invalid_value"]]],
      ["?retention=D7&atLeast=1", [["query/atLeast", "not_allowed"]]],
      ["?metric=none&atLeast=0", [["query/atLeast", "invalid_format"]]],
    ] as const) {
      expect(faultsOf(await place.get(path + query))).toEqual(faults)
    }
    expect((await place.get(path)).json).toMatchObject({ metric: null, retention: "D7" })
    const unknown = await place.get("/v1/experiments/none/results?retention=D7")
    expect(problemOf(unknown)).toEqual([404, "experiment_not_found"])
  })
})
