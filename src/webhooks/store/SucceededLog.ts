/**
 * The succeeded deliveries, by far the largest part of the log, in blocks. One value of the store
 * has many deliveries, so writing and pruning a delivery costs little.
 *
 * The key of a block is the key of its first delivery in journal order. A block has deliveries of
 * one window of `webhookBlockMax` records. Blocks of one window may overlap, since deliveries do
 * not end in order, so a reader reads whole windows.
 *
 * A block never grows. Removing deliveries replaces the block by a block of the remaining
 * deliveries, under the key of the first. No delivery is in two blocks, so two blocks never have
 * the same key.
 */
import { Effect } from "effect"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { keyParts, successor } from "../../storage/Keys.ts"
import type { Broken, Entry, Range, Storage, StoredEntry } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue, jsonOf } from "../../storage/Values.ts"
import { Delivery, deliveryKey, type LogPlace, placeName } from "./Delivery.ts"

/** A delivery in a block. */
export type Row = readonly [
  sequence: number,
  index: number,
  at: number,
  kind: MessageKind,
  user: string,
  attempts: number,
  attemptedAt: number,
  durationMs: number,
  httpStatus: number | null,
  body: string,
]

/** The row of a succeeded delivery. */
export const rowOf = ({ at, attempts, index, kind, last, sequence, user }: Delivery): Row => {
  const { at: attemptedAt, body, durationMs, status } = last!
  return [sequence, index, at, kind, user, attempts, attemptedAt, durationMs, status, body]
}

const deliveryOf = (endpoint: number, row: Row): Delivery => {
  const [sequence, index, recordAt, kind, user, attempts, at, durationMs, status, body] = row
  const delivery = new Delivery({ endpoint, sequence, at: recordAt, index }, kind, user)
  delivery.status = "succeeded"
  delivery.attempts = attempts
  delivery.last = { at, durationMs, status, error: null, body }
  delivery.stored = { status: "succeeded", dueAt: 0 }
  return delivery
}

const windowOf = (sequence: number): number => Math.floor(sequence / limits.webhookBlockMax)
const windowStart = (window: number): number => window * limits.webhookBlockMax
const keyOf = (endpoint: number, ...place: ReadonlyArray<number>): Uint8Array =>
  deliveryKey(endpoint, "succeeded", ...place)

const inOrder = (
  [sequence, index]: readonly [number, number, ...Array<unknown>],
  [otherSequence, otherIndex]: readonly [number, number, ...Array<unknown>],
): number => sequence - otherSequence || index - otherIndex

/** The blocks for deliveries of one endpoint that are in no block yet. Sorts `rows`. */
export const blocksOf = (endpoint: number, rows: Array<Row>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  rows.sort(inOrder)
  for (let start = 0, end = 0; start < rows.length; start = end) {
    const [sequence, index] = rows[start]!
    const most = Math.min(rows.length, start + limits.webhookBlockMax)
    const window = windowOf(sequence)
    while (end < most && windowOf(rows[end]![0]) === window) end++
    const value = encodeValue(JSON.stringify(rows.slice(start, end)))
    entries.push({ table: "deliveries", key: keyOf(endpoint, sequence, index), value })
  }
  return entries
}

/** The record of a delivery, and its time. */
export interface RecordName {
  readonly sequence: number
  readonly at: number
}

/** The removal of deliveries from the log. */
export interface Removal {
  readonly count: number
  readonly entries: ReadonlyArray<Entry>
  /** The removed deliveries that had more than one attempt, in order. */
  readonly retried: ReadonlyArray<LogPlace>
}

interface Block {
  readonly key: Uint8Array
  readonly rows: ReadonlyArray<Row>
}

/** The entries that remove rows from blocks. */
const without = (
  endpoint: number,
  blocks: ReadonlyArray<Block>,
  goes: (row: Row) => boolean,
): ReadonlyArray<Entry> =>
  blocks.flatMap(({ key, rows }): ReadonlyArray<Entry> => {
    const left = rows.filter((row) => !goes(row))
    if (left.length === rows.length) return []
    return [{ table: "deliveries", key, value: null }, ...blocksOf(endpoint, left)]
  })

const inOrderOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<Row> =>
  blocks.flatMap(({ rows }) => rows).sort(inOrder)

export class SucceededLog {
  readonly #storage: Storage["Service"]

  constructor(storage: Storage["Service"]) {
    this.#storage = storage
  }

