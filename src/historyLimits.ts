/** The bounds of users' histories, a part of `Limits.ts`. */
const kibibyte = 1024

export const historyLimits = {
  /** As text; packed, several share a page of LMDB. */
  historyPageBytesMax: 4_000,
  /** Of history; longer pages are stored as they are. With the dictionary (`SealedValue.ts`), places fit into 16 bits. */
  packedBodyBytesMax: 60 * kibibyte,
  /** Part of the form on disk (`engine/records/SnapshotValues.ts`): another number would not find what is stored. */
  historyPartitionRecords: 500_000,
  /** History decoded per turn of the event loop. */
  historyTurnBytesMax: 256 * kibibyte,
  historyTurnRecordsMax: 2_000,
  historyReadPagesMax: 32,
  /** Partitions asked per turn of the event loop. */
  historyTurnPartitionsMax: 64,
  /** Records searched per page of a history for facts of one kind. */
  historyScanRecordsMax: 10_000,
} as const
