/**
 * Every bound of the service, with its unit in its name. Those an operator may want to change are
 * defaults of settings in `Config.ts`; the rest are part of the contract. How they relate is in `limitRelations.ts`.
 */
import { accountLimits } from "./accountLimits.ts"
import { httpLimits } from "./httpLimits.ts"

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const limits = {
  // What callers send
  idCharactersMax: 128,
  metadataBytesMax: 16 * kibibyte,
  metadataDepthMax: 8,
  /** An event as it is sent, white space and all: alone it is a body, and in a batch it may have as much. */
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
  /** By what each level of a geometric curve takes more than the one before it: at least this, so that it has some 3,000 levels at most. */
  levelFactorMin: 1.01,
  levelFactorMax: 100,
  titleCharactersMax: 200,
  descriptionCharactersMax: 2_000,
  urlCharactersMax: 2_048,
  webhookKindsMax: 50,
  messageBytesMax: 20 * kibibyte,
  messageLevelsMax: 1_000,
  idempotencyKeyCharactersMax: 255,
  idempotencyRetentionMs: 86_400_000,
  pageDefault: 20,
  pageMax: 100,
  faultsMax: 100,
  batchEventFaultsMax: 5,
  pointerKeyCharactersMax: 100,

  // What is remembered of a user
  /** Periods of a rule's limit; late events for older ones gain nothing. */
  rulePeriodsMax: 32,
  /** Past runs of a streak that a late event can lengthen or join. */
  streakRunsMax: 16,

  // Definitions
  questStepsMax: 20,
  prerequisitesMax: 20,
  conditionsMax: 10,
  conditionPathCharactersMax: 200,
  conditionTextCharactersMax: 500,
  conditionListMax: 50,
  /** Different `contains` conditions on the events with one action. */
  textSearchesOfActionMax: 200,
  /** What a step or a badge can ask for. */
  targetMax: Number.MAX_SAFE_INTEGER,
  /** Keys of steps and streaks. */
  keyCharactersMax: 64,
  multiplierMax: 1_000_000,
  limitTimesMax: 1_000_000,
  cooldownSecondsMax: 366 * 86_400,
  iconCharactersMax: 2_048,
  streakActionsMax: 50,
  streakFreezesMax: 366,
  streakEveryDaysMax: 366,

  // What one environment may hold; what is archived does not count
  questsMax: 10_000,
  rulesMax: 10_000,
  badgesMax: 1_000,
  streaksMax: 20,
  /** Archived definitions that are still known by name; the longest archived go first. */
  archivedQuestsMax: 10_000,
  archivedBadgesMax: 10_000,
  webhooksMax: 1_000,

  // Accounts
  projectsMax: 1_000,
  keysMax: 10_000,
  /** Revoked keys that are still listed; the longest revoked go first. */
  revokedKeysMax: 1_000,
  rateLimitWindowMs: 60_000,
  directoryCheckMs: 1_000,
  requestsPerMinuteMax: 1_000_000_000,

  // Actors, and lists of users
  mailboxMessagesMax: 16_384,
  /**
   * Conditions evaluated, and definitions looked at, in one turn of the event loop; some 5 ms. Beyond it, commands wait
   * for a later turn (`DecisionTurns`).
   */
  decisionTurnWorkMax: 150_000,
  activationsConcurrentMax: 64,
  residentUsersMax: 200_000,
  /** How many more may be resident while the snapshot that makes room is written. */
  residentUsersOverrunMax: 20_000,
  /** How long a batch waits for room, in line with so many others. */
  batchRoomWaitMs: 20_000,
  batchesWaitingMax: 1_000,
  idlePassivateMs: 10 * 60_000,
  /** Room for about 22 million callers' ids at one needless look-up in a hundred. */
  idFilterBytes: 32 * mebibyte,
  /** Of a user's records that are not in the snapshot, by one name; beyond it they are looked up in a map. */
  pendingNamesLookedAtMax: 64,
  sweepIntervalMs: 1_000,
  sweepActorsMax: 2_000,
  actorRestartsMax: 5,
  actorRestartBackoffMs: 100,
  actorRestartWindowMs: 60_000,
  listTurnMs: 2,
  listsConcurrentMax: 2,
  sortTurnItemsMax: 512,

  // Backfills of badges
  backfillTurnUsersMax: 100,
  backfillUsersConcurrentMax: 100,
  /** The pause before what was refused for now is asked again. */
  backfillRetryMs: 1_000,

  // Leaderboard
  boardChunkSlotsMin: 16,
  boardChunkSlotsStep: 64,
  boardChunkSlotsMax: 512,
  boardSpareChunksMax: 4,
  boardLargeMembersMin: 5_000_000,
  boardLargeChunkSlotsMax: 1_024,
  boardIdsInOneTableMax: 2_048,
  boardIdTables: 512,
  /** How many windows before the open one can be read. */
  boardDailyWindowsKept: 31,
  boardWeeklyWindowsKept: 12,
  boardMonthlyWindowsKept: 12,
  /** Boards are deleted in the end, which LMDB bears only with small values. */
  boardPageBytesMax: 1_600,
  boardBucketUsers: 100,
  /** What is prepared and written of a board in one turn of the event loop; `npm run bench -- rollover` prints the longest. */
  boardTurnRowsMax: 100,
  boardTurnBucketsMax: 25,
  boardSliceEntriesMax: 100,
  /** How often the clock is looked at, in case it was set. */
  clockCheckMs: 60_000,
  /** A jump of the machine's clock is believed at once up to the first, once it has stood for the second, and up to the third. */
  clockStepMs: 5 * 60_000,
  clockJumpStandsMs: 60_000,
  clockJumpMsMax: 31 * 86_400_000,
  /** Time goes on so fast while the machine's clock is behind, which is told from so much on. */
  clockSlewRate: 0.9,
  clockBehindToldMs: 1_000,
  windowClosesConcurrentMax: 64,
  windowCloseRetryMs: 1_000,
  /** Users whose due time has come are looked at in groups of so many, with a pause after each. */
  agendaGroupUsersMax: 200,
  agendaPauseMs: 100,
  agendaRetryMs: 5_000,
  /** How many members an agenda goes through in one turn when all must be looked at again. */
  agendaScanMembersMax: 20_000,

  // Journal
  segmentBytes: 64 * mebibyte,
  journalAllocationBytes: mebibyte,
  journalReadBytes: mebibyte,
  journalIndexBytes: 256 * kibibyte,
  commitBatchBytesMax: mebibyte,
  /** How long a batch collects what comes, in turns of the event loop and in time. */
  commitTurnsMax: 4,
  commitCollectMs: 5,
  recordSlabBytes: 4 * mebibyte,
  recordSlabsFreeMax: 32,
  commitPendingBytesMax: 64 * mebibyte,
  /** How long a write may take, counted in steps; a step in which the process stood still does not count. */
  commitDeadlineMs: 30_000,
  runningStepMs: 1_000,
  /** How often evidence is left of how far the journal is flushed. */
  flushedMarkMs: 1_000,
  noSpaceRetryMs: 250,
  stalledAnswerMs: 5_000,
  freeSpaceBytesMin: 64 * mebibyte,
  recordBytesMax: 4 * mebibyte,

  // Snapshot
  snapshotIntervalMs: 30_000,
  snapshotRecordsMax: 200_000,
  snapshotSliceEntriesMax: 10_000,
  snapshotTurnEntriesMax: 500,
  idBucketIdsMax: 100,
  snapshotTurnIdsMax: 8_192,
  idRunIdsMax: 8_000_000,
  /** Kept answers that are deleted together: so many looked at, so many entries; and looked at in one turn. */
  expirySliceAnswersMax: 1_000,
  expirySliceEntriesMax: 5_000,
  expiryTurnAnswersMax: 50,
  snapshotPendingRecordsMax: 1_000_000,
  /** With what surrounds it, one page of LMDB. Larger than what LMDB should delete often; history is not deleted. */
  historyPageBytesMax: 4_000,
  /** What a reader of histories decodes in one turn of the event loop. */
  historyTurnBytesMax: 256 * kibibyte,
  historyTurnRecordsMax: 2_000,
  historyReadPagesMax: 32,
  /** What a page of a history looks through for facts of one kind. */
  historyScanRecordsMax: 10_000,
  idempotencyPieceBytesMax: 1_600,
  journalRetentionMs: 7 * 86_400_000,
  /** A segment that has a record so old takes no more, and a server to which nothing happens writes a record so often. */
  journalSegmentMs: 12 * 3_600_000,
  journalHeartbeatMs: 6 * 3_600_000,
  /** By when an erased user is gone from journal and archives. */
  erasureMs: 10 * 86_400_000,
  journalRetentionBytesMax: 16 * 1024 * mebibyte,

  // Feed: what is kept for those who follow at the head
  feedRecordsMax: 20_000,
  feedBytesMax: 8 * mebibyte,
  feedReadersMax: 4,
  feedToldMax: 512,
  journalHeldBytesMax: 32 * 1024 * mebibyte,

  // Stored entries
  mapBytes: 16 * 1024 * mebibyte,
  /** A larger database that was closed in order is checked after the start, beside the server. */
  databaseCheckedBytesMax: 16 * mebibyte,
  /** Entries whose old values are looked up in one turn of the event loop. */
  sumTurnEntriesMax: 2_000,
  readChunkEntriesMax: 1_000,
  readChunkMs: 2,

  // Webhooks
  webhookGraceSeconds: 86_400,
  webhookGraceSecondsMax: 604_800,
  /** That sign at once: the current one, and those before whose grace runs. */
  webhookSecretsMax: 5,
  webhookTimeoutMs: 15_000,
  webhookConnectTimeoutMs: 10_000,
  webhookKeepAliveMs: 4_000,
  webhookHeaderBytesMax: 16 * kibibyte,
  webhookReplyReadBytesMax: 16 * kibibyte,
  webhookReplyKeptBytesMax: kibibyte,
  webhookAttemptsMax: 20,
  /** At once: to one endpoint, and to all. */
  webhookConcurrencyMax: 10,
  webhookAttemptsAtOnceMax: 2_048,
  /** Beyond those, attempts that may wait for a connection to one endpoint that answers everything so soon. */
  webhookAheadMax: 90,
  webhookQuickMs: 100,
  /** The thread that sends tells outcomes when so many wait, or the first has waited for so long. */
  webhookOutcomesTogether: 64,
  webhookOutcomesMs: 3,
  webhookSlowMs: 1_000,
  webhookBreakerFailures: 5,
  webhookBreakerOpenMs: 30_000,
  webhookBreakerOpenMsMax: 10 * 60_000,
  webhookBreakerPauseMsMax: 3_600_000,
  /** Nothing but failures for so long disables an endpoint. What passes between two attempts counts up to a bound, whatever the clock does. */
  webhookFailingMs: 5 * 86_400_000,
  webhookFailingStepMsMax: 30 * 3_600_000,
  /** In memory, to be sent: of one endpoint, of one that does not answer, and of all, with what their records take. */
  webhookReadyMax: 8_192,
  webhookReadyFailingMax: 4,
  webhookReadyTotalMax: 100_000,
  webhookReadyBytesMax: 64 * mebibyte,
  webhookReadersMax: 4,
  webhookCrowdedMs: 100,
  /** Deliveries that are read from the store: at once for one endpoint, and in one turn. Of those that succeeded, one block. */
  webhookLoadMax: 256,
  webhookLoadTurnDeliveries: 32,
  webhookBlockMax: 256,
  webhookPauseMsMax: 7 * 86_400_000,
  webhookRetryAfterMsMax: 86_400_000,
  /** Deliveries are written this often, or when so many wait; what waits in memory to be sent, after so long. */
  webhookFlushIntervalMs: 200,
  webhookDeferMs: 2_000,
  outboxTakeRecordsMax: 500,
  outboxTurnDeliveries: 250,
  /** Pending deliveries: of one endpoint, and of all. */
  webhookPendingMax: 1_000_000,
  webhookPendingTotalMax: 10_000_000,
  /** Ended deliveries that are kept of each endpoint and status, and how many more before they are pruned. */
  webhookLogMax: 10_000,
  webhookLogSlack: 500,
  webhookRetentionMs: 6 * 86_400_000,
  webhookSweepIntervalMs: 600_000,
  webhookRecoverPendingMax: 10_000,
  webhookJobBatch: 250,
  webhookEraseGatherMs: 1_000,
  /** For so long in one turn of the event loop endpoints are looked at. */
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
  /** After one that failed. */
  archiveRetryMs: 10 * 60_000,
  /** A copy beside a server: so much is on disk before more is written, so fast, and faster where it would take longer than so. */
  archiveFlushBytes: 4 * mebibyte,
  archiveCopyBytesPerSecond: 64 * mebibyte,
  archiveCopyMs: 60_000,
  archivesHourly: 24,
  archivesDaily: 7,
  archivesKeptMax: 10_000,
  verificationFaultsMax: 20,
  /** How many erased users and revoked keys a restore names that are back with it. */
  restoreToldMax: 1_000,
  /** Records of the journal that a restore folds into the snapshot at a time, all of them in memory. */
  foldRecordsMax: 100_000,
  exportLineBytesMax: 64 * mebibyte,
  /** A process that says nothing for so long is given up. */
  workerSilenceMs: 10 * 60_000,

  ...accountLimits,
  ...httpLimits,

  // The process
  signalEchoMs: 500,
  /** How often a start that takes long says in the log what it is at. */
  startLogEveryMs: 5_000,
  otlpLogsEveryMs: 1_000,
  otlpLogsBatchMax: 1_000,
  otlpMetricsEveryMs: 15_000,
  /** How long one export may take, with all of its tries. */
  otlpExportMs: 10_000,
  otlpRetryMs: 1_000,
  otlpRetriesMax: 3,
  /** Exports that wait for the collector; what comes beyond is lost, and counted. */
  otlpExportsUnderWayMax: 4,
  /** How long the end of the process may take to export what is left. */
  otlpShutdownMs: 2_000,
  /** How often the event loop's delay is looked at. */
  eventLoopSampleMs: 20,
} as const
