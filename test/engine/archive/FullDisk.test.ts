/** The disk is full from a step of an archive or a restore on after which it writes much, and then has space again. */
import { execFileSync } from "node:child_process"
import { readdir, rm, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Step } from "../../../src/engine/archive/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/WorkerHost.ts"
import { installDraft, settleSwap } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { busy, found, running, seen } from "./fixture.ts"

const users = 8
const mebibytes = 200

/** A file system of its own; `undefined` where this user may not mount one. */
const mounted = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const mount = Effect.try(() => {
    const options = `size=${mebibytes}m`
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" })
    return folder
  })
  return yield* Effect.acquireRelease(
    Effect.orElseSucceed(mount, () => undefined),
    (at) => Effect.sync(() => at && execFileSync("umount", ["-l", at])),
  )
})

/** Takes all space that is left, and gives it back. */
const ballastIn = (folder: string) => {
  const file = path.join(folder, "ballast")
  return {
    take: Effect.promise(async () => {
      const piece = Buffer.alloc(1_048_576)
      for (const size of [piece.length, 4_096]) {
        for (let n = 0; ; n++) {
          const name = `${file}-${size}-${n}`
          const full = await writeFile(name, piece.subarray(0, size)).then(
            () => false,
            () => true,
          )
          if (full) break
        }
      }
    }),
    giveBack: Effect.promise(async () => {
      for (const name of await readdir(folder)) {
        if (name.startsWith("ballast")) await rm(path.join(folder, name))
      }
    }),
  }
}

describe("A disk that fills up", () => {
  it.live(
    "under an archive leaves none behind and harms nothing; with space the next is made",
    (test) =>
      Effect.gen(function* () {
        const folder = yield* mounted
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

  it.live("under a restore leaves all as it was; with space it is done", (test) =>
    Effect.gen(function* () {
      const folder = yield* mounted
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
