/**
 * Folds records that another server appends into the state of an engine that does not serve, as recovery does with those
 * of its own journal. Each record is applied in one turn, so that a snapshot that is written beside it has a record
 * whole or not.
 *
 * Memory is bounded as it is for a serving engine: users beyond `residentUsersMax` and records beyond
 * `snapshotPendingRecordsMax` wait until a snapshot has those before them. The bounds are those of all engines of the process:
 * where a snapshot of this engine makes no room, folding waits for those of the others, which `admit` has asked for.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import type { Broken, StorageError, StoredRecord } from "../../storage/Storage.ts"
import { nextTurnOf } from "../../storage/yieldToEventLoop.ts"
import type { CommitPipeline } from "../commit/CommitPipeline.ts"
import { decodeRecord } from "../records/Codec.ts"
import type { Snapshotter } from "../snapshot/Snapshotter.ts"
import type { EngineState } from "../state/EngineState.ts"
import type { DurableRecord } from "../state/followRecords.ts"
import type { EngineTime } from "../time/EngineTime.ts"
import { replay, replayPipeline } from "./Recovery.ts"

export class Folding {
  readonly #state: EngineState
  readonly #snapshotter: Snapshotter
  readonly #time: EngineTime
  readonly #pipeline: CommitPipeline<DurableRecord>

  constructor(state: EngineState, snapshotter: Snapshotter, time: EngineTime) {
    this.#state = state
    this.#snapshotter = snapshotter
    this.#time = time
    this.#pipeline = replayPipeline(state)
  }

  readonly fold = Effect.fnUntraced(function* (
    this: Folding,
    records: ReadonlyArray<StoredRecord>,
  ): Effect.fn.Return<void, StorageError> {
    markTurn("follow")
    let endsAt = performance.now() + limits.foldTurnMs
    for (const { body } of records) {
      const record = decodeRecord(body)
      while (!this.#hasRoom(record)) yield* this.#makeRoom
      yield* replay(this.#state, record, body, this.#pipeline)
      this.#time.reached(record.at)
      if (performance.now() < endsAt) continue
      yield* nextTurnOf("follow")
      endsAt = performance.now() + limits.foldTurnMs
    }
  }).bind(this)

  #hasRoom({ subject }: JournalRecord): boolean {
    const { actorCache, changed, environments } = this.#state
    if (changed.pendingOfAll >= limits.snapshotPendingRecordsMax) return false
    if (subject.actor !== "user") return true
    const isWarm = environments.userOf(subject.environment, subject.userId) !== undefined
    return isWarm || actorCache.admit() === undefined
  }

  /** A full disk is waited for: the journal elsewhere keeps the records. */
  get #makeRoom(): Effect.Effect<void, Broken> {
    const { actorCache } = this.#state
    const { watermarks } = actorCache
    return this.#snapshotter.take.pipe(
      Effect.catchTag("NoSpace", () => Effect.sleep(limits.noSpaceRetryMs)),
      Effect.andThen(
        Effect.suspend(() =>
          actorCache.watermarks === watermarks
            ? Effect.sleep(limits.foldRoomMs)
            : nextTurnOf("follow"),
        ),
      ),
    )
  }
}
