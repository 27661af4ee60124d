/** The limits of streaks. `Limits.ts` includes them. */
export const streakLimits = {
  /** In an environment, without archived ones, and archived ones. */
  streaksMax: 20,
  archivedStreaksMax: 100,
  streakNeedsMax: 50,
  streakMilestonesMax: 50,
  streakMilestoneTargetMax: 10_000,
  /** The length of a streak in opening balances. */
  streakOpeningMax: 100_000,
  streakFreezesMax: 366,
  streakEveryDaysMax: 366,
  /** Former freezes and rest days of a streak; the oldest also apply to all earlier periods. */
  streakEditsMax: 16,
  /** Ranges of a streak's periods, and open periods with counts. Older events add nothing. */
  streakRangesMax: 400,
  streakCountsMax: 35,
  /** Periods in which rewards gave freezes to a streak; older events add nothing. */
  streakGrantsMax: 64,
  /** Hours before the end of a day, or of a week or a month, at which a streak is at risk. */
  streakAtRiskDayHoursMax: 23,
  streakAtRiskHoursMax: 167,
  /** Pauses of a streak, and the days of each. */
  streakPausesMax: 20,
  streakPauseDaysMax: 366,
  /** Ranges of paused days in a user's streak; events in or before older ones add nothing. */
  streakPauseRangesMax: 64,
  /** Days after a break within which a streak can be repaired. */
  streakRepairDaysMax: 366,
  /**
   * Repairs of a user's streak; events in or before the periods of older ones add nothing. So many
   * since the last kept period, and the next one is refused.
   */
  streakRepairsMax: 64,
  /** Days, weeks or months in a calendar of a streak. */
  streakCalendarPeriodsMax: 400,
} as const
