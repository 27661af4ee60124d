/**
 * The local copy of a journal in PostgreSQL: segment files, written after the acknowledgement, in
 * order, batch by batch.
 *
 * - `add` copies an appended batch, and a fiber writes it. Readers get batches that are not written
 *   yet from memory, so they always find all acknowledged records.
 * - While the local disk is full, the write is repeated every `unavailableRetryMs`. Appends
 *   continue until `mirrorPendingBytesMax` wait here: then `isFull` is true.
 * - Any other failure of the local disk is final: every later call fails with it.
 */

import fs from "node:fs"
import path from "node:path"
import { Effect, type Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { readInstalled, readRestored, restoredName } from "../archive/ArchiveSwap.ts"
import {
  type Disk,
  type DiskError,
  ifThere,
  type OnDisk,
  readSmallFile,
  removeTree,
  withFile,
} from "../disk/Disk.ts"
import { lineageName, readLineage } from "../durable/LineageFile.ts"
import { batchFault, checkedRecords, recordIn } from "../Frames.ts"
import { scanJournal, segmentsIn } from "../journal/JournalScan.ts"
import { Segment } from "../journal/SegmentFormat.ts"
import {
  type Broken,
  brokenBy,
  type JournalBatch,
  type ReadWork,
  type Storage,
  type StorageError,
  type StoredRecord,
  Unavailable,
} from "../Storage.ts"

type Files = Pick<Storage["Service"], "append" | "readRecord" | "readRecords">

export class Mirror {
  readonly #files: Files
  /** The batches that are not written, in order. The first is being written. */
  #waiting: Array<JournalBatch> = []
  #waitingBytes = 0
  /** The last record in the files. */
  #written: number
  /** The last record that was added. */
  #added: number
  #isStalled = false
  #failure: Broken | undefined
  #wake: (() => void) | undefined
  #settled: Array<(error: StorageError | undefined) => void> = []

  /** `written` is the last record in the files. */
  constructor(files: Files, written: number) {
    this.#files = files
    this.#written = written
    this.#added = written
  }

  get isFull(): boolean {
    return this.#waitingBytes >= limits.mirrorPendingBytesMax
  }

  get failure(): Broken | undefined {
    return this.#failure
  }

  /** Takes a copy of the next batch. Throws if the batch does not follow the last one. */
  add(batch: JournalBatch): void {
    const fault = batchFault(batch, this.#added)
    if (fault !== undefined) throw new Error(fault)
    const { count, firstSequence, frames } = batch
    this.#added = firstSequence + count - 1
    this.#waiting.push({ ...batch, frames: Uint8Array.from(frames) })
    this.#waitingBytes += frames.length
    this.#wake?.()
    this.#wake = undefined
  }

  /** Ends when the files have all batches that were added before. Fails while the disk is full. */
  readonly settled: Effect.Effect<void, StorageError> = Effect.callback((resume) => {
    if (this.#failure !== undefined) return resume(Effect.fail(this.#failure))
    if (this.#waiting.length === 0) return resume(Effect.void)
    if (this.#isStalled)
      return resume(Effect.fail(new Unavailable({ operation: "mirror", reason: "disk_full" })))
    const last = this.#waiting.at(-1)!
    const check = (error: StorageError | undefined) => {
      if (error !== undefined) resume(Effect.fail(error))
      else if (this.#written >= last.firstSequence) resume(Effect.void)
      else this.#settled.push(check)
    }
    this.#settled.push(check)
  })

  /** Implements `Storage.readRecords` for the files and the batches in memory. */
  readonly readRecords = (sequence: number): Stream.Stream<ReadonlyArray<StoredRecord>, Broken> =>
    Stream.suspend(() => {
      const written = this.#written
      const rest = this.#waiting
        .filter(({ count, firstSequence }) => firstSequence + count > sequence)
        .filter(({ firstSequence }) => firstSequence > written)
        .map((batch) => checkedRecords(batch, sequence))
      // Batches that are written from now on are already in `rest`.
      const filed = Stream.map(this.#files.readRecords(sequence), (records) =>
        records.length > 0 && records.at(-1)!.sequence > written
          ? records.filter((record) => record.sequence <= written)
          : records,
      ).pipe(Stream.filter((records) => records.length > 0))
      return rest.length === 0 ? filed : Stream.concat(filed, Stream.fromIterable(rest))
    })

  /** Implements `Storage.readRecord` for the files and the batches in memory. */
  readonly readRecord = (
    sequence: number,
    work?: ReadWork,
    environment?: string,
  ): Effect.Effect<StoredRecord | undefined, Broken> =>
    Effect.suspend(() => {
      if (sequence <= this.#written) return this.#files.readRecord(sequence, work, environment)
      const batch = this.#waiting.find((one) => one.firstSequence + one.count > sequence)
      const record = batch && recordIn(batch, sequence)
      return Effect.succeed(record && { ...record, body: Uint8Array.from(record.body) })
    })

  /** Writes until the scope closes. */
  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
    Effect.asVoid(Effect.forkScoped(this.#run)),
  )

  readonly #run = Effect.gen({ self: this }, function* () {
    while (true) {
      const [batch] = this.#waiting
      if (batch === undefined) {
        yield* Effect.callback<void>((resume) => {
          this.#wake = () => resume(Effect.void)
        })
        continue
      }
      const error = yield* Effect.matchEffect(this.#files.append(batch), {
        onSuccess: () => Effect.undefined,
        onFailure: (failure) =>
          failure._tag === "Unavailable" ? Effect.succeed(failure) : Effect.fail(failure),
      })
      if (error === undefined) this.#take(batch)
      else yield* this.#stall(error)
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        this.#failure = brokenBy("write the local copy", cause)
        this.#tell(this.#failure)
      }),
    ),
  )

  /** Removes the first batch, which is in the files now. */
  #take(batch: JournalBatch): void {
    this.#waiting.shift()
    this.#waitingBytes -= batch.frames.length
    this.#written = batch.firstSequence + batch.count - 1
    this.#isStalled = false
    if (this.#settled.length > 0) this.#tell(undefined)
  }

  readonly #stall = Effect.fnUntraced(function* (this: Mirror, error: Unavailable) {
    if (!this.#isStalled) {
      this.#isStalled = true
      yield* Effect.logError(
        "Local disk full: PostgreSQL still stores records; writes are refused once too many records wait for the local copy",
      ).pipe(Effect.annotateLogs({ operation: error.operation }))
    }
    this.#tell(error)
    yield* Effect.sleep(limits.unavailableRetryMs)
  }).bind(this)

  #tell(error: StorageError | undefined): void {
    const checks = this.#settled
    this.#settled = []
    for (const check of checks) check(error)
  }
}

/*
 * The data directory of a partition before it is opened: truncates its torn end, or moves it aside.
 * The caller holds the lock of the cluster's directory.
 */

/** The origin of the data in a data directory. */
export interface Origin {
  /** `undefined`: it has belonged to no cluster. */
  readonly lineage: string | undefined
  /**
   * A restore replaced the data since the directory was last open, and PostgreSQL does not have the
   * restored data.
   */
  readonly isRestored: boolean
  /**
   * The lineage is in its file. After a refill the lineage is at first only in the mark of the
   * swap.
   */
  readonly isNoted: boolean
}

export const originOf = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<Origin, DiskError> {
  const noted = yield* readLineage(disk, directory)
  const isMarked = (yield* readRestored(disk, directory)) !== undefined
  const installed = yield* readInstalled(disk, directory)
  const lineage = noted ?? installed
  const isRestored = isMarked && (installed === undefined || installed !== lineage)
  return { lineage, isRestored, isNoted: noted !== undefined }
})

