/** The pages of users: the list, one user, the history. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { userPath } from "../../../../src/dashboard/view/Users.ts"
import { limits } from "../../../../src/Limits.ts"
import { type AskApi, occurrences, type Places, startPlaces } from "../place.ts"

let places: Places
let sandbox: AskApi

const base = "/dashboard/shop/sandbox"
const page = async (path: string, browser = places.viewer) => {
  const { status, text } = await browser.get(path)
  return { status, text }
}
/** The links to users of a page, in order. */
const linksIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<td><a href="([^"]+\/users\/[^"]+)">/g)].map(([, link]) =>
    link!.replaceAll("&#39;", "'").replaceAll("&amp;", "&"),
  )

beforeAll(async () => {
  places = await startPlaces()
  sandbox = places.api("shop", "sandbox")
})
afterAll(() => places.server.stop())

describe("The list of users", () => {
  it("says how to create the first user in an empty environment", async () => {
    const { text } = await page("/dashboard/shop/production/users")
    expect(text).toContain("A user appears here with the first event")
    expect(text).toContain("/v1/events")
  })

  it("has 20 rows a page, and leads to each user once", async () => {
    const events = Array.from({ length: 45 }, (_, index) => ({
      userId: `list-${String(index).padStart(2, "0")}`,
      action: "A",
    }))
    await sandbox("POST", "/events/batch", { events })
    const seen: Array<string> = []
    const sizes: Array<number> = []
    let path: string | undefined = `${base}/users?query=list-`
    while (path !== undefined) {
      const { text } = await page(path)
      const links = linksIn(text)
      seen.push(...links)
      sizes.push(links.length)
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&")
    }
    expect(sizes).toEqual([20, 20, 5])
    expect(seen).toEqual(events.map(({ userId }) => `${base}/users/${userId}`))
  })

  it("has at most 100 rows, and refuses a wrong cursor", async () => {
    expect(linksIn((await page(`${base}/users?limit=100&query=list-`)).text)).toHaveLength(45)
    expect(await page(`${base}/users?limit=101`)).toMatchObject({ status: 400 })
    expect(await page(`${base}/users?cursor=x`)).toMatchObject({ status: 400 })
    for (const id of ["past-1", "past-2"]) await sandbox("PUT", `/users/${id}`, {})
    const first = await page(`${base}/users?query=past-&limit=1`)
    const [, next] = /rel="next" href="([^"]+)"/.exec(first.text)!
    await sandbox("DELETE", "/users/past-2")
    const past = await page(next!.replaceAll("&amp;", "&"))
    expect(past.text).toContain("The list ends before this page.")
  })

  it("is searched by id and name, and says so if nobody matches", async () => {
    await sandbox("PUT", "/users/search-1", { displayName: "Grace Hopper" })
    await sandbox("PUT", "/users/search-2", { displayName: "Ada" })
    expect(linksIn((await page(`${base}/users?query=hopper`)).text)).toEqual([
      `${base}/users/search-1`,
    ])
    expect(linksIn((await page(`${base}/users?query=SEARCH-2`)).text)).toHaveLength(1)
    const none = await page(`${base}/users?query=${encodeURIComponent("<i>")}`)
    expect(none.text).toContain("No user has <bdi>&lt;i&gt;</bdi> in the id or name.")
  })

  it("is sorted by its heads, which turn the order around, and keep the filters", async () => {
    for (const [id, xp] of [
      ["order-1", 2],
      ["order-2", 3],
      ["order-3", 1],
    ] as const) {
      await sandbox("POST", `/users/${id}/rewards`, { type: "xp", amount: xp })
    }
    const head = (text: string, label: string) =>
      new RegExp(`<th scope="col"([^>]*)><a href="([^"]+)">${label}</a>`).exec(text)!
    const follow = async (text: string, label: string) =>
      (await page(head(text, label)[2]!.replaceAll("&amp;", "&"))).text
    const users = (text: string) => linksIn(text).map((link) => link.slice(-1))
    const byId = (await page(`${base}/users?query=order-`)).text
    expect([users(byId), head(byId, "User")[1]]).toEqual([
      ["1", "2", "3"],
      ' aria-sort="ascending"',
    ])
    const byXp = await follow(byId, "Xp")
    expect([users(byXp), head(byXp, "Xp")[1]]).toEqual([["2", "1", "3"], ' aria-sort="descending"'])
    const turned = await follow(byXp, "Xp")
    expect([users(turned), head(turned, "Xp")[1]]).toEqual([
      ["3", "1", "2"],
      ' aria-sort="ascending"',
    ])
    expect(users(await follow(turned, "User"))).toEqual(["1", "2", "3"])
    expect(byXp).toContain('<input type="hidden" name="sort" value="xp">')
  })

  it("has filters, says so if nobody passes them, and marks what is wrong", async () => {
    await sandbox("PUT", "/users/filter-1", { attributes: { "plan:a": "50%", beta: true } })
    await sandbox("PUT", "/users/filter-2", { attributes: {} })
    const found = async (query: string) => (await page(`${base}/users?query=filter-&${query}`)).text
    expect(await found("")).toContain("<details><summary>Filters")
    const one = await found("attributeName=plan%3Aa&attributeValue=50%25&levelMin=&activeSince=")
    expect(linksIn(one)).toEqual([`${base}/users/filter-1`])
    expect(one).toContain("<details open><summary>Filters")
    expect(linksIn(await found("attributeName=beta&attributeValue=true"))).toHaveLength(1)
    expect(await found("levelMin=2")).toContain("No user matches all of the filters.")
    expect(await found("activeSince=2026-01-01")).toContain("No user matches all of the filters.")
    const wrong = await page(`${base}/users?levelMin=many&activeSince=soon&levelMax=2`)
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain("Nothing was looked up: see the fields that are marked.")
    expect(occurrences(wrong.text, 'aria-invalid="true"')).toBe(2)
    expect(wrong.text).toContain('name="levelMax" inputmode="decimal" autocomplete="off" value="2"')
    const unknown = await page(`${base}/users?badge=%3Ci%3E`)
    expect(unknown.status).toBe(404)
    expect(unknown.text).toContain("No badge of this project has this id or key.")
    expect(unknown.text).toContain('value="&lt;i&gt;"')
  })

  it("is saved as a file with its filters", async () => {
    await sandbox("PUT", "/users/file-1", { displayName: "=1+1" })
    await sandbox("PUT", "/users/file-2", {})
    const { text: shown } = await page(`${base}/users?query=file-&limit=1`)
    const [, link] = /href="([^"]+users\.csv[^"]*)">Save as CSV/.exec(shown)!
    const { headers, text } = await places.viewer.get(link!.replaceAll("&amp;", "&"))
    expect(headers.get("content-disposition")).toBe('attachment; filename="shop_sandbox_users.csv"')
    const lines = text.trimEnd().split("\r\n")
    expect(lines).toHaveLength(3)
    expect(lines[1]).toMatch(/^file-1,'=1\+1,1,/)
  })

  it("becomes a search if no user has the id to open", async () => {
    const { text } = await page(`${base}/users?query=list-&open=id`)
    expect(text).toContain("No user has the id <bdi>list-</bdi>.")
    const [, next] = /rel="next" href="([^"]+)"/.exec(text)!
    expect(next).toMatch(/\/users\?query=list-&amp;cursor=[\w-]+$/)
  })

  it("opens a user only by the exact id", async () => {
    const open = (id: string) =>
      places.viewer.get(`${base}/users?query=${encodeURIComponent(id)}&open=id`)
    expect(await open("search-1")).toMatchObject({
      status: 303,
      location: `${base}/users/search-1`,
    })
    for (const id of ["search", "SEARCH-1", "", "x".repeat(129)]) {
      const { status, text } = await open(id)
      if (id.length < 129) expect({ id, status }).toEqual({ id, status: 200 })
      expect(text).toMatch(id.length < 129 ? /No user has the id/ : /at most 128 characters/)
    }
  })
})

