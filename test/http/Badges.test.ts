import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `badges${places++}`)
const manual = { name: "Given", criteria: { kind: "manual" } }

describe("badges", () => {
  it("are created with defaults, read and listed", async () => {
    const place = newPlace()
    const { headers, json, status } = await place.post("/v1/badges", manual)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/badges/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^bdg_[0-9a-f]{32}$/),
      key: "given",
      ...manual,
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      segment: null,
      endsAt: null,
      icon: null,
      tiers: [],
      reward: { xp: 0, points: 0, badgeId: null },
      secret: false,
      repeatable: false,
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    const held = { ...json, holders: { count: 0, share: 0 } }
    expect((await place.get(`/v1/badges/${json.id}`)).json).toEqual(held)
    expect((await place.get("/v1/badges?status=active")).json.badges).toEqual([held])
  })

  it("have criteria of every kind", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", { key: "daily", name: "Daily" })
    const where = [{ path: "score", op: "gt", value: 0.5 }]
    const made: ReadonlyArray<readonly [object, object]> = [
      ...["xp", "level", "points", "quest_count"].map((kind) => [{ kind, target: 5 }, {}] as const),
      [{ kind: "action_count", target: 1, action: "TAP" }, { where: [] }],
      [{ kind: "action_count", target: 1, action: "TAP", where }, {}],
      [{ kind: "streak", target: 3 }, { streak: null }],
      [{ kind: "streak", target: 3, streak: "daily" }, {}],
      [{ kind: "badges", badges: ["taps", "walks"] }, { target: 2 }],
      [{ kind: "manual" }, {}],
    ]
    for (const key of ["taps", "walks"]) await place.create("/v1/badges", { ...manual, key })
    for (const [criteria, shown] of made) {
      const { json } = await place.post("/v1/badges", { name: "B", criteria })
      expect(json.criteria).toEqual({ ...criteria, ...shown })
    }
  })

  it("are earned by their criteria", async () => {
    const place = newPlace()
    const criteria = {
      kind: "action_count",
      target: 2,
      action: "TAP",
      where: [{ path: "hard", op: "eq", value: true }],
    }
    const id = await place.create("/v1/badges", { name: "Taps", criteria })
    const tap = async (hard: boolean) => (await place.track("u", "TAP", { hard })).json.badges
    expect(await tap(true)).toEqual([])
    expect(await tap(false)).toEqual([])
    expect(await tap(true)).toMatchObject([{ id, name: "Taps" }])
    expect(await tap(true)).toEqual([])
  })

  it("change only the members of a patch, and lose those that are null", async () => {
    const place = newPlace()
    const body = {
      name: "B",
      description: "D",
      icon: "🏅",
      secret: true,
      criteria: { kind: "action_count", target: 2, action: "TAP" },
    }
    const created = (await place.post("/v1/badges", body)).json
    const path = `/v1/badges/${created.id}`
    const { json } = await place.patch(path, { name: "C", criteria: { target: 3 } })
    expect(json).toEqual({
      ...created,
      name: "C",
      criteria: { kind: "action_count", target: 3, action: "TAP", where: [] },
      version: 2,
      updatedAt: json.updatedAt,
    })
    const emptied = await place.patch(path, {
      description: null,
      icon: null,
      secret: null,
      criteria: { kind: "streak", target: 1, streak: null },
    })
    expect(emptied.json).toMatchObject({
      description: null,
      icon: null,
      secret: false,
      criteria: { kind: "streak", target: 1, streak: null },
    })
    expect(faultsOf(await place.patch(path, { criteria: { kind: "action_count" } }))).toEqual([
      ["/criteria/target", "missing"],
      ["/criteria/action", "missing"],
    ])
  })

  it("stay with their owners when they are archived, and cannot be earned any more", async () => {
    const place = newPlace()
    const criteria = { kind: "action_count", target: 1, action: "TAP" }
    const id = await place.create("/v1/badges", { name: "Tap", criteria })
    const path = `/v1/badges/${id}`
    await place.track("ada", "TAP")
    expect((await place.delete(path)).status).toBe(204)
    expect((await place.track("bob", "TAP")).json.badges).toEqual([])
    expect((await place.get(path)).json.status).toBe("archived")
    expect((await place.get("/v1/badges")).json.badges).toEqual([])
    expect((await place.get("/v1/badges?status=archived")).json.badges).toMatchObject([{ id }])
    expect(problemOf(await place.delete(path))).toEqual([404, "badge_not_found"])
    expect(problemOf(await place.patch(path, {}))).toEqual([409, "invalid_transition"])
  })

  it("are not archived while rules or quests give them, and the refusal names these", async () => {
    const place = newPlace()
    const badgeId = await place.create("/v1/badges", manual)
    const rule = await place.create("/v1/rules", { action: "A", reward: { badgeId } })
    const body = { title: "Q", reward: { xp: 1, badgeId } }
    const quest = await place.create("/v1/quests", body)
    const refused = await place.delete(`/v1/badges/${badgeId}`)
    expect(problemOf(refused)).toEqual([409, "in_use"])
    expect(refused.json.detail).toContain(`rule ${rule} (A), quest ${quest} (Q)`)
    await place.patch(`/v1/rules/${rule}`, { reward: { badgeId: null, xp: 1 } })
    await place.delete(`/v1/quests/${quest}`)
    expect((await place.delete(`/v1/badges/${badgeId}`)).status).toBe(204)
    expect(faultsOf(await place.patch(`/v1/rules/${rule}`, { reward: { badgeId } }))).toEqual([
      ["/reward/badgeId", "unknown_reference"],
    ])
  })

  it("are not archived while a badge lists them, and are listed by id or key", async () => {
    const place = newPlace()
    const [one, two] = [await place.create("/v1/badges", manual), "two"]
    await place.create("/v1/badges", { ...manual, key: two })
    const body = { name: "Both", criteria: { kind: "badges", badges: [one, two] } }
    const both = (await place.post("/v1/badges", body)).json
    expect(both.criteria.badges.at(1)).toBe(two)
    const refused = await place.delete(`/v1/badges/${one}`)
    expect(problemOf(refused)).toEqual([409, "in_use"])
    expect(refused.json.detail).toContain(`badge ${both.id} (Both)`)
    const give = (badgeId: string) => place.post("/v1/users/u/rewards", { type: "badge", badgeId })
    const badges = (await place.get("/v1/badges")).json.badges
    for (const { id } of badges.slice(0, 2)) await give(id)
    const { json } = await place.get("/v1/users/u")
    expect(json.badges.map(({ key }: { key: string }) => key)).toContain("both")
    const circle = { criteria: { kind: "badges", badges: ["both"] } }
    expect(faultsOf(await place.patch(`/v1/badges/${one}`, circle))).toEqual([
      ["/criteria/badges/0", "cycle"],
    ])
    await place.patch(`/v1/badges/${both.id}`, { criteria: { badges: [two] } })
    expect((await place.delete(`/v1/badges/${one}`)).status).toBe(204)
  })

  it("answer 404 in other environments", async () => {
    const id = await newPlace().create("/v1/badges", manual)
    const elsewhere = newPlace()
    const path = `/v1/badges/${id}`
    for (const reply of [elsewhere.get(path), elsewhere.patch(path, {}), elsewhere.delete(path)]) {
      expect(problemOf(await reply)).toEqual([404, "badge_not_found"])
    }
  })
})

