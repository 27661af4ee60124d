/** Which of its partitions a runner answers for, takes and gives away. */
import { Effect } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { Opening } from "../../src/cluster/Opening.ts"
import { Partitions } from "../../src/cluster/Partitions.ts"
import { anyRunner } from "../../src/cluster/Placement.ts"
import type { PartitionHandler } from "../../src/cluster/PreparedPartition.ts"
import { limits } from "../../src/Limits.ts"

let now = 0
let ended: Array<string>
let known: { owner: string; isAlone: boolean; heir: string | undefined; mayAnswer: boolean }
let asked: Array<ReadonlyArray<unknown>>

const handler = {} as PartitionHandler
const following = { behindSeconds: 2, lastSequence: 7, isCaughtUp: true }

const make = () => {
  const all = [1, 2, 3].map((number) => ({
    handler: number === 3 ? undefined : handler,
    requests: undefined,
    following: number === 3 ? (following as never) : undefined,
    opening: new Opening(() => now),
    leave: Effect.andThen(
      Effect.yieldNow,
      Effect.sync(() => ended.push("left")),
    ),
    freeze: Effect.sync(() => void ended.push(`froze ${number}`)),
    run: () => Effect.never,
  }))
  const here = new Partitions(all, {
    owners: { of: () => ({ address: known.owner, epoch: 1 }) },
    followers: {
      isAlone: () => known.isAlone,
      mayTake: (...given) => {
        asked.push(given)
        return true
      },
    },
    shares: { most: 2, heirOf: () => known.heir },
    address: "a",
    mayAnswer: (number) => number === 1 || known.mayAnswer,
  })
  return { all, here }
}

beforeEach(() => {
  now = 0
  ended = []
  asked = []
  known = { owner: "b", isAlone: false, heir: undefined, mayAnswer: true }
})

describe("The partitions of a runner", () => {
  it("answer while they are open and the directory is current", () => {
    const { here } = make()
    const answering = () => [0, 1, 2, 3, 4, Number.NaN].map((number) => here.handlerOf(number))
    expect(answering()).toEqual([undefined, handler, handler, undefined, undefined, undefined])
    known.mayAnswer = false
    expect(answering()[1]).toBe(handler)
    expect(answering()[2]).toBeUndefined()
  })

  it("are taken up to its share, and not again after it could not open them", () => {
    const { all, here } = make()
    expect([here.mayTake(3, 1), here.mayTake(2, 2)]).toEqual([true, true])
    expect(asked).toEqual([
      [3, true, true],
      [2, false, false],
    ])
    expect(here.follows).toEqual([{ partition: 3, behindSeconds: 2, lastSequence: 7 }])
    all[2]!.opening.gaveAway()
    expect(here.mayTake(3, 0)).toBe(false)
    expect(here.follows).toEqual([])
    known.owner = "a"
    expect(here.mayTake(3, 0)).toBe(true)
    known = { ...known, owner: "b", isAlone: true }
    expect(here.mayTake(3, 0)).toBe(true)
  })

  it("are given to any other runner if it cannot open them, and to the heir to rebalance", () => {
    const { all, here } = make()
    expect(here.givesAway(2)).toBeUndefined()
    known.heir = "c"
    expect(here.givesAway(2)).toBe("c")
    here.gaveAway(2, "c")
    expect(all[1]!.opening.pauses).toBe(false)
    all[1]!.opening.begins()
    now += limits.openingMs
    expect(here.givesAway(2)).toBe(anyRunner)
    here.gaveAway(2, anyRunner)
    expect(all.map(({ opening }) => opening.pauses)).toEqual([false, true, false])
    known = { ...known, heir: undefined, isAlone: true }
    expect(here.givesAway(2)).toBeUndefined()
  })

  it("are handed over at the end: all leave before any is frozen", async () => {
    await Effect.runPromise(make().here.handOver)
    expect(ended.slice(0, 3)).toEqual(["left", "left", "left"])
    expect(ended.slice(3).sort()).toEqual(["froze 1", "froze 2", "froze 3"])
  })
})
