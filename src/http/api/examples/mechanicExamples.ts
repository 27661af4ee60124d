/** Examples of what mechanics do. */
import { questId, ruleId } from "./exampleIds.ts"

const counted = {
  from: "2026-10-03",
  to: "2026-11-01",
  countedAt: "2026-11-01T09:30:00.000Z",
  counting: false,
  allUsers: 400,
} as const

const quest = {
  kind: "quest",
  id: questId,
  key: "daily-lesson",
  name: "Daily lesson",
  status: "active",
  users: 160,
  share: 0.4,
  rarity: "uncommon",
  completed: 96,
  completions: 310,
  perDay: 10.33,
  xp: 6200,
} as const

export const mechanicList = {
  ...counted,
  total: 2,
  mechanics: [
    {
      kind: "rule",
      id: ruleId,
      key: "lesson-done",
      name: "LESSON_DONE",
      status: "active",
      users: 310,
      share: 0.775,
      rarity: "common",
      completed: null,
      completions: 1240,
      perDay: 41.33,
      xp: 24_800,
    },
    quest,
  ],
} as const

export const mechanic = {
  ...quest,
  ...counted,
  parts: [{ key: "gold", name: "Gold", users: 12, share: 0.075 }],
  steps: [
    { key: "lessons", target: 3, begun: 150, finished: 110, waiting: 50 },
    { key: "review", target: 1, begun: 100, finished: 100, waiting: 60 },
  ],
  funnel: [
    { finished: 0, users: 160, share: 1 },
    { finished: 1, users: 120, share: 0.75 },
    { finished: 2, users: 96, share: 0.6 },
  ],
  timeToComplete: {
    users: 96,
    p10: 43_008,
    p25: 86_016,
    median: 172_032,
    p75: 344_064,
    p90: 602_112,
  },
  firstWeek: {
    since: "2026-08-01",
    reached: [
      { day: 7, of: 70, users: 40, share: 0.5714 },
      { day: 14, of: 60, users: 27, share: 0.45 },
    ],
    others: [
      { day: 7, of: 180, users: 54, share: 0.3 },
      { day: 14, of: 150, users: 33, share: 0.22 },
    ],
    note: "This shows no cause: users who complete more may come back more for other reasons. An experiment shows causes.",
  },
  days: [
    { date: "2026-10-31", completions: 9, xp: 180 },
    { date: "2026-11-01", completions: 12, xp: 240 },
  ],
  leftOut: [
    { figure: "firstWeek", reason: "A quest that recurs keeps only its latest completion." },
  ],
} as const
