/** Shared goals in replies. */
import { changes } from "./definitionExamples.ts"
import { goalId, onlyPage, teamId, time, userId } from "./exampleIds.ts"

export const goal = {
  id: goalId,
  key: "thousand-kilometres",
  name: "A thousand kilometres",
  description: "We run a thousand kilometres together",
  status: "active",
  startsAt: null,
  endsAt: null,
  score: { metric: "kilometres-run" },
  scope: "everyone",
  teamKind: null,
  target: 1_000,
  recurrence: "none",
  reward: { xp: 0, points: 100, badgeId: null },
  minContribution: 10,
  segment: null,
  metadata: { icon: "🏃" },
  ...changes,
} as const

export const progress = {
  startsAt: null,
  endsAt: null,
  total: 500.2,
  percent: 50,
  contributors: 1_432,
  completedAt: null,
  rewarded: null,
} as const

export const goalNow = { ...goal, progress } as const

export const goalPage = { goals: [goalNow], ...onlyPage } as const

/** The key of a goal of teams. */
export const teamGoalKey = "club-run"

const team = { id: teamId, name: "Falcons" } as const

export const teamProgress = {
  goalId,
  key: teamGoalKey,
  name: "Run 100 km as a club",
  team,
  target: 100,
  ...progress,
  total: 50,
  contributors: 8,
} as const

export const teamList = { teams: [{ team, ...progress, total: 50, contributors: 8 }] } as const

export const goalDayList = {
  goalId,
  key: goal.key,
  name: goal.name,
  from: "2026-10-31",
  to: "2026-11-01",
  days: [
    { date: "2026-10-31", contributed: 12 },
    { date: "2026-11-01", contributed: 5.2 },
  ],
} as const

export const contributorList = {
  contributors: [
    {
      userId,
      displayName: "Ada",
      avatarUrl: "https://example.com/ada.png",
      team: null,
      contribution: 240,
      rewarded: false,
    },
  ],
  countedAt: time,
  counting: false,
} as const

export const userGoals = {
  userId,
  goals: [
    {
      goalId,
      key: goal.key,
      name: goal.name,
      status: "active",
      scope: "everyone",
      team: null,
      target: goal.target,
      reward: goal.reward,
      minContribution: goal.minContribution,
      progress,
      contribution: 240,
      rewarded: false,
    },
  ],
} as const
