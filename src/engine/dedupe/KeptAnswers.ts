/**
 * Kept answers in the snapshot, and their deletion.
 *
 * Each answer consists of:
 * - its record, in pieces of the table `idempotency` that stay below the size of values that LMDB
 *   deletes badly. The text begins with its length, since a longer answer that was kept under this
 *   key before may have left pieces behind.
 * - an entry of `expiry`, whose key begins with the time of its deletion.
 *
 * Invariants: the entries of an answer are written in one snapshot, and deleted in one transaction.
 * Only the snapshot and `AnswerExpiry` write these tables, never at the same time.
 *
 * Cost: one or two pieces for most answers; the answer to a large batch takes tens.
 */
import { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Entry, Storage, StorageError, StoredEntry } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { decodeRecord, encodeRecord } from "../records/Codec.ts"

type Store = Storage["Service"]

/** The entries that keep a record's answer; empty if the record keeps none. */
export const keptEntries = (record: JournalRecord): ReadonlyArray<Entry> => {
  const { kept, subject } = record
  if (kept === undefined || subject.actor === "directory") return []
  const { environment } = subject
  const body = encodeRecord(asKept(record))
  const text = Buffer.from(`${Buffer.byteLength(body)}\n${body}`)
  const entries: Array<Entry> = []
  for (let start = 0; start < text.length; start += limits.idempotencyPieceBytesMax) {
    const piece = text.subarray(start, start + limits.idempotencyPieceBytesMax)
    const key = compositeKey(environment, kept.key, entries.length)
    entries.push({ table: "idempotency", key, value: encodeValue(piece) })
  }
  entries.push({ table: "expiry", key: expiryKey(record), value: encodeValue("") })
  return entries
}

/** The key of an answer's entry in `expiry`. */
const expiryKey = (record: JournalRecord): Uint8Array => {
  const { at, kept, subject } = record
  const environment = subject.actor === "directory" ? "" : subject.environment
  return compositeKey(at + limits.idempotencyRetentionMs, environment, kept?.key ?? "")
}

/**
 * The record without what no answer shows: the metadata of an event, which may be long, and of an
 * erasure the user, whom nothing may name any longer than it must.
 */
const asKept = (record: JournalRecord): JournalRecord => {
  if (isErasure(record)) return { ...record, subject: { ...record.subject, userId: "" }, facts: [] }
  if (record.cause.kind !== "event" || record.cause.metadata === undefined) return record
  const { metadata: _, ...cause } = record.cause
  return { ...record, cause }
}

/** Whether the record erased a user. Its answer names nobody, so it is kept like any other. */
export const isErasure = (
  record: JournalRecord,
): record is JournalRecord & { readonly subject: Extract<Subject, { readonly actor: "user" }> } =>
  record.cause.kind === "erasure" && record.subject.actor === "user"

/** The record in the bodies of pieces. */
export const joinPieces = (bodies: ReadonlyArray<Uint8Array>): JournalRecord =>
  joined(bodies).record

/** The record, and how many of the pieces belong to it. */
const joined = (
  bodies: ReadonlyArray<Uint8Array>,
): { readonly record: JournalRecord; readonly used: number } => {
  const text = Buffer.concat(bodies)
  const start = text.indexOf(10) + 1
  const length = Number(text.toString("latin1", 0, start))
  // The pieces behind `used` are those of a longer answer that was kept under this key before.
  const used = Math.ceil((start + length) / limits.idempotencyPieceBytesMax)
  return { record: decodeRecord(text.subarray(start, start + length)), used }
}

const joinEntries = Effect.fnUntraced(function* (pieces: ReadonlyArray<StoredEntry>) {
  const bodies: Array<Uint8Array> = []
  for (const [key, value] of pieces) {
    bodies.push(yield* decodeValue(value, { table: "idempotency", key }))
  }
  return joined(bodies)
})

