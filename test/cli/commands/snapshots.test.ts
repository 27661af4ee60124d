import { appendFile, readdir, rm, truncate } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { lockDirectory } from "../../../src/storage/disk/DirectoryLock.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { runCommand } from "../commands.ts"

const keysCreate = ["keys", "create", "--project", "shop", "--environment", "sandbox"]

describe("A restore on the command line", () => {
  it.live(
    "names the revoked keys that it brings back, or reports that keys could not be compared",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const run = (...args: ReadonlyArray<string>) => runCommand(args, folder)
        const made = yield* run(...keysCreate, "--name", "Backend", "--json")
        const { id, key } = JSON.parse(made.stdout)
        const archive = JSON.parse((yield* run("snapshots", "create", "--json")).stdout).id
        yield* run("keys", "revoke", id)
        const words = yield* run("snapshots", "restore", archive, "--yes")
        const named = `1 key that had ended is in force again. Revoke those that must not be:\n  ${id}  ${key.slice(0, 12)}…  Backend  (shop, sandbox; was revoked)\n`
        expect(words).toMatchObject({ code: 0, stderr: expect.stringContaining(named) })
        expect(words.stdout + words.stderr).not.toContain(key)
        const replaced = /replaced-\S+/.exec(words.stdout)![0].replace(/\.$/, "")
        const back = yield* run("snapshots", "restore", replaced, "--yes")
        expect(back.stderr).toContain("No key that had ended is in force again.")
        const json = yield* run("snapshots", "restore", archive, "--yes", "--json")
        expect(JSON.parse(json.stdout).returnedKeys).toEqual({
          keys: [
            {
              id,
              name: "Backend",
              hint: key.slice(0, 12),
              project: "shop",
              environment: "sandbox",
              was: "revoked",
            },
          ],
          count: 1,
          unknown: null,
        })
        // Data that is gone or spoilt is nothing to compare with, and stops no restore.
        yield* Effect.promise(() => truncate(join(folder, "live", "data.mdb"), 5_000))
        const spoilt = yield* run("snapshots", "restore", archive, "--yes")
        expect(spoilt.code).toBe(0)
        expect(spoilt.stderr).toContain(
          "whether revoked keys are in force again could not be compared",
        )
        for (const name of ["live", "journal"]) {
          yield* Effect.promise(() => rm(join(folder, name), { recursive: true }))
        }
        const alone = yield* run("snapshots", "restore", archive, "--yes")
        expect(alone.stderr).toContain("No data was replaced: whether revoked keys")
      }),
  )
})

const directoryLine = (folder: string): string => `Data directory: ${folder}\n`

