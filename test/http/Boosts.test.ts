import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, inHours, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `boosts${places++}`)
const minimal = { name: "Double", currencies: ["xp"], factor: 2 }
const spell = { days: ["friday"], from: "18:00", to: "20:00" }

describe("boosts", () => {
  it("are created with defaults, read and listed", async () => {
    const place = newPlace()
    const { headers, json, status } = await place.post("/v1/boosts", minimal)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/boosts/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^bst_[0-9a-f]{32}$/),
      key: "double",
      name: "Double",
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      endsAt: null,
      currencies: ["xp"],
      factor: 2,
      weekly: [],
      timeZone: "project",
      segment: null,
      personal: false,
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    expect((await place.get("/v1/boosts/double")).json).toEqual(json)
    expect((await place.get("/v1/boosts")).json).toEqual({
      boosts: [json],
      total: 1,
      hasMore: false,
      nextCursor: null,
    })
    expect((await newPlace().get("/v1/boosts/double")).status).toBe(404)
  })

  it("change, pause, end and are archived", async () => {
    const place = newPlace()
    await place.post("/v1/boosts", { ...minimal, weekly: [spell], timeZone: "user" })
    const change = async (body: object) => (await place.patch("/v1/boosts/double", body)).json
    expect(await change({ factor: 1.25, currencies: ["points", "xp"] })).toMatchObject({
      factor: 1.25,
      currencies: ["points", "xp"],
      weekly: [spell],
      version: 2,
    })
    expect(await change({ weekly: null, timeZone: null })).toMatchObject({
      weekly: [],
      timeZone: "project",
    })
    expect(await change({ startsAt: inHours(1) })).toMatchObject({ status: "scheduled" })
    expect(await change({ startsAt: null })).toMatchObject({ status: "active" })
    expect(await change({ status: "paused" })).toMatchObject({ status: "paused" })
    expect(await change({ endsAt: inHours(-1) })).toMatchObject({ status: "ended" })
    expect((await place.delete("/v1/boosts/double")).status).toBe(204)
    expect((await place.get("/v1/boosts/double")).json.status).toBe("archived")
    expect(problemOf(await place.patch("/v1/boosts/double", { factor: 3 }))).toEqual([
      409,
      "invalid_transition",
    ])
  })

  it("are refused with all faults at once", async () => {
    const place = newPlace()
    const reply = await place.post("/v1/boosts", {
      name: "",
      currencies: [],
      factor: 0.09,
      timeZone: "UTC",
      weekly: [
        { days: [], from: "24:00", to: "00:60" },
        { days: ["friday", "friday"], from: "18:00", to: "18:00" },
      ],
      endsAt: "soon",
    })
    expect(faultsOf(reply)).toEqual(
      expect.arrayContaining([
        ["/name", "too_short"],
        ["/currencies", "too_short"],
        ["/factor", "out_of_range"],
        ["/timeZone", "invalid_value"],
        ["/weekly/0/days", "too_short"],
        ["/weekly/0/from", "invalid_format"],
        ["/weekly/0/to", "invalid_format"],
        ["/weekly/1/days/1", "duplicate"],
        ["/endsAt", "invalid_format"],
      ]),
    )
    const unequal = { ...minimal, weekly: [{ ...spell, to: "18:00" }] }
    expect(faultsOf(await place.post("/v1/boosts", unequal))).toEqual([
      ["/weekly/0/to", "out_of_range"],
    ])
    const gems = await place.post("/v1/boosts", { ...minimal, currencies: ["xp", "gems"] })
    expect(faultsOf(gems)).toEqual([["/currencies/1", "unknown_reference"]])
  })

  it("have factors from 0.1 to 10 with two decimals, and up to 20 spells", async () => {
    const place = newPlace()
    const factors = [0.1, 0.11, 1.01, 2.5, 9.99, 10]
    for (const factor of factors) {
      const { json } = await place.post("/v1/boosts", { ...minimal, factor })
      expect(json.factor).toBe(factor)
    }
    for (const factor of [0.0999, 0.101, 10.01, 11, 0, -2]) {
      const reply = await place.post("/v1/boosts", { ...minimal, factor })
      expect([factor, faultsOf(reply)[0]]).toEqual([factor, ["/factor", "out_of_range"]])
    }
    const weekly = (length: number) => ({ ...minimal, weekly: Array(length).fill(spell) })
    const most = limits.boostSpellsMax
    expect((await place.post("/v1/boosts", weekly(most))).status).toBe(201)
    expect(faultsOf(await place.post("/v1/boosts", weekly(most + 1)))).toEqual([
      ["/weekly", "too_long"],
    ])
    const currencies = Array.from({ length: limits.boostCurrenciesMax + 1 }, (_, n) => `c${n}`)
    const many = await place.post("/v1/boosts", { ...minimal, currencies })
    expect(faultsOf(many)[0]).toEqual(["/currencies", "too_long"])
  })

  it("that are scheduled or active are at most 50", async () => {
    const place = newPlace()
    for (let made = 0; made < limits.runningBoostsMax; made++) {
      await place.create("/v1/boosts", { ...minimal, ...(made % 2 && { startsAt: inHours(1) }) })
    }
    expect(problemOf(await place.post("/v1/boosts", minimal))).toEqual([409, "quota_exceeded"])
    await place.delete("/v1/boosts/double")
    await place.create("/v1/boosts", minimal)
    expect((await newPlace().post("/v1/boosts", minimal)).status).toBe(201)
  })
})

