/**
 * The state of the running server for the page Operations. The process that runs the server
 * provides it.
 */
import type { Effect } from "effect"
import type { ClusterStatus } from "../../cluster/status.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { RecentState } from "../../metrics/RecentEvents.ts"

export interface ServerState {
  readonly read: Effect.Effect<StateNow>
  /** What is wrong with archives, in a sentence; `undefined`: nothing. Costs nothing. */
  readonly archiveTrouble: () => string | undefined
  /** Archives, newest first. Fails if their folder cannot be read. */
  readonly archives: Effect.Effect<ReadonlyArray<ArchiveRow>, LaurelError>
  /** Starts an archive in the background. Fails with `conflict` while another is under way. */
  readonly createArchive: Effect.Effect<void, LaurelError>
  /** The text of the runbook (Markdown), if the installation has it. */
  readonly runbook: Effect.Effect<string | undefined>
}

/**
 * Sizes are in bytes, `undefined` if the file system does not tell. Times are epoch milliseconds.
 */
export interface StateNow {
  readonly version: string
  readonly startedAt: number
  readonly recent: RecentState
  readonly users: number
  /** The memory of the states of all users. */
  readonly stateBytes: number
  readonly memoryBytes: number
  readonly isOverloaded: boolean
  readonly isDiskFull: boolean
  /** In a cluster: PostgreSQL does not answer, or the disk is full. */
  readonly isDatabaseAway: boolean
  /** `undefined` before the first one since the start. */
  readonly snapshotAgeMs: number | undefined
  readonly recordsAfterSnapshot: number
  /** The age of the newest good archive; `undefined` without one. */
  readonly archiveAgeMs: number | undefined
  /**
   * The age of the newest archive in the bucket; `undefined` without a bucket or before the first
   * archive.
   */
  readonly shippedArchiveAgeMs: number | undefined
  readonly isMakingArchive: boolean
  /** Why the last archive that was requested here failed; `undefined` after a success. */
  readonly archiveFailure: string | undefined
  readonly journalBytes: number | undefined
  readonly databaseBytes: number | undefined
  /** Free space for data, and for archives. */
  readonly dataFreeBytes: number | undefined
  readonly archivesFreeBytes: number | undefined
  /**
   * The cluster as PostgreSQL stores it, or why it cannot be read; `undefined` without a cluster.
   */
  readonly cluster: ClusterStatus | { readonly failure: string } | undefined
  /**
   * In a cluster with several partitions: the partition of this data and these archives, and the
   * server that owns it.
   */
  readonly place: { readonly partition: number; readonly address: string } | undefined
  /** Bounds and settings in force: name and value. */
  readonly limits: ReadonlyArray<readonly [name: string, value: string]>
}

export interface ArchiveRow {
  readonly id: string
  readonly at: number
  readonly sequence: number
  readonly isGood: boolean
  /** Other members are unknown if the manifest cannot be read. */
  readonly reason: "request" | "schedule" | undefined
  readonly users: number | undefined
  readonly bytes: number | undefined
}
