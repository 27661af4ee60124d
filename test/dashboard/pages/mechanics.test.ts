/** The pages of mechanics, the line of usage on pages of definitions, and the tables as files. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places
let questId: string
let ruleId: string

const base = "/dashboard/shop/sandbox"
const read = async (path: string): Promise<string> => (await places.viewer.get(path)).text
const textOf = (page: string): string => page.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ")

beforeAll(async () => {
  places = await startPlaces()
  const sandbox = places.api("shop", "sandbox")
  const rule = await sandbox("POST", "/rules", { action: "TAP", reward: { xp: 10 } })
  ruleId = rule.id
  await sandbox("POST", "/rules", { action: "SWIPE", reward: { xp: 100 } })
  const step = (key: string, action: string, target: number) => ({ key, action, target })
  const quest = await sandbox("POST", "/quests", {
    ...{ key: "both", title: "Tap & swipe", reward: { xp: 2 } },
    steps: [step("tap", "TAP", 2), step("swipe", "SWIPE", 1)],
  })
  questId = quest.id
  await sandbox("POST", "/badges", {
    ...{ key: "taps", name: "Taps", criteria: { kind: "action_count", action: "TAP" } },
    tiers: [
      { key: "one", name: "One", target: 1 },
      { key: "two", name: "Two", target: 2 },
    ],
  })
  await sandbox("POST", "/quests", { title: "A draft", status: "draft", reward: { xp: 2 } })
  for (const [userId, action] of [
    ["ada", "TAP"],
    ["ada", "TAP"],
    ["ada", "SWIPE"],
    ["bob", "TAP"],
  ]) {
    await sandbox("POST", "/events", { userId, action })
  }
})
afterAll(() => places.server.stop())

describe("The page Mechanics", () => {
  it("lists what each definition did, sorted and filtered by the address", async () => {
    const page = await read(`${base}/mechanics`)
    expect(textOf(page)).toContain("Tap &amp; swipe quest 2 100% common 1 0.03 2")
    expect(textOf(page)).toContain("TAP rule 2 100% common 3 0.1 30")
    expect(page).not.toContain("A draft")
    expect(page).toContain(
      'aria-sort="descending"><a href="/dashboard/shop/sandbox/mechanics?sort=users">Users',
    )
    const rules = await read(`${base}/mechanics?kind=rule&sort=xp&days=7`)
    expect(rules.indexOf(">SWIPE<")).toBeLessThan(rules.indexOf(">TAP<"))
    expect(rules).not.toContain("Tap &amp; swipe")
    expect(rules).toContain("Times in 7 days")
    expect(await read(`${base}/mechanics?kind=item`)).toContain(
      "There is no item that is neither a draft nor archived.",
    )
    // An address that somebody mistyped shows the whole list.
    expect(await read(`${base}/mechanics?kind=user&sort=age&days=8`)).toContain("Times in 30 days")
  })

  it("is a file on request", async () => {
    const { headers, text } = await places.viewer.get(
      `${base}/mechanics.csv?kind=rule&sort=xp&days=7`,
    )
    expect(headers.get("content-disposition")).toBe(
      'attachment; filename="shop_sandbox_mechanics.csv"',
    )
    const rows = text.trimEnd().split("\r\n")
    expect([rows.length, rows[1]]).toEqual([
      3,
      expect.stringMatching(/^rule,rul_\w+,swipe,SWIPE,active,.*,100$/),
    ])
    const days = await read(`${base}/mechanics/rule/tap/days.csv?days=7`)
    expect(days.trimEnd().split("\r\n").at(-1)).toMatch(/^\d{4}-\d\d-\d\d,3,30$/)
  })
})

describe("The list of a kind", () => {
  const cellsIn = (page: string) =>
    [...page.matchAll(/<\/code>(<br><(?:span|a) class="hint".*?)<\/td>/g)].map(([, cell]) =>
      cell!.replaceAll(/<[^>]+>/g, ""),
    )

  it("says what each definition did in 30 days, and links to it", async () => {
    const rules = await read(`${base}/rules`)
    expect(rules).toContain(`<a href="${base}/mechanics/rule/${ruleId}">3 uses</a>`)
    expect(cellsIn(rules).toSorted()).toEqual([
      "1 use, 100 xp in 30 days",
      "3 uses, 30 xp in 30 days",
    ])
    expect(cellsIn(await read(`${base}/quests`))).toEqual(["1 time, 2 xp in 30 days"])
    expect(cellsIn(await read(`${base}/badges`))).toEqual([expect.stringMatching(/^3 awards/)])
    expect(cellsIn(await read(`${base}/leaderboards`))).toEqual(["2 entries"])
    expect(await read(`${base}/metrics`)).not.toContain("in 30 days")
  })
})

describe("The page of a mechanic", () => {
  it("has its days, where people stop, how long it takes, and who comes back", async () => {
    const page = await read(`${base}/mechanics/quest/${questId}`)
    const text = textOf(page)
    expect(text).toContain("Users who started it 2 100% of all")
    expect(text).toContain("Users who completed it 1 50% of those who started")
    expect(text).toContain("started 2 100%")
    expect(text).toContain("1 or more 1 50%")
    expect(text).toContain("2, all 1 50%")
    expect(text).toContain("tap 2 2 1 1")
    expect(text).toContain("A tenth of the users, within")
    expect(text).toContain("This shows no cause")
    expect(text).toContain("The first week of nobody who began since")
    expect(page).toMatch(/aria-label="Completions from .* highest 1, last 1"/)
    expect(page).not.toContain("What is not known")
  })

  it("has the tiers of a badge, and says what is not known of a rule", async () => {
    const badge = textOf(await read(`${base}/mechanics/badge/taps`))
    expect(badge).toContain("One 2 100%")
    expect(badge).toContain("Two 1 50%")
    const rule = textOf(await read(`${base}/mechanics/rule/tap`))
    expect(rule).toContain("Events rewarded in 30 days 3 0.1 a day")
    expect(rule).toContain("What is not known")
  })

  it("is not found for a kind or a definition that is not there", async () => {
    for (const path of ["user/ada", "quest/none"]) {
      expect((await places.viewer.get(`${base}/mechanics/${path}`)).status).toBe(404)
    }
  })
})

describe("The page of a definition", () => {
  it("says what it did, and leads to the page of the mechanic", async () => {
    const quest = await read(`${base}/quests/${questId}`)
    expect(quest).toContain(
      `2 users started it (100%), 1 completed it, 1 time in 30 days, 2 xp. <a href="${base}/mechanics/quest/${questId}">`,
    )
    expect(await read(`${base}/rules/${ruleId}`)).toContain(
      "2 users rewarded (100%), 3 times in 30 days, 30 xp.",
    )
  })

  it("tells rules of one action apart by their keys", async () => {
    const sandbox = places.api("shop", "sandbox")
    for (const key of ["drag", "drag-bonus"]) {
      await sandbox("POST", "/rules", { key, action: "DRAG", reward: { xp: 1 } })
    }
    const text = textOf(await read(`${base}/mechanics?kind=rule`))
    expect(text).toContain("DRAG drag rule 0")
    expect(text).toContain("DRAG drag-bonus rule 0")
    expect(text).toContain("SWIPE rule 1")
  })
})
