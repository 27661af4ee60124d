import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

const day = 24 * 3_600_000
let now = Date.parse("2026-11-03T12:00:00Z")
const pass = (days: number) => {
  now += days * day
  clock.set(new Date(now).toISOString())
}
/** The day before now. */
const yesterday = () => `?window=daily&at=${new Date(now - day).toISOString().slice(0, 10)}`

const cup = { name: "Cup", score: { currency: "points" }, entrants: "teams", teamKind: "club" }

let places = 0
/** Two clubs and a class; Ada is in the Falcons and the class, Bob in the Owls. */
const newPlace = async (board: object = {}) => {
  const place = new Place(server, `contests${places++}`)
  await place.put("/v1/teams/falcons", { kind: "club", name: "Falcons", attributes: { seats: 9 } })
  await place.put("/v1/teams/owls", { kind: "club", name: "Owls" })
  await place.put("/v1/teams/7b", { kind: "class", name: "7b" })
  await join(place, "falcons", "ada")
  await join(place, "7b", "ada")
  await join(place, "owls", "bob")
  await place.create("/v1/leaderboards", { ...cup, ...board })
  return place
}

const join = (place: Place, team: string, userId: string) =>
  place.call("PUT", `/v1/teams/${team}/members/${userId}`)
const leave = (place: Place, team: string, userId: string) =>
  place.delete(`/v1/teams/${team}/members/${userId}`)
const score = async (place: Place, userId: string, points: number): Promise<string> =>
  (await place.post(`/v1/users/${userId}/rewards`, { reward: { points } })).json.rewardId
const undo = (place: Place, userId: string, rewardId: string) =>
  place.delete(`/v1/users/${userId}/rewards/${rewardId}`)
const teamsOn = async (place: Place, query = "") =>
  (await place.get(`/v1/leaderboards/cup/teams${query}`)).json.entries.map(
    ({ rank, score, team }: { rank: number; score: number; team: { id: string } }) => [
      rank,
      team.id,
      score,
    ],
  )

