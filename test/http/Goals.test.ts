/** Shared goals over HTTP: their definitions, contributions, completion and rewards. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `goals${places++}`)

const goal = { key: "together", name: "Together", score: { currency: "xp" }, target: 100 }

const earn = async (place: Place, userId: string, xp: number): Promise<string> => {
  const { json, status } = await place.post(`/v1/users/${userId}/rewards`, {
    type: "xp",
    amount: xp,
  })
  expect(status).toBe(200)
  return json.rewardId
}

const progressOf = async (place: Place, key = "together") =>
  (await place.get(`/v1/goals/${key}`)).json.progress

const goalOf = async (place: Place, userId: string) =>
  (await place.get(`/v1/users/${userId}/goals`)).json.goals[0]

const pointsOf = async (place: Place, userId: string): Promise<number> =>
  (await place.get(`/v1/users/${userId}`)).json.points

/** Until all rewards are paid; the number of users who have them. */
const rewarded = async (place: Place, key = "together"): Promise<number> => {
  await vi.waitUntil(async () => (await progressOf(place, key)).rewarded !== null, {
    timeout: 30_000,
  })
  return (await progressOf(place, key)).rewarded
}

describe("A goal", () => {
  it("is created with defaults, patched member by member, and archived", async () => {
    const place = newPlace()
    const { json } = await place.post("/v1/goals", { ...goal, reward: { points: 5 } })
    expect(json).toMatchObject({
      id: expect.stringMatching(/^gol_/),
      ...goal,
      status: "active",
      scope: "everyone",
      teamKind: null,
      recurrence: "none",
      reward: { xp: 0, points: 5, badgeId: null },
      minContribution: 1,
      segment: null,
    })
    const change = { target: 50, minContribution: 2, reward: { xp: 3 }, name: "All of us" }
    expect((await place.patch("/v1/goals/together", change)).json).toMatchObject({
      name: "All of us",
      target: 50,
      minContribution: 2,
      reward: { xp: 3, points: 5 },
      version: 2,
    })
    expect((await place.get("/v1/goals")).json).toMatchObject({
      goals: [{ key: "together", progress: { total: 0, percent: 0, contributors: 0 } }],
      total: 1,
    })
    expect((await place.delete("/v1/goals/together")).status).toBe(204)
    expect((await place.get("/v1/goals")).json.total).toBe(0)
    expect((await place.get("/v1/goals/together")).json.status).toBe("archived")
    await earn(place, "ada", 5)
    expect((await progressOf(place)).total).toBe(0)
  })

  it("is refused with all of its faults", async () => {
    const place = newPlace()
    const faults = async (body: object) =>
      faultsOf(await place.post("/v1/goals", { ...goal, ...body }))
    expect(await faults({ target: 0 })).toEqual([["/target", "out_of_range"]])
    expect(await faults({ target: limits.goalTargetMax + 1 })).toEqual([
      ["/target", "out_of_range"],
    ])
    expect(await faults({ score: {} })).toEqual([["/score", "invalid_value"]])
    expect(await faults({ score: { currency: "xp", metric: "km" } })).toEqual([
      ["/score", "invalid_value"],
    ])
    expect(
      await faults({ score: { metric: "km" }, segment: "few", reward: { badgeId: "bdg_none" } }),
    ).toEqual(
      expect.arrayContaining([
        ["/score/metric", "unknown_reference"],
        ["/segment", "unknown_reference"],
        ["/reward/badgeId", "unknown_reference"],
      ]),
    )
    expect(await faults({ scope: "team" })).toEqual([["/teamKind", "missing"]])
    expect(await faults({ teamKind: "club" })).toEqual([["/teamKind", "not_allowed"]])
    expect(await faults({ minContribution: 101 })).toEqual([["/minContribution", "invalid_value"]])
    expect(
      await faults({ name: 5, score: { metric: "km" }, scope: "team", minContribution: 101 }),
    ).toEqual([
      ["/name", "invalid_type"],
      ["/score/metric", "unknown_reference"],
      ["/teamKind", "missing"],
      ["/minContribution", "invalid_value"],
    ])
    // `teamKind` rests on `scope`, and `minContribution` on `target`, which have faults of form.
    expect(await faults({ scope: "all", teamKind: "club", target: 0, minContribution: 9 })).toEqual(
      [
        ["/scope", "invalid_value"],
        ["/target", "out_of_range"],
      ],
    )
    await place.create("/v1/goals", { ...goal, key: "open" })
    const edit = { name: 5, segment: "few", scope: "team", minContribution: 101 }
    expect(faultsOf(await place.patch("/v1/goals/open", edit))).toEqual([
      ["/name", "invalid_type"],
      ["/scope", "invalid_value"],
      ["/segment", "unknown_reference"],
      ["/teamKind", "missing"],
      ["/minContribution", "invalid_value"],
    ])
    const days = { name: "Days", aggregate: "max", actions: ["RUN"], value: "km" }
    await place.create("/v1/metrics", { key: "best", ...days })
    expect(await faults({ score: { metric: "best" } })).toEqual([["/score/metric", "not_allowed"]])
    const largest = { ...goal, target: limits.goalTargetMax }
    expect((await place.post("/v1/goals", largest)).status).toBe(201)
  })

  it("keeps what the contributions rest on once it is published", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, status: "draft" })
    expect((await place.patch("/v1/goals/together", { recurrence: "daily" })).status).toBe(200)
    await place.patch("/v1/goals/together", { status: "active" })
    const change = { score: { currency: "points" }, scope: "team", teamKind: "club" }
    const refused = await place.patch("/v1/goals/together", { ...change, recurrence: "none" })
    expect(faultsOf(refused)).toEqual([
      ["/score", "invalid_value"],
      ["/scope", "invalid_value"],
      ["/teamKind", "invalid_value"],
      ["/recurrence", "invalid_value"],
    ])
  })

  it("is one of at most so many in an environment, and protects what it names", async () => {
    const place = newPlace()
    await place.create("/v1/currencies", { key: "gems", name: "Gems" })
    for (let n = 0; n < limits.goalsMax; n++) {
      await place.create("/v1/goals", { name: "G", score: { currency: "gems" }, target: 5 })
    }
    const more = { name: "One more", score: { currency: "gems" }, target: 5 }
    expect(problemOf(await place.post("/v1/goals", more))).toEqual([409, "quota_exceeded"])
    expect(problemOf(await place.delete("/v1/currencies/gems"))).toEqual([409, "in_use"])
  })
})

