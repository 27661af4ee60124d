/** Copies of a data directory: restored to a moment, or imported from an export. */
import { cp } from "node:fs/promises"
import path from "node:path"
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { exportLines } from "../../../src/engine/archive/exports/ExportJob.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import type { WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { planRestore, type RestoreTarget } from "../../../src/engine/archive/restore/RestorePlan.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { alone, running } from "./fixture.ts"

/** The project that `found` makes. */
export const shop = { id: "prj_1", name: "shop" }

/** Restores a copy of the directory: all of it, or this project alone. Returns the folder of the copy. */
export const restored = Effect.fnUntraced(function* (
  directory: string,
  target: RestoreTarget,
  project?: typeof shop,
) {
  const copy = yield* temporaryFolder
  yield* Effect.promise(() => cp(directory, copy, { recursive: true }))
  const archives = yield* listArchives(nodeDisk, path.join(copy, "archive"))
  const journal = path.join(copy, "journal")
  const more = project === undefined ? {} : { project }
  const wanted = { disk: nodeDisk, journal, archives, id: undefined, target, ...more }
  const plan = yield* planRestore(wanted)
  const after = plan.project?.after
  const wish = {
    directory: copy,
    archive: plan.folder,
    until: plan.sequence,
    project: after === undefined ? null : { ...shop, after },
  }
  expect(yield* Effect.scoped(restoreDraft(wish, alone))).toMatchObject({ faults: [] })
  yield* installDraft(nodeDisk, copy, Date.now())
  return copy
})

/** What an export may have: all, or the sandbox of the project. */
export const exportScopes = [null, { project: shop.name, environment: "sandbox" }] as const

/** Exports the directory, and imports the export. Returns the folder of the import. */
export const imported = Effect.fnUntraced(function* (
  directory: string,
  scope: (typeof exportScopes)[number] = null,
) {
  const file = path.join(yield* temporaryFolder, "export.ndjson")
  const asked = { folder: directory, file, laurel: "1.2.3", at: 0, scope }
  yield* Effect.scoped(exportLines(asked, alone))
  const copy = yield* temporaryFolder
  const findings = yield* Effect.scoped(importLines({ directory: copy, file }, alone))
  expect(findings).toMatchObject({ faults: [] })
  yield* installDraft(nodeDisk, copy, Date.now())
  return copy
})

/** What `read` finds in the directory, which has no faults before and afterwards. */
export const readIn = Effect.fnUntraced(function* <A, E>(
  directory: string,
  host: WorkerHost,
  read: (engine: Engine["Service"]) => Effect.Effect<A, E>,
) {
  const check = Effect.scoped(verifyLive({ directory }, alone))
  expect(yield* check).toMatchObject({ faults: [] })
  const { close, engine } = yield* running({ directory, host })
  const found = yield* read(engine)
  yield* close()
  expect(yield* check).toMatchObject({ faults: [] })
  return found
})
