import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { findChromium, launch } from "./chromium.ts"

describe("Without a browser", () => {
  it("a run fails with one sentence that names the remedy", async () => {
    const named = await findChromium({ LAUREL_TEST_BROWSER: "/nowhere/chromium", PATH: "" })
    const missing = "LAUREL_TEST_BROWSER names /nowhere/chromium, which is no program."
    expect(named).toEqual({ missing })
    await expect(launch(named)).rejects.toThrow(missing)
  })
})

describe("With an installed browser", () => {
  it("a run uses the bundled browser on Linux on x64, and the installed one elsewhere or on request", async () => {
    const folder = await mkdtemp(join(tmpdir(), "laurel-"))
    onTestFinished(() => rm(folder, { recursive: true }))
    const installed = { executablePath: join(folder, "chromium"), env: {} }
    await writeFile(installed.executablePath, "", { mode: 0o700 })
    const asked = { LAUREL_TEST_BROWSER: "installed", PATH: folder }
    expect(await findChromium(asked)).toEqual(installed)
    const isBundled = process.platform === "linux" && process.arch === "x64"
    const chosen = await findChromium({ PATH: folder })
    if (isBundled) expect(chosen).toMatchObject({ env: { FONTCONFIG_PATH: expect.anything() } })
    else expect(chosen).toEqual(installed)
  })
})
