/** The actions seen: one in use, and one misspelt. */
import { time } from "./Ids.ts"

export const actionsSeen = {
  actions: [
    { action: "LESSON_DONE", count: 1204, lastReceivedAt: time, matched: true },
    { action: "LESON_DONE", count: 2, lastReceivedAt: time, matched: false },
  ],
  others: { count: 0, lastReceivedAt: null },
} as const
