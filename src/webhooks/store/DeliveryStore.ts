/**
 * The tables of webhooks and their reads. `DeliveryWriter.ts` writes them.
 *
 *     outbox      "cursor"                                  the last record whose deliveries are all stored
 *                 "reached"                                 the last record of which some may be stored
 *                 "job", record                             an unfinished job of a record (`Delivery.ts`)
 *     endpoints   endpoint                                  its numbers (`DeliveryStore.ts`)
 *     deliveries  endpoint, status, record, fact            a delivery; of succeeded ones, a block (`SucceededLog.ts`)
 *     due         endpoint, time, record, fact              empty: pending deliveries in the order they are due
 *     attempts    endpoint, record, fact, number            an attempt that was not the last
 */

import { Effect } from "effect"
import { compositeKey, everyKey, keyParts, rangeOf, successor } from "../../storage/Keys.ts"
import type { Broken, Entry, Range, Storage, StoredEntry, Table } from "../../storage/Storage.ts"
import {
  brokenValue,
  collectEntries,
  decodeValue,
  jsonOf,
  openValue,
} from "../../storage/Values.ts"
import {
  type AttemptResult,
  attemptKey,
  type Delivery,
  type DeliveryStatus,
  decodeDelivery,
  deliveryKey,
  deliveryStatuses,
  dueKey,
  type Job,
  jobPrefix,
  type LogPlace,
  placeName,
} from "./Delivery.ts"
import { type RecordName, type Removal, SucceededLog } from "./SucceededLog.ts"

/* The counts of an endpoint: its stored deliveries by status, and how long it has been failing. */

/**
 * `stored` counts the deliveries in the store by status. `ended` counts all deliveries that ever
 * ended.
 */
export interface EndpointStats {
  readonly stored: Record<DeliveryStatus, number>
  readonly ended: Record<Exclude<DeliveryStatus, "pending">, number>
  /**
   * How long all attempts have failed, and the time of the last failure; both are 0 after a
   * success.
   */
  failingMs: number
  failedAt: number
  succeededAt: number
}

export const emptyStats = (): EndpointStats => ({
  stored: { pending: 0, succeeded: 0, failed: 0, dropped: 0 },
  ended: { succeeded: 0, failed: 0, dropped: 0 },
  failingMs: 0,
  failedAt: 0,
  succeededAt: 0,
})

export const statsKey = (endpoint: number): Uint8Array => compositeKey(endpoint)

/**
 * A copy of the counts. A flush may copy those of thousands of endpoints, and `structuredClone`
 * would be slow.
 */
export const copyOf = (stats: EndpointStats): EndpointStats => ({
  ...stats,
  stored: { ...stats.stored },
  ended: { ...stats.ended },
})

/** Counts a delivery that changed from one status to another. */
export const count = (
  { ended, stored }: EndpointStats,
  before: DeliveryStatus | undefined,
  after: DeliveryStatus,
): void => {
  if (before === after) return
  stored[after]++
  if (before !== undefined) stored[before]--
  if (after !== "pending") ended[after]++
}

type Store = Storage["Service"]

export const cursorKey = compositeKey("cursor")
export const reachedKey = compositeKey("reached")

/** The place of a pending delivery in `due`. */
export interface DuePlace extends LogPlace {
  readonly dueAt: number
}

/** Whether `one` is equal to or after `other` in the order of the journal. */
const isBehind = (one: LogPlace, other: LogPlace): boolean =>
  (one.sequence - other.sequence || one.index - other.index) >= 0

export class DeliveryStore {
  readonly #storage: Store
  readonly #succeeded: SucceededLog

  constructor(storage: Store) {
    this.#storage = storage
    this.#succeeded = new SucceededLog(storage)
  }

  readonly cursor: Effect.Effect<number | undefined, Broken> = Effect.suspend(() =>
    this.#json<number>("outbox", cursorKey),
  )

  readonly reached: Effect.Effect<number | undefined, Broken> = Effect.suspend(() =>
    this.#json<number>("outbox", reachedKey),
  )

