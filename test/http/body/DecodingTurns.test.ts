/** All bodies together use a bounded share of each turn of the event loop. */
import { describe, expect, it } from "vitest"
import { DecodingTurns } from "../../../src/http/body/EventDecoder.ts"

/** An event loop whose turns end on demand, and whose clock advances by the cost of steps. */
class ManualTurns {
  time = 0
  #ends: Array<() => void> = []

  readonly now = (): number => this.time

  readonly atEnd = (callback: () => void): void => {
    this.#ends.push(callback)
  }

  /** Ends a turn; returns the duration of the work at its end. */
  end(): number {
    const startedAt = this.time
    const ends = this.#ends
    this.#ends = []
    for (const end of ends) end()
    return this.time - startedAt
  }

  get idle(): boolean {
    return this.#ends.length === 0
  }
}

const budgetMs = 5

const setUp = () => {
  const turns = new ManualTurns()
  const decoding = new DecodingTurns(budgetMs, turns)
  const order: Array<string> = []
  /** A body that takes a number of steps with a fixed duration. */
  const body = (name: string, steps: number, stepMs = 1, environment = "e") => {
    let left = steps
    return decoding.run(environment, () => {
      turns.time += stepMs
      order.push(name)
      return --left === 0 ? name : undefined
    })
  }
  return { body, decoding, order, turns }
}

describe("a body", () => {
  it("that takes little time is decoded at once, without a promise", () => {
    const { body, turns } = setUp()
    expect(body("a", 5)).toBe("a")
    turns.end()
    expect(turns.idle).toBe(true)
  })

  it("that takes long is decoded over several turns, within the budget of each", async () => {
    const { body, decoding, turns } = setUp()
    const large = body("a", 23)
    expect(large).toBeInstanceOf(Promise)
    expect(turns.time).toBe(budgetMs)
    const spent = []
    while (decoding.size > 0) spent.push(turns.end())
    expect(spent).toEqual([5, 5, 5, 3])
    expect(await large).toBe("a")
    turns.end()
    expect(turns.idle).toBe(true)
  })

  it("leaves the rest of the turn to the next body", async () => {
    const { body, turns } = setUp()
    expect(body("a", 3)).toBe("a")
    const second = body("b", 3)
    expect(second).toBeInstanceOf(Promise)
    expect(turns.time).toBe(budgetMs)
    // The turn has no time left.
    const third = body("c", 1)
    expect(turns.time).toBe(budgetMs)
    turns.end()
    expect([await second, await third]).toEqual(["b", "c"])
  })

  it("that is small does not wait for the whole of a large one", async () => {
    const { body, decoding, order, turns } = setUp()
    const large = body("large", 1_000)
    const small = body("small", 2)
    turns.end()
    expect(await small).toBe("small")
    expect(order.filter((name) => name === "large").length).toBeLessThanOrEqual(budgetMs + 3)
    while (decoding.size > 0) expect(turns.end()).toBeLessThanOrEqual(budgetMs)
    await large
  })

  it("of one environment does not wait for the many bodies of another", async () => {
    const { body, decoding, order, turns } = setUp()
    const many = ["a", "b", "c", "d"].map((name) => body(name, 100))
    const other = body("other", 8, 1, "f")
    turns.end()
    turns.end()
    turns.end()
    // The environments take steps in turn, so this one got every second step.
    expect(order.filter((name) => name === "other").length).toBeGreaterThanOrEqual(7)
    turns.end()
    expect(await other).toBe("other")
    expect(decoding.size).toBe(4)
    while (decoding.size > 0) expect(turns.end()).toBeLessThanOrEqual(budgetMs)
    await Promise.all(many)
  })

  it("gets one step in each turn, however long a step takes", async () => {
    const { body, turns } = setUp()
    const slow = body("slow", 3, 50)
    expect([turns.end(), turns.end()]).toEqual([50, 50])
    expect(await slow).toBe("slow")
  })

  it("that causes a defect fails without the others", async () => {
    const { body, decoding, turns } = setUp()
    const good = body("good", 8)
    const bad = decoding.run<string>("e", () => {
      throw new Error("a defect")
    })
    turns.end()
    await expect(bad).rejects.toThrow("a defect")
    turns.end()
    expect(await good).toBe("good")
  })
})
