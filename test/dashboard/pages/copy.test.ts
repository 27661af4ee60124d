/** Copies of definitions from one environment of a project to the other. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places
beforeAll(async () => {
  places = await startPlaces()
})
afterAll(() => places.server.stop())

const production = "/dashboard/shop/production/copy"
const shownIn = (text: string): string => /name="shown" value="([^"]+)"/.exec(text)![1]!
const named = async (environment: "production" | "sandbox", list: string) => {
  const all = await places.api("shop", environment)("GET", `/${list}`)
  return all[list].map(({ key }: { key: string }) => key)
}

describe("The page that copies definitions", () => {
  it("shows each change before it is made, and copies what was chosen alone", async () => {
    const sandbox = places.api("shop", "sandbox")
    await sandbox("POST", "/rules", { key: "lesson", action: "LESSON_DONE", reward: { xp: 50 } })
    await sandbox("POST", "/rules", { key: "share", action: "SHARED", reward: { xp: 5 } })
    const { text } = await places.owner.get(production)
    expect(text).toContain('value="rule:lesson"')
    expect(text).toContain("<code>{&quot;xp&quot;:50}</code>")
    expect(await named("production", "rules")).toEqual([])

    const shown = shownIn(text)
    const reply = await places.owner.post(production, { shown, change: "rule:lesson" })
    expect(reply.status).toBe(303)
    expect((await places.owner.get(reply.location!)).text).toContain("Copied 1 change.")
    expect(await named("production", "rules")).toEqual(["lesson"])
    const [entry] = await places.server.logged()
    expect(entry).toMatchObject({ action: "definitions.apply", environment: "production" })
  })

  it("shows the members that differ, and chooses one by a link of its definition", async () => {
    const sandbox = places.api("shop", "sandbox")
    const { rules } = await sandbox("GET", "/rules")
    const { id } = rules.find(({ key }: { key: string }) => key === "lesson")
    await sandbox("PATCH", `/rules/${id}`, { reward: { xp: 60 } })
    const { text } = await places.owner.get(`/dashboard/shop/sandbox/rules/${id}`)
    const [, link] = /href="([^"]+)">Copy to production</.exec(text)!
    const page = (await places.owner.get(link!)).text
    expect(page).toContain("<code>{&quot;xp&quot;:50}</code> → <code>{&quot;xp&quot;:60}</code>")
    expect(page).toMatch(/value="rule:lesson"[^>]* checked>/)
    expect(page).not.toMatch(/value="rule:share"[^>]* checked>/)
  })

  it("copies nothing if the definitions have changed since, or nothing is chosen", async () => {
    const { text } = await places.owner.get(production)
    const shown = shownIn(text)
    const none = await places.owner.post(production, { shown })
    expect([none.status, none.text.includes("choose at least one change")]).toEqual([400, true])
    await places.api("shop", "sandbox")("POST", "/rules", { action: "NEW", reward: { xp: 1 } })
    const late = await places.owner.post(production, { shown, change: "rule:share" })
    expect(late.status).toBe(412)
    expect(late.text).toContain("these are the changes by now")
    expect(late.text).toMatch(/value="rule:share"[^>]* checked>/)
    expect(await named("production", "rules")).toEqual(["lesson"])
  })

  it("says that nothing differs, and is no page of viewers", async () => {
    const { text } = await places.owner.get("/dashboard/bank/production/copy")
    expect(text).toContain("Nothing to copy")
    expect((await places.viewer.get(production)).status).toBe(403)
  })
})