describe("A user whose id means something elsewhere", () => {
  const ids = [
    "...",
    "a/b",
    "../../keys",
    "100%",
    "%2F",
    "a?b#c&d=e",
    "+ +",
    "//evil.example",
    `<b>x</b>"'`,
    "\u202eevil\u2069",
    "javascript:alert(1)",
    "__proto__",
    "\u{1f600}".repeat(128),
  ]
  const escaped = (id: string) =>
    id
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;")

  it.each(ids)("%j is found by the link of the list, and shown as text", async (id) => {
    const events = [{ userId: id, action: "ODD", metadata: { of: id } }]
    await sandbox("POST", "/events/batch", { events })
    const saved = await places.admin.post(`${userPath(base, id)}/profile`, {
      displayName: `Name of ${id}`,
      attributes: JSON.stringify({ avatar: id, site: `https://example.com/${id}` }),
    })
    expect(saved.location).toContain(`${userPath(base, id)}?done=`)
    const opened = await places.viewer.get(`${base}/users?open=id&query=${encodeURIComponent(id)}`)
    expect(opened.location).toBe(userPath(base, id))
    const list = await page(`${base}/users?limit=100&query=${encodeURIComponent(id)}`)
    expect(linksIn(list.text)).toContain(opened.location)
    // As browsers do, `fetch` resolves dots in the address.
    const { status, text } = await page(opened.location!)
    expect(status).toBe(200)
    expect(text).toContain(`<code id="user-id"><bdi>${escaped(id)}</bdi></code>`)
    expect(text).toContain(`<dd><bdi>${escaped(id)}</bdi></dd>`)
    expect(text).toContain("<code>ODD</code>")
    if (id.includes("\u202e")) expect(text).toContain("Spelled \\u202eevil\\u2069<")
    expect(text).not.toMatch(/<b>x|href="javascript:|<title>[^<]*\u202e/)
  })

  it("is not found if nobody has the id, or the address cannot be an id", async () => {
    expect(await page(`${base}/users/nobody`)).toMatchObject({ status: 404 })
    for (const segment of ["%", "%ff", "x".repeat(129)]) {
      const { status } = await page(`${base}/users/${segment}`)
      expect({ segment, status }).toEqual({ segment, status: segment.length > 9 ? 400 : 404 })
    }
  })
})

describe("The page of a user", () => {
  it("shows balances, level, ranks, badges, quests and streaks", async () => {
    await sandbox("POST", "/streaks", {
      key: "daily",
      name: "Daily",
      needs: [{ action: "LESSON" }],
    })
    await sandbox("POST", "/rules", { action: "LESSON", reward: { xp: 150, points: 7 } })
    const badge = await sandbox("POST", "/badges", {
      name: "Two <lessons>",
      criteria: { kind: "action_count", action: "LESSON", target: 2 },
    })
    const quest = await sandbox("POST", "/quests", {
      title: "Three lessons",
      status: "active",
      reward: { xp: 10 },
      steps: [{ key: "lessons", action: "LESSON", target: 3 }],
    })
    await sandbox("POST", "/events", { userId: "ada", action: "LESSON" })
    await sandbox("POST", "/events", { userId: "ada", action: "LESSON" })
    const { text } = await page(`${base}/users/ada`)
    expect(text).toContain("<dt>Xp</dt><dd>300</dd>")
    expect(text).toContain("<dt>Points</dt><dd>14</dd>")
    expect(text).toContain("Level 3, 300 xp to level 4")
    expect(text).toMatch(/<progress id="level" max="1" value="0">/)
    for (const label of ["All-time rank", "Rank this month", "Rank this week", "Rank today"]) {
      expect(text).toMatch(new RegExp(`<dt>${label}</dt><dd><a href="[^"]+around=ada">1</a>`))
    }
    expect(text).toContain(`${badge.id}"><bdi>Two &lt;lessons&gt;</bdi></a></td><td>2 of 2</td>`)
    expect(text).toContain(`${quest.id}"><bdi>Three lessons</bdi></a></td><td>in progress</td>`)
    expect(text).toContain("<bdi>lessons</bdi> 2 of 3")
    expect(text).toContain("<td><bdi>daily</bdi></td><td>1</td><td>1</td><td>2026-11-22</td>")
  })

  it("shows a viewer the same, without forms except search and sign-out", async () => {
    const [seen, managed] = await Promise.all([
      page(`${base}/users/ada`),
      page(`${base}/users/ada`, places.admin),
    ])
    const forms = ({ text }: { text: string }) => occurrences(text, '<form method="post"')
    expect(forms(seen)).toBe(1)
    expect(seen.text).not.toMatch(/<dialog|Grant reward|Erase/)
    expect(forms(managed)).toBeGreaterThan(4)
  })

  it("names production in each dialog of production, and in no dialog of the sandbox", async () => {
    await places.api("shop", "production")("POST", "/events", { userId: "ada", action: "A" })
    const titles = async (environment: string) => {
      const { text } = await page(`/dashboard/shop/${environment}/users/ada`, places.admin)
      return [...text.matchAll(/<dialog[^>]*><h2[^>]*>([^<]+)</g)].map(([, title]) => title!)
    }
    const production = await titles("production")
    expect(production.length).toBeGreaterThan(3)
    for (const title of production) expect(title).toContain("production")
    for (const title of await titles("sandbox")) expect(title).not.toContain("production")
    for (const form of ["reward", "event", "profile"]) {
      const path = `/dashboard/shop/production/users/ada/${form}`
      expect((await page(path, places.admin)).text).toMatch(
        /<button class="main">[^<]+in production</,
      )
    }
  })

  it("shows only its own environment, if the id exists elsewhere, too", async () => {
    await places.api("bank", "sandbox")("POST", "/users/twin/rewards", {
      type: "xp",
      amount: 7_070_707,
    })
    expect(await page(`${base}/users/twin`, places.owner)).toMatchObject({ status: 404 })
    await sandbox("POST", "/users/twin/rewards", { type: "xp", amount: 5 })
    const here = await page(`${base}/users/twin`)
    expect(here.text).toContain("<dt>Xp</dt><dd>5</dd>")
    expect(here.text).not.toContain("7,070,707")
    expect(await page("/dashboard/shop/production/users/twin")).toMatchObject({ status: 404 })
    expect(await page("/dashboard/bank/sandbox/users/twin")).toMatchObject({ status: 404 })
    const owned = await page("/dashboard/bank/sandbox/users/twin", places.owner)
    expect(owned.text).toContain("<dt>Xp</dt><dd>7,070,707</dd>")
  })
})

describe("The history of a user", () => {
  const history = async (userId: string, query = "") => {
    const { status, text } = await page(`${base}/users/${userId}${query}`)
    expect(status).toBe(200)
    return text.slice(text.indexOf('<h2 id="history">'))
  }

  it("shows the cause of each fact", async () => {
    await sandbox("POST", "/rules", { action: "TOLD", reward: { xp: 120, points: 3 } })
    const event = await sandbox("POST", "/events", {
      userId: "told",
      action: "TOLD",
      id: "own <1>",
      metadata: { "</pre>": "<script>" },
      occurredAt: "2026-11-20T08:00:00Z",
    })
    const reward = await sandbox("POST", "/users/told/rewards", {
      type: "points",
      amount: 20,
      reason: "Welcome <back>",
    })
    await sandbox("PUT", "/users/told", { displayName: "Told", hidden: true })
    await sandbox("DELETE", `/users/told/events/${event.eventId}`)
    const text = await history("told")
    expect(text).toContain("Event <code>TOLD</code>")
    expect(text).toContain("your id <bdi>own &lt;1&gt;</bdi>, occurred <time")
    expect(text).toContain("&quot;&lt;/pre&gt;&quot;: &quot;&lt;script&gt;&quot;")
    expect(text).toMatch(
      /Xp \+120 \(120\) by <a href="[^"]+\/rules\/rul_\w+(\w{6})">rule <code>…\1</,
    )
    expect(text).toContain("Level 1 → 2")
    expect(text).toContain("Reward by hand: <bdi>Welcome &lt;back&gt;</bdi>")
    expect(text).toContain("Points +20 (23) by the reward")
    expect(text).toContain(reward.rewardId)
    expect(text).toContain(
      "Profile: name <bdi>Told</bdi>, time zone of the project, 0 attributes, hidden from leaderboards",
    )
    expect(text).toContain(`Undo of <code>${event.eventId}</code>`)
    expect(text).toContain("Event undone: xp -120 (0), points -3 (20), level 2 → 1")
    expect(text).toContain("User created")
    expect(text).toContain("<td>undone</td>")
    const order = ["Event counted: xp +120", "Xp +120 (120)", "Level 1 → 2"]
    const places = order.map((part) => text.indexOf(part))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })

  it("goes back to the first fact by its cursor, with each fact once, whatever the size of a page", async () => {
    for (let index = 0; index < 5; index++) {
      await sandbox("POST", "/users/paged/rewards", { type: "xp", amount: 1 + index })
    }
    const texts = new Set<string>()
    let facts = 0
    let path: string | undefined = "?limit=3"
    while (path !== undefined) {
      const text = await history("paged", path)
      facts += occurrences(text, "<li title=")
      for (const [, amount] of text.matchAll(/Xp \+(\d+)/g)) texts.add(amount!)
      path = /rel="next" href="[^"]+paged([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&")
    }
    const { facts: all } = await sandbox("GET", "/users/paged/history?limit=100")
    expect(facts).toBe(all.length)
    expect([...texts].sort()).toEqual(["1", "2", "3", "4", "5"])
  })

  it("has every fact of an event on one page, whatever the size of a page", async () => {
    await sandbox("POST", "/rules", { action: "WHOLE", reward: { xp: 100 } })
    await sandbox("POST", "/rules", { action: "WHOLE", reward: { xp: 25 } })
    for (let index = 0; index < 3; index++) {
      await sandbox("POST", "/events", { userId: "whole", action: "WHOLE" })
    }
    for (const limit of [1, 2, 3, 4]) {
      const rows: Array<string> = []
      let path: string | undefined = `?limit=${limit}`
      while (path !== undefined) {
        const text = await history("whole", path)
        rows.push(...text.split("<tr>").filter((row) => row.includes("Event counted")))
        path = /rel="next" href="[^"]+whole([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&")
      }
      const amounts = rows.map((row) => [...row.matchAll(/[Xx]p \+(\d+)/g)].map(([, xp]) => xp))
      expect(amounts).toEqual(Array.from({ length: 3 }, () => ["125", "100", "25"]))
    }
  })

  it("shows only the chosen kind of fact, and refuses an unknown kind", async () => {
    const text = await history("paged", "?kind=xp.earned")
    expect(text).toContain('<option value="xp.earned" selected>')
    expect(new Set([...text.matchAll(/<li title="([^"]+)"/g)].map(([, kind]) => kind))).toEqual(
      new Set(["xp.earned"]),
    )
    expect(await history("paged", "?kind=badge.revoked")).toContain("No fact of this kind.")
    expect(await page(`${base}/users/paged?kind=x`)).toMatchObject({ status: 400 })
    expect(await page(`${base}/users/paged?cursor=x`)).toMatchObject({ status: 400 })
  })

  it("shows metadata up to a bound for the whole page, and says where it was cut", async () => {
    const { pageMetadataCharactersMax: most } = limits
    const bytes = 15_000
    const isCut = async (userId: string, sizes: ReadonlyArray<number>) => {
      for (const size of sizes) {
        // {"m": "…"} on three lines takes 13 characters without its text.
        const metadata = { m: "x".repeat(size - 13) }
        await sandbox("POST", "/events", { userId, action: "LARGE", metadata })
      }
      return /Cut after (\d+) of/.exec(await history(userId))?.[1]
    }
    expect(await isCut("large", [most - bytes, bytes])).toBe(undefined)
    expect(await isCut("larger", [most - bytes + 1, bytes])).toBe(String(most - bytes))
  })
})
