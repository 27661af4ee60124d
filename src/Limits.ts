/**
 * Every bound of the service, with its unit in its name. Those an operator may want to change are
 * defaults of settings in `Config.ts`; the rest are part of the contract.
 */
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

export const limits = {
  // What callers send
  idCharactersMax: 128,
  metadataBytesMax: 16 * kibibyte,
  metadataDepthMax: 8,
  batchEventsMax: 1_000,
  batchBodyBytesMax: 8 * mebibyte,
  bodyBytesMax: 64 * kibibyte,
  headerBytesMax: 16 * kibibyte,
  occurredAtFutureMs: 5 * 60_000,
  occurredAtPastMs: 30 * 86_400_000,
  amountMax: 1_000_000_000,
  balanceMax: Number.MAX_SAFE_INTEGER,
  reasonCharactersMax: 500,
  titleCharactersMax: 200,
  descriptionCharactersMax: 2_000,
  urlCharactersMax: 2_048,
  webhookKindsMax: 50,
  idempotencyKeyCharactersMax: 255,
  idempotencyRetentionMs: 86_400_000,
  pageDefault: 20,
  pageMax: 100,
  requestIdCharactersMax: 128,
  faultsMax: 100,
  batchEventFaultsMax: 5,
  pointerKeyCharactersMax: 100,

  // What one environment may hold
  questsMax: 10_000,
  rulesMax: 10_000,
  webhooksMax: 1_000,

  // Accounts
  projectsMax: 1_000,
  keysMax: 10_000,
  /** Revoked keys that are still listed; the longest revoked go first. */
  revokedKeysMax: 1_000,
  rateLimitWindowMs: 60_000,
  directoryCheckMs: 1_000,
  requestsPerMinuteMax: 1_000_000_000,

  // Actors
  mailboxMessagesMax: 16_384,
  activationsConcurrentMax: 64,
  residentUsersMax: 200_000,
  /** How many more may be resident while the snapshot that makes room is written. */
  residentUsersOverrunMax: 20_000,
  idlePassivateMs: 10 * 60_000,
  /** Room for about 22 million callers' ids at one needless look-up in a hundred. */
  idFilterBytes: 32 * mebibyte,
  sweepIntervalMs: 1_000,
  sweepActorsMax: 2_000,
  actorRestartsMax: 5,
  actorRestartBackoffMs: 100,
  actorRestartWindowMs: 60_000,

  // Leaderboard
  boardChunkSlotsMin: 16,
  boardChunkSlotsStep: 64,
  boardChunkSlotsMax: 512,
  boardLargeMembersMin: 5_000_000,
  boardLargeChunkSlotsMax: 1_024,
  boardIdsInOneMapMax: 2_048,
  boardIdMaps: 512,

  // Journal
  segmentBytes: 64 * mebibyte,
  journalAllocationBytes: mebibyte,
  journalReadBytes: mebibyte,
  journalIndexBytes: 256 * kibibyte,
  commitBatchBytesMax: mebibyte,
  commitTurnsMax: 4,
  commitBuffersFreeMax: 4,
  recordSlabBytes: 4 * mebibyte,
  recordSlabsFreeMax: 32,
  commitPendingBytesMax: 64 * mebibyte,
  commitDeadlineMs: 30_000,
  noSpaceRetryMs: 250,
  stalledAnswerMs: 5_000,
  freeSpaceBytesMin: 64 * mebibyte,
  recordBytesMax: 4 * mebibyte,

  // Snapshot
  snapshotIntervalMs: 30_000,
  snapshotRecordsMax: 200_000,
  snapshotSliceEntriesMax: 10_000,
  snapshotTurnEntriesMax: 500,
  idempotencyExpiredMax: 1_000,
  snapshotPendingRecordsMax: 1_000_000,
  /** With what surrounds it, one page of LMDB. Larger than what LMDB should delete often; history is not deleted. */
  historyPageBytesMax: 4_000,
  idempotencyPieceBytesMax: 1_600,
  journalRetentionMs: 7 * 86_400_000,
  journalRetentionBytesMax: 16 * 1024 * mebibyte,

  // Stored entries
  mapBytes: 16 * 1024 * mebibyte,
  writesInFlightMax: 4,
  readChunkEntriesMax: 1_000,
  readChunkMs: 2,

  // HTTP server
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  connectionsMax: 20_000,
  connectionsCheckMs: 1_000,
  lingerMs: 1_000,
  refusedBodyBytesMax: 16 * mebibyte,
  shutdownGraceMs: 10_000,
  adminGraceMs: 1_000,
  signalEchoMs: 500,
  adminConnectionsMax: 100,
  /** How long the command line waits for a running server. */
  adminRequestMs: 40_000,
} as const

const holds = (relation: boolean, words: string): void => {
  if (!relation) throw new Error(`Limits disagree: ${words}`)
}
holds(limits.metadataBytesMax < limits.bodyBytesMax, "a body holds the largest metadata")
holds(limits.bodyBytesMax < limits.batchBodyBytesMax, "a batch holds the largest event")
holds(limits.bodyBytesMax < limits.recordBytesMax, "a record holds the largest body")
holds(
  limits.commitBatchBytesMax + limits.recordBytesMax < limits.segmentBytes,
  "a segment holds the largest batch",
)
holds(limits.journalAllocationBytes <= limits.segmentBytes, "a segment is allocated in steps")
holds(limits.batchEventsMax <= limits.mailboxMessagesMax, "a mailbox takes a whole batch")
holds(
  limits.batchEventsMax <= limits.residentUsersOverrunMax,
  "the users of a whole batch find room at once",
)
holds(
  limits.commitBatchBytesMax + limits.recordBytesMax <= 2 * limits.recordSlabBytes,
  "slabs fit batches",
)
holds(limits.pageDefault <= limits.pageMax, "the default page is allowed")
holds(limits.snapshotRecordsMax < limits.snapshotPendingRecordsMax, "snapshots start in time")
holds(
  [
    limits.boardChunkSlotsMin,
    limits.boardChunkSlotsMax,
    limits.boardLargeChunkSlotsMax,
    limits.boardIdMaps,
  ].every((count) => Number.isInteger(Math.log2(count))) && limits.boardChunkSlotsMin >= 4,
  "chunks double up to their largest size, and maps are told apart by bits",
)
