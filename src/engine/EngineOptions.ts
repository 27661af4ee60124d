/** Options of an engine. */
import type { Effect } from "effect"
import type { JournalRecord } from "../domain/record/Record.ts"
import type { Metrics } from "../metrics/Metrics.ts"
import type { Broken, StorageError } from "../storage/Storage.ts"
import type { Durability } from "./commit/GroupCommit.ts"
import type { RecoveryProgress, RecoveryReport } from "./recovery/Recovery.ts"
import type { StateOptions } from "./state/EngineState.ts"

export interface EngineOptions extends StateOptions {
  /** `fsync`: an answer means that the record is on disk. `relaxed`: it will be, soon. */
  readonly durability?: Durability
  readonly snapshotIntervalMs?: number
  readonly snapshotSliceEntriesMax?: number
  /** Without writes, a heartbeat record follows so long after a snapshot. */
  readonly heartbeatMs?: number
  readonly sweepIntervalMs?: number
  readonly clockCheckMs?: number
  /** The longest jump ahead of the machine's clock, also since the newest record, that is followed. */
  readonly clockJumpMsMax?: number
  /**
   * The lowest record of the journal that is needed, by what the storage has, where nothing holds the feed: another engine
   * writes, or the readers have yet to begin.
   */
  readonly needed?: Effect.Effect<number, StorageError>
  /** The storage is broken: the process must end at once. */
  readonly onBroken: (cause: Broken) => void
  readonly onRecovering?: (progress: RecoveryProgress) => void
  readonly onRecovered?: (report: RecoveryReport) => void
  /** Called with each record when it is durable, in order. */
  readonly onCommitted?: (record: JournalRecord) => void
  readonly metrics?: Metrics
}
