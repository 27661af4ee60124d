/** The limits of what warehouses read. `Limits.ts` includes them. */
export const warehouseLimits = {
  /** The facts that a request may ask for at once. */
  factsPageMax: 1_000,
  /** A page of facts ends after as many records of the journal, whoever they belong to. */
  factsScanRecordsMax: 20_000,
  /** A page of facts ends after records of as many bytes. */
  factsPageBytesMax: 4 * 1024 * 1024,
  /** `laurel sync`: the users that one request of a comparison asks the server for. */
  syncComparedUsers: 1_000,
  /** The characters of a list of ids in a URL. */
  syncUrlCharactersMax: 6_000,
  /** How long a copy that has all facts waits until it asks for more. */
  syncPauseMs: 5_000,
  /** How long a copy waits after a server or PostgreSQL did not answer. */
  syncRetryMs: 5_000,
  /** How often a copy asks the server which of its users still exist. */
  syncCompareEveryMs: 86_400_000,
  /** How often a copy reads the windows of leaderboards that are not final. */
  syncBoardsEveryMs: 300_000,
  /** The entries of each window that a copy has unless told otherwise. */
  syncBoardEntriesDefault: 1_000,
  /** The most entries of each window that a copy can have. */
  syncBoardEntriesMax: 1_000_000,
}
