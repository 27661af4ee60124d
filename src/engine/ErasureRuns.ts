/**
 * Carries erasures out: deletes the records of erased users from the journal, and everything that
 * only those records lead to. The users' states are gone since the first snapshot after the
 * erasures, and readers see nothing since then (`Erasures`).
 *
 * A run takes the stored jobs together, since it rewrites each segment that has such a record:
 *
 * 1. For each job, walk the chain of the user's records from the erasure backwards. Delete callers'
 *    ids from the index, and kept answers.
 * 2. Rewrite the segments: the records become tombstones, which name no user.
 * 3. Delete the jobs. A job stays if a record of it is in the segment that still takes records; a
 *    later run does the rest.
 *
 * Invariants:
 * - A crash at any point does no harm: the jobs are still there, and the next run does the same
 *   again, except for records that are tombstones already. These still name the record before.
 * - Only records up to the watermark become tombstones, so a recovery does not need them.
 * - Steps 1 and 3 never run beside a snapshot, which writes the same tables.
 *
 * Each server carries the erasures out in its own files: an engine that follows another server does
 * the same as that server. Where that one was faster, the follower finds tombstones in place of the
 * erasure (`recovery/LostErasures.ts`), and its job begins with the first of them.
 *
 * Cost: one read for each record of the erased users; a rewrite of the segments that have one, at
 * `erasureBytesPerDay`, or faster where a run would take longer than `erasureRunMs`. Both bound the
 * date that is promised for an erasure (`erasureMsOf`).
 */
import { Effect } from "effect"
import { duplicateKey, type JournalRecord } from "../domain/record/Record.ts"
import { limits } from "../Limits.ts"
import { type Broken, Damaged, isDamagedRecord, type StorageError } from "../storage/Storage.ts"
import { yieldToEventLoop } from "../storage/yieldToEventLoop.ts"
import { hashText, idSeed } from "./dedupe/IdIndex.ts"
import { eraseKept } from "./dedupe/KeptAnswers.ts"
import { type Erasure, jobRemoval } from "./erasure/Erasures.ts"
import { decodeRecord } from "./records/Codec.ts"
import { damagedRecord, isOf, readOne } from "./records/RecordReader.ts"
import type { EngineState } from "./state/EngineState.ts"

interface ErasureRunsOptions
  extends Pick<EngineState, "erasures" | "ids" | "now" | "pending" | "storage"> {
  /** Runs `work` while no snapshot is written. */
  readonly alone: <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** How long erasures are gathered for one run. */
  readonly gatherMs: number
}

/** What records of one user lead to. */
interface Traces {
  readonly environment: string
  /** Of each caller's id, the hash and the record. */
  readonly ids: Array<readonly [hash: number, sequence: number]>
  readonly kept: Array<JournalRecord>
}

const dayMs = 86_400_000

/** Records of one journal, and an environment that leads to that journal. */
interface Part {
  readonly environment: string
  readonly sequences: Array<number>
}

/** The records of a run, and its pace: both bounds are those of the whole run. */
class Run {
  /** By journal (`Storage.journalOf`). */
  readonly parts = new Map<unknown, Part>()
  records = 0
  readonly #startedAt: number
  #erased = 0
  #bytes = 0

  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  add(journal: unknown, environment: string, sequence: number): void {
    const part = this.parts.get(journal) ?? { environment, sequences: [] }
    this.parts.set(journal, part)
    part.sequences.push(sequence)
    this.records++
  }

