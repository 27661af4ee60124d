import { describe, expect, it } from "vitest"
import { ActorCache, overrunOf } from "../../../src/engine/actor/ActorCache.ts"
import { domain, Environments } from "../../../src/engine/actor/Environments.ts"
import { limits } from "../../../src/Limits.ts"

const now = () => 0

/** A cache with `users` users, each with a record of sequence 1; the snapshot goes up to `watermark`. */
const crowded = (users: number, watermark: number) => {
  const environments = new Environments({ domain, now, sooner: () => {} })
  const asked = { count: 0 }
  const cache = new ActorCache({
    residentUsersMax: 10,
    residentUsersOverrunMax: 300,
    idlePassivateMs: 1,
    now,
    watermark: () => watermark,
    environments,
    onCrowded: () => {
      asked.count++
    },
  })
  for (let n = 0; n < users; n++) {
    cache.add(environments.of("e"), `u${n}`).lastAppended = 1
  }
  return { asked, cache }
}

describe("The users beyond residentUsersMax during a snapshot", () => {
  it("are half as many, and at least residentUsersOverrunMin", () => {
    const least = limits.residentUsersOverrunMin
    expect(overrunOf(limits.residentUsersMax)).toBe(100_000)
    expect(overrunOf(2 * least + 2)).toBe(least + 1)
    expect(overrunOf(2 * least)).toBe(least)
    expect(overrunOf(1)).toBe(least)
  })

  it("leave as others come, without another snapshot, where the last one has them", () => {
    const { asked, cache } = crowded(300, 1)
    for (let size = 300; size > 150; size = cache.size) {
      expect(cache.admit(5)).toBeUndefined()
      expect(cache.size).toBeLessThan(size - 5)
    }
    expect(asked.count).toBe(0)
  })

  it("stay where no snapshot has them, and the cache asks for one", () => {
    const { asked, cache } = crowded(300, 0)
    expect(cache.admit(10)).toBeUndefined()
    expect(cache.admit(11)).toMatchObject({ code: "overloaded" })
    expect(cache.size).toBe(300)
    expect(asked.count).toBe(2)
  })
})
