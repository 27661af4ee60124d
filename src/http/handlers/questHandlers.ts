import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { QuestChange } from "../../domain/decide/QuestDefinitions.ts"
import { type Quest, type QuestStep, questStatusAt } from "../../domain/project/Definition.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { NewQuest, NewQuestStep, QuestPatch, Quests } from "../api/Quests.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { factOf, foundOr, named, pageItems, referenceFaults, timeOf, withWhere } from "./Shapes.ts"

export const questHandlers = (engine: Engine["Service"]): Handlers<typeof Quests> => ({
  create: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, idempotency, payload }) => {
      const command = { kind: "createQuest", quest: newQuest(payload, makeId("qst")) } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const body = showQuest(factOf(reply, "quest.created").quest, reply.at)
        return { body, replayed, location: `/v1/quests/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query: { status, ...query } }) =>
      Effect.zipWith(
        engine.readProject(caller.environment),
        Effect.sync(engine.now),
        ({ quests }, now) => {
          const show = (quest: Quest) => showQuest(quest, now)
          const { items, page } = pageItems(
            quests.values(),
            query,
            show,
            (quest) =>
              isShown(caller, quest, now) &&
              (status === undefined
                ? quest.set !== "archived"
                : questStatusAt(quest, now) === status),
          )
          return { body: { quests: items, ...page } }
        },
      ),
  },
  get: {
    handle: ({ caller, params }) =>
      Effect.gen(function* () {
        const { quests } = yield* engine.readProject(caller.environment)
        const quest = yield* foundOr(quests.get(params.id), questNotFound)
        if (!isShown(caller, quest, engine.now())) return yield* Effect.fail(questNotFound)
        const all = yield* engine.readCounts(caller.environment)
        const { completed, inProgress } = all.quests.get(quest.id) ?? {
          completed: 0,
          inProgress: 0,
        }
        const shown = showQuest(quest, engine.now())
        return { body: { ...shown, counts: { inProgress, completed } } }
      }),
  },
  update: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, params, payload }) => {
      const command = {
        kind: "updateQuest",
        questId: params.id,
        change: questChange(payload),
      } as const
      return Effect.map(engine.askProject(caller.environment, command), ({ reply }) => ({
        body: showQuest(factOf(reply, "quest.updated").quest, reply.at),
      }))
    },
  },
  delete: {
    handle: ({ caller, params }) => {
      const command = { kind: "deleteQuest", questId: params.id } as const
      return Effect.as(engine.askProject(caller.environment, command), { body: undefined })
    },
  },
})

const questNotFound = laurelError("quest_not_found", "No quest of this project has this id.")

const newStep = ({ sumPath, ...step }: typeof NewQuestStep.Type): QuestStep => ({
  ...withWhere(step),
  ...(typeof sumPath === "string" && { sumPath }),
})

export const newQuest = (payload: typeof NewQuest.Type, id: string) => {
  const { reward, startsAt = null, endsAt = null, status = "active", steps = [] } = payload
  return {
    id,
    title: payload.title,
    description: payload.description ?? null,
    set: status === "active" ? ("published" as const) : status,
    reward: { points: 0, badgeId: null, ...reward },
    steps: steps.map(newStep),
    startsAt: timeOf(startsAt),
    endsAt: timeOf(endsAt),
    recurrence: payload.recurrence ?? "none",
    prerequisites: payload.prerequisites ?? [],
    metadata: payload.metadata ?? {},
  }
}

/** The change of a quest to what `payload` describes, but for its metadata and, where none is given, its status. */
export const questReplacement = (payload: typeof NewQuest.Type): QuestChange => {
  const { id: _, metadata: __, set: ___, ...members } = newQuest(payload, "")
  const { status } = payload
  return status === undefined ? members : { ...members, status }
}

const questChange = (patch: typeof QuestPatch.Type): QuestChange => {
  const { metadata, prerequisites, recurrence, reward, steps, ...rest } = patch
  return named({
    ...rest,
    reward: reward && named({ ...reward, points: reward.points === null ? 0 : reward.points }),
    steps: steps === null ? [] : steps?.map(newStep),
    startsAt: timeOf(patch.startsAt),
    endsAt: timeOf(patch.endsAt),
    recurrence: recurrence === null ? "none" : recurrence,
    prerequisites: prerequisites === null ? [] : prerequisites,
    metadata,
  })
}

const isShown = (caller: Caller, quest: Quest, now: number): boolean =>
  !isClient(caller) || questStatusAt(quest, now) === "active"

/** A quest with its status at `now`. */
const showQuest = (quest: Quest, now: number) => {
  const { publishedAt: _, set: __, ...shown } = quest
  return {
    ...shown,
    steps: quest.steps.map(({ since: _, ...step }) => ({ ...step, sumPath: step.sumPath ?? null })),
    status: questStatusAt(quest, now),
    startsAt: isoTimeOrNull(quest.startsAt),
    endsAt: isoTimeOrNull(quest.endsAt),
    createdAt: isoTime(quest.createdAt),
    updatedAt: isoTime(quest.updatedAt),
  }
}
