/**
 * Idempotency keys: the first answer to a request is its record, kept for `idempotencyRetentionMs`. The
 * promise is written in the same record as what the request did (`Kept`), so no crash can separate them.
 *
 * A key is `running` from the moment its request is accepted until it is answered, `recent` from then until
 * the snapshot has it, and afterwards an entry of the snapshot, in pieces below the size at which values
 * that are deleted again trouble LMDB. `expiry` lists the entries by the time at which they are forgotten.
 */
import { Effect, Stream } from "effect"
import { type LaurelError, laurelError } from "../domain/Errors.ts"
import type { JournalRecord } from "../domain/Record.ts"
import { limits } from "../Limits.ts"
import { compositeKey, keyParts, rangeOf } from "../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../storage/Storage.ts"
import { decodeValue, encodeValue } from "../storage/Values.ts"
import { decodeRecord, encodeRecord } from "./Codec.ts"
import type { Idempotency } from "./Engine.ts"

/** `fresh`: the caller goes on, and must `release` at the end. Otherwise `record` has the first answer. */
export type Reservation =
  | { readonly fresh: true; readonly release: () => void }
  | { readonly fresh: false; readonly record: JournalRecord }

type Store = Storage["Service"]

export class IdempotencyKeys {
  readonly #storage: Store
  readonly #now: () => number
  readonly #running = new Map<string, string>()
  readonly #recent = new Map<string, JournalRecord>()

  constructor(storage: Store, now: () => number) {
    this.#storage = storage
    this.#now = now
  }

  reserve(
    environment: string,
    { key, fingerprint }: Idempotency,
  ): Effect.Effect<Reservation, LaurelError | Broken> {
    const self = this
    const name = `${environment}\n${key}`
    return Effect.gen(function* () {
      const running = self.#running.get(name)
      if (running !== undefined) {
        return yield* Effect.fail(
          running === fingerprint
            ? laurelError(
                "idempotency_in_progress",
                "Ask again when the first request has ended.",
                {
                  retryAfterSeconds: 1,
                },
              )
            : reused,
        )
      }
      self.#running.set(name, fingerprint)
      const release = () => {
        self.#running.delete(name)
      }
      const record = yield* Effect.onError(
        Effect.suspend(() => {
          const recent = self.#recent.get(name)
          return recent === undefined ? self.#stored(environment, key) : Effect.succeed(recent)
        }),
        () => Effect.sync(release),
      )
      if (record === undefined || record.at + limits.idempotencyRetentionMs <= self.#now()) {
        return { fresh: true, release }
      }
      release()
      if (record.kept?.fingerprint !== fingerprint) return yield* Effect.fail(reused)
      return { fresh: false, record }
    })
  }

  /** A record that keeps an answer is durable. */
  committed(record: JournalRecord): void {
    if (record.kept === undefined || record.subject.actor === "directory") return
    this.#recent.set(`${record.subject.environment}\n${record.kept.key}`, record)
  }

  /** The snapshot has everything up to this sequence. */
  snapshotted(watermark: number): void {
    for (const [name, { sequence }] of this.#recent) {
      if (sequence <= watermark) this.#recent.delete(name)
    }
  }

  readonly #stored = Effect.fnUntraced(function* (
    this: IdempotencyKeys,
    environment: string,
    key: string,
  ) {
    const pieces: Array<Uint8Array> = []
    for (const [pieceKey, value] of yield* this.#pieces(environment, key)) {
      pieces.push(yield* decodeValue(value, { table: "idempotency", key: pieceKey }))
    }
    if (pieces.length === 0) return undefined
    const text = Buffer.concat(pieces)
    const start = text.indexOf(10) + 1
    const length = Number(text.toString("latin1", 0, start))
    // A longer answer that was kept under this key before may have left pieces behind the end.
    return decodeRecord(text.subarray(start, start + length))
  })

  #pieces(environment: string, key: string) {
    const range = rangeOf(compositeKey(environment, key))
    return Effect.map(
      Stream.runCollect(this.#storage.readEntries({ table: "idempotency", ...range })),
      (chunks) => chunks.flat(),
    )
  }

  /** What must be written so that the snapshot has the answers up to this sequence. */
  *entries(watermark: number): Generator<Entry> {
    for (const record of this.#recent.values()) {
      if (record.sequence <= watermark) yield* entriesOf(record)
    }
  }

  /** What must be removed because its time is over, at most `limit` answers. */
  readonly expired = Effect.fnUntraced(function* (this: IdempotencyKeys, limit: number) {
    const range = { from: compositeKey(0), until: compositeKey(this.#now()) }
    const due = yield* Stream.runCollect(
      this.#storage.readEntries({ table: "expiry", ...range, limit }),
    )
    const entries: Array<Entry> = []
    for (const [dueKey] of due.flat()) {
      const [, environment, key] = keyParts(dueKey) as [number, string, string]
      entries.push({ table: "expiry", key: dueKey, value: null })
      const current = yield* this.#stored(environment, key)
      // The same key may have been used anew since.
      if (current === undefined || current.at + limits.idempotencyRetentionMs > this.#now())
        continue
      for (const [piece] of yield* this.#pieces(environment, key)) {
        entries.push({ table: "idempotency", key: piece, value: null })
      }
    }
    return entries
  })
}

const reused = laurelError(
  "idempotency_key_reused",
  "The first request with this key had another method, path or body.",
)

const entriesOf = (record: JournalRecord): ReadonlyArray<Entry> => {
  const { kept, subject } = record
  if (kept === undefined || subject.actor === "directory") return []
  const body = encodeRecord(withoutMetadata(record))
  const text = Buffer.from(`${Buffer.byteLength(body)}\n${body}`)
  const entries: Array<Entry> = []
  for (let start = 0; start < text.length; start += limits.idempotencyPieceBytesMax) {
    const piece = text.subarray(start, start + limits.idempotencyPieceBytesMax)
    const key = compositeKey(subject.environment, kept.key, entries.length)
    entries.push({ table: "idempotency", key, value: encodeValue(piece) })
  }
  const expiresAt = record.at + limits.idempotencyRetentionMs
  const key = compositeKey(expiresAt, subject.environment, kept.key)
  entries.push({ table: "expiry", key, value: encodeValue("") })
  return entries
}

/** An answer does not show the metadata, which may be long. */
const withoutMetadata = (record: JournalRecord): JournalRecord => {
  if (record.cause.kind !== "event" || record.cause.metadata === undefined) return record
  const { metadata: _, ...cause } = record.cause
  return { ...record, cause }
}
