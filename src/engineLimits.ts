/**
 * The limits of the engine and of what it works with: storage, webhooks, archives and the cluster.
 * `Limits.ts` includes them.
 */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const engineLimits = {
  // Actors, and lists of users
  mailboxMessagesMax: 16_384,
  /** Accepted commands without an answer. Beyond, batches wait. */
  commandsUnansweredMax: 65_536,
  /**
   * Conditions and definitions evaluated per turn of the event loop, about 1 ms; further commands
   * wait (`DecisionTurns`).
   */
  decisionTurnWorkMax: 30_000,
  /** Users that are objects; all others are bytes. */
  decodedUsersMax: 1_000,
  /** How long a batch waits for room; batches that wait. */
  batchRoomWaitMs: 20_000,
  batchesWaitingMax: 1_000,
  /** Holds about 22 million callers' ids at a false-positive rate of 1 %. */
  idFilterBytes: 32 * mebibyte,
  /** Records of a user since the snapshot that are searched one by one. A map indexes more. */
  pendingNamesScannedMax: 64,
  actorRestartsMax: 5,
  actorRestartBackoffMs: 100,
  actorRestartWindowMs: 60_000,
  listTurnMs: 2,
  /** Lists of users that are read at once: in total, and of one environment. */
  listsConcurrentMax: 4,
  listsPerEnvironmentMax: 1,
  /**
   * A request for a list with filters decodes at most so many users. One in an order other than that
   * of the ids holds at most twice so many ids as candidates, and a table of all users more.
   */
  listLooksMax: 50_000,
  listCandidatesMax: 25_000,
  listTableCandidatesMax: 100_000,
  /** Users of a table that are decoded at once. */
  listChunkUsers: 500,
  sortTurnItemsMax: 512,

  // Backfills of badges
  backfillTurnUsersMax: 100,
  /** Counts of segments: the work of a turn, and how long a count serves reads. */
  segmentCountTurnMs: 2,
  segmentCountFreshMs: 60_000,
  backfillUsersConcurrentMax: 100,
  /**
   * A record of a user's history costs about as much to read as this many records of the journal in
   * order; records that are decoded per turn of the event loop.
   */
  backfillHistoryCost: 20,
  backfillTurnRecordsMax: 256,
  /** Delay before a temporarily refused award is retried. */
  backfillRetryMs: 1_000,
  /** How long after a defect a backfill begins again. */
  backfillCrashRetryMs: 90_000,

  /** Interval between checks of the machine's clock for jumps. */
  clockCheckMs: 60_000,
  /**
   * A jump of the machine's clock is accepted at once up to the first, after a wait of the second
   * up to the third, and refused beyond.
   */
  clockStepMs: 5 * 60_000,
  clockJumpWaitMs: 60_000,
  clockJumpMsMax: 31 * 86_400_000,
  /**
   * Speed of time while the machine's clock is behind, and the lag from which the log reports it.
   */
  clockSlewRate: 0.9,
  clockBehindLoggedMs: 1_000,
  windowClosesConcurrentMax: 64,
  windowCloseRetryMs: 1_000,
  /** Due users are visited in groups, with a pause after each. */
  agendaGroupUsersMax: 200,
  agendaPauseMs: 100,
  agendaRetryMs: 5_000,
  /**
   * Work that asks many users in the background (`actor/Pace.ts`): how many users are in a group, how many
   * groups may be without an answer, and how long a group waits for commands of others. A group takes about a
   * millisecond of the processor. Most commands are answered within the wait, and under a load that never
   * ends the work has about a tenth of the processor.
   */
  backgroundGroupUsersMax: 32,
  backgroundGroupsMax: 4,
  backgroundWaitMs: 10,
  /** Members of an agenda that are checked per turn after an edit of definitions. */
  agendaScanMembersMax: 20_000,

  // States of users in memory
  /** A bucket with more bytes splits, unless it has fewer users, or is so deep. */
  bucketBytesMax: 32 * kibibyte,
  bucketSplitUsersMin: 8,
  /** Also bounds the directory of an environment: 2^20 places. */
  bucketDepthMax: 20,
  /** A longer state is a value of its own. */
  stateInlineBytesMax: 2 * kibibyte,
  /** Names of an environment that states have as numbers; further names stand inline. */
  stateNamesMax: 65_536,

  // Snapshot
  snapshotIntervalMs: 30_000,
  snapshotRecordsMax: 200_000,
  snapshotSliceEntriesMax: 10_000,
  snapshotSliceBytesMax: 8 * mebibyte,
  /** Slices of a paced snapshot, which flushes of the journal do not notice; its share of the interval. */
  snapshotPacedBytesMax: 512 * kibibyte,
  snapshotPaceShare: 0.8,
  snapshotTurnMs: 2,
  idBucketIdsMax: 100,
  snapshotTurnIdsMax: 8_192,
  idRunIdsMax: 8_000_000,
  /** Expiry of kept answers: answers and entries per transaction, answers per turn. */
  expirySliceAnswersMax: 1_000,
  expirySliceEntriesMax: 5_000,
  expiryTurnAnswersMax: 50,
  snapshotPendingRecordsMax: 1_000_000,
  /** Time per turn of the event loop to fold records of another server. */
  foldTurnMs: 5,
  /** Pause of folding while only a snapshot of another engine of the process can make room. */
  foldRoomMs: 100,
  idempotencyPieceBytesMax: 1_600,
  /** Days that history is kept, if not for ever. Deliveries of webhooks are made from it. */
  historyDaysMin: 7,
  historyDaysMax: 36_500,
  journalUpkeepMs: 10 * 60_000,
  /** Age at which a segment is closed, and the interval of heartbeat records of an idle server. */
  journalSegmentMs: 12 * 3_600_000,
  journalHeartbeatMs: 6 * 3_600_000,
  /** Deadline for an erased user to leave journal and archives. */
  erasureMs: 14 * 86_400_000,
  /** Erasures are gathered, then carried out together; records in one run, and in one transaction. */
  erasureGatherMs: 86_400_000,
  erasureCheckMs: 3_600_000,
  erasureRunRecordsMax: 1_000_000,
  erasureSliceRecordsMax: 1_000,
  /** Bytes of segments that a run rewrites a day, unless the run would take longer. */
  erasureBytesPerDay: 64 * 1024 * mebibyte,
  erasureRunMs: 86_400_000,
  erasureSegmentRecordsMax: 200_000,
  /** Pause after a run that found records in a segment that still takes records. */
  erasureRetryMs: 6 * 3_600_000,

  // Histories of users
  /** History decoded per turn of the event loop. */
  historyTurnBytesMax: 256 * kibibyte,
  /** Records of a history that are read at once, and blocks after which a page with items ends. */
  historyChunkRecordsMax: 32,
  historyPageBlocksMax: 32,
  /** Records after which a page of a history with items ends. */
  historyScanRecordsMax: 1_000,

  // Journal, commits and PostgreSQL
  segmentBytes: 64 * mebibyte,
  journalAllocationBytes: mebibyte,
  journalReadBytes: mebibyte,
  journalIndexBytes: 16 * kibibyte,
  /** Sealed segments: records of a block, bytes between flushes, searches for full segments, end of the idle thread, checks. */
  sealedBlockBytes: 64 * kibibyte,
  sealFlushBytes: 512 * kibibyte,
  sealIntervalMs: 10_000,
  sealThreadIdleMs: 5_000,
  scrubIntervalMs: 7 * 86_400_000,
  /** Unpacked blocks of history that all journals of the process keep. */
  historyCacheBytesMax: 16 * mebibyte,
  /** Reads of single records under way, and segments that stay open between them. */
  historyReadsAtOnce: 2,
  historyFilesOpenMax: 16,
  commitBatchBytesMax: mebibyte,
  /** Time that a commit collects records, in turns of the event loop and in milliseconds. */
  commitTurnsMax: 4,
  commitCollectMs: 5,
  /** Durable records that become visible in one turn of the event loop. */
  commitTurnRecordsMax: 128,
  /**
   * A commit of at least the minimum and fewer than the maximum of records waits for more. After a
   * wait without effect, some commits do not wait.
   */
  commitDelayRecordsMin: 2,
  commitDelayRecordsMax: 8,
  commitDelayMs: 1,
  commitDelaySkipsMax: 255,
  recordSlabBytes: 4 * mebibyte,
  recordSlabsFreeMax: 32,
  commitPendingBytesMax: 64 * mebibyte,
  /**
   * Deadline of a write, counted in steps. A step in which the process was suspended does not
   * count.
   */
  commitDeadlineMs: 30_000,
  runningStepMs: 1_000,
  /** Interval between marks of the flushed end of the journal. */
  flushedMarkMs: 1_000,
  unavailableRetryMs: 250,
  stalledAnswerMs: 5_000,
  freeSpaceBytesMin: 64 * mebibyte,
  recordBytesMax: 4 * mebibyte,
  /** A journal in PostgreSQL: deadlines of a connection and of a statement. */
  postgresConnectMs: 5_000,
  postgresAnswerMs: 5_000,
  /**
   * A wait for a lock, as a share of `postgresAnswerMs`; and the interval at which PostgreSQL
   * checks whether a session's client is connected.
   */
  postgresLockShare: 0.8,
  postgresLostSessionMs: 1_000,
  /**
   * Sessions that the partitions of a process share, for appends and for all else. With one for
   * checks and at most five of the runner (owners, directory, placement), a process has twelve:
   * eight runners fit in PostgreSQL's default of 100.
   */
  postgresAppendSessions: 3,
  postgresOtherSessions: 3,
  /**
   * Time for which a change of the schema waits for the lock of a table, since appends wait behind
   * it.
   */
  postgresMigrateMs: 1_000,
  /** PostgreSQL ends a transaction after this time without a statement. */
  postgresTransactionIdleMs: 60_000,
  /** Deadline of the removal of a partition's journal, which may have millions of rows. */
  postgresRemoveMs: 1_800_000,
  /** Interval between checks of a journal's owner. */
  postgresCheckMs: 1_000,
  /**
   * Batches that one statement reads, their bytes (exceeded by at most one batch), and batches that
   * one statement deletes.
   */
  postgresReadRows: 16,
  postgresReadBytes: 4 * mebibyte,
  postgresPruneRows: 100,
  /** Entries of webhooks: rows and bytes that are read at once (exceeded by at most one value). */
  postgresEntryRows: 1_000,
  postgresEntryBytes: 4 * mebibyte,
  /**
   * Time in addition to `postgresAnswerMs`: for each entry of a write, and for each KiB that is
   * written or read.
   */
  postgresEntryAnswerMs: 1,
  postgresKibibyteAnswerMs: 1,
  /**
   * Changes of the tables for which removed entries are remembered; changes between two removals of
   * older ones; rows per removal.
   */
  tableChangesKept: 5_000,
  tablePruneChanges: 10,
  tablePruneRows: 20_000,
  /**
   * Claims whose first change PostgreSQL keeps, so that a copy can tell the changes of one owner
   * from those of another.
   */
  tableClaimsKept: 1_000,
  /** Bytes in PostgreSQL that are not in the local files yet. Beyond, writes are refused. */
  mirrorPendingBytesMax: 64 * mebibyte,
  /** Discarded local copies that are kept beside the one in use. */
  discardedCopiesKept: 2,
  damageNoteBytesMax: 4 * kibibyte,
  /**
   * Time for which the bytes that a recovery cut off, and copies that no server uses, are kept; and
   * the interval between removals of older ones. They may contain users who were erased since.
   */
  leftoverKeptMs: 7 * 86_400_000,
  leftoverSweepMs: 3_600_000,

  // Feed: the latest records, kept in memory for its readers
  feedRecordsMax: 20_000,
  feedBytesMax: 8 * mebibyte,
  feedReadersMax: 4,
  /** Records of the feed whose messages are kept. */
  feedCachedEntriesMax: 512,

  // Stored entries
  /**
   * Address space that a database reserves, and the least if address space is limited
   * (`addressSpace.ts`).
   */
  mapBytes: 16 * 1024 * mebibyte,
  mapBytesMin: 256 * mebibyte,
  /** Address space for the threads of a server beside the database. */
  threadsMapBytes: 3 * 1024 * mebibyte,
  /** A larger database is checked after the start if its last shutdown was clean. */
  databaseCheckedBytesMax: 16 * mebibyte,
  writeThreadYoungMebibytesMax: 8,
  /**
   * The thread that writes ends after this time without a write: several intervals of the snapshot.
   */
  writeThreadIdleMs: 90_000,
  readChunkEntriesMax: 1_000,
  readChunkMs: 2,

  // Webhooks
  webhookGraceSeconds: 86_400,
  webhookGraceSecondsMax: 604_800,
  /** Active secrets: the current one, and earlier ones in their grace period. */
  webhookSecretsMax: 5,
  webhookTimeoutMs: 15_000,
  webhookConnectTimeoutMs: 10_000,
  webhookKeepAliveMs: 4_000,
  webhookHeaderBytesMax: 16 * kibibyte,
  webhookReplyReadBytesMax: 16 * kibibyte,
  webhookReplyKeptBytesMax: kibibyte,
  webhookAttemptsMax: 20,
  /** Concurrent attempts: per endpoint, and in total. */
  webhookConcurrencyMax: 10,
  webhookAttemptsAtOnceMax: 2_048,
  /**
   * Concurrent attempts to the webhooks of one environment on one host: twice the attempts of one
   * webhook that answers quickly.
   */
  webhookAttemptsOfHostMax: 200,
  /**
   * Further attempts that may wait for a connection, per endpoint that answers within
   * `webhookQuickMs`.
   */
  webhookAheadMax: 90,
  webhookQuickMs: 100,
  /** The sender thread reports outcomes in groups of this size, or after this delay. */
  webhookOutcomesTogether: 64,
  webhookOutcomesMs: 3,
  webhookSlowMs: 1_000,
  webhookBreakerFailures: 5,
  webhookBreakerOpenMs: 30_000,
  webhookBreakerOpenMsMax: 10 * 60_000,
  webhookBreakerPauseMsMax: 3_600_000,
  /**
   * An endpoint is disabled after this time of failures only. The time between two attempts counts
   * up to the second limit.
   */
  webhookFailingMs: 5 * 86_400_000,
  webhookFailingStepMsMax: 30 * 3_600_000,
  /**
   * Deliveries in memory, ready to send: per endpoint, per failing endpoint, in total, and the
   * bytes of their records.
   */
  webhookReadyMax: 8_192,
  webhookReadyFailingMax: 4,
  webhookReadyTotalMax: 100_000,
  webhookReadyBytesMax: 64 * mebibyte,
  webhookReadersMax: 4,
  webhookCrowdedMs: 100,
  /**
   * Deliveries read from the store: per endpoint at once, per turn, and per block of succeeded
   * ones.
   */
  webhookLoadMax: 256,
  webhookLoadTurnDeliveries: 32,
  webhookBlockMax: 256,
  webhookPauseMsMax: 7 * 86_400_000,
  webhookRetryAfterMsMax: 86_400_000,
  /** Interval between writes of deliveries, and the age at which an unsent one is written. */
  webhookFlushIntervalMs: 200,
  webhookDeferMs: 2_000,
  outboxTakeRecordsMax: 500,
  outboxTurnDeliveries: 250,
  /** Pending deliveries: per endpoint, and in total. */
  webhookPendingMax: 1_000_000,
  webhookPendingTotalMax: 10_000_000,
  /** Finished deliveries to keep per endpoint and status, and the excess that triggers pruning. */
  webhookLogMax: 10_000,
  webhookLogSlack: 500,
  webhookRetentionMs: 6 * 86_400_000,
  webhookSweepIntervalMs: 600_000,
  webhookRecoverPendingMax: 10_000,
  webhookJobBatch: 250,
  webhookEraseGatherMs: 1_000,
  /** Time per turn of the event loop to visit endpoints. */
  webhookTurnMs: 2,
  webhookRestartMs: 1_000,
  webhookRestartMsMax: 60_000,
  webhookShutdownGraceMs: 5_000,
  webhookFlushDeliveries: 1_000,
  webhookFlushTurnDeliveries: 50,
  webhookUnwrittenMax: 5_000,
  webhookCursorIntervalMs: 5_000,
  dnsTimeoutMs: 3_000,
  dnsTries: 2,
  hostsFileCheckMs: 5_000,

  // Archives
  archiveIntervalMs: 3_600_000,
  /** Delay after a failed archive. */
  archiveRetryMs: 10 * 60_000,
  /** Of jobs that write a database: bytes of a transaction. */
  archiveFlushBytes: 4 * mebibyte,
  /** Copy beside a server: speed, the time beyond which it goes faster. */
  archiveCopyBytesPerSecond: 64 * mebibyte,
  archiveCopyMs: 60_000,
  /** Time within which hourly archives read each shared file again. */
  archiveRereadHours: 7 * 24,
  archivesHourly: 24,
  archivesDaily: 7,
  archivesKeptMax: 10_000,
  verificationFaultsMax: 20,
  /** Users whose states a check holds in memory; more are checked in several passes over the journal. */
  verificationUsersMax: 250_000,
  /** Erased users and revoked keys that a restore lists as returned. */
  restoreListedMax: 1_000,
  /** Journal records that a restore folds into the snapshot per step, all in memory. */
  foldRecordsMax: 100_000,
  exportLineBytesMax: 64 * mebibyte,
  /** Rows and bytes of texts that wait for a row group of a Parquet file, and the size of a file. */
  parquetGroupRowsMax: 20_000,
  parquetGroupBytes: 8 * mebibyte,
  parquetPartBytes: 32 * mebibyte,
  /** Users with records after the snapshot whose states an export holds; more take several passes. */
  parquetUsersMax: 100_000,
  /** Silence after which a worker process counts as hung. */
  workerSilenceMs: 10 * 60_000,
  /** Time in which a worker process ends after its outcome. */
  workerExitMs: 10_000,
  /** A process that scans databases ends after this time without a scan. */
  scanIdleMs: 1_000,

  // Archives in a bucket
  /** A file of an archive is sent in pieces of this size. */
  bucketPieceBytes: 8 * mebibyte,
  /** Requests at once, each with a piece in memory. */
  bucketRequestsMax: 4,
  bucketBytesPerSecond: 32 * mebibyte,
  /** The largest object that is read: the index of an archive, some 250 bytes a file. */
  bucketObjectBytesMax: 64 * mebibyte,
  /** Deadline of a request. */
  bucketRequestMs: 120_000,
  /** Deadline of a request for a small object while a person waits. */
  bucketCommandMs: 15_000,
  bucketCommandTries: 3,
  /** Attempts of a request with temporary failures, and the delay before the second. */
  bucketTries: 6,
  bucketRetryMs: 500,
  /** Time in which an archive must be sent. */
  bucketSendMs: 86_400_000,
  /** Time for which a piece stays after the last archive that needs it was removed. */
  bucketKeptMs: 2 * 86_400_000,
  /** Interval between removals of pieces that no archive needs. */
  bucketCollectMs: 86_400_000,
  bucketPrefixCharactersMax: 512,

  // Cluster
  /**
   * Partitions of a cluster. The number never changes: fewer would lose projects, and more would
   * have to reach all runners at once.
   */
  clusterPartitions: 16,
  /**
   * The interval of heartbeats is shorter by this for each further partition, so that heartbeats do
   * not coincide.
   */
  partitionHeartbeatStepMs: 300_000,
  /**
   * A runner counts as dead after this time without a sign of life: default, minimum and maximum of
   * a setting.
   */
  lockExpirationMs: 10_000,
  lockExpirationMsMin: 1_000,
  lockExpirationMsMax: 300_000,
  /** Interval between checks for runners that joined or left. */
  clusterAssignmentsMs: 300,
  clusterConnectionsMax: 3,
  /** Interval at which locks are confirmed, as a share of their expiration. */
  lockRefreshShare: 0.3,
  /**
   * After the first share without an answer, the result of the confirmation before counts. That
   * result is valid for the second share.
   */
  lockWaitShare: 0.15,
  lockHeldShare: 0.8,
  /** Time after an outage of PostgreSQL in which a runner waits for the signs of life of others. */
  lockGraceShare: 0.5,
  /** Time before a lost session, or a failed start of a partition, is tried again. */
  clusterRetryMs: 500,
  /** Interval at which owners are read without a notification. */
  ownersReadMs: 1_000,
  /** Time for which a start waits while another session has its address. */
  runnerAddressMs: 3_000,
  /** Time for which a runner that ends waits until PostgreSQL has released its locks. */
  clusterLeaveMs: 3_000,
  /** Interval at which an owner asks PostgreSQL whether it still is the owner. */
  confirmMs: 500,
  /**
   * A runner that has the lock and does not serve releases the lock after this time, or after this
   * many failures in a row.
   */
  openingMs: 60_000,
  openingMsMax: 960_000,
  openingFailuresMax: 3,
  /**
   * Time for which a runner that cannot write to its directory leaves the partition to the others.
   * They begin within half of it.
   */
  unwritablePauseMs: 5_000,
  /** Partitions that a runner opens at once as their owner, and as many as a follower. */
  openingsAtOnceMax: 2,
  /**
   * Time without a change of runners, and with an owner of each partition, before a partition moves
   * to a runner that has fewer.
   */
  movePauseMs: 10_000,
  /** Time between two such moves. */
  moveRestMs: 1_000,
  /**
   * Time over which the load of a partition is measured, and the least change that is published.
   */
  loadWindowMs: 30_000,
  loadChangeShare: 0.2,
  /**
   * Requests and records of all partitions per second. Below, only the number of partitions counts.
   */
  loadMin: 1,
  /**
   * A partition moves if the loads of two runners differ by at least this share of the mean load of
   * a runner, and by at least this many times the load of the partition.
   */
  loadGapShare: 0.25,
  loadGapTimes: 1.5,
  /** Time in which the requests in progress of a partition finish before it is handed over. */
  handoverMs: 500,
  /** Time for which an engine stays open after its lock was lost. */
  frozenMs: 60_000,
  /** Interval at which a runner reads changes of the directory without a notification. */
  directoryPollMs: 1_000,
  /**
   * Time between reads of the directory for requests with unknown keys, and how many of these
   * requests wait at once.
   */
  directoryReadPauseMs: 200,
  directoryWaitingMax: 1_000,
  /** Time without a change after which the directory is published again. */
  directoryRepublishMs: 60_000,
  /** Time for which a change of the directory waits until all runners can read it. */
  directoryPublishedMs: 5_000,
  // Followers
  /** Followers of a partition: the default of a setting. */
  followers: 1,
  followersMax: 8,
  /** Interval at which a follower reads records of the owner. */
  followIntervalMs: 100,
  /** Interval at which a follower reads changes of the tables of webhooks. */
  followWebhooksMs: 1_000,
  /** Interval at which a runner checks which partitions it follows. */
  followCheckMs: 250,
  /**
   * Time for which a former follower continues: a late sign of life of a runner changes the
   * followers for a moment.
   */
  followOverMs: 10_000,
  /** A follower takes over first if it had all records within this time. */
  followerCaughtUpMs: 5_000,
  /** Time for which other runners leave a partition without an owner to its followers. */
  followerHeadStartMs: 2_000,
  /**
   * Delay before a failed follower is opened again. It doubles with each further failure, up to the
   * maximum.
   */
  followRetryMs: 10_000,
  followRetryMsMax: 160_000,
  // Rows of runners
  /** Time of silence after which the row of a runner is removed. */
  runnerForgottenMs: 86_400_000,
  /** Time over which `laurel cluster status` counts requests. */
  requestWindowMs: 60_000,
  /** Archives of a cluster that a command asks for at once: each server makes one at a time. */
  archivesAskedAtOnce: 4,
  // Forwarding
  /**
   * Time for which a request waits for an owner, and requests that wait. Requests of one partition
   * take at most as many places as are free.
   */
  ownerWaitMs: 15_000,
  ownerWaitingMax: 1_000,
  /** Time for which `/readyz` of a starting server waits for an owner of each partition. */
  readinessWaitMs: 60_000,
  /**
   * Time after which an owner that did not take a request is asked again, unless it announces
   * earlier that it takes requests.
   */
  ownerAvoidedMs: 250,
  /** Header fields of a forwarded request: from the client, and from the forwarder. */
  forwardedHeaderBytesMax: 17 * kibibyte,
  forwardConnectMs: 2_000,
  /**
   * Timeout of a silent owner: longer than a batch waits, and than the interval of a stream's
   * heartbeats.
   */
  forwardSilenceMs: 60_000,
  /** Idle timeout of connections to an owner: shorter than the owner's. */
  forwardKeepAliveMs: 30_000,
  /**
   * A body up to this size is kept until its reply, to send it again. Larger bodies, and all beyond
   * the total, are streamed.
   */
  forwardKeptBytesMax: 256 * kibibyte,
  forwardKeptTotalBytesMax: 64 * mebibyte,
  /** Attempts of a request that fail after it was sent. */
  forwardAttemptsMax: 3,
} as const
