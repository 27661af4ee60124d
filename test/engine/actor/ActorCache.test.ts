import { describe, expect, it } from "vitest"
import { ActorCache, DecodedUsers } from "../../../src/engine/actor/ActorCache.ts"
import { domain, Environments } from "../../../src/engine/actor/Environments.ts"
import { limits } from "../../../src/Limits.ts"
import { plainUser } from "../records/users.ts"

/** A cache of an engine whose snapshot goes up to `watermark`. */
const cacheOf = (decoded: DecodedUsers, watermark = 0) => {
  const clock = { now: 0 }
  const now = () => clock.now
  const stateBytes = { bytes: 0 }
  const environments = new Environments({ domain, now, sooner: () => {}, stateBytes })
  const cache = new ActorCache({ decoded, now, watermark: () => watermark, environments })
  const environment = environments.of("e")
  const users = () => [...environment.users.keys()]
  /** A user whose only record, 12, is durable. */
  const add = (id: string) => {
    const actor = cache.add(environment, id)
    actor.load({ ...plainUser, id })
    actor.leadTo(12)
    environment.changed(actor)
    return actor
  }
  return { add, cache, clock, environment, users }
}

describe("Decoded users", () => {
  it("leave from the least recently used on, and their states are in buckets then", () => {
    const { add, cache, environment, users } = cacheOf(new DecodedUsers(3))
    for (const id of ["a", "b", "c"]) add(id)
    cache.use(environment, "a")
    for (const id of ["d", "e"]) add(id)
    expect(users()).toEqual(["a", "d", "e"])
    expect(cache.size).toBe(3)
    expect(environment.states.has("d")).toBe(false)
    expect(environment.states.read("b")).toEqual({ ...plainUser, id: "b" })
    expect(environment.durableOf("b")).toEqual({ ...plainUser, id: "b" })
  })

  it("stay while they run, or have a record that is not durable", () => {
    const { add, users } = cacheOf(new DecodedUsers(2))
    const running = add("running")
    const ahead = add("ahead")
    running.running = true
    ahead.state = { ...plainUser, id: "ahead", sequence: 13 }
    ahead.lastAppended = 13
    for (const id of ["a", "b"]) add(id)
    expect(users()).toEqual(["running", "ahead", "b"])
    running.running = false
    ahead.durable = ahead.state
    for (const id of ["c", "d", "e"]) add(id)
    expect(users()).toEqual(["d", "e"])
  })

  it("stay without a state until the snapshot has their records", () => {
    const erased = (watermark: number) => {
      const { add, users } = cacheOf(new DecodedUsers(1), watermark)
      add("erased").resume(undefined, undefined)
      for (const id of ["a", "b"]) add(id)
      return users()
    }
    expect(erased(11)).toEqual(["erased", "b"])
    expect(erased(12)).toEqual(["b"])
  })

  it("stay for actorRestartWindowMs after a failure", () => {
    const { add, clock, users } = cacheOf(new DecodedUsers(1))
    add("failed").restarts = 1
    clock.now = limits.actorRestartWindowMs
    for (const id of ["a", "b"]) add(id)
    expect(users()).toEqual(["failed", "b"])
    clock.now++
    for (const id of ["c", "d"]) add(id)
    expect(users()).toEqual(["d"])
  })

  it("are as many as those of one engine in the engines of a process together", () => {
    const decoded = new DecodedUsers(10)
    const [one, other] = [cacheOf(decoded), cacheOf(decoded)]
    for (let n = 0; n < 20; n++) {
      one.add(`u${n}`)
      other.add(`u${n}`)
    }
    expect([one.cache.size, other.cache.size]).toEqual([5, 5])
    other.cache.leave()
    for (let n = 20; n < 40; n++) one.add(`u${n}`)
    expect(one.cache.size).toBe(10)
  })
})
