/** Leagues in replies. */
import { changes } from "./definitionExamples.ts"
import { exampleCursors, leagueId, userId } from "./exampleIds.ts"

const bronze = { key: "bronze", name: "Bronze", icon: "🥉", promote: 10, demote: 0 } as const
const silver = { key: "silver", name: "Silver", icon: "🥈", promote: 7, demote: 5 } as const
const gold = { key: "gold", name: "Gold", icon: "🥇", promote: 0, demote: 5 } as const

export const newLeague = {
  name: "Weekly league",
  score: { currency: "xp" },
  divisions: [bronze, silver, gold],
  rewards: [{ ranks: [1, 3], reward: { points: 100 } }],
} as const

export const league = {
  id: leagueId,
  key: "weekly-league",
  name: "Weekly league",
  description: null,
  status: "active",
  startsAt: null,
  endsAt: null,
  score: { currency: "xp" },
  divisions: [bronze, silver, gold],
  cohortSize: 30,
  window: "weekly",
  graceMinutes: 0,
  rewards: [{ ranks: [1, 3], reward: { xp: 0, points: 100, badgeId: null } }],
  segment: null,
  metadata: {},
  ...changes,
} as const

export const leaguesPage = {
  leagues: [league],
  total: 1,
  hasMore: false,
  nextCursor: null,
} as const

/** The week from Monday, 26 October, in Berlin. Winter time began on the day before. */
export const leagueWindow = {
  kind: "weekly",
  startsAt: "2026-10-25T23:00:00.000Z",
  endsAt: "2026-11-01T23:00:00.000Z",
} as const

const shown = (division: typeof bronze | typeof silver) => {
  const { icon, key, name } = division
  return { key, name, icon }
}

const place = {
  league: "weekly-league",
  name: "Weekly league",
  division: shown(silver),
  window: leagueWindow,
  closesAt: "2026-11-01T23:00:00.000Z",
  settling: false,
  cohort: { id: "silver-12", size: 2 },
  score: 340,
  rank: 1,
  outcome: "promoted",
  rewards: [{ xp: 0, points: 100, badgeId: null }],
  nextScore: 0,
} as const

export const userLeagues = { userId, leagues: [place] } as const

const entries = [
  {
    rank: 1,
    userId,
    displayName: "Ada",
    avatarUrl: "https://example.com/ada.png",
    score: 340,
    outcome: "promoted",
  },
  { rank: 2, userId: "user-7", displayName: null, score: 120, outcome: "stayed" },
] as const

export const userLeague = {
  userId,
  ...place,
  entries,
  history: [
    {
      window: {
        kind: "weekly",
        startsAt: "2026-10-18T22:00:00.000Z",
        endsAt: "2026-10-25T23:00:00.000Z",
      },
      division: shown(bronze),
      score: 510,
      rank: 2,
      of: 30,
      outcome: "promoted",
    },
  ],
} as const

export const cohort = { id: "silver-12", division: "silver", size: 2 } as const

export const cohortsPage = {
  league: "weekly-league",
  division: "silver",
  window: leagueWindow,
  closesAt: "2026-11-01T23:00:00.000Z",
  settling: false,
  unsettled: 0,
  cohorts: [cohort],
  hasMore: true,
  nextCursor: exampleCursors.cohorts,
} as const

export const cohortRead = {
  league: "weekly-league",
  ...cohort,
  window: leagueWindow,
  closesAt: "2026-11-01T23:00:00.000Z",
  settling: false,
  entries,
} as const
