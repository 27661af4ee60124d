/**
 * Writes the generated files of the client. `types.ts` is not kept in git: each check and build
 * writes it. `operations.ts` is kept, because the client loads it; with `--check` it is compared.
 */
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { printClient } from "./print.ts"

const folder = path.resolve(import.meta.dirname, "../generated")

export const writeTypes = (): void =>
  writeFileSync(path.join(folder, "types.ts"), printClient()["types.ts"])

if (import.meta.main) {
  writeTypes()
  const file = path.join(folder, "operations.ts")
  const operations = printClient()["operations.ts"]
  if (!process.argv.includes("--check")) writeFileSync(file, operations)
  else if (readFileSync(file, "utf8") !== operations) {
    console.error(
      `${path.relative(process.cwd(), file)} is out of date: run npm run client:generate`,
    )
    process.exitCode = 1
  }
}
