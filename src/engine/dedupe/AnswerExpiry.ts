/**
 * Deletes expired answers in slices, until none is due: so their number stays proportional to the rate of requests with
 * an `Idempotency-Key` times `idempotencyRetentionMs`, at any rate.
 *
 * A slice runs `alone`, never beside a snapshot: a snapshot writes the answer to a key that is used again, and a slice
 * that had read the old answer before would delete the new one. Between slices a snapshot that waits goes first.
 *
 * A slice ends at `expirySliceEntriesMax` deletions, since the answer to one batch takes hundreds of entries.
 */
import { Effect, Schedule, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { compositeKey, keyParts } from "../../storage/Keys.ts"
import type { Entry, Storage, StorageError } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { readKept, removalOfAnswer } from "./KeptAnswers.ts"

export interface AnswerExpiryOptions {
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

  /** Deletes what is due every `intervalMs`. Never ends. Without space it tries again after the next interval. */
  readonly run = (intervalMs: number): Effect.Effect<void, StorageError> =>
    Effect.sleep(intervalMs).pipe(
      Effect.andThen(Effect.catchTag(this.sweep, "NoSpace", () => Effect.void)),
      Effect.repeat(Schedule.forever),
    )

  /** Deletes all that is due. */
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
    const due = yield* Stream.runCollect(storage.readEntries({ table: "expiry", ...range, limit }))
    const keys = due.flat().map(([key]) => key)
    const entries: Array<Entry> = []
    let looked = 0
    for (const dueKey of keys) {
      if (entries.length >= limits.expirySliceEntriesMax) break
      if (++looked % limits.expiryTurnAnswersMax === 0) yield* yieldToEventLoop
      const [, environment, key] = keyParts(dueKey) as [number, string, string]
      entries.push({ table: "expiry", key: dueKey, value: null })
      const kept = yield* readKept(storage, environment, key)
      // The key may have been used again since.
      if (kept === undefined || kept.record.at + limits.idempotencyRetentionMs > at) continue
      entries.push(...removalOfAnswer(kept.record, kept.pieces))
    }
    if (entries.length > 0) yield* storage.writeEntries(entries)
    return looked < keys.length || keys.length === limit
  })
}
