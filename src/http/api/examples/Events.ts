/** Replies to events and rewards: what they did, would do, and what was taken back. */
import { badgeId, eventId, questId, rewardId, ruleId, spendId, time, userId } from "./Ids.ts"

export const earned = { earned: 50, total: 1250 } as const
const noPoints = { earned: 0, total: 300 } as const
export const sameLevel = { before: 5, after: 5 } as const
export const earnedBadge = { id: badgeId, name: "First lesson", earnedAt: time } as const

export const questOutcome = {
  questId,
  title: "First steps",
  status: "in_progress",
  progress: 0.6,
  alreadyCompleted: false,
} as const

export const streakOutcome = { key: "daily", current: 3, best: 7 } as const

export const eventOutcome = {
  eventId,
  userId,
  action: "LESSON_DONE",
  duplicate: false,
  occurredAt: time,
  receivedAt: time,
  xp: earned,
  points: noPoints,
  level: sameLevel,
  badges: [earnedBadge],
  quests: [questOutcome],
  streaks: [streakOutcome],
} as const

export const eventRefusal = {
  status: 400,
  code: "invalid_request",
  detail: "The event is invalid.",
  errors: [{ pointer: "/events/1/action", code: "missing", detail: "is required" }],
} as const

export const batchOutcome = {
  accepted: 1,
  duplicates: 0,
  rejected: 1,
  results: [eventOutcome, eventRefusal],
} as const

export const batchSummary = {
  accepted: 1,
  duplicates: 0,
  rejected: 1,
  refusals: [{ index: 1, ...eventRefusal }],
} as const

const { badges, eventId: _id, receivedAt: _receivedAt, ...wouldDo } = eventOutcome

export const given = {
  source: { kind: "rule", id: ruleId },
  xp: 50,
  points: 0,
  badges: [],
} as const

export const simulation = {
  ...wouldDo,
  badges: badges.map(({ id, name }) => ({ id, name })),
  given: [given, { source: { kind: "criteria", id: null }, xp: 0, points: 0, badges: [badgeId] }],
} as const

export const rewardOutcome = {
  rewardId,
  userId,
  type: "xp",
  amount: 100,
  badgeId: null,
  duplicate: false,
  xp: { earned: 100, total: 1250 },
  points: noPoints,
  level: sameLevel,
  badges: [],
} as const

const undone = {
  userId,
  xp: { revoked: 50, total: 1200 },
  points: { revoked: 0, total: 300 },
  level: sameLevel,
  badges: [{ id: badgeId, name: "First lesson" }],
  quests: [{ ...questOutcome, progress: 0.4 }],
  shortfall: { xp: 0, points: 0 },
} as const

export const eventRevocation = { eventId, ...undone } as const

export const rewardRevocation = {
  rewardId,
  ...undone,
  badges: [],
  quests: [],
  shortfall: { xp: 50, points: 0 },
  xp: { revoked: 50, total: 0 },
  level: { before: 1, after: 1 },
} as const

export const spend = {
  spendId,
  userId,
  amount: 120,
  reason: "Streak freeze",
  duplicate: false,
  points: { spent: 120, total: 180 },
} as const

export const refund = {
  spendId,
  userId,
  points: { refunded: 120, total: 300 },
  shortfall: { points: 0 },
} as const
