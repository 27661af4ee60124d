/** An example of the recap of an environment. */

export const environmentRecap = {
  from: "2026-01-01",
  to: "2026-12-31",
  keptFrom: "2025-11-27",
  complete: true,
  countedAt: "2026-12-31T18:00:00.000Z",
  counting: false,
  activeUsers: 480,
  newUsers: 210,
  totals: { events: 12_400, currencies: { xp: 96_000, points: 3_100 }, badges: 930, quests: 1_240 },
  bestDay: { date: "2026-03-14", xp: 4_200, events: 310 },
  streaks: [{ key: "daily", best: 180 }],
  topUsers: null,
} as const
