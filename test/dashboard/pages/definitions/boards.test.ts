import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const boards = `${base}/leaderboards`
const simple = {
  name: "Points",
  ranks: "currency",
  by: "points",
  timeZone: "project",
  order: "desc",
  ties: "shared",
  "windows.all_time": "true",
}
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${boards}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/leaderboards\/(ldb_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/leaderboards/${id}`)).json
}

describe("The form of a leaderboard", () => {
  it("creates the typed leaderboard, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${boards}/new`)
    const { "windows.daily": _, ...blank } = fieldsOf(page.text, `${boards}/new`)
    const fields = {
      ...blank,
      name: "Season 1",
      key: "season",
      by: "points",
      order: "asc",
      ties: "first",
      attributes: "avatarUrl plan",
      announceRanks: "10",
      startsAt: "2026-01-01T01:00:00+01:00",
    }
    const board = await create(fields)
    expect(board).toMatchObject({
      name: "Season 1",
      key: "season",
      score: { currency: "points" },
      windows: ["all_time", "weekly", "monthly"],
      order: "asc",
      ties: "first",
      attributes: ["avatarUrl", "plan"],
      announceRanks: 10,
      startsAt: "2026-01-01T00:00:00.000Z",
    })
    expect((await create(fields)).id).toBe(board.id)
  })

  it("creates a leaderboard with windows of so many days, and keeps them in an edit", async () => {
    const fields = { ...simple, name: "Sprint", "windows.days": "true", timeZone: "user" }
    const span = { days: 14, anchor: "2026-01-05" }
    const board = await create({ ...fields, windowDays: "14", windowAnchor: span.anchor })
    expect([board.windows, board.timeZone]).toEqual([["all_time", span], "user"])
    const page = await world.owner.get(`${boards}/${board.id}`)
    const edited = { ...fieldsOf(page.text, `${boards}/${board.id}`), name: "Sprints" }
    await world.owner.post(`${boards}/${board.id}`, edited)
    const { name, windows } = (await world.api("GET", `/v1/leaderboards/${board.id}`)).json
    expect([name, windows]).toEqual(["Sprints", ["all_time", span]])
    const shown = await world.owner.get(`${base}/leaderboard?board=sprint&window=days`)
    // 22 spans after the anchor.
    expect(shown.text).toContain("<span>Nov 9 – 22, 2026, ")
    for (const [field, bad] of Object.entries({ windowDays: "1", windowAnchor: "soon" })) {
      const given = { ...fields, name: "Bad", windowDays: "14", windowAnchor: span.anchor }
      expectMarked(await world.owner.post(`${boards}/new`, { ...given, [field]: bad }), field, bad)
    }
  })

  it("marks the fields of a refusal", async () => {
    for (const [name, bad] of Object.entries({ by: "rubies", startsAt: "soon" })) {
      const fields = { ...simple, [name]: bad }
      expectMarked(await world.owner.post(`${boards}/new`, fields), name, bad)
    }
  })

  it("saves any leaderboard of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewLeaderboard",
      list: "leaderboards",
      // A currency has few leaderboards.
      count: 15,
      edit: (body: Json) => {
        body.score = { currency: "points" }
        body.status = "draft"
        if (body.entrants === "teams") body.teamKind = "club"
        else {
          delete body.entrants
          delete body.teamKind
        }
        if (body.entrants === "teams") delete body.groupBy
        if (body.groupBy !== undefined) body.groupBy = "city"
        if (body.attributes !== undefined) body.attributes = ["avatarUrl", "plan"]
        if (body.windows !== undefined) body.windows = ["all_time", "weekly"]
      },
    }).finally(async () => {
      const { leaderboards } = (await world.api("GET", "/v1/leaderboards?status=draft&limit=100"))
        .json
      for (const { id } of leaderboards) await world.api("DELETE", `/v1/leaderboards/${id}`)
    })
  })
})

