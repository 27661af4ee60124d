/** Relations between the bounds of the service, asserted when the settings are loaded (`config/Config.ts`). */
import { limits as all } from "./Limits.ts"

const holds = (relation: boolean, words: string): void => {
  if (!relation) throw new Error(`Limits disagree: ${words}`)
}

type Bounds = { readonly [Name in keyof typeof all]: number }

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
  holds(limits.batchEventsMax <= limits.mailboxMessagesMax, "a mailbox takes a whole batch")
  holds(
    limits.mailboxMessagesMax < limits.commandsUnansweredMax,
    "one user's mailbox leaves room for batches",
  )
  holds(
    limits.batchEventsMax <= limits.residentUsersOverrunMin,
    "the users of a whole batch fit at once",
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
  // A segment is closed, its successor noted, its retention passes, and the next snapshot prunes it.
  const journalMs =
    limits.journalSegmentMs + limits.journalRetentionMs + 4 * limits.journalHeartbeatMs
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
  holds(
    limits.bucketPieceBytes <= limits.bucketObjectBytesMax,
    "a piece of an archive can be read back",
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
    limits.lockExpirationMsMax < limits.formatWaitMs,
    "every runner that is alive counts where formats are raised",
  )
  holds(
    2 * limits.adminPulseMs < limits.forwardSilenceMs,
    "a forwarded request for an archive is not given up while it waits",
  )
  holds(
    limits.formatWaitMs < limits.runnerForgottenMs,
    "the row of a runner stays as long as the runner counts",
  )
  holds(
    limits.openingsAtOnceMax < limits.postgresOtherSessions,
    "partitions that upload their journals leave a session to the others",
  )
}

/** Throws when two of them disagree. */
export const checkLimits = (limits: Bounds): void => {
  checkRequests(limits)
  checkEngine(limits)
  checkServers(limits)
}

checkLimits(all)