  readonly jobs: Effect.Effect<ReadonlyArray<Job>, Broken> = Effect.suspend(() =>
    this.#all<Job>({ table: "outbox", ...rangeOf(jobPrefix) }),
  )

  /** All endpoints that have counts. */
  readonly endpoints: Effect.Effect<ReadonlyArray<number>, Broken> = Effect.suspend(() =>
    Effect.map(this.#entries({ table: "endpoints", ...everyKey }), (entries) =>
      entries.map(([key]) => keyParts(key)[0] as number),
    ),
  )

  stats(endpoint: number): Effect.Effect<EndpointStats, Broken> {
    return Effect.map(
      this.#json<EndpointStats>("endpoints", statsKey(endpoint)),
      (stats) => stats ?? emptyStats(),
    )
  }

  /** The delivery of a message to an endpoint, in any status. */
  find(endpoint: number, place: LogPlace): Effect.Effect<Delivery | undefined, Broken> {
    const { sequence } = place
    return Effect.map(this.between(endpoint, sequence, sequence), (found) =>
      found.get(placeName(place)),
    )
  }

  /**
   * The deliveries of the records from `first` to `last` to an endpoint, in any status, by their
   * place.
   */
  readonly between = Effect.fnUntraced(function* (
    this: DeliveryStore,
    endpoint: number,
    first: number,
    last: number,
  ): Effect.fn.Return<ReadonlyMap<string, Delivery>, Broken> {
    const found = [...(yield* this.#succeeded.between(endpoint, first, last))]
    for (const status of deliveryStatuses) {
      if (status === "succeeded") continue
      const from = deliveryKey(endpoint, status, first)
      const until = deliveryKey(endpoint, status, last + 1)
      const entries = yield* this.#entries({ table: "deliveries", from, until })
      found.push(...(yield* this.#deliveries(entries)))
    }
    return new Map(found.map((delivery) => [delivery.place, delivery]))
  })

  /**
   * The pending deliveries at these places, in the same order; missing deliveries are left out.
   * Neighbouring deliveries cost one read of the store.
   */
  readonly pending = Effect.fnUntraced(function* (
    this: DeliveryStore,
    endpoint: number,
    places: ReadonlyArray<LogPlace>,
  ): Effect.fn.Return<ReadonlyArray<Delivery>, Broken> {
    const [first] = places
    if (first === undefined) return []
    const near = yield* this.oldest(endpoint, "pending", places.length, first)
    const found = new Map(near.map((delivery) => [delivery.place, delivery]))
    const last = near.at(-1)
    const deliveries: Array<Delivery> = []
    for (const place of places) {
      let delivery = found.get(placeName(place))
      const seen = isBehind(place, first) && (near.length < places.length || isBehind(last!, place))
      if (delivery === undefined && !seen) {
        const key = deliveryKey(endpoint, "pending", place.sequence, place.index)
        const value = yield* this.#storage.readEntry("deliveries", key)
        if (value !== undefined) delivery = yield* this.#delivery([key, value])
      }
      if (delivery !== undefined) deliveries.push(delivery)
    }
    return deliveries
  })

  /**
   * The places of pending deliveries that are due from `from` (a time, inclusive, or a place,
   * exclusive) to `until` (exclusive), earliest first.
   */
  due(
    endpoint: number,
    from: number | DuePlace,
    until: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DuePlace>, Broken> {
    const range = {
      table: "due",
      from:
        typeof from === "number"
          ? dueKey(endpoint, from, 0, 0)
          : successor(dueKey(endpoint, from.dueAt, from.sequence, from.index)),
      until:
        until === Number.POSITIVE_INFINITY
          ? successor(compositeKey(endpoint))
          : dueKey(endpoint, until, 0, 0),
      limit,
    } as const
    return Effect.map(this.#entries(range), (entries) =>
      entries.map(([key]) => {
        const [, dueAt, sequence, index] = keyParts(key) as [number, number, number, number]
        return { dueAt, sequence, index }
      }),
    )
  }

  /** The sequence of the oldest record that a pending delivery needs. */
  oldestPending(endpoint: number): Effect.Effect<number | undefined, Broken> {
    const range = {
      table: "deliveries",
      ...rangeOf(deliveryKey(endpoint, "pending")),
      limit: 1,
    } as const
    return Effect.map(this.#entries(range), ([entry]) =>
      entry === undefined ? undefined : (keyParts(entry[0])[2] as number),
    )
  }

  /** The oldest record that pending deliveries or the outbox need; infinite without endpoints. */
  readonly needed: Effect.Effect<number, Broken> = Effect.gen({ self: this }, function* () {
    const endpoints = yield* this.endpoints
    if (endpoints.length === 0) return Number.POSITIVE_INFINITY
    let needed = ((yield* this.cursor) ?? 0) + 1
    for (const endpoint of endpoints) {
      needed = Math.min(needed, (yield* this.oldestPending(endpoint)) ?? needed)
    }
    return needed
  })

  /**
   * The entries that remove succeeded deliveries from the log. No other write may happen before
   * these entries are written.
   */
  withoutSucceeded(
    endpoint: number,
    places: ReadonlyArray<LogPlace>,
  ): Effect.Effect<ReadonlyArray<Entry>, Broken> {
    return this.#succeeded.without(endpoint, places)
  }

  /**
   * The entries that remove the oldest deliveries of a status and their attempts: at most `most`
   * deliveries that `mayGo` accepts. No other write may happen before these entries are written.
   */
  readonly removal = Effect.fnUntraced(function* (
    this: DeliveryStore,
    endpoint: number,
    status: DeliveryStatus,
    most: number,
    mayGo: (record: RecordName) => boolean,
  ): Effect.fn.Return<Removal, Broken> {
    const removal =
      status === "succeeded"
        ? yield* this.#succeeded.removal(endpoint, most, mayGo)
        : removalOf((yield* this.oldest(endpoint, status, most)).filter(mayGo))
    const attempts = yield* this.#attemptKeys(endpoint, removal.retried)
    const entries = attempts.map((key): Entry => ({ table: "attempts", key, value: null }))
    return { ...removal, entries: [...removal.entries, ...entries] }
  })

  /** The oldest deliveries of a status, at most `limit`, from `from` on. */
  oldest(
    endpoint: number,
    status: DeliveryStatus,
    limit: number,
    from: LogPlace = { sequence: 0, index: 0 },
  ): Effect.Effect<ReadonlyArray<Delivery>, Broken> {
    if (status === "succeeded") return this.#succeeded.oldest(endpoint, limit, from)
    const range = {
      table: "deliveries",
      from: deliveryKey(endpoint, status, from.sequence, from.index),
      until: successor(deliveryKey(endpoint, status)),
      limit,
    } as const
    return Effect.flatMap(this.#entries(range), (entries) => this.#deliveries(entries))
  }

  /** The newest deliveries before `before`, of one status or of all statuses. */
  readonly newest = Effect.fnUntraced(function* (
    this: DeliveryStore,
    endpoint: number,
    status: DeliveryStatus | undefined,
    before: LogPlace | undefined,
    limit: number,
  ): Effect.fn.Return<ReadonlyArray<Delivery>, Broken> {
    const found: Array<Delivery> = []
    for (const each of status === undefined ? deliveryStatuses : [status]) {
      if (each === "succeeded") {
        found.push(...(yield* this.#succeeded.newest(endpoint, limit, before)))
        continue
      }
      const prefix = deliveryKey(endpoint, each)
      const range = {
        table: "deliveries",
        from: prefix,
        until:
          before === undefined
            ? successor(prefix)
            : deliveryKey(endpoint, each, before.sequence, before.index),
        reverse: true,
        limit,
      } as const
      found.push(...(yield* this.#deliveries(yield* this.#entries(range))))
    }
    found.sort((one, other) => other.sequence - one.sequence || other.index - one.index)
    return found.slice(0, limit)
  })

  /** Blanks the receiver's reply in each attempt of a delivery. The caller writes the delivery. */
  blank(delivery: Delivery): Effect.Effect<void, Broken> {
    return Effect.map(this.earlierAttempts(delivery), (stored) =>
      delivery.blank(stored.map((attempt, at) => [at + 1, attempt] as const)),
    )
  }

  /** The attempts of a delivery except the last, oldest first. */
  earlierAttempts(delivery: Delivery): Effect.Effect<ReadonlyArray<AttemptResult>, Broken> {
    return this.#all<AttemptResult>({ table: "attempts", ...rangeOf(attemptKey(delivery)) })
  }

  /** The keys of a table that begin with the endpoint's number, at most `limit`. */
  keysOf(
    table: Table,
    endpoint: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<Uint8Array>, Broken> {
    const range = { table, ...rangeOf(compositeKey(endpoint)), limit } as const
    return Effect.map(this.#entries(range), (entries) => entries.map(([key]) => key))
  }

  /** The keys of the earlier attempts of deliveries. `places` is in the order of the journal. */
  #attemptKeys(
    endpoint: number,
    places: ReadonlyArray<LogPlace>,
  ): Effect.Effect<ReadonlyArray<Uint8Array>, Broken> {
    const [first] = places
    if (first === undefined) return Effect.succeed([])
    const range = {
      table: "attempts",
      from: attemptKey({ endpoint, ...first }),
      until: successor(attemptKey({ endpoint, ...places.at(-1)! })),
    } as const
    const names = new Set(places.map(placeName))
    return Effect.map(this.#entries(range), (entries) =>
      entries.flatMap(([key]) => {
        const [, sequence, index] = keyParts(key) as [number, number, number]
        return names.has(placeName({ sequence, index })) ? [key] : []
      }),
    )
  }

  #entries(range: Range): Effect.Effect<ReadonlyArray<StoredEntry>, Broken> {
    return collectEntries(this.#storage, range)
  }

  #delivery(entry: StoredEntry): Effect.Effect<Delivery, Broken> {
    return Effect.map(this.#deliveries([entry]), ([delivery]) => delivery!)
  }

  #deliveries(entries: ReadonlyArray<StoredEntry>): Effect.Effect<ReadonlyArray<Delivery>, Broken> {
    return Effect.suspend(() => {
      const deliveries: Array<Delivery> = []
      for (const [key, value] of entries) {
        const body = openValue(value)
        if (typeof body === "string") return brokenValue({ table: "deliveries", key }, body)
        const [endpoint, , sequence, index] = keyParts(key) as [number, number, number, number]
        deliveries.push(decodeDelivery(body, { endpoint, sequence, index }))
      }
      return Effect.succeed(deliveries)
    })
  }

  #json<A>(table: Table, key: Uint8Array): Effect.Effect<A | undefined, Broken> {
    const read = Effect.suspend(() => this.#storage.readEntry(table, key))
    return Effect.flatMap(read, (value) =>
      value === undefined ? Effect.succeed(undefined) : parsed<A>(table, key, value),
    )
  }

  #all<A>(range: Range): Effect.Effect<ReadonlyArray<A>, Broken> {
    return Effect.flatMap(this.#entries(range), (entries) =>
      Effect.forEach(entries, ([key, value]) => parsed<A>(range.table, key, value)),
    )
  }
}

/** Removes deliveries that have one entry each. */
const removalOf = (deliveries: ReadonlyArray<Delivery>): Removal => ({
  count: deliveries.length,
  entries: deliveries.map(({ endpoint, index, sequence, status }) => ({
    table: "deliveries",
    key: deliveryKey(endpoint, status, sequence, index),
    value: null,
  })),
  retried: deliveries.filter(({ attempts }) => attempts > 1),
})

const parsed = <A>(table: Table, key: Uint8Array, value: Uint8Array): Effect.Effect<A, Broken> =>
  Effect.map(decodeValue(value, { table, key }), jsonOf<A>)
