/** The overview of an environment, and what it warns of. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places

beforeAll(async () => {
  places = await startPlaces()
})
afterAll(() => places.server.stop())

const base = "/dashboard/shop/sandbox"
const read = async (path: string): Promise<string> => (await places.viewer.get(path)).text

describe("Actions that no definition names", () => {
  it("are named on the overview and listed beside the rules, until a definition names them", async () => {
    const sandbox = places.api("shop", "sandbox")
    await sandbox("POST", "/rules", { action: "LESSON_DONE", reward: { xp: 50 } })
    await sandbox("POST", "/events", { userId: "ada", action: "LESSON_DONE" })
    const warning = /class="alert">No rule, quest, badge or streak names the action/
    expect(await read(base)).not.toMatch(warning)
    expect(await read(`${base}/rules`)).not.toContain("Events without a definition")

    for (const userId of ["ada", "grace"]) {
      await sandbox("POST", "/events", { userId, action: "LESON_DONE" })
    }
    const overview = await read(base)
    expect(overview).toMatch(warning)
    expect(overview).toContain("names the action <code>LESON_DONE</code>. <a")
    const [, list] = /href="([^"]+)">Actions without a definition</.exec(overview)!
    const actions = await read(list!)
    expect(actions).toMatch(/<td><code>LESON_DONE<\/code><\/td><td>2<\/td>/)
    expect(await read("/dashboard/shop/production")).not.toContain("LESON_DONE")

    await sandbox("POST", "/rules", { action: "LESON_DONE", reward: { xp: 50 } })
    expect(await read(base)).not.toMatch(warning)
    expect(await read(`${base}/rules`)).not.toContain("Events without a definition")
  })

  it("are counted on the overview beyond the first three", async () => {
    const production = places.api("shop", "production")
    const events = Array.from({ length: 5 }, (_, index) => ({
      userId: "ada",
      action: `A_${index}`,
    }))
    await production("POST", "/events/batch", { events })
    const overview = await read("/dashboard/shop/production")
    expect(overview).toMatch(/names the actions (<code>A_\d<\/code>,? ?){3} and 2 more\./)
  })
})