describe("A leaderboard of teams", () => {
  it("ranks the teams of its kind by what their members earned while they were members", async () => {
    const place = await newPlace({ attributes: ["seats", "city"] })
    expect(await teamsOn(place)).toEqual([])
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    await score(place, "cyd", 100)
    await join(place, "falcons", "cyd")
    await score(place, "cyd", 4)
    const { json } = await place.get("/v1/leaderboards/cup/teams?window=weekly")
    expect(json).toMatchObject({
      leaderboard: "cup",
      window: { kind: "weekly" },
      entries: [
        {
          rank: 1,
          team: { id: "falcons", name: "Falcons" },
          attributes: { seats: 9 },
          score: 9,
          previousRank: null,
        },
        { rank: 2, team: { id: "owls", name: "Owls" }, attributes: {}, score: 7 },
      ],
      total: 2,
      limit: 20,
      offset: 0,
      hasMore: false,
    })
  })

  it("keeps for a team what a former member earned there, and gives the next team nothing", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await join(place, "owls", "ada")
    expect(await teamsOn(place)).toEqual([[1, "falcons", 5]])
    await score(place, "ada", 2)
    await leave(place, "owls", "ada")
    await score(place, "ada", 50)
    for (const window of ["all_time", "daily", "weekly", "monthly"]) {
      expect(await teamsOn(place, `?window=${window}`)).toEqual([
        [1, "falcons", 5],
        [2, "owls", 2],
      ])
    }
  })

  it("takes an undone amount from the team that got it, also after the user has left", async () => {
    const place = await newPlace()
    const first = await score(place, "ada", 5)
    const second = await score(place, "ada", 3)
    await join(place, "owls", "ada")
    await score(place, "ada", 4)
    await undo(place, "ada", first)
    expect(await teamsOn(place)).toEqual([
      [1, "owls", 4],
      [2, "falcons", 3],
    ])
    await undo(place, "ada", second)
    expect(await teamsOn(place)).toEqual([[1, "owls", 4]])
  })

  it("keeps what an erased, hidden or merged user earned", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    await join(place, "owls", "cyd")
    await score(place, "cyd", 1)
    await place.put("/v1/users/bob", { hidden: true })
    await place.delete("/v1/users/ada")
    await place.post("/v1/users/cyd/merge", { into: "bob" })
    expect(await teamsOn(place)).toEqual([
      [1, "owls", 8],
      [2, "falcons", 5],
    ])
  })

  it("does not list a deleted team any more, in past windows too, nor a new one with its id", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    pass(1)
    expect(await teamsOn(place, yesterday())).toHaveLength(2)
    await place.delete("/v1/teams/owls")
    await place.put("/v1/teams/owls", { kind: "club", name: "New owls" })
    expect(await teamsOn(place, yesterday())).toEqual([[1, "falcons", 5]])
    expect(await teamsOn(place)).toEqual([[1, "falcons", 5]])
    await join(place, "owls", "bob")
    await score(place, "bob", 1)
    expect(await teamsOn(place)).toEqual([
      [1, "falcons", 5],
      [2, "owls", 1],
    ])
    expect(await teamsOn(place, yesterday())).toEqual([[1, "falcons", 5]])
  })

  it("closes windows, and shows the rank in the window before", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    pass(1)
    await score(place, "ada", 1)
    expect(await teamsOn(place, yesterday())).toEqual([
      [1, "owls", 7],
      [2, "falcons", 5],
    ])
    const { entries } = (await place.get("/v1/leaderboards/cup/teams?window=daily")).json
    expect(entries).toMatchObject([{ team: { id: "falcons" }, score: 1, previousRank: 2 }])
  })

  it("pays its prizes to the members who scored for the team in the window, each once", async () => {
    const prizes = [
      { window: "daily", ranks: [1, 1], reward: { xp: 10 } },
      { window: "daily", percent: 100, reward: { xp: 1 } },
    ]
    const place = await newPlace({ prizes })
    const xpOf = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.xp
    for (const userId of ["idle", "cyd", "former", "hidden"]) await join(place, "falcons", userId)
    // More members than are asked together.
    const crowd = Array.from({ length: limits.payoutGroupUsersMax }, (_, n) => `fan${n}`)
    for (const userId of crowd) await join(place, "falcons", userId)
    for (const userId of ["ada", "cyd", "former", "hidden", ...crowd]) await score(place, userId, 1)
    await score(place, "bob", 7)
    await join(place, "owls", "former")
    await score(place, "former", 1)
    const undone = await score(place, "undone", 1)
    await join(place, "owls", "undone")
    await undo(place, "undone", await score(place, "undone", 1))
    await undo(place, "undone", undone)
    await place.put("/v1/users/hidden", { hidden: true })
    pass(1)
    await score(place, "ada", 1)
    await expect.poll(() => xpOf("former")).toBe(1)
    await expect.poll(() => xpOf("fan99")).toBe(11)
    expect(await Promise.all(["ada", "cyd", "bob", "former"].map(xpOf))).toEqual([11, 11, 1, 1])
    expect(await Promise.all(["idle", "hidden", "undone"].map(xpOf))).toEqual([0, 0, 0])
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const won = facts.filter(({ kind }: { kind: string }) => kind === "leaderboard.prize_won")
    expect(won).toHaveLength(2)
    const paid = (await place.get(`/v1/leaderboards/cup/teams${yesterday()}`)).json
    expect(paid).toMatchObject({ closed: true, paying: false })
    expect(paid.entries.map(({ prizes }: { prizes: ReadonlyArray<object> }) => prizes)).toEqual([
      [expect.objectContaining({ xp: 10 }), expect.objectContaining({ xp: 1 })],
      [expect.objectContaining({ xp: 1 })],
    ])
    expect(won[0]).toMatchObject({ cause: { kind: "prize", rank: 1, leaderboard: { key: "cup" } } })
  })

  it("pays, when the grace ends, by what came late and what undos left", async () => {
    const prizes = [{ window: "daily", ranks: [1, 1], reward: { xp: 10 } }]
    const place = await newPlace({ windows: ["daily"], graceMinutes: 60, prizes })
    await place.create("/v1/rules", { action: "TAP", reward: { points: 1 } })
    const xpOf = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.xp
    const firstDay = new Date(now).toISOString()
    const tap = async (userId: string, occurredAt?: string): Promise<string> =>
      (await place.post("/v1/events", { userId, action: "TAP", occurredAt })).json.eventId
    const undoTap = (userId: string, eventId: string) =>
      place.delete(`/v1/users/${userId}/events/${eventId}`)
    for (const userId of ["late", "back", "undone", "regretful"]) {
      await join(place, "falcons", userId)
    }
    await tap("ada")
    const undone = await tap("undone")
    for (let times = 0; times < 3; times++) await tap("bob")
    pass(0.5)
    pass(1 / 32)
    await tap("ada")
    await tap("undone")
    await undoTap("undone", undone)
    for (let times = 0; times < 2; times++) await tap("late", firstDay)
    await tap("back")
    await undoTap("back", await tap("back", firstDay))
    await tap("back", firstDay)
    await undoTap("regretful", await tap("regretful", firstDay))
    const ofFirstDay = `?window=daily&at=${firstDay.slice(0, 10)}`
    expect(await teamsOn(place, ofFirstDay)).toEqual([
      [1, "falcons", 4],
      [2, "owls", 3],
    ])
    expect(await teamsOn(place, "?window=daily")).toEqual([[1, "falcons", 3]])
    pass(1 / 32)
    await tap("bob", firstDay)
    await expect.poll(() => Promise.all(["ada", "back", "late"].map(xpOf))).toEqual([10, 10, 10])
    await expect
      .poll(async () => (await place.get(`/v1/leaderboards/cup/teams${ofFirstDay}`)).json)
      .toMatchObject({ closed: true, paying: false, entries: [{ score: 4 }, { score: 3 }] })
    expect(await Promise.all(["undone", "regretful", "bob"].map(xpOf))).toEqual([0, 0, 0])
    pass(0.4375)
  })

  it("pays the prizes of all time when it ends, and keeps its last ranks", async () => {
    const prizes = [{ window: "all_time", ranks: [1, 1], reward: { xp: 10 } }]
    const place = await newPlace({ prizes, windows: ["all_time", "weekly"] })
    const xpOf = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.xp
    await score(place, "ada", 5)
    await score(place, "bob", 2)
    await join(place, "falcons", "idle")
    await place.post("/v1/leaderboards/cup/close", {})
    await expect.poll(() => xpOf("ada")).toBe(10)
    await score(place, "bob", 50)
    expect(await teamsOn(place)).toEqual([
      [1, "falcons", 5],
      [2, "owls", 2],
    ])
    await expect
      .poll(async () => (await place.get("/v1/leaderboards/cup/teams")).json)
      .toMatchObject({ closed: true, paying: false })
    expect(await Promise.all(["bob", "idle"].map(xpOf))).toEqual([0, 0])
  })

  it("does not list a disqualified team, in past windows for good, and lists it again with its scores", async () => {
    const place = await newPlace()
    const judge = (team: string, disqualified: boolean, board = "cup") =>
      place.put(`/v1/leaderboards/${board}/teams/${team}`, { disqualified })
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    pass(1)
    await score(place, "bob", 1)
    await score(place, "ada", 2)
    const { json, status } = await judge("owls", true)
    expect([status, json]).toEqual([
      200,
      { leaderboard: "cup", teamId: "owls", disqualified: true },
    ])
    for (const query of ["", "?window=daily", "?window=weekly", yesterday()]) {
      const rows = await teamsOn(place, query)
      expect([query, rows.map(([rank, team]: [number, string]) => [rank, team])]).toEqual([
        query,
        [[1, "falcons"]],
      ])
    }
    expect((await place.get("/v1/leaderboards/cup/teams?around=owls")).json.me).toBeNull()
    expect((await place.get("/v1/leaderboards/cup/stats")).json.participants).toBe(1)
    const shown = (await place.get("/v1/teams/owls")).json
    expect(shown).toMatchObject({ name: "Owls", disqualifiedOn: ["cup"] })
    // A change of the team keeps the disqualification, and scores go on.
    await place.put("/v1/teams/owls", { name: "Barn owls" })
    await score(place, "bob", 10)
    expect(await teamsOn(place)).toEqual([[1, "falcons", 7]])
    expect((await judge("owls", true)).status).toBe(200)
    expect((await judge("owls", false)).json.disqualified).toBe(false)
    expect((await place.get("/v1/teams/owls")).json).not.toHaveProperty("disqualifiedOn")
    expect(await teamsOn(place)).toEqual([
      [1, "owls", 18],
      [2, "falcons", 7],
    ])
    expect(await teamsOn(place, "?window=daily")).toEqual([
      [1, "owls", 11],
      [2, "falcons", 2],
    ])
    expect(await teamsOn(place, yesterday())).toEqual([[1, "falcons", 5]])
    expect(problemOf(await judge("nobody", true))).toEqual([404, "team_not_found"])
    expect(problemOf(await judge("7b", true))).toEqual([404, "team_not_found"])
    expect(problemOf(await judge("owls", true, "none"))).toEqual([404, "leaderboard_not_found"])
    expect(faultsOf(await judge("owls", true, "xp"))).toEqual([["path/id", "not_allowed"]])
  })

  it("pays no prize to the members of a team that is disqualified, and teams behind it move up", async () => {
    const prizes = [{ window: "daily", ranks: [1, 1], reward: { xp: 10 } }]
    const place = await newPlace({ prizes })
    const xpOf = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.xp
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    await place.put("/v1/leaderboards/cup/teams/owls", { disqualified: true })
    pass(1)
    await expect.poll(() => xpOf("ada")).toBe(10)
    await place.put("/v1/leaderboards/cup/teams/owls", { disqualified: false })
    const paid = (await place.get(`/v1/leaderboards/cup/teams${yesterday()}`)).json
    expect(paid).toMatchObject({ closed: true, paying: false, total: 1 })
    expect(await xpOf("bob")).toBe(0)
  })

  it("is read around a team, in pages, and by statistics", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    await score(place, "bob", 7)
    const around = (await place.get("/v1/leaderboards/cup/teams?around=falcons&limit=1")).json
    expect(around).toMatchObject({ offset: 1, me: { rank: 2, score: 5 }, total: 2 })
    expect((await place.get("/v1/leaderboards/cup/teams?around=7b")).json.me).toBeNull()
    const unknown = await place.get("/v1/leaderboards/cup/teams?around=nobody")
    expect(problemOf(unknown)).toEqual([404, "team_not_found"])
    expect(await teamsOn(place, "?limit=1&offset=1")).toEqual([[2, "falcons", 5]])
    const stats = (await place.get("/v1/leaderboards/cup/stats")).json
    expect(stats).toMatchObject({ participants: 2, filling: false })
  })

  it("counts what members of its segment earn, after its start, while it is active", async () => {
    const place = await newPlace()
    await place.patch("/v1/leaderboards/cup", { status: "paused" })
    await score(place, "ada", 5)
    await place.patch("/v1/leaderboards/cup", { status: "active" })
    await score(place, "ada", 2)
    expect(await teamsOn(place)).toEqual([[1, "falcons", 2]])
  })

  it("refuses reads of users, and a leaderboard of users refuses reads of teams", async () => {
    const place = await newPlace()
    await score(place, "ada", 5)
    const path = "/v1/leaderboards/cup"
    const refused = [["path/id", "not_allowed"]]
    expect(faultsOf(await place.get(`${path}/entries`))).toEqual(refused)
    expect(faultsOf(await place.post(`${path}/lookup`, { users: ["ada"] }))).toEqual(refused)
    expect(faultsOf(await place.put(`${path}/entries/ada`, { disqualified: true }))).toEqual(
      refused,
    )
    expect(faultsOf(await place.get("/v1/leaderboards/xp/teams"))).toEqual(refused)
  })

  it("is refused without a kind, and for what does not add up", async () => {
    const place = await newPlace()
    await place.create("/v1/streaks", { key: "daily", name: "Daily" })
    const refused = async (board: object) =>
      faultsOf(await place.post("/v1/leaderboards", { name: "Other", ...board }))
    const { teamKind: _, ...bare } = { ...cup, name: "Other" }
    expect(await refused(bare)).toEqual([["/teamKind", "missing"]])
    expect(await refused({ score: { currency: "xp" }, teamKind: "club" })).toEqual([
      ["/teamKind", "not_allowed"],
    ])
    expect(await refused({ ...cup, name: "Other", teamKind: "A club" })).toEqual([
      ["/teamKind", "invalid_format"],
    ])
    expect(await refused({ ...bare, teamKind: "club", score: { streak: "daily" } })).toEqual([
      ["/score", "not_allowed"],
    ])
    expect(faultsOf(await place.patch("/v1/leaderboards/cup", { teamKind: "class" }))).toEqual([
      ["/teamKind", "invalid_value"],
    ])
  })

  it("begins empty when it is published", async () => {
    const place = await newPlace({ status: "draft" })
    await score(place, "ada", 5)
    expect(await teamsOn(place)).toEqual([])
    await place.patch("/v1/leaderboards/cup", { status: "active" })
    expect(await teamsOn(place)).toEqual([])
    await score(place, "ada", 1)
    expect(await teamsOn(place)).toEqual([[1, "falcons", 1]])
  })
})
