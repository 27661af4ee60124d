/** The running server as its owners see it; made by the process that runs it. */
import type { Effect } from "effect"
import type { ClusterStatus } from "../../cluster/status.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { RecentState } from "../../metrics/RecentEvents.ts"

export interface ServerState {
  readonly read: Effect.Effect<StateNow>
  /** Archives, newest first; fails where their folder cannot be read. */
  readonly archives: Effect.Effect<ReadonlyArray<ArchiveRow>, LaurelError>
  /** Begins to make an archive in the background. `conflict`: one is being made. */
  readonly createArchive: Effect.Effect<void, LaurelError>
  /** The text of the runbook (Markdown), where the installation has it. */
  readonly runbook: Effect.Effect<string | undefined>
}

/** Sizes are bytes, `undefined` where the file system does not tell; times epoch milliseconds. */
export interface StateNow {
  readonly version: string
  readonly startedAt: number
  readonly recent: RecentState
  readonly usersInMemory: number
  readonly usersOnDisk: number
  readonly memoryBytes: number
  readonly isOverloaded: boolean
  readonly isDiskFull: boolean
  /** In a cluster: PostgreSQL does not answer, or the disk is full. */
  readonly isDatabaseAway: boolean
  /** `undefined` before the first one since the start. */
  readonly snapshotAgeMs: number | undefined
  readonly recordsAfterSnapshot: number
  /** Of the newest good archive; `undefined` without one. */
  readonly archiveAgeMs: number | undefined
  /** Of the newest one in the bucket; `undefined` without a bucket, or before the first. */
  readonly shippedArchiveAgeMs: number | undefined
  readonly isMakingArchive: boolean
  /** Why the last archive that was asked for here failed; `undefined` once one was made. */
  readonly archiveFailure: string | undefined
  readonly journalBytes: number | undefined
  readonly databaseBytes: number | undefined
  /** Free space for data, and for archives. */
  readonly dataFreeBytes: number | undefined
  readonly archivesFreeBytes: number | undefined
  /** As PostgreSQL has it, or why that cannot be read; `undefined` without a cluster. */
  readonly cluster: ClusterStatus | { readonly failure: string } | undefined
  /** Where a cluster has several partitions: the one whose data and archives these are, and the server that owns it. */
  readonly place: { readonly partition: number; readonly address: string } | undefined
  /** Bounds and settings in force: name and value. */
  readonly limits: ReadonlyArray<readonly [name: string, value: string]>
}

export interface ArchiveRow {
  readonly id: string
  readonly at: number
  readonly sequence: number
  readonly isGood: boolean
  /** The rest is unknown where the manifest cannot be read. */
  readonly reason: "request" | "schedule" | undefined
  readonly users: number | undefined
  readonly bytes: number | undefined
}
