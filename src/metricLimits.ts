/** The limits of metrics: numbers of users, made from events. `Limits.ts` includes them. */
export const metricLimits = {
  metricsMax: 100,
  /** A metric: its actions, its decimals, and the value of an event times 10 to their power. */
  metricActionsMax: 20,
  metricDecimalsMax: 4,
  metricScaledMax: 10_000_000_000_000,
  metricUnitCharactersMax: 20,
  /** Ranges of days of a metric by distinct days; the history answers for earlier days. */
  metricRangesMax: 400,
  /** Records that an undo reads for metrics; a recount in the background reads longer histories. */
  metricUndoRecordsMax: 10_000,
  /** How long ago a series may begin, and the records that a user's series is read from. */
  metricSeriesDaysMax: 400,
  metricSeriesRecordsMax: 10_000,
  /**
   * How long a series of all users serves reads; and, if computing it takes long, the part of the
   * time that is left to computing: one in so many.
   */
  metricSeriesFreshMs: 60_000,
  metricPassShare: 20,
}
