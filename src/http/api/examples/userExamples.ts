/** A user in the replies of operations on users and the leaderboard. */
import { causePrize } from "./boardExamples.ts"
import {
  badgeId,
  countedBadgeId,
  eventId,
  eventKey,
  exampleCursors,
  later,
  projectId,
  questId,
  rewardId,
  ruleId,
  spendId,
  time,
  userId,
} from "./exampleIds.ts"
import { causePurchase } from "./itemExamples.ts"
import { ownTeam } from "./teamExamples.ts"

/* Replies to events, rewards, simulations and revocations. */

const earned = { earned: 50, total: 1250 } as const
const noPoints = { earned: 0, total: 300 } as const
const sameLevel = { before: 5, after: 5 } as const
const lessonBadge = { id: badgeId, key: "first-lesson", name: "First lesson" } as const
const firstSteps = { questId, key: "first-steps", title: "First steps" } as const

export const earnedBadge = { ...lessonBadge, earnedAt: time } as const

export const questOutcome = {
  ...firstSteps,
  status: "in_progress",
  progress: 0.6,
  alreadyCompleted: false,
} as const

export const streakOutcome = { key: "daily", current: 3, best: 7 } as const

export const metricOutcome = { key: "lessons", total: 42 } as const

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
  metrics: [metricOutcome],
} as const

export const eventAccepted = { ok: true, ...eventOutcome } as const

const notRevoked = { revoked: false, revokedAt: null } as const

const { duplicate: _event, ...eventGave } = eventOutcome

export const eventDetails = {
  ...eventGave,
  id: eventKey,
  metadata: { lesson: "intro-7", score: 93 },
  imported: false,
  ...notRevoked,
} as const

/** The `id` was used for another lesson, and that event was revoked. */
export const repeatedEvent = {
  ...eventOutcome,
  duplicate: true,
  differs: ["/metadata/lesson"],
  revoked: true,
} as const

export const batchRefusal = {
  ok: false,
  status: 400,
  code: "invalid_request",
  detail: "The event is invalid.",
  errors: [{ pointer: "/events/1/action", code: "missing", detail: "is required" }],
} as const

export const batchOutcome = {
  accepted: 1,
  duplicates: 0,
  differing: 0,
  rejected: 1,
  results: [eventAccepted, batchRefusal],
} as const

export const batchSummary = {
  accepted: 1,
  duplicates: 0,
  differing: 0,
  rejected: 1,
  refusals: [{ index: 1, ...batchRefusal }],
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
  badges: badges.map(({ id, key, name }) => ({ id, key, name })),
  segments: [],
  given: [given, { source: { kind: "criteria", id: null }, xp: 0, points: 0, badges: [badgeId] }],
} as const

export const rewardOutcome = {
  rewardId,
  userId,
  reward: { xp: 100, points: 0, badgeId: null },
  type: "xp",
  amount: 100,
  badgeId: null,
  duplicate: false,
  xp: { earned: 100, total: 1250 },
  points: noPoints,
  balances: { xp: 1250, points: noPoints.total },
  level: sameLevel,
  badges: [],
} as const

const { duplicate: _reward, ...rewardGave } = rewardOutcome

export const reward = {
  ...rewardGave,
  id: "welcome-user-42",
  reason: "Welcome back",
  grantedAt: time,
  ...notRevoked,
} as const

export const rewardPage = {
  rewards: [{ ...reward, revoked: true, revokedAt: later }],
  hasMore: true,
  nextCursor: exampleCursors.rewards,
} as const

export const repeatedReward = {
  ...rewardOutcome,
  duplicate: true,
  differs: ["/amount"],
} as const

export const rewardAccepted = { ok: true, ...rewardOutcome } as const

export const rewardBatchOutcome = {
  accepted: 1,
  duplicates: 0,
  differing: 0,
  rejected: 1,
  results: [
    rewardAccepted,
    {
      ok: false,
      status: 400,
      code: "invalid_request",
      detail: "The reward is invalid.",
      errors: [{ pointer: "/rewards/1/reward", code: "missing", detail: "is required" }],
    },
  ],
} as const

const undone = {
  userId,
  xp: { revoked: 50, total: 1200 },
  points: { revoked: 0, total: 300 },
  level: sameLevel,
  badges: [lessonBadge],
  quests: [{ ...questOutcome, progress: 0.4 }],
  shortfall: { xp: 0, points: 0 },
} as const

export const eventRevocation = {
  eventId,
  ...undone,
  metrics: [{ ...metricOutcome, total: 41 }],
} as const

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

const { duplicate: _spend, ...spendMade } = spend

export const spendDetails = {
  ...spendMade,
  id: "order-1001",
  spentAt: time,
  ...notRevoked,
} as const

