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

/**
 * `target` events with this action that satisfy `where` complete the step; with `sumPath`, the number at this path of
 * their metadata adds up to it.
 */
export interface QuestStep {
  readonly key: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly target: number
  readonly sumPath?: string
  /** When an edit of the published quest added the step: earlier events do not count for it. */
  readonly since?: number
}

/** A quest's definition. Times are epoch milliseconds. */
export interface Quest {
  readonly id: string
  readonly title: string
  readonly description: string | null
  /** The status set by hand, stored under this name. The clock makes `published` `scheduled`, `active` or `ended`: `questStatusAt`. */
  readonly set: "draft" | "published" | "paused" | "archived"
  readonly reward: Gives
  /** The quest completes with its steps; without steps, by a `QUEST_COMPLETE` event. */
  readonly steps: ReadonlyArray<QuestStep>
  readonly startsAt: number | null
  /** When it was published; absent: with its creation, or not yet. */
  readonly publishedAt?: number
  readonly endsAt: number | null
  /** Restarts in each window of the project's time zone. */
  readonly recurrence: QuestRecurrence
  /** Quests that a user must have completed before. */
  readonly prerequisites: ReadonlyArray<string>
  readonly metadata: Metadata
  readonly createdAt: number
  readonly updatedAt: number
}

/** The status of a quest at `now`: the one set by hand, or, if published, by the clock. */
export const questStatusAt = (quest: Quest, now: number): QuestStatus => {
  if (quest.set === "draft" || quest.set === "archived") return quest.set
  if (quest.endsAt !== null && now >= quest.endsAt) return "ended"
  if (quest.set === "paused") return "paused"
  return quest.startsAt !== null && now < quest.startsAt ? "scheduled" : "active"
}

/** The time from which events count: the start, by default the publication. */
export const countsFrom = ({ createdAt, publishedAt, startsAt }: Quest): number =>
  startsAt ?? publishedAt ?? createdAt

/** The index of a quest's period on this local day of the project; 0 if the quest does not recur. */
export const questPeriodOf = ({ recurrence }: Quest, day: number): number =>
  recurrence === "none" ? 0 : windowOfDay(recurrence, day)

/** The end of a quest's present period, epoch milliseconds; infinity if the quest does not recur. */
export const questPeriodEnd = (quest: Quest, zone: Zone, now: number): number => {
  const { recurrence } = quest
  if (recurrence === "none") return Number.POSITIVE_INFINITY
  return zone.windowBounds(recurrence, questPeriodOf(quest, zone.dayAt(now))).endsAt
}
