/** The disk is full from a step of an archive or a restore on after which it writes much, and then has space again. */
import { cp, readdir, rm, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { installDraft, settleSwap } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { open as openStorage } from "../../../src/storage/durable/DurableStorage.ts"
import { ballastIn, mounted } from "../../storage/fileSystem.ts"
import { busy, found, running, seen } from "./fixture.ts"

const users = 8
const mebibytes = 200
describe("A disk that fills up", () => {
  it.live(
    "under an archive leaves none behind and harms nothing; with space the next is made",
    (test) =>
      Effect.gen(function* () {
        const folder = yield* mounted(mebibytes)
        if (folder === undefined) return test.skip("no file system can be mounted here")
        const ballast = ballastIn(folder)
        const directory = path.join(folder, "data")
        const host = yield* makeWorkerHost({ background: false })
        let fullFrom: Step | undefined
        const onStep = (step: Step) => (step === fullFrom ? ballast.take : Effect.void)
        const first = yield* running({ directory, host, onStep })
        yield* found(first.engine)
        yield* busy(first.engine, users)
        yield* first.engine.drain
        const kinds: Array<[Step, unknown]> = []
        for (const step of ["begun", "copied"] as const) {
          fullFrom = step
          const made = yield* Effect.result(first.archives.create({ reason: "request" }))
          yield* ballast.giveBack
          kinds.push([step, Result.isFailure(made) ? made.failure : made.success])
          expect(Result.isFailure(made)).toBe(true)
          const left = yield* Effect.promise(() => readdir(path.join(directory, "archive")))
          expect(left).toEqual([])
        }
        expect(kinds).toEqual(
          kinds.map(([step]) => [step, expect.objectContaining({ kind: "noSpace" })]),
        )
        fullFrom = undefined
        const { id } = yield* first.archives.create({ reason: "request" })
        expect(yield* Effect.promise(() => readdir(path.join(directory, "archive")))).toEqual([id])
        yield* first.close()
      }),
  )

  it.live("as an archive becomes a data directory refuses that until it has space", (test) =>
    Effect.gen(function* () {
      const folder = yield* mounted(mebibytes)
      if (folder === undefined) return test.skip("no file system can be mounted here")
      const ballast = ballastIn(folder)
      const host = yield* makeWorkerHost({ background: false })
      const first = yield* running({ directory: path.join(folder, "first"), host })
      yield* found(first.engine)
      yield* busy(first.engine, users)
      const then = yield* seen(first.engine, users)
      const archive = yield* first.archives.create({ reason: "request" })
      yield* first.close()
      const directory = path.join(folder, "data")
      yield* Effect.promise(() =>
        cp(path.join(first.folder, archive.id), directory, { recursive: true }),
      )
      const spare = path.join(folder, "spare")
      yield* Effect.promise(() => writeFile(spare, Buffer.alloc(262_144)))
      yield* ballast.take
      // For the lock of the directory.
      yield* Effect.promise(() => rm(spare))
      const broken = yield* Effect.flip(Effect.scoped(openStorage({ directory })))
      expect(broken.cause).toMatchObject({ _tag: "DiskError", code: "ENOSPC" })
      yield* ballast.giveBack
      const opened = yield* running({ directory, host })
      expect(yield* seen(opened.engine, users)).toEqual(then)
      yield* opened.close()
    }),
  )

  it.live("under a restore leaves all as it was; with space it is done", (test) =>
    Effect.gen(function* () {
      const folder = yield* mounted(mebibytes)
      if (folder === undefined) return test.skip("no file system can be mounted here")
      const ballast = ballastIn(folder)
      const directory = path.join(folder, "data")
      const host = yield* makeWorkerHost({ background: false })
      const first = yield* running({ directory, host })
      yield* found(first.engine)
      yield* busy(first.engine, users)
      const then = yield* seen(first.engine, users)
      const archive = yield* first.archives.create({ reason: "request" })
      yield* busy(first.engine, users, 1)
      const now = yield* seen(first.engine, users)
      yield* first.close()
      const wish = {
        directory,
        archive: path.join(first.folder, archive.id),
        until: archive.sequence,
        project: null,
      }
      const failures: Array<[Step, unknown]> = []
      for (const step of ["begun", "copied"] as const) {
        const asked = (at: Step) => (at === step ? ballast.take : Effect.void)
        const made = yield* Effect.result(host.run("restore", wish, { asked }))
        yield* ballast.giveBack
        failures.push([step, Result.isFailure(made) ? made.failure : made.success])
        yield* settleSwap(nodeDisk, directory)
        const left = yield* Effect.promise(() => readdir(directory))
        expect(left.filter((name) => /restore|replaced/.test(name))).toEqual([])
        const opened = yield* running({ directory, host })
        expect(yield* seen(opened.engine, users)).toEqual(now)
        yield* opened.close()
      }
      expect(failures).toEqual(
        failures.map(([step]) => [step, expect.objectContaining({ kind: "noSpace" })]),
      )
      yield* host.run("restore", wish)
      yield* installDraft(nodeDisk, directory, Date.now())
      const opened = yield* running({ directory, host })
      expect(yield* seen(opened.engine, users)).toEqual(then)
      yield* opened.close()
    }),
  )
})
