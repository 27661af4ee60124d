/** Which partition moves next, and that moves end with even shares. */
import { beforeEach, describe, expect, it } from "vitest"
import { Shares } from "../../src/cluster/Shares.ts"
import { limits } from "../../src/Limits.ts"

const partitions = 16
const owners = {
  runners: [] as ReadonlyArray<string>,
  owned: new Map<number, string>(),
  epoch: 1,
  caughtUp: (_partition: number, _address: string) => true,
  of: (partition: number) => {
    const address = owners.owned.get(partition)
    return address === undefined ? undefined : { address, epoch: owners.epoch }
  },
  isCaughtUp: (partition: number, address: string) => owners.caughtUp(partition, address),
}
let now = 0
const at = (address: string, count = partitions) =>
  new Shares({ owners, address, partitions: count, now: () => now })

/** The move once runners, or owners, have stayed as they are. */
const settled = (shares: Shares, pauseMs: number = limits.movePauseMs) => {
  expect(shares.move).toBeUndefined()
  now += pauseMs
  return shares.move
}

beforeEach(() => {
  now = 1_000
  owners.runners = ["a", "b", "c"]
  owners.owned = new Map(Array.from({ length: partitions }, (_, index) => [index + 1, "a"]))
  owners.caughtUp = () => true
})

describe("A move", () => {
  it("follows another until all runners have their share, and then there is none", () => {
    const all = ["a", "b", "c"].map((address) => at(address))
    let moves = 0
    for (;;) {
      // The first one waits for the runners, each further one for the owners.
      const pauseMs = moves === 0 ? limits.movePauseMs : limits.moveRestMs
      for (const shares of all) expect(shares.move).toBeUndefined()
      now += pauseMs
      const found = all.map(({ move }) => move)
      // All find the same one.
      expect(new Set(found.map((move) => JSON.stringify(move))).size).toBe(1)
      const [move] = found
      if (move === undefined) break
      expect(owners.owned.get(move.partition)).toBe(move.from)
      owners.owned.set(move.partition, move.to)
      moves++
    }
    const counts = ["a", "b", "c"].map(
      (one) => [...owners.owned.values()].filter((of) => of === one).length,
    )
    expect(counts.sort()).toEqual([5, 5, 6])
    expect(moves).toBe(10)
    // The directory stays as long as another can move.
    expect(owners.owned.get(1)).toBe("a")
  })

  it("waits until runners have stayed the same", () => {
    const shares = at("a")
    expect(shares.move).toBeUndefined()
    now += limits.movePauseMs - 1
    expect(shares.move).toBeUndefined()
    owners.runners = ["a", "b"]
    now += 1
    expect(shares.move).toBeUndefined()
    now += limits.movePauseMs - 1
    expect(shares.move).toBeUndefined()
    now += 1
    expect(shares.move).toEqual({ partition: 16, from: "a", to: "b" })
  })

  it("waits a moment after a change of an owner, and as long as for runners after one that was gone", () => {
    const shares = at("a")
    expect(settled(shares)).toBeDefined()
    owners.epoch++
    expect(shares.move).toBeUndefined()
    now += limits.moveRestMs - 1
    expect(shares.move).toBeUndefined()
    now += 1
    expect(shares.move).toBeDefined()
    owners.owned.set(5, "gone")
    expect(shares.move).toBeUndefined()
    owners.owned.set(5, "b")
    now += limits.moveRestMs
    expect(settled(shares, limits.movePauseMs - 1)).toBeUndefined()
    now += 1
    expect(shares.move).toBeDefined()
  })

  it("is none while a partition has no owner that is alive", () => {
    owners.owned.set(5, "gone")
    expect(settled(at("a"))).toBeUndefined()
    owners.owned.delete(5)
    expect(settled(at("a"))).toBeUndefined()
  })

  it("is none with one runner, with one partition, or without runners", () => {
    expect(settled(at("a", 1))).toBeUndefined()
    owners.runners = ["a"]
    expect(settled(at("a"))).toBeUndefined()
    owners.runners = []
    expect(settled(at("a"))).toBeUndefined()
  })

  it("is followed by the one that gets it, and given by the owner alone, once that one has all records", () => {
    const [from, to, other] = [at("a"), at("b"), at("c")]
    for (const shares of [from, to, other]) settled(shares)
    expect([to, from, other].map((shares) => shares.isHeir(16))).toEqual([true, false, false])
    owners.caughtUp = () => false
    expect(from.heirOf(16)).toBeUndefined()
    owners.caughtUp = (partition, address) => partition === 16 && address === "b"
    expect(from.heirOf(16)).toBe("b")
    expect(from.heirOf(15)).toBeUndefined()
    expect(to.heirOf(16)).toBeUndefined()
  })
})

describe("The share of a runner", () => {
  it("is a part of all, rounded up", () => {
    expect(at("a").most).toBe(6)
    owners.runners = ["a"]
    expect(at("a").most).toBe(16)
    owners.runners = []
    expect(at("a").most).toBe(16)
    expect(at("a", 1).most).toBe(1)
  })
})
