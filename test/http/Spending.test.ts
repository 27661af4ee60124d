/** Points that users spend, over HTTP: outcomes, refusals, repeats and races. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const grant = async (user: string, amount: number): Promise<string> => {
  const body = { type: "points", amount }
  return (await server.call("POST", `/v1/users/${user}/rewards`, { body })).json.rewardId
}
const spend = (user: string, body: unknown, headers = {}) =>
  server.call("POST", `/v1/users/${user}/points/spend`, { body, headers })
const refund = (user: string, spendId: string) =>
  server.call("DELETE", `/v1/users/${user}/points/spend/${spendId}`)
const pointsOf = async (user: string): Promise<number> =>
  (await server.call("GET", `/v1/users/${user}`)).json.points
const codes = (
  replies: ReadonlyArray<{ readonly status: number; readonly json: { code?: string } }>,
) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(replies, ({ json, status }) => json.code ?? String(status))).map(
      ([code, all]) => [code, all?.length],
    ),
  )

describe("POST /v1/users/:id/points/spend", () => {
  it("spends, and DELETE of the spend refunds, once", async () => {
    await grant("ada", 300)
    const { json, status } = await spend("ada", { amount: 120, reason: "Freeze" })
    expect(status).toBe(200)
    expect(json).toEqual({
      spendId: expect.stringMatching(/^spd_[0-9a-z]{10,}$/),
      userId: "ada",
      amount: 120,
      reason: "Freeze",
      duplicate: false,
      points: { spent: 120, total: 180 },
    })
    const back = await refund("ada", json.spendId)
    expect([back.status, back.json]).toEqual([
      200,
      {
        spendId: json.spendId,
        userId: "ada",
        points: { refunded: 120, total: 300 },
        shortfall: { points: 0 },
      },
    ])
    const again = await refund("ada", json.spendId)
    expect([again.status, again.json.code]).toEqual([404, "spend_not_found"])
    expect(await pointsOf("ada")).toBe(300)
  })

  it("is refused with 409 and the balance if points are missing, and with 404 for unknown users", async () => {
    await grant("poor", 3)
    const { json, status } = await spend("poor", { amount: 4 })
    expect([status, json.code, json.balance]).toEqual([409, "insufficient_points", 3])
    expect(await pointsOf("poor")).toBe(3)
    const unknown = await spend("nobody", { amount: 1 })
    expect([unknown.status, unknown.json.code]).toEqual([404, "user_not_found"])
    expect((await server.call("GET", "/v1/users/nobody")).status).toBe(404)
  })

  it("accepts amounts up to its bound, and lists all faults of a body", async () => {
    await grant("rich", limits.amountMax)
    const faults = async (body: unknown) =>
      (await spend("rich", body)).json.errors.map((fault: { pointer: string; code: string }) => [
        fault.pointer,
        fault.code,
      ])
    expect(await faults({ amount: limits.amountMax + 1 })).toEqual([["/amount", "out_of_range"]])
    for (const amount of [0, -1])
      expect(await faults({ amount })).toEqual([["/amount", "out_of_range"]])
    for (const amount of [1.5, "1", null, [1]])
      expect(await faults({ amount })).toEqual([["/amount", "invalid_type"]])
    const id = "i".repeat(limits.idCharactersMax + 1)
    const reason = "r".repeat(limits.reasonCharactersMax + 1)
    expect((await faults({ id, reason, currency: "gems" })).toSorted()).toEqual([
      ["/amount", "missing"],
      ["/currency", "unknown_member"],
      ["/id", "too_long"],
      ["/reason", "too_long"],
    ])
    const longest = { id: id.slice(1), reason: reason.slice(1), amount: limits.amountMax }
    expect((await spend("rich", longest)).json.points.total).toBe(0)
  })

  it("returns the first outcome for the id of an earlier spend, and takes points once", async () => {
    await grant("twice", 10)
    const body = { amount: 6, id: "order-1", reason: "A" }
    const first = await spend("twice", body)
    const { json, status } = await spend("twice", body)
    expect([status, json]).toEqual([200, { ...first.json, duplicate: true }])
    expect(await pointsOf("twice")).toBe(4)
    const other = { type: "points", amount: 1, id: "order-1" }
    const reward = await server.call("POST", "/v1/users/twice/rewards", { body: other })
    expect(reward.json.duplicate).toBe(false)
  })

  it("does not remember a refused id: the same spend succeeds once there are points", async () => {
    await grant("later", 1)
    expect((await spend("later", { amount: 2, id: "o" })).status).toBe(409)
    await grant("later", 1)
    expect((await spend("later", { amount: 2, id: "o" })).json.duplicate).toBe(false)
  })

  it("keeps its outcome, and its refusal with the balance, for an Idempotency-Key", async () => {
    await grant("keyed", 5)
    const key = { "idempotency-key": "spend-1" }
    const first = await spend("keyed", { amount: 5 }, key)
    const replayed = await spend("keyed", { amount: 5 }, key)
    expect([replayed.json, replayed.headers["idempotency-replayed"]]).toEqual([first.json, "true"])
    expect((await spend("keyed", { amount: 4 }, key)).status).toBe(422)
    const short = { "idempotency-key": "spend-2" }
    await spend("keyed", { amount: 1 }, short)
    await grant("keyed", 1)
    const kept = await spend("keyed", { amount: 1 }, short)
    expect([kept.status, kept.json.balance]).toEqual([409, 0])
  })

  it("needs a key of full scope", async () => {
    for (const scope of ["ingest", "read"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}`, { scope })
      const body = { amount: 1 }
      const path = "/v1/users/ada/points/spend"
      for (const [method, where] of [
        ["POST", path],
        ["DELETE", `${path}/spd_x`],
      ] as const) {
        const { json } = await server.call(method, where, {
          key,
          ...(method === "POST" && { body }),
        })
        expect(json.code).toBe("insufficient_scope")
      }
    }
  })

  it("does not change a leaderboard", async () => {
    await server.call("POST", "/v1/users/ranked/rewards", { body: { type: "xp", amount: 9 } })
    await grant("ranked", 5)
    const board = () => server.call("GET", "/v1/leaderboard?around=ranked")
    const before = (await board()).json
    await spend("ranked", { amount: 5 })
    expect((await board()).json).toEqual(before)
  })

  it("refunds nothing of another user, and by no id of another kind", async () => {
    await grant("mine", 5)
    const { spendId } = (await spend("mine", { amount: 5 })).json
    const rewardId = await grant("mine", 1)
    for (const [user, id] of [
      ["ada", spendId],
      ["nobody", spendId],
      ["mine", rewardId],
      ["mine", rewardId.replace("rwd", "spd")],
      ["mine", `${spendId}0`],
      ["mine", "order-1"],
    ]) {
      const { json } = await refund(user, id)
      expect([user, id, json.code]).toEqual([user, id, "spend_not_found"])
    }
    const asReward = `/v1/users/mine/rewards/${spendId.replace("spd", "rwd")}`
    expect((await server.call("DELETE", asReward)).json.code).toBe("reward_not_found")
    expect(await pointsOf("mine")).toBe(1)
  })
})

describe("Races", () => {
  it("of 1,000 spends of the last point are won by one", async () => {
    await grant("raced", 1)
    const replies = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        spend("raced", { amount: 1, ...(index % 2 === 0 && { id: `o-${index}` }) }),
      ),
    )
    expect(codes(replies)).toEqual({ "200": 1, insufficient_points: 999 })
    expect(await pointsOf("raced")).toBe(0)
  })

  it("of 200 refunds of one spend return its points once", async () => {
    await grant("refunded", 7)
    const { spendId } = (await spend("refunded", { amount: 7 })).json
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => refund("refunded", spendId)),
    )
    expect(codes(replies)).toEqual({ "200": 1, spend_not_found: 199 })
    expect(await pointsOf("refunded")).toBe(7)
  })

  it("of spends with undos of the rewards never leave a balance below 0, nor one beyond what was earned", async () => {
    const rewards = await Promise.all(Array.from({ length: 100 }, () => grant("both", 2)))
    const asked = rewards.flatMap((rewardId) => [
      spend("both", { amount: 3 }),
      server.call("DELETE", `/v1/users/both/rewards/${rewardId}`),
    ])
    const replies = await Promise.all(asked)
    const totals = replies.map(({ json }) => json.points?.total ?? json.balance)
    expect(Math.min(...totals)).toBe(0)
    const spends = replies.flatMap(({ json }) => json.spendId ?? [])
    expect(spends.length).toBeGreaterThan(0)
    for (const spendId of spends) await refund("both", spendId)
    // All rewards were revoked: no points are left, whatever was refunded.
    expect(await pointsOf("both")).toBe(0)
  })
})
