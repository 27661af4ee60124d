/**
 * The subjects of the reference's examples: one user, one time, one definition of each kind. The
 * examples of replies use them, so that they agree with each other and with the examples of single
 * members.
 */
export const time = "2026-11-01T09:30:00.000Z"
export const later = "2026-12-01T00:00:00.000Z"

export const userId = "user-42"
export const projectId = "prj_01a1fc1e64c07345932e273286b5ca30"
export const questId = "qst_01a1fc1e64c07345932e273286b5ca30"
/** The id of "First lesson". */
export const badgeId = "bdg_01a1fc1e64c07345932e273286b5ca30"
/** The id of "Ten lessons". */
export const countedBadgeId = "bdg_01a1fc0b7d10766ab1c90c8a1f4de2b7"
export const currencyId = "cur_01a1fc1e64c07345932e273286b5ca30"
export const metricId = "mtr_01a1fc1e64c07345932e273286b5ca30"
export const ruleId = "rul_01a1fc1e64c07345932e273286b5ca30"
export const boostId = "bst_01a1fc1e64c07345932e273286b5ca30"
export const segmentId = "seg_01a1fc1e64c07345932e273286b5ca30"
export const leaderboardId = "ldb_01a1fc1e64c07345932e273286b5ca30"
export const experimentId = "exp_01a1fc1e64c07345932e273286b5ca30"
export const leagueId = "lga_01a1fc1e64c07345932e273286b5ca30"
export const goalId = "gol_01a1fc1e64c07345932e273286b5ca30"
export const sourceId = "src_01a1fc1e64c07345932e273286b5ca30"
export const itemId = "itm_01a1fc1e64c07345932e273286b5ca30"
export const streakId = "stk_01a1fc1e64c07345932e273286b5ca30"
export const webhookId = "whk_01a1fc1e64c07345932e273286b5ca30"
export const eventId = "evt_0mi8k3f2a4c92"
export const rewardId = "rwd_0mi8k3f2a4c92"
export const spendId = "spd_0mi8k3f2a4c92"
export const purchaseId = "pur_0mi8k3f2a4c92"
export const deliveryId = "dlv_0mi8k3f2a4c92_1"
export const messageId = "msg_0mi8k3f2a4c92_1"

/** The caller's id of an event. */
export const eventKey = "lesson-7-user-42"

/** The only page of a list with one item. */
export const onlyPage = { total: 1, hasMore: false, nextCursor: null } as const

export const teamId = "falcons"

/** A cursor of each list. A test makes them. */
export const exampleCursors = {
  users: "1WyJ1c2VycyIsMjYwMTQ4Mzc0OCwidXNlci00MiJdQ9HJMg",
  quests:
    "1WyJxdWVzdHMiLDI2MDE0ODM3NDgsMTc5MzUyNTQwMDAwMCwicXN0XzAxYTFmYzFlNjRjMDczNDU5MzJlMjczMjg2YjVjYTMwIl3WgkCD",
  rules:
    "1WyJydWxlcyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJydWxfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXcBZ1b4",
  badges:
    "1WyJiYWRnZXMiLDI2MDE0ODM3NDgsMTc5MzUyNTQwMDAwMCwiYmRnXzAxYTFmYzFlNjRjMDczNDU5MzJlMjczMjg2YjVjYTMwIl3UG4Qd",
  boosts:
    "1WyJib29zdHMiLDI2MDE0ODM3NDgsMTc5MzUyNTQwMDAwMCwiYnN0XzAxYTFmYzFlNjRjMDczNDU5MzJlMjczMjg2YjVjYTMwIl2bBdSf",
  currencies:
    "1WyJjdXJyZW5jaWVzIiwyNjAxNDgzNzQ4LDE3OTM1MjU0MDAwMDAsImN1cl8wMWExZmMxZTY0YzA3MzQ1OTMyZTI3MzI4NmI1Y2EzMCJdMyOAHQ",
  segments:
    "1WyJzZWdtZW50cyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJzZWdfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXZ3Pvo0",
  metrics:
    "1WyJtZXRyaWNzIiwyNjAxNDgzNzQ4LDE3OTM1MjU0MDAwMDAsIm10cl8wMWExZmMxZTY0YzA3MzQ1OTMyZTI3MzI4NmI1Y2EzMCJdlDgsCg",
  streaks:
    "1WyJzdHJlYWtzIiwyNjAxNDgzNzQ4LDE3OTM1MjU0MDAwMDAsInN0a18wMWExZmMxZTY0YzA3MzQ1OTMyZTI3MzI4NmI1Y2EzMCJdQ_agyw",
  leaderboards:
    "1WyJsZWFkZXJib2FyZHMiLDI2MDE0ODM3NDgsMTc5MzUyNTQwMDAwMCwibGRiXzAxYTFmYzFlNjRjMDczNDU5MzJlMjczMjg2YjVjYTMwIl1a7rrW",
  experiments:
    "1WyJleHBlcmltZW50cyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJleHBfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXVHhuXk",
  teams: "1WyJ0ZWFtcyIsMjYwMTQ4Mzc0OCwiZmFsY29ucyJdvbNRHg",
  teamMembers: "1WyJ0ZWFtTWVtYmVycyIsMjYwMTQ4Mzc0OCwidXNlci00MiJdR7acHg",
  leagues:
    "1WyJsZWFndWVzIiwyNjAxNDgzNzQ4LDE3OTM1MjU0MDAwMDAsImxnYV8wMWExZmMxZTY0YzA3MzQ1OTMyZTI3MzI4NmI1Y2EzMCJd6z0E2g",
  goals:
    "1WyJnb2FscyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJnb2xfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXebe-U4",
  sources:
    "1WyJzb3VyY2VzIiwyNjAxNDgzNzQ4LDE3OTM1MjU0MDAwMDAsInNyY18wMWExZmMxZTY0YzA3MzQ1OTMyZTI3MzI4NmI1Y2EzMCJdF3xcoA",
  items:
    "1WyJpdGVtcyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJpdG1fMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXfI9k8A",
  webhooks:
    "1WyJ3ZWJob29rcyIsMjYwMTQ4Mzc0OCwxNzkzNTI1NDAwMDAwLCJ3aGtfMDFhMWZjMWU2NGMwNzM0NTkzMmUyNzMyODZiNWNhMzAiXVm57po",
  history: "1WyJoaXN0b3J5IiwyNjAxNDgzNzQ4LDIwNDg3OCwwXaHVpBc",
  rewards: "1WyJyZXdhcmRzIiwyNjAxNDgzNzQ4LDIwNDg3OF1HwqA_",
  purchases: "1WyJwdXJjaGFzZXMiLDI2MDE0ODM3NDgsMjA0ODc4XVhXAPM",
  spends: "1WyJzcGVuZHMiLDI2MDE0ODM3NDgsMjA0ODc4XV93xgo",
  deliveries: "1WyJkZWxpdmVyaWVzIiwyNjAxNDgzNzQ4LDIwNDg3OCwwXTmJGas",
  boardGroups: "1WyJib2FyZEdyb3VwcyIsMjYwMTQ4Mzc0OCwiQmVybGluIl12GFqs",
  cohorts: "1WyJjb2hvcnRzIiwyNjAxNDgzNzQ4LDEyXQE2qPc",
  actions: "1WyJhY3Rpb25zIiwyNjAxNDgzNzQ4LCJMRVNTT05fRE9ORSJd7S2Nrg",
  facts: "1WyJmYWN0cyIsMjYwMTQ4Mzc0OCwyMDQ4NzgsMTc5MzUyNTQwMDAwMF2dWXPi",
} as const
