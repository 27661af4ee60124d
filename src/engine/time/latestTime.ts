import { Effect, Stream } from "effect"
import type { Storage, StorageError } from "../../storage/Storage.ts"
import { decodeRecord } from "../records/Codec.ts"

/**
 * The newest time that the data has, epoch milliseconds: that of the last record, or `markedAt`, that of the snapshot (0
 * for none). `undefined`: the data has no time. A snapshot dated more than `jumpMsMax` after the last record is ignored:
 * its clock was wrong.
 */
export const readLatestTime = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  markedAt: number,
  jumpMsMax: number,
): Effect.fn.Return<number | undefined, StorageError> {
  const { lastSequence } = storage
  if ((yield* storage.firstSequence) > lastSequence) return markedAt > 0 ? markedAt : undefined
  const last = (yield* Stream.runCollect(storage.readRecords(lastSequence))).flat().at(-1)
  if (last === undefined) return undefined
  const { at } = decodeRecord(last.body)
  return markedAt - at > jumpMsMax ? at : Math.max(at, markedAt)
})