describe("Archives on the command line", () => {
  it.live("have a distinct exit code and text when refused, damaged and removed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const run = (...args: ReadonlyArray<string>) => runCommand(["snapshots", ...args], folder)
      const nothing = join(folder, "nothing")
      for (const command of [
        ["create"],
        ["list"],
        ["list", "--json"],
        ["verify"],
        ["verify", "x"],
        ["prune"],
        ["restore", "x", "--yes"],
        ["export", join(folder, "x"), "--archive", "x"],
      ]) {
        const { code, stderr } = yield* runCommand(["snapshots", ...command], nothing)
        expect([code, stderr.replace(directoryLine(nothing), "")]).toEqual([
          66,
          `laurel: No data in ${nothing}.\n`,
        ])
      }
      expect(yield* Effect.promise(() => readdir(folder))).toEqual([])
      const created = yield* runCommand(keysCreate, folder)
      expect(created.code).toBe(0)
      expect(created.stderr).toContain(`Created a new data directory in ${folder}.`)
      expect((yield* runCommand(keysCreate, folder)).stderr).not.toContain("new data directory")
      const listed = { code: 0, stdout: "[]\n", stderr: directoryLine(folder) }
      expect(yield* run("list", "--json")).toEqual(listed)
      const ids: Array<string> = []
      for (const _ of [1, 2]) ids.push(JSON.parse((yield* run("create", "--json")).stdout).id)

      const table = yield* run("list")
      expect(table.stdout.split("\n")).toEqual([
        expect.stringMatching(/^TIME +SEQUENCE +USERS +SIZE +MADE BY +VERIFIED +ID$/),
        expect.stringMatching(/^[─ ]+$/),
        ...ids.map((id) =>
          expect.stringMatching(
            new RegExp(`^[-\\dT:.]+Z +\\d+ +0 +[\\d.]+ KiB +request +[-\\dT:.]+Z +${id}$`),
          ),
        ),
        "",
      ])
      expect(yield* run("verify", "x")).toEqual({
        code: 1,
        stdout: "",
        stderr: `${directoryLine(folder)}laurel: Archive x not found. \`laurel snapshots list\` shows all.\n`,
      })

      yield* Effect.promise(() =>
        appendFile(join(folder, "archive", ids[0]!, "journal", "clean"), " "),
      )
      expect(yield* run("verify", ids[0]!)).toMatchObject({
        code: 65,
        stderr: `${directoryLine(folder)}laurel: The file journal/clean has changed.\n`,
      })
      expect((yield* run("list")).stdout).toContain("NO: The file journal/clean has changed")
      const none = { LAUREL_ARCHIVE_HOURLY: "0", LAUREL_ARCHIVE_DAILY: "0" }
      // The damaged one stays, and the newest good one.
      const pruned = yield* runCommand(["snapshots", "prune", "--json"], folder, none)
      expect(pruned).toMatchObject({ code: 0, stdout: "[]\n" })

      for (const wrong of [
        [],
        ["--project", "x", "--to-sequence", "last"],
        ["replaced-x", "--project", "x"],
        ["--to-time", "10:00"],
        ["--to-sequence", "-1"],
        ["--to-sequence", "1", "--to-time", "2026-11-21T10:00:00Z"],
        ["replaced-x", "--to-sequence", "last"],
      ]) {
        expect((yield* run("restore", ...wrong)).code).toBe(64)
      }
      expect((yield* run("restore", "replaced-x", "--yes")).code).toBe(1)
      const unasked = yield* run("restore", ids[1]!)
      expect([unasked.code, unasked.stderr.split("\n").at(-2)]).toEqual([
        64,
        "laurel: No terminal for the confirmation: use --yes. Nothing was changed.",
      ])
      const file = join(folder, "export.ndjson")
      expect((yield* run("export", file, "--project", "shop")).code).toBe(64)
      const noProject = ["--project", "x", "--environment", "sandbox"]
      expect(yield* run("export", file, ...noProject)).toMatchObject({
        code: 1,
        stderr: `Data directory: ${folder} (no server runs on it)\nlaurel: There is no project x.\n`,
      })
      const exported = yield* run("export", file, "--archive", ids[1]!, "--json")
      expect(JSON.parse(exported.stdout)).toMatchObject({ file, sequence: 3 })
      expect((yield* run("export", file)).code).toBe(1)
      expect(yield* run("import", file)).toMatchObject({
        code: 1,
        stderr: `${directoryLine(folder)}laurel: ${folder} already has data. An import creates a new data directory: set LAUREL_DATA_DIR to an empty or new folder.\n`,
      })
      const copy = yield* temporaryFolder
      const again = yield* runCommand(["snapshots", "import", file, "--json"], copy)
      expect(JSON.parse(again.stdout)).toMatchObject({ sequence: 3, counts: { keys: 2 } })
      yield* Effect.promise(() => appendFile(file, "{\n"))
      const empty = yield* temporaryFolder
      const bad = yield* runCommand(["snapshots", "import", file], empty)
      expect(bad.code).toBe(1)
      expect(bad.stderr).toMatch(
        /^laurel: Line \d+: nothing may follow the line with kind end\.\n$/m,
      )
      yield* lockDirectory(folder)
      const held = yield* run("restore", ids[1]!, "--yes")
      expect(held).toMatchObject({ code: 75, stderr: expect.stringContaining("in use") })
    }),
  )
})
