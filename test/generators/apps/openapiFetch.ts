/** An app on openapi-fetch and the types of openapi-typescript. */
import createClient from "openapi-fetch"
import type { components, paths, webhooks } from "../generated/openapi-typescript.ts"
import type { App, Seen } from "./App.ts"

type Schemas = components["schemas"]

/** The sum of the xp in messages. */
const xpIn = (message: Schemas["Message"]): number => {
  switch (message.type) {
    case "xp.earned":
      return message.data.amount
    case "event.tracked":
      return typeof message.data.metadata?.score === "number" ? 0 : Number.NaN
    default:
      return 0
  }
}

type BadgeEarned = webhooks["badge.earned"]["post"]["requestBody"]["content"]["application/json"]

/** The read of a webhook's receiver. */
export const badgeOf = (message: BadgeEarned): string => message.data.name

export const app: App = async ({ key, messages, url, userId }) => {
  const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } })
  const quest = await client.POST("/v1/quests", {
    body: { title: "Five lessons", reward: { xp: 0 }, metadata: { icon: "footprints", order: 1 } },
  })
  if (quest.error !== undefined) throw new Error(quest.error.detail)
  const rule = await client.POST("/v1/rules", {
    body: {
      action: "LESSON_DONE",
      where: [{ path: "score", op: "gte", value: 90 }],
      reward: { xp: 50 },
    },
    params: { header: { "idempotency-key": crypto.randomUUID() } },
  })
  if (rule.error !== undefined) throw new Error(rule.error.detail)
  const changed = await client.PATCH("/v1/rules/{id}", {
    params: { path: { id: rule.data.id } },
    headers: { "Content-Type": "application/merge-patch+json" },
    body: { reward: { xp: 60 }, limit: null },
  })
  if (changed.error !== undefined) throw new Error(changed.error.detail)
  const tracked = await client.POST("/v1/events", {
    body: { userId, action: "LESSON_DONE", metadata: { score: 93, tags: ["intro"] } },
  })
  if (tracked.error !== undefined) throw new Error(tracked.error.detail)
  await client.PUT("/v1/users/{id}", {
    params: { path: { id: userId } },
    body: { displayName: "Ada", attributes: { plan: "pro", seats: 3 } },
  })
  const user = await client.GET("/v1/users/{id}", { params: { path: { id: userId } } })
  const board = await client.GET("/v1/leaderboard", { params: { query: { around: userId } } })
  const { data: page } = await client.GET("/v1/users/{id}/history", {
    params: { path: { id: userId } },
  })
  const fact = page?.facts.find((each) => each.kind === "xp.earned")
  const missing = await client.GET("/v1/users/{id}", { params: { path: { id: "nobody" } } })
  await client.DELETE("/v1/rules/{id}", { params: { path: { id: rule.data.id } } })
  const streamed = (await messages()) as ReadonlyArray<Schemas["Message"]>
  const seen: Seen = {
    questIcon: quest.data.metadata.icon,
    earned: tracked.data.xp.earned,
    plan: user.data?.attributes.plan,
    rank: board.data?.me?.rank,
    amountInHistory: fact?.amount,
    refusal: missing.error?.code,
    streamed: streamed.map(xpIn).reduce((sum, xp) => sum + xp, 0),
  }
  return seen
}
