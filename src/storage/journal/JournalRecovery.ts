/**
 * Prepares a journal for writing: scans the plain segments and the ends of the sealed ones
 * (`JournalScan`), truncates an interrupted write with a warning, and keeps the bytes of that write
 * in `cut-<time>-<sequence>.bytes`. Damage fails the start and changes nothing.
 *
 * A crash while a segment was sealed can leave a draft, which is removed, or the plain segment
 * beside the sealed one. Then the sealed one is read: if it is whole, the plain one is removed, and
 * otherwise the sealed one.
 */
import path from "node:path"
import { Clock, Effect } from "effect"
import { limits } from "../../Limits.ts"
import { type Disk, type DiskError, withFile } from "../disk/Disk.ts"
import { Broken, Damaged, OtherFormat } from "../Storage.ts"
import {
  copyBytes,
  faultText,
  type JournalEnd,
  type JournalFault,
  scanJournal,
  segmentsIn,
} from "./JournalScan.ts"
import { openSealed, type SealedSegment, verifySealed } from "./SealedFile.ts"
import { draftSuffix, sealedName, sequenceOfSealed } from "./SealedFormat.ts"
import { Segment, segmentHeaderBytes, segmentName } from "./SegmentFormat.ts"
import type { AnySegment } from "./SegmentList.ts"

/** A truncated tail; the file `path` has its bytes. */
interface Cut {
  readonly path: string
  readonly afterSequence: number
  readonly bytes: number
  /** The last record that was certainly flushed and still exists; 0 if unknown. */
  readonly flushedSequence: number
}

export interface RecoveredJournal {
  readonly segments: ReadonlyArray<AnySegment>
  readonly lastSequence: number
  /** The checksum of the last batch; 0 for none. */
  readonly checksum: number
  /** The journal ends exactly where a clean shutdown left it, and the clean mark still exists. */
  readonly marked: boolean
  readonly cut: Cut | undefined
}

/** The name of the file in which the next segment is prepared. */
export const preparedName = "next.segment"

/** A fault and its remedy, for the operator. */
const wordsOf = (fault: JournalFault, last: number): string =>
  fault.kind === "other"
    ? `${fault.path} ${fault.words}`
    : `${faultText(fault, `, after record ${last}`)}. ` +
      "Nothing was changed. Restore the data directory from an archive; or, to give up every record after " +
      `${last}, truncate that file to ${fault.position} bytes and move all later segments and the ` +
      "files clean and flushed out of the folder."

const recover = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<RecoveredJournal, Broken | DiskError> {
  yield* settleSeals(disk, folder)
  const segments: Array<AnySegment> = []
  let plain: Segment | undefined
  const options = { disk, folder, onSealed: (sealed: SealedSegment) => segments.push(sealed) }
  const end = yield* scanJournal(options, (batches) =>
    Effect.sync(() => {
      for (const { firstSequence, position, size } of batches) {
        if (position === segmentHeaderBytes) {
          plain = new Segment(folder, firstSequence)
          segments.push(plain)
        }
        plain!.add(firstSequence, size)
      }
    }),
  )
  const { checksum, lastSequence, wasClosed } = end
  let { fault } = end
  const firsts = yield* segmentsIn(disk, folder)
  const newest = firsts.at(-1)
  const empty =
    newest !== undefined && newest !== segments.at(-1)?.firstSequence
      ? new Segment(folder, newest)
      : undefined
  const isEnd = fault === undefined || fault.kind === "interrupted"
  // The first segment of a journal may be empty only if the journal begins with record 1.
  if (isEnd && empty !== undefined && firsts.length === 1 && newest !== 1) {
    const words = "an acknowledged batch is missing"
    fault = { kind: "damaged", path: empty.path, position: fault?.position ?? 0, words }
  }
  if (fault !== undefined && fault.kind !== "interrupted") {
    const words = wordsOf(fault, lastSequence)
    const cause = fault.kind === "other" ? new OtherFormat(words) : new Damaged(words)
    return yield* new Broken({ operation: "open", cause })
  }
  const cut = fault && (yield* keepCut(disk, folder, fault, end))
  if (empty !== undefined) yield* disk.remove(empty.path)
  else if (fault !== undefined) {
    const { path: where, position } = fault
    yield* withFile(disk, where, "write", (file) =>
      Effect.andThen(file.truncate(position), file.sync),
    )
  }
  const names = yield* disk.list(folder)
  if (names.includes(preparedName)) yield* disk.remove(path.join(folder, preparedName))
  // The last run may not have flushed the end of the journal; from here on it counts as durable.
  const last = segments.at(-1)
  if (last !== undefined) yield* withFile(disk, last.path, "write", (file) => file.sync)
  yield* disk.syncFolder(folder)
  return { segments, lastSequence, checksum, marked: wasClosed, cut }
})

