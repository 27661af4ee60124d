import { Effect } from "effect"
import type { Quest } from "../../domain/Quest.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Quests } from "../api/Quests.ts"
import { makeId } from "../Ids.ts"
import type { Handlers } from "../Interpreter.ts"
import { factOf, isoTime, pageInfo, pageItems, pageOf } from "./Shapes.ts"

export const questHandlers = (engine: Engine["Service"]): Handlers<typeof Quests> => ({
  create: {
    handle: ({ caller, idempotency, payload }) => {
      const { description = null, reward, status = "active", title } = payload
      const quest = { id: makeId("qst"), title, description, status, reward }
      const asked = engine.askProject(
        caller.environment,
        { kind: "createQuest", quest },
        idempotency,
      )
      return Effect.map(asked, ({ replayed, reply }) => {
        const body = showQuest(factOf(reply, "quest.created").quest)
        return { body, replayed, location: `/v1/quests/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query }) =>
      Effect.map(engine.readProject(caller.environment), ({ quests }) => {
        const page = pageOf(query)
        const { items, total } = pageItems(
          quests.values(),
          page,
          ({ status }) => query.status === undefined || status === query.status,
        )
        return {
          body: { quests: items.map(showQuest), ...pageInfo(page, total, items.length) },
        }
      }),
  },
})

const showQuest = (quest: Quest) => ({
  id: quest.id,
  title: quest.title,
  description: quest.description,
  status: quest.status,
  reward: { xp: quest.reward.xp },
  createdAt: isoTime(quest.createdAt),
  updatedAt: isoTime(quest.updatedAt),
})
