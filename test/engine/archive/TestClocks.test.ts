/** A sandbox keeps its time in archives, exports and restores, and the time never goes back. */
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { decidedAt, type JournalRecord } from "../../../src/domain/record/Record.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { exportLines } from "../../../src/engine/archive/exports/ExportJob.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { planRestore } from "../../../src/engine/archive/restore/RestorePlan.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { streakWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, production, sandbox } from "../fixture.ts"
import { alone, busy, found, running, seen } from "./fixture.ts"

const users = 8
const day = 86_400_000
const daily = { kind: "createStreak", streak: streakWith({}) } as const

const advance = Effect.fnUntraced(function* (engine: Engine["Service"], days: number) {
  const to = engine.timeIn(sandbox) + days * day
  yield* engine.askProject(sandbox, { kind: "advanceClock", to })
  yield* engine.testClockReady(sandbox)
})

const latestOf = (records: ReadonlyArray<JournalRecord>): number =>
  Math.max(
    ...records
      .filter(({ subject }) => subject.actor !== "directory" && subject.environment === sandbox)
      .map(decidedAt),
  )

const readsOf = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  return {
    ...(yield* seen(engine, users)),
    project: yield* engine.readProject(sandbox),
    production: yield* engine.readUser(production, "u1"),
  }
})

/** A directory whose sandbox advanced before the archive and after it. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, committed, engine } = yield* running({ directory, host })
  yield* found(engine)
  yield* engine.askProject(sandbox, daily)
  yield* engine.askUser(production, event("u1", "TAP"))
  yield* busy(engine, users)
  yield* advance(engine, 10)
  yield* busy(engine, users, 1)
  yield* archives.create({ reason: "request" })
  const point = archives.position().lastSequence
  const before = { reads: yield* readsOf(engine), latest: latestOf(committed) }
  yield* advance(engine, 30)
  yield* busy(engine, users, 2)
  const after = { reads: yield* readsOf(engine), latest: latestOf(committed) }
  yield* close("kill")
  return { after, before, directory, host, point }
})

describe("A sandbox whose time was advanced", () => {
  it.live("has its time and all its users in a verification, an export and an import", () =>
    Effect.gen(function* () {
      const { after, directory, host } = yield* written
      expect((yield* Effect.scoped(verifyLive({ directory }, alone))).faults).toEqual([])
      const file = path.join(yield* temporaryFolder, "export.ndjson")
      const wish = { folder: directory, file, laurel: "1.2.3", at: Date.now(), scope: null }
      yield* Effect.scoped(exportLines(wish, alone))
      const copy = yield* temporaryFolder
      const { faults } = yield* Effect.scoped(importLines({ directory: copy, file }, alone))
      expect(faults).toEqual([])
      yield* installDraft(nodeDisk, copy, Date.now())
      const { close, engine } = yield* running({ directory: copy, host })
      expect(yield* readsOf(engine)).toEqual(after.reads)
      expect(engine.timeIn(sandbox)).toBeGreaterThanOrEqual(after.latest)
      const now = engine.now()
      const ownTime = engine.timeIn(production)
      expect([now <= ownTime, ownTime <= engine.now()]).toEqual([true, true])
      yield* advance(engine, 1)
      yield* close()
    }),
  )

  it.live(
    "has the time of the point to which its project is restored, and no record after it",
    () =>
      Effect.gen(function* () {
        const { after, before, directory, host, point } = yield* written
        const plan = yield* planRestore({
          disk: nodeDisk,
          journal: path.join(directory, "journal"),
          archives: yield* listArchives(nodeDisk, path.join(directory, "archive")),
          id: undefined,
          target: { kind: "sequence", sequence: point },
          project: { id: "prj_1", name: "shop" },
        })
        const { folder, project, sequence } = plan
        const back = { id: "prj_1", name: "shop", after: project!.after }
        const wish = { directory, archive: folder, until: sequence, project: back }
        yield* Effect.scoped(restoreDraft(wish, alone))
        yield* installDraft(nodeDisk, directory, Date.now())
        expect((yield* Effect.scoped(verifyLive({ directory }, alone))).faults).toEqual([])
        const { close, engine } = yield* running({ directory, host })
        expect(yield* readsOf(engine)).toEqual(before.reads)
        const time = engine.timeIn(sandbox)
        expect(time).toBeGreaterThanOrEqual(before.latest)
        expect(time).toBeLessThan(after.latest)
        yield* close()
      }),
  )
})
