/**
 * The tables of webhooks (`webhooks/store/DeliveryStore.ts`) in a restore of one project. Only they
 * have the deliveries, which no journal repeats, so they stay, except the project's deliveries of
 * lost records and the jobs that these records created. The next start removes endpoints that the
 * project no longer has.
 */
import path from "node:path"
import { Effect, type Scope, Stream } from "effect"
import { environmentId, environmentNames } from "../../../domain/project/Directory.ts"
import { everyKey, keyParts } from "../../../storage/Keys.ts"
import { type LmdbReader, openReader } from "../../../storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../../storage/lmdb/LmdbStore.ts"
import { type Entry, type Table, webhookTables as tables } from "../../../storage/Storage.ts"
import { encodeValue, jsonOf, openValue, valueFault } from "../../../storage/Values.ts"
import { SavedState } from "../check/SavedState.ts"
import { EntryWriter } from "../jobs/EntryWriter.ts"
import type { ProjectGoesBack } from "../jobs/Jobs.ts"
import { JobFailed } from "../jobs/Jobs.ts"

const storedStatuses = ["pending", "succeeded", "failed", "dropped"]
/** Index of the record among a key's parts. */
const recordAt: Partial<Record<Table, number>> = { deliveries: 2, due: 2, attempts: 1 }
/**
 * Replaces the tables of `draft` by those of the data directory `from`, without the project's lost
 * records.
 */
export const keepWebhooks = Effect.fnUntraced(function* (
  from: string,
  draft: string,
  project: ProjectGoesBack,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const own = yield* Effect.scoped(endpointsOf(draft, project))
  const reader = yield* openReader(path.join(from, "live"))
  const store = yield* openLmdbStore({ folder: path.join(draft, "live") })
  for (const table of tables) {
    yield* Stream.runForEach(store.readEntries({ table, ...everyKey }), (entries) =>
      store.writeEntries(entries.map(([key]) => ({ table, key, value: null }))),
    )
  }
  yield* new EntryWriter(store.writeEntries).writeAll(entriesOf(reader, own, project.after))
})

/** The numbers of the endpoints that the project has in `draft`. */
const endpointsOf = Effect.fnUntraced(function* (draft: string, { id }: ProjectGoesBack) {
  const saved = yield* SavedState.open({ folder: draft, fault: () => {} })
  const projects = saved.readProjects()
  const webhooks = environmentNames.flatMap((name) => [
    ...(projects.get(environmentId(id, name))?.webhooks.values() ?? []),
  ])
  return new Set(webhooks.map(({ since }) => since))
})

/** The entries to keep. Throws if a value is damaged. */
function* entriesOf(reader: LmdbReader, own: ReadonlySet<number>, after: number): Generator<Entry> {
  /** By endpoint, the number of removed deliveries of each status. */
  const gone = new Map<number, Array<number>>()
  for (const table of tables) {
    for (const [key, value] of reader.entries({ table, ...everyKey })) {
      const body = openValue(value)
      if (typeof body === "string") {
        throw new JobFailed({ kind: "damaged", detail: valueFault(table, key, body) })
      }
      const parts = keyParts(key)
      if (table === "outbox") {
        const isGone = parts[0] === "job" && isUndone(jsonOf(body) as Job, own, after)
        if (!isGone) yield { table, key, value }
        continue
      }
      const endpoint = parts[0] as number
      const counts = gone.get(endpoint)
      if (table === "endpoints") {
        yield { table, key, value: counts === undefined ? value : lessened(body, counts) }
        continue
      }
      const record = parts[recordAt[table]!] as number
      if (!own.has(endpoint)) yield { table, key, value }
      else if (table === "deliveries") {
        const remains = remainsOf(body, record, after)
        if (remains.gone === 0) yield { table, key, value }
        else if (remains.left !== undefined) yield { table, key, value: remains.left }
        const found = counts ?? storedStatuses.map(() => 0)
        found[parts[1] as number]! += remains.gone
        gone.set(endpoint, found)
      } else if (record <= after) yield { table, key, value }
    }
  }
}

interface Job {
  readonly kind: string
  readonly record: number
  readonly endpoint?: number
}

/** Whether the record of a job is lost: a deletion or a recovery of an endpoint. */
const isUndone = (
  { endpoint, kind, record }: Job,
  own: ReadonlySet<number>,
  after: number,
): boolean => kind !== "erase" && record > after && endpoint !== undefined && own.has(endpoint)

/**
 * For a delivery of `record`, or a block of deliveries that begins there: how many are removed, and
 * the rest.
 */
const remainsOf = (
  body: Uint8Array,
  record: number,
  after: number,
): { readonly gone: number; readonly left?: Uint8Array } => {
  const stored = jsonOf(body)
  if (!Array.isArray(stored)) return { gone: record > after ? 1 : 0 }
  const rows: ReadonlyArray<readonly [sequence: number]> = stored
  const left = rows.filter(([sequence]) => sequence <= after)
  const gone = rows.length - left.length
  return left.length === 0 ? { gone } : { gone, left: encodeValue(JSON.stringify(left)) }
}

/** The counts of an endpoint, without the removed deliveries. */
const lessened = (body: Uint8Array, gone: ReadonlyArray<number>): Uint8Array => {
  const stats = jsonOf(body) as { readonly stored: Record<string, number> }
  const stored = { ...stats.stored }
  for (const [index, status] of storedStatuses.entries()) {
    stored[status] = Math.max(0, (stored[status] ?? 0) - gone[index]!)
  }
  return encodeValue(JSON.stringify({ ...stats, stored }))
}
