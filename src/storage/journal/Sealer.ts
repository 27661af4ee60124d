/**
 * Seals the full segments of an open journal, and erases records of sealed segments.
 *
 * - A draft is written, flushed and compared with its source (`Seal.ts`). Then it gets its name,
 *   and the folder is synced. Only then does the journal read it, and the plain segment is removed.
 *   After a crash a start finds the plain segment, or both, or the sealed segment
 *   (`JournalRecovery.ts`).
 * - An erasure replaces the sealed segment by a rename: a crash leaves the old or the new one.
 * - One draft at a time. Names of segments change one after another, and not during a prune.
 * - A failure changes nothing that the journal needs: the same is tried again later. A plain
 *   segment that turns out to be damaged is not tried again before the next start.
 */
import { Effect, Semaphore } from "effect"
import { type Disk, type DiskError, ifThere, isFull, isMissing, type OnDisk } from "../disk/Disk.ts"
import { type ErasedSegment, type StorageError, Unavailable } from "../Storage.ts"
import { brokenRead, type JournalReader } from "./JournalReader.ts"
import type { DoSegmentWork, SegmentWork } from "./Seal.ts"
import { openSealedAt, type SealedFault, SealedSegment } from "./SealedFile.ts"
import { draftPath, sealedPath } from "./SealedFormat.ts"
import { Segment } from "./SegmentFormat.ts"
import type { AnySegment, SegmentList } from "./SegmentList.ts"

export interface SealerOptions {
  readonly disk: Disk
  readonly folder: string
  readonly segments: SegmentList
  readonly reader: JournalReader
  readonly work: DoSegmentWork
}

type Fault = DiskError | SealedFault

export class Sealer {
  readonly #options: SealerOptions
  readonly #drafting = Semaphore.makeUnsafe(1)
  readonly #naming = Semaphore.makeUnsafe(1)
  /** Plain segments that turned out to be damaged. */
  readonly #damaged = new Set<AnySegment>()

  constructor(options: SealerOptions) {
    this.#options = options
  }

