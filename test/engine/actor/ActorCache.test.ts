import { describe, expect, it } from "vitest"
import { overrunOf } from "../../../src/engine/actor/ActorCache.ts"
import { limits } from "../../../src/Limits.ts"

describe("The users beyond residentUsersMax during a snapshot", () => {
  it("are half as many, and at least residentUsersOverrunMin", () => {
    const least = limits.residentUsersOverrunMin
    expect(overrunOf(limits.residentUsersMax)).toBe(100_000)
    expect(overrunOf(2 * least + 2)).toBe(least + 1)
    expect(overrunOf(2 * least)).toBe(least)
    expect(overrunOf(1)).toBe(least)
  })
})
