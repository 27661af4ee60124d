/** `laurel init`. That the app runs is a test of the installed packages. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { version } from "../../../src/Build.ts"
import { temporaryFolder } from "../../e2e/program.ts"
import { runCommand } from "../commands.ts"

const init = (folder: string) => Effect.runPromise(runCommand(["init", folder], "/nowhere"))

describe("laurel init", () => {
  it("writes the files of an app into a new folder, with the versions of this Laurel", async () => {
    const folder = join(await temporaryFolder(), "My School")
    const { code, stdout } = await init(folder)
    expect(code).toBe(0)
    const names = (await readdir(folder)).toSorted()
    expect(names).toEqual(
      [
        ...[".env", ".gitignore", "Dockerfile", "README.md", "backend.mjs", "compose.yaml"],
        ...["definitions.json", "package.json", "page.html", "setup.mjs"],
      ].toSorted(),
    )
    for (const name of names) expect(stdout).toContain(`+ ${join(folder, name)}\n`)
    const { dependencies, name } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"))
    expect({ dependencies, name }).toEqual({
      name: "my-school",
      dependencies: { laurel: version, "laurel-client": version },
    })
    expect(await readFile(join(folder, ".gitignore"), "utf8")).toContain(".env\n")
  })

  it("names the files that are there already, and writes nothing", async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, "page.html"), "mine")
    await mkdir(join(folder, "README.md"))
    const { code, stderr } = await init(folder)
    expect(code).toBe(1)
    expect(stderr).toContain(`${folder} has README.md, page.html already. Nothing was written.`)
    expect((await readdir(folder)).toSorted()).toEqual(["README.md", "page.html"])
    expect(await readFile(join(folder, "page.html"), "utf8")).toBe("mine")
  })

  it("says so if the folder cannot be made", async () => {
    const file = join(await temporaryFolder(), "file")
    await writeFile(file, "")
    const { code, stderr } = await init(join(file, "app"))
    expect(code).toBe(73)
    expect(stderr).toContain("cannot write to")
  })
})
