/** deploy/laurel.service, as systemd reads it. */
import { cp, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { root, temporaryFolder } from "../e2e/program.ts"
import { execute, programOf } from "./tools.ts"

const systemdAnalyze = programOf("systemd-analyze", "systemd")

test("systemd accepts every line, and rates the exposure as OK", async () => {
  const folder = await temporaryFolder()
  const unit = join(folder, "laurel.service")
  await cp(join(root, "deploy/laurel.service"), unit)
  // The program must exist.
  const text = (await readFile(unit, "utf8")).replaceAll("/opt/laurel", root)
  await writeFile(unit, text)
  // Complains of other units of the machine, too.
  const complaints = (await execute(systemdAnalyze, ["verify", "--man=no", unit]))
    .split("\n")
    .filter((line) => line.includes("laurel.service"))
  expect(complaints).toEqual([])
  const rated = await execute(systemdAnalyze, ["security", "--offline=yes", "--threshold=20", unit])
  expect(rated).toMatch(/exposure level .*: [01]\.\d OK/)
})
