/**
 * Every limit of the service, with its unit in its name. A limit that an operator may change is the
 * default of a setting in `config/Config.ts`; the others are part of the contract. `laurel limits`
 * prints all of them. The relations between limits are checked when this file is loaded.
 * `engineLimits.ts` has the limits of the engine, storage, webhooks and the cluster, `httpLimits.ts`
 * those of the HTTP server; the files of kinds, such as `boardLimits.ts`, have those of the kinds.
 */

import { activityLimits } from "./activityLimits.ts"
import { boardLimits } from "./boardLimits.ts"
import { engineLimits } from "./engineLimits.ts"
import { experimentLimits } from "./experimentLimits.ts"
import { goalLimits } from "./goalLimits.ts"
import { httpLimits } from "./httpLimits.ts"
import { itemLimits } from "./itemLimits.ts"
import { leagueLimits } from "./leagueLimits.ts"
import { metricLimits } from "./metricLimits.ts"
import { recapLimits } from "./recapLimits.ts"
import { sourceLimits } from "./sourceLimits.ts"
import { streakLimits } from "./streakLimits.ts"
import { teamLimits } from "./teamLimits.ts"
import { warehouseLimits } from "./warehouseLimits.ts"

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const limits = {
  // Input
  idCharactersMax: 128,
  metadataBytesMax: 16 * kibibyte,
  metadataDepthMax: 8,
  /** An event as sent, with white space: the same alone and in a batch. */
  eventBytesMax: 64 * kibibyte,
  /** Events or rewards in a batch. */
  batchItemsMax: 1_000,
  batchBodyBytesMax: 8 * mebibyte,
  bodyBytesMax: 64 * kibibyte,
  headerBytesMax: 16 * kibibyte,
  occurredAtFutureMs: 5 * 60_000,
  occurredAtPastMs: 30 * 86_400_000,
  /** How far a test clock leads a sandbox ahead of the server's time: five calendar years. */
  testClockAheadMsMax: 5 * 366 * 86_400_000,
  /** How long a request to advance a test clock waits for the end of the advance. */
  testClockWaitMs: 5_000,
  /** The pause after each group of due users during an advance, in place of `agendaPauseMs`. */
  testClockPauseMs: 5,
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
  /** All `Prefer` fields of a request together. */
  preferCharactersMax: 1_000,
  /** All `If-Match` or `If-None-Match` fields of a request together. */
  entityTagsCharactersMax: 1_000,
  idempotencyRetentionMs: 86_400_000,
  /** Minutes for which the events of an environment are counted. */
  activityMinutes: 60,
  pageDefault: 20,
  pageMax: 100,
  /** The longest id of a user and the longest name of a group, as a cursor has them, are shorter (`http/api/Cursor.ts`). */
  cursorCharactersMax: 4_096,
  /** Users that one request names. */
  usersNamedMax: 100,
  faultsMax: 100,
  batchEventFaultsMax: 5,
  pointerKeyCharactersMax: 100,
  /** Pointers that tell where a repeated body differs from the first. */
  differencesMax: 20,

  // History kept in a user's state
  /** Periods of a rule's limit; the uses of older ones are counted in the user's history. */
  rulePeriodsMax: 32,
  /** Periods of a currency's `earnLimit` in a state; credits of older ones are read in the history. */
  earnPeriodsMax: 32,
  /** Former time zones of a user or a project. The oldest also applies to all earlier times. */
  pastZonesMax: 32,

  // Definitions
  questStepsMax: 20,
  prerequisitesMax: 20,
  conditionsMax: 10,
  /** Conditions of a segment. */
  segmentConditionsMax: 20,
  conditionPathCharactersMax: 200,
  conditionTextCharactersMax: 500,
  conditionListMax: 50,
  /** Different `contains` conditions on one action. */
  textSearchesOfActionMax: 200,
  /** Target of a step or a badge. */
  targetMax: Number.MAX_SAFE_INTEGER,
  /** Sums of steps and badges: the target, the number in one event, the sum, and its decimals. */
  sumTargetMax: 1_000_000_000,
  sumAmountMax: 1_000_000_000,
  sumMax: 2_000_000_000,
  sumDecimals: 4,
  /** Keys of definitions and steps. */
  keyCharactersMax: 64,
  multiplierMax: 1_000_000,
  limitTimesMax: 1_000_000,
  cooldownSecondsMax: 366 * 86_400,
  iconCharactersMax: 2_048,
  /** The factor of a boost, its decimals, and the product of the factors of all that run. */
  boostFactorMin: 0.1,
  boostFactorMax: 10,
  boostFactorDecimals: 2,
  boostProductMax: 10,
  boostSpellsMax: 20,
  boostCurrenciesMax: 20,
  /** A reward of a personal boost, and how many of them a user has at once. */
  boostMinutesMax: 30 * 24 * 60,
  ownBoostsMax: 20,
  /** How many times a user who stays away is reminded, and after how many days at most. */
  remindersMax: 5,
  reminderDaysMax: 365,
  /** How many days before an end a reminder may come, and how late after its hour. */
  reminderDaysBeforeMax: 30,
  reminderLateMs: 3 * 3_600_000,
  clientActionsMax: 100,

  /** A file of definitions: its size, the definitions that it changes, the work of the change. */
  definitionsBytesMax: 256 * kibibyte,
  definitionChangesMax: 500,
  definitionWorkMax: 300_000,

  // Definitions of one environment, archived ones excepted
  questsMax: 10_000,
  rulesMax: 10_000,
  badgesMax: 1_000,
  badgeTiersMax: 20,
  /** Badges that a badge lists. */
  listedBadgesMax: 50,
  /** Badges and tiers in opening balances. */
  openingBadgesMax: 200,
  /** How often a user earns a repeatable badge. */
  badgeTimesMax: 1_000_000,
  boostsMax: 1_000,
  /** Boosts that are scheduled or active. */
  runningBoostsMax: 50,
  /** Currencies, `xp` and `points` included. */
  currenciesMax: 20,
  segmentsMax: 100,
  /** Archived definitions to keep; the oldest are dropped first, and their keys become free. */
  archivedQuestsMax: 10_000,
  archivedRulesMax: 10_000,
  archivedBadgesMax: 10_000,
  archivedBoostsMax: 1_000,
  archivedSegmentsMax: 1_000,
  pendingDaysMax: 60,
  expiryDaysMax: 3_650,
  /** Named levels of a currency. */
  currencyLevelsMax: 100,
  /** Lots of one kind of a currency and a user (`domain/user/Lots.ts`). */
  lotsMax: 64,
  /** Users who are merged into one, also through others. */
  mergedUsersMax: 100,
  /** After which time a merge that was interrupted goes on by itself. */
  mergeRetryMs: 5_000,
  /** The `max` of a currency with `refill`, so that what users spend stays a safe integer. */
  refillMaxMax: 1_000_000,
  refillMinutesMax: 525_600,
  refillEditsMax: 16,
  /** Archived ones that are never dropped: users may still have balances or days of them. */
  archivedCurrenciesMax: 100,
  archivedMetricsMax: 1_000,
  /** Webhooks of an environment: the default and the maximum of `LAUREL_WEBHOOKS_MAX`. */
  webhooks: 50,
  webhooksMax: 1_000,

  /** Actions whose events are counted by name, and how many of these no definition names. */
  actionsCountedMax: 1_000,
  actionsUnmatchedMax: 500,
  /** Paths of the metadata of events: of an action, and of an environment. */
  pathsOfActionMax: 50,
  pathsOfEnvironmentMax: 4_000,
  pathCharactersMax: 100,
  /** Events of an action whose paths are read in a period: the first ones, then one of `pathsSample`. */
  pathsLookedFirst: 100,
  pathsSample: 16,
  pathsPeriodMs: 30 * 86_400_000,
  /** Members of an event that are read. An object in it with more than `pathsMembersMax` members is a map. */
  pathsLookedPerEvent: 100,
  pathsMembersMax: 20,
  /** Rare paths that the paths of one event may replace. */
  pathsReplacedPerEvent: 5,

  // Accounts
  projectsMax: 1_000,
  rateLimitWindowMs: 60_000,
  requestsPerMinuteMax: 1_000_000_000,

  // Keys, accounts, sessions and invitations
  /** Keys in force: in all environments, and in one. */
  keysMax: 10_000,
  keysPerEnvironmentMax: 1_000,
  /** Revoked and expired keys that are listed. The keys that ended first are dropped first. */
  endedKeysMax: 1_000,
  keyNameCharactersMax: 100,
  keyOriginsMax: 20,
  originCharactersMax: 300,
  keyCidrsMax: 20,
  /** Interval of the records of the last uses of keys. */
  keyUseFlushMs: 3_600_000,
  /** Interval of attempts to write such a record once it is due. */
  keyUseCheckMs: 1_000,
  /** Deadline of the last such record at shutdown. */
  keyUseLastFlushMs: 2_000,
  /** Lifetimes of user tokens. The longest token contains the longest user id, escaped. */
  userTokenSecondsMin: 60,
  userTokenSeconds: 3_600,
  userTokenSecondsMax: 86_400,
  userTokenCharactersMax: 2_048,
  /** Erased users whose earlier tokens are refused one by one; beyond, all earlier ones are. */
  erasedUsersMax: 10_000,
  /**
   * Requests with the tokens of one user, and users whose requests are counted. The user seen first
   * is dropped first.
   */
  userRequestsPerMinute: 120,
  usersCountedMax: 100_000,
  accountsMax: 1_000,
  emailCharactersMax: 254,
  accountNameCharactersMax: 100,
  passkeysPerAccountMax: 20,
  passkeyNameCharactersMax: 100,
  /**
   * Base64url: ids have at most 1,023 bytes (WebAuthn Level 3, §7.1), keys at most 2 KiB (RSA with
   * 8,192 bits has half).
   */
  passkeyIdCharactersMax: 1_364,
  passkeyKeyCharactersMax: 2_731,
  /** Time between the options of a passkey and the browser's answer. */
  passkeyChallengeMs: 300_000,
  /** Used challenges that have not expired. */
  passkeyChallengesUsedMax: 10_000,
  /** `CheckThread`: checks in progress, deadline of a check, idle time before its end, its heap. */
  checksMax: 32,
  checkMs: 10_000,
  checkThreadIdleMs: 60_000,
  checkThreadMebibytesMax: 128,
  /** Sessions of one account. A further one ends the one that was unused for the longest time. */
  sessionsPerAccountMax: 20,
  sessionAgentCharactersMax: 200,
  /** A session ends after the first time without use, and after the second time in any case. */
  sessionIdleMs: 12 * 3_600_000,
  sessionMs: 30 * 86_400_000,
  /** The use of a session is recorded at most this often. */
  sessionRenewMs: 10 * 60_000,
  /** Time after a sign-in or a confirmation in which an account may do what cannot be undone. */
  sessionConfirmedMs: 10 * 60_000,
  passwordCharactersMin: 12,
  passwordCharactersMax: 128,
  /**
   * A password needs at least 10 to this power guesses. The estimate reads only the first
   * characters.
   */
  passwordGuessesLog10Min: 10,
  passwordEstimatedCharactersMax: 48,
  /**
   * Hashes of passwords: computed at once; computed or waiting for strangers; and additionally
   * waiting for people whom the server knows by a session, a link or a device that signed in
   * before.
   */
  passwordHashesConcurrentMax: 2,
  passwordHashesWaitingMax: 34,
  passwordHashesOfKnownMax: 16,
  /** Failed sign-ins without a pause: with one e-mail address, and from one network address. */
  signInFailuresFreePerAccount: 5,
  signInFailuresFreePerAddress: 20,
  signInPauseMsMin: 1_000,
  signInPauseMsMax: 15 * 60_000,
  signInFailuresKeptMs: 86_400_000,
  /** Remembered e-mail addresses with failures, and as many network addresses. */
  signInNamesMax: 10_000,
  invitationsMax: 1_000,
  setupLinkMs: 86_400_000,
  joinLinkMs: 3 * 86_400_000,
  resetLinkMs: 3_600_000,
  /** Entries of the audit log, and how long each is kept. */
  auditEntriesMax: 100_000,
  auditKeptMs: 400 * 86_400_000,
  /** Segments of the audit log are removed whole. A segment takes entries for at most this time. */
  auditSegmentBytes: 256 * 1024,
  auditSegmentMs: 30 * 86_400_000,
  auditPruneMs: 3_600_000,
  auditTextCharactersMax: 300,
  /** Changed members of an entry, and the texts of each. */
  auditChangesMax: 10,
  auditChangeCharactersMax: 100,
  /** How long an entry waits for PostgreSQL. */
  auditWriteMs: 15_000,
  /** Entries on a page, and entries that a page searches. */
  auditPageMax: 50,
  auditSearchedMax: 5_000,
  auditReadEntriesMax: 1_000,
  /** Entries of one account, of one key, of all failed sign-ins: none of them can fill the log. */
  auditAccountActionsPerHourMax: 500,
  auditKeyEntriesPerHourMax: 500,
  auditFailuresPerHourMax: 5,

  // Metrics, logs and telemetry
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
  /** Turns of the event loop from this length on are counted by their cause. */
  longTurnMs: 5,
  /** Interval between measurements of files and disks. */
  diskSampleMs: 30_000,
  /** Interval between searches for the oldest message that is not delivered. */
  webhookOldestMs: 15_000,
  /** Log lines of slow requests, and spans, per minute. */
  slowLinesPerMinuteMax: 60,
  spansPerMinuteMax: 120,
  slowRequestMs: 1_000,
  /** The path of a request in a log line. */
  loggedPathCharactersMax: 1_024,
  /** Lines of the access log that wait for the reader of the stream. */
  accessLogBytesMax: 4 * 1_024 * 1_024,
  /** Deadline of the last lines at shutdown. */
  accessLogFlushMs: 1_000,

  // The process
  /** The least heap of a server: V8 ends the process when the heap is full. */
  heapBytesMin: 256 * mebibyte,
  signalEchoMs: 500,
  /**
   * `laurel listen`: attempts to forward a message, and the delay before the second. The delay
   * doubles.
   */
  listenAttemptsMax: 3,
  listenRetryMs: 1_000,
  /** Interval of progress lines in the log of a long start. */
  startLogEveryMs: 5_000,

  ...activityLimits,
  ...streakLimits,
  ...teamLimits,
  ...leagueLimits,
  ...boardLimits,
  ...experimentLimits,
  ...engineLimits,
  ...httpLimits,
  ...itemLimits,
  ...goalLimits,
  ...sourceLimits,
  ...metricLimits,
  ...recapLimits,
  ...warehouseLimits,
} as const

