/**
 * Repairs, once, faults that earlier versions left in the tables of webhooks, before anything is sent: messages with more
 * than one delivery to an endpoint or more than one row in `due`, and numbers that differ from the rows.
 * `engine/archive/WebhookCheck.ts` states the rules that hold afterwards, and checks them.
 *
 * Of two deliveries of one message, the succeeded one stays, since it must not be sent again; else the pending one.
 */
import { Effect } from "effect"
import { webhookTablesKey } from "../../engine/archive/WebhookCheck.ts"
import type { Entry, Storage, StorageError } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import {
  type Delivery,
  type DeliveryStatus,
  deliveryKey,
  deliveryStatuses,
  dueKey,
  type LogPlace,
  placeName,
} from "./Delivery.ts"
import { type DeliveryStore, type DuePlace, reachedKey, statsKey } from "./DeliveryStore.ts"
import { jsonEntry } from "./DeliveryWriter.ts"
import { blocksOf, rowOf } from "./SucceededLog.ts"

/** Marks the tables as repaired. */
export const repairedEntry: Entry = jsonEntry("outbox", webhookTablesKey, 1)

const pageEntries = 1_000
const sliceEntries = 5_000

/** Repairs the tables of all endpoints, unless that was done before; whether the caller has still to write `repairedEntry`. */
export const repairTables = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  store: DeliveryStore,
): Effect.fn.Return<boolean, StorageError> {
  if ((yield* storage.readEntry("outbox", webhookTablesKey)) !== undefined) return false
  for (const endpoint of yield* store.endpoints) yield* new Repair(storage, store, endpoint).run
  return true
})

class Repair {
  readonly #storage: Storage["Service"]
  readonly #store: DeliveryStore
  readonly #endpoint: number
  #entries: Array<Entry> = []
  readonly #counts: Record<DeliveryStatus, number> = {
    pending: 0,
    succeeded: 0,
    failed: 0,
    dropped: 0,
  }
  #newest = 0
  #doubled = 0
  #dueRows = 0

  constructor(storage: Storage["Service"], store: DeliveryStore, endpoint: number) {
    this.#storage = storage
    this.#store = store
    this.#endpoint = endpoint
  }

  readonly run: Effect.Effect<void, StorageError> = Effect.gen({ self: this }, function* () {
    const stats = yield* this.#store.stats(this.#endpoint)
    const succeeded = yield* this.#succeeded
    const pending = yield* this.#pending(succeeded)
    const ended = new Set(succeeded)
    for (const status of ["failed", "dropped"] as const) {
      yield* this.#ended(status, ended, pending)
    }
    yield* this.#due(pending)
    const reached = Math.max((yield* this.#store.reached) ?? 0, (yield* this.#store.cursor) ?? 0)
    if (this.#newest > reached) this.#entries.push(jsonEntry("outbox", reachedKey, this.#newest))
    const differs = deliveryStatuses.some((status) => stats.stored[status] !== this.#counts[status])
    if (differs) {
      const stored = { ...stats, stored: this.#counts }
      this.#entries.push(jsonEntry("endpoints", statsKey(this.#endpoint), stored))
    }
    yield* this.#write(0)
    if (!differs && this.#doubled === 0 && this.#dueRows === 0) return
    yield* Effect.logWarning("Webhook deliveries repaired").pipe(
      Effect.annotateLogs({
        endpoint: this.#endpoint,
        doubledDeliveries: this.#doubled,
        dueRows: this.#dueRows,
        counted: JSON.stringify(stats.stored),
        found: JSON.stringify(this.#counts),
      }),
    )
  })

  /** Writes the gathered entries, if there are more than `most`. */
  #write(most: number): Effect.Effect<void, StorageError> {
    if (this.#entries.length <= most) return yieldToEventLoop
    const entries = this.#entries
    this.#entries = []
    return this.#storage.writeEntries(entries)
  }

  #take(status: DeliveryStatus, { sequence }: LogPlace): void {
    this.#counts[status]++
    this.#newest = Math.max(this.#newest, sequence)
  }

  readonly #succeeded = Effect.gen({ self: this }, function* () {
    const names = new Set<string>()
    const twice = new Map<string, Delivery>()
    for (const delivery of yield* this.#store.oldest(this.#endpoint, "succeeded", Infinity)) {
      if (names.has(delivery.place)) twice.set(delivery.place, delivery)
      else this.#take("succeeded", delivery)
      names.add(delivery.place)
    }
    const places = [...twice.values()]
    this.#doubled += places.length
    this.#entries.push(...(yield* this.#store.withoutSucceeded(this.#endpoint, places)))
    this.#entries.push(...blocksOf(this.#endpoint, places.map(rowOf)))
    yield* this.#write(0)
    return names
  })

  /** Answers the places of those that stay, with when they are due. */
  readonly #pending = Effect.fnUntraced(function* (this: Repair, succeeded: ReadonlySet<string>) {
    const left = new Map<string, number>()
    let from: LogPlace = { sequence: 0, index: 0 }
    while (true) {
      const page = yield* this.#store.oldest(this.#endpoint, "pending", pageEntries, from)
      for (const delivery of page) {
        const { dueAt, index, place, sequence } = delivery
        if (succeeded.has(place)) {
          this.#remove("pending", delivery)
          continue
        }
        this.#take("pending", delivery)
        left.set(place, dueAt)
        const key = dueKey(this.#endpoint, dueAt, sequence, index)
        if ((yield* this.#storage.readEntry("due", key)) !== undefined) continue
        this.#dueRows++
        this.#entries.push({ table: "due", key, value: encodeValue("") })
      }
      yield* this.#write(sliceEntries)
      const last = page.at(-1)
      if (last === undefined) return left
      from = { sequence: last.sequence, index: last.index + 1 }
    }
  })

  readonly #ended = Effect.fnUntraced(function* (
    this: Repair,
    status: "failed" | "dropped",
    ended: Set<string>,
    pending: ReadonlyMap<string, number>,
  ) {
    for (const delivery of yield* this.#store.oldest(this.#endpoint, status, Infinity)) {
      if (ended.has(delivery.place) || pending.has(delivery.place)) this.#remove(status, delivery)
      else this.#take(status, delivery)
      ended.add(delivery.place)
    }
    yield* this.#write(sliceEntries)
  })

  /** Removes the rows that are of no pending delivery. */
  readonly #due = Effect.fnUntraced(function* (this: Repair, pending: ReadonlyMap<string, number>) {
    let from: number | DuePlace = 0
    while (true) {
      const page: ReadonlyArray<DuePlace> = yield* this.#store.due(
        this.#endpoint,
        from,
        Infinity,
        pageEntries,
      )
      for (const place of page) {
        if (pending.get(placeName(place)) === place.dueAt) continue
        const { dueAt, index, sequence } = place
        this.#dueRows++
        const key = dueKey(this.#endpoint, dueAt, sequence, index)
        this.#entries.push({ table: "due", key, value: null })
      }
      yield* this.#write(sliceEntries)
      const last = page.at(-1)
      if (last === undefined) return
      from = last
    }
  })

  #remove(status: DeliveryStatus, { index, sequence }: LogPlace): void {
    this.#doubled++
    const key = deliveryKey(this.#endpoint, status, sequence, index)
    this.#entries.push({ table: "deliveries", key, value: null })
  }
}
