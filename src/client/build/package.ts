/**
 * Builds the package into `dist/` of a folder, by default its own: modules for any platform, and
 * their types.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import { bundle, type Entry, entries, folder } from "./entries.ts"
import { writeTypes } from "./generate.ts"

export const buildPackage = async (target: string): Promise<void> => {
  const dist = path.join(target, "dist")
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  for (const { code, fileName } of await bundle(Object.keys(entries) as Array<Entry>)) {
    writeFileSync(path.join(dist, fileName), code)
  }
  writeTypes()
  const tsc = path.resolve(folder, "../../node_modules/typescript/bin/tsc")
  const types = [
    "--noEmit",
    "false",
    "--incremental",
    "false",
    "--declaration",
    "--emitDeclarationOnly",
  ]
  execFileSync(
    process.execPath,
    [
      tsc,
      "-p",
      folder,
      ...types,
      "--rewriteRelativeImportExtensions",
      "--outDir",
      path.join(dist, "types"),
    ],
    { stdio: "inherit" },
  )
}

if (import.meta.main) await buildPackage(folder)