describe("Contributions", () => {
  it("are named in replies, with the share they reach and the reward, also by a simulation", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", {
      key: "km",
      name: "Km",
      aggregate: "sum",
      actions: ["RUN"],
      value: "km",
      decimals: 1,
    })
    await place.create("/v1/goals", { ...goal, score: { metric: "km" }, reward: { points: 5 } })
    const rule = { action: "RUN", reward: { xp: 1 } }
    await place.create("/v1/rules", rule)
    const run = (path: string, userId: string, km: number) =>
      place.post(path, { userId, action: "RUN", metadata: { km } })
    const of = {
      goalId: expect.any(String),
      key: "together",
      name: "Together",
      teamId: null,
      period: null,
    }
    const { json: first } = await run("/v1/events", "ada", 20.5)
    expect(first.goals).toEqual([{ ...of, contributed: 20.5, contribution: 20.5 }])
    const { json: second } = await run("/v1/events", "ada", 10)
    expect(second.goals).toEqual([{ ...of, contributed: 10, contribution: 30.5, reached: 25 }])
    const { json: read } = await place.get(`/v1/events/${second.eventId}`)
    expect(read.goals).toEqual(second.goals)
    const { json: undone } = await place.delete(`/v1/users/ada/events/${second.eventId}`)
    expect(undone.goals).toEqual([{ ...of, contributed: -10, contribution: 20.5 }])
    const last = { ...of, contributed: 79.5, contribution: 79.5, reached: 100 }
    const reward = { xp: 0, points: 5, badgeId: null }
    const simulated = (await run("/v1/project/simulate", "bob", 79.5)).json
    expect(simulated.goals).toEqual([{ ...last, reward }])
    expect((await run("/v1/project/simulate", "bob", 79.4)).json.goals).toMatchObject([
      { reached: 75 },
    ])
    expect(await progressOf(place)).toMatchObject({ total: 20.5, completedAt: null })
    expect((await run("/v1/events", "bob", 79.5)).json.goals).toEqual([{ ...last, reward }])
    // The goal is complete.
    expect((await run("/v1/events", "bob", 1)).json).not.toHaveProperty("goals")
    expect(await rewarded(place)).toBe(2)
  })

  it("to a draft are shown by a preview, also of a changed or ended goal, which changes nothing", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "RUN", reward: { xp: 30 } })
    const event = { userId: "ada", action: "RUN" }
    const preview = async (body: object) => {
      const { json, status } = await place.post("/v1/project/preview", { event, ...body })
      expect([status, json]).toEqual([200, expect.anything()])
      return json.goals
    }
    const whole = { teamId: null, period: null, contributed: 30, contribution: 30 }
    expect(await preview({ goal: { ...goal, target: 60 } })).toEqual([
      { goalId: "gol_draft", key: "together", name: "Together", ...whole, reached: 50 },
    ])
    expect(await preview({ goal: { ...goal, status: "draft" } })).toBeUndefined()
    const ofTeams = { scope: "team", teamKind: "club" }
    expect(await preview({ goal: { ...goal, ...ofTeams } })).toBeUndefined()
    expect((await place.get("/v1/goals")).json.total).toBe(0)
    const goalId = await place.create("/v1/goals", { ...goal, status: "draft", target: 90 })
    const published = { ...goal, status: "active", target: 30, reward: { points: 5 } }
    expect(await preview({ goal: published, goalId })).toMatchObject([
      { goalId, ...whole, reached: 100, reward: { points: 5 } },
    ])
    await place.patch("/v1/goals/together", { status: "active" })
    await place.track("ada", "RUN")
    expect(await preview({ goal: { ...goal, target: 100 }, goalId })).toMatchObject([
      { contributed: 30, contribution: 60, reached: 50 },
    ])
    const { now } = (await place.get("/v1/test-clock")).json
    const endsAt = new Date(Date.parse(now) + 60_000).toISOString()
    await place.patch("/v1/goals/together", { endsAt })
    await place.post("/v1/test-clock", { advanceTo: endsAt })
    const { json } = await place.post("/v1/project/simulate", event)
    expect(json.goals).toBeUndefined()
    expect(await preview({ goal, goalId })).toMatchObject([{ goalId, contribution: 60 }])
    expect(await progressOf(place)).toMatchObject({ total: 30 })
    const gone = await place.post("/v1/project/preview", { event, goal, goalId: "gol_none" })
    expect(problemOf(gone)).toEqual([404, "goal_not_found"])
    const faulty = { event, goal: { ...goal, key: "other", segment: "none", minContribution: 101 } }
    expect(faultsOf(await place.post("/v1/project/preview", faulty)).toSorted()).toEqual([
      ["/goal/minContribution", "invalid_value"],
      ["/goal/segment", "unknown_reference"],
    ])
  })

  it("of a grant are named in its reply", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, target: 50 })
    const { json } = await place.post("/v1/users/ada/rewards", { type: "xp", amount: 50 })
    expect(json.goals).toMatchObject([{ key: "together", contributed: 50, reached: 100 }])
    expect(json.goals[0]).not.toHaveProperty("reward")
  })

  it("add up, and an undo takes one back", async () => {
    const place = newPlace()
    await place.create("/v1/goals", goal)
    await earn(place, "ada", 30)
    const rewardId = await earn(place, "bob", 15)
    await earn(place, "bob", 10)
    expect(await progressOf(place)).toMatchObject({ total: 55, percent: 55, contributors: 2 })
    expect(await goalOf(place, "bob")).toMatchObject({
      key: "together",
      contribution: 25,
      rewarded: false,
      progress: { total: 55 },
    })
    await place.delete(`/v1/users/bob/rewards/${rewardId}`)
    expect(await progressOf(place)).toMatchObject({ total: 40, contributors: 2 })
    expect(await goalOf(place, "bob")).toMatchObject({ contribution: 10 })
    const { json } = await place.get("/v1/users/bob/history?kind=goal.contributed")
    expect(
      json.facts.map(({ amount, cause }: { amount: number; cause: { kind: string } }) => [
        amount,
        cause.kind,
      ]),
    ).toEqual([
      [-15, "revocation"],
      [10, "reward"],
      [15, "reward"],
    ])
  })

  it("of a metric with decimals are shown in its unit", async () => {
    const place = newPlace()
    const metric = { key: "km", name: "Km", aggregate: "sum", actions: ["RUN"], value: "km" }
    await place.create("/v1/metrics", { ...metric, decimals: 2 })
    await place.create("/v1/goals", { ...goal, score: { metric: "km" }, target: 10 })
    await place.track("ada", "RUN", { km: 2.55 })
    await place.track("bob", "RUN", { km: 1.2 })
    expect(await progressOf(place)).toMatchObject({ total: 3.75, percent: 37.5 })
    expect(await goalOf(place, "ada")).toMatchObject({ contribution: 2.55, target: 10 })
    await place.track("ada", "RUN", { km: 6.25 })
    expect(await progressOf(place)).toMatchObject({ total: 10, percent: 100, rewarded: 0 })
  })

  it("are not those of before the goal, of other segments, of a pause, or of after the end", async () => {
    const place = newPlace()
    const conditions = [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }]
    await place.create("/v1/segments", { key: "pro", name: "Pro", conditions })
    await earn(place, "ada", 9)
    await place.create("/v1/goals", { ...goal, segment: "pro" })
    await earn(place, "ada", 9)
    expect((await progressOf(place)).total).toBe(0)
    expect(await goalOf(place, "ada")).toBeUndefined()
    await place.put("/v1/users/ada", { attributes: { plan: "pro" } })
    await earn(place, "ada", 7)
    await place.patch("/v1/goals/together", { status: "paused" })
    await earn(place, "ada", 9)
    await place.patch("/v1/goals/together", { status: "active" })
    await earn(place, "ada", 1)
    expect(await progressOf(place)).toMatchObject({ total: 8, contributors: 1 })
    const ends = Date.parse((await place.get("/v1/test-clock")).json.now) + 3_600_000
    await place.patch("/v1/goals/together", { endsAt: new Date(ends).toISOString() })
    await place.post("/v1/test-clock", { advanceTo: new Date(ends).toISOString() })
    await earn(place, "ada", 9)
    expect(await progressOf(place)).toMatchObject({ total: 8 })
    expect(await goalOf(place, "ada")).toMatchObject({ status: "ended", contribution: 8 })
  })

  it("count from hidden users, and stay when a user is erased", async () => {
    const place = newPlace()
    await place.create("/v1/goals", goal)
    await place.put("/v1/users/ada", { hidden: true })
    await earn(place, "ada", 30)
    await earn(place, "bob", 20)
    await place.delete("/v1/users/bob")
    expect(await progressOf(place)).toMatchObject({ total: 50, contributors: 2 })
  })

  it("of two users who are merged are those of one", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, minContribution: 50, reward: { points: 5 } })
    await earn(place, "visitor", 30)
    await earn(place, "ada", 25)
    await place.post("/v1/users/visitor/merge", { into: "ada" })
    expect(await progressOf(place)).toMatchObject({ total: 55, contributors: 1 })
    expect(await goalOf(place, "ada")).toMatchObject({ contribution: 55 })
    await earn(place, "bob", 45)
    expect(await rewarded(place)).toBe(1)
    expect([await pointsOf(place, "ada"), await pointsOf(place, "bob")]).toEqual([5, 0])
  })
})

