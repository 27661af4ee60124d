/** Decides the commands on quests. `Quests.ts` advances users by events. */

import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  changedReward,
  firstVersion,
  type New,
  nextVersion,
  type Quest,
  type Replacement,
  type RewardChange,
  type Status,
  targetedDefaults,
  type Versioned,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  badgeReferenceFaults,
  claimedKey,
  currencyReferenceFaults,
  keysOf,
  metadataFaults,
  prerequisiteFaults,
  questInUse,
  segmentReferenceFaults,
  sumTargetFaults,
  textSearchFaults,
} from "./definitionChecks.ts"
import {
  archived,
  archivedCannotChange,
  liveCount,
  moved,
  movedTo,
  overFaults,
  periodFaults,
} from "./Lifecycle.ts"

/** A merge patch of a quest. `reward` and `metadata` are merged. */
export interface QuestChange
  extends Partial<Omit<Quest, "id" | "key" | "set" | "reward" | "metadata" | keyof Versioned>> {
  readonly reward?: RewardChange
  readonly metadata?: Metadata | null
  readonly status?: Status
}

export type QuestCommand =
  | { readonly kind: "createQuest"; readonly quest: New<Quest> }
  | (Conditional & {
      readonly kind: "updateQuest"
      readonly questId: string
      readonly change: QuestChange
    })
  /** Archives the quest. */
  | (Conditional & { readonly kind: "deleteQuest"; readonly questId: string })

type CommandOf<Kind> = Extract<QuestCommand, { readonly kind: Kind }>

export const createQuest = (
  state: ProjectState,
  command: CommandOf<"createQuest">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const key = claimedKey(state.quests, "quest", command.quest.key, command.quest.title)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const prerequisites = keysOf(state.quests, command.quest.prerequisites)
  const quest: Quest = {
    ...targetedDefaults,
    set: "published",
    ...command.quest,
    key: key.success,
    prerequisites,
    ...firstVersion(now),
  }
  const faults = [...overFaults(quest, now), ...questFaults(state, quest)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (liveCount(state.quests) >= limits.questsMax) {
    return quotaExceeded(limits.questsMax, "quests per environment")
  }
  return Result.succeed([{ kind: "quest.created", quest }])
}

export const updateQuest = (
  state: ProjectState,
  { change: { metadata, reward, status, ...change }, questId }: CommandOf<"updateQuest">,
  now: number,
): Decided<"quest_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const quest = definitionOf(state.quests, questId)
  if (quest === undefined) return notFound
  if (quest.set === "archived") return archivedCannotChange
  const changed: Quest = {
    ...quest,
    ...change,
    reward: changedReward(quest.reward, reward),
    prerequisites: keysOf(state.quests, change.prerequisites ?? quest.prerequisites),
    metadata: patchedMetadata(quest.metadata, metadata),
    ...nextVersion(quest, now),
  }
  const faults = questFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (status === "archived") {
    const refusal = questInUse(state, quest.key)
    if (refusal !== undefined) return Result.fail(refusal)
  }
  return Result.map(moved(changed, status, now), (set) => [
    { kind: "quest.updated", quest: published(quest, { ...changed, set }, now) },
  ])
}

/**
 * The quest after an edit, with the time of its publication, and of each step that was added after
 * it.
 */
const published = (before: Quest, quest: Quest, now: number): Quest => {
  if (before.set === "draft") {
    return quest.set === "published" ? { ...quest, publishedAt: now } : quest
  }
  return { ...quest, steps: datedSteps(before, quest.steps, now) }
}

/** Dates new steps. A step that counts other events than before is new. */
const datedSteps = (before: Quest, steps: Quest["steps"], now: number): Quest["steps"] =>
  steps.map(({ since: _, ...step }) => {
    const known = before.steps.find(({ key }) => key === step.key)
    if (known === undefined) return { ...step, since: now }
    const { since, ...counted } = known
    if (!noChange({ ...counted, target: 0 }, { ...step, target: 0 })) return { ...step, since: now }
    return since === undefined ? step : { ...step, since }
  })

export const deleteQuest = (
  state: ProjectState,
  { questId }: CommandOf<"deleteQuest">,
  now: number,
): Decided<"quest_not_found" | "in_use"> => {
  const quest = definitionOf(state.quests, questId)
  if (quest === undefined || quest.set === "archived") return notFound
  const refusal = questInUse(state, quest.key)
  return refusal === undefined
    ? Result.succeed([{ kind: "quest.updated", quest: archived(quest, now) }])
    : Result.fail(refusal)
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceQuest = (
  state: ProjectState,
  before: Quest,
  { id: _, set, ...members }: Replacement<Quest>,
  now: number,
): Decided<"invalid_request" | "invalid_transition"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const prerequisites = keysOf(state.quests, members.prerequisites)
  const changed: Quest = {
    ...before,
    ...targetedDefaults,
    ...members,
    prerequisites,
    ...nextVersion(before, now),
  }
  const edited = published(before, { ...changed, set: set ?? before.set }, now)
  if (noChange(before, edited)) return Result.succeed([])
  const faults = questFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.map(movedTo(changed, set, now), () => [{ kind: "quest.updated", quest: edited }])
}

const questFaults = (state: ProjectState, quest: Quest): ReadonlyArray<Fault> => {
  const { id, metadata, reward, steps } = quest
  const faults = [...periodFaults(quest), ...metadataFaults(metadata)]
  faults.push(...segmentReferenceFaults(state, quest.segment))
  faults.push(...badgeReferenceFaults(state, reward.badgeId, "/reward/badgeId"))
  faults.push(...currencyReferenceFaults(state, reward.currencies, "/reward/currencies"))
  faults.push(...prerequisiteFaults(state, quest))
  faults.push(...steps.flatMap((step, index) => sumTargetFaults(step, `/steps/${index}/target`)))
  const clauses = steps.map((step, index) => ({ ...step, pointer: `/steps/${index}/where` }))
  faults.push(...textSearchFaults(state, id, clauses))
  return faults
}

const notFound = refuse("quest_not_found", "No quest of this project has this id or key.")
