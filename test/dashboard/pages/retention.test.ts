/** The activity on the overview, the page Retention, and their tables as files. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limitedInFile } from "../../limited.ts"
import { type Places, startPlaces } from "./place.ts"

// Each read waits for a new count, however slow this machine is.
limitedInFile({ activityPassShare: 1, activityWaitMs: 600_000, countWaitMs: 600_000 })

let places: Places

beforeAll(async () => {
  places = await startPlaces()
})
afterAll(() => places.server.stop())

const base = "/dashboard/shop/sandbox"
const read = async (path: string): Promise<string> => (await places.viewer.get(path)).text

const dayMs = 86_400_000
/** By the clock of the server. */
const now = Date.parse("2026-11-22T10:00:00Z")
const dateIn = (days: number) => new Date(now + days * dayMs).toISOString().slice(0, 10)

/** The text of a figure, without marks. */
const figure = (page: string, name: string): string => {
  const start = `(?:<dt>${name}</dt><dd>|<figcaption>${name}</figcaption>\\s*<p class="figure">)`
  const [, value] = new RegExp(`${start}(.*?)</(?:dd|p)>`).exec(page)!
  return value!.replaceAll(/<[^>]+>/g, "")
}

describe("The activity of an environment", () => {
  it("is asked of nobody who has no users", async () => {
    expect(await read("/dashboard/bank/production")).not.toContain("Daily active users")
    expect(await read("/dashboard/shop/production/retention")).toContain("Nobody began in the days")
  })

  it("is on the overview beside the period before, and on the page Retention by cohorts", async () => {
    const sandbox = places.api("shop", "sandbox")
    await sandbox("POST", "/rules", { action: "TAP", reward: { xp: 10 } })
    const on = (userId: string, ...daysAgo: ReadonlyArray<number>) =>
      daysAgo.map((days) => ({ userId, action: "TAP", occurredAt: `${dateIn(-days)}T00:00:00Z` }))
    const events = [
      // Neither of the last two days has ended in every time zone.
      ...on("ada", 45, 44, 38, 15, 10, 3, 1, 0),
      ...on("bob", 45, 12),
      ...on("cyd", 20, 13, 5),
    ]
    await sandbox("POST", "/events/import", { events })
    const overview = await read(base)
    expect(figure(overview, "Active in the 30 days to Nov 20")).toBe("3 +50% from 2")
    expect(figure(overview, "New users")).toBe("1 −50% from 2")
    expect(figure(overview, "Events")).toBe("7 +75% from 4")
    expect(figure(overview, "Xp earned")).toBe("70 +75% from 40")
    expect(figure(overview, "Badges earned")).toBe("0 as before")
    // Of those whose day 7 was in the period: Cyd; in the one before: Ada, and not Bob.
    expect(overview.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ")).toContain(
      "Came back on day 7 100% +50 points from 50%",
    )
    expect(overview).toContain('aria-current="true">30 days</a>')
    expect(overview).toMatch(/aria-label="Daily active users from .* highest 1, last 1"/)
    expect(overview).toMatch(/<title>Nov 20: 0, before: 0<\/title>/)
    expect(overview).toMatch(/<title>Nov 21: 1 so far<\/title>/)
    expect(overview).toContain("Oct 22 – Nov 20, 2026, beside Sep 22 – Oct 21, 2026")
    expect(overview).toContain(`/activity.csv?from=2026-09-22&amp;to=${dateIn(0)}`)
    const week = await read(`${base}?days=7`)
    expect(figure(week, "Events")).toBe("2 −50% from 4")
    expect(week).toContain("Nov 14 – 20, 2026, beside Nov 7 – 13, 2026")
    expect(await read(`${base}?days=8`)).toContain('aria-current="true">30 days</a>')

    const retention = await read(`${base}/retention?by=day`)
    // The last 30 days have one cohort; weeks have both.
    expect(figure(retention, "Users who began")).toBe("1")
    const weeks = await read(`${base}/retention`)
    expect(figure(weeks, "Users who began")).toBe("3")
    expect(figure(weeks, "Came back on day 1")).toBe("33.3% 1 of 3")
    expect(figure(weeks, "Came back on day 7")).toBe("66.7% 2 of 3")
    expect(figure(weeks, "Came back on day 30")).toBe("50% 1 of 2")
    expect(weeks).toContain('<td class="share5" title="1 of 2">50%')
  })

  it("is of the days that the address asks for, and says what is wrong with them", async () => {
    const address = `${base}/retention?by=day&from=${dateIn(-45)}&to=${dateIn(-44)}`
    const retention = await read(address)
    expect(figure(retention, "Users who began")).toBe("2")
    expect(retention).toContain(`value="${dateIn(-45)}"`)
    const [, file] = /href="([^"]+)">Save as CSV/.exec(retention)!
    expect((await read(file!.replaceAll("&amp;", "&"))).split("\r\n")).toHaveLength(4)
    for (const [page, fault] of [
      ["retention", 'id="to-fault">To must not be before from.</p>'],
      ["recap", 'id="from-fault">From must not be after to.</p>'],
    ]) {
      const query = `by=day&from=${dateIn(-3)}&to=${dateIn(-4)}`
      const { status, text } = await places.viewer.get(`${base}/${page}?${query}`)
      expect([page, status, text.includes(fault!)]).toEqual([page, 400, true])
    }
  })

  it("is of a segment or of a variant on the page Retention, and in its file", async () => {
    const production = places.api("shop", "production")
    const pros = "/dashboard/shop/production/retention"
    expect(await read(pros)).not.toContain('name="of"')
    await production("POST", "/segments", {
      ...{ key: "pros", name: "Pros & more" },
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    await production("POST", "/experiments", {
      ...{ key: "goal", name: "Goal" },
      variants: [
        { key: "control", weight: 1 },
        { key: "goal", weight: 1000 },
      ],
    })
    for (const [userId, daysAgo] of [
      ["pia", 20],
      ["pia", 19],
      ["quinn", 20],
    ] as const) {
      await production("POST", "/events/import", {
        events: [{ userId, action: "TAP", occurredAt: `${dateIn(-daysAgo)}T00:00:00Z` }],
      })
    }
    await production("PUT", "/users/pia", { attributes: { plan: "pro" } })
    expect(figure(await read(pros), "Users who began")).toBe("2")
    const page = await read(`${pros}?by=week&of=segment:pros`)
    expect(figure(page, "Users who began")).toBe("1")
    expect(figure(page, "Came back on day 1")).toBe("100% 1 of 1")
    expect(page).toContain(
      '<option value="segment:pros" selected>Segment: Pros &amp; more</option>',
    )
    expect(page).toContain("who are in the segment <bdi>pros</bdi> now")
    const [, file] = /href="([^"]+)">Save as CSV/.exec(page)!
    expect(await read(file!.replaceAll("&amp;", "&"))).toMatch(/,1,1,1,1,1,0,0,/)
    expect(await read(`${pros}?of=experiment:goal:goal`)).toContain(
      "None of these users entered in the days",
    )
    const { variant } = (await production("POST", "/events", { userId: "rob", action: "TAP" }))
      .experiments[0]
    const entered = await read(`${pros}?of=experiment:goal:${variant}`)
    expect(figure(entered, "Users who entered")).toBe("1")
    expect(entered).toContain(`with the variant <bdi>${variant}</bdi>`)
  })

  it("is a file on request", async () => {
    const path = `${base}/activity.csv?from=${dateIn(-45)}&to=${dateIn(-45)}`
    const activity = await places.viewer.get(path)
    expect(activity.text).toContain(`${dateIn(-45)},true,2,2,2,2,0,1,2,20,0,0\r\n`)
    const retention = await read(`${base}/retention.csv?by=week`)
    expect(retention.split("\r\n")).toHaveLength(14)
    expect(retention).toMatch(/^from,to,users,d1Of/)
  })
})
