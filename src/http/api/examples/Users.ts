/** A user, as the operations on users and the leaderboard show them. */
import { earnedBadge } from "./Events.ts"
import {
  badgeId,
  countedBadgeId,
  eventKey,
  later,
  onlyPage,
  projectId,
  questId,
  ruleId,
  time,
  userId,
} from "./Ids.ts"

const profile = {
  displayName: "Ada",
  timezone: "Europe/Berlin",
  attributes: { plan: "pro", seats: 5 },
  hidden: false,
} as const

export const user = {
  id: userId,
  ...profile,
  xp: 1250,
  level: 5,
  points: 300,
  badges: [{ ...earnedBadge, description: "For beginners.", icon: "🏅" }],
  createdAt: time,
  updatedAt: time,
} as const

export const userPage = { users: [user], ...onlyPage } as const

/** With the quadratic curve of base 50, level 5 takes the xp from 1000 to 1500. */
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
  badges: [
    { id: badgeId, name: "First lesson", current: 1, target: 1, earnedAt: time },
    {
      id: countedBadgeId,
      name: "Ten lessons",
      current: 7,
      target: 10,
      earnedAt: null,
    },
  ],
  quests: [
    {
      questId,
      title: "First steps",
      status: "in_progress",
      steps: [{ key: "lessons", current: 3, target: 5 }],
      periodEndsAt: later,
      completedAt: null,
    },
  ],
  streaks: [{ key: "daily", current: 3, best: 7, lastDay: "2026-11-01", freezes: 1 }],
} as const

const at = Date.parse(time)

/** The export leaves out much of the state here, and all records but one. */
export const userExport = {
  exportedAt: time,
  user,
  progress,
  state: {
    id: userId,
    sequence: 204_878,
    xp: 1250,
    points: 300,
    profile,
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
  xp: 450,
  level: 5,
  previousRank: 3,
} as const

/** The week from Monday, 26 October, in Berlin, where winter time began the day before. */
export const leaderboardPage = {
  window: {
    kind: "weekly",
    startsAt: "2026-10-25T23:00:00.000Z",
    endsAt: "2026-11-01T23:00:00.000Z",
  },
  entries: [leaderboardEntry],
  ...onlyPage,
  me: leaderboardEntry,
} as const

export const tokenRequest = { expiresInSeconds: 900 } as const

export const userToken = {
  token:
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJrZXlfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiLCJzdWIiOiJ1c2VyLTQyIiwiaWF0IjoxNzkzNTI1NDAwLCJleHAiOjE3OTM1MjYzMDB9.8m0uS1cD2v3wqj2nR3k2bq0Jm5yV0xkz5mYc1oT6u9A",
  expiresAt: "2026-11-01T09:45:00.000Z",
} as const