/** The record with the answer to a key, and its pieces; `undefined`: no answer is kept. */
export const readKept = Effect.fnUntraced(function* (
  storage: Store,
  environment: string,
  key: string,
) {
  const range = { table: "idempotency", ...rangeOf(compositeKey(environment, key)) } as const
  const pieces = yield* collectEntries(storage, range)
  return pieces.length === 0 ? undefined : { ...(yield* joinEntries(pieces)), pieces }
})

const removed = (table: Entry["table"], key: Uint8Array): Entry => ({ table, key, value: null })

/** The entries that delete a kept answer with these pieces. */
const removalOf = (
  record: JournalRecord,
  pieces: ReadonlyArray<StoredEntry>,
): ReadonlyArray<Entry> => [...removalOfAnswer(pieces), removed("expiry", expiryKey(record))]

/** `removalOf` without the entry of `expiry`. */
const removalOfAnswer = (pieces: ReadonlyArray<StoredEntry>): ReadonlyArray<Entry> =>
  pieces.map(([key]) => removed("idempotency", key))

/**
 * The entries that delete the kept answer of a user's `record`. If a later answer has taken the
 * key, they delete the pieces that the record left behind.
 */
export const eraseKept = Effect.fnUntraced(function* (
  storage: Store,
  environment: string,
  record: JournalRecord,
) {
  if (record.kept === undefined || isErasure(record)) return []
  const stored = yield* readKept(storage, environment, record.kept.key)
  if (stored === undefined) return []
  const { pieces, used } = stored
  return stored.record.sequence === record.sequence
    ? removalOf(record, pieces)
    : pieces.slice(used).map(([key]) => removed("idempotency", key))
})

/*
 * Deletes expired answers in slices until none is due. So at any rate of requests with an
 * `Idempotency-Key`, the number of answers stays proportional to the rate times
 * `idempotencyRetentionMs`.
 *
 * A slice never runs beside a snapshot (`alone`): if a key is used again, a snapshot writes the new
 * answer, and a slice that had read the old answer would delete it. Between two slices a waiting
 * snapshot goes first.
 *
 * A slice ends at `expirySliceEntriesMax` deletions, since the answer to one batch can take
 * hundreds of entries.
 */

interface AnswerExpiryOptions {
  readonly storage: Storage["Service"]
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Runs a slice while no snapshot is written. */
  readonly alone: <A, E>(slice: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

export class AnswerExpiry {
  readonly #options: AnswerExpiryOptions

  constructor(options: AnswerExpiryOptions) {
    this.#options = options
  }

  /** Deletes all answers that are due. */
  readonly sweep: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const { alone } = this.#options
    return Effect.gen({ self: this }, function* () {
      while (yield* alone(this.#slice)) yield* yieldToEventLoop
    })
  })

  /** Deletes some due answers; returns whether more may be due. */
  readonly #slice = Effect.gen({ self: this }, function* () {
    const { now, storage } = this.#options
    const at = now()
    const range = { from: compositeKey(0), until: compositeKey(at + 1) }
    const limit = limits.expirySliceAnswersMax
    const due = yield* collectEntries(storage, { table: "expiry", ...range, limit })
    const keys = due.map(([key]) => key)
    const entries: Array<Entry> = []
    let looked = 0
    for (const dueKey of keys) {
      if (entries.length >= limits.expirySliceEntriesMax) break
      if (++looked % limits.expiryTurnAnswersMax === 0) yield* yieldToEventLoop
      const [, environment, key] = keyParts(dueKey) as [number, string, string]
      entries.push({ table: "expiry", key: dueKey, value: null })
      const kept = yield* readKept(storage, environment, key)
      // The key may have been used again: then the answer is a later one and stays.
      if (kept === undefined || kept.record.at + limits.idempotencyRetentionMs > at) continue
      entries.push(...removalOfAnswer(kept.pieces))
    }
    if (entries.length > 0) yield* storage.writeEntries(entries)
    return looked < keys.length || keys.length === limit
  })
}
