/** The code of each job. */

import path from "node:path"
import { Effect } from "effect"
import { findDamage } from "../../storage/lmdb/DatabaseCheck.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { fetchArchive, verifyInBucket } from "./bucket/FetchJob.ts"
import { shipArchives } from "./bucket/ShipJob.ts"
import { SavedState } from "./check/SavedState.ts"
import { verifyArchive, verifyLive } from "./check/Verification.ts"
import { exportLines } from "./exports/ExportJob.ts"
import { importLines } from "./exports/ImportJob.ts"
import { exportParquet } from "./exports/ParquetJob.ts"
import { type JobCode, JobFailed, type JobName } from "./jobs/Jobs.ts"
import { makeArchive } from "./make/ArchiveJob.ts"
import { gatherPartitions } from "./restore/GatherJob.ts"
import { restoreDraft } from "./restore/RestoreJob.ts"
import { findReturnedKeys } from "./restore/ReturnedKeys.ts"

/* Lists the projects of a data directory. Fails where the database is damaged. */

const listProjects: JobCode<"projects"> = Effect.fnUntraced(function* ({ directory }) {
  const faults: Array<string> = []
  const saved = yield* Effect.catchTag(
    SavedState.open({ folder: directory, fault: (words) => faults.push(words) }),
    "JobFailed",
    ({ detail }) => damaged(detail),
  )
  const { projects } = saved.readDirectory()
  if (faults[0] !== undefined) return yield* damaged(faults[0])
  return { projects: [...projects.values()].map(({ id, name }) => ({ id, name })) }
})

const damaged = (words: string) =>
  new JobFailed({ kind: "damaged", detail: `${words}. Restore first. ${rebuildHint}` })

/* Scans the database of a data directory, also beside the server that writes it. */

/** Scans twice before it reports damage, since the report ends a server. */
const scanDatabase: JobCode<"scan"> = Effect.fnUntraced(function* ({ directory }, { progress }) {
  const find = findDamage(path.join(directory, "live"), (done, total) =>
    progress({ activity: "Checking", done, total }),
  )
  if ((yield* find) === undefined) return null
  return (yield* find) ?? null
})

export const jobs: { readonly [Name in JobName]: JobCode<Name> } = {
  archive: makeArchive,
  ship: shipArchives,
  fetch: fetchArchive,
  verifyBucket: verifyInBucket,
  restore: restoreDraft,
  returnedKeys: findReturnedKeys,
  projects: listProjects,
  export: exportLines,
  parquet: exportParquet,
  import: importLines,
  gather: gatherPartitions,
  scan: scanDatabase,
  verifyLive,
  verifyArchive,
}
