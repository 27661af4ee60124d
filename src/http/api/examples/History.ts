/** Facts of a user's history, newest first, as one event and what came before it left them. */
import { earned, sameLevel } from "./Events.ts"
import { badgeId, eventId, eventKey, questId, rewardId, ruleId, spendId, time } from "./Ids.ts"

const causeEvent = {
  kind: "event",
  eventId,
  id: eventKey,
  action: "LESSON_DONE",
  occurredAt: time,
  metadata: { lesson: "intro-7", score: 93 },
  imported: false,
} as const

const causeReward = {
  kind: "reward",
  rewardId,
  id: null,
  type: "points",
  amount: 100,
  badgeId: null,
  reason: "Welcome back",
} as const

const causeSpend = {
  kind: "spend",
  spendId,
  id: "order-1001",
  amount: 120,
  reason: "Streak freeze",
} as const

const causeRevocation = {
  kind: "revocation",
  eventId,
  rewardId: null,
  spendId: null,
} as const

/** One of each kind. */
export const causes = [
  causeEvent,
  causeReward,
  causeSpend,
  causeRevocation,
  { kind: "backfill", badgeId },
  { kind: "profile" },
] as const

const source = { kind: "rule", id: ruleId } as const

export const profile = {
  displayName: "Ada",
  timezone: "Europe/Berlin",
  attributes: { plan: "pro" },
  hidden: false,
} as const

const now = { at: time, sequence: 204_878, cause: causeEvent } as const
const before = {
  at: "2026-10-30T18:00:00.000Z",
  sequence: 204_101,
  cause: causeReward,
} as const
const noPoints = { earned: 0, total: 300 } as const

export const historyPage = {
  facts: [
    { kind: "event.tracked", ...now, xp: earned, points: noPoints, level: sameLevel },
    {
      kind: "quest.progressed",
      ...now,
      questId,
      title: "First steps",
      step: "lessons",
      current: 3,
      target: 5,
      progress: 0.6,
    },
    { kind: "xp.earned", ...now, amount: 50, total: 1250, source },
    {
      kind: "reward.granted",
      ...before,
      xp: { earned: 0, total: 1200 },
      points: { earned: 100, total: 300 },
      level: sameLevel,
    },
    {
      kind: "points.earned",
      ...before,
      amount: 100,
      total: 300,
      source: { kind: "reward", id: null },
    },
  ],
  nextCursor: "h4dhh.0",
} as const