export const spendPage = {
  spends: [spendDetails],
  hasMore: true,
  nextCursor: exampleCursors.spends,
} as const

export const refund = {
  spendId,
  userId,
  points: { refunded: 120, total: 300 },
  shortfall: { points: 0 },
} as const

const profileOfAda = {
  displayName: "Ada",
  timezone: "Europe/Berlin",
  attributes: { plan: "pro", seats: 5 },
  hidden: false,
} as const

export const user = {
  id: userId,
  ...profileOfAda,
  xp: 1250,
  level: 5,
  points: 300,
  balances: { xp: 1250, points: 300, gems: 12 },
  badges: [
    {
      ...earnedBadge,
      description: "For beginners.",
      icon: "🏅",
      tiers: [{ key: "silver", name: "Silver", icon: "🥈", earnedAt: time }],
    },
  ],
  teams: [ownTeam],
  lastEventAt: time,
  createdAt: time,
  updatedAt: time,
} as const

export const userPage = {
  users: [user],
  total: 57,
  hasMore: true,
  nextCursor: exampleCursors.users,
} as const

/** With the quadratic curve of base 50, level 5 is from 1000 to 1500 xp. */
export const levelProgress = {
  xpAtStart: 1000,
  xpAtNext: 1500,
  xpInto: 250,
  xpToNext: 250,
  ratio: 0.5,
} as const

export const progress = {
  userId,
  xp: 1250,
  level: 5,
  levelProgress,
  rank: 1,
  points: 300,
  balances: { xp: 1250, points: 300, gems: 12 },
  badges: [
    { ...lessonBadge, current: 1, target: 1, earnedAt: time },
    {
      id: countedBadgeId,
      key: "ten-lessons",
      name: "Ten lessons",
      current: 7,
      target: 10,
      earnedAt: null,
      tiers: [
        { key: "silver", name: "Silver", icon: "🥈", target: 10, earnedAt: null },
        { key: "gold", name: "Gold", icon: "🥇", target: 50, earnedAt: null },
      ],
    },
  ],
  quests: [
    {
      ...firstSteps,
      status: "in_progress",
      steps: [{ key: "lessons", current: 3, target: 5 }],
      periodEndsAt: later,
      completedAt: null,
    },
  ],
  streaks: [{ key: "daily", current: 3, best: 7, lastDay: "2026-11-01", freezes: 1 }],
} as const

export const startedQuest = {
  userId,
  quest: {
    ...firstSteps,
    status: "in_progress",
    steps: [{ key: "lessons", current: 0, target: 5 }],
    periodEndsAt: later,
    completedAt: null,
  },
} as const

export const userMetrics = {
  userId,
  metrics: [
    {
      key: "kilometres-run",
      name: "Kilometres run",
      unit: "km",
      recalculating: false,
      total: 128.4,
      day: { from: "2026-11-01", current: 5.2, previous: 0 },
      week: { from: "2026-10-26", current: 17.6, previous: 12.3 },
      month: { from: "2026-11-01", current: 5.2, previous: 61.9 },
    },
  ],
} as const

const series = { key: "kilometres-run", unit: "km", by: "day" } as const
const days = { from: "2026-10-31", to: "2026-11-01" } as const

export const userMetricSeries = {
  userId,
  ...series,
  ...days,
  truncated: false,
  points: [
    { from: "2026-10-31", value: 0 },
    { from: "2026-11-01", value: 5.2 },
  ],
} as const

export const metricSeries = {
  ...series,
  ...days,
  countedAt: time,
  counting: false,
  points: [
    { from: "2026-10-31", value: 31.5, users: 4 },
    { from: "2026-11-01", value: 18.1, users: 3 },
  ],
} as const

const at = Date.parse(time)

/** The example leaves out much of the state, and all records but one. */
export const userExport = {
  exportedAt: time,
  user,
  progress,
  state: {
    id: userId,
    sequence: 204_878,
    xp: 1250,
    points: 300,
    profile: profileOfAda,
    createdAt: at,
    updatedAt: at,
  },
  records: [
    {
      sequence: 204_878,
      at,
      subject: { actor: "user", environment: `${projectId}:sandbox`, userId },
      cause: {
        kind: "event",
        id: eventKey,
        action: "LESSON_DONE",
        metadata: { lesson: "intro-7", score: 93 },
      },
      facts: [
        { kind: "xp.earned", amount: 50, total: 1250, source: { ruleId } },
        { kind: "event.tracked", xp: 1250, points: 300, level: 5 },
      ],
    },
  ],
} as const

