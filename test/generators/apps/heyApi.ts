/** An app on a client of @hey-api/openapi-ts. */
import { client } from "../generated/hey-api/client.gen.ts"
import {
  eventsTrack,
  leaderboardGet,
  questsCreate,
  rulesCreate,
  rulesDelete,
  rulesUpdate,
  streamOpen,
  usersGet,
  usersHistory,
  usersPut,
} from "../generated/hey-api/index.ts"
import type { App } from "./App.ts"

export const app: App = async ({ key, url, userId }) => {
  client.setConfig({ baseUrl: url, auth: () => key })
  const throwOnError = true
  // Its client of streams yields the data of events, typed as messages.
  const left = new AbortController()
  const { stream } = await streamOpen({ query: { userId }, signal: left.signal })
  const streamed = (async () => {
    let sum = 0
    for await (const message of stream) {
      if (message.type === "xp.earned") sum += message.data.amount
      if (message.type === "event.tracked") {
        if (typeof message.data.metadata?.score !== "number") sum = Number.NaN
        left.abort()
        return sum
      }
    }
    throw new Error("The stream ended before the message")
  })()
  const { data: quest } = await questsCreate({
    body: { title: "Five lessons", reward: { xp: 0 }, metadata: { icon: "footprints", order: 1 } },
    throwOnError,
  })
  const { data: rule } = await rulesCreate({
    body: {
      action: "LESSON_DONE",
      where: [{ path: "score", op: "gte", value: 90 }],
      reward: { xp: 50 },
    },
    headers: { "idempotency-key": crypto.randomUUID() },
    throwOnError,
  })
  await rulesUpdate({
    path: { id: rule.id },
    body: { reward: { xp: 60 }, limit: null },
    throwOnError,
  })
  const { data: tracked } = await eventsTrack({
    body: { userId, action: "LESSON_DONE", metadata: { score: 93, tags: ["intro"] } },
    throwOnError,
  })
  await usersPut({
    path: { id: userId },
    body: { displayName: "Ada", attributes: { plan: "pro", seats: 3 } },
    throwOnError,
  })
  const { data: user } = await usersGet({ path: { id: userId }, throwOnError })
  const { data: board } = await leaderboardGet({ query: { around: userId }, throwOnError })
  const { data: page } = await usersHistory({ path: { id: userId }, throwOnError })
  const fact = page.facts.find((each) => each.kind === "xp.earned")
  const missing = await usersGet({ path: { id: "nobody" } })
  await rulesDelete({ path: { id: rule.id }, throwOnError })
  return {
    questIcon: quest.metadata.icon,
    earned: tracked.xp.earned,
    plan: user.attributes.plan,
    rank: board.me?.rank,
    amountInHistory: fact?.amount,
    refusal: missing.error?.code,
    streamed: await streamed,
  }
}
