/**
 * Reads durable records in order. The start of the stream fixes its end, so appends continue meanwhile;
 * pruning a segment under a reader fails it with `Broken`.
 *
 * Cost: a jump to within `journalIndexBytes` of the first record, then one pass; a piece of
 * `journalReadBytes` in memory at a time.
 */
import { Effect, Option, type Scope, Stream } from "effect"
import type { Disk } from "../disk/Disk.ts"
import { batchRecords } from "../Frames.ts"
import { type Broken, Damaged, type StoredRecord, toBroken } from "../Storage.ts"
import type { Segment } from "./Segment.ts"
import { SegmentReader } from "./SegmentReader.ts"

/** The durable part of one segment. */
export interface SegmentExtent {
  readonly segment: Segment
  readonly end: number
  readonly lastSequence: number
}

type Chunk = ReadonlyArray<StoredRecord>

const broken = (cause: unknown) => toBroken("read", cause)

const readSegment = (
  disk: Disk,
  extent: SegmentExtent,
  from: number,
): Effect.Effect<Stream.Stream<Chunk, Broken>, Broken, Scope.Scope> =>
  Effect.gen(function* () {
    const { segment, end, lastSequence } = extent
    const file = yield* Effect.acquireRelease(disk.open(segment.path, "read"), (opened) =>
      Effect.ignore(opened.close),
    )
    const reader = new SegmentReader(file, segment.positionBefore(from), end)
    let expected: number | undefined
    const next = Effect.gen(function* () {
      const batches = yield* reader.next
      const records: Array<StoredRecord> = []
      for (const batch of batches) {
        const follows = expected === undefined || batch.firstSequence === expected
        const found = batchRecords(batch, from)
        if (!follows || found === undefined) return yield* damaged(segment, batch.position)
        for (const record of found) records.push(record)
        expected = batch.firstSequence + batch.count
      }
      const ended = reader.position === end
      if (batches.length === 0 || (ended && expected !== lastSequence + 1)) {
        return yield* damaged(segment, reader.position)
      }
      return [[records], ended ? Option.none<number>() : Option.some(0)] as const
    })
    return Stream.paginate(0, () => Effect.mapError(next, broken))
  }).pipe(Effect.mapError(broken))

const damaged = (segment: Segment, position: number) =>
  broken(new Damaged(`The journal is damaged at byte ${position} of ${segment.path}`))

/** The records from `sequence` on that `extents`, which follow one another, hold. */
export const readExtents = (
  disk: Disk,
  extents: ReadonlyArray<SegmentExtent>,
  sequence: number,
): Stream.Stream<Chunk, Broken> => {
  const first = extents[0]?.segment.firstSequence
  if (first !== undefined && sequence < first && first > 1) {
    return Stream.fail(broken(new Error(`The journal begins at ${first}: ${sequence} is gone`)))
  }
  return Stream.fromIterable(extents.filter((extent) => extent.lastSequence >= sequence)).pipe(
    Stream.flatMap((extent) => Stream.unwrap(readSegment(disk, extent, sequence))),
    Stream.filter((records) => records.length > 0),
  )
}
