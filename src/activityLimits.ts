/** The limits of activity and retention. `Limits.ts` includes them. */
export const activityLimits = {
  /** How many days ago the days and cohorts of analytics may begin. */
  analyticsDaysMax: 400,
  /** An environment keeps daily counts of events, xp, badges and quests for this many days. */
  dayCountsMax: 402,
  /**
   * An environment keeps daily counts of what each mechanic did for so many days, and of so many
   * definitions: the first that did something.
   */
  mechanicDaysMax: 90,
  mechanicDaysDefault: 30,
  mechanicsCountedMax: 500,
  /** The rows of a reply about all mechanics. */
  mechanicRowsMax: 1_000,
  mechanicRowsDefault: 100,
  /**
   * Counts of active users take at most one part in so many of the time. A read waits for a count if
   * the last one took at most `activityWaitMs`.
   */
  activityPassShare: 100,
  activityWaitMs: 25,
  /** The longest wait of a read for a count. Then the read has the last numbers, or none. */
  countWaitMs: 2_000,
  /** The results of so many environments are kept. */
  activityResultsMax: 64,
} as const
