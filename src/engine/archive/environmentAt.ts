/** Where an entry says whose it is. */
import type { Table } from "../../storage/Storage.ts"

/** Index of the environment among a key's parts; missing tables belong to no environment. */
export const environmentAt: Partial<Record<Table, number>> = {
  meta: 1,
  actors: 1,
  users: 0,
  history: 0,
  eventIds: 0,
  idempotency: 0,
  batches: 0,
  expiry: 1,
  boards: 1,
}
