/** The pictures of users and teams over HTTP, wherever a reply ranks them. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let place: Place
beforeAll(async () => {
  server = await startServer()
  place = new Place(server, "pictures")
  await place.post("/v1/leaderboards", { key: "cities", name: "C", score: xp, groupBy: "city" })
  const teams = { entrants: "teams", teamKind: "club" }
  await place.post("/v1/leaderboards", { key: "clubs", name: "T", score: xp, ...teams })
  const divisions = [
    { key: "low", name: "Low", promote: 1, demote: 0 },
    { key: "high", name: "High", promote: 0, demote: 1 },
  ]
  await place.create("/v1/leagues", { key: "cup", name: "Cup", score: xp, divisions })
  await place.create("/v1/goals", { key: "all", name: "All", score: xp, target: 1_000 })
  await place.put("/v1/teams/owls", { kind: "club", name: "Owls", attributes: { avatarUrl: owls } })
  await place.put("/v1/teams/bats", { kind: "club", name: "Bats" })
  const users = { ada: { avatarUrl: ada, city: "Berlin" }, bob: { city: "Bonn" } }
  for (const [userId, attributes] of Object.entries(users)) {
    await place.put(`/v1/users/${userId}`, { attributes })
    const team = userId === "ada" ? "owls" : "bats"
    await place.put(`/v1/teams/${team}/members/${userId}`, {})
  }
  for (const [userId, amount] of [
    ["ada", 9],
    ["bob", 5],
  ] as const) {
    await place.post(`/v1/users/${userId}/rewards`, { type: "xp", amount })
  }
})
afterAll(() => server.stop())

const xp = { currency: "xp" }
const ada = "https://example.com/ada.png"
const owls = "https://example.com/owls.png"

/** The pictures of the entries, in their order. */
const pictures = (entries: ReadonlyArray<{ readonly avatarUrl?: string }>) =>
  entries.map((entry) => entry.avatarUrl)

describe("Entries have the attribute avatarUrl of who has one", () => {
  it("on the leaderboard of xp, and around a user", async () => {
    const { json } = await place.get("/v1/leaderboard?around=ada")
    expect(pictures([...json.entries, json.me])).toEqual([ada, undefined, ada])
    expect(json.entries[1]).not.toHaveProperty("avatarUrl")
  })

  it("on a leaderboard that names no attributes, in its groups and in a look-up", async () => {
    const path = "/v1/leaderboards/cities"
    expect(pictures((await place.get(`${path}/entries`)).json.entries)).toEqual([ada, undefined])
    const { groups } = (await place.get(`${path}/groups`)).json
    expect(pictures(groups.map(({ leader }: { leader: object }) => leader))).toEqual([
      ada,
      undefined,
    ])
    const { users } = (await place.post(`${path}/lookup`, { users: ["bob", "ada"] })).json
    expect(pictures(users.map(({ entry }: { entry: object }) => entry))).toEqual([ada, undefined])
  })

  it("on a leaderboard of teams", async () => {
    const { json } = await place.get("/v1/leaderboards/clubs/teams")
    expect(pictures(json.entries)).toEqual([owls, undefined])
  })

  it("in a cohort of a league", async () => {
    const { json } = await place.get("/v1/users/bob/leagues/cup")
    expect(pictures(json.entries)).toEqual([ada, undefined])
  })

  it("among the contributors of a goal", async () => {
    const path = "/v1/goals/all/contributors"
    await vi.waitUntil(async () => (await place.get(path)).json.contributors?.length === 2, {
      timeout: 30_000,
    })
    expect(pictures((await place.get(path)).json.contributors)).toEqual([ada, undefined])
  })

  it("among the members of a team, and the top users of a recap", async () => {
    const { json } = await place.get("/v1/teams/owls/members")
    expect(pictures(json.members)).toEqual([ada])
    const today = new Date().toISOString().slice(0, 10)
    const recap = (await place.get(`/v1/recap?from=${today}&to=${today}`)).json
    expect(pictures(recap.topUsers)).toEqual([ada, undefined])
  })

  it("as text if it is none, and not if it is empty", async () => {
    const shown = async (avatarUrl: string | number) => {
      await place.put("/v1/users/bob", { attributes: { city: "Bonn", avatarUrl } })
      const [, bob] = (await place.get("/v1/leaderboards/cities/entries")).json.entries
      return bob.avatarUrl
    }
    expect(await shown(7)).toBe("7")
    expect(await shown("")).toBeUndefined()
  })
})
