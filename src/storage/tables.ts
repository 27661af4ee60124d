/** The tables of entries, and the form of an entry. Does not load Effect. */
/**
 * The tables of the snapshot: `meta` the watermark and settings · `actors` the state of each
 * project actor and the directory · `buckets` the states of users, in buckets by their hash ·
 * `userIds` the ids of users · `teamMembers` who is in a team · `eventIds` callers' ids of events and rewards, as hashes → sequence
 * · `idempotency` kept replies · `expiry` expiry times of replies · `boards` closed windows of
 * leaderboards · `erasures` erased users whose records the journal still has. Beside the snapshot:
 * `outbox` the cursor of webhooks and their pending jobs · `endpoints` counts of each webhook ·
 * `deliveries` by webhook, status and message · `due` pending deliveries by time · `attempts` the
 * attempts before the last one.
 */
export const tables = [
  "meta",
  "actors",
  "buckets",
  "userIds",
  "teamMembers",
  "eventIds",
  "idempotency",
  "expiry",
  "boards",
  "erasures",
  "outbox",
  "endpoints",
  "deliveries",
  "due",
  "attempts",
] as const
export type Table = (typeof tables)[number]

/**
 * The tables of webhooks, which the journal does not repeat. `endpoints` counts the rows of
 * `deliveries`, so it comes after that table.
 */
export const webhookTables = [
  "deliveries",
  "due",
  "attempts",
  "outbox",
  "endpoints",
] as const satisfies ReadonlyArray<Table>

/**
 * `value: null` removes the key. `replaces` saves a lookup: it is the checksum (`checksumOf`) of
 * the stored value that the entry replaces, or `null` if no value is stored. Then no other entry of
 * the batch may have the key.
 */
export interface Entry {
  readonly table: Table
  readonly key: Uint8Array
  readonly value: Uint8Array | null
  readonly replaces?: number | null | undefined
}