describe("The pages of leaderboards", () => {
  it("list them, and buttons pause, resume and archive all but xp", async () => {
    const { id, version } = await create({ ...simple, name: "Listed" })
    const { text } = await world.owner.get(`${boards}?status=active`)
    const name = `<a href="${boards}/${id}"><bdi>Listed</bdi></a><br><code>listed</code>`
    expect(cellsOf(text, name).slice(0, 4)).toEqual([
      "active",
      "points, highest score first",
      "all time",
      "everyone",
    ])
    expect(text).not.toContain(`${boards}/ldb_xp/archive`)
    const press = async (verb: string, at: number) => {
      await world.owner.post(`${boards}/${id}/${verb}`, { version: String(at) })
      return (await world.api("GET", `/v1/leaderboards/${id}`)).json.status
    }
    expect(await press("pause", version)).toBe("paused")
    expect(await press("resume", version + 1)).toBe("active")
    expect(await press("archive", version + 2)).toBe("archived")
    expect((await world.owner.get(`${boards}/${id}`)).status).toBe(200)
  })

  it("show the teams of a leaderboard of teams, and link to them", async () => {
    await world.api("PUT", "/v1/teams/falcons", { kind: "club", name: "<i>Falcons</i>" })
    await world.api("PUT", "/v1/teams/falcons/members/seen")
    const board = await create({ ...simple, name: "Cup", teamKind: "club" })
    expect(board).toMatchObject({ entrants: "teams", teamKind: "club" })
    await world.api("POST", "/v1/users/seen/rewards", { type: "points", amount: 7 })
    const link = `<a href="${base}/teams/falcons"><bdi>&lt;i&gt;Falcons&lt;/i&gt;</bdi></a>`
    expect((await world.owner.get(`${boards}/${board.id}`)).text).toContain(link)
    const { text } = await world.owner.get(`${base}/leaderboard?board=cup`)
    expect(text).toContain(link)
    expect(text).toMatch(/<th[^>]*>Team<\/th>/)
    const around = await world.owner.get(`${base}/leaderboard?board=cup&around=falcons`)
    expect(around.text).toContain(`<strong>${link}</strong>`)
    expect(around.text).toContain("Disqualify")
    const name = `<a href="${boards}/${board.id}"><bdi>Cup</bdi></a><br><code>cup</code>`
    const cells = cellsOf((await world.owner.get(boards)).text, name)
    expect(cells[3]).toBe("everyone, by club")
  })

  it("show a group of a leaderboard, and link each entry to its group", async () => {
    const board = await create({ ...simple, name: "Cities", groupBy: "city" })
    expect(board.groupBy).toBe("city")
    const city = "<b>Rome</b>"
    await world.api("PUT", "/v1/users/roman", { attributes: { city } })
    for (const userId of ["roman", "seen"]) {
      await world.api("POST", `/v1/users/${userId}/rewards`, { type: "points", amount: 900 })
    }
    const { text } = await world.owner.get(`${base}/leaderboard?board=cities`)
    expect(text).toMatch(/<th[^>]*>Rank in the group<\/th>/)
    const link = `${base}/leaderboard?board=cities&amp;group=%3Cb%3ERome%3C%2Fb%3E`
    expect(text).toContain(`<a href="${link}"><bdi>&lt;b&gt;Rome&lt;/b&gt;</bdi></a>`)
    const own = await world.owner.get(link.replaceAll("&amp;", "&"))
    expect(own.text).toContain("/users/roman")
    expect(own.text).not.toContain("/users/seen")
    expect(own.text).toContain('value="&lt;b&gt;Rome&lt;/b&gt;"')
  })

  it("show the entries of the windows of a leaderboard", async () => {
    const board = await create({ ...simple, name: "Entries", "windows.weekly": "true" })
    await world.api("POST", "/v1/users/seen/rewards", { type: "points", amount: 7 })
    await world.api("PUT", "/v1/users/seen", { displayName: "<b>Seen</b>" })
    const link = `${base}/leaderboard?board=entries`
    const own = (await world.owner.get(`${boards}/${board.id}`)).text
    expect(own).toContain(`href="${link}"`)
    expect(own).toContain("&lt;b&gt;Seen&lt;/b&gt;")
    const { text } = await world.owner.get(`${link}&window=weekly`)
    expect(text).toContain("&lt;b&gt;Seen&lt;/b&gt;")
    expect(text).toMatch(/<th[^>]*>points<\/th>/)
    expect(text).toContain("window=all_time&amp;board=entries")
    expect(text).not.toContain("window=daily&amp;board=entries")
    const around = await world.owner.get(`${link}&around=seen`)
    expect(around.text).toMatch(/<strong><a href="[^"]+seen">/)
    expect((await world.owner.get(`${base}/leaderboard?board=none`)).status).toBe(404)
  })

  it("close a leaderboard by a button, then show its final ranks and who has won what", async () => {
    const prize = {
      "prizes.0.window": "all_time",
      "prizes.0.ranks.0": "1",
      "prizes.0.reward.xp": "77",
    }
    await world.api("POST", "/v1/users/winner/rewards", { type: "points", amount: 900 })
    const { id, version } = await create({ ...simple, ...prize, name: "Closing" })
    const own = `${boards}/${id}`
    expect((await world.owner.get(own)).text).toContain(`action="${own}/close"`)
    const { location } = await world.owner.post(`${own}/close`, { version: String(version) })
    expect(location).toBe(own)
    const closed = (await world.owner.get(own)).text
    expect(closed).toContain("ended, key")
    expect(closed).not.toContain(`action="${own}/close"`)
    for (;;) {
      const { json } = await world.api("GET", `/v1/leaderboards/${id}/entries`)
      if (json.closed && !json.paying) break
    }
    const { text } = await world.owner.get(`${base}/leaderboard?board=closing`)
    expect(text).toContain("Closed: the ranks are final.")
    expect(text).toMatch(/<th[^>]*>Won<\/th>/)
    expect(text).toContain("77 xp")
    const log = (await world.owner.get(`${base}/log?on=${id}`)).text
    expect(log).toContain("<code>leaderboard.close</code>")
  })
})
