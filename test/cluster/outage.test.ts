/** What callers are told while PostgreSQL is away. Real processes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { action } from "./Caller.ts"
import { eventually } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

describe("An outage of PostgreSQL", () => {
  let postgres: Postgres
  let cluster: Cluster

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: "3 seconds" }
    cluster = await startCluster(await postgres.schema("outage"), 2, settings, 2)
  })

  afterAll(async () => {
    await cluster?.remove()
    await postgres?.remove()
  })

  const send = async (url: string, key: string, target: string, body?: unknown) => {
    const reply = await fetch(url + target, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    })
    const { code } = (await reply.json()) as { readonly code?: string }
    return `${reply.status} ${code ?? ""}`
  }

  it("is named to all callers, from the first write that waits to the last read that is refused", async () => {
    const { keys, runners } = cluster
    for (const { url } of runners) {
      await eventually("readiness", async () => (await fetch(`${url}/readyz`)).ok || undefined)
    }
    await postgres.stop("SIGQUIT")
    const asked = () =>
      runners.flatMap(({ url }) =>
        keys.flatMap((key, index) => [
          send(url, key, "/v1/events", { userId: `u${index}`, action }),
          send(url, key, "/v1/events", { userId: `u${index}`, action, id: `${url}-${index}` }),
        ]),
      )
    // Some are in the engines when the outage begins, others find no owner any more.
    const first = asked()
    await eventually("no owner", async () => {
      const served = await Promise.all(runners.map((runner) => runner.served()))
      return served.flat().length === 0 || undefined
    })
    const reads = runners.flatMap(({ url }) =>
      keys.map((key) => send(url, key, "/v1/leaderboard?window=daily")),
    )
    const replies = await Promise.all([...first, ...asked(), ...reads])
    expect(new Set(replies)).toEqual(new Set(["503 storage_unavailable"]))
    for (const { url } of runners) {
      const reply = await fetch(`${url}/readyz`)
      expect([reply.status, await reply.json()]).toMatchObject([
        503,
        { code: "storage_unavailable" },
      ])
    }
    await postgres.start()
    for (const { url } of runners) {
      await eventually("the end of the outage", async () => {
        const sent = await send(url, keys[1]!, "/v1/events", { userId: "after", action, id: url })
        return sent.startsWith("200") || undefined
      })
    }
  })
})
