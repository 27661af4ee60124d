/** Where a user stands in a quest, and what follows from it by the clock. */
import { type Quest, questPeriodOf, questStatusAt } from "../project/Quest.ts"
import type { Zone } from "../values/Calendar.ts"

export type StepCounts = { readonly [step: string]: number }

/** How many events count for a step. Its key may be one that every object inherits, such as `constructor`. */
export const stepCountOf = (steps: StepCounts | undefined, step: string): number =>
  steps !== undefined && Object.hasOwn(steps, step) ? steps[step]! : 0

/** Where a user stands in a quest. */
export interface QuestState {
  /** The window that a recurring quest was last touched in, else 0. */
  readonly period: number
  /** What counts in this period, by the step's key, also once it is completed; steps that nothing counted for are absent. */
  readonly steps: StepCounts
  readonly startedAt: number | null
  readonly completedAt: number | null
  /** It ended before it was completed. */
  readonly expired: boolean
  /** How often the user has completed it, over all periods. */
  readonly times: number
}

/** Whether the quest was started and has not ended for the user. */
export const isMidway = ({ completedAt, expired, startedAt }: QuestState): boolean =>
  startedAt !== null && completedAt === null && !expired

/** Whether the user's progress in a quest has come to its end without completion. */
export const hasExpired = (
  quest: Quest | undefined,
  state: QuestState,
  zone: Zone,
  now: number,
): boolean => {
  if (!isMidway(state)) return false
  if (quest === undefined) return true
  const status = questStatusAt(quest, now)
  return (
    status === "archived" ||
    status === "ended" ||
    state.period !== questPeriodOf(quest, zone.dayAt(now))
  )
}
