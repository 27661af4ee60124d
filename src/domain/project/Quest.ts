import { type WindowKind, windowOfDay, type Zone } from "../values/Calendar.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { Condition } from "./Condition.ts"
import type { Gives } from "./Rule.ts"

export const questStatuses = [
  "draft",
  "scheduled",
  "active",
  "paused",
  "ended",
  "archived",
] as const
export type QuestStatus = (typeof questStatuses)[number]

export const questRecurrences = ["none", "daily", "weekly", "monthly"] as const
export type QuestRecurrence = "none" | WindowKind

/** `target` events with this action that satisfy `where` complete the step. */
export interface QuestStep {
  readonly key: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly target: number
}

/** A quest's definition. Times are epoch milliseconds. */
export interface Quest {
  readonly id: string
  readonly title: string
  readonly description: string | null
  /** What was set by hand. `published` becomes `scheduled`, `active` or `ended` by the clock: `questStatusAt`. */
  readonly set: "draft" | "published" | "paused" | "archived"
  readonly reward: Gives
  /** None: completed by a `QUEST_COMPLETE` event. Else by itself when every step is. */
  readonly steps: ReadonlyArray<QuestStep>
  readonly startsAt: number | null
  readonly endsAt: number | null
  /** Starts anew in each window of the project's time zone. */
  readonly recurrence: QuestRecurrence
  /** Quests that a user must have completed before. */
  readonly prerequisites: ReadonlyArray<string>
  readonly metadata: Metadata
  readonly createdAt: number
  readonly updatedAt: number
}

/** The status of a quest at `now`: by hand, and, where it is published, by the clock. */
export const questStatusAt = (quest: Quest, now: number): QuestStatus => {
  if (quest.set === "draft" || quest.set === "archived") return quest.set
  if (quest.endsAt !== null && now >= quest.endsAt) return "ended"
  if (quest.set === "paused") return "paused"
  return quest.startsAt !== null && now < quest.startsAt ? "scheduled" : "active"
}

/** The index of the period of a quest that has this local day of the project; 0 when it does not recur. */
export const questPeriodOf = ({ recurrence }: Quest, day: number): number =>
  recurrence === "none" ? 0 : windowOfDay(recurrence, day)

/** When the present period of a quest ends, epoch milliseconds; infinity when it does not recur. */
export const questPeriodEnd = (quest: Quest, zone: Zone, now: number): number => {
  const { recurrence } = quest
  if (recurrence === "none") return Number.POSITIVE_INFINITY
  return zone.windowBounds(recurrence, questPeriodOf(quest, zone.dayAt(now))).endsAt
}
