import { Effect, Stream } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"

/** One life of a process. It ends at a call of its storage; later calls are never answered. */
export interface Life {
  alive: boolean
  /** How many calls of the storage are left in this life. */
  callsLeft: number
  /** Whether the last call has its effect. */
  lastKept: boolean
  /** Called when the life ends, before anything else happens. */
  readonly onEnd: () => void
}

/**
 * The storage of a process that is killed at any of its calls, before or after the call's effect.
 */
export const stoppingWorld = (storage: Storage["Service"], life: Life): Storage["Service"] => {
  const guard = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (!life.alive) return Effect.never
      if (life.callsLeft-- > 0) {
        // Commands that began before the end may be on disk, but get no answer.
        return Effect.flatMap(effect, (value) =>
          life.alive ? Effect.succeed(value) : Effect.never,
        )
      }
      life.alive = false
      life.onEnd()
      return life.lastKept ? Effect.andThen(effect, Effect.never) : Effect.never
    })
  const guardStream = <A, E>(stream: Stream.Stream<A, E>): Stream.Stream<A, E> =>
    Stream.unwrap(guard(Effect.succeed(stream)))
  return {
    ...storage,
    append: (batch) => guard(storage.append(batch)),
    writeEntries: (entries) => guard(storage.writeEntries(entries)),
    readEntry: (table, key) => guard(storage.readEntry(table, key)),
    readEntries: (range) => guardStream(storage.readEntries(range)),
    readRecords: (sequence) => guardStream(storage.readRecords(sequence)),
    readRecord: (sequence) => guard(storage.readRecord(sequence)),
    eraseRecords: (sequences) => guard(storage.eraseRecords(sequences)),
    prune: (...bounds) => guard(storage.prune(...bounds)),
  }
}
