/** Leaderboards in a copy in a real PostgreSQL, over failures at each statement. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { BoardsCopy } from "../../../src/cli/sync/BoardsCopy.ts"
import { PostgresCopy } from "../../../src/cli/sync/PostgresCopy.ts"
import type { Laurel } from "../../../src/client/Laurel.ts"
import { startServer, type TestServer } from "../../http/fixture.ts"
import { limitedInFile } from "../../limited.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"
import { Warehouse } from "./Warehouse.ts"

// Few entries make several pages.
limitedInFile({ pageMax: 2, pageDefault: 2 })

let server: TestServer
let postgres: Postgres
beforeAll(async () => {
  server = await startServer()
  postgres = await Postgres.make()
})
afterAll(async () => {
  await server.stop()
  await postgres.stop()
})

const columns = '"window", starts_at, rank, entrant, user_id, team_id, score, prizes'

class BoardWarehouse extends Warehouse {
  constructor(name: string) {
    super(server, postgres, name)
  }

  /** A copy whose facts are up to date, and its boards. */
  async begin(entries = 100, laurel = this.laurel) {
    const client = await this.connect()
    const facts = new PostgresCopy(client, this.laurel, this.own)
    while ((await facts.round()).hasMore);
    return { facts, boards: new BoardsCopy(client, laurel, this.own, entries) }
  }

  async define(): Promise<void> {
    const { place } = this
    await place.post("/v1/test-clock", { advanceTo: "2030-01-09T10:00:00Z" })
    await place.post("/v1/rules", { action: "RUN", reward: { xp: 10 } })
    await place.post("/v1/leaderboards", {
      key: "runs",
      name: "Runs",
      score: { currency: "xp" },
      windows: ["weekly", "all_time"],
      prizes: [{ window: "weekly", ranks: [1, 1], reward: { points: 5 } }],
    })
  }

  async run(user: string, times: number): Promise<void> {
    for (let n = 0; n < times; n++) await this.place.track(user, "RUN")
  }

  entries(board: string, shown = columns) {
    return this.query(
      `SELECT ${shown} FROM leaderboard_entries WHERE leaderboard = '${board}' ORDER BY "window", starts_at, rank, entrant COLLATE "C"`,
    )
  }

  windows(board: string, shown: string) {
    return this.query(
      `SELECT ${shown} FROM leaderboard_windows WHERE leaderboard = '${board}' ORDER BY "window", starts_at`,
    )
  }
}

const short = '"window", rank, entrant, score'

