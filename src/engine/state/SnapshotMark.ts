/** The mark of a snapshot: its watermark and its time. */
import { Effect } from "effect"
import { compositeKey } from "../../storage/Keys.ts"
import { Broken, Damaged, type Storage } from "../../storage/Storage.ts"
import { decodeValue, jsonOf } from "../../storage/Values.ts"

/** The mark, stored under `snapshotKey` in the table `meta`. */
export interface SnapshotMark {
  readonly watermark: number
  /** Epoch milliseconds. */
  readonly at: number
}

export const snapshotKey = compositeKey("snapshot")

const noSnapshot: SnapshotMark = { watermark: 0, at: 0 }

/** The mark of a storage's snapshot. Fails if the journal ends before the watermark. */
export const readMark = Effect.fnUntraced(function* (storage: Storage["Service"]) {
  const place = { table: "meta", key: snapshotKey } as const
  const value = yield* storage.readEntry(place.table, place.key)
  if (value === undefined) return noSnapshot
  const mark: SnapshotMark = jsonOf(yield* decodeValue(value, place))
  if (storage.lastSequence < mark.watermark) {
    const words =
      `The snapshot goes up to record ${mark.watermark}, but the journal ends at ` +
      `${storage.lastSequence}: journal segments are missing. Put them back, or restore an archive.`
    return yield* new Broken({ operation: "recover", cause: new Damaged(words) })
  }
  return mark
})