describe("the holders of a badge", () => {
  const tiers = [1, 3].map((target) => ({ key: `t${target}`, name: "T", target }))
  const criteria = { kind: "action_count", action: "TAP" }

  it("are stated with their share of all users, in all and of each tier", async () => {
    const place = newPlace()
    const id = await place.create("/v1/badges", { name: "Taps", criteria, tiers })
    const hand = await place.create("/v1/badges", { ...manual, key: "hand" })
    const nobody = { count: 0, share: 0 }
    const holders = async () => (await place.get(`/v1/badges/${id}`)).json.holders
    expect(await holders()).toEqual({ ...nobody, tiers: { t1: nobody, t3: nobody } })
    for (const user of ["ada", "bob", "ada", "ada"]) await place.track(user, "TAP")
    for (const user of ["cleo", "dora"]) await place.track(user, "OTHER")
    const all = { count: 2, share: 0.5 }
    const gold = { count: 1, share: 0.25 }
    expect(await holders()).toEqual({ ...all, tiers: { t1: all, t3: gold } })
    const { badges } = (await place.get("/v1/badges")).json
    const listed = badges.map(({ holders, id }: { holders: object; id: string }) => [id, holders])
    expect(listed).toEqual([
      [id, { ...all, tiers: { t1: all, t3: gold } }],
      [hand, nobody],
    ])
  })

  it("are fewer after an undo, an erasure and a merge of two of them", async () => {
    const place = newPlace()
    const id = await place.create("/v1/badges", { name: "Taps", criteria, tiers })
    const counts = async () => {
      const { count, tiers } = (await place.get(`/v1/badges/${id}`)).json.holders
      return [count, tiers.t1.count, tiers.t3.count]
    }
    const users = ["ada", "bob", "cleo", "dora"]
    const first = []
    for (const user of users) first.push((await place.track(user, "TAP")).json.eventId)
    for (const _ of users.slice(1, 3)) await place.track("ada", "TAP")
    expect(await counts()).toEqual([4, 4, 1])
    await place.delete(`/v1/users/ada/events/${first[0]}`)
    expect(await counts()).toEqual([4, 4, 0])
    await place.delete(`/v1/users/dora/events/${first[3]}`)
    expect(await counts()).toEqual([3, 3, 0])
    await place.post("/v1/users/bob/merge", { into: "ada" })
    expect(await counts()).toEqual([2, 2, 1])
    await place.delete("/v1/users/ada")
    expect(await counts()).toEqual([1, 1, 0])
    await place.delete("/v1/users/cleo")
    expect(await counts()).toEqual([0, 0, 0])
  })
})

