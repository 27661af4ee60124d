import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const leagues = `${base}/leagues`
const blank = async (): Promise<Record<string, string>> =>
  fieldsOf((await world.owner.get(`${leagues}/new`)).text, `${leagues}/new`)
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${leagues}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/leagues\/(lga_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/leagues/${id}`)).json
}

describe("The form of a league", () => {
  it("creates the typed league, and only one however often it is sent", async () => {
    const fields = {
      ...(await blank()),
      name: "Cup",
      key: "cup",
      window: "daily",
      cohortSize: "12",
      by: "points",
      "divisions.1.icon": "🥈",
      "rewards.0.division": "gold",
      "rewards.0.ranks.0": "1",
      "rewards.0.outcome": "stayed",
      "rewards.0.reward.points": "25",
    }
    const league = await create(fields)
    expect(league).toMatchObject({
      name: "Cup",
      key: "cup",
      score: { currency: "points" },
      window: "daily",
      cohortSize: 12,
      graceMinutes: 0,
      divisions: [
        { key: "bronze", name: "Bronze", icon: null, promote: 10, demote: 0 },
        { key: "silver", name: "Silver", icon: "🥈", promote: 7, demote: 5 },
        { key: "gold", name: "Gold", icon: null, promote: 0, demote: 5 },
      ],
      rewards: [
        {
          division: "gold",
          ranks: [1, 1],
          outcome: "stayed",
          reward: { xp: 0, points: 25, badgeId: null },
        },
      ],
    })
    expect((await create(fields)).id).toBe(league.id)
  })

  it("marks the fields of a refusal", async () => {
    const bad = {
      by: "rubies",
      "divisions.1.key": "bronze",
      "divisions.2.demote": "31",
      startsAt: "soon",
    }
    for (const [name, value] of Object.entries(bad)) {
      const fields = { ...(await blank()), name: "Bad", [name]: value }
      expectMarked(await world.owner.post(`${leagues}/new`, fields), name, value)
    }
    const rewarding = {
      name: "Bad",
      "rewards.0.ranks.0": "1",
      "rewards.0.reward.points": "1",
    }
    for (const [name, value] of [
      ["rewards.0.division", "iron"],
      ["rewards.0.reward.badgeId", "bdg_unknown"],
    ] as const) {
      const fields = { ...(await blank()), ...rewarding, [name]: value }
      expectMarked(await world.owner.post(`${leagues}/new`, fields), name, value)
    }
  })

  it("saves any league of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewLeague",
      list: "leagues",
      // An environment has few leagues.
      count: 7,
      edit: (body: Json) => {
        body.score = { currency: "points" }
        body.status = "draft"
        body.cohortSize = 100
        // The key of a division, of a badge and of a streak are made at random.
        body.rewards = (body.rewards ?? []).map(
          ({ outcome, ranks, reward }: Json, index: number): Json => ({
            ...(index % 2 === 0 && { division: "d0" }),
            ...(ranks !== undefined && { ranks: ranks.toSorted((a: number, b: number) => a - b) }),
            ...(outcome !== undefined && { outcome }),
            reward: { xp: reward.xp, points: reward.points ?? 1 },
          }),
        )
        body.divisions = body.divisions.map((division: Json, index: number) => ({
          ...division,
          key: `d${index}`,
          promote: Math.min(division.promote, 50),
          demote: Math.min(division.demote, 50),
        }))
      },
    }).finally(async () => {
      const { json } = await world.api("GET", "/v1/leagues?status=draft&limit=100")
      for (const { id } of json.leagues) await world.api("DELETE", `/v1/leagues/${id}`)
    })
  })
})

describe("The pages of leagues", () => {
  it("list them, show their cohorts, and buttons pause, resume and archive them", async () => {
    const { id, version } = await create({ ...(await blank()), name: "Listed" })
    await world.api("POST", "/v1/users/seen/rewards", { type: "xp", amount: 7 })
    await world.api("PUT", "/v1/users/seen", { displayName: "<b>Seen</b>" })
    const { text } = await world.owner.get(`${leagues}?status=active`)
    const name = `<a href="${leagues}/${id}"><bdi>Listed</bdi></a><br><code>listed</code>`
    expect(cellsOf(text, name).slice(0, 4)).toEqual([
      "active",
      "xp, a week",
      "Bronze, Silver, Gold",
      "everyone",
    ])
    const own = (await world.owner.get(`${leagues}/${id}`)).text
    expect(own).toContain(`href="${leagues}/${id}/cohorts"`)
    const cohorts = (await world.owner.get(`${leagues}/${id}/cohorts`)).text
    expect(cohorts).toContain("&lt;b&gt;Seen&lt;/b&gt;")
    expect(cohorts).toContain("moves up")
    expect(cohorts).toContain("and closes at")
    expect(cellsOf(cohorts, "bronze-1")).toBeDefined()
    const member = `${leagues}/${id}/members/seen`
    expect(cohorts).toContain(`action="${member}/disqualify"`)
    const { location } = await world.owner.post(`${member}/disqualify`, {})
    const off = (await world.owner.get(location!)).text
    expect(off).toContain("Disqualified.")
    expect(off).toContain(`action="${member}/rank"`)
    await world.owner.post(`${member}/rank`, {})
    expect((await world.owner.get(`${leagues}/${id}/cohorts`)).text).toContain("moves up")
    const log = (await world.owner.get(`${base}/log?on=seen`)).text
    expect(log).toContain("<code>league.disqualify</code>")
    const gold = (await world.owner.get(`${leagues}/${id}/cohorts?division=gold`)).text
    expect(gold).toContain("No cohort yet.")
    const press = async (verb: string, at: number) => {
      await world.owner.post(`${leagues}/${id}/${verb}`, { version: String(at) })
      return (await world.api("GET", `/v1/leagues/${id}`)).json.status
    }
    expect(await press("pause", version)).toBe("paused")
    expect(await press("resume", version + 1)).toBe("active")
    expect(await press("archive", version + 2)).toBe("archived")
    expect((await world.owner.get(`${leagues}/${id}`)).status).toBe(200)
  })
})