describe("The leaderboards of a copy in PostgreSQL", () => {
  it("have what the API shows, each past window once it is final, with its prizes", async () => {
    const warehouse = new BoardWarehouse("boards")
    await warehouse.define()
    for (const [user, times] of [
      ["ann", 3],
      ["bob", 2],
      ["cyd", 2],
    ] as const) {
      await warehouse.run(user, times)
    }
    const { boards } = await warehouse.begin()
    expect(await boards.round(0)).toBeGreaterThan(1)
    const first = [
      { rank: "1", entrant: "ann", score: 30 },
      { rank: "2", entrant: "bob", score: 20 },
      { rank: "2", entrant: "cyd", score: 20 },
    ]
    expect(await warehouse.entries("runs", short)).toEqual([
      ...first.map((row) => ({ window: "all_time", ...row })),
      ...first.map((row) => ({ window: "weekly", ...row })),
    ])
    expect(await warehouse.windows("runs", '"window", closed, total, ends_at')).toEqual([
      { window: "all_time", closed: false, total: "3", ends_at: null },
      { window: "weekly", closed: false, total: "3", ends_at: new Date("2030-01-14T00:00:00Z") },
    ])
    expect(await boards.round(60_000)).toBeUndefined()

    await warehouse.place.post("/v1/test-clock", { advanceTo: "2030-01-16T10:00:00Z" })
    await warehouse.run("bob", 1)
    await expect
      .poll(async () => {
        await boards.round(0)
        return warehouse.windows("runs", '"window", closed, total')
      })
      .toEqual([
        { window: "all_time", closed: false, total: "3" },
        { window: "weekly", closed: true, total: "3" },
        { window: "weekly", closed: false, total: "1" },
      ])
    const weekly = (await warehouse.entries("runs")).filter((row) => row.window === "weekly")
    expect(weekly.map(({ entrant, prizes, score }) => [entrant, score, prizes])).toEqual([
      ["ann", 30, [{ xp: 0, points: 5, badgeId: null }]],
      ["bob", 20, []],
      ["cyd", 20, []],
      ["bob", 10, []],
    ])
    // The final window is not read again: what the copy has of it stays.
    await warehouse.query(
      "UPDATE leaderboard_entries SET score = -1 WHERE starts_at < '2030-01-14' AND \"window\" = 'weekly'",
    )
    await boards.round(0)
    expect(
      (await warehouse.entries("runs", short)).filter(({ score }) => score === -1),
    ).toHaveLength(3)
  })

  it("have the groups of users, in a final window those at the close", async () => {
    const warehouse = new BoardWarehouse("groups")
    await warehouse.define()
    const { place } = warehouse
    const board = { key: "cities", name: "Cities", score: { currency: "xp" }, groupBy: "city" }
    await place.create("/v1/leaderboards", { ...board, windows: ["weekly"] })
    const move = (user: string, city: string | null) =>
      place.put(`/v1/users/${user}`, { attributes: city === null ? {} : { city } })
    await move("ann", "Rome")
    await move("bob", "Oslo")
    await move("cyd", "Rome")
    for (const [user, times] of [
      ["ann", 4],
      ["bob", 3],
      ["cyd", 2],
      ["dan", 1],
    ] as const) {
      await warehouse.run(user, times)
    }
    const { boards } = await warehouse.begin()
    const shown = 'entrant, rank, "group", group_rank'
    const row = (
      entrant: string,
      rank: string,
      group: string | null,
      group_rank: string | null,
    ) => ({ entrant, rank, group, group_rank })
    const before = [
      row("ann", "1", "Rome", "1"),
      row("bob", "2", "Oslo", "1"),
      row("cyd", "3", "Rome", "2"),
      row("dan", "4", null, null),
    ]
    await boards.round(0)
    expect(await warehouse.entries("cities", shown)).toEqual(before)
    expect(await warehouse.entries("runs", '"group", group_rank')).toContainEqual({
      group: null,
      group_rank: null,
    })
    await place.post("/v1/test-clock", { advanceTo: "2030-01-16T10:00:00Z" })
    await move("ann", "Oslo")
    await warehouse.run("ann", 1)
    await expect
      .poll(async () => {
        await boards.round(0)
        return warehouse.windows("cities", "closed")
      })
      .toEqual([{ closed: true }, { closed: false }])
    expect(await warehouse.entries("cities", shown)).toEqual([
      ...before,
      row("ann", "1", "Oslo", "1"),
    ])
  })

  it("are not final if a window closed while its pages were read", async () => {
    const warehouse = new BoardWarehouse("closes")
    await warehouse.define()
    for (const user of ["ann", "bob", "cyd"]) await warehouse.run(user, 1)
    await warehouse.place.post("/v1/test-clock", { advanceTo: "2030-01-16T10:00:00Z" })
    const { leaderboards } = warehouse.laurel
    let hasClosed = false
    // The first pages are of the time before the close.
    const entries: typeof leaderboards.entries = Object.assign(
      async (...args: Parameters<typeof leaderboards.entries>) => {
        const page = await leaderboards.entries(...args)
        return hasClosed || (args[1]?.offset ?? 0) > 0 ? page : { ...page, closed: false }
      },
    ) as never
    const laurel = { ...warehouse.laurel, leaderboards: { ...leaderboards, entries } } as Laurel
    const { boards } = await warehouse.begin(100, laurel)
    const weekly = async () =>
      (await warehouse.windows("runs", '"window", closed')).filter((row) => row.window === "weekly")
    await boards.round(0)
    expect(await weekly()).toEqual([
      { window: "weekly", closed: false },
      { window: "weekly", closed: false },
    ])
    hasClosed = true
    await boards.round(0)
    expect((await weekly())[0]).toEqual({ window: "weekly", closed: true })
  })

  it("lose a user who is erased, in final windows too", async () => {
    const warehouse = new BoardWarehouse("erased")
    await warehouse.define()
    await warehouse.run("ann", 2)
    await warehouse.run("bob", 1)
    await warehouse.place.post("/v1/test-clock", { advanceTo: "2030-01-16T10:00:00Z" })
    const { boards, facts } = await warehouse.begin()
    await boards.round(0)
    await warehouse.place.delete("/v1/users/ann")
    while ((await facts.round()).hasMore);
    const left = await warehouse.entries("runs", "entrant")
    expect(new Set(left.map(({ entrant }) => entrant))).toEqual(new Set(["bob"]))
  })

  it("rank teams by their ids, and at most as many entries as asked for", async () => {
    const warehouse = new BoardWarehouse("teams")
    const { place } = warehouse
    await warehouse.define()
    await place.post("/v1/leaderboards", {
      key: "cup",
      name: "Cup",
      score: { currency: "xp" },
      entrants: "teams",
      teamKind: "house",
      windows: ["all_time"],
    })
    for (const [team, user] of [
      ["owls", "ann"],
      ["lions", "bob"],
      ["bats", "cyd"],
    ] as const) {
      await place.put(`/v1/teams/${team}`, { kind: "house", name: team })
      await place.put(`/v1/teams/${team}/members/${user}`, undefined)
    }
    await warehouse.run("ann", 3)
    await warehouse.run("bob", 2)
    await warehouse.run("cyd", 1)
    const { boards } = await warehouse.begin(2)
    await boards.round(0)
    expect(await warehouse.entries("cup", "rank, user_id, team_id, score")).toEqual([
      { rank: "1", user_id: null, team_id: "owls", score: 30 },
      { rank: "2", user_id: null, team_id: "lions", score: 20 },
    ])
    expect(await warehouse.windows("cup", "total, entrants")).toEqual([
      { total: "3", entrants: "teams" },
    ])
    expect(await warehouse.entries("runs", short)).toHaveLength(4)
    const { id } = (await place.get("/v1/leaderboards/cup")).json
    await place.delete(`/v1/leaderboards/${id}`)
    await boards.round(0)
    expect(await warehouse.windows("cup", "total")).toEqual([])
    expect(await warehouse.entries("cup", "rank")).toEqual([])
  })

  it("are whole in each window, whichever statement fails in each round", async () => {
    const warehouse = new BoardWarehouse("cut")
    await warehouse.define()
    await warehouse.run("ann", 2)
    await warehouse.run("bob", 1)
    await warehouse.place.post("/v1/test-clock", { advanceTo: "2030-01-16T10:00:00Z" })
    await warehouse.run("bob", 1)
    await warehouse.begin()
    let isDone = false
    for (let failing = 1; !isDone; failing++) {
      const client = await warehouse.connectCut(failing)
      const boards = new BoardsCopy(client, warehouse.laurel, warehouse.own, 100)
      isDone = await boards.round(0).then(
        () => true,
        () => false,
      )
      const torn = await warehouse.query(
        `SELECT leaderboard FROM leaderboard_windows w WHERE total <> (SELECT count(*) FROM leaderboard_entries e
WHERE e.leaderboard = w.leaderboard AND e."window" = w."window" AND e.starts_at = w.starts_at)`,
      )
      expect(torn).toEqual([])
    }
    expect(await warehouse.entries("runs", short)).toEqual([
      { window: "all_time", rank: "1", entrant: "ann", score: 20 },
      { window: "all_time", rank: "1", entrant: "bob", score: 20 },
      { window: "weekly", rank: "1", entrant: "ann", score: 20 },
      { window: "weekly", rank: "2", entrant: "bob", score: 10 },
      { window: "weekly", rank: "1", entrant: "bob", score: 10 },
    ])
  })
})
