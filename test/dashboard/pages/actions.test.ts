/** The page Actions, and the form of a rule that it leads to. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places

beforeAll(async () => {
  places = await startPlaces()
  const sandbox = places.api("shop", "sandbox")
  await sandbox("POST", "/rules", {
    ...{ key: "buy", action: "BUY", reward: { xp: 1 }, multiplierPath: "amount" },
    where: [{ path: "cart.total", op: "gte", value: 5 }],
  })
  await sandbox("POST", "/rules", { key: "late", action: "LATE", reward: { xp: 1 } })
  await sandbox("PATCH", "/rules/late", { status: "paused" })
  await sandbox("POST", "/metrics", {
    ...{ key: "km", name: "Km & miles", aggregate: "sum", actions: ["RUN"], value: "km" },
  })
  for (const action of ["BUY", "BUY", "BYU", "LATE"]) {
    await sandbox("POST", "/events", { userId: "ada", action })
  }
  await sandbox("POST", "/events", { userId: "ada", action: "RUN", metadata: { kms: 5, up: true } })
})
afterAll(() => places.server.stop())

const base = "/dashboard/shop/sandbox"
const rowOf = (page: string, action: string): string =>
  page
    .split("<tr>")
    .find((row) => row.includes(`<code>${action}</code></td>`))!
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

describe("The page Actions", () => {
  it("has each action with its events, what names it, and the metadata that is read", async () => {
    const { text } = await places.viewer.get(`${base}/actions`)
    expect(rowOf(text, "BUY")).toMatch(
      /^BUY 2 .* UTC rule BUY cart\.total is read by a definition\. No event of BUY had this path lately\. amount is read by a definition\./,
    )
    expect(rowOf(text, "RUN")).toMatch(
      /^RUN 1 .* UTC metric Km &amp; miles km is read by a definition\. No event of RUN had this path lately\. Did you mean kms \? kms number, in 100% up boolean, in 100%$/,
    )
    expect(rowOf(text, "BYU")).toMatch(/^BYU 1 .* UTC nothing\.$/)
    expect(rowOf(text, "LATE")).toMatch(/ rule LATE not active now\.$/)
    const { text: unmatched } = await places.viewer.get(`${base}/actions?named=no`)
    expect(unmatched).not.toContain("<code>BUY</code>")
    expect(unmatched).toContain("Named by nothing (2)")
    const { text: sorted } = await places.viewer.get(`${base}/actions?sort=events`)
    expect(sorted.indexOf("<code>BUY<")).toBeLessThan(sorted.indexOf("<code>BYU<"))
    expect(sorted).toContain(
      'aria-sort="descending"><a href="/dashboard/shop/sandbox/actions?sort=events">Events',
    )
  })

  it("tells rules of one action apart by their keys", async () => {
    const sandbox = places.api("shop", "sandbox")
    for (const key of ["drag", "drag-bonus"]) {
      await sandbox("POST", "/rules", { key, action: "DRAG", reward: { xp: 1 } })
    }
    await sandbox("POST", "/events", { userId: "ada", action: "DRAG" })
    const { text } = await places.viewer.get(`${base}/actions`)
    expect(rowOf(text, "DRAG")).toMatch(/ UTC rule DRAG drag rule DRAG drag-bonus$/)
  })

  it("leads admins to the form of a rule with the action", async () => {
    const { text } = await places.admin.get(`${base}/actions?named=no`)
    const [, address] = /href="([^"]+action=BYU)">Create a rule</.exec(text)!
    const { text: form } = await places.admin.get(address!)
    expect(form).toMatch(/name="action"[^>]* value="BYU"/)
    // A link fills no field but these.
    const { text: other } = await places.admin.get(`${base}/rules/new?name=Odd&action=%22%3E`)
    expect(other).not.toContain("Odd")
    expect(other).toMatch(/name="action"[^>]* value="&quot;&gt;"/)
  })

  it("has a sentence without events", async () => {
    expect((await places.owner.get("/dashboard/bank/production/actions")).text).toContain(
      "No event was received yet.",
    )
  })
})
