/**
 * Packs the packages `laurel` and `laurel-client` of this checkout, for machines that do not get
 * them from npm's registry:
 *
 *     npm run package:pack -- FOLDER
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { buildPackages } from "./publish.ts"

/** Writes both packages into `target`, and returns their files. */
export const packInto = async (target: string): Promise<ReadonlyArray<string>> => {
  mkdirSync(target, { recursive: true })
  const built = mkdtempSync(path.join(tmpdir(), "laurel-packages-"))
  try {
    const folders = await buildPackages(built)
    return folders.map((cwd) => {
      const args = ["pack", "--json", "--loglevel", "error", "--pack-destination", target]
      const [packed] = JSON.parse(execFileSync("npm", args, { cwd, encoding: "utf8" }))
      return path.join(target, packed.filename)
    })
  } finally {
    rmSync(built, { recursive: true })
  }
}

if (import.meta.main) {
  const [given] = process.argv.slice(2)
  if (given === undefined) {
    console.error("Name a folder: npm run package:pack -- FOLDER")
    process.exit(1)
  }
  const files = await packInto(path.resolve(process.env.INIT_CWD ?? "", given))
  console.log(files.join("\n"))
}
