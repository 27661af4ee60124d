import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { QuestChange } from "../../domain/decide/QuestDefinitions.ts"
import {
  type Quest,
  type QuestStatus,
  type QuestStep,
  questStatusAt,
} from "../../domain/project/Definition.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { NewQuest, NewQuestStep, QuestPatch, Quests } from "../api/Quests.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations } from "./definitionOperations.ts"
import {
  allParts,
  factOf,
  named,
  type PageQuery,
  partsChange,
  referenceFaults,
  timeOf,
  withWhere,
} from "./Shapes.ts"

interface QuestsQuery extends PageQuery {
  readonly status?: QuestStatus
}

export const questHandlers = (engine: Engine["Service"]): Handlers<typeof Quests> =>
  definitionOperations(engine, {
    plural: "quests",
    definitionsOf: ({ quests }) => quests,
    isVisible: isShown,
    isListed: (quest, { status }: QuestsQuery, now) =>
      status === undefined ? quest.set !== "archived" : questStatusAt(quest, now) === status,
    notFound: laurelError("quest_not_found", "No quest of this project has this id."),
    moreFaults: referenceFaults(engine),
    show: showQuest,
    showFound: (quest, { environment }) =>
      Effect.map(engine.readCounts(environment), ({ quests }) => {
        const { completed, inProgress } = quests.get(quest.id) ?? { completed: 0, inProgress: 0 }
        return {
          ...showQuest(quest, engine.timeIn(environment)),
          counts: { inProgress, completed },
        }
      }),
    create: (payload: typeof NewQuest.Type) =>
      ({ kind: "createQuest", quest: newQuest(payload, makeId("qst")) }) as const,
    showCreated: (record) => showQuest(factOf(record, "quest.created").quest, decidedAt(record)),
    update: (questId, payload: typeof QuestPatch.Type) =>
      ({ kind: "updateQuest", questId, change: questChange(payload) }) as const,
    showUpdated: (record) => showQuest(factOf(record, "quest.updated").quest, decidedAt(record)),
    delete: (questId) => ({ kind: "deleteQuest", questId }) as const,
  })

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
    reward: allParts(reward),
    steps: steps.map(newStep),
    startsAt: timeOf(startsAt),
    endsAt: timeOf(endsAt),
    recurrence: payload.recurrence ?? "none",
    prerequisites: payload.prerequisites ?? [],
    metadata: payload.metadata ?? {},
  }
}

/**
 * The change of a quest to the one that `payload` describes. The metadata stays, and so does the
 * status if `payload` has none.
 */
export const questReplacement = (payload: typeof NewQuest.Type): QuestChange => {
  const { id: _, metadata: __, set: ___, ...members } = newQuest(payload, "")
  const { status } = payload
  return status === undefined ? members : { ...members, status }
}

const questChange = (patch: typeof QuestPatch.Type): QuestChange => {
  const { metadata, prerequisites, recurrence, reward, steps, ...rest } = patch
  return named({
    ...rest,
    reward: reward && partsChange(reward),
    steps: steps === null ? [] : steps?.map(newStep),
    startsAt: timeOf(patch.startsAt),
    endsAt: timeOf(patch.endsAt),
    recurrence: recurrence === null ? "none" : recurrence,
    prerequisites: prerequisites === null ? [] : prerequisites,
    metadata,
  })
}

const isShown = (quest: Quest, caller: Caller, now: number): boolean =>
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
