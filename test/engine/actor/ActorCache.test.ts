import { describe, expect, it } from "vitest"
import { ActorCache, overrunOf, Residents } from "../../../src/engine/actor/ActorCache.ts"
import { domain, Environments } from "../../../src/engine/actor/Environments.ts"
import { limits } from "../../../src/Limits.ts"

const now = () => 0

/** The caches of engines that share room; each asks its own engine for snapshots. */
const sharing = (residents = new Residents(10, 300)) => {
  const clock = { now: 0 }
  const cacheOf = (environmentId: string, watermark: number) => {
    const environments = new Environments({ domain, now, sooner: () => {} })
    const asked = { count: 0 }
    const snapshot = { watermark }
    const cache = new ActorCache({
      residents,
      idlePassivateMs: 1,
      now: () => clock.now,
      watermark: () => snapshot.watermark,
      environments,
      onCrowded: () => {
        asked.count++
      },
    })
    const environment = environments.of(environmentId)
    const add = (userId: string) => {
      cache.add(environment, userId).lastAppended = 1
    }
    const users = () => [...environment.users.keys()]
    return { add, asked, cache, snapshot, users }
  }
  return { cacheOf, clock, residents }
}

/** A cache with `users` users, each with the last record 1; the snapshot goes up to `watermark`. */
const crowded = (users: number, watermark: number) => {
  const { add, asked, cache } = sharing().cacheOf("e", watermark)
  for (let n = 0; n < users; n++) add(`u${n}`)
  return { asked, cache }
}

describe("The users beyond residentUsersMax during a snapshot", () => {
  it("number half of residentUsersMax, and at least residentUsersOverrunMin", () => {
    const least = limits.residentUsersOverrunMin
    expect(overrunOf(limits.residentUsersMax)).toBe(100_000)
    expect(overrunOf(2 * least + 2)).toBe(least + 1)
    expect(overrunOf(2 * least)).toBe(least)
    expect(overrunOf(1)).toBe(least)
  })

  it("leave when others come, without another snapshot, if the last one has them", () => {
    const { asked, cache } = crowded(300, 1)
    for (let size = 300; size > 150; size = cache.size) {
      expect(cache.admit(5)).toBeUndefined()
      expect(cache.size).toBeLessThan(size - 5)
    }
    expect(asked.count).toBe(0)
  })

  it("stay if no snapshot has them, and the cache asks for a snapshot", () => {
    const { asked, cache } = crowded(300, 0)
    expect(cache.admit(10)).toBeUndefined()
    expect(cache.admit(11)).toMatchObject({ code: "overloaded" })
    expect(cache.size).toBe(300)
    expect(asked.count).toBe(2)
  })
})

describe("Engines that share the room for users", () => {
  it("hold together as many as one engine alone, and the least recently used leave first", () => {
    const { cacheOf, clock } = sharing()
    const [one, other] = [cacheOf("e1", 1), cacheOf("e2", 1)]
    for (let n = 0; n < 10; n++) {
      clock.now = n
      const cache = n % 2 === 0 ? one : other
      expect(cache.cache.admit()).toBeUndefined()
      cache.add(`u${n}`)
    }
    expect([one.cache.hasRoom(1), other.cache.hasRoom(1)]).toEqual([false, false])
    expect(one.cache.admit()).toBeUndefined()
    expect([one.users(), other.users()]).toEqual([
      ["u2", "u4", "u6", "u8"],
      ["u1", "u3", "u5", "u7", "u9"],
    ])
    expect(one.cache.admit(3)).toBeUndefined()
    expect([one.users(), other.users()]).toEqual([
      ["u4", "u6", "u8"],
      ["u3", "u5", "u7", "u9"],
    ])
    expect([one.asked.count, other.asked.count]).toEqual([0, 0])
  })

  it("count room that another engine promised, and get it when that engine closes", () => {
    const { cacheOf } = sharing()
    const [one, other] = [cacheOf("e1", 1), cacheOf("e2", 1)]
    for (let n = 0; n < 4; n++) one.add(`u${n}`)
    one.cache.promised += 3
    expect(other.cache.occupied).toBe(7)
    expect([other.cache.hasRoom(3), other.cache.hasRoom(4)]).toEqual([true, false])
    one.cache.leave()
    expect([other.cache.hasRoom(10), other.cache.hasRoom(11)]).toEqual([true, false])
  })

  it("are asked for a snapshot, each that has users who cannot leave", () => {
    const { cacheOf } = sharing(new Residents(10, 5))
    const [one, other, idle] = [cacheOf("e1", 0), cacheOf("e2", 0), cacheOf("e3", 0)]
    for (let n = 0; n < 14; n++) one.add(`u${n}`)
    other.add("v")
    const before = idle.cache.watermarks
    expect(idle.cache.admit()).toMatchObject({ code: "overloaded" })
    expect([one, other, idle].map(({ asked }) => asked.count)).toEqual([1, 1, 0])
    one.snapshot.watermark = 1
    expect(idle.cache.watermarks).toBeGreaterThan(before)
    expect(idle.cache.admit()).toBeUndefined()
    expect(one.users().length + other.users().length).toBe(9)
    expect(other.users()).toEqual(["v"])
  })

  it("sweep the idle users of all engines", () => {
    const { cacheOf, clock } = sharing()
    const [one, other] = [cacheOf("e1", 1), cacheOf("e2", 1)]
    one.add("early")
    other.add("early too")
    clock.now = 1
    one.add("late")
    one.cache.sweep(limits.sweepActorsMax)
    expect([one.users(), other.users()]).toEqual([["late"], []])
  })
})
