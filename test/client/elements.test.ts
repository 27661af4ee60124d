/** The elements in a real browser, on the real server. */
import type { Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../dashboard/browser/axe.ts"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { fullKey, startServer, type TestServer } from "../http/fixture.ts"
import { openApp } from "./browser.ts"

const tabs = useTabs()
let server: TestServer

const track = (userId: string) =>
  server.call("POST", "/v1/events", { body: { userId, action: "TAP" } })

beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "TAP", reward: { xp: 60 } } })
  const badge = {
    name: "First <b>tap</b>",
    criteria: { kind: "action_count", action: "TAP", target: 1 },
  }
  await server.call("POST", "/v1/badges", { body: badge })
  const tapper = {
    name: "Tapper",
    criteria: { kind: "action_count", action: "TAP" },
    tiers: [
      { key: "bronze", name: "Bronze", target: 2 },
      { key: "gold", name: "Gold", target: 10 },
    ],
  }
  const streak = { key: "daily", name: "Daily tap", needs: [{ action: "TAP" }] }
  const quest = {
    title: "Five taps",
    reward: { xp: 5 },
    steps: [{ key: "taps", action: "TAP", target: 5 }],
  }
  for (const [path, body] of Object.entries({ badges: tapper, streaks: streak, quests: quest })) {
    expect((await server.call("POST", `/v1/${path}`, { body })).status).toBe(201)
  }
  for (const userId of ["ada", "ada", "ada", "<img src=x onerror=alert(1)>", "grace"])
    await track(userId)
  await server.call("PUT", "/v1/users/ada", { body: { displayName: "Ada" } })
})
afterAll(() => server.stop())

