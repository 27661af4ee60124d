/** Decides the commands on quests. `Quests.ts` advances users by events. */
import { limits } from "../../Limits.ts"
import {
  changedReward,
  type New,
  type Quest,
  type RewardChange,
  type Status,
  targetedDefaults,
  type Versioned,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import {
  badgeReferenceFaults,
  keysOf,
  metadataFaults,
  metricReferenceFaults,
  prerequisiteFaults,
  questInUse,
  rewardReferenceFaults,
  segmentReferenceFaults,
  sumTargetFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"
import { textSearchFaults } from "./textSearches.ts"

/** A merge patch of a quest. `reward` and `metadata` are merged. */
export interface QuestChange
  extends Partial<Omit<Quest, "id" | "key" | "set" | "reward" | "metadata" | keyof Versioned>> {
  readonly reward?: RewardChange
  readonly metadata?: Metadata | null
  readonly status?: Status
}

export const quests = new Decisions<"quest", New<Quest>, QuestChange, "in_use">({
  noun: "quest",
  max: limits.questsMax,
  nameOf: ({ title }) => title,
  members: (given) => ({ ...targetedDefaults, ...given }),
  changed: (before, { reward, ...change }) => ({
    ...change,
    reward: changedReward(before.reward, reward),
  }),
  normal: (state, quest) => ({
    ...quest,
    prerequisites: keysOf(state.quests, quest.prerequisites),
  }),
  faults: (state, quest) => questFaults(state, quest),
  completed: (quest, before, now) => (before === undefined ? quest : published(before, quest, now)),
  inUse: (state, { key }) => questInUse(state, key),
})

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

const questFaults = (state: ProjectState, quest: Quest): ReadonlyArray<Fault> => {
  const { id, metadata, reward, steps } = quest
  const faults = [...periodFaults(quest), ...metadataFaults(metadata)]
  faults.push(...segmentReferenceFaults(state, quest.segment))
  faults.push(...badgeReferenceFaults(state, reward.badgeId, "/reward/badgeId"))
  faults.push(...rewardReferenceFaults(state, reward, "/reward"))
  faults.push(...prerequisiteFaults(state, quest))
  faults.push(...steps.flatMap((step, index) => sumTargetFaults(step, `/steps/${index}/target`)))
  faults.push(
    ...steps.flatMap(({ metric }, index) =>
      metricReferenceFaults(state, metric, `/steps/${index}/metric`),
    ),
  )
  const clauses = steps.flatMap(({ action, where }, index) =>
    action === undefined ? [] : [{ action, where, pointer: `/steps/${index}/where` }],
  )
  faults.push(...textSearchFaults(state, id, clauses))
  return faults
}
