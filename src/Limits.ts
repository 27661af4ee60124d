/**
 * Every bound of the service, with its unit in its name. Those an operator may want to change are
 * defaults of settings in `config/Config.ts`; the rest are part of the contract. How they relate is in `limitRelations.ts`.
 */
import { accountLimits } from "./accountLimits.ts"
import { bucketLimits } from "./bucketLimits.ts"
import { clusterLimits } from "./clusterLimits.ts"
import { historyLimits } from "./historyLimits.ts"
import { httpLimits } from "./httpLimits.ts"
import { journalLimits } from "./journalLimits.ts"
import { watchLimits } from "./watchLimits.ts"

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const limits = {
  // Input
  idCharactersMax: 128,
  metadataBytesMax: 16 * kibibyte,
  metadataDepthMax: 8,
  /** An event as sent, with white space: the same alone and in a batch. */
  eventBytesMax: 64 * kibibyte,
  batchEventsMax: 1_000,
  batchBodyBytesMax: 8 * mebibyte,
  bodyBytesMax: 64 * kibibyte,
  headerBytesMax: 16 * kibibyte,
  occurredAtFutureMs: 5 * 60_000,
  occurredAtPastMs: 30 * 86_400_000,
  amountMax: 1_000_000_000,
  balanceMax: Number.MAX_SAFE_INTEGER,
  reasonCharactersMax: 500,
  displayNameCharactersMax: 200,
  attributesMax: 50,
  attributeNameCharactersMax: 64,
  attributeTextCharactersMax: 500,
  searchCharactersMax: 128,
  /** Thresholds of a level curve that is a table. */
  levelThresholdsMax: 1_000,
  /** Growth per level of a geometric curve; the minimum bounds a curve to about 3,000 levels. */
  levelFactorMin: 1.01,
  levelFactorMax: 100,
  titleCharactersMax: 200,
  descriptionCharactersMax: 2_000,
  urlCharactersMax: 2_048,
  webhookKindsMax: 50,
  messageBytesMax: 20 * kibibyte,
  messageLevelsMax: 1_000,
  idempotencyKeyCharactersMax: 255,
  /** Of all preferences of a request together (`Prefer`). */
  preferCharactersMax: 1_000,
  idempotencyRetentionMs: 86_400_000,
  /** Minutes for which the events of an environment are counted. */
  activityMinutes: 60,
  pageDefault: 20,
  pageMax: 100,
  faultsMax: 100,
  batchEventFaultsMax: 5,
  pointerKeyCharactersMax: 100,

  // History kept in a user's state
  /** Periods of a rule's limit; the uses of older ones are counted in the user's history. */
  rulePeriodsMax: 32,
  /** Former time zones of a user or a project; before the oldest, that one counts. */
  pastZonesMax: 32,
  /** Ranges of days of a streak; late events of the days before them add nothing. */
  streakRangesMax: 400,
  /** Former freezes of a streak's definition; before the oldest, those count. */
  streakEditsMax: 16,

  // Definitions
  questStepsMax: 20,
  prerequisitesMax: 20,
  conditionsMax: 10,
  conditionPathCharactersMax: 200,
  conditionTextCharactersMax: 500,
  conditionListMax: 50,
  /** Different `contains` conditions on one action. */
  textSearchesOfActionMax: 200,
  /** Target of a step or a badge. */
  targetMax: Number.MAX_SAFE_INTEGER,
  /** Steps and badges that sum: their target, the number of one event, the sum itself, and its decimals. */
  sumTargetMax: 1_000_000_000,
  sumAmountMax: 1_000_000_000,
  sumMax: 2_000_000_000,
  sumDecimals: 4,
  /** Keys of steps and streaks. */
  keyCharactersMax: 64,
  multiplierMax: 1_000_000,
  limitTimesMax: 1_000_000,
  cooldownSecondsMax: 366 * 86_400,
  iconCharactersMax: 2_048,
  streakActionsMax: 50,
  clientActionsMax: 100,
  streakFreezesMax: 366,
  streakEveryDaysMax: 366,

  /** A file of definitions: its bytes, the definitions that it may change at once, and the work of that (`Definitions.ts`). */
  definitionsBytesMax: 256 * kibibyte,
  definitionChangesMax: 500,
  definitionWorkMax: 300_000,

  // Definitions of one environment, archived ones excepted
  questsMax: 10_000,
  rulesMax: 10_000,
  badgesMax: 1_000,
  streaksMax: 20,
  /** Archived definitions to keep; the oldest are dropped first. */
  archivedQuestsMax: 10_000,
  archivedBadgesMax: 10_000,
  /** Webhooks of an environment: the default of `LAUREL_WEBHOOKS_MAX`, and its most. */
  webhooks: 50,
  webhooksMax: 1_000,

  /** Actions of an environment whose events are counted by name, and those among them that no definition named. */
  actionsCountedMax: 1_000,
  actionsUnmatchedMax: 500,

  // Accounts
  projectsMax: 1_000,
  rateLimitWindowMs: 60_000,
  requestsPerMinuteMax: 1_000_000_000,

  // Actors, and lists of users
  mailboxMessagesMax: 16_384,
  /** Commands accepted and not answered yet, beyond which batches wait. */
  commandsUnansweredMax: 65_536,
  /** Conditions and definitions evaluated per turn of the event loop, about 1 ms; further commands wait (`DecisionTurns`). */
  decisionTurnWorkMax: 30_000,
  activationsConcurrentMax: 64,
  residentUsersMax: 200_000,
  /** Users beyond `residentUsersMax` while the snapshot that allows evictions is written: half as many, and at least these. */
  residentUsersOverrunMin: 20_000,
  /** Wait of a batch for room in memory, and batches in that queue. */
  batchRoomWaitMs: 20_000,
  batchesWaitingMax: 1_000,
  idlePassivateMs: 10 * 60_000,
  /** Holds about 22 million callers' ids at a false-positive rate of 1 %. */
  idFilterBytes: 32 * mebibyte,
  /** A user's unsnapshotted records to search one by one; more are indexed by a map. */
  pendingNamesLookedAtMax: 64,
  sweepIntervalMs: 1_000,
  sweepActorsMax: 2_000,
  actorRestartsMax: 5,
  actorRestartBackoffMs: 100,
  actorRestartWindowMs: 60_000,
  listTurnMs: 2,
  /** Lists of users that are read at once, and of one environment. */
  listsConcurrentMax: 4,
  listsPerEnvironmentMax: 1,
  sortTurnItemsMax: 512,

  // Backfills of badges
  backfillTurnUsersMax: 100,
  backfillUsersConcurrentMax: 100,
  /** Delay before a temporarily refused award is retried. */
  backfillRetryMs: 1_000,

  // Leaderboard
  boardChunkSlotsMin: 16,
  boardChunkSlotsStep: 64,
  boardChunkSlotsMax: 512,
  boardSpareChunksMax: 4,
  boardMovesMax: 256,
  boardLargeMembersMin: 5_000_000,
  boardLargeChunkSlotsMax: 1_024,
  boardIdsInOneTableMax: 2_048,
  boardIdTables: 512,
  /** Past windows that can be read. */
  boardDailyWindowsKept: 31,
  boardWeeklyWindowsKept: 12,
  boardMonthlyWindowsKept: 12,
  /** Small values, since boards are deleted later: LMDB deletes large values slowly. */
  boardPageBytesMax: 1_600,
  boardBucketUsers: 100,
  /** Work on a stored board per turn of the event loop; `npm run bench -- rollover` prints the longest turn. */
  boardTurnRowsMax: 100,
  boardTurnBucketsMax: 25,
  boardSliceEntriesMax: 100,
  /** Interval between checks of the machine's clock for jumps. */
  clockCheckMs: 60_000,
  /** A jump of the machine's clock is accepted at once up to the first, after the second up to the third, and refused beyond. */
  clockStepMs: 5 * 60_000,
  clockJumpStandsMs: 60_000,
  clockJumpMsMax: 31 * 86_400_000,
  /** Speed of time while the machine's clock is behind, and the lag from which the log reports it. */
  clockSlewRate: 0.9,
  clockBehindToldMs: 1_000,
  windowClosesConcurrentMax: 64,
  windowCloseRetryMs: 1_000,
  /** Due users are visited in groups, with a pause after each. */
  agendaGroupUsersMax: 200,
  agendaPauseMs: 100,
  agendaRetryMs: 5_000,
  /** Members of an agenda to recheck per turn after an edit of definitions. */
  agendaScanMembersMax: 20_000,

  // Snapshot
  snapshotIntervalMs: 30_000,
  snapshotRecordsMax: 200_000,
  snapshotSliceEntriesMax: 10_000,
  snapshotSliceBytesMax: 8 * mebibyte,
  snapshotTurnMs: 2,
  idBucketIdsMax: 100,
  snapshotTurnIdsMax: 8_192,
  idRunIdsMax: 8_000_000,
  /** Expiry of kept answers: answers and entries per transaction, answers per turn of the event loop. */
  expirySliceAnswersMax: 1_000,
  expirySliceEntriesMax: 5_000,
  expiryTurnAnswersMax: 50,
  snapshotPendingRecordsMax: 1_000_000,
  /** A turn of the event loop that folds records of another server. */
  foldTurnMs: 5,
  /** Folding waits this long where only snapshots of other engines of the process make room. */
  foldRoomMs: 100,
  idempotencyPieceBytesMax: 1_600,
  journalRetentionMs: 7 * 86_400_000,
  /** Age at which a segment is closed, and the interval of heartbeat records of an idle server. */
  journalSegmentMs: 12 * 3_600_000,
  journalHeartbeatMs: 6 * 3_600_000,
  /** Deadline for an erased user to leave journal and archives. */
  erasureMs: 10 * 86_400_000,
  journalRetentionBytesMax: 16 * 1024 * mebibyte,

  // Feed: latest records kept in memory for its readers
  feedRecordsMax: 20_000,
  feedBytesMax: 8 * mebibyte,
  feedReadersMax: 4,
  feedToldMax: 512,
  /** Pause of a reader of the past while the store that has it does not answer. */
  feedRetryMs: 1_000,
  journalHeldBytesMax: 32 * 1024 * mebibyte,

  // Stored entries
  /** Address space that a database reserves, and the least where the process has a limit on that (`addressSpace.ts`). */
  mapBytes: 16 * 1024 * mebibyte,
  mapBytesMin: 256 * mebibyte,
  /** Address space for the threads of a server beside the database. */
  threadsMapBytes: 3 * 1024 * mebibyte,
  /** A larger database is checked after the start if its last shutdown was clean. */
  databaseCheckedBytesMax: 16 * mebibyte,
  writeThreadYoungMebibytesMax: 8,
  /** The thread that writes ends after so long without a write: several intervals of the snapshot. */
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
  /** Of those, to the webhooks of one environment on one host: half is as many as one webhook that answers quickly has. */
  webhookAttemptsOfHostMax: 200,
  /** Attempts that may wait for a connection, beyond those, per endpoint that answers within `webhookQuickMs`. */
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
  /** An endpoint that only fails for this long is disabled. The time between two attempts counts up to the second bound. */
  webhookFailingMs: 5 * 86_400_000,
  webhookFailingStepMsMax: 30 * 3_600_000,
  /** Deliveries in memory, ready to send: per endpoint, per failing endpoint, in total, and the bytes of their records. */
  webhookReadyMax: 8_192,
  webhookReadyFailingMax: 4,
  webhookReadyTotalMax: 100_000,
  webhookReadyBytesMax: 64 * mebibyte,
  webhookReadersMax: 4,
  webhookCrowdedMs: 100,
  /** Deliveries read from the store: per endpoint at once, per turn, and per block of succeeded ones. */
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
  /** Copy beside a running server: bytes between flushes, its speed, and the duration beyond which it may go faster. */
  archiveFlushBytes: 4 * mebibyte,
  archiveCopyBytesPerSecond: 64 * mebibyte,
  archiveCopyMs: 60_000,
  /** Of a file that archives share; history is rewritten by the file where a user of it was erased. */
  archivePartBytes: 4 * mebibyte,
  /** Hours within which hourly archives have read each such file again. */
  archiveRereadHours: 7 * 24,
  /** Of such a file, read at once. */
  archiveReadBytes: 64 * kibibyte,
  archivesHourly: 24,
  archivesDaily: 7,
  archivesKeptMax: 10_000,
  verificationFaultsMax: 20,
  /** Erased users and revoked keys that a restore lists as returned. */
  restoreToldMax: 1_000,
  /** Journal records that a restore folds into the snapshot per step, all in memory. */
  foldRecordsMax: 100_000,
  exportLineBytesMax: 64 * mebibyte,
  /** Silence after which a worker process counts as hung. */
  workerSilenceMs: 10 * 60_000,
  /** Time in which a worker process ends after its outcome. */
  workerExitMs: 10_000,
  /** A process that scans databases ends after this time without one. */
  scanIdleMs: 1_000,
  /** Time that a scan has for finding out, after a signal has ended a server, whether its database is damaged. */
  crashScanMs: 10 * 60_000,

  ...accountLimits,
  ...bucketLimits,
  ...clusterLimits,
  ...httpLimits,
  ...historyLimits,
  ...journalLimits,
  ...watchLimits,

  // The process
  /** The least that V8 must be allowed for the heap of a server, which it ends without more. */
  heapBytesMin: 256 * mebibyte,
  signalEchoMs: 500,
  /** `laurel listen`: attempts to forward a message, and the time before the second; it doubles. */
  listenAttemptsMax: 3,
  listenRetryMs: 1_000,
  /** Interval of progress lines in the log of a long start. */
  startLogEveryMs: 5_000,
} as const
