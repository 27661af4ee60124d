/** The stock of an item in a cluster whose owner is killed while users buy it. */
import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { ask, type Reply } from "./Caller.ts"
import { eventually, followed, ownerOf, type Runner } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

const stock = 12
const had = 5
const buyers = Array.from({ length: 40 }, (_, n) => `buyer-${n}`)

describe("An item in a cluster of two runners", () => {
  let postgres: Postgres
  let cluster: Cluster
  let key: string

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: "3 seconds" }
    cluster = await startCluster(await postgres.schema("purchases"), 2, settings, 1)
    key = cluster.keys[0]!
  })

  afterAll(async () => {
    await cluster?.remove()
    await postgres?.remove()
  })

  /** Asks runner after runner until one decides. */
  const decided = async (path: string, body: unknown, first = 0): Promise<Reply> => {
    for (let turn = first; ; turn++) {
      const { url } = cluster.runners[turn % cluster.runners.length]!
      const reply = await ask(url, key, path, body).catch(() => undefined)
      if (reply !== undefined && reply.status < 500) return reply
      await delay(20)
    }
  }

  const read = (runner: Runner, path: string) =>
    eventually(path, async () => {
      const { body, status } = await ask(runner.url, key, path)
      return status === 200 ? (body as Record<string, unknown>) : undefined
    })

  it("goes to as many buyers as there are units, although the owner is killed meanwhile, and repeats are duplicates", async () => {
    const owner = await ownerOf(cluster.runners)
    const other = cluster.runners.find((runner) => runner !== owner)!
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
      const { balances } = (await read(other, `/v1/users/${userId}`)) as {
        readonly balances: { readonly points: number }
      }
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
