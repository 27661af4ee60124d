/** A shared goal in a cluster whose owner is killed while the goal is reached and paid. */
import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { eventually, followed, type Runner } from "./Runner.ts"
import { useTwoRunners } from "./twoRunners.ts"

const target = 150
const contributors = Array.from({ length: 60 }, (_, n) => `user-${n}`)

interface GoalRead {
  readonly progress: { readonly total: number; readonly rewarded: number | null }
}

describe("A goal of everyone in a cluster of two runners", () => {
  const { decided, read, roles } = useTwoRunners("goals")

  const paid = (runner: Runner) =>
    eventually("all rewards are paid", async () => {
      const { progress } = await read<GoalRead>(runner, "/v1/goals/together")
      return progress.rewarded === null ? undefined : progress
    })

  it("is completed once, and pays each contributor once, although the owner is killed as it is reached", async () => {
    const { other, owner } = await roles()
    await followed(other)
    const goal = { key: "together", name: "Together", score: { metric: "taps" }, target }
    const metric = { key: "taps", name: "Taps", aggregate: "sum", actions: ["TAP"], value: "taps" }
    expect((await decided("/v1/metrics", metric)).status).toBe(201)
    const reward = { points: 7 }
    expect((await decided("/v1/goals", { ...goal, reward })).status).toBe(201)

    let completions = 0
    let contributed = 0
    let killed: Promise<void> | undefined
    const contribute = async (userId: string, index: number) => {
      await delay(20 * index)
      const event = { userId, action: "TAP", id: `tap-${userId}`, metadata: { taps: 3 } }
      const { body, status } = await decided("/v1/events", event, index)
      expect(status).toBe(200)
      const { goals = [] } = body as {
        readonly goals?: ReadonlyArray<{ readonly contributed: number; readonly reached?: number }>
      }
      for (const one of goals) {
        contributed += one.contributed
        if (one.reached !== 100) continue
        completions++
        killed = owner.kill()
      }
      return goals.length > 0
    }
    const took = await Promise.all(contributors.map(contribute))
    expect([completions, contributed]).toEqual([1, target])
    expect(killed).toBeDefined()
    await killed

    const rewarded = took.filter((isPart) => isPart).length
    expect(rewarded).toBe(target / 3)
    expect(await paid(other)).toMatchObject({ total: target, rewarded })
    const points = async (runner: Runner) =>
      Promise.all(
        contributors.map(
          async (userId) =>
            (await read<{ readonly points: number }>(runner, `/v1/users/${userId}`)).points,
        ),
      )
    const expected = took.map((isPart) => (isPart ? 7 : 0))
    expect(await points(other)).toEqual(expected)

    // The killed runner folds the same total, and pays nobody again.
    await owner.start()
    await followed(owner)
    await other.end("SIGTERM")
    expect(await paid(owner)).toMatchObject({ total: target, rewarded })
    expect(await points(owner)).toEqual(expected)
  })
})
