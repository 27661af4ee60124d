/** What `snapshots verify` says of the tables of webhooks, of storage in memory. */
import { WebhookCheck } from "../../../src/engine/archive/check/WebhookCheck.ts"
import type { Table } from "../../../src/storage/Storage.ts"
import type { MemoryState } from "../../storage/MemoryStorage.ts"

const everything = { from: new Uint8Array(), until: Uint8Array.of(255) }

/** `endpoints`: the numbers of those that exist. */
export const tableFaults = (
  state: MemoryState,
  endpoints: Iterable<number>,
): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const tables = {
    entries: (table: Table) => state.table(table).entries({ table, ...everything }),
    get: (table: Table, key: Uint8Array) => state.table(table).get(key),
    lastSequence: state.lastSequence,
  }
  const webhooks = new Map([...endpoints].map((since) => [String(since), { since }]))
  const projects = new Map([["environment", { webhooks }]])
  new WebhookCheck(tables, (words) => faults.push(words)).run(projects)
  return faults
}
