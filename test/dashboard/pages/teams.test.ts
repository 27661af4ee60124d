import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { base, startWorld, type World } from "./definitions/world.ts"
import { expectMarked, fieldsOf } from "./pageForm.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const teams = `${base}/teams`
const send = async (path: string, fields: Record<string, string> = {}) => {
  const { location, text } = await world.owner.post(path, fields)
  if (location === null) throw new Error(text)
  return (await world.owner.get(location)).text
}
const create = (id: string, kind = "club") => send(teams, { id, kind, name: `The ${id}` })
const read = async (path: string) => (await world.api("GET", `/v1/teams/${path}`)).json

describe("The page of teams", () => {
  it("creates the typed team, lists it by kind, and marks the fields of a refusal", async () => {
    expect(await create("north/1")).toContain("Team The north/1 saved.")
    expect(await read("north%2F1")).toMatchObject({ kind: "club", name: "The north/1" })
    await create("7b", "class")
    const list = (await world.owner.get(`${teams}?kind=class`)).text
    expect(list).toContain(`href="${teams}/7b"`)
    expect(list).not.toContain("north")
    const typed = { id: "new", kind: "club", name: "New" }
    for (const [name, bad] of [
      ["id", ".."],
      ["kind", "No Kind"],
      ["name", "N".repeat(201)],
    ] as const) {
      expectMarked(await world.owner.post(teams, { ...typed, [name]: bad }), name, bad)
    }
    expectMarked(await world.owner.post(teams, { ...typed, id: "7b" }), "id", "7b")
    expect(await read("7b")).toMatchObject({ kind: "class", version: 1 })
  })
})

describe("The page of a team", () => {
  it("adds, shows and removes members, whatever their ids", async () => {
    await create("owls")
    const page = await send(`${teams}/owls/members`, { userId: "a/<b>" })
    expect(page).toContain("&lt;b&gt;")
    expect((await read("owls/members")).members).toMatchObject([{ userId: "a/<b>" }])
    expect((await world.owner.get(`${base}/users/${encodeURIComponent("a/<b>")}`)).text).toContain(
      `href="${teams}/owls"`,
    )
    expectMarked(await world.owner.post(`${teams}/owls/members`, { userId: ".." }), "userId", "..")
    await send(`${teams}/owls/members/${encodeURIComponent("a/<b>")}/remove`)
    expect((await read("owls/members")).members).toEqual([])
  })

  it("saves the typed name and attributes in the version that the page showed", async () => {
    await create("doves")
    const path = `${teams}/doves`
    const fields = fieldsOf((await world.owner.get(path)).text, path)
    await send(path, { ...fields, name: "Doves", attributes: '{"seats":3}' })
    expect(await read("doves")).toMatchObject({ name: "Doves", attributes: { seats: 3 } })
    const late = await world.owner.post(path, { ...fields, name: "Late" })
    expect(late.text).toContain("It has version 2. Nothing was changed.")
    expectMarked(
      await world.owner.post(path, { ...fields, version: "2", attributes: "{" }),
      "attributes",
      "{",
    )
    expect(await read("doves")).toMatchObject({ name: "Doves", version: 2 })
  })

  it("deletes the team, which the audit log names", async () => {
    await create("swans")
    expect(await send(`${teams}/swans/delete`)).toContain("Team swans deleted.")
    expect((await world.api("GET", "/v1/teams/swans")).status).toBe(404)
    expect((await world.server.logged())[0]).toMatchObject({
      action: "team.delete",
      subject: "swans",
    })
  })
})
