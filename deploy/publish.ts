/**
 * Publishes the packages `laurel` and `laurel-client` to npm's registry:
 *
 *     npm run package:publish              # needs `npm login`, and a checkout without changes
 *     npm run package:publish -- --dry-run # everything but the upload
 *
 * A version with a suffix, such as 1.0.0-rc.1, gets the tag `next`; `npm install laurel` then still
 * installs the latest release.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import manifest from "../package.json" with { type: "json" }
import { buildPackage as buildClient } from "../src/client/build/package.ts"
import clientManifest from "../src/client/package.json" with { type: "json" }
import { buildPackage as buildServer } from "./package.ts"

const root = path.resolve(import.meta.dirname, "..")

/** Builds both packages into folders of `target`, and returns the folders. */
export const buildPackages = async (target: string): Promise<ReadonlyArray<string>> => {
  const [server, client] = [path.join(target, "laurel"), path.join(target, "laurel-client")]
  buildServer(server)
  mkdirSync(client, { recursive: true })
  const { private: _, ...published } = clientManifest
  writeFileSync(path.join(client, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`)
  copyFileSync(path.join(root, "src/client/README.md"), path.join(client, "README.md"))
  copyFileSync(path.join(root, "LICENSE"), path.join(client, "LICENSE"))
  await buildClient(client)
  return [server, client]
}

const run = (program: string, args: ReadonlyArray<string>) =>
  execFileSync(program, args, { cwd: root, stdio: "inherit" })

const publish = async (options: ReadonlyArray<string>): Promise<void> => {
  const isTrial = options.includes("--dry-run")
  const changes = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" })
  if (changes !== "" && !isTrial) {
    console.error("The checkout has changes that no commit has. Nothing was published.")
    process.exit(1)
  }
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-packages-"))
  try {
    const tag = manifest.version.includes("-") ? "next" : "latest"
    const folders = await buildPackages(folder)
    for (const each of folders) run("npx", ["publint", each, "--strict"])
    for (const each of folders) {
      const flags = ["--access", "public", "--tag", tag, "--loglevel", "notice"]
      run("npm", ["publish", each, ...flags, ...options])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) await publish(process.argv.slice(2))
