/** An app on a client of orval. */
import {
  eventsTrack,
  leaderboardGet,
  type Message,
  questsCreate,
  rulesCreate,
  rulesDelete,
  rulesUpdate,
  usersGet,
  usersHistory,
  usersPut,
} from "../generated/orval.ts"
import type { App } from "./App.ts"

const xpIn = (message: Message): number => {
  if (message.type === "xp.earned") return message.data.amount
  if (message.type === "event.tracked") {
    return typeof message.data.metadata?.score === "number" ? 0 : Number.NaN
  }
  return 0
}

export const app: App = async ({ key, messages, userId }) => {
  const options = { headers: { Authorization: `Bearer ${key}` } }
  const quest = await questsCreate(
    { title: "Five lessons", reward: { xp: 0 }, metadata: { icon: "footprints", order: 1 } },
    options,
  )
  const rule = await rulesCreate(
    {
      action: "LESSON_DONE",
      where: [{ path: "score", op: "gte", value: 90 }],
      reward: { xp: 50 },
    },
    options,
  )
  if (quest.status !== 201 || rule.status !== 201) throw new Error("Nothing was created")
  const changed = await rulesUpdate(rule.data.id, { reward: { xp: 60 }, limit: null }, options)
  if (changed.status !== 200) throw new Error(changed.data.detail)
  const tracked = await eventsTrack(
    { userId, action: "LESSON_DONE", metadata: { score: 93, tags: ["intro"] } },
    options,
  )
  if (tracked.status !== 200) throw new Error(tracked.data.detail)
  await usersPut(userId, { displayName: "Ada", attributes: { plan: "pro", seats: 3 } }, options)
  const user = await usersGet(userId, options)
  const board = await leaderboardGet({ around: userId }, options)
  const page = await usersHistory(userId, {}, options)
  if (user.status !== 200 || board.status !== 200 || page.status !== 200) throw new Error("No read")
  const fact = page.data.facts.find((each) => each.kind === "xp.earned")
  const missing = await usersGet("nobody", options)
  await rulesDelete(rule.data.id, options)
  const streamed = (await messages()) as ReadonlyArray<Message>
  return {
    questIcon: quest.data.metadata.icon,
    earned: tracked.data.xp.earned,
    plan: user.data.attributes.plan,
    rank: board.data.me?.rank,
    amountInHistory: fact?.amount,
    refusal: missing.status === 404 ? missing.data.code : undefined,
    streamed: streamed.map(xpIn).reduce((sum, xp) => sum + xp, 0),
  }
}
