/**
 * The mark of a snapshot: its watermark, and the sequences that decide how much of the journal is
 * kept.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import { Broken, Damaged, type Storage, type StorageError } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"

/** The mark, stored under `snapshotKey` in the table `meta`. */
export interface SnapshotMark {
  readonly watermark: number
  /** Epoch milliseconds. */
  readonly at: number
  /** The ends of the journal at earlier times, oldest first. They decide its retention. */
  readonly journal: ReadonlyArray<JournalMark>
}

interface JournalMark {
  readonly sequence: number
  readonly at: number
  /** Bytes appended before it, since the oldest mark. */
  readonly bytes: number
}

export const snapshotKey = compositeKey("snapshot")

const journalMarkEveryMs = 3_600_000

/**
 * A snapshot's watermark, its time in epoch milliseconds, and the bytes appended since the oldest
 * journal mark.
 */
interface SnapshotPlace {
  readonly watermark: number
  readonly at: number
  readonly bytes: number
}

/**
 * The mark that follows `mark`. A journal mark is dropped when the next one is older than
 * `journalRetentionMs`, or has `journalRetentionBytesMax` after it; the journal before the oldest
 * mark is pruned. Records from `held` on, which a reader still needs, stay longer, up to
 * `journalHeldBytesMax`.
 */
export const nextMark = (
  mark: SnapshotMark,
  { at, bytes, watermark }: SnapshotPlace,
  held: Effect.Effect<number, StorageError>,
): Effect.Effect<SnapshotMark, StorageError> => {
  const here = { sequence: watermark, at, bytes }
  const marks = mark.journal.length > 0 ? mark.journal : [{ sequence: 0, at, bytes: 0 }]
  const journal = at - marks.at(-1)!.at >= journalMarkEveryMs ? [...marks, here] : marks
  const bytesSince = (old: JournalMark) => bytes - old.bytes
  const tooOld = (old: JournalMark | undefined): old is JournalMark =>
    old !== undefined &&
    (at - old.at >= limits.journalRetentionMs || bytesSince(old) >= limits.journalRetentionBytesMax)
  if (!tooOld(journal[1])) return Effect.succeed({ watermark, at, journal })
  return Effect.map(held, (sequence) => {
    let oldest = 0
    for (
      let old = journal[1];
      tooOld(old) && (old.sequence <= sequence || bytesSince(old) >= limits.journalHeldBytesMax);
      old = journal[oldest + 1]
    ) {
      oldest++
    }
    return { watermark, at, journal: journal.slice(oldest) }
  })
}

const noSnapshot: SnapshotMark = { watermark: 0, at: 0, journal: [] }

/** The mark of a storage's snapshot. Fails if the journal ends before the watermark. */
export const readMark = Effect.fnUntraced(function* (storage: Storage["Service"]) {
  const place = { table: "meta", key: snapshotKey } as const
  const value = yield* storage.readEntry(place.table, place.key)
  if (value === undefined) return noSnapshot
  const mark: SnapshotMark = JSON.parse(
    Buffer.from(yield* decodeValue(value, place)).toString("utf8"),
  )
  if (storage.lastSequence < mark.watermark) {
    const words =
      `The snapshot goes up to record ${mark.watermark}, but the journal ends at ` +
      `${storage.lastSequence}: journal segments are missing. Put them back, or restore an archive.`
    return yield* new Broken({ operation: "recover", cause: new Damaged(words) })
  }
  return mark
})
