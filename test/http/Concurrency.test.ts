import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "DONE", reward: { xp: 1 } } })
})
afterAll(() => server.stop())

describe("many requests at once", () => {
  it("for one user are applied one by one, each exactly once", async () => {
    const count = 2_000
    const replies = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        // Every tenth event is sent twice.
        server.call("POST", "/v1/events", {
          body: { userId: "busy", action: "DONE", id: `e${index - (index % 10 === 9 ? 1 : 0)}` },
        }),
      ),
    )
    const applied = replies.filter(({ json }) => json.duplicate === false)
    const totals = applied.map(({ json }) => json.xp.total).toSorted((a, b) => a - b)
    expect(totals).toEqual(Array.from({ length: count * 0.9 }, (_, index) => index + 1))
    const { json } = await server.call("GET", "/v1/users/busy")
    expect(json.xp).toBe(count * 0.9)
  })

  it("with one Idempotency-Key change one thing once", async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, () =>
        server.call("POST", "/v1/users/once/rewards", {
          body: { type: "xp", amount: 7 },
          headers: { "idempotency-key": "same" },
        }),
      ),
    )
    const rewards = new Set(
      replies.filter(({ status }) => status === 200).map(({ json }) => json.rewardId),
    )
    expect(rewards.size).toBe(1)
    for (const { json, status } of replies) {
      if (status !== 200) expect([status, json.code]).toEqual([409, "idempotency_in_progress"])
    }
    expect((await server.call("GET", "/v1/users/once")).json.xp).toBe(7)
  })
})
