/** Examples of replies of analytics. */

const countedAt = "2026-11-01T09:30:00.000Z"

export const activitySeries = {
  from: "2026-10-31",
  to: "2026-11-01",
  countedAt,
  counting: false,
  days: [
    {
      date: "2026-10-31",
      complete: true,
      dau: 41,
      wau: 118,
      mau: 256,
      newUsers: 9,
      returningUsers: 32,
      stickiness: 0.1602,
      events: 240,
      xp: 9600,
      badges: 11,
      quests: 12,
    },
    {
      date: "2026-11-01",
      complete: false,
      dau: 37,
      wau: 120,
      mau: 260,
      newUsers: 6,
      returningUsers: 31,
      stickiness: 0.1423,
      events: 212,
      xp: 8400,
      badges: 9,
      quests: 14,
    },
  ],
} as const

const day = (day: number, of: number, users: number, share: number | null) => ({
  day,
  of,
  users,
  share,
})

export const retention = {
  from: "2026-10-19",
  to: "2026-11-01",
  by: "week",
  segment: null,
  experiment: null,
  variant: null,
  countedAt,
  counting: false,
  cohorts: [
    {
      from: "2026-10-19",
      to: "2026-10-25",
      users: 50,
      days: [day(1, 50, 26, 0.52), day(7, 50, 18, 0.36), day(14, 0, 0, null)],
    },
    {
      from: "2026-10-26",
      to: "2026-11-01",
      users: 44,
      days: [day(1, 31, 16, 0.5161), day(7, 0, 0, null), day(14, 0, 0, null)],
    },
  ],
  curve: [day(0, 88, 88, 1), day(1, 81, 42, 0.5185)],
} as const

const inactive = { kind: "user.inactive", sent: 240, returned: 36, share: 0.15 } as const
const none = { sent: 0, returned: 0, share: null } as const

export const reminderResults = {
  from: "2026-10-31",
  to: "2026-11-01",
  totals: [
    inactive,
    { kind: "streak.at_risk", ...none },
    { kind: "quest.ending", ...none },
    { kind: "currency.expiring", ...none },
    { kind: "league.closing", ...none },
  ],
  days: [{ date: "2026-10-31", ...inactive, complete: true }],
} as const
