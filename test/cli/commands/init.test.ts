/** `laurel init`. That the app runs is a test of the installed packages. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { version } from "../../../src/Build.ts"
import { packagesOf } from "../../../src/cli/commands/init.ts"
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
      dependencies: {
        laurel: `file:packages/laurel-${version}.tgz`,
        "laurel-client": `file:packages/laurel-client-${version}.tgz`,
      },
    })
    const pack = `in the checkout of Laurel: npm run package:pack -- ${join(folder, "packages")}\n`
    expect(stdout).toContain(pack)
    expect(await readFile(join(folder, "Dockerfile"), "utf8")).toContain(
      "COPY packages ./packages\nRUN npm ci",
    )
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

/** A Laurel that npm installed into an app, from the file or registry that npm's note names. */
const installed = async (resolved: string, files: ReadonlyArray<string>) => {
  const app = join(await temporaryFolder(), "app")
  const laurel = join(app, "node_modules/laurel")
  await mkdir(laurel, { recursive: true })
  await mkdir(join(app, "../packs"))
  for (const name of files) await writeFile(join(app, "../packs", name), "")
  const note = JSON.stringify({ packages: { "node_modules/laurel": { resolved } } })
  await writeFile(join(app, "node_modules/.package-lock.json"), note)
  return { packs: join(app, "../packs"), packages: await packagesOf(laurel) }
}

describe("The packages of an app", () => {
  const files = [`laurel-${version}.tgz`, `laurel-client-${version}.tgz`]
  const versions = { laurel: version, "laurel-client": version }

  it("are copies of the files from which this Laurel was installed", async () => {
    const { packages, packs } = await installed(`file:../packs/${files[0]}`, files)
    expect(packages).toEqual({
      isCheckout: false,
      dependencies: {
        laurel: `file:packages/${files[0]}`,
        "laurel-client": `file:packages/${files[1]}`,
      },
      files: files.map((name) => [`packages/${name}`, join(packs, name)]),
    })
  })

  it("come from the registry if this Laurel did, or if its files are gone", async () => {
    const address = `https://registry.npmjs.org/laurel/-/${files[0]}`
    for (const [resolved, there] of [
      [address, files],
      [`file:../packs/${files[0]}`, [files[0]!]],
    ] as const) {
      const { packages } = await installed(resolved, there)
      expect(packages).toEqual({ isCheckout: false, dependencies: versions, files: [] })
    }
  })
})
