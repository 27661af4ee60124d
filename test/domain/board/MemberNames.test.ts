import { describe, expect, it } from "vitest"
import { MemberNames } from "../../../src/domain/board/Members.ts"

describe("The names of members", () => {
  it("are those set last, on both sides of a page's end", () => {
    const names = new MemberNames()
    const members = [0, 1, 4_095, 4_096, 1_000_000]
    for (const member of members) expect(names.get(member)).toBeNull()
    for (const member of members) names.set(member, `name ${member}`)
    for (const member of members) expect(names.get(member)).toBe(`name ${member}`)
    for (const member of [2, 4_094, 4_097, 999_999]) expect(names.get(member)).toBeNull()
    names.set(4_096, null)
    names.set(5_000_000, null)
    names.set(1, "other")
    expect(members.map((member) => names.get(member))).toEqual([
      "name 0",
      "other",
      "name 4095",
      null,
      "name 1000000",
    ])
  })
})
