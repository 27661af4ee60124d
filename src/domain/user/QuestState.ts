/** A user's state in a quest, and its expiry by the clock. */
import { type Quest, questPeriodOf, questStatusAt } from "../project/Quest.ts"
import type { Zone } from "../values/Calendar.ts"

export type StepCounts = { readonly [step: string]: number }

/** The events counted for a step. Own members only: a key may be `constructor`. */
export const stepCountOf = (steps: StepCounts | undefined, step: string): number =>
  steps !== undefined && Object.hasOwn(steps, step) ? steps[step]! : 0

/** A user's state in a quest. */
export interface QuestState {
  /** The index of the window of a recurring quest that last changed, else 0. */
  readonly period: number
  /** Counts of this period by step key, kept after completion; steps without a count are absent. */
  readonly steps: StepCounts
  readonly startedAt: number | null
  readonly completedAt: number | null
  /** Whether it ended before completion. */
  readonly expired: boolean
  /** Completions over all periods. */
  readonly times: number
}

/** Whether the user has started the quest and neither completed nor missed it. */
export const isMidway = ({ completedAt, expired, startedAt }: QuestState): boolean =>
  startedAt !== null && completedAt === null && !expired

/** Whether a started quest is over at `now` without completion. */
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
