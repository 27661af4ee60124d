/** The page Recap: what all users did in a range of days. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places

beforeAll(async () => {
  places = await startPlaces()
})
afterAll(() => places.server.stop())

const base = "/dashboard/shop/sandbox"
const read = async (path: string): Promise<string> => (await places.viewer.get(path)).text

/** The text of a figure. */
const figure = (page: string, name: string): string =>
  new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(page)![1]!

it("The page Recap shows what all users did in the days of its form", async () => {
  const sandbox = places.api("shop", "sandbox")
  await sandbox("POST", "/rules", { action: "TAP", reward: { xp: 10, points: 2 } })
  const on = (userId: string, date: string) => {
    return { userId, action: "TAP", occurredAt: `${date}T12:00:00Z` }
  }
  const events = [on("ada", "2026-11-01"), on("ada", "2026-11-03"), on("bob", "2026-10-01")]
  await sandbox("POST", "/events/import", { events })
  const year = await read(`${base}/recap`)
  expect(figure(year, "Active users")).toBe("2")
  expect(figure(year, "Events")).toBe("3")
  const november = await read(`${base}/recap?from=2026-11-01&to=2026-11-20`)
  expect(figure(november, "Active users")).toBe("1")
  expect(november).toContain("<td>points</td><td>4</td>")
  expect(november).toContain('name="from" type="date" value="2026-11-01"')
  expect(november).not.toContain("are not kept")
})