  /** Runs `change` while no segment gets another name. */
  readonly whileNamesStay = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Semaphore.withPermit(this.#naming, change)

  /** Seals the oldest full segment; false: there is none. */
  readonly sealNext: Effect.Effect<boolean, Fault> = Effect.suspend(() =>
    Semaphore.withPermit(this.#drafting, this.#sealNext),
  )

  readonly #sealNext = Effect.gen({ self: this }, function* () {
    const { folder, segments } = this.#options
    const segment = segments.nextFull(this.#damaged)
    if (!(segment instanceof Segment)) return false
    const { firstSequence } = segment
    const extent = segments.extentOf(firstSequence, Number.POSITIVE_INFINITY)!
    const full = { folder, firstSequence, end: segment.end, lastSequence: extent.lastSequence }
    yield* Effect.tapError(this.#draft({ kind: "seal", segment: full }, firstSequence), (error) =>
      Effect.sync(() => {
        if (error._tag === "SealedFault") this.#damaged.add(segment)
      }),
    )
    yield* this.#named(segment, this.#seal(segment))
    return true
  })

  readonly #seal = Effect.fnUntraced(function* (
    this: Sealer,
    segment: Segment,
  ): Effect.fn.Return<void, Fault> {
    const { disk, folder, reader, segments } = this.#options
    const { firstSequence } = segment
    const sealed = yield* this.#opened(firstSequence)
    yield* disk.rename(draftPath(folder, firstSequence), sealed.path)
    yield* disk.syncFolder(folder)
    segments.replace(segment, sealed)
    yield* reader.forget
    yield* this.#removePlain(firstSequence)
  }).bind(this)

  /** Implements `Storage.eraseRecords`. */
  readonly erase = (
    sequences: ReadonlyArray<number>,
  ): Effect.Effect<ErasedSegment | undefined, StorageError> =>
    Semaphore.withPermit(this.#drafting, this.#erase(sequences)).pipe(
      Effect.mapError((error) =>
        error._tag === "DiskError" && isFull(error)
          ? new Unavailable({ operation: "erase", reason: "disk_full" })
          : brokenRead(error),
      ),
    )

  readonly #erase = Effect.fnUntraced(function* (
    this: Sealer,
    sequences: ReadonlyArray<number>,
  ): Effect.fn.Return<ErasedSegment | undefined, Fault> {
    const { disk, folder, segments } = this.#options
    const [first] = sequences
    if (first === undefined) return undefined
    const oldest = segments.oldest?.firstSequence
    if (oldest !== undefined && first < oldest) return { lastSequence: oldest - 1, bytes: 0 }
    const segment = segments.extentOf(first, Number.POSITIVE_INFINITY)
    if (!(segment instanceof SealedSegment)) return undefined
    const { firstSequence, lastSequence } = segment
    // A plain segment whose removal failed would keep the records.
    yield* this.#removePlain(firstSequence)
    const here = sequences.filter((sequence) => sequence <= lastSequence)
    yield* this.#draft({ kind: "erase", folder, firstSequence, sequences: here }, firstSequence)
    let bytes = 0
    const replaced = Effect.gen({ self: this }, function* () {
      const erased = yield* this.#opened(firstSequence)
      yield* disk.rename(draftPath(folder, firstSequence), segment.path)
      segments.replace(segment, erased)
      yield* disk.syncFolder(folder)
      bytes = erased.bytes
    })
    yield* this.#named(segment, this.#options.reader.whileUnread(replaced))
    return { lastSequence, bytes }
  }).bind(this)

  /** Reads the sealed segment that begins with this record, and fails if it is damaged. */
  readonly verify = (firstSequence: number): Effect.Effect<void, Fault> =>
    this.#options.work({ kind: "verify", folder: this.#options.folder, firstSequence }).pipe(
      Effect.catchIf(
        // It was pruned.
        (error) => error._tag === "DiskError" && isMissing(error),
        () => Effect.void,
      ),
      Effect.asVoid,
    )

  /** The first records of the sealed segments, in order. */
  get sealed(): ReadonlyArray<number> {
    return this.#options.segments.sealed.map(({ firstSequence }) => firstSequence)
  }

  /** Writes a draft; a failed one is removed. */
  #draft(work: SegmentWork, firstSequence: number): Effect.Effect<void, Fault> {
    return Effect.onError(Effect.asVoid(this.#options.work(work)), () =>
      this.#dropDraft(firstSequence),
    )
  }

  /** The draft as it will be under its name. */
  #opened(firstSequence: number): Effect.Effect<SealedSegment, Fault> {
    const { disk, folder } = this.#options
    const draft = openSealedAt(disk, draftPath(folder, firstSequence), firstSequence)
    return Effect.map(draft, (found) => found.at(sealedPath(folder, firstSequence)))
  }

  #dropDraft(firstSequence: number): Effect.Effect<void> {
    const { disk, folder } = this.#options
    return Effect.ignore(disk.remove(draftPath(folder, firstSequence)))
  }

  /** Runs `change`, which gives the draft of `segment` its name, unless the segment was pruned. */
  #named(segment: AnySegment, change: Effect.Effect<void, Fault>): Effect.Effect<void, Fault> {
    const drop = this.#dropDraft(segment.firstSequence)
    return Effect.suspend(() =>
      this.#options.segments.has(segment) ? Effect.onError(change, () => drop) : drop,
    ).pipe(this.whileNamesStay, Effect.uninterruptible)
  }

  #removePlain(firstSequence: number): OnDisk<void> {
    const { disk, folder } = this.#options
    return Effect.andThen(
      ifThere(disk.remove(new Segment(folder, firstSequence).path)),
      disk.syncFolder(folder),
    )
  }
}
