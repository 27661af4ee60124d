/** The page of reminders, and its table as a file. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

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
const noonIn = (days: number) =>
  `${new Date(now + days * dayMs).toISOString().slice(0, 10)}T12:00:00Z`

describe("The page Reminders", () => {
  it("says that none was sent, then how many were, who came back, and that it shows no cause", async () => {
    expect(await read(`${base}/reminders`)).toContain("No reminder was sent in the days")
    const sandbox = places.api("shop", "sandbox")
    await sandbox("PATCH", "/project", { reminders: { inactiveDays: [1], hour: 10 } })
    await sandbox("POST", "/test-clock", { advanceTo: noonIn(1) })
    for (const userId of ["ada", "bob", "cyd"]) {
      await sandbox("POST", "/events", { userId, action: "TAP" })
    }
    await sandbox("POST", "/test-clock", { advanceTo: noonIn(2) })
    await sandbox("POST", "/events", { userId: "ada", action: "TAP" })
    const page = await read(`${base}/reminders`)
    expect(page).toContain("<td>3</td><td>1</td><td>33.3%</td>")
    expect(page).toContain('1 <span class="hint">so far</span>')
    expect(page).toContain("This shows no cause")
    const file = await read(`${base}/reminders.csv`)
    expect(file).toContain(`${noonIn(2).slice(0, 10)},user.inactive,3,1,0.3333,false\r\n`)
  })
})