/* Relations between limits. */

const holds = (relation: boolean, words: string): void => {
  if (!relation) throw new Error(`Limits disagree: ${words}`)
}

type Bounds = { readonly [Name in keyof typeof limits]: number }

const checkRequests = (limits: Bounds): void => {
  holds(limits.metadataBytesMax < limits.bodyBytesMax, "a body holds the largest metadata")
  holds(limits.eventBytesMax === limits.bodyBytesMax, "an event is as large alone as in a batch")
  holds(
    limits.eventBytesMax <= limits.rateLimitUnitBytes,
    "the largest event counts as one request",
  )
  holds(limits.bodyBytesMax < limits.batchBodyBytesMax, "a batch holds the largest event")
  holds(limits.bodyBytesMax < limits.recordBytesMax, "a record holds the largest body")
  // A key's id and a time in JSON take less than 64 bytes.
  holds(
    64 * (limits.keysMax + limits.endedKeysMax) < limits.recordBytesMax,
    "a record holds the last use of every key",
  )
  const { userTokenSeconds, userTokenSecondsMax, userTokenSecondsMin } = limits
  holds(
    userTokenSecondsMin <= userTokenSeconds && userTokenSeconds <= userTokenSecondsMax,
    "the default lifetime of user tokens is allowed",
  )
  // An escape takes six characters, base64 four for three; the rest of a token takes less than 300.
  holds(
    (4 / 3) * 6 * limits.idCharactersMax + 300 < limits.userTokenCharactersMax,
    "a user token holds the longest user id",
  )
}

