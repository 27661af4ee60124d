/**
 * Checks the tables of webhooks (`webhooks/store/DeliveryStore.ts`) against each other:
 *
 * - a message has one delivery per endpoint: pending, succeeded, failed or dropped;
 * - each pending delivery has one row in `due`, at its time, and each row in `due` has its delivery;
 * - the counts of an endpoint match its rows;
 * - no delivery is of a record after the outbox's position, which is not after the journal's end.
 *
 * Memory: the places of the ended deliveries of one endpoint, which are bounded (`webhookLogMax`).
 */

import path from "node:path"
import { Effect, type Scope, Stream } from "effect"
import { environmentId, environmentNames } from "../../domain/project/Directory.ts"
import type { Webhook } from "../../domain/project/Project.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import { type LmdbReader, openReader } from "../../storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import {
  type Entry,
  type StoredEntry,
  type Table,
  webhookTables as tables,
} from "../../storage/Storage.ts"
import { encodeValue, keyName, openValue, valueFault } from "../../storage/Values.ts"
import { JobFailed } from "./Jobs.ts"
import type { Fault } from "./JournalTail.ts"
import type { ProjectGoesBack } from "./ProjectHistory.ts"
import { SavedState } from "./SavedState.ts"
import { EntryWriter } from "./TableCopy.ts"

/** The tables to check. */
export interface WebhookTables {
  readonly entries: (table: Table) => Iterable<StoredEntry>
  readonly get: (table: Table, key: Uint8Array) => Uint8Array | undefined
  /** The last record of the journal. */
  readonly lastSequence: number
}

/** The webhooks among a project's definitions. */
interface ProjectWebhooks {
  readonly webhooks: ReadonlyMap<string, Pick<Webhook, "since">>
}

const statuses = ["pending", "succeeded", "failed", "dropped"] as const
const pending = 0

interface StoredDelivery {
  readonly dueAt: number
}

type Place = readonly [sequence: number, index: number]

export class WebhookCheck {
  readonly #tables: WebhookTables
  readonly #fault: Fault
  /** By endpoint, the number of deliveries of each status. */
  readonly #counted = new Map<number, Array<number>>()
  #reached = 0

  constructor(tables: WebhookTables, fault: Fault) {
    this.#tables = tables
    this.#fault = fault
  }

  /** Checks the tables, except rows of endpoints that are not in `projects`: those are being removed. */
  run(projects: ReadonlyMap<string, ProjectWebhooks>): void {
    this.#checkOutbox()
    const known = new Set<number>()
    for (const { webhooks } of projects.values()) {
      for (const { since } of webhooks.values()) known.add(since)
    }
    this.#checkDeliveries(known)
    this.#checkDue(known)
    this.#checkNumbers(known)
  }

  #checkOutbox(): void {
    for (const name of ["cursor", "reached"]) {
      const key = compositeKey(name)
      const sequence = this.#json<number>("outbox", key, this.#tables.get("outbox", key)) ?? 0
      this.#reached = Math.max(this.#reached, sequence)
      if (sequence <= this.#tables.lastSequence) continue
      this.#fault(
        `Webhooks have ${name} ${sequence}, but the journal ends with ${this.#tables.lastSequence}`,
      )
    }
  }

  #checkDeliveries(known: ReadonlySet<number>): void {
    let endpoint = 0
    let ended = new Set<string>()
    for (const [key, value] of this.#tables.entries("deliveries")) {
      const parts = this.#numbers("deliveries", key, 4)
      const status = parts?.[1] ?? -1
      if (parts === undefined || statuses[status] === undefined) continue
      if (parts[0] !== endpoint) ended = new Set()
      endpoint = parts[0]!
      if (!known.has(endpoint)) continue
      const body = this.#json<StoredDelivery | ReadonlyArray<Place>>("deliveries", key, value)
      if (body === undefined) continue
      const place = [parts[2]!, parts[3]!] as const
      const places = Array.isArray(body) ? (body as ReadonlyArray<Place>) : [place]
      for (const each of places) this.#checkPlace(endpoint, status, each, ended)
      if (status === pending) this.#checkPending(endpoint, place, (body as StoredDelivery).dueAt)
    }
  }

  #checkPlace(endpoint: number, status: number, place: Place, ended: Set<string>): void {
    const [sequence, index] = place
    const counts = this.#counted.get(endpoint) ?? statuses.map(() => 0)
    counts[status]!++
    this.#counted.set(endpoint, counts)
    const words = nameOf(endpoint, place)
    if (sequence > this.#reached) {
      this.#fault(`${words} is of a record that webhooks have not reached (${this.#reached})`)
    }
    if (status === pending) return
    const pendingKey = compositeKey(endpoint, pending, sequence, index)
    const name = `${sequence}.${index}`
    const twice = ended.has(name) || this.#tables.get("deliveries", pendingKey) !== undefined
    if (twice) this.#fault(`${words} is there more than once, also as ${statuses[status]}`)
    ended.add(name)
  }

  #checkPending(endpoint: number, place: Place, dueAt: number): void {
    if (this.#tables.get("due", compositeKey(endpoint, dueAt, ...place)) !== undefined) return
    this.#fault(`${nameOf(endpoint, place)} is pending, but never due`)
  }

  #checkDue(known: ReadonlySet<number>): void {
    for (const [key] of this.#tables.entries("due")) {
      const parts = this.#numbers("due", key, 4)
      if (parts === undefined || !known.has(parts[0]!)) continue
      const [endpoint, dueAt, ...place] = parts as [number, number, number, number]
      const pendingKey = compositeKey(endpoint, pending, ...place)
      const value = this.#tables.get("deliveries", pendingKey)
      const delivery = this.#json<StoredDelivery>("deliveries", pendingKey, value)
      if (delivery?.dueAt === dueAt) continue
      this.#fault(`${nameOf(endpoint, place)} has a row in due that is not of it`)
    }
  }

  #checkNumbers(known: ReadonlySet<number>): void {
    const numbered = new Set<number>()
    for (const [key, value] of this.#tables.entries("endpoints")) {
      const [endpoint] = this.#numbers("endpoints", key, 1) ?? []
      if (endpoint === undefined || !known.has(endpoint)) continue
      numbered.add(endpoint)
      const stats = this.#json<{ readonly stored: Record<string, number> }>("endpoints", key, value)
      if (stats === undefined) continue
      for (const [status, name] of statuses.entries()) {
        const counted = this.#counted.get(endpoint)?.[status] ?? 0
        if (stats.stored[name] === counted) continue
        this.#fault(
          `The webhook ${endpoint} counts ${stats.stored[name]} ${name} deliveries, there are ${counted}`,
        )
      }
    }
    for (const endpoint of this.#counted.keys()) {
      if (!numbered.has(endpoint)) this.#fault(`The webhook ${endpoint} has no numbers`)
    }
  }

  #numbers(table: Table, key: Uint8Array, length: number): ReadonlyArray<number> | undefined {
    try {
      const parts = keyParts(key)
      if (parts.length === length && parts.every((part) => typeof part === "number")) return parts
    } catch {}
    this.#fault(`${keyName(key)} is no key of table ${table}`)
    return undefined
  }

  #json<A>(table: Table, key: Uint8Array, value: Uint8Array | undefined): A | undefined {
    if (value === undefined) return undefined
    const body = openValue(value)
    // `Verification` reports wrong checksums.
    if (typeof body === "string") return undefined
    try {
      return JSON.parse(Buffer.from(body).toString("utf8"))
    } catch {
      this.#fault(valueFault(table, key, "cannot be decoded"))
      return undefined
    }
  }
}