describe("An event while a boost runs", () => {
  it("earns the multiple; reply, reading back, history and simulation name the boost", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5, points: 1 } })
    await place.create("/v1/boosts", { ...minimal, factor: 1.5 })
    const boosts = [{ key: "double", factor: 1.5 }]
    const event = { userId: "ada", action: "TAP", id: "one" }
    const simulated = (await place.post("/v1/project/simulate", event)).json
    expect(simulated).toMatchObject({ xp: { earned: 7 }, points: { earned: 1 }, boosts })
    const { json } = await place.post("/v1/events", event)
    expect(json).toMatchObject({ xp: { earned: 7 }, points: { earned: 1 }, boosts })
    // A repeat and a reading have what the boost was then.
    await place.patch("/v1/boosts/double", { factor: 10 })
    expect((await place.post("/v1/events", event)).json).toMatchObject({ duplicate: true, boosts })
    expect((await place.get(`/v1/events/${json.eventId}`)).json.boosts).toEqual(boosts)
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const factOf = (kind: string) => facts.find((fact: { kind: string }) => fact.kind === kind)
    expect(factOf("xp.earned")).toMatchObject({ amount: 7, boosts })
    expect(factOf("points.earned").boosts).toBeUndefined()
    const undone = await place.delete(`/v1/users/ada/events/${json.eventId}`)
    expect(undone.json).toMatchObject({ xp: { revoked: 7, total: 0 } })
    expect(undone.json.boosts).toBeUndefined()
    await place.patch("/v1/boosts/double", { status: "paused" })
    expect((await place.track("ada", "TAP")).json.boosts).toBeUndefined()
  })

  it("earns the multiple only in the segment of the boost, which simulation and file name", async () => {
    const place = newPlace()
    const conditions = [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }]
    await place.create("/v1/segments", { name: "Pro", conditions })
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    const missing = await place.post("/v1/boosts", { ...minimal, segment: "team" })
    expect(faultsOf(missing)).toEqual([["/segment", "unknown_reference"]])
    await place.create("/v1/boosts", { ...minimal, segment: "pro" })
    await place.call("PUT", "/v1/users/ada", { body: { attributes: { plan: "pro" } } })
    const simulated = async (userId: string) =>
      (await place.post("/v1/project/simulate", { userId, action: "TAP" })).json
    const boosts = [{ key: "double", factor: 2 }]
    expect(await simulated("ada")).toMatchObject({ xp: { earned: 10 }, segments: ["pro"], boosts })
    expect(await simulated("bob")).toMatchObject({ xp: { earned: 5 }, segments: [] })
    expect((await place.track("ada", "TAP")).json).toMatchObject({ xp: { earned: 10 }, boosts })
    expect((await place.track("bob", "TAP")).json.boosts).toBeUndefined()
    const definitions = (await place.get("/v1/definitions")).json
    expect(definitions.boosts).toMatchObject([{ key: "double", segment: "pro" }])
    const copy = newPlace()
    expect((await copy.post("/v1/definitions/apply", { definitions })).status).toBe(200)
    expect((await copy.get("/v1/boosts/double")).json.segment).toBe("pro")
    expect(problemOf(await place.delete("/v1/segments/pro"))).toEqual([409, "in_use"])
    await place.patch("/v1/boosts/double", { segment: null })
    expect((await place.delete("/v1/segments/pro")).status).toBe(204)
    expect((await place.track("bob", "TAP")).json).toMatchObject({ xp: { earned: 10 }, boosts })
  })

  it("in a batch earns by the time at which it occurred", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    await place.create("/v1/boosts", { ...minimal, startsAt: inHours(-2), endsAt: inHours(1) })
    const at = (hours: number) => ({ userId: "ada", action: "TAP", occurredAt: inHours(hours) })
    const { json } = await place.post("/v1/events/batch", { events: [at(-1), at(-3)] })
    const earned = json.results.map(({ boosts, xp }: { boosts?: unknown; xp: object }) => [
      xp,
      boosts,
    ])
    expect(earned).toEqual([
      [{ earned: 10, total: 10 }, [{ key: "double", factor: 2 }]],
      [{ earned: 5, total: 15 }, undefined],
    ])
  })

  it("is tried with the draft of a boost, and nothing is saved", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    const event = { userId: "ada", action: "TAP" }
    const preview = async (draft: object) =>
      (await place.post("/v1/project/preview", { event, ...draft })).json
    expect(await preview({ boost: minimal })).toMatchObject({
      xp: { earned: 10 },
      boosts: [{ key: "double", factor: 2 }],
    })
    const boostId = await place.create("/v1/boosts", minimal)
    expect(await preview({ boost: { ...minimal, factor: 3 }, boostId })).toMatchObject({
      xp: { earned: 15 },
      boosts: [{ key: "double", factor: 3 }],
    })
    const wrong = await place.post("/v1/project/preview", {
      event,
      boost: { ...minimal, currencies: ["gems"] },
    })
    expect(faultsOf(wrong)).toEqual([["/boost/currencies/0", "unknown_reference"]])
    expect((await place.get("/v1/boosts")).json.total).toBe(1)
  })

  it("is not boosted by the boosts of another environment", async () => {
    const [mine, theirs] = [newPlace(), newPlace()]
    for (const place of [mine, theirs]) {
      await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    }
    await theirs.create("/v1/boosts", minimal)
    expect((await mine.track("ada", "TAP")).json.xp.earned).toBe(5)
    expect((await theirs.track("ada", "TAP")).json.xp.earned).toBe(10)
  })
})

