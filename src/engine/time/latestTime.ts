import { Effect, Stream } from "effect"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { decodeRecord } from "../records/Codec.ts"
import type { SnapshotMark } from "../snapshot/SnapshotMark.ts"

/**
 * The newest time that the data has, epoch milliseconds: that of the last record or of the snapshot. `undefined`: there
 * is none. A snapshot that is dated more than `jumpMsMax` after the last record is not believed: its clock was wrong.
 */
export const readLatestTime = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  mark: SnapshotMark,
  jumpMsMax: number,
): Effect.fn.Return<number | undefined, Broken> {
  const { lastSequence } = storage
  if ((yield* storage.firstSequence) > lastSequence) return mark.at > 0 ? mark.at : undefined
  const last = (yield* Stream.runCollect(storage.readRecords(lastSequence))).flat().at(-1)
  if (last === undefined) return undefined
  const { at } = decodeRecord(last.body)
  return mark.at - at > jumpMsMax ? at : Math.max(at, mark.at)
})
