/** The stock of an item in a cluster whose owner is killed while users buy it. */
import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import type { Reply } from "./Caller.ts"
import { followed } from "./Runner.ts"
import { useTwoRunners } from "./twoRunners.ts"

const stock = 12
const had = 5
const buyers = Array.from({ length: 40 }, (_, n) => `buyer-${n}`)

describe("An item in a cluster of two runners", () => {
  const { decided, read, roles } = useTwoRunners("purchases")

  it("goes to as many buyers as there are units, although the owner is killed meanwhile, and repeats are duplicates", async () => {
    const { other, owner } = await roles()
    await followed(other)
    const poster = { key: "poster", name: "Poster", price: { points: 2 }, stock }
    expect((await decided("/v1/items", poster)).status).toBe(201)
    const rewards = buyers.map((userId) => ({ userId, reward: { points: had } }))
    expect((await decided("/v1/rewards/batch", { rewards })).status).toBe(200)

    let sold = 0
    let killed: Promise<void> | undefined
    const buy = async (userId: string, index: number): Promise<Reply> => {
      // A few at a time: the owner is killed while others wait.
      await delay(20 * index)
      const path = `/v1/users/${userId}/purchases`
      const reply = await decided(path, { item: "poster", id: `order-${userId}` }, index)
      if (reply.status === 200 && ++sold === 4) killed = owner.kill()
      return reply
    }
    const replies = await Promise.all(buyers.map(buy))
    expect(killed).toBeDefined()
    await killed

    const bought = buyers.filter((_, index) => replies[index]!.status === 200)
    const refusals = replies.filter(({ status }) => status !== 200)
    expect(bought.length).toBe(stock)
    expect(new Set(refusals.map(({ body }) => (body as { code: string }).code))).toEqual(
      new Set(["sold_out"]),
    )
    expect(await read(other, "/v1/items/poster")).toMatchObject({ stock, sold: stock, left: 0 })

    for (const [index, userId] of buyers.entries()) {
      const path = `/v1/users/${userId}/purchases`
      const again = await decided(path, { item: "poster", id: `order-${userId}` })
      const { balances } = await read<{ readonly balances: { readonly points: number } }>(
        other,
        `/v1/users/${userId}`,
      )
      if (bought.includes(userId)) {
        const { purchaseId } = replies[index]!.body as { readonly purchaseId: string }
        expect(again.body).toMatchObject({ purchaseId, duplicate: true })
      } else
        expect([again.status, (again.body as { code: string }).code]).toEqual([409, "sold_out"])
      expect([userId, balances.points]).toEqual([userId, bought.includes(userId) ? had - 2 : had])
    }

    // The killed runner folds the same sales.
    await owner.start()
    await followed(owner)
    await other.end("SIGTERM")
    expect(await read(owner, "/v1/items/poster")).toMatchObject({ sold: stock, left: 0 })
    const last = await decided("/v1/users/buyer-0/purchases", { item: "poster" })
    expect((last.body as { code: string }).code).toBe("sold_out")
  })
})
