/**
 * Ends segments of the journal that are old although they are not full, and prunes the journal
 * where history is kept for a time only.
 *
 * - A segment takes records for at most about `journalSegmentMs`, so that it is sealed, and erased
 *   from, in time. Without writes, the heartbeat of the snapshot (`Snapshotter`) begins the next
 *   one.
 * - Without `historyMs` nothing is pruned. With it, a segment is pruned when the first record of
 *   the next segment is older. Records that the snapshot lacks, or that a reader holds
 *   (`Feed.hold`), are kept longer.
 * - In a cluster, PostgreSQL is pruned by what the snapshot and the archives have
 *   (`ClusterStorage.ts`), not by `historyMs`.
 *
 * Cost: a read of one record for each segment that is pruned or ended, and one at each start.
 */
import { Effect } from "effect"
import { limits } from "../Limits.ts"
import { markTurn } from "../metrics/LongTurns.ts"
import type { Storage, StorageError } from "../storage/Storage.ts"
import { timeFrom } from "./time/Clock.ts"

interface JournalUpkeepOptions {
  readonly storage: Storage["Service"]
  readonly now: () => number
  /** How long history is kept, in milliseconds; `undefined`: for ever. */
  readonly historyMs: number | undefined
  /** The snapshot has every record up to this one. */
  readonly watermark: () => number
  /** The lowest sequence that a reader still needs of the journal. */
  readonly held: Effect.Effect<number, StorageError>
}

export class JournalUpkeep {
  readonly #options: JournalUpkeepOptions
  /** Times of the first records of segments, by sequence: of the second and of the newest one. */
  #times = new Map<number, number>()

  constructor(options: JournalUpkeepOptions) {
    this.#options = options
  }

  readonly keep: Effect.Effect<void, StorageError> = Effect.gen({ self: this }, function* () {
    markTurn("prune")
    const { historyMs, now, storage, watermark } = this.#options
    const segments = yield* storage.segments
    const times = new Map<number, number>()
    // A damaged segment is neither pruned nor ended.
    const time = (first: number) =>
      Effect.catchTag(timeFrom(storage, first), "Broken", () => Effect.undefined)
    const isOlder = Effect.fnUntraced(function* (this: JournalUpkeep, first: number, ms: number) {
      const at = this.#times.get(first) ?? (yield* time(first))
      if (at === undefined) return false
      times.set(first, at)
      return at <= now() - ms
    }).bind(this)
    let below = 0
    if (historyMs !== undefined) {
      for (const first of segments.slice(1)) {
        if (first > watermark() + 1 || !(yield* isOlder(first, historyMs))) break
        below = first
      }
      if (below > 0) below = Math.min(below, yield* this.#options.held)
    }
    const newest = segments.at(-1)
    const isOld = newest !== undefined && (yield* isOlder(newest, limits.journalSegmentMs))
    this.#times = times
    yield* storage.prune(below, isOld ? newest : 0, watermark())
  })
}
