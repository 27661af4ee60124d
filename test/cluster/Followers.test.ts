/** The runners that follow a partition, and which of them may take it when its owner is gone. */
import { beforeEach, describe, expect, it } from "vitest"
import { Followers } from "../../src/cluster/Followers.ts"
import type { Owner } from "../../src/cluster/Owners.ts"
import { limits } from "../../src/Limits.ts"

const owners = {
  runners: [] as ReadonlyArray<string>,
  owner: undefined as Owner | undefined,
  of: (_partition: number) => owners.owner,
}
let now = 0
const at = (address: string, count = 1) => new Followers({ owners, address, count, now: () => now })

beforeEach(() => {
  now = 1_000
  owners.runners = ["a", "b", "c", "d"]
  owners.owner = { address: "a", epoch: 3 }
})

describe("The followers of a partition", () => {
  const following = (count?: number) =>
    ["a", "b", "c", "d"].filter((address) => at(address, count).isFollower(1))

  it("are the configured number of other runners, and stay the same when the owner is gone", () => {
    expect(following(0)).toEqual([])
    const [first] = following()
    expect(following()).toHaveLength(1)
    expect(following(2)).toHaveLength(2)
    expect(following(2)).toContain(first)
    expect(following(8)).toEqual(["b", "c", "d"])
    owners.runners = ["b", "c", "d"]
    expect(following()).toEqual([first])
    // As the first one becomes the owner.
    owners.owner = { address: first!, epoch: 4 }
    expect(following(8)).toEqual(["b", "c", "d"].filter((address) => address !== first))
  })

  it("do not exist before a first owner, or while the owner is alone", () => {
    owners.owner = { address: "", epoch: 0 }
    expect(following()).toEqual([])
    owners.owner = undefined
    expect(following()).toEqual([])
    owners.owner = { address: "a", epoch: 1 }
    owners.runners = ["a"]
    expect(following()).toEqual([])
  })
})

describe("A partition whose owner is gone", () => {
  beforeEach(() => {
    owners.runners = ["b", "c"]
  })

  it("goes to a follower with all records at once, and to other runners after its head start", () => {
    expect(at("b").mayTake(1, true)).toBe(true)
    const other = at("c")
    expect(other.mayTake(1, false)).toBe(false)
    now += limits.followerHeadStartMs - 1
    expect(other.mayTake(1, false)).toBe(false)
    now += 1
    expect(other.mayTake(1, false)).toBe(true)
  })

  it("has a head start of its own, counted from the last time that it became free", () => {
    const other = at("c")
    expect(other.mayTake(1, false)).toBe(false)
    now += limits.followerHeadStartMs
    expect(other.mayTake(2, false)).toBe(false)
    expect(other.mayTake(1, false)).toBe(true)
    // It had an owner again, and loses that one.
    owners.owner = { address: "d", epoch: 4 }
    expect(other.mayTake(1, false)).toBe(false)
    // The same owner came back, and is gone later.
    now += limits.followerHeadStartMs + 1
    expect(other.mayTake(1, false)).toBe(false)
  })

  it("goes to any runner at once if no follower exists", () => {
    expect(at("c", 0).mayTake(1, false)).toBe(true)
    owners.runners = ["c"]
    expect(at("c").mayTake(1, false)).toBe(true)
    // The row of the last owner may still be there.
    owners.runners = ["a", "c"]
    expect(at("c").mayTake(1, false)).toBe(true)
    owners.runners = ["a", "b", "c"]
    // It was the owner itself, before its restart.
    expect(at("a").mayTake(1, false)).toBe(true)
    owners.owner = { address: "", epoch: 0 }
    expect(at("c").mayTake(1, false)).toBe(true)
  })

  it("goes to a runner that has its share only after the head start, unless that runner follows it", () => {
    owners.runners = ["c"]
    const alone = at("c")
    expect(alone.mayTake(1, false, false)).toBe(false)
    expect(alone.mayTake(1, true, false)).toBe(true)
    owners.owner = { address: "", epoch: 0 }
    expect(alone.mayTake(2, false, true)).toBe(true)
    expect(alone.mayTake(2, false, false)).toBe(false)
    now += limits.followerHeadStartMs
    expect(alone.mayTake(2, false, false)).toBe(true)
  })

  it("is followed by the other runners after its runner gave it away, and goes first to those with all records", () => {
    owners.runners = ["a", "b", "c"]
    owners.owner = { address: "", epoch: 3 }
    expect(["a", "b", "c"].filter((address) => at(address, 2).isFollower(1))).toHaveLength(2)
    expect([at("b").mayTake(1, true), at("c").mayTake(1, false)]).toEqual([true, false])
    expect(at("a").isAlone(1)).toBe(false)
    owners.runners = ["a"]
    expect(at("a").isAlone(1)).toBe(true)
  })
})

describe("The followers of many partitions", () => {
  const partitions = 16
  const followerOf = (partition: number) =>
    owners.runners.filter((address) => at(address).isFollower(partition))
  const all = () => Array.from({ length: partitions }, (_, index) => followerOf(index + 1))

  it("are several runners, and a runner that joins displaces only the followers that it replaces", () => {
    owners.runners = ["a", "b", "c"]
    const before = all()
    expect(before.every((found) => found.length === 1 && found[0] !== "a")).toBe(true)
    expect(new Set(before.flat())).toEqual(new Set(["b", "c"]))
    owners.runners = ["a", "b", "c", "d"]
    const after = all()
    const changed = after.filter(([found], index) => found !== before[index]![0])
    expect(changed.length).toBeGreaterThan(0)
    expect(changed.length).toBeLessThan(partitions)
    expect(new Set(changed.flat())).toEqual(new Set(["d"]))
  })
})
