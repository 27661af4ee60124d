import { spawn } from "node:child_process"
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { keepServerFile, readServerFile } from "../../../src/cli/process/AdminRequest.ts"

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "laurel-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true })),
)

const content = {
  pid: process.pid,
  url: "http://127.0.0.1:1",
  adminUrl: "http://127.0.0.1:2",
  token: "t",
  startedAt: "2026-01-01T00:00:00.000Z",
}

/** The id of a process that is no more. */
const deadPid = Effect.promise(
  () =>
    new Promise<number>((dead) => {
      const child = spawn(process.execPath, ["--version"], { stdio: "ignore" })
      child.on("close", () => dead(child.pid!))
    }),
)

describe("server.json", () => {
  it.live("exists until the server ends, readable only by its owner", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const scope = yield* Scope.make()
      yield* Scope.provide(keepServerFile(folder, content), scope)
      expect(yield* readServerFile(folder)).toEqual(content)
      const { mode } = yield* Effect.promise(() => stat(join(folder, "server.json")))
      expect(mode & 0o777).toBe(0o600)
      yield* Scope.close(scope, Exit.void)
      expect(yield* Effect.promise(() => readdir(folder))).toEqual([])
    }),
  )

  it.live("replaces the file of a killed server, also a half-written one", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.promise(async () => {
        await writeFile(join(folder, "server.json"), "{}", { mode: 0o644 })
        await writeFile(join(folder, "server.json.new"), "{", { mode: 0o644 })
      })
      yield* keepServerFile(folder, content)
      expect(yield* readServerFile(folder)).toEqual(content)
      const { mode } = yield* Effect.promise(() => stat(join(folder, "server.json")))
      expect(mode & 0o777).toBe(0o600)
    }),
  )

  it.live("is ignored if its process is gone or its content is invalid", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      expect(yield* readServerFile(folder)).toBeUndefined()
      const stale = JSON.stringify({ ...content, pid: yield* deadPid })
      for (const text of ["", "{", "null", "{}", JSON.stringify({ ...content, pid: "1" }), stale]) {
        yield* Effect.promise(() => writeFile(join(folder, "server.json"), text))
        expect(yield* readServerFile(folder)).toBeUndefined()
      }
    }),
  )

  it.live("fails the start if it cannot be written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const failed = yield* Effect.flip(keepServerFile(join(folder, "nothing"), content))
      expect(failed.exitCode).toBe(73)
      expect(failed.lines[0]).toContain("server.json")
    }),
  )
})
