/** The bounds of the journal and of commits, a part of `Limits.ts`. */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const journalLimits = {
  segmentBytes: 64 * mebibyte,
  journalAllocationBytes: mebibyte,
  journalReadBytes: mebibyte,
  journalIndexBytes: 256 * kibibyte,
  commitBatchBytesMax: mebibyte,
  /** Time that a commit collects records, in turns of the event loop and in milliseconds. */
  commitTurnsMax: 4,
  commitCollectMs: 5,
  /** Durable records that become visible in one turn of the event loop. */
  commitTurnRecordsMax: 128,
  /** Commits of records from the minimum on and below the maximum wait for more; after a wait for nothing some commits do not. */
  commitDelayRecordsMin: 2,
  commitDelayRecordsMax: 8,
  commitDelayMs: 1,
  commitDelaySkipsMax: 255,
  recordSlabBytes: 4 * mebibyte,
  recordSlabsFreeMax: 32,
  commitPendingBytesMax: 64 * mebibyte,
  /** Deadline of a write, counted in steps; a step in which the process was suspended does not count. */
  commitDeadlineMs: 30_000,
  runningStepMs: 1_000,
  /** Interval between marks of the flushed end of the journal. */
  flushedMarkMs: 1_000,
  noSpaceRetryMs: 250,
  stalledAnswerMs: 5_000,
  freeSpaceBytesMin: 64 * mebibyte,
  recordBytesMax: 4 * mebibyte,
  /** A journal in PostgreSQL: deadlines of a connection and of a statement, and the interval of the check who owns it. */
  postgresConnectMs: 5_000,
  postgresAnswerMs: 5_000,
  /** A wait for a lock, as a share of `postgresAnswerMs`; and the interval at which PostgreSQL looks whether a session's client is there. */
  postgresLockShare: 0.8,
  postgresLostSessionMs: 1_000,
  /**
   * Sessions that the partitions of a process share, for appends and for all else. With one for checks and at most five of the
   * runner (owners, directory, placement), a process has twelve: eight runners fit in PostgreSQL's default of 100.
   */
  postgresAppendSessions: 3,
  postgresOtherSessions: 3,
  /** A change of the tables waits this long for one of them: appends wait behind it. */
  postgresMigrateMs: 1_000,
  /** PostgreSQL ends a transaction whose server was silent for this long. */
  postgresTransactionIdleMs: 60_000,
  /** Deadline of the removal of a partition's journal, which may have millions of rows. */
  postgresRemoveMs: 1_800_000,
  postgresCheckMs: 1_000,
  /** Batches of one statement that reads, their bytes (exceeded by at most one batch), and batches of one that deletes. */
  postgresReadRows: 16,
  postgresReadBytes: 4 * mebibyte,
  postgresPruneRows: 100,
  /** Entries of webhooks: rows and bytes that are read at once; bytes are exceeded by at most one value. */
  postgresEntryRows: 1_000,
  postgresEntryBytes: 4 * mebibyte,
  /** Time that PostgreSQL has for each entry of a write, and for each KiB that is written or read, beyond `postgresAnswerMs`. */
  postgresEntryAnswerMs: 1,
  postgresKibibyteAnswerMs: 1,
  /** Removed entries are remembered for this many changes of the tables; older ones are removed every so many changes, so many rows at once. */
  tableChangesKept: 5_000,
  tablePruneChanges: 10,
  tablePruneRows: 20_000,
  /** Claims for which PostgreSQL keeps where they began, so that a copy can tell one owner's changes from another's. */
  tableClaimsKept: 1_000,
  /** Bytes in PostgreSQL that are not in the local files yet; beyond, writes are refused. */
  mirrorPendingBytesMax: 64 * mebibyte,
  /** Local copies that were no longer those of a cluster, kept beside the one in use. */
  discardedCopiesKept: 2,
  damageNoteBytesMax: 4 * kibibyte,
  /**
   * How long what a recovery cut off is kept, and a copy that was set aside or that its server no longer uses; and the
   * interval at which older ones are removed. Users may be in them who were erased since.
   */
  leftoverKeptMs: 7 * 86_400_000,
  leftoverSweepMs: 3_600_000,
} as const