export const leaderboardEntry = {
  rank: 1,
  userId,
  displayName: "Ada",
  avatarUrl: "https://example.com/ada.png",
  xp: 450,
  level: 5,
  previousRank: 3,
} as const

/** The week from Monday, 26 October, in Berlin. Winter time began on the day before. */
export const leaderboardPage = {
  window: {
    kind: "weekly",
    startsAt: "2026-10-25T23:00:00.000Z",
    endsAt: "2026-11-01T23:00:00.000Z",
  },
  entries: [leaderboardEntry],
  total: 1,
  limit: 20,
  offset: 0,
  hasMore: false,
  me: leaderboardEntry,
} as const

export const mergeRequest = { into: "user-42" } as const

export const mergedUser = { from: "visitor-7", into: "user-42", mergedAt: time } as const

export const tokenRequest = { expiresInSeconds: 900 } as const

export const userToken = {
  token:
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJrZXlfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiLCJzdWIiOiJ1c2VyLTQyIiwiaWF0IjoxNzkzNTI1NDAwLCJleHAiOjE3OTM1MjYzMDB9.8m0uS1cD2v3wqj2nR3k2bq0Jm5yV0xkz5mYc1oT6u9A",
  expiresAt: "2026-11-01T09:45:00.000Z",
} as const

/* Facts of a user's history, newest first: one event and the facts before it. */

const causeEvent = {
  kind: "event",
  eventId,
  id: eventKey,
  action: "LESSON_DONE",
  occurredAt: time,
  metadata: { lesson: "intro-7", score: 93 },
  imported: false,
  segments: ["active-learners"],
} as const

const causeReward = {
  kind: "reward",
  rewardId,
  id: null,
  reward: { xp: 0, points: 5, badgeId: null },
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
  purchaseId: null,
} as const

/** One cause of each kind. */
export const causes = [
  causeEvent,
  causeReward,
  causeSpend,
  causePurchase,
  causeRevocation,
  { kind: "backfill", badgeId },
  causePrize,
  { kind: "profile" },
  { kind: "opening" },
  { kind: "merge" },
] as const

const source = { kind: "rule", id: ruleId } as const

const now = { at: time, sequence: 204_878, cause: causeEvent } as const
const before = {
  at: "2026-10-30T18:00:00.000Z",
  sequence: 204_101,
  cause: causeReward,
} as const

export const historyPage = {
  facts: [
    { kind: "event.tracked", ...now, xp: earned, points: noPoints, level: sameLevel },
    {
      kind: "quest.progressed",
      ...now,
      ...firstSteps,
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
  hasMore: true,
  nextCursor: exampleCursors.history,
} as const

export const streakCalendar = {
  userId: "user-42",
  key: "daily",
  every: "day",
  periods: [
    { firstDay: "2026-10-30", status: "kept" },
    { firstDay: "2026-10-31", status: "frozen" },
    { firstDay: "2026-11-01", status: "kept" },
  ],
} as const

export const streakStanding = {
  key: "daily",
  name: "Daily lesson",
  every: "day",
  current: 3,
  best: 7,
  lastDay: "2026-11-01",
  freezes: 1,
  breaksAt: "2026-11-04T00:00:00.000Z",
  pauses: [{ from: "2026-10-24", to: "2026-10-25" }],
  repair: null,
  period: {
    firstDay: "2026-11-01",
    endsAt: "2026-11-02T00:00:00.000Z",
    kept: true,
    needs: [{ action: "LESSON_DONE", metric: null, current: 1, target: 1 }],
  },
  milestones: [{ target: 7, paid: true }],
} as const

export const recap = {
  userId,
  displayName: "Ada",
  from: "2026-01-01",
  to: "2026-11-01",
  truncated: false,
  totals: {
    events: 212,
    activeDays: 96,
    currencies: { xp: 1250, points: 300 },
    badges: 1,
    quests: 3,
  },
  level: { from: 1, to: 5 },
  bestDay: { date: "2026-03-14", xp: 120, events: 9 },
  streaks: [{ key: "daily", best: 7 }],
  actions: [{ action: "LESSON_DONE", count: 180 }],
  firsts: [{ action: "LESSON_DONE", at: "2026-01-03T18:20:00.000Z" }],
  badges: [earnedBadge],
  standing: { rank: 12, total: 480, topPercent: 3 },
} as const

export const factsPage = {
  facts: [
    {
      userId,
      number: 0,
      fact: { kind: "event.tracked", ...now, xp: earned, points: noPoints, level: sameLevel },
    },
    {
      userId,
      number: 2,
      fact: { kind: "xp.earned", ...now, amount: 50, total: 1250, source },
    },
  ],
  erased: [],
  hasMore: false,
  nextCursor: exampleCursors.facts,
} as const