  /** The pause after `records` were erased and `bytes` written. */
  waitMs(records: number, bytes: number, now: number): number {
    this.#erased += records
    this.#bytes += bytes
    const paced = (this.#bytes / limits.erasureBytesPerDay) * dayMs
    const latest = (this.#erased / this.records) * limits.erasureRunMs
    return this.#startedAt + Math.min(paced, latest) - now
  }
}

export class ErasureRuns {
  readonly #options: ErasureRunsOptions
  #pausedUntil = 0

  constructor(options: ErasureRunsOptions) {
    this.#options = options
  }

  /** `carryOut`, unless a segment turns out to be damaged. */
  readonly run: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Effect.catchIf(this.carryOut, isDamagedRecord, (error) => this.#damaged(error)),
  )

  /** A segment is damaged: the jobs stay, and the server goes on. */
  #damaged(error: Broken): Effect.Effect<void> {
    this.#pausedUntil = this.#options.now() + limits.erasureRetryMs
    return Effect.annotateLogs(
      Effect.logError("Erased users stay in the journal: a segment is damaged"),
      { cause: error.message },
    )
  }

  /** Carries out the stored jobs if one of them is due. */
  readonly carryOut: Effect.Effect<void, StorageError> = Effect.gen({ self: this }, function* () {
    const { alone, erasures, gatherMs, now, pending, storage } = this.#options
    while (now() >= this.#pausedUntil) {
      const due = erasures.due(now() - gatherMs, pending.watermark)
      if (due.length === 0) return
      const run = new Run(now())
      let taken = 0
      while (taken < due.length && run.records < limits.erasureRunRecordsMax) {
        yield* this.#collect(due[taken++]!, run)
      }
      // The erasures themselves are in the storage's own journal.
      let through = Number.MAX_SAFE_INTEGER
      for (const [journal, part] of run.parts) {
        const end = yield* this.#rewrite(run, part)
        if (journal === undefined) through = end
      }
      const done = due.slice(0, taken).filter(({ sequence }) => sequence <= through)
      if (done.length < taken) this.#pausedUntil = now() + limits.erasureRetryMs
      yield* alone(storage.writeEntries(done.map(jobRemoval)))
      erasures.ended(done)
    }
  })

  /**
   * Makes tombstones of the records of one journal. Returns the sequence up to which there are no
   * others left: the records after it are in a segment that still takes records.
   */
  readonly #rewrite = Effect.fnUntraced(function* (
    this: ErasureRuns,
    run: Run,
    { environment, sequences }: Part,
  ): Effect.fn.Return<number, StorageError> {
    const { now, storage } = this.#options
    sequences.sort((one, other) => one - other)
    for (let at = 0; at < sequences.length; ) {
      const some = sequences.slice(at, at + limits.erasureSegmentRecordsMax)
      const erased = yield* Effect.catchIf(
        storage.eraseRecords(some, environment),
        (error) => error._tag === "Broken" && error.cause instanceof Damaged,
        (error) => damagedRecord(some[0]!, error.message),
      )
      if (erased === undefined) return some[0]! - 1
      const through = Math.min(erased.lastSequence, some.at(-1)!)
      const before = at
      while (at < sequences.length && sequences[at]! <= through) at++
      const waitMs = run.waitMs(at - before, erased.bytes, now())
      if (waitMs > 0) yield* Effect.sleep(waitMs)
    }
    return Number.MAX_SAFE_INTEGER
  })

  /** Adds the sequences of the erased user's records, and deletes what they lead to. */
  readonly #collect = Effect.fnUntraced(function* (
    this: ErasureRuns,
    { environment, sequence, userId }: Erasure,
    run: Run,
  ): Effect.fn.Return<void, StorageError> {
    const { now, storage } = this.#options
    const seed = idSeed(environment, userId)
    const keptSince = now() - limits.idempotencyRetentionMs
    const traces: Traces = { environment, ids: [], kept: [] }
    let bytes = 0
    for (let next = sequence; next > 0; ) {
      const stored = yield* readOne(storage, environment, next)
      // Earlier records were pruned, too.
      if (stored === undefined) break
      bytes += stored.body.length
      if (stored.body.length > 0) {
        run.add(storage.journalOf?.(environment, next), environment, next)
        const record = decodeRecord(stored.body)
        if (!isOf(record, environment, userId)) return yield* notOfTheUser(next)
        const name = duplicateKey(record.cause)
        if (name !== undefined) traces.ids.push([hashText(name, seed), next])
        if (record.kept !== undefined && record.at > keptSince) traces.kept.push(record)
      }
      next = stored.previous
      if (traces.ids.length + traces.kept.length >= limits.erasureSliceRecordsMax) {
        yield* this.#forget(traces)
      }
      if (bytes > limits.historyTurnBytesMax) {
        yield* yieldToEventLoop
        bytes = 0
      }
    }
    yield* this.#forget(traces)
  })

  /** Deletes the traces from the tables in one transaction. */
  #forget(traces: Traces): Effect.Effect<void, StorageError> {
    const { environment } = traces
    const gone = traces.ids.splice(0)
    const answers = traces.kept.splice(0)
    if (gone.length + answers.length === 0) return Effect.void
    const { alone, ids, storage } = this.#options
    return alone(
      Effect.gen(function* () {
        for (const [hash, sequence] of gone) yield* ids.remove(environment, hash, sequence)
        const entries = [...ids.takeRemoved()]
        for (const record of answers) {
          entries.push(...(yield* eraseKept(storage, environment, record)))
        }
        if (entries.length > 0) yield* storage.writeEntries(entries)
      }),
    )
  }
}

const notOfTheUser = (sequence: number): Effect.Effect<never, Broken> =>
  damagedRecord(sequence, "It is not of the erased user whose later record names it")