/**
 * Truncates the rest of unflushed writes that a power cut left at the end of the journal: valid
 * batches can follow a gap there. PostgreSQL had all of these records before they were written
 * here. Flushed records are never truncated. Returns whether the journal was truncated.
 */
export const cutTornEnd = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<boolean, DiskError> {
  const folder = path.join(directory, "journal")
  const { fault, flushed, lastSequence } = yield* scanJournal({ disk, folder }, () => Effect.void)
  const newest = (yield* segmentsIn(disk, folder)).at(-1)
  if (fault?.kind !== "damaged" || newest === undefined) return false
  if (fault.path !== new Segment(folder, newest).path || lastSequence < flushed) return false
  yield* withFile(disk, fault.path, "write", (file) =>
    Effect.andThen(file.truncate(fault.position), file.sync),
  )
  yield* Effect.logWarning(
    "A power cut tore the last writes of the local copy; they were truncated and are read from PostgreSQL",
  ).pipe(Effect.annotateLogs({ directory, afterSequence: lastSequence }))
  return true
})

/**
 * The name of the file that notes damage which was found while the copy was open. The next opening
 * fills a new copy.
 */
export const damageName = "damaged"

/**
 * Writes synchronously, since the process may end with the next call. If the note cannot be
 * written, the damage is found again later.
 */
export const noteDamage = (directory: string, words: string): void => {
  try {
    fs.writeFileSync(path.join(directory, damageName), words, { flush: true })
  } catch {}
}

/** The noted damage; `undefined` if there is none. */
export const notedDamage = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  ifThere(readSmallFile(disk, path.join(directory, damageName), limits.damageNoteBytesMax))

export const asidePrefix = "discarded-"
const numberOf = (name: string): number =>
  name.startsWith(asidePrefix) ? Number(name.slice(asidePrefix.length)) : Number.NaN

/**
 * The parts of a copy, in the order of their removal. The lineage is last: without it the rest
 * would not be recognised as a copy.
 */
export const copyNames = ["live", "journal", restoredName, damageName, lineageName] as const

/**
 * Moves the copy to `discarded-<number>` in its directory. Keeps only the newest of these folders.
 */
export const moveAside = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<string, DiskError> {
  const names = yield* disk.list(directory)
  const numbers = names.map(numberOf).filter(Number.isInteger)
  const number = Math.max(0, ...numbers) + 1
  const aside = path.join(directory, `${asidePrefix}${number}`)
  yield* disk.makeFolder(aside)
  // The snapshot is moved first: after a crash, a journal or a lineage without a snapshot is still
  // recognised, a snapshot without them is not.
  for (const name of copyNames) {
    if (!names.includes(name)) continue
    yield* disk.rename(path.join(directory, name), path.join(aside, name))
    yield* disk.syncFolder(aside)
    yield* disk.syncFolder(directory)
  }
  for (const old of numbers.filter((one) => one <= number - limits.discardedCopiesKept)) {
    yield* removeTree(disk, path.join(directory, `${asidePrefix}${old}`))
  }
  return aside
})
