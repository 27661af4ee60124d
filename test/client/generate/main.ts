/** Writes the generated files of the client; with `--check` it only says whether they are up to date. */
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { printClient } from "./print.ts"

const folder = path.resolve(import.meta.dirname, "../../../src/client/generated")

for (const [name, text] of Object.entries(printClient())) {
  const file = path.join(folder, name)
  if (!process.argv.includes("--check")) writeFileSync(file, text)
  else if (readFileSync(file, "utf8") !== text) {
    console.error(
      `${path.relative(process.cwd(), file)} is out of date: run npm run client:generate`,
    )
    process.exitCode = 1
  }
}
