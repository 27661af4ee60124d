/** The sold units of an item in checks, exports and restores, after a buyer left the journal. */
import { cp } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { exportLines } from "../../../src/engine/archive/exports/ExportJob.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { planRestore, type RestoreTarget } from "../../../src/engine/archive/restore/RestorePlan.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { itemWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { sandbox } from "../fixture.ts"
import { alone, eraseFrom, found, running } from "./fixture.ts"

const shop = { id: "prj_1", name: "shop" }
const item = itemWith({ key: "poster", price: { points: 1 }, stock: 9 })

const ask = (engine: Engine["Service"], userId: string) => ({
  points: engine.askUser(sandbox, {
    userId,
    command: { kind: "reward", type: "points", amount: 50 },
  }),
  buy: (id?: string) =>
    engine.askUser(sandbox, { userId, command: { kind: "purchase", item: "poster", id } }),
  undo: (ownId: string) =>
    engine.askUser(sandbox, {
      userId,
      command: { kind: "revocation", of: "purchase", sequence: 0, at: 0, ownId },
    }),
  erase: engine.askUser(sandbox, { userId, command: { kind: "erasure" } }),
  mergeInto: (into: string) =>
    engine.askUser(sandbox, { userId, command: { kind: "merge", into } }),
})

const soldBy = (engine: Engine["Service"]) =>
  Effect.map(engine.readCounts(sandbox), ({ sold }) => sold.get(item.id) ?? 0)

/**
 * A directory with an archive, and sales after it. Ada and Cyd, who was merged into Ada, have bought
 * before and after the archive and are erased; the journal has lost both. `sold`: the units after each
 * of some records.
 */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  const [ada, bob, cyd] = ["ada", "bob", "cyd"].map((userId) => ask(engine, userId))
  const sold = new Map<number, number>()
  const note = Effect.map(soldBy(engine), (units) => {
    sold.set(archives.position().lastSequence, units)
  })
  yield* found(engine)
  yield* engine.askProject(sandbox, { kind: "createItem", item })
  for (const user of [ada!, bob!, cyd!]) yield* user.points
  yield* ada!.buy("before")
  yield* cyd!.buy()
  yield* archives.create({ reason: "request" })
  yield* note
  for (const id of ["a", "b"]) yield* Effect.andThen(ada!.buy(id), note)
  yield* Effect.andThen(cyd!.buy("c"), note)
  yield* Effect.andThen(bob!.buy(), note)
  yield* Effect.andThen(ada!.undo("before"), note)
  yield* Effect.andThen(ada!.undo("a"), note)
  yield* Effect.andThen(cyd!.mergeInto("ada"), note)
  yield* Effect.andThen(ada!.undo("c"), note)
  yield* Effect.andThen(ada!.erase, note)
  yield* Effect.andThen(bob!.buy(), note)
  expect([...sold.values()]).toEqual([2, 3, 4, 5, 6, 5, 4, 4, 3, 3, 4])
  yield* close("kill")
  yield* eraseFrom(directory, "ada", "cyd")
  return { directory, host, sold, units: 4 }
})

const restored = Effect.fnUntraced(function* (
  directory: string,
  target: RestoreTarget,
  project?: typeof shop,
) {
  const copy = yield* temporaryFolder
  yield* Effect.promise(() => cp(directory, copy, { recursive: true }))
  const archives = yield* listArchives(nodeDisk, path.join(copy, "archive"))
  const journal = path.join(copy, "journal")
  const more = project === undefined ? {} : { project }
  const plan = yield* planRestore({
    disk: nodeDisk,
    journal,
    archives,
    id: undefined,
    target,
    ...more,
  })
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

const unitsIn = Effect.fnUntraced(function* (
  directory: string,
  host: Effect.Success<ReturnType<typeof makeWorkerHost>>,
) {
  expect(yield* Effect.scoped(verifyLive({ directory }, alone))).toMatchObject({ faults: [] })
  const { close, engine } = yield* running({ directory, host })
  const units = yield* soldBy(engine)
  yield* close()
  expect(yield* Effect.scoped(verifyLive({ directory }, alone))).toMatchObject({ faults: [] })
  return units
})

describe("The sold units of an item, after buyers left the journal", () => {
  it.live("are those of the whole journal, after a crash and an orderly end", () =>
    Effect.gen(function* () {
      const { directory, host, units } = yield* written
      for (let start = 0; start < 2; start++) {
        expect(yield* unitsIn(directory, host)).toBe(units)
      }
    }),
  )

  it.live("are those of the moment to which an older archive is restored", () =>
    Effect.gen(function* () {
      const { directory, host, sold, units } = yield* written
      const last = yield* restored(directory, { kind: "last" })
      expect(yield* unitsIn(last, host)).toBe(units)
      for (const [sequence, then] of sold) {
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        expect([sequence, yield* unitsIn(copy, host)]).toEqual([sequence, then])
      }
    }),
  )

  it.live("are those of the moment to which the project alone is restored", () =>
    Effect.gen(function* () {
      const { directory, host, sold } = yield* written
      for (const [sequence, then] of [...sold].slice(1, 6)) {
        const copy = yield* restored(directory, { kind: "sequence", sequence }, shop)
        expect([sequence, yield* unitsIn(copy, host)]).toEqual([sequence, then])
      }
    }),
  )

  it.live("are the same in an export and its import", () =>
    Effect.gen(function* () {
      const { directory, host, units } = yield* written
      const file = path.join(yield* temporaryFolder, "export.ndjson")
      const asked = { folder: directory, file, laurel: "1.2.3", at: 0, scope: null }
      yield* Effect.scoped(exportLines(asked, alone))
      const copy = yield* temporaryFolder
      const findings = yield* Effect.scoped(importLines({ directory: copy, file }, alone))
      expect(findings).toMatchObject({ faults: [] })
      yield* installDraft(nodeDisk, copy, Date.now())
      expect(yield* unitsIn(copy, host)).toBe(units)
    }),
  )
})
