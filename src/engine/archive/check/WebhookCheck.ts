/**
 * Checks the tables of webhooks (`webhooks/store/DeliveryStore.ts`) against each other:
 *
 * - a message has one delivery per endpoint: pending, succeeded, failed or dropped;
 * - each pending delivery has one row in `due`, at its time, and each row in `due` has its
 *   delivery;
 * - the counts of an endpoint match its rows;
 * - no delivery is of a record after the outbox's position, which is not after the journal's end.
 *
 * Memory: the places of the ended deliveries of one endpoint, which are bounded (`webhookLogMax`).
 */

import type { Webhook } from "../../../domain/project/Project.ts"
import { compositeKey, keyParts } from "../../../storage/Keys.ts"
import type { StoredEntry, Table } from "../../../storage/Storage.ts"
import { jsonOf, keyName, openValue, valueFault } from "../../../storage/Values.ts"
import type { Fault } from "./JournalTail.ts"

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

  /**
   * Checks the tables, except rows of endpoints that are not in `projects`: those are being
   * removed.
   */
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
      return jsonOf(body)
    } catch {
      this.#fault(valueFault(table, key, "cannot be decoded"))
      return undefined
    }
  }
}

const nameOf = (endpoint: number, [sequence, index]: Place): string =>
  `The delivery of record ${sequence}, fact ${index}, to the webhook ${endpoint}`