describe("the backfill of a badge", () => {
  /** The backfill when it is finished. */
  const finished = async (place: Place, path: string) => {
    while (true) {
      const { json } = await place.get(path)
      if (json.status === "finished") return json
    }
  }

  it("awards it to users who already qualify, and shows its progress", async () => {
    const place = newPlace()
    for (let count = 0; count < 3; count++) await place.track("ada", "TAP")
    await place.track("bob", "TAP")
    const criteria = { kind: "action_count", action: "TAP", target: 2 }
    const id = await place.create("/v1/badges", { name: "Taps", criteria })
    const path = `/v1/badges/${id}/backfill`
    expect(problemOf(await place.get(path))).toEqual([404, "backfill_not_found"])
    const started = await place.call("POST", path)
    expect([started.status, started.headers.location]).toEqual([202, path])
    expect(started.json).toEqual({
      badgeId: id,
      notify: false,
      startedAt: expect.stringMatching(isoTime),
    })
    expect(await finished(place, path)).toEqual({
      ...started.json,
      status: "finished",
      checked: 2,
      total: 2,
      awarded: 1,
      finishedAt: expect.stringMatching(isoTime),
    })
    expect((await place.get("/v1/users/ada")).json.badges).toMatchObject([{ id }])
    expect((await place.get("/v1/users/bob")).json.badges).toEqual([])
    expect((await place.track("bob", "TAP")).json.badges).toMatchObject([{ id }])
    expect((await place.post(path, { notify: true })).json.notify).toBe(true)
    expect(await finished(place, path)).toMatchObject({ notify: true, awarded: 0 })
  })

  it("is started once by requests with the same Idempotency-Key", async () => {
    const place = newPlace()
    const id = await place.create("/v1/badges", { name: "B", criteria: { kind: "xp", target: 1 } })
    const path = `/v1/badges/${id}/backfill`
    const start = () => place.call("POST", path, { headers: { "idempotency-key": "k" } })
    const [first, second] = [await start(), await start()]
    expect([second.status, second.json]).toEqual([202, first.json])
    expect(second.headers["idempotency-replayed"]).toBe("true")
  })

  it("is refused for a badge for which nobody can qualify", async () => {
    const place = newPlace()
    const start = (id: string, body: object = {}) => place.post(`/v1/badges/${id}/backfill`, body)
    const given = await place.create("/v1/badges", manual)
    expect(problemOf(await start(given))).toEqual([409, "conflict"])
    expect(problemOf(await start("none"))).toEqual([404, "badge_not_found"])
    expect(problemOf(await place.get("/v1/badges/none/backfill"))).toEqual([404, "badge_not_found"])
    await place.delete(`/v1/badges/${given}`)
    expect(problemOf(await start(given))).toEqual([409, "invalid_transition"])
    expect(faultsOf(await start(given, { notify: "yes", quiet: true }))).toEqual([
      ["/quiet", "unknown_member"],
      ["/notify", "invalid_type"],
    ])
  })
})
