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
  /** Log lines of slow requests, and spans, a minute. */
  slowLinesPerMinuteMax: 60,
  spansPerMinuteMax: 120,
  slowRequestMs: 1_000,
  /** Of a path, in lines of logs. */
  loggedPathCharactersMax: 1_024,
  /** Lines of the access log that wait for their reader. */
  accessLogBytesMax: 4 * 1_024 * 1_024,
  /** Deadline of the last lines at shutdown. */
  accessLogFlushMs: 1_000,
} as const