describe("The top contributors", () => {
  it("are the users with the highest contributions, who are not hidden or gone", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, target: 1_000 })
    for (let n = 1; n <= limits.goalContributorsMax + 5; n++) await earn(place, `user-${n}`, 1)
    await place.put("/v1/users/ada", { displayName: "Ada" })
    await earn(place, "ada", 30)
    await earn(place, "bob", 30)
    await earn(place, "cyd", 40)
    await earn(place, "dan", 50)
    await place.put("/v1/users/cyd", { hidden: true })
    const topOf = async (limit: number) => {
      const path = `/v1/goals/together/contributors?limit=${limit}`
      return (await place.get(path)).json.contributors
    }
    const top = await topOf(3)
    expect(top).toMatchObject([
      { userId: "dan", contribution: 50, team: null, rewarded: false },
      { userId: "ada", contribution: 30, displayName: "Ada" },
      { userId: "bob", contribution: 30 },
    ])
    expect(await topOf(100)).toHaveLength(limits.goalContributorsMax)
    await place.delete("/v1/users/dan")
    await place.put("/v1/users/ada", { hidden: true })
    expect((await topOf(1))[0]).toMatchObject({ userId: "bob" })
  })
})

describe("A goal that reaches its target", () => {
  it("is complete: nothing more counts, and each contributor is paid once", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, minContribution: 10, reward: { points: 5 } })
    await earn(place, "ada", 60)
    await earn(place, "bob", 9)
    const last = await earn(place, "cyd", 31)
    expect(await rewarded(place)).toBe(2)
    await earn(place, "dan", 50)
    await place.delete(`/v1/users/cyd/rewards/${last}`)
    expect(await progressOf(place)).toMatchObject({
      total: 100,
      percent: 100,
      contributors: 3,
      completedAt: expect.any(String),
      rewarded: 2,
    })
    const points = await Promise.all(["ada", "bob", "cyd", "dan"].map((id) => pointsOf(place, id)))
    expect(points).toEqual([5, 0, 5, 0])
    expect(await goalOf(place, "ada")).toMatchObject({ contribution: 60, rewarded: true })
    const { json } = await place.get("/v1/users/ada/history?kind=goal.rewarded")
    expect(json.facts).toMatchObject([
      { key: "together", reward: { points: 5 }, cause: { kind: "goal", key: "together" } },
    ])
  })

  it("may be an edit of the target, and keeps the completion when the target rises", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, reward: { points: 5 } })
    await earn(place, "ada", 40)
    await place.patch("/v1/goals/together", { target: 200 })
    expect(await progressOf(place)).toMatchObject({ total: 40, percent: 20 })
    await place.patch("/v1/goals/together", { target: 40 })
    expect(await rewarded(place)).toBe(1)
    await place.patch("/v1/goals/together", { target: 400, reward: { points: 50 } })
    expect(await progressOf(place)).toMatchObject({ total: 40, percent: 100 })
    expect(await pointsOf(place, "ada")).toBe(5)
  })

  it("pays 1,000 contributors who cross the target at once, each once", async () => {
    const place = newPlace()
    await place.create("/v1/goals", { ...goal, target: 990, reward: { points: 5 } })
    const users = Array.from({ length: 1_000 }, (_, n) => `user-${n}`)
    await Promise.all(users.map((userId) => earn(place, userId, 1)))
    expect(await rewarded(place)).toBe(990)
    expect(await progressOf(place)).toMatchObject({ total: 990, contributors: 990 })
    const points = await Promise.all(users.map((userId) => pointsOf(place, userId)))
    expect(points.reduce((sum, one) => sum + one, 0)).toBe(990 * 5)
  })
})

