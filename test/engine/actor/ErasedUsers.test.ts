import { describe, expect, it } from "vitest"
import { ErasedUsers } from "../../../src/engine/actor/ErasedUsers.ts"
import { limits } from "../../../src/Limits.ts"

const keptMs = limits.userTokenSecondsMax * 1_000

describe("Erased users of an environment", () => {
  it("are remembered while a token may be valid, without their ids", () => {
    const erased = new ErasedUsers()
    erased.add("ada", 1_000)
    erased.add("bob", 2_000)
    expect([erased.lastOf("ada"), erased.lastOf("bob"), erased.lastOf("eve")]).toEqual([
      1_000, 2_000, 0,
    ])
    expect(JSON.stringify(erased.stored())).not.toMatch(/ada|bob/)
    expect(erased.forget(1_000 + keptMs)).toBe(false)
    expect(erased.forget(1_001 + keptMs)).toBe(true)
    expect([erased.lastOf("ada"), erased.lastOf("bob")]).toEqual([0, 2_000])
    expect(erased.forget(2_001 + keptMs)).toBe(true)
    expect(erased.stored()).toEqual({})
  })

  it("have the time of their last erasure", () => {
    const erased = new ErasedUsers()
    erased.add("ada", 1_000)
    erased.add("bob", 2_000)
    erased.add("ada", 3_000)
    expect(erased.forget(3_000 + keptMs)).toBe(true)
    expect([erased.lastOf("ada"), erased.lastOf("bob")]).toEqual([3_000, 0])
  })

  it(`are at most ${limits.erasedUsersMax}: beyond that, users who are not listed count as erased with the oldest`, () => {
    const erased = new ErasedUsers()
    for (let at = 1; at <= limits.erasedUsersMax; at++) erased.add(`u${at}`, at)
    expect([erased.lastOf("u1"), erased.lastOf("nobody")]).toEqual([1, 0])
    erased.add("one more", 1 + limits.erasedUsersMax)
    expect(["u1", "nobody", "u2"].map((userId) => erased.lastOf(userId))).toEqual([1, 1, 2])
    const again = new ErasedUsers()
    again.load(erased.stored().erased!)
    expect(["u1", "nobody", "u2"].map((userId) => again.lastOf(userId))).toEqual([1, 1, 2])
  })
})
