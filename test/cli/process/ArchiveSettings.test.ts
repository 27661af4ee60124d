import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { vi } from "vitest"
import type { CommandFailed } from "../../../src/cli/output/ExitCode.ts"
import {
  type ArchiveSettings,
  archiveSettings,
  leaveArchiveSettings,
} from "../../../src/cli/process/ArchiveSettings.ts"
import { readConfig } from "../../../src/config/Config.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

type Variables = Readonly<Record<string, string>>

const configOf = (variables: Variables) => Result.getOrThrow(readConfig(variables).config)

/** A server of `directory` started with `variables`. */
const served = (directory: string, variables: Variables) =>
  leaveArchiveSettings(configOf({ LAUREL_DATA_DIR: directory, ...variables }))

interface Found extends ArchiveSettings {
  readonly warnings: ReadonlyArray<string>
}

/** The settings of a command in a shell with `variables`. */
const found = (directory: string, variables: Variables = {}): Effect.Effect<Found, CommandFailed> =>
  Effect.gen(function* () {
    const all = { LAUREL_DATA_DIR: directory, ...variables }
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
    const error = vi.spyOn(console, "error").mockReturnValue()
    const settings = yield* archiveSettings(configOf(all))
    const warnings = error.mock.calls.map(([line]) => String(line))
    error.mockRestore()
    vi.unstubAllEnvs()
    return { ...settings, warnings }
  })

const elsewhere = { LAUREL_ARCHIVE_DIR: "/mnt/archives", LAUREL_ARCHIVE_HOURLY: "168" }

describe("The archive settings of a command", () => {
  it.live("are those of the shell if no server has run", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      expect(yield* found(directory)).toEqual({
        folder: join(directory, "archive"),
        retention: { hourly: 24, daily: 7 },
        warnings: [],
      })
      yield* Effect.promise(() => writeFile(join(directory, "archives.json"), "{"))
      expect((yield* found(directory)).folder).toBe(join(directory, "archive"))
    }),
  )

  it.live("are those of the server if the shell sets none", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      yield* served(directory, elsewhere)
      expect(yield* found(directory)).toEqual({
        folder: "/mnt/archives",
        retention: { hourly: 168, daily: 7 },
        warnings: [],
      })
      yield* served(directory, { LAUREL_ARCHIVE_DAILY: "30" })
      expect(yield* found(directory, { LAUREL_ARCHIVE_DIR: " " })).toEqual({
        folder: join(directory, "archive"),
        retention: { hourly: 24, daily: 30 },
        warnings: [],
      })
    }),
  )

  it.live("are those of the shell, with a warning if the server uses another folder", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      yield* served(directory, elsewhere)
      const own = { LAUREL_ARCHIVE_DIR: "/mnt/old", LAUREL_ARCHIVE_DAILY: "1" }
      expect(yield* found(directory, own)).toEqual({
        folder: "/mnt/old",
        retention: { hourly: 168, daily: 1 },
        warnings: [
          "laurel: warning: LAUREL_ARCHIVE_DIR is /mnt/old here, but the server of this data directory archives in /mnt/archives.",
        ],
      })
      expect((yield* found(directory, elsewhere)).warnings).toEqual([])
    }),
  )

  it.live("ignore archives.json in a copy of another directory", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [directory, copy, link] = ["data", "copy", "link"].map((name) => join(folder, name))
      yield* Effect.promise(() => mkdir(directory!))
      yield* served(directory!, elsewhere)
      yield* Effect.promise(async () => {
        await cp(directory!, copy!, { recursive: true })
        await symlink(directory!, link!)
      })
      expect((yield* found(copy!)).folder).toBe(join(copy!, "archive"))
      expect((yield* found(copy!)).retention).toEqual({ hourly: 24, daily: 7 })
      expect((yield* found(link!)).folder).toBe("/mnt/archives")
      yield* Effect.promise(() => rm(link!))
    }),
  )
})