const checkEngine = (limits: Bounds): void => {
  holds(
    limits.commitBatchBytesMax + limits.recordBytesMax < limits.segmentBytes,
    "a segment holds the largest batch",
  )
  holds(limits.journalAllocationBytes <= limits.segmentBytes, "a segment is allocated in steps")
  holds(limits.batchItemsMax <= limits.mailboxMessagesMax, "a mailbox takes a whole batch")
  holds(
    limits.mailboxMessagesMax < limits.commandsUnansweredMax,
    "one user's mailbox leaves room for batches",
  )
  holds(
    limits.bucketSplitUsersMin * (limits.stateInlineBytesMax + 4 * limits.idCharactersMax) <
      limits.bucketBytesMax,
    "a bucket of the most bytes has enough users to split",
  )
  holds(limits.commitBatchBytesMax < limits.recordSlabBytes, "a slab holds a usual batch")
  holds(
    limits.amountMax * limits.multiplierMax <= limits.balanceMax,
    "a multiplied reward stays a safe integer",
  )
  holds(
    20 + 4 * limits.idCharactersMax < limits.boardPageBytesMax,
    "a page of a board holds the longest user id",
  )
  holds(
    2 * (limits.webhookConcurrencyMax + limits.webhookAheadMax) <= limits.webhookAttemptsOfHostMax,
    "one webhook that answers quickly has all its attempts in its host's share",
  )
  holds(limits.webhooks <= limits.webhooksMax, "the default number of webhooks is allowed")
  holds(
    4 * limits.pageBodiesMax * limits.pageBodyBytesMax <= limits.bodiesBytesMax,
    "forms of the dashboard leave most of the room for bodies to the API",
  )
  holds(limits.pageDefault <= limits.pageMax, "the default page is allowed")
  holds(
    (limits.auditKeptMs / 3_600_000) * limits.auditFailuresPerHourMax <= limits.auditEntriesMax / 2,
    "failed sign-ins fill at most half of the audit log",
  )
  // A segment is closed, erasures are gathered, and a run ends before the run that erases the user.
  const journalMs =
    limits.journalSegmentMs +
    limits.erasureRetryMs +
    limits.erasureGatherMs +
    limits.erasureCheckMs +
    2 * limits.erasureRunMs +
    4 * limits.journalHeartbeatMs
  holds(journalMs < limits.erasureMs, "erased data leaves the journal in time")
  holds(
    limits.leftoverKeptMs + limits.leftoverSweepMs < limits.erasureMs,
    "erased data leaves the bytes that a recovery cut off in time",
  )
}

