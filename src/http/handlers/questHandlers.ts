import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import type { QuestChange } from "../../domain/decide/QuestDefinitions.ts"
import { type Quest, type QuestStep, statusAt } from "../../domain/project/Definition.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { NewQuest, NewQuestStep, QuestPatch, Quests } from "../api/Quests.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  mayKnow,
  named,
  newMembers,
  partsChange,
  patchOf,
  replacementOf,
  showDefinition,
  wholeReward,
} from "./Shapes.ts"

export const questHandlers = (engine: Engine["Service"]): Handlers<typeof Quests> =>
  kindOperations(engine, "quest", {
    made: newQuest,
    changed: questChange,
    show: showQuest,
    found: (quest, shown, { environment }) =>
      Effect.map(engine.readCounts(environment), ({ quests }) => {
        const { completed, inProgress } = quests.get(quest.id) ?? { completed: 0, inProgress: 0 }
        return { ...shown, counts: { inProgress, completed } }
      }),
    isVisible: (quest, caller, now) =>
      isShown(quest, caller, now) && mayKnow(engine, quest, caller, now),
  })

const newStep = (step: typeof NewQuestStep.Type): QuestStep => {
  const { action, key, metric, sumPath, target, where = [] } = step
  // A step has one of both (`actionOrMetric`).
  if (typeof action !== "string") return { key, metric: metric!, target }
  return { key, action, where, target, ...(typeof sumPath === "string" && { sumPath }) }
}

const showStep = ({ action, key, metric, sumPath, target, where }: QuestStep) => ({
  key,
  action: action ?? null,
  where: where ?? [],
  target,
  sumPath: sumPath ?? null,
  metric: metric ?? null,
})

export const newQuest = (payload: typeof NewQuest.Type, id: string) => {
  const { reward, steps = [] } = payload
  return {
    id,
    ...newMembers(payload),
    title: payload.title,
    reward: allParts(reward),
    steps: steps.map(newStep),
    recurrence: payload.recurrence ?? "none",
    prerequisites: payload.prerequisites ?? [],
    optIn: payload.optIn ?? false,
    claim: payload.claim ?? "auto",
  }
}

/**
 * The change of a quest to the one that `payload` describes. Key and metadata stay, and so does
 * the status if `payload` has none.
 */
export const questReplacement = (payload: typeof NewQuest.Type): QuestChange => {
  const { reward, ...members } = replacementOf(newQuest(payload, ""), payload)
  return { ...members, reward: wholeReward(reward) }
}

const questChange = (patch: typeof QuestPatch.Type): QuestChange => {
  const { prerequisites, recurrence, reward, steps, ...rest } = patchOf(patch)
  return named({
    ...rest,
    reward: reward && partsChange(reward),
    steps: steps === null ? [] : steps?.map(newStep),
    recurrence: recurrence === null ? "none" : recurrence,
    prerequisites: prerequisites === null ? [] : prerequisites,
  })
}

const isShown = (quest: Quest, caller: Caller, now: number): boolean =>
  !isClient(caller) || statusAt(quest, now) === "active"

const showQuest = ({ publishedAt: _, ...quest }: Quest, now: number) => ({
  ...showDefinition(quest, now),
  steps: quest.steps.map(showStep),
})
