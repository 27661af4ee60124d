import { describe, expect, it } from "vitest"
import {
  noTeams,
  type Team,
  type Teams,
  teamsAfter,
  teamsOf,
  teamWithId,
  withoutTeam,
  withTeam,
} from "../../../src/domain/project/Team.ts"
import { compareCodePoints } from "../../../src/domain/values/Ids.ts"
import { limits } from "../../../src/Limits.ts"
import { Random } from "../../simulation/random.ts"

const teamOf = (id: string, number: number, kind = "club"): Team => ({
  id,
  number,
  kind,
  name: id,
  attributes: {},
  version: 1,
  createdAt: 0,
  updatedAt: 0,
})

const many = (count: number): Teams => {
  let teams = noTeams
  for (let n = 0; n < count; n++) teams = withTeam(teams, teamOf(`t${(n * 7_919) % count}`, n + 1))
  return teams
}

describe("the list of teams", () => {
  it("equals a sorted map after any changes, in chunks that are neither empty nor too large", () => {
    const random = new Random(7)
    const ids = ["a", "B", "𝄞", "\uffee", ...Array.from({ length: 300 }, (_, n) => `t${n}`)]
    let teams = noTeams
    const model = new Map<string, Team>()
    for (let step = 0; step < 3_000; step++) {
      const id = random.pick(ids)
      if (random.chance(step < 1_500 ? 0.2 : 0.7)) {
        teams = withoutTeam(teams, id)
        model.delete(id)
      } else if (!model.has(id)) {
        const team = teamOf(id, teams.next, random.pick(["club", "class"]))
        teams = withTeam(teams, team)
        model.set(id, team)
      }
      if (step % 100 > 0) continue
      const sorted = [...model.values()].sort((one, other) => compareCodePoints(one.id, other.id))
      expect([...teamsAfter(teams, undefined)]).toEqual(sorted)
      expect([...teamsAfter(teams, id)]).toEqual(
        sorted.filter((each) => compareCodePoints(each.id, id) > 0),
      )
      for (const each of ids) expect(teamWithId(teams, each)).toBe(model.get(each))
      expect(teams.count).toBe(model.size)
      const sizes = teams.chunks.map((chunk) => chunk.teams.length)
      expect(sizes.every((size) => size > 0 && size <= limits.teamChunkMax)).toBe(true)
      expect(teamsOf(teams.next, [...teams.chunks].reverse())).toEqual(teams)
    }
    expect(teams.next).toBeGreaterThan(500)
  })

  it("shares all chunks but the changed one with the list before", () => {
    const before = many(1_000)
    const after = withTeam(before, { ...teamWithId(before, "t500")!, name: "Renamed" })
    const known = new Set(before.chunks)
    expect(after.chunks.filter((chunk) => !known.has(chunk))).toHaveLength(1)
    expect(after.count).toBe(1_000)
  })

  it("refuses stored chunks that overlap, and a team with a number of the future", () => {
    const { chunks, next } = many(200)
    expect(() => teamsOf(next, [...chunks, chunks[0]!])).toThrow("out of order")
    expect(() => teamsOf(next - 1, chunks)).toThrow("is not below")
  })
})