const checkServers = (limits: Bounds): void => {
  holds(
    2 * limits.clusterPartitions * limits.partitionHeartbeatStepMs <= limits.journalHeartbeatMs,
    "the heartbeats of all partitions are rare",
  )
  holds(
    2 * limits.bucketSendMs <= limits.bucketKeptMs,
    "a piece stays longer than a shipper that found it may use it",
  )
  const { bucketPieceBytes, parquetGroupBytes, parquetPartBytes } = limits
  holds(
    Math.max(bucketPieceBytes, parquetPartBytes + 2 * parquetGroupBytes) <=
      limits.bucketObjectBytesMax,
    "a piece of an archive and a Parquet file are one object of a bucket",
  )
  holds(limits.snapshotRecordsMax < limits.snapshotPendingRecordsMax, "snapshots start in time")
  holds(
    [
      limits.boardChunkSlotsMin,
      limits.boardChunkSlotsMax,
      limits.boardLargeChunkSlotsMax,
      limits.boardIdTables,
    ].every((count) => Number.isInteger(Math.log2(count))) && limits.boardChunkSlotsMin >= 4,
    "chunk sizes and table counts are powers of two",
  )
  holds(
    2 * limits.adminPulseMs < limits.forwardSilenceMs,
    "a forwarded request for an archive is not given up while it waits",
  )
  holds(
    limits.lockExpirationMsMax < limits.runnerForgottenMs,
    "the row of a runner stays as long as the runner counts",
  )
  holds(
    limits.openingsAtOnceMax < limits.postgresOtherSessions,
    "partitions that upload their journals leave a session to the others",
  )
}

/** Throws when two limits disagree. */
export const checkLimits = (limits: Bounds): void => {
  checkRequests(limits)
  checkEngine(limits)
  checkServers(limits)
}

checkLimits(limits)
