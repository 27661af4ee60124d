/** The bounds of metrics, logs and telemetry, a part of `Limits.ts`. */

export const watchLimits = {
  otlpLogsEveryMs: 1_000,
  otlpLogsBatchMax: 1_000,
  otlpMetricsEveryMs: 15_000,
  /** Deadline of one export, retries included. */
  otlpExportMs: 10_000,
  otlpRetryMs: 1_000,
  otlpRetriesMax: 3,
  /** Exports in progress; further ones are dropped and counted. */
  otlpExportsUnderWayMax: 4,
  /** Deadline of the last export at shutdown. */
  otlpShutdownMs: 2_000,
  /** Interval of samples of the event loop's delay. */
  eventLoopSampleMs: 20,
  /** Turns of the event loop that are counted by their cause. */
  longTurnMs: 5,
  /** Interval between looks at the sizes of files and disks. */
  diskSampleMs: 30_000,
  /** Interval between looks for the oldest message that is not delivered. */
  webhookOldestMs: 15_000,
} as const