describe("A goal of teams", () => {
  const join = (place: Place, team: string, userId: string) =>
    place.put(`/v1/teams/${team}/members/${userId}`, {})

  const newTeams = async () => {
    const place = newPlace()
    for (const id of ["owls", "hawks"]) {
      await place.put(`/v1/teams/${id}`, { kind: "club", name: id })
    }
    await place.create("/v1/goals", {
      ...goal,
      scope: "team",
      teamKind: "club",
      reward: { points: 5 },
    })
    return place
  }

  const totalsOf = async (place: Place) => {
    const { teams } = (await place.get("/v1/goals/together/teams")).json
    return teams.map(({ team, total }: { team: { id: string }; total: number }) => [team.id, total])
  }

  it("has a total for each team; who leaves a team leaves the contribution there", async () => {
    const place = await newTeams()
    await earn(place, "ada", 7)
    await join(place, "owls", "ada")
    await earn(place, "ada", 20)
    await join(place, "hawks", "bob")
    await earn(place, "bob", 5)
    expect(await totalsOf(place)).toEqual([
      ["owls", 20],
      ["hawks", 5],
    ])
    await join(place, "hawks", "ada")
    expect(await goalOf(place, "ada")).toMatchObject({ team: { id: "hawks" }, contribution: 0 })
    await earn(place, "ada", 1)
    expect(await totalsOf(place)).toEqual([
      ["owls", 20],
      ["hawks", 6],
    ])
    expect(await goalOf(place, "ada")).toMatchObject({ contribution: 1, progress: { total: 6 } })
    expect((await place.get("/v1/goals/together")).json.progress).toBeNull()
    const own = await place.get("/v1/goals/together/teams/owls")
    expect(own.json).toMatchObject({ team: { id: "owls" }, total: 20, target: 100 })
  })

  it("pays the members of the team that reaches the target", async () => {
    const place = await newTeams()
    await join(place, "owls", "ada")
    await join(place, "owls", "bob")
    await join(place, "owls", "cyd")
    await join(place, "hawks", "dan")
    await earn(place, "ada", 30)
    await earn(place, "cyd", 30)
    await earn(place, "dan", 99)
    await join(place, "hawks", "cyd")
    await earn(place, "bob", 40)
    await vi.waitUntil(
      async () => (await place.get("/v1/goals/together/teams/owls")).json.rewarded !== null,
      { timeout: 30_000 },
    )
    const points = await Promise.all(["ada", "bob", "cyd", "dan"].map((id) => pointsOf(place, id)))
    expect(points).toEqual([5, 5, 0, 0])
    await earn(place, "cyd", 1)
    const hawks = async () => (await place.get("/v1/goals/together/teams/hawks")).json
    await vi.waitUntil(async () => (await hawks()).rewarded === 2, { timeout: 30_000 })
    expect([await pointsOf(place, "cyd"), await pointsOf(place, "dan")]).toEqual([5, 5])
  })

  it("has nothing of a team of another kind, or that is deleted", async () => {
    const place = await newTeams()
    await place.put("/v1/teams/class", { kind: "school", name: "Class" })
    const asked = await place.get("/v1/goals/together/teams/class")
    expect(problemOf(asked)).toEqual([404, "team_not_found"])
    await join(place, "owls", "ada")
    await earn(place, "ada", 5)
    await place.delete("/v1/teams/owls")
    await place.put("/v1/teams/owls", { kind: "club", name: "Owls" })
    expect(await totalsOf(place)).toEqual([])
    expect((await place.get("/v1/goals/together/teams/owls")).json).toMatchObject({ total: 0 })
  })
})
