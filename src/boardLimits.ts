/** The limits of leaderboards. `Limits.ts` includes them. */
export const boardLimits = {
  /** In an environment, without archived ones and with the board `xp`, and archived ones. */
  boardsMax: 100,
  archivedBoardsMax: 1_000,
  /** Those of one currency: an event scores on no more of them. */
  boardsOfCurrencyMax: 20,
  boardAttributesMax: 10,
  boardPrizesMax: 20,
  /** The last rank that a prize may name; a share of the users may reach further. */
  boardPrizeRankMax: 10_000,
  /** The largest `announceRanks` of a leaderboard. */
  boardRanksAnnouncedMax: 100,
  /** The shortest time between two checks of the first ranks. */
  boardRanksLookMs: 2_000,
  /** How long after a defect the rank of a user is announced again. */
  boardRanksRetryMs: 5_000,
  /** Users in a look-up of ranks. */
  boardLookupMax: 1_000,
  /** How long a new board is filled per turn of the event loop. */
  boardFillTurnMs: 5,
  /** How long after a defect a new board is filled again. */
  boardFillRetryMs: 30_000,

  // Payouts
  /** Users who are paid together, and the longest pause after them. */
  payoutGroupUsersMax: 200,
  payoutPauseMs: 20,
  /** After so many rows, a record says how far the payout has come. */
  payoutStepRows: 2_000,
  payoutRetryMs: 1_000,
  /** How many users of a payout may have met a defect while the others are paid. */
  payoutFailedMax: 1_000,
  /** How long after a defect a payout is tried again. With a shorter pause the actor would refuse other commands. */
  payoutCrashRetryMs: 90_000,

  /** Shares of closed windows that a user's state keeps on a board of teams until their prizes are paid. */
  boardSharesKeptMax: 400,

  // The structure of a board
  boardChunkSlotsMin: 16,
  boardChunkSlotsStep: 64,
  boardChunkSlotsMax: 512,
  boardSpareChunksMax: 4,
  /** Entries of a chunk that have no place yet. */
  boardArrivalsMax: 64,
  boardMovesMax: 256,
  /** Entries of a chunk of a board's groups, and by how many a chunk grows. */
  boardGroupSlotsMax: 256,
  boardGroupSlotsStep: 16,
  boardLargeMembersMin: 5_000_000,
  boardLargeChunkSlotsMax: 1_024,
  boardIdsInOneTableMax: 2_048,
  boardIdTables: 512,
  /** Past windows that can be read. */
  boardDailyWindowsKept: 31,
  boardWeeklyWindowsKept: 12,
  boardMonthlyWindowsKept: 12,
  boardDaysWindowsKept: 12,
  /** How long a window of days lasts: longer than the grace, and not much longer than a quarter of a year. */
  boardWindowDaysMin: 2,
  boardWindowDaysMax: 92,
  /** For how long after its end a window takes late events: less than the shortest day lasts. */
  boardGraceMinutesMax: 720,
  /** What `keepWindows` of a leaderboard may ask for. */
  boardWindowsKeptMax: 366,
  /** Small values, since boards are deleted later: LMDB deletes large values slowly. */
  boardPageBytesMax: 1_600,
  boardBucketUsers: 100,
  boardGroupPageRows: 400,
  /**
   * Work on a stored board per turn of the event loop; `npm run bench -- rollover` prints the
   * longest turn.
   */
  boardTurnRowsMax: 100,
  boardTurnBucketsMax: 25,
  boardSliceEntriesMax: 100,
} as const
