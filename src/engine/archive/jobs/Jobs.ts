/**
 * Jobs that run in child processes (`worker.ts`): they are slow, they must not hold a server's
 * event loop, and damage in LMDB can end their process. Inputs, answers and results are plain JSON.
 */
import { Data, Effect, type Scope } from "effect"
import type { Project } from "../../../domain/project/Directory.ts"
import type { Manifest } from "../../../storage/archive/ArchiveManifest.ts"
import type { Retention } from "../../../storage/archive/ArchiveRetention.ts"
import type { JournalPosition } from "../../../storage/journal/SegmentFormat.ts"
import type { Findings } from "./Findings.ts"

/** The jobs by name, with input and result. */
export interface Jobs {
  /** Makes an archive of the data directory and publishes it. */
  readonly archive: {
    readonly input: {
      readonly directory: string
      readonly archives: string
      /** Epoch milliseconds. */
      readonly at: number
      readonly reason: Manifest["reason"]
      /** Copies slowly, for the sake of the running server. */
      readonly throttled: boolean
    }
    readonly result: Manifest
  }
  /** Sends the archives of a folder that a bucket lacks, and applies the retention there. */
  readonly ship: {
    readonly input: {
      /** The folder of archives. */
      readonly archives: string
      readonly retention: Retention
      /** Also deletes what no archive of the bucket needs. */
      readonly collect: boolean
    }
    readonly result: Shipped
  }
  /** Brings an archive from a bucket into the folder of archives. */
  readonly fetch: {
    readonly input: { readonly archives: string; readonly id: string }
    readonly result: Manifest
  }
  /** Checks an archive in a bucket: all of its files against the manifest. */
  readonly verifyBucket: {
    readonly input: { readonly id: string }
    readonly result: Findings
  }
  /** Builds the replacement of a data directory: an archive and the records after it. */
  readonly restore: {
    readonly input: {
      readonly directory: string
      /** The archive's folder; `null`: from the first record of the directory's journal. */
      readonly archive: string | null
      /** The last record; not before the archive's. */
      readonly until: number
      /** Only this project goes back; `null`: everything does. */
      readonly project: ProjectGoesBack | null
    }
    readonly result: Findings
  }
  /**
   * Finds the keys that a restore has brought back into force; both folders are data directories.
   */
  readonly returnedKeys: {
    readonly input: {
      readonly restored: string
      readonly replaced: string
      /** Epoch milliseconds. */
      readonly at: number
    }
    readonly result: ReturnedKeys
  }
  /** Lists the projects of a data directory that is whole. */
  readonly projects: {
    readonly input: { readonly directory: string }
    readonly result: {
      readonly projects: ReadonlyArray<{ readonly id: string; readonly name: string }>
    }
  }
  /** Writes an export of a data directory or an archive to a file. */
  readonly export: {
    readonly input: {
      /** The data directory or the archive. */
      readonly folder: string
      readonly file: string
      /** The program's version. */
      readonly laurel: string
      /** Epoch milliseconds. */
      readonly at: number
      /** One environment; `null`: everything. */
      readonly scope: ExportScope | null
    }
    readonly result: {
      readonly entries: number
      readonly records: number
      readonly sequence: number
    }
  }
  /** Writes facts, users and balances as Parquet files. */
  readonly parquet: {
    readonly input: {
      /** The data directory or the archive. */
      readonly folder: string
      /** The folder to write; `null`: the bucket that the host names. */
      readonly to: string | null
      /** The program's version. */
      readonly laurel: string
      /** Epoch milliseconds. */
      readonly at: number
      /** One environment; `null`: everything. */
      readonly scope: ExportScope | null
    }
    readonly result: {
      readonly sequence: number
      readonly facts: number
      readonly users: number
      readonly balances: number
      /** The number of files. */
      readonly parts: number
    }
  }
  /** Builds a data directory from an export, in a draft. */
  readonly import: {
    readonly input: { readonly directory: string; readonly file: string }
    readonly result: Findings & { readonly sequence: number }
  }
  /** Builds a data directory of all projects of a cluster, in a draft. */
  readonly gather: {
    readonly input: {
      readonly directory: string
      /**
       * The data directories of the partitions, that of the first one first; all were closed in
       * order.
       */
      readonly folders: ReadonlyArray<string>
      /** Epoch milliseconds. */
      readonly at: number
      /** Drop messages to webhooks that were not sent yet. */
      readonly dropPending: boolean
    }
    readonly result: Findings & {
      readonly sequence: number
      /** Environments of no project of the cluster, which were left out. */
      readonly left: number
      /** Messages to webhooks that were dropped. */
      readonly dropped: number
    }
  }
  /** Checks a data directory. */
  readonly verifyLive: {
    readonly input: { readonly directory: string }
    readonly result: LiveFindings
  }
  /** Scans the database of a data directory; returns the damage, as a sentence. */
  readonly scan: {
    readonly input: { readonly directory: string }
    readonly result: string | null
  }
  /** Checks an archive: its files against the manifest, and their contents. */
  readonly verifyArchive: {
    readonly input: { readonly folder: string }
    readonly result: Findings
  }
}

