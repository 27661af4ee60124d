export const questStatuses = [
  "draft",
  "scheduled",
  "active",
  "paused",
  "ended",
  "archived",
] as const
export type QuestStatus = (typeof questStatuses)[number]

/** A quest's definition. Times are epoch milliseconds. */
export interface Quest {
  readonly id: string
  readonly title: string
  readonly description: string | null
  readonly status: QuestStatus
  readonly reward: { readonly xp: number }
  readonly createdAt: number
  readonly updatedAt: number
}
