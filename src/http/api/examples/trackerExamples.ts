/** Examples of the messages of event trackers. */
import { time, userId } from "./exampleIds.ts"
import { batchRefusal } from "./userExamples.ts"

export const segmentBatch = {
  batch: [
    {
      type: "identify",
      userId,
      messageId: "ajs-1",
      timestamp: time,
      traits: { name: "Ada", plan: "pro" },
    },
    {
      type: "track",
      userId,
      messageId: "ajs-2",
      timestamp: time,
      event: "Lesson Done",
      properties: { score: 93 },
    },
  ],
} as const

export const posthogBatch = {
  batch: [
    {
      event: "lesson done",
      distinct_id: userId,
      uuid: "01a1fc1e-64c0-7345-932e-273286b5ca30",
      timestamp: time,
      properties: { score: 93 },
    },
  ],
} as const

export const trackerReply = {
  success: true,
  accepted: 2,
  duplicates: 0,
  ignored: 0,
  rejected: 1,
  refusals: [{ index: 2, ...batchRefusal }],
} as const
