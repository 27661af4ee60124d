import { describe, expect, it } from "vitest"
import { differences } from "../../../src/cli/commands/demo.ts"

const standing = (userId: string, xp: number) => ({ rank: 1, userId, xp, level: 1 })

describe("differences", () => {
  it("are empty if leaderboard and git agree, in any order", () => {
    const expected = new Map([
      ["ada", 2],
      ["__proto__", 1],
    ])
    expect(differences(expected, [standing("__proto__", 10), standing("ada", 20)])).toEqual([])
  })

  it("name authors with more commits, with fewer, missing authors and unknown ones", () => {
    const expected = new Map([
      ["more", 1],
      ["fewer", 3],
      ["missing", 1],
    ])
    const found = [standing("more", 20), standing("fewer", 25), standing("stranger", 10)]
    expect(differences(expected, found)).toEqual([
      '"more": 1 commits in git, 2 on the leaderboard',
      '"fewer": 3 commits in git, 2.5 on the leaderboard',
      '"missing": 1 commits in git, 0 on the leaderboard',
      '"stranger": 0 commits in git, 1 on the leaderboard',
    ])
  })
})
