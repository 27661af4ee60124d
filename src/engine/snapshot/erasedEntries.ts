/** The part of a snapshot that deletes the data of erased users. */
import { Effect, Stream } from "effect"
import { duplicateKey } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { nextTurnOf } from "../../storage/yieldToEventLoop.ts"
import { hashText, type IdIndex, idSeed } from "../dedupe/IdIndex.ts"
import { eraseKept } from "../dedupe/KeptAnswers.ts"
import type { Erasure } from "../erasure/Erasures.ts"
import { decodePage } from "../records/Codec.ts"
import { pagesIn, partitionOf } from "../records/SnapshotValues.ts"

type Store = Storage["Service"]

/**
 * The entries that delete an erased user from the snapshot, in groups that must be written whole:
 * each history page with all entries that only its records lead to, and last the id. The state leaves
 * with its bucket. Callers'
 * ids are removed from the index, whose changed buckets (`takeRemoved`) belong to the same
 * transaction. Data after the erasure stays; `isThere` says whether there is any.
 */
export const erasedEntries = (
  storage: Store,
  ids: IdIndex,
  erasure: Erasure,
  isThere: () => boolean,
): Stream.Stream<ReadonlyArray<Entry>, Broken> => {
  const { environment, sequence, userId } = erasure
  const user = compositeKey(environment, userId)
  const seed = idSeed(environment, userId)
  const partitions = Array.from({ length: partitionOf(sequence) + 1 }, (_, partition) => partition)
  let bytes = 0
  return Stream.fromIterable(partitions).pipe(
    Stream.mapEffect((partition) => {
      const range = pagesIn(environment, partition, userId, 0, sequence + 1)
      const isDue = partition % limits.historyTurnPartitionsMax === 0
      return isDue ? Effect.as(nextTurnOf("snapshot"), range) : Effect.succeed(range)
    }),
    Stream.flatMap((range) => storage.readEntries(range)),
    Stream.flatMap(Stream.fromIterable),
    Stream.mapEffect(
      Effect.fnUntraced(function* ([key, value]) {
        const body = yield* decodeValue(value, { table: "history", key })
        bytes += body.length
        if (bytes > limits.historyTurnBytesMax) {
          yield* nextTurnOf("snapshot")
          bytes = 0
        }
        const group: Array<Entry> = []
        const page = decodePage(body)
        for (const record of page) {
          const name = duplicateKey(record.cause)
          if (name !== undefined) {
            yield* ids.remove(environment, hashText(name, seed), record.sequence)
          }
          group.push(...(yield* eraseKept(storage, environment, record)))
        }
        group.push({ table: "history", key, value: null })
        return group
      }),
    ),
    Stream.concat(
      Stream.suspend(() =>
        isThere()
          ? Stream.empty
          : Stream.make([{ table: "userIds" as const, key: user, value: null }]),
      ),
    ),
  )
}
