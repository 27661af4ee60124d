/** Which code does which job. */
import type { Effect, Scope } from "effect"
import { makeArchive } from "./ArchiveJob.ts"
import { exportLines } from "./ExportJob.ts"
import { importLines } from "./ImportJob.ts"
import type { Input, JobName, JobProgress, ResultOf, Step } from "./Jobs.ts"
import { findProject } from "./ProjectJob.ts"
import { restoreDraft } from "./RestoreJob.ts"
import { scanDatabase } from "./ScanJob.ts"
import { verifyArchive, verifyLive } from "./VerifyJobs.ts"

/** What a job has of whoever has ordered it. */
export interface JobContext {
  /** Waits for the answer at a step. */
  readonly ask: (step: Step) => Effect.Effect<unknown>
  readonly progress: (progress: JobProgress) => void
}

export type JobCode<Name extends JobName> = (
  input: Input<Name>,
  context: JobContext,
) => Effect.Effect<ResultOf<Name>, unknown, Scope.Scope>

export const jobs: { readonly [Name in JobName]: JobCode<Name> } = {
  archive: makeArchive,
  restore: restoreDraft,
  project: findProject,
  export: exportLines,
  import: importLines,
  scan: scanDatabase,
  verifyLive,
  verifyArchive,
}
