import { appendFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { lockDirectory } from "../../../src/storage/disk/DirectoryLock.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { runCommand } from "../commands.ts"

const keysCreate = ["keys", "create", "--project", "shop", "--environment", "sandbox"]

describe("Archives on the command line", () => {
  it.live("are refused, damaged and removed with words and codes that scripts can tell apart", () =>
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
        expect([code, stderr]).toEqual([66, `laurel: No data in ${nothing}.\n`])
      }
      expect(yield* Effect.promise(() => readdir(folder))).toEqual([])
      const created = yield* runCommand(keysCreate, folder)
      expect(created.code).toBe(0)
      expect(created.stderr).toContain(`Created a new data directory in ${folder}.`)
      expect((yield* runCommand(keysCreate, folder)).stderr).not.toContain("new data directory")
      expect(yield* run("list", "--json")).toEqual({ code: 0, stdout: "[]\n", stderr: "" })
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
        stderr: "laurel: Archive x not found. `laurel snapshots list` shows all.\n",
      })

      yield* Effect.promise(() =>
        appendFile(join(folder, "archive", ids[0]!, "journal", "clean"), " "),
      )
      expect(yield* run("verify", ids[0]!)).toMatchObject({
        code: 65,
        stderr: "laurel: The file journal/clean has changed.\n",
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
        stderr: "laurel: There is no project x.\n",
      })
      const exported = yield* run("export", file, "--archive", ids[1]!, "--json")
      expect(JSON.parse(exported.stdout)).toMatchObject({ file, sequence: 3 })
      expect((yield* run("export", file)).code).toBe(1)
      expect(yield* run("import", file)).toMatchObject({
        code: 1,
        stderr: `laurel: ${folder} already has data. An import creates a new data directory: set LAUREL_DATA_DIR to an empty or new folder.\n`,
      })
      const copy = yield* temporaryFolder
      const again = yield* runCommand(["snapshots", "import", file, "--json"], copy)
      expect(JSON.parse(again.stdout)).toMatchObject({ sequence: 3, counts: { keys: 2 } })
      yield* Effect.promise(() => appendFile(file, "{\n"))
      const empty = yield* temporaryFolder
      const bad = yield* runCommand(["snapshots", "import", file], empty)
      expect(bad.code).toBe(1)
      expect(bad.stderr).toMatch(
        /^laurel: Line \d+: nothing may follow the line with kind end\.\n$/,
      )
      yield* lockDirectory(folder)
      const held = yield* run("restore", ids[1]!, "--yes")
      expect(held).toMatchObject({ code: 75, stderr: expect.stringContaining("in use") })
    }),
  )
})
