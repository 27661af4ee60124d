/** The tables of entries, and the form of an entry. Loads nothing of Effect. */
/**
 * The tables of the snapshot: `meta` the watermark and settings · `actors` the state of each
 * project actor and the directory · `users` each user's state · `history` pages of records by
 * partition and user · `eventIds` callers' ids of events and rewards, as hashes → sequence ·
 * `idempotency` kept replies · `batches` the users of a kept batch reply · `expiry` expiry times of
 * replies · `boards` closed windows of leaderboards. Beside the snapshot: `outbox` the cursor of
 * webhooks and their pending jobs · `endpoints` counts of each webhook · `deliveries` by webhook,
 * status and message · `due` pending deliveries by time · `attempts` all but the last.
 */
export const tables = [
  "meta",
  "actors",
  "users",
  "history",
  "eventIds",
  "idempotency",
  "batches",
  "expiry",
  "boards",
  "outbox",
  "endpoints",
  "deliveries",
  "due",
  "attempts",
] as const
export type Table = (typeof tables)[number]

/**
 * Those of webhooks, which no journal repeats; `endpoints` has the counts of `deliveries`, and
 * follows it.
 */
export const webhookTables = [
  "deliveries",
  "due",
  "attempts",
  "outbox",
  "endpoints",
] as const satisfies ReadonlyArray<Table>

/**
 * `value: null` removes the key. `replaces` saves a look-up: the checksum (`checksumOf`) of the
 * stored value that the entry replaces, `null` where none is stored; no other entry of the batch
 * then has the key.
 */
export interface Entry {
  readonly table: Table
  readonly key: Uint8Array
  readonly value: Uint8Array | null
  readonly replaces?: number | null | undefined
}
