/** Leaderboards in replies. */
import { changes } from "./definitionExamples.ts"
import { leaderboardId, onlyPage, teamId, userId } from "./exampleIds.ts"
import { team } from "./teamExamples.ts"

export const leaderboard = {
  id: leaderboardId,
  key: "gem-hunters",
  name: "Gem hunters",
  description: null,
  status: "active",
  startsAt: null,
  endsAt: null,
  score: { currency: "gems" },
  entrants: "users",
  teamKind: null,
  windows: ["all_time", "weekly"],
  timeZone: "project",
  order: "desc",
  ties: "shared",
  segment: null,
  attributes: ["plan"],
  groupBy: "city",
  prizes: [{ window: "weekly", ranks: [1, 3], reward: { xp: 0, points: 100, badgeId: null } }],
  keepWindows: 52,
  graceMinutes: 0,
  announceRanks: 10,
  metadata: {},
  ...changes,
} as const

/** The key of a leaderboard that ranks teams. */
export const teamBoardKey = "club-cup"

export const leaderboardsPage = { leaderboards: [leaderboard], ...onlyPage } as const

export const boardEntry = {
  rank: 1,
  userId,
  displayName: "Ada",
  avatarUrl: "https://example.com/ada.png",
  attributes: { plan: "pro" },
  score: 340,
  previousRank: 3,
  group: "Berlin",
  groupRank: 1,
  prizes: [{ xp: 0, points: 100, badgeId: null }],
} as const

export const teamEntry = {
  rank: 1,
  team: { id: teamId, name: team.name },
  attributes: {},
  score: 1280,
  previousRank: 2,
  prizes: boardEntry.prizes,
} as const

/** The week from Monday, 26 October, in Berlin. Winter time began on the day before. */
const window = {
  kind: "weekly",
  startsAt: "2026-10-25T23:00:00.000Z",
  endsAt: "2026-11-01T23:00:00.000Z",
} as const

export const causePrize = {
  kind: "prize",
  leaderboard: { id: leaderboardId, key: leaderboard.key },
  window: window.kind,
  startsAt: window.startsAt,
  endsAt: window.endsAt,
  rank: 1,
} as const

const closed = { filling: false, closed: true, paying: false } as const

const read = { leaderboard: leaderboard.key, window } as const

export const boardEntries = {
  ...read,
  entries: [boardEntry],
  total: 1,
  limit: 20,
  offset: 0,
  hasMore: false,
  ...closed,
  me: boardEntry,
} as const

export const teamEntries = {
  ...read,
  leaderboard: teamBoardKey,
  entries: [teamEntry],
  total: 1,
  limit: 20,
  offset: 0,
  hasMore: false,
  me: teamEntry,
  closed: true,
  paying: false,
} as const

export const boardLookup = {
  ...read,
  users: [
    { userId, rankAmong: 1, entry: boardEntry, disqualified: false },
    { userId: "user-7", rankAmong: null, entry: null, disqualified: true },
  ],
  total: 1,
  ...closed,
} as const

export const boardGroups = {
  ...read,
  groups: [{ group: boardEntry.group, total: 12, leader: boardEntry }],
  hasMore: false,
  nextCursor: null,
  ...closed,
} as const

export const boardStats = {
  ...read,
  participants: 1,
  distribution: [0, 1, 5, 10, 25, 50, 75, 90, 100].map((percent) => ({ percent, score: 340 })),
  ...closed,
}
