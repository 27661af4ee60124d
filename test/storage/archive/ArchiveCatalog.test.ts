/** Archives come and go by one rename each: wherever the power goes, what is listed is whole. */
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Result } from "effect"
import {
  isGood,
  listArchives,
  makeDraft,
  pruneArchives,
  publishArchive,
  removeArchive,
  sweepArchives,
  writeVerification,
} from "../../../src/storage/archive/ArchiveCatalog.ts"
import {
  archiveId,
  encodeManifest,
  manifestName,
} from "../../../src/storage/archive/ArchiveManifest.ts"
import { type Disk, replaceFile, withFile } from "../../../src/storage/disk/Disk.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { manifest } from "../manifest.ts"

const folder = "/data/archive"
const content = Buffer.alloc(2_000, "x")
const idOf = (n: number) => archiveId(Date.UTC(2026, 10, 21, n), n)

/** Writes an archive as the job does: its files, its manifest, its name. */
const write = (disk: Disk, n: number) =>
  Effect.gen(function* () {
    const draft = yield* makeDraft(disk, folder, idOf(n))
    yield* disk.makeFolder(path.join(draft, "live"))
    yield* withFile(disk, path.join(draft, "live", "data.mdb"), "create", (file) =>
      Effect.andThen(file.write(0, [content]), file.sync),
    )
    yield* disk.syncFolder(path.join(draft, "live"))
    yield* replaceFile(disk, draft, manifestName, encodeManifest({ ...manifest, id: idOf(n) }))
    yield* publishArchive(disk, folder, draft, idOf(n))
  })

const listed = (disk: Disk) =>
  Effect.map(listArchives(disk, folder), (archives) => {
    for (const archive of archives) expect(Result.isSuccess(archive.manifest)).toBe(true)
    return archives.map(({ id }) => id)
  })

/** Everything that happens to a folder of archives; `done` hears of each thing that was acknowledged. */
const life = (disk: Disk, done: (what: string) => void) =>
  Effect.gen(function* () {
    yield* sweepArchives(disk, folder, { drafts: true })
    for (const n of [1, 2, 3]) {
      yield* write(disk, n)
      done(`+${idOf(n)}`)
    }
    yield* removeArchive(disk, folder, idOf(2))
    done(`-${idOf(2)}`)
    for (const id of yield* pruneArchives(disk, folder, { hourly: 1, daily: 1 })) done(`-${id}`)
  })

const expectNoDefect = (exit: Exit.Exit<void, unknown>) => {
  if (Exit.isFailure(exit)) expect(exit.cause.reasons.filter(Cause.isDieReason)).toEqual([])
}

/** Acknowledged changes hold; the others may be as before or after; a listed archive has all its bytes. */
const expectTrue = (disk: SimulatedDisk, done: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    yield* sweepArchives(disk, folder, { drafts: true })
    const ids = yield* listed(disk)
    for (const id of ids) {
      expect(disk.files(`${folder}/${id}/live`).get("data.mdb")).toEqual(content)
      expect(done).not.toContain(`-${id}`)
    }
    for (const what of done) {
      const id = what.slice(1)
      const going = done.length >= 3 && id !== idOf(3)
      if (what.startsWith("+") && !going) expect(ids).toContain(id)
    }
    const names = yield* Effect.orElseSucceed(disk.list(folder), () => [])
    expect(names.toSorted()).toEqual(ids.toSorted())
  })

describe("The folder of archives", () => {
  it.effect("has whole archives only, wherever a kill or a power cut hits", () =>
    Effect.gen(function* () {
      const calm = new SimulatedDisk()
      yield* life(calm, () => {})
      expect(yield* listed(calm)).toEqual([idOf(3)])
      for (let call = 1; call <= calm.calls; call++) {
        const disk = new SimulatedDisk()
        disk.cutPowerAt(call)
        const done: Array<string> = []
        expectNoDefect(yield* Effect.exit(life(disk, (what) => done.push(what))))
        yield* expectTrue(disk.afterKill(), done)
        for (let seed = 0; seed < 6; seed++) yield* expectTrue(disk.afterPowerCut(seed), done)
      }
    }),
  )

  it.effect("stays whole when any one call fails", () =>
    Effect.gen(function* () {
      const calm = new SimulatedDisk()
      yield* life(calm, () => {})
      for (const code of ["EIO", "ENOSPC"]) {
        for (let call = 1; call <= calm.calls; call++) {
          const disk = new SimulatedDisk()
          disk.failCall(call, code)
          const done: Array<string> = []
          expectNoDefect(yield* Effect.exit(life(disk, (what) => done.push(what))))
          yield* expectTrue(disk.afterKill(), done)
          yield* expectTrue(disk.afterPowerCut(call), done)
        }
      }
    }),
  )

  it.effect("lists what it can not read with the reason, and passes by what is no archive", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      expect(yield* listArchives(disk, folder)).toEqual([])
      yield* write(disk, 1)
      yield* write(disk, 2)
      yield* write(disk, 3)
      yield* disk.remove(`${folder}/${idOf(1)}/${manifestName}`)
      yield* disk.rename(`${folder}/${idOf(2)}`, `${folder}/${idOf(4)}`)
      yield* disk.makeFolder(`${folder}/lost+found`)
      const archives = yield* listArchives(disk, folder)
      expect(archives.map(({ id, manifest }) => [id, Result.getFailure(manifest)])).toMatchObject([
        [idOf(1), { value: "is missing" }],
        [idOf(3), {}],
        [idOf(4), { value: `is that of ${idOf(2)}` }],
      ])
      expect(archives.map(isGood)).toEqual([false, true, false])
    }),
  )

  it.effect("is listed by time, and by record where the times are the same", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const at = Date.UTC(2026, 10, 21, 9)
      const ids = [archiveId(at - 1, 12), archiveId(at, 9), archiveId(at, 10), archiveId(at, 11)]
      for (const n of [2, 0, 3, 1]) {
        yield* publishArchive(disk, folder, yield* makeDraft(disk, folder, ids[n]!), ids[n]!)
      }
      expect((yield* listArchives(disk, folder)).map(({ id }) => id)).toEqual(ids)
    }),
  )

  it.effect("remembers how the last check of an archive ended", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* write(disk, 1)
      const check = { format: 1, at: "2026-11-21T12:00:00.000Z" } as const
      for (const faults of [["A file has changed"], []]) {
        const verification = { ...check, faults, faultCount: faults.length }
        yield* writeVerification(disk, `${folder}/${idOf(1)}`, verification)
        const [archive] = yield* listArchives(disk, folder)
        expect(archive).toMatchObject({ verification })
        expect(isGood(archive!)).toBe(faults.length === 0)
      }
    }),
  )
})