/** A project to restore, and the last of its records to keep. */
export interface ProjectGoesBack {
  readonly id: string
  readonly name: string
  readonly after: number
}

export interface ExportScope {
  /** The project's name. */
  readonly project: string
  readonly environment: string
  /**
   * The project, where another partition than that of `folder` has it in its directory; absent: it
   * is looked for there.
   */
  readonly known?: Project
}

/** What a bucket got, and what it has now. */
export interface Shipped {
  /** The ids of the archives that were sent. */
  readonly shipped: ReadonlyArray<string>
  /** All archives of the bucket, oldest first; times are epoch milliseconds. */
  readonly listed: ReadonlyArray<{ readonly id: string; readonly at: number }>
  readonly sentBytes: number
  readonly sentPieces: number
  /** Pieces that the bucket had already. */
  readonly usedPieces: number
  /** The ids of the archives that the retention removed. */
  readonly removed: ReadonlyArray<string>
  /**
   * The pieces that were deleted; `null`: none were looked for, or an archive is `unreadable`,
   * named by its key.
   */
  readonly collected: number | null
  readonly unreadable: string | null
}

/** Findings in a data directory, and its last record. */
export interface LiveFindings extends Findings {
  readonly sequence: number
  readonly watermark: number
  /** The interrupted write after the journal's end, which a start cuts off. */
  readonly interrupted: string | null
}

/** A key that is in force again, without anything from which its text could be told. */
export interface ReturnedKey {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly project: string
  readonly environment: string
  /** What had ended it; `unlisted`: so long ago that it was no longer listed. */
  readonly was: "archived" | "expired" | "revoked" | "unlisted"
}

export interface ReturnedKeys {
  /** The first `restoreListedMax`, and the number of all. */
  readonly keys: ReadonlyArray<ReturnedKey>
  readonly count: number
}

export type JobName = keyof Jobs
export type Input<Name extends JobName> = Jobs[Name]["input"]
export type ResultOf<Name extends JobName> = Jobs[Name]["result"]

/**
 * The steps at which a job waits for an answer. The answer at `position` is the end of the durable
 * journal (`undefined`: the end of its files), at `bucket` the bucket and its credentials
 * (`BucketPlace`), which other users of the machine would see among a process's arguments; the
 * others have no content.
 */
export type Step =
  | "bucket"
  | "sent"
  | "listed"
  | "shipped"
  | "pruned"
  | "begun"
  | "based"
  | "linked"
  | "copied"
  | "position"
  | "journal"
  | "verified"
  | "described"
  | "published"

export type PositionAnswer = JournalPosition | undefined

/** Progress of a job: `done` of `total`, in its own units. */
export interface JobProgress {
  readonly activity:
    | "Copying"
    | "Reading"
    | "Checking"
    | "Hashing"
    | "Exporting"
    | "Importing"
    | "Gathering"
    | "Replaying"
    | "Sending"
    | "Fetching"
  readonly done: number
  readonly total: number
}

/** How a job reaches the process that ordered it. */
export interface JobContext {
  /** Waits for the answer at a step. */
  readonly ask: (step: Step) => Effect.Effect<unknown>
  readonly progress: (progress: JobProgress) => void
}

export type JobCode<Name extends JobName> = (
  input: Input<Name>,
  context: JobContext,
) => Effect.Effect<ResultOf<Name>, unknown, Scope.Scope>

/**
 * `died`: the process ended by a signal, which damage in LMDB's pages causes. `refused`: the
 * request is not possible. Of a bucket: `unavailable`, which may pass, and `misconfigured`.
 */
export type JobFailureKind =
  | "damaged"
  | "noSpace"
  | "failed"
  | "died"
  | "refused"
  | "unavailable"
  | "misconfigured"

export class JobFailed extends Data.TaggedError("JobFailed")<{
  readonly kind: JobFailureKind
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

export const damaged = (detail: string) => new JobFailed({ kind: "damaged", detail })

/** Asks for the last durable record; `undefined`: the last of the files. */
export const durableEnd = ({ ask }: JobContext) =>
  Effect.map(ask("position"), (answer) => (answer as PositionAnswer)?.lastSequence)

/** Messages from a job's process, a line of JSON each. */
export type FromWorker =
  | { readonly progress: JobProgress }
  /** The answer repeats `id`, so that an answer for a dead process is ignored. */
  | { readonly ask: Step; readonly id: string }
  | { readonly result: unknown }
  | { readonly failed: { readonly kind: JobFailureKind; readonly detail: string } }
  /** The exit code, from the shell. */
  | { readonly ended: number }