describe("A personal boost", () => {
  const reward = { boost: { key: "double", minutes: 60 } }
  const personal = { ...minimal, personal: true }

  it("is given by a reward, multiplies, is read with the user, and an undo takes it back", async () => {
    const place = newPlace()
    const boostId = await place.create("/v1/boosts", personal)
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    const given = await place.post("/v1/users/ada/rewards", { reward, id: "gift" })
    const own = { boostId, key: "double", name: "Double" }
    const times = {
      startsAt: expect.stringMatching(isoTime),
      endsAt: expect.stringMatching(isoTime),
    }
    expect(given.json).toMatchObject({
      reward: { xp: 0, points: 0, badgeId: null, ...reward },
      type: null,
      boostsEarned: [{ ...own, ...times }],
    })
    const [{ endsAt, startsAt }] = given.json.boostsEarned
    expect(Date.parse(endsAt) - Date.parse(startsAt)).toBe(3_600_000)
    const { json: user } = await place.get("/v1/users/ada")
    expect(user.boosts).toEqual([{ ...own, startsAt, endsAt, currencies: ["xp"], factor: 2 }])
    const boosts = [{ key: "double", factor: 2 }]
    const event = { userId: "ada", action: "TAP" }
    expect((await place.post("/v1/project/simulate", event)).json).toMatchObject({ boosts })
    expect((await place.post("/v1/events", event)).json).toMatchObject({
      xp: { earned: 10 },
      boosts,
    })
    expect((await place.track("bob", "TAP")).json.boosts).toBeUndefined()
    const undone = (await place.delete("/v1/users/ada/rewards/gift")).json
    expect(undone.boosts).toEqual([{ ...own, startsAt, endsAt }])
    expect((await place.get("/v1/users/ada")).json.boosts).toBeUndefined()
    expect((await place.post("/v1/events", event)).json.xp.earned).toBe(5)
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const kinds = facts.map(({ kind }: { kind: string }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(["boost.earned", "boost.revoked"]))
    const read = (await place.get("/v1/users/ada/rewards/gift")).json
    expect(read).toMatchObject({ reward, boostsEarned: [own], revoked: true })
  })

  it("is given by a rule, which simulation and reply tell", async () => {
    const place = newPlace()
    await place.create("/v1/boosts", personal)
    await place.create("/v1/rules", { action: "GIFT", reward })
    const event = { userId: "ada", action: "GIFT" }
    const simulated = (await place.post("/v1/project/simulate", event)).json
    expect(simulated).toMatchObject({ boostsEarned: [{ key: "double" }] })
    expect(simulated.given).toMatchObject([{ source: { kind: "rule" }, boosts: ["double"] }])
    const { json } = await place.post("/v1/events", event)
    expect(json.boostsEarned).toMatchObject([{ key: "double" }])
    const read = (await place.get(`/v1/events/${json.eventId}`)).json
    expect(read.boostsEarned).toEqual(json.boostsEarned)
  })

  it("is in use while a reward names it, and rewards name only personal boosts", async () => {
    const place = newPlace()
    const unknown = [["/reward/boost/key", "unknown_reference"]]
    const rule = { action: "GIFT", reward }
    expect(faultsOf(await place.post("/v1/rules", rule))).toEqual(unknown)
    await place.create("/v1/boosts", minimal)
    expect(faultsOf(await place.post("/v1/rules", rule))).toEqual(unknown)
    await place.create("/v1/boosts", { ...personal, key: "own" })
    const own = { boost: { key: "own", minutes: 1 } }
    const criteria = { kind: "level" }
    const tiers = [{ key: "a", name: "A", target: 2, reward: own }]
    const milestones = [{ target: 3, reward: own }]
    const makers: ReadonlyArray<readonly [string, object]> = [
      ["/v1/rules", { action: "GIFT", reward: own }],
      ["/v1/quests", { title: "Q", reward: own }],
      ["/v1/badges", { name: "B", criteria, tiers }],
      ["/v1/streaks", { name: "S", milestones }],
    ]
    for (const [path, body] of makers) {
      const id = await place.create(path, body)
      const refused = await place.delete("/v1/boosts/own")
      expect(problemOf(refused)).toEqual([409, "in_use"])
      expect(refused.json.detail).toContain(id)
      const archived = await place.patch("/v1/boosts/own", { status: "archived" })
      expect(problemOf(archived)).toEqual([409, "in_use"])
      await place.delete(`${path}/${id}`)
    }
    expect((await place.delete("/v1/boosts/own")).status).toBe(204)
    const grant = await place.post("/v1/users/ada/rewards", { reward: own })
    expect(problemOf(grant)).toEqual([404, "boost_not_found"])
  })

  it("changes a reward as a whole, and null removes it", async () => {
    const place = newPlace()
    await place.create("/v1/boosts", personal)
    const id = await place.create("/v1/rules", { action: "GIFT", reward: { xp: 1, ...reward } })
    const changed = async (change: object) =>
      (await place.patch(`/v1/rules/${id}`, { reward: change })).json.reward
    expect(await changed({ xp: 2 })).toMatchObject({ xp: 2, ...reward })
    const longer = { key: "double", minutes: 90 }
    expect((await changed({ boost: longer })).boost).toEqual(longer)
    expect((await changed({ boost: null })).boost).toBeUndefined()
  })

  it("runs from 1 minute to the limit, and its definition has no period", async () => {
    const place = newPlace()
    await place.create("/v1/boosts", personal)
    const grant = (minutes: number) =>
      place.post("/v1/users/ada/rewards", { reward: { boost: { key: "double", minutes } } })
    expect((await grant(limits.boostMinutesMax)).status).toBe(200)
    for (const minutes of [0, limits.boostMinutesMax + 1, 1.5]) {
      expect((await grant(minutes)).json.code).toBe("invalid_request")
    }
    const timed = await place.post("/v1/boosts", { ...personal, startsAt: inHours(1) })
    expect(faultsOf(timed)).toEqual([["/startsAt", "unknown_member"]])
    expect(faultsOf(await place.patch("/v1/boosts/double", { endsAt: inHours(1) }))).toEqual([
      ["/endsAt", "unknown_member"],
    ])
    expect(faultsOf(await place.patch("/v1/boosts/double", { personal: false }))).toEqual([
      ["/personal", "unknown_member"],
    ])
  })

  it("comes back from a file of definitions, with the rewards that give it", async () => {
    const place = newPlace()
    const milestones = [{ target: 3, reward }]
    const file = {
      streaks: [{ key: "daily", name: "Daily", milestones }],
      badges: [{ key: "b", name: "B", criteria: { kind: "level", target: 2 }, reward }],
      rules: [{ key: "gift", action: "GIFT", reward }],
      boosts: [{ key: "double", ...personal }],
    }
    const applied = await place.post("/v1/definitions/apply", { definitions: file })
    expect([applied.status, applied.json]).toEqual([200, expect.anything()])
    const definitions = (await place.get("/v1/definitions")).json
    expect(definitions.boosts).toMatchObject([personal])
    const again = await place.post("/v1/definitions/diff", { definitions })
    expect(again.json.changes).toEqual([])
    const other = { ...definitions, boosts: [{ key: "double", ...minimal }] }
    expect((await place.post("/v1/definitions/diff", { definitions: other })).status).toBe(400)
    const removed = { streaks: [], badges: [], rules: [], boosts: [] }
    const body = { definitions: removed, delete: true }
    const gone = await place.post("/v1/definitions/apply", body)
    expect(gone.status).toBe(200)
  })
})