const nameOf = (endpoint: number, [sequence, index]: Place): string =>
  `The delivery of record ${sequence}, fact ${index}, to the webhook ${endpoint}`

/*
 * The tables of webhooks (`webhooks/store/DeliveryStore.ts`) in a restore of one project. Only they have the deliveries, which
 * no journal repeats, so they stay, except the project's deliveries of lost records and the
 * jobs that these records created. The next start removes endpoints that the project
 * no longer has.
 */

const storedStatuses = ["pending", "succeeded", "failed", "dropped"]
/** Index of the record among a key's parts. */
const recordAt: Partial<Record<Table, number>> = { deliveries: 2, due: 2, attempts: 1 }
const everything = rangeOf(new Uint8Array())

/** Replaces the tables of `draft` by those of the data directory `from`, without the project's lost records. */
export const keepWebhooks = Effect.fnUntraced(function* (
  from: string,
  draft: string,
  project: ProjectGoesBack,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const own = yield* Effect.scoped(endpointsOf(draft, project))
  const reader = yield* openReader(path.join(from, "live"))
  const store = yield* openLmdbStore({ folder: path.join(draft, "live") })
  for (const table of tables) {
    yield* Stream.runForEach(store.readEntries({ table, ...everything }), (entries) =>
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
    for (const [key, value] of reader.entries({ table, ...everything })) {
      const body = openValue(value)
      if (typeof body === "string") {
        throw new JobFailed({ kind: "damaged", detail: valueFault(table, key, body) })
      }
      const parts = keyParts(key)
      if (table === "outbox") {
        const isGone = parts[0] === "job" && isUndone(readJson(body) as Job, own, after)
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

const readJson = (body: Uint8Array): unknown => JSON.parse(Buffer.from(body).toString("utf8"))

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

/** For a delivery of `record`, or a block of deliveries that begins there: how many are removed, and the rest. */
const remainsOf = (
  body: Uint8Array,
  record: number,
  after: number,
): { readonly gone: number; readonly left?: Uint8Array } => {
  const stored = readJson(body)
  if (!Array.isArray(stored)) return { gone: record > after ? 1 : 0 }
  const rows: ReadonlyArray<readonly [sequence: number]> = stored
  const left = rows.filter(([sequence]) => sequence <= after)
  const gone = rows.length - left.length
  return left.length === 0 ? { gone } : { gone, left: encodeValue(JSON.stringify(left)) }
}

/** The counts of an endpoint, without the removed deliveries. */
const lessened = (body: Uint8Array, gone: ReadonlyArray<number>): Uint8Array => {
  const stats = readJson(body) as { readonly stored: Record<string, number> }
  const stored = { ...stats.stored }
  for (const [index, status] of storedStatuses.entries()) {
    stored[status] = Math.max(0, (stored[status] ?? 0) - gone[index]!)
  }
  return encodeValue(JSON.stringify({ ...stats, stored }))
}
