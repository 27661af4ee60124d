/**
 * The owner of a partition is killed while it closes a league of many cohorts: the follower takes over
 * and settles and pays the others. Real processes.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { ask } from "./Caller.ts"
import { eventually, followed, ownerOf } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

const users = Array.from({ length: 6_000 }, (_, index) => `u${index}`)
const cohortSize = 4

let postgres: Postgres
let cluster: Cluster

beforeAll(async () => {
  postgres = await Postgres.make()
  const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: "3 seconds" }
  cluster = await startCluster(await postgres.schema("leagues"), 2, settings, 1)
})

afterAll(async () => {
  await cluster?.remove()
  await postgres?.remove()
})

type Json = ReturnType<typeof JSON.parse>

/** Asks any running runner until there is an answer. */
const insist = (path: string, body?: unknown, idempotencyKey?: string): Promise<Json> =>
  eventually(path, async () => {
    const runner = cluster.runners.find(({ isRunning }) => isRunning)!
    const reply = await ask(runner.url, cluster.keys[0]!, path, body, idempotencyKey)
    return reply.status >= 200 && reply.status < 300 ? reply.body : undefined
  })

const outcomesOf = async (userId: string): Promise<ReadonlyArray<Json>> =>
  (await insist(`/v1/users/${userId}/leagues/cup`)).history

it("A close of many cohorts goes on with the follower after kill -9 of the owner, once for each user", async () => {
  const [bronze, silver] = ["bronze", "silver"].map((key) => ({ key, name: key, demote: 1 }))
  await insist(
    "/v1/leagues",
    {
      key: "cup",
      name: "Cup",
      score: { currency: "xp" },
      window: "daily",
      cohortSize,
      divisions: [
        { ...bronze, promote: 1 },
        { ...silver, promote: 0 },
      ],
      rewards: [{ ranks: [1, 1], reward: { points: 10 } }],
    },
    "league",
  )
  for (let next = 0; next < users.length; next += 500) {
    const rewards = users.slice(next, next + 500).map((userId, index) => ({
      id: "score",
      userId,
      reward: { xp: 1 + ((index * 7) % 11) },
    }))
    await insist("/v1/rewards/batch", { rewards })
  }
  const owner = await ownerOf(cluster.runners)
  const follower = cluster.runners.find((runner) => runner !== owner)!
  await followed(follower)
  const midnight = (Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000
  const advanceTo = new Date(midnight + 1_000).toISOString()
  // The reply would come when the close is settled for all.
  const advanced = fetch(`${owner.url}/v1/test-clock`, {
    method: "POST",
    headers: { authorization: `Bearer ${cluster.keys[0]}`, "content-type": "application/json" },
    body: JSON.stringify({ advanceTo }),
  }).then(
    ({ status }) => status,
    () => "killed",
  )
  await eventually("the first outcome", async () =>
    (await outcomesOf(users[0]!)).length > 0 ? true : undefined,
  )
  await owner.kill()
  expect(await advanced).toBe("killed")
  await insist("/v1/test-clock", { advanceTo })
  const found = new Map<string, number>()
  for (let next = 0; next < users.length; next += 100) {
    const ids = users.slice(next, next + 100)
    const page = await insist(`/v1/users?ids=${ids.join(",")}`)
    for (const { id, points } of page.users) found.set(id, points)
  }
  const paid = [...found.values()]
  expect(found.size).toBe(users.length)
  expect([paid.filter((points) => points === 10).length, Math.max(...paid)]).toEqual([
    users.length / cohortSize,
    10,
  ])
  for (let index = 0; index < users.length; index += 397) {
    const userId = users[index]!
    const outcomes = await outcomesOf(userId)
    expect([userId, outcomes.length]).toEqual([userId, 1])
    const [{ outcome, rank }] = outcomes as [Json]
    expect([userId, outcome, found.get(userId)]).toEqual(
      rank === 1 ? [userId, "promoted", 10] : [userId, "stayed", 0],
    )
    const history = await insist(`/v1/users/${userId}/history?kind=league.${outcome}`)
    expect([userId, history.facts.length]).toEqual([userId, 1])
  }
  await owner.start()
})
