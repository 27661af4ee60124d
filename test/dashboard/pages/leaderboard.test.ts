import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { type AskApi, type Places, startPlaces } from "./place.ts"

let places: Places
let sandbox: AskApi
const base = "/dashboard/shop/sandbox/leaderboard"

const board = async (query = "", path = base) => {
  const { status, text } = await places.viewer.get(`${path}${query}`)
  const rows = [...text.matchAll(/<tr><td>([^<]+)<\/td><td>(.+?)<\/td><td>([\d,]+)<\/td>/g)]
  const linkOf = (rel: string, label: string) =>
    new RegExp(`rel="${rel}" href="([^"]+)">${label}<`).exec(text)?.[1]?.replaceAll("&amp;", "&")
  return {
    status,
    text,
    rows: rows.map(([, rank, user, xp]) => ({
      rank,
      user: /<bdi>([^<]*)<\/bdi>/.exec(user!)![1],
      xp,
    })),
    linkOf,
  }
}

/** Follows a link from one board to another. */
const follow = (link: string | undefined) => board("", link)

const rewardXp = (userId: string, amount: number) =>
  sandbox("POST", `/users/${encodeURIComponent(userId)}/rewards`, { type: "xp", amount })

beforeAll(async () => {
  places = await startPlaces()
  sandbox = places.api("shop", "sandbox")
})
afterAll(() => places.server.stop())

describe("The leaderboard", () => {
  it("says how to get a place if it is empty", async () => {
    const { text } = await board()
    expect(text).toContain("Nobody has earned xp here yet")
    expect(text).toContain('/dashboard/shop/sandbox/rules"')
    expect(text).not.toContain("<table>")
  })

  it("ranks by xp, with ties in the order reached, without hidden users and other environments", async () => {
    await rewardXp("first", 300)
    await rewardXp("tie b", 200)
    await rewardXp("tie a", 200)
    await rewardXp("<i>last</i>", 5)
    await rewardXp("hidden", 900)
    await sandbox("PUT", "/users/hidden", { hidden: true })
    await sandbox("PUT", "/users/first", { displayName: "The <first>" })
    await sandbox("POST", "/events", { userId: "no xp", action: "A" })
    await places.api("bank", "sandbox")("POST", "/users/x/rewards", { type: "xp", amount: 999 })
    await places.api("shop", "production")("POST", "/users/y/rewards", { type: "xp", amount: 999 })
    const { rows, text } = await board()
    expect(rows).toEqual([
      { rank: "1", user: "The &lt;first&gt;", xp: "300" },
      { rank: "2", user: "tie b", xp: "200" },
      { rank: "2", user: "tie a", xp: "200" },
      { rank: "4", user: "&lt;i&gt;last&lt;/i&gt;", xp: "5" },
    ])
    expect(text).toContain("<bdi>The &lt;first&gt;</bdi>")
    expect(text).toContain('href="/dashboard/shop/sandbox/users/tie%20b"')
    expect(text).toContain("Users who are hidden, disqualified or without xp are not listed.")
  })

  it("shows the page around a user, with links to the pages before and after", async () => {
    const events = Array.from(
      { length: 130 },
      (_, index) => `many-${String(index).padStart(3, "0")}`,
    )
    for (const [index, userId] of events.entries()) await rewardXp(userId, 10_000 - index)
    const around = await board("?around=many-070&limit=10")
    expect(around.rows).toHaveLength(10)
    expect(around.text).toMatch(/<strong><a href="[^"]+many-070">/)
    const before = await follow(around.linkOf("prev", "Previous"))
    const after = await follow(around.linkOf("next", "Next"))
    const seen = [before, around, after].flatMap(({ rows }) => rows.map(({ user }) => user))
    const start = events.indexOf(seen[0]!)
    expect(seen).toEqual(events.slice(start, start + 30))
    expect(after.text).not.toContain("<strong><a")
  })

  it("has at most 100 rows a page, and ends after the last user", async () => {
    expect((await board("?limit=100")).rows).toHaveLength(100)
    const more = await board("?limit=101")
    expect(more.status).toBe(400)
    expect(more.text).toContain("/limit")
    expect((await board("?offset=5000")).text).toContain("The leaderboard ends before this page.")
  })

  it("takes a user off by a button, and lists the user again by another", async () => {
    const { owner, viewer } = places
    const place = { board: "xp" }
    const around = `${base}?around=tie+b`
    expect((await viewer.get(around)).text).not.toContain("Disqualify")
    const { text } = await owner.get(around)
    expect(text).toContain(`action="${base}/tie%20b/disqualify"`)
    const { location } = await owner.post(`${base}/tie%20b/disqualify`, place)
    expect(location).toMatch(/leaderboard\?board=xp&around=tie\+b&done=/)
    const off = (await owner.get(location!)).text
    expect(off).toContain("Disqualified.")
    expect(off).toContain(`action="${base}/tie%20b/list"`)
    expect((await board("?limit=100")).rows.map(({ user }) => user)).not.toContain("tie b")
    await owner.post(`${base}/tie%20b/list`, place)
    expect((await board("?around=tie+b")).rows.map(({ user }) => user)).toContain("tie b")
    const log = (await owner.get("/dashboard/shop/sandbox/log?on=tie+b")).text
    expect(log).toContain("<code>leaderboard.disqualify</code>")
  })

  it("takes a team off a leaderboard of teams by a button, and lists it again by another", async () => {
    const { owner } = places
    const cup = { name: "Cup", score: { currency: "points" }, entrants: "teams", teamKind: "club" }
    await sandbox("POST", "/leaderboards", cup)
    for (const [teamId, kind] of [
      ["owls", "club"],
      ["7b", "class"],
    ]) {
      await sandbox("PUT", `/teams/${teamId}`, { kind, name: teamId })
      await sandbox("PUT", `/teams/${teamId}/members/bob`, {})
    }
    await sandbox("POST", "/users/bob/rewards", { reward: { points: 3 } })
    const around = `${base}?board=cup&around=`
    expect((await owner.get(`${around}7b`)).text).not.toContain("Disqualify")
    expect((await owner.get(`${around}owls`)).text).toContain(`action="${base}/owls/disqualify"`)
    const { location } = await owner.post(`${base}/owls/disqualify`, { board: "cup" })
    const off = (await owner.get(location!)).text
    expect(off).toContain("Disqualified.")
    expect(off).toContain(`action="${base}/owls/list"`)
    expect((await board("?board=cup")).rows).toEqual([])
    await owner.post(`${base}/owls/list`, { board: "cup" })
    expect((await board("?board=cup")).rows).toMatchObject([{ rank: "1", xp: "3" }])
    const log = (await owner.get("/dashboard/shop/sandbox/log")).text
    expect(log).toContain("leaderboard cup")
  })

  it("tells a user who is not listed from a user who does not exist", async () => {
    const unlisted = await board("?around=hidden")
    expect(unlisted).toMatchObject({ status: 200 })
    expect(unlisted.text).toContain("<bdi>hidden</bdi> is not listed here.")
    const unknown = await board(`?around=${encodeURIComponent("<i>x</i>")}`)
    expect(unknown.status).toBe(404)
    expect(unknown.text).toContain('role="alert"')
    expect(unknown.text).toContain('value="&lt;i&gt;x&lt;/i&gt;"')
  })
})

