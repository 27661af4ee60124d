/** The code of each job. */
import { makeArchive } from "./ArchiveJob.ts"
import { exportLines } from "./ExportJob.ts"
import { fetchArchive, verifyInBucket } from "./FetchJob.ts"
import { gatherPartitions } from "./GatherJob.ts"
import { importLines } from "./ImportJob.ts"
import type { JobCode, JobName } from "./Jobs.ts"
import { listProjects } from "./ProjectsJob.ts"
import { restoreDraft } from "./RestoreJob.ts"
import { findReturnedKeys } from "./ReturnedKeys.ts"
import { scanDatabase } from "./ScanJob.ts"
import { shipArchives } from "./ShipJob.ts"
import { verifyArchive, verifyLive } from "./VerifyJobs.ts"

export const jobs: { readonly [Name in JobName]: JobCode<Name> } = {
  archive: makeArchive,
  ship: shipArchives,
  fetch: fetchArchive,
  verifyBucket: verifyInBucket,
  restore: restoreDraft,
  returnedKeys: findReturnedKeys,
  projects: listProjects,
  export: exportLines,
  import: importLines,
  gather: gatherPartitions,
  scan: scanDatabase,
  verifyLive,
  verifyArchive,
}