/** Completes or undoes the seals that a crash interrupted. */
const settleSeals = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<void, DiskError> {
  const names = yield* disk.list(folder)
  const unneeded = names.filter((name) => name.endsWith(draftSuffix))
  for (const first of names.map(sequenceOfSealed)) {
    if (first === undefined || !names.includes(segmentName(first))) continue
    const verified = Effect.flatMap(openSealed(disk, folder, first), (sealed) =>
      verifySealed(disk, sealed),
    )
    const isWhole = yield* Effect.matchEffect(verified, {
      onSuccess: () => Effect.succeed(true),
      onFailure: (error) =>
        error._tag === "DiskError" ? Effect.fail(error) : Effect.succeed(false),
    })
    unneeded.push(isWhole ? segmentName(first) : sealedName(first))
  }
  for (const name of unneeded) yield* disk.remove(path.join(folder, name))
  if (unneeded.length > 0) yield* disk.syncFolder(folder)
})

/**
 * Copies the bytes of an interrupted write to a separate file; `undefined` if there are no bytes.
 */
const keepCut = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  { end: to = 0, path: where, position: from }: JournalFault,
  { flushed, lastSequence }: JournalEnd,
): Effect.fn.Return<Cut | undefined, DiskError> {
  if (to <= from) return undefined
  const time = new Date(yield* Clock.currentTimeMillis).toISOString().replaceAll(":", "-")
  const name = `cut-${time}-${lastSequence + 1}.bytes`
  const cut = {
    path: path.join(folder, name),
    afterSequence: lastSequence,
    bytes: to - from,
    flushedSequence: flushed,
  }
  yield* withFile(disk, where, "read", (source) =>
    withFile(disk, cut.path, "create", (copy) => copyBytes(source, copy, from, to)),
  )
  yield* disk.syncFolder(folder)
  yield* Effect.logWarning(
    "The journal ended in an incomplete write, which was cut off. Usually a crash cut the write short before its acknowledgement. All records up to flushedSequence were acknowledged and are there; a record after afterSequence may have been acknowledged and damaged later",
  ).pipe(Effect.annotateLogs({ ...cut }))
  return cut
})

const cutPattern = /^cut-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)-\d+\.bytes$/

/**
 * Removes files of truncated bytes after `leftoverKeptMs`: they may name users who were erased
 * since.
 */
export const removeOldCuts = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<void, DiskError> {
  const before = (yield* Clock.currentTimeMillis) - limits.leftoverKeptMs
  for (const name of yield* disk.list(folder)) {
    const [, hour, minute, second] = cutPattern.exec(name) ?? []
    if (hour === undefined || Date.parse(`${hour}:${minute}:${second}`) >= before) continue
    yield* disk.remove(path.join(folder, name))
  }
})

/** Recovers the journal in `folder`; an empty folder is an empty journal. */
export const recoverJournal = (
  disk: Disk,
  folder: string,
): Effect.Effect<RecoveredJournal, Broken> =>
  Effect.catchTag(recover(disk, folder), "DiskError", (cause) =>
    Effect.fail(new Broken({ operation: "open", cause })),
  )