describe("A window of the leaderboard", () => {
  it.each([
    ["daily", "Nov 22, 2026, UTC", limits.boardDailyWindowsKept],
    ["weekly", "Nov 16 – 22, 2026, UTC", limits.boardWeeklyWindowsKept],
    ["monthly", "Nov 1 – 30, 2026, UTC", limits.boardMonthlyWindowsKept],
  ])(
    "%s links back to the oldest kept window, and forward to the open one",
    async (kind, days, kept) => {
      const open = await board(`?window=${kind}`)
      expect(open.text).toContain(`<span>${days}</span>`)
      expect(open.linkOf("next", "Next window")).toBe(undefined)
      let shown = open
      let steps = 0
      for (let link = open.linkOf("prev", "Previous window"); link !== undefined; steps++) {
        shown = await follow(link)
        expect(shown.status).toBe(200)
        expect(shown.text).toContain("Closed: the ranks are final.")
        link = shown.linkOf("prev", "Previous window")
      }
      expect(steps).toBe(kept)
      let link: string | undefined
      for (let step = 0; step < steps; step++) {
        link = shown.linkOf("next", "Next window")
        shown = await follow(link)
      }
      // The address of the open window stays the same.
      expect(link).toBe(`${base}?window=${kind}`)
      expect(shown.text).toContain(`<span>${days}</span>`)
      expect(shown.rows).toEqual(open.rows)
    },
  )

  it("says so if it closed without any xp, and does not ask for a rule", async () => {
    const { status, text } = await board("?window=daily&at=2026-11-10")
    expect(status).toBe(200)
    expect(text).toContain("Nobody earned xp in this window.")
    expect(text).not.toContain("create a rule")
  })

  it("is marked at the field of its day if it cannot be read", async () => {
    for (const at of ["2020-01-01", "2099-01-01", "tomorrow"]) {
      const { status, text } = await board(`?window=daily&at=${at}`)
      expect({ at, status }).toEqual({ at, status: 400 })
      expect(text).toMatch(/name="at"[^>]*aria-invalid="true"/)
    }
    const { status, text } = await board("?window=yearly")
    expect(status).toBe(400)
    expect(text).toContain('role="alert"')
  })

  it("and its day are dropped when all time is chosen", async () => {
    expect((await board("?window=all_time&at=2026-11-01")).status).toBe(200)
  })

  it("keeps its ranks after it closed, and the next one shows them as previous ranks", async () => {
    const { server } = places
    const path = "/dashboard/bank/production/leaderboard"
    const owner = places.api("bank", "production")
    const reward = (userId: string, amount: number) =>
      owner("POST", `/users/${userId}/rewards`, { type: "xp", amount })
    await reward("a", 10)
    await reward("b", 20)
    // A session ends after twelve hours without use.
    server.clock.set("2026-11-22T20:00:00Z")
    await places.owner.get(path)
    server.clock.set("2026-11-23T07:00:00Z")
    await reward("a", 50)
    const read = async (query: string) => (await places.owner.get(`${path}${query}`)).text
    const today = await read("?window=daily")
    expect(today).toMatch(
      /<td>1<\/td><td><a [^>]+><bdi>a<\/bdi><\/a><\/td><td>50<\/td><td>1<\/td><td>2<\/td>/,
    )
    expect(today).not.toContain("<bdi>b</bdi>")
    const yesterday = await read("?window=daily&at=2026-11-22")
    expect(yesterday).toMatch(/<td>1<\/td><td><a [^>]+><bdi>b<\/bdi><\/a><\/td><td>20<\/td>/)
    expect(yesterday).toMatch(/<td>2<\/td><td><a [^>]+><bdi>a<\/bdi><\/a><\/td><td>10<\/td>/)
  })
})