  /** At most `limit` deliveries from `from` on, in order. */
  readonly oldest = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    limit: number,
    from: LogPlace,
  ): Effect.fn.Return<ReadonlyArray<Delivery>, Broken> {
    const found: Array<Row> = []
    const first = [from.sequence, from.index] as const
    let window: number | undefined = windowOf(from.sequence)
    while (found.length < limit) {
      window = yield* this.#nextWindow(endpoint, window)
      if (window === undefined) break
      const rows = yield* this.#rows(endpoint, window)
      found.push(...rows.filter((row) => inOrder(row, first) >= 0))
      window++
    }
    return found.slice(0, limit).map((row) => deliveryOf(endpoint, row))
  })

  /** At most `limit` deliveries before `before`, newest first. */
  readonly newest = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    limit: number,
    before: LogPlace | undefined,
  ): Effect.fn.Return<ReadonlyArray<Delivery>, Broken> {
    const found: Array<Row> = []
    let until =
      before === undefined
        ? successor(keyOf(endpoint))
        : keyOf(endpoint, before.sequence, before.index)
    while (found.length < limit) {
      const range = { from: keyOf(endpoint), until, reverse: true, limit: 1 } as const
      const [last] = yield* this.#entries(range)
      if (last === undefined) break
      const window = windowOf(keyParts(last[0])[2] as number)
      const rows = yield* this.#rows(endpoint, window)
      const isBefore = (row: Row) =>
        before === undefined || inOrder(row, [before.sequence, before.index]) < 0
      found.push(...rows.toReversed().filter(isBefore))
      until = keyOf(endpoint, windowStart(window))
    }
    return found.slice(0, limit).map((row) => deliveryOf(endpoint, row))
  })

  /** The deliveries of the records from `first` to `last`, in order. */
  readonly between = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    first: number,
    last: number,
  ): Effect.fn.Return<ReadonlyArray<Delivery>, Broken> {
    const blocks = yield* this.#blocks(endpoint, windowOf(first), windowOf(last))
    return inOrderOf(blocks)
      .filter(([sequence]) => sequence >= first && sequence <= last)
      .map((row) => deliveryOf(endpoint, row))
  })

  /**
   * The entries that remove these deliveries from their blocks. No other write may happen before
   * these entries are written.
   */
  readonly without = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    places: ReadonlyArray<LogPlace>,
  ): Effect.fn.Return<ReadonlyArray<Entry>, Broken> {
    const names = new Set(places.map(placeName))
    const windows = new Set(places.map(({ sequence }) => windowOf(sequence)))
    const entries: Array<Entry> = []
    for (const window of windows) {
      const blocks = yield* this.#blocks(endpoint, window, window)
      entries.push(
        ...without(endpoint, blocks, ([sequence, index]) =>
          names.has(placeName({ sequence, index })),
        ),
      )
    }
    return entries
  })

  /** Removes at most `most` of the oldest deliveries, up to the first that `mayGo` refuses. */
  readonly removal = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    most: number,
    mayGo: (record: RecordName) => boolean,
  ): Effect.fn.Return<Removal, Broken> {
    const entries: Array<Entry> = []
    const retried: Array<LogPlace> = []
    let count = 0
    let window: number | undefined = 0
    while (count < most) {
      window = yield* this.#nextWindow(endpoint, window)
      if (window === undefined) break
      const blocks = yield* this.#blocks(endpoint, window, window)
      const rows = inOrderOf(blocks)
      const kept = rows.findIndex(([sequence, , at]) => !mayGo({ sequence, at }))
      const end = Math.min(kept === -1 ? rows.length : kept, most - count)
      const going = new Set(rows.slice(0, end))
      entries.push(...without(endpoint, blocks, (row) => going.has(row)))
      for (const [sequence, index, , , , attempts] of going) {
        if (attempts > 1) retried.push({ sequence, index })
      }
      count += end
      if (end < rows.length) break
      window++
    }
    return { count, entries, retried }
  })

  /** The first window from `window` on that has a block. */
  readonly #nextWindow = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    window: number,
  ): Effect.fn.Return<number | undefined, Broken> {
    const from = keyOf(endpoint, windowStart(window))
    const [next] = yield* this.#entries({ from, until: successor(keyOf(endpoint)), limit: 1 })
    return next === undefined ? undefined : windowOf(keyParts(next[0])[2] as number)
  })

  /** The rows of a window, in order. */
  #rows(endpoint: number, window: number): Effect.Effect<ReadonlyArray<Row>, Broken> {
    return Effect.map(this.#blocks(endpoint, window, window), inOrderOf)
  }

  readonly #blocks = Effect.fnUntraced(function* (
    this: SucceededLog,
    endpoint: number,
    first: number,
    last: number,
  ): Effect.fn.Return<ReadonlyArray<Block>, Broken> {
    const from = keyOf(endpoint, windowStart(first))
    const until = keyOf(endpoint, windowStart(last + 1))
    const blocks: Array<Block> = []
    for (const [key, value] of yield* this.#entries({ from, until })) {
      const body = yield* decodeValue(value, { table: "deliveries", key })
      blocks.push({ key, rows: jsonOf(body) })
    }
    return blocks
  })

  #entries(range: Omit<Range, "table">): Effect.Effect<ReadonlyArray<StoredEntry>, Broken> {
    return collectEntries(this.#storage, { table: "deliveries", ...range })
  }
}
