/** Quests, rules, badges and the project, as Laurel shows them. */
import { countedBadgeId, later, onlyPage, projectId, questId, ruleId, time } from "./Ids.ts"

const changes = { createdAt: time, updatedAt: time } as const
const wellDone = [{ path: "score", op: "gte", value: 90 }] as const

export const reward = { xp: 100, points: 10, badgeId: null } as const

export const quest = {
  id: questId,
  title: "First steps",
  description: "Finish five lessons with 90 points or more",
  status: "active",
  reward,
  steps: [{ key: "lessons", action: "LESSON_DONE", where: wellDone, target: 5, sumPath: null }],
  startsAt: null,
  endsAt: later,
  recurrence: "none",
  prerequisites: [],
  metadata: { icon: "footprints" },
  ...changes,
} as const

export const countedQuest = { ...quest, counts: { inProgress: 12, completed: 340 } } as const
export const questPage = { quests: [quest], ...onlyPage } as const

export const rule = {
  id: ruleId,
  action: "LESSON_DONE",
  where: wellDone,
  reward: { xp: 50, points: 0, badgeId: null },
  multiplierPath: null,
  multiplierMin: null,
  multiplierMax: null,
  limit: { times: 3, per: "day" },
  cooldownSeconds: null,
  enabled: true,
  ...changes,
} as const

export const rulePage = { rules: [rule], ...onlyPage } as const

export const badge = {
  id: countedBadgeId,
  name: "Ten lessons",
  description: "For ten lessons with 90 points or more",
  icon: "🏅",
  criteria: { kind: "action_count", action: "LESSON_DONE", where: wellDone, target: 10 },
  secret: false,
  archived: false,
  ...changes,
} as const

export const badgePage = { badges: [badge], ...onlyPage } as const

export const startedBackfill = { badgeId: countedBadgeId, notify: false, startedAt: time } as const

export const backfills = [
  {
    ...startedBackfill,
    status: "running",
    checked: 42_000,
    total: 100_000,
    awarded: 1_250,
    finishedAt: null,
  },
] as const

export const streak = {
  key: "daily",
  actions: ["LESSON_DONE"],
  freezes: { initial: 1, max: 3, everyDays: 7 },
} as const

export const project = {
  id: projectId,
  environment: "sandbox",
  name: "Language school",
  timezone: "Europe/Berlin",
  levelCurve: { kind: "quadratic", base: 50 },
  streaks: [streak],
  clientActions: ["LESSON_OPENED"],
  tier: "free",
} as const
