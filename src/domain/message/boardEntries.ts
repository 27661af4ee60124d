/** The messages of leaderboards in the catalogue (`MessageCatalogue.ts`). */
import { limits } from "../../Limits.ts"

const sequence = 204_878

const place = {
  leaderboard: { id: "ldb_xp", key: "xp" },
  window: "weekly",
  startsAt: "2026-10-26T00:00:00.000Z",
  endsAt: "2026-11-02T00:00:00.000Z",
} as const

export const boardEntries = {
  "leaderboard.window_closed": {
    description:
      "A day, week, month or window of days of a leaderboard closed, or all time of one that has ended, with a message for each leaderboard that lists users in it.",
    example: { sequence, ...place, total: 1_432 },
  },
  "leaderboard.rank_changed": {
    description: `On a leaderboard with \`announceRanks\`, a user has entered the first places of an open window, moved within them, or left them. Ranks are checked at most every ${limits.boardRanksLookMs / 1_000} seconds, so a change that is reversed between two checks sends nothing. When a window closes, its messages end, and no message says that a user has left.`,
    example: {
      sequence,
      userId: "user-42",
      cause: { kind: "ranks", id: null },
      ...place,
      rank: 2,
      previousRank: 5,
      score: 340,
    },
  },
  "leaderboard.prize_won": {
    description:
      "A user has won a prize of a leaderboard: one message for each prize. What it pays has messages of its own.",
    example: {
      sequence,
      userId: "user-42",
      cause: { kind: "prize", id: null },
      ...place,
      rank: 1,
      reward: { xp: 0, points: 100, badgeId: null },
    },
  },
  "leaderboard.prizes_paid": {
    description: "All prizes of a closed window of a leaderboard are paid.",
    example: { sequence, ...place, winners: 3 },
  },
} as const
