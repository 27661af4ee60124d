/** Which partition moves next, and that moves end with even shares. */
import { beforeEach, describe, expect, it } from "vitest"
import { Shares } from "../../src/cluster/Shares.ts"
import { limits } from "../../src/Limits.ts"
import { randomOf } from "../simulation/random.ts"

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
  measured: new Map<number, number>(),
  loads: { of: (partition: number) => owners.measured.get(partition) ?? 0 },
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
  owners.measured = new Map()
})

/** Carries out all moves, and returns them. */
const allMoves = () => {
  const shares = at("a")
  const moves: Array<number> = []
  settled(shares)
  for (;;) {
    const { move } = shares
    if (move === undefined) return moves
    owners.owned.set(move.partition, move.to)
    moves.push(move.partition)
    expect(moves.length).toBeLessThan(100)
    expect(shares.move).toBeUndefined()
    now += limits.moveRestMs
  }
}

const loadsOf = () =>
  owners.runners.map((runner) =>
    [...owners.owned].reduce(
      (sum, [partition, owner]) => sum + (owner === runner ? owners.loads.of(partition) : 0),
      0,
    ),
  )

const countsOf = () =>
  owners.runners.map((one) => [...owners.owned.values()].filter((of) => of === one).length)

describe("A move", () => {
  it("follows another until all runners have their share, then no move follows", () => {
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

  it("waits until the set of runners has not changed for a while", () => {
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

  it("waits a moment after a change of an owner, and the longer pause after an owner was gone", () => {
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

  it("does not exist while a partition has no live owner", () => {
    owners.owned.set(5, "gone")
    expect(settled(at("a"))).toBeUndefined()
    owners.owned.delete(5)
    expect(settled(at("a"))).toBeUndefined()
  })

  it("does not exist with one runner, one partition, or no runners", () => {
    expect(settled(at("a", 1))).toBeUndefined()
    owners.runners = ["a"]
    expect(settled(at("a"))).toBeUndefined()
    owners.runners = []
    expect(settled(at("a"))).toBeUndefined()
  })

  it("is followed by its receiver, and given by the owner alone, once the receiver has all records", () => {
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

describe("A move by load", () => {
  it("gives each of three runners a third of twelve projects, wherever they were", () => {
    // Even in numbers: the first runner has all the projects of a cluster that began with it.
    for (const begin of ["all on one", "even numbers"]) {
      for (let partition = 1; partition <= partitions; partition++) {
        const runner = begin === "all on one" || partition < 7 ? 0 : (partition % 2) + 1
        owners.owned.set(partition, owners.runners[runner]!)
        owners.measured.set(partition, partition <= 12 ? 50 : 0)
      }
      allMoves()
      expect(loadsOf()).toEqual([200, 200, 200])
      expect(Math.max(...countsOf()) - Math.min(...countsOf())).toBeLessThan(2)
      expect(owners.owned.get(1)).toBe("a")
    }
  })

  it("follows the load, not the number: a busy partition has a runner with few others", () => {
    for (let partition = 1; partition <= partitions; partition++) {
      owners.measured.set(partition, partition === 3 ? 300 : partition < 9 ? 40 : 0)
    }
    allMoves()
    // 300 cannot be divided; the others share the rest.
    expect(loadsOf().sort((one, other) => one - other)).toEqual([120, 160, 300])
    // One that is busy alone stays where it is, and the idle ones are spread.
    owners.owned = new Map(Array.from({ length: partitions }, (_, index) => [index + 1, "a"]))
    owners.measured = new Map([[1, 500]])
    expect(allMoves()).not.toContain(1)
    expect(countsOf().sort()).toEqual([5, 5, 6])
  })

  it("moves partition 1 only if no other partition makes the loads more even", () => {
    owners.runners = ["a", "b"]
    owners.measured = new Map([
      [1, 100],
      [2, 100],
    ])
    expect(allMoves()).not.toContain(1)
    owners.owned = new Map(
      Array.from({ length: partitions }, (_, index) => [index + 1, index < 8 ? "a" : "b"]),
    )
    owners.measured = new Map([
      [1, 60],
      [2, 300],
      [9, 100],
    ])
    expect(allMoves()[0]).toBe(1)
  })

  it("is not made for a load below `loadMin`, or for a small difference", () => {
    for (let partition = 1; partition <= partitions; partition++) {
      owners.owned.set(partition, owners.runners[partition % 3]!)
    }
    owners.measured = new Map([
      [3, limits.loadMin / 2 - 0.1],
      [6, limits.loadMin / 2],
    ])
    expect(allMoves()).toEqual([])
    owners.measured.set(3, limits.loadMin / 2)
    expect(allMoves()[0]).toBe(6)
    // Two of four equal loads on one runner cannot be lessened; with a bit more on it they are not
    // worth a move.
    owners.owned = new Map(
      Array.from({ length: partitions }, (_, index) => [index + 1, owners.runners[index % 3]!]),
    )
    owners.measured = new Map([
      [1, 11],
      [2, 10],
      [3, 10],
      [4, 10],
    ])
    expect(allMoves()).toEqual([])
  })

  it("ends whatever the loads, and no runner has much more than it must", () => {
    const seed = 20_261_126
    const random = randomOf(seed)
    for (let round = 0; round < 200; round++) {
      owners.runners = ["a", "b", "c", "d"].slice(0, 2 + Math.floor(random() * 3))
      for (let partition = 1; partition <= partitions; partition++) {
        const runner = Math.floor(random() * owners.runners.length)
        owners.owned.set(partition, owners.runners[runner]!)
        owners.measured.set(partition, random() < 0.3 ? 0 : Math.floor(random() ** 3 * 1_000))
      }
      allMoves()
      const loads = loadsOf()
      const largest = Math.max(...owners.measured.values())
      const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length
      expect(Math.max(...loads), `seed ${seed}, round ${round}`).toBeLessThanOrEqual(
        Math.max(largest, 1.5 * mean) + largest,
      )
    }
  })
})

describe("The share of a runner", () => {
  it("is its fraction of all partitions, rounded up", () => {
    expect(at("a").most).toBe(6)
    owners.runners = ["a"]
    expect(at("a").most).toBe(16)
    owners.runners = []
    expect(at("a").most).toBe(16)
    expect(at("a", 1).most).toBe(1)
  })
})