const open = async (
  body: string,
  statuses: ReadonlyArray<number> = [],
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<Page> => {
  const at = `url="${localhostOf(server.url)}" key="${fullKey}"`
  const html = `<style>:root { color-scheme: light dark }</style><h1>App</h1>${body.replaceAll("AT", at)}`
  const page = await openApp(tabs, { url: server.url, statuses }, html)
  await prepare(page)
  await page.evaluate(`import("/client/elements.js")`)
  return page
}

describe("<laurel-leaderboard>", () => {
  it("shows the board as a table, marks the user, and takes names as text", async () => {
    const page = await open(
      `<laurel-leaderboard AT user="ada" limit="2" label="All time"></laurel-leaderboard>`,
    )
    const table = page.getByRole("table", { name: "All time" })
    const rows = table.getByRole("row")
    await rows.nth(2).waitFor()
    expect(await rows.allInnerTexts()).toEqual([
      "Rank\tName\tLevel\tXP",
      "1\tAda\t2\t180",
      "2\t<img src=x onerror=alert(1)>\t1\t60",
    ])
    expect(await table.locator("[aria-current=true]").innerText()).toMatch(/Ada/)
    await page.evaluate(
      `document.querySelector("laurel-leaderboard").setAttribute("window", "daily")`,
    )
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("shows a board of another score, and friends ranked among themselves", async () => {
    const body = { key: "coins", name: "Coins", score: { currency: "points" } }
    expect((await server.call("POST", "/v1/leaderboards", { body })).status).toBe(201)
    for (const [userId, amount] of Object.entries({ ada: 5, grace: 9, bob: 7 })) {
      await server.call("POST", `/v1/users/${userId}/rewards`, { body: { type: "points", amount } })
    }
    const page = await open(`<laurel-leaderboard AT board="coins" label="All"></laurel-leaderboard>
      <laurel-leaderboard AT board="coins" friends="ada, bob, nobody" user="bob" label="Friends"></laurel-leaderboard>`)
    const rowsOf = async (name: string) => {
      const rows = page.getByRole("table", { name }).getByRole("row")
      await rows.nth(2).waitFor()
      return rows.allInnerTexts()
    }
    expect(await rowsOf("All")).toEqual([
      "Rank\tName\tScore",
      "1\tgrace\t9",
      "2\tbob\t7",
      "3\tAda\t5",
    ])
    expect(await rowsOf("Friends")).toEqual(["Rank\tName\tScore", "1\tbob\t7", "2\tAda\t5"])
    expect(await page.locator("[aria-current=true]").innerText()).toMatch(/bob/)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("shows a group with the ranks there", async () => {
    const body = { key: "cities", name: "Cities", score: { currency: "points" }, groupBy: "city" }
    expect((await server.call("POST", "/v1/leaderboards", { body })).status).toBe(201)
    for (const [userId, amount] of Object.entries({ una: 500, uwe: 400, uma: 300 })) {
      const city = userId === "una" ? "Rome" : "Berlin"
      await server.call("PUT", `/v1/users/${userId}`, { body: { attributes: { city } } })
      await server.call("POST", `/v1/users/${userId}/rewards`, { body: { type: "points", amount } })
    }
    const page = await open(
      `<laurel-leaderboard AT board="cities" group="Berlin" user="uma" label="Berlin"></laurel-leaderboard>`,
    )
    const rows = page.getByRole("table", { name: "Berlin" }).getByRole("row")
    await rows.nth(2).waitFor()
    expect(await rows.allInnerTexts()).toEqual(["Rank\tName\tScore", "1\tuwe\t400", "2\tuma\t300"])
    expect(await page.locator("[aria-current=true]").innerText()).toMatch(/uma/)
  })

  it("shows the teams of a board of teams, and marks one of them", async () => {
    const body = { key: "cup", name: "Cup", score: { currency: "points" } }
    const cup = { ...body, entrants: "teams", teamKind: "club" }
    expect((await server.call("POST", "/v1/leaderboards", { body: cup })).status).toBe(201)
    for (const [team, userId] of Object.entries({ falcons: "ada", owls: "bob" })) {
      await server.call("PUT", `/v1/teams/${team}`, { body: { kind: "club", name: `The ${team}` } })
      await server.call("PUT", `/v1/teams/${team}/members/${userId}`)
      const amount = team.length
      await server.call("POST", `/v1/users/${userId}/rewards`, { body: { type: "points", amount } })
    }
    const page = await open(
      `<laurel-leaderboard AT board="cup" teams team="owls" label="Cup"></laurel-leaderboard>`,
    )
    const rows = page.getByRole("table", { name: "Cup" }).getByRole("row")
    await rows.nth(2).waitFor()
    expect(await rows.allInnerTexts()).toEqual([
      "Rank\tName\tScore",
      "1\tThe falcons\t7",
      "2\tThe owls\t4",
    ])
    expect(await page.locator("[aria-current=true]").innerText()).toMatch(/owls/)
  })

  it("takes the colours of the page, and keeps its box where the page resets all boxes", async () => {
    const page = await open(`<style>* { margin: 0; padding: 0; border: 0 solid }
      laurel-leaderboard { --laurel-ground: rgb(1, 2, 3) }
      laurel-leaderboard::part(card) { border-width: 3px }</style>
      <laurel-leaderboard AT></laurel-leaderboard>`)
    await page.getByRole("table").waitFor()
    const style = `getComputedStyle(document.querySelector("laurel-leaderboard").shadowRoot.querySelector(".card"))`
    const of = (name: string) => page.evaluate(`${style}.${name}`)
    expect(await of("backgroundColor")).toBe("rgb(1, 2, 3)")
    expect(await of("paddingTop")).toBe("12px")
    expect(await of("borderTopWidth")).toBe("3px")
  })

  it("says that it cannot be shown, and is shown once it can", async () => {
    const page = await open(
      `<laurel-leaderboard url="${localhostOf(server.url)}" key="lk_test_wrong"></laurel-leaderboard>`,
      [401],
    )
    await page.getByRole("status").filter({ hasText: "Cannot be shown now" }).waitFor()
    await page.evaluate(
      `document.querySelector("laurel-leaderboard").setAttribute("key", "${fullKey}")`,
    )
    await page.getByRole("table", { name: "Leaderboard" }).waitFor()
    expect(await page.getByRole("status").count()).toBe(0)
  })

  it("has words of its own for an empty board, in any language", async () => {
    const environment = {
      environment: "prj_test:production",
      environmentName: "production",
    } as const
    const key = server.accounts.addKey("lk_live_empty", environment)
    const page = await open(`<laurel-leaderboard></laurel-leaderboard>`)
    await page.evaluate(`(async () => {
      const { createLaurel } = await import("/client/index.js")
      const board = document.querySelector("laurel-leaderboard")
      board.words = { ...board.words, leaderboard: "Bestenliste", empty: "Noch nichts" }
      board.client = createLaurel({ url: location.origin, key: "${key}" })
    })()`)
    await page.getByText("Noch nichts").waitFor()
    expect(await page.getByText("Bestenliste").isVisible()).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe("<laurel-profile>", () => {
  it("shows level, progress and badges, also to a screen reader", async () => {
    const page = await open(`<laurel-profile AT user="ada"></laurel-profile>`)
    await page.getByText("Level 2 · 180 XP · Rank 1").waitFor()
    expect(await page.getByRole("progressbar", { name: "Level 2" }).getAttribute("value")).toBe(
      "0.4",
    )
    await page.getByRole("listitem").filter({ hasText: "First <b>tap</b>" }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("follows the user live, from before the first event on", async () => {
    const stream = Promise.withResolvers<void>()
    const page = await open(
      `<laurel-profile AT user="newcomer" refresh-seconds="0" live></laurel-profile>`,
      [404],
      (opened) =>
        opened.route("**/v1/stream?*", async (route) => {
          await stream.promise
          await route.continue()
        }),
    )
    await page.getByText("Nothing yet").waitFor()
    await track("newcomer")
    // The stream has nothing from before its start.
    stream.resolve()
    await page.getByText("Level 1 · 60 XP").waitFor()
    await track("newcomer")
    await page.getByText("Level 2 · 120 XP").waitFor()
  })

  it("shows nothing of a user whom it no longer shows, and asks no more once it left the page", async () => {
    const page = await open(
      `<laurel-profile AT user="ada" refresh-seconds="0"></laurel-profile>`,
      [400],
    )
    await page.getByText("Level 2 · 180 XP").waitFor()
    await page.evaluate(`document.querySelector("laurel-profile").setAttribute("user", "grace")`)
    await page.getByText("Level 1 · 60 XP").waitFor()
    await page.evaluate(`document.querySelector("laurel-profile").setAttribute("user", "..")`)
    await page.getByText("Cannot be shown now").waitFor()
    const requests: Array<string> = []
    page.on("request", (request) => requests.push(request.url()))
    await page.evaluate(`(() => {
      const profile = document.querySelector("laurel-profile")
      profile.remove()
      profile.setAttribute("user", "ada")
      return profile.refresh()
    })()`)
    expect(requests).toEqual([])
  })
})

describe("<laurel-level>", () => {
  it("shows the level as a bar, and what the next one needs", async () => {
    const page = await open(
      `<laurel-level AT user="ada"></laurel-level>
      <laurel-level AT user="nobody"></laurel-level>`,
      [404],
    )
    await page.getByText("120 XP to level 3").waitFor()
    const bar = page.getByRole("progressbar", { name: "Level 2" })
    expect(await bar.getAttribute("value")).toBe("0.4")
    await page.getByText("Level 1").waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe("<laurel-badges>", () => {
  it("shows earned badges first, their tiers, and the way to the next", async () => {
    const page = await open(`<laurel-badges AT user="ada"></laurel-badges>
      <laurel-badges AT user="grace"></laurel-badges>`)
    const [ada, grace] = [
      page.locator("laurel-badges").nth(0),
      page.locator("laurel-badges").nth(1),
    ]
    await ada.getByText("Tapper").waitFor()
    expect(await ada.getByRole("listitem").allInnerTexts()).toEqual([
      "First <b>tap</b> · earned",
      "Tapper · Bronze\n\n3 / 10",
    ])
    await grace.getByText("1 / 2").waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe("<laurel-quests>", () => {
  it("shows the steps of a quest in progress", async () => {
    const page = await open(`<laurel-quests AT user="ada"></laurel-quests>`)
    await page.getByRole("progressbar", { name: "Five taps: taps" }).waitFor()
    await page.getByText("taps 3 / 5").waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe("<laurel-streak>", () => {
  it("shows the length and a calendar that names the status of each day", async () => {
    const page = await open(`<laurel-streak AT user="ada"></laurel-streak>`)
    await page.getByText("Now 1 · best 1").waitFor()
    const calendar = page.getByRole("table", { name: "Daily tap" })
    expect(await calendar.getByRole("img", { name: /: kept$/ }).count()).toBe(1)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("says that there is nothing where there is no such streak", async () => {
    const page = await open(`<laurel-streak AT user="ada" streak="weekly"></laurel-streak>`)
    await page.getByText("Nothing yet").waitFor()
  })
})

describe("<laurel-league>", () => {
  it("shows the user's cohort alone, and who moves up", async () => {
    const divisions = [
      { key: "bronze", name: "Bronze", promote: 1, demote: 0 },
      { key: "silver", name: "Silver", promote: 0, demote: 1 },
    ]
    const body = { name: "Cup", score: { currency: "points" }, cohortSize: 2, divisions }
    expect((await server.call("POST", "/v1/leagues", { body })).status).toBe(201)
    for (const [userId, amount] of Object.entries({ first: 5, second: 9, third: 7 })) {
      await server.call("POST", `/v1/users/${userId}/rewards`, { body: { type: "points", amount } })
    }
    await server.call("PUT", "/v1/users/second", { body: { displayName: "<b>Second</b>" } })
    const page = await open(`<laurel-league AT user="first"></laurel-league>`)
    const table = page.getByRole("table", { name: "Cup · Bronze" })
    const rows = table.getByRole("row")
    await rows.nth(2).waitFor()
    expect(await rows.allInnerTexts()).toEqual([
      "Rank\tName\tOutcome\tScore",
      "1\t<b>Second</b>\t▲ up\t9",
      "2\tfirst\tstays\t5",
    ])
    expect(await table.locator("[aria-current=true]").innerText()).toMatch(/first/)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("says that there is nothing for a user without a history", async () => {
    const page = await open(`<laurel-league AT user="nobody"></laurel-league>`, [404])
    await page.getByText("Nothing yet").waitFor()
  })
})

describe("<laurel-goal>", () => {
  const call = (method: string, path: string, body: object) =>
    server.call(method, `/v1/${path}`, { body })
  const line = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor()

  it("shows what all have reached, and the part of the user", async () => {
    const currency = { key: "stars", name: "Stars" }
    await call("POST", "currencies", currency)
    const goal = { key: "sky", name: "<i>Fill the sky</i>", score: { currency: "stars" } }
    await call("POST", "goals", { ...goal, target: 200 })
    const stars = (amount: number) => ({ reward: { currencies: { stars: amount } } })
    await call("POST", "users/gazer/rewards", stars(30))
    await call("POST", "users/other/rewards", stars(20))
    const page = await open(
      `<laurel-goal AT user="gazer" goal="sky" refresh-seconds="0"></laurel-goal>`,
    )
    await line(page, "<i>Fill the sky</i>")
    await line(page, "50 of 200 · 25 %")
    await line(page, "Your part: 30")
    await line(page, "2 contributors")
    expect(await page.getByRole("progressbar").getAttribute("value")).toBe("0.25")
    await call("POST", "users/other/rewards", stars(150))
    await page.evaluate(`(() => {
      const goal = document.querySelector("laurel-goal")
      goal.words = { ...goal.words, complete: "Geschafft!" }
      return goal.refresh()
    })()`)
    await line(page, "Geschafft!")
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("is of the user's team, and asks a user without one to join", async () => {
    const goal = { key: "club-sky", name: "Club sky", score: { currency: "stars" }, target: 10 }
    await call("POST", "goals", { ...goal, scope: "team", teamKind: "observatory" })
    const shown = `<laurel-goal AT user="gazer" goal="club-sky" refresh-seconds="0"></laurel-goal>`
    const page = await open(shown)
    await line(page, "Join a team to take part")
    await call("PUT", "teams/dome", { kind: "observatory", name: "Dome" })
    await call("PUT", "teams/dome/members/gazer", {})
    await page.evaluate(`document.querySelector("laurel-goal").refresh()`)
    await line(page, "Club sky · Dome")
    await line(page, "0 of 10 · 0 %")
  })

  it("says that there is nothing for a user without a history", async () => {
    const page = await open(`<laurel-goal AT user="nobody"></laurel-goal>`, [404])
    await page.getByText("Nothing yet").waitFor()
  })
})

describe("<laurel-shop>", () => {
  const post = (path: string, body: object) => server.call("POST", `/v1/${path}`, { body })
  const pointsOf = async (userId: string) =>
    (await server.call("GET", `/v1/users/${userId}`)).json.points
  const purchasesOf = async (userId: string) =>
    (await server.call("GET", `/v1/users/${userId}/purchases`)).json.purchases
  const shop = (user: string, more = "buy") =>
    `<laurel-shop AT user="${user}" refresh-seconds="0" ${more}></laurel-shop>`

  beforeAll(async () => {
    await post("items", {
      key: "mug",
      name: "<b>Mug</b>",
      description: "Holds tea",
      price: { points: 5 },
      limit: { times: 2, per: "week" },
    })
    await post("items", { key: "print", name: "Print", price: { points: 3 }, stock: 1 })
    await post("items", { key: "car", name: "Car", price: { points: 900 } })
  })
  const rich = async (userId: string) => {
    await post(`users/${userId}/rewards`, { type: "points", amount: 20 })
  }

  it("shows prices, what is left, and why an item cannot be bought, in words of its own", async () => {
    await rich("looker")
    const page = await open(shop("looker", ""))
    const items = page.getByRole("list", { name: "Shop" }).getByRole("listitem")
    await items.nth(2).waitFor()
    expect(await page.getByText("You have").innerText()).toBe("You have 20 points")
    const texts = await items.allInnerTexts()
    expect(texts.map((text) => text.replace(/\n+/g, "\n"))).toEqual([
      "<b>Mug</b>\nHolds tea\nFor 5 points · 0 of 2 this week",
      "Print\nFor 3 points · 1 left",
      "Car\nFor 900 points\n880 points missing",
    ])
    expect(await page.getByRole("button").count()).toBe(0)
    await page.evaluate(`(() => {
      const shop = document.querySelector("laurel-shop")
      shop.words = { ...shop.words, balance: "Guthaben: {amounts}", points: "Punkte" }
      return shop.refresh()
    })()`)
    await page.getByText("Guthaben: 20 Punkte").waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("buys at a click, says so, and keeps the focus where the item is sold out", async () => {
    await rich("buyer")
    const page = await open(shop("buyer"))
    const print = page.getByRole("listitem").filter({ hasText: "Print" }).getByRole("button")
    await print.focus()
    await page.keyboard.press("Enter")
    await page.getByRole("status").filter({ hasText: "Bought: Print" }).waitFor()
    expect(await print.innerText()).toBe("Sold out")
    expect(await print.evaluate((button) => button.matches(":focus"))).toBe(true)
    expect(await page.getByText("You have").innerText()).toBe("You have 17 points")
    await page.keyboard.press("Enter")
    const mug = page.getByRole("button", { name: "Buy for 5 points" })
    for (const bought of ["1 of 2", "2 of 2"]) {
      await mug.click()
      await page.getByText(`${bought} this week`).waitFor()
    }
    await page.getByRole("button", { name: /^Again from/ }).waitFor()
    expect((await purchasesOf("buyer")).length).toBe(3)
    expect(await pointsOf("buyer")).toBe(7)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("leaves the purchase to a page that prevents it", async () => {
    await rich("guest")
    const page = await open(shop("guest"), [], async (page) => {
      await page.evaluate(`document.addEventListener("laurel-buy", (event) => {
        event.preventDefault()
        document.querySelector("h1").textContent = "Asked for " + event.detail.key
      })`)
    })
    await page.getByRole("button", { name: "Buy for 5 points" }).click()
    await page.getByRole("heading", { name: "Asked for mug" }).waitFor()
    expect(await purchasesOf("guest")).toEqual([])
  })

  it("buys once for two clicks, if the reply to the first one was lost", async () => {
    await rich("unlucky")
    const page = await open(shop("unlucky"), [502])
    const mug = page.getByRole("button", { name: "Buy for 5 points" })
    await mug.waitFor()
    await page.evaluate(`(async () => {
      const { createLaurel } = await import("/client/index.js")
      const client = { url: "${localhostOf(server.url)}", key: "${fullKey}", retries: 0 }
      document.querySelector("laurel-shop").client = createLaurel(client)
    })()`)
    const losesReply = async (route: Route) => {
      await route.fetch()
      await route.fulfill({ status: 502 })
    }
    await page.route("**/v1/users/unlucky/purchases", losesReply, { times: 1 })
    await mug.click()
    await page.getByRole("status").filter({ hasText: "Nothing was bought" }).waitFor()
    await mug.click()
    await page.getByRole("status").filter({ hasText: "Bought:" }).waitFor()
    expect((await purchasesOf("unlucky")).length).toBe(1)
  })

  it("says why a purchase was refused, and reports it to the page", async () => {
    await rich("reader")
    const key = server.accounts.addKey("lk_test_reader", { scope: "read" })
    const page = await open(shop("reader"), [403], async (page) => {
      await page.evaluate(`document.addEventListener("laurel-error", (event) => {
        document.querySelector("h1").textContent = event.detail.code
      })
      document.querySelector("laurel-shop").setAttribute("key", "${key}")`)
    })
    const mug = page.getByRole("button", { name: "Buy for 5 points" })
    await mug.click()
    await page
      .getByRole("status")
      .filter({ hasText: "Nothing was bought: The operation" })
      .waitFor()
    await page.getByRole("heading", { name: "insufficient_scope" }).waitFor()
    expect(await mug.getAttribute("aria-disabled")).toBe("false")
    expect(await pointsOf("reader")).toBe(20)
  })

  it("says that there is nothing for a user without a history", async () => {
    const page = await open(shop("nobody"), [404])
    await page.getByText("Nothing yet").waitFor()
  })
})

describe("<laurel-shop> of more than a hundred items", () => {
  it("shows all of them", async () => {
    const items = Array.from({ length: 101 }, (_, n) => ({
      key: `many-${n}`,
      name: `Many ${n}`,
      price: { points: 1 },
    }))
    const made = await server.call("POST", "/v1/definitions/apply", {
      body: { definitions: { items } },
    })
    expect(made.status).toBe(200)
    const page = await open(`<laurel-shop AT user="ada" refresh-seconds="0"></laurel-shop>`)
    await page.getByText("Many 100", { exact: true }).waitFor()
    expect(await page.getByRole("listitem").count()).toBeGreaterThan(100)
  })
})

describe("<laurel-recap>", () => {
  it("is of all users with the attribute everyone, under its label", async () => {
    const page = await open(`<laurel-recap AT everyone label="Our school"></laurel-recap>`)
    const picture = page.getByRole("img", { name: /^Our school, .* active users\. .* XP earned/ })
    await picture.waitFor()
    expect(await picture.getByText("Our school").count()).toBe(1)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("shows the picture of the year, and saves it as SVG", async () => {
    const page = await open(`<laurel-recap AT user="ada"></laurel-recap>`)
    const picture = page.getByRole("img", { name: /^Ada, .*180 XP earned/ })
    await picture.waitFor()
    expect(await picture.getByText("active days").isVisible()).toBe(true)
    const download = page.waitForEvent("download")
    await page.getByRole("button", { name: "Save picture" }).click()
    expect((await download).suggestedFilename()).toMatch(/^recap-\d{4}-01-01-.*\.svg$/)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("takes a user's id as text", async () => {
    const page = await open(
      `<laurel-recap AT user="&lt;img src=x onerror=alert(1)&gt;"></laurel-recap>`,
    )
    await page.getByRole("img", { name: /^<img src=x onerror=alert\(1\)>/ }).waitFor()
  })
})

describe("<laurel-toast>", () => {
  it("tells a new badge as it happens, and removes it after its time", async () => {
    const opened = Promise.withResolvers<void>()
    const page = await open(
      `<laurel-toast AT user="zoe" seconds="1"></laurel-toast>`,
      [],
      async (made) =>
        made.on("response", (reply) => {
          if (reply.url().includes("/v1/stream")) opened.resolve()
        }),
    )
    const region = page.getByRole("status")
    await region.waitFor({ state: "attached" })
    await opened.promise
    await track("zoe")
    await region.getByText("New badge: First <b>tap</b>").waitFor()
    await region.getByText("New badge").waitFor({ state: "detached" })
  })
})
