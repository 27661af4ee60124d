/**
 * Records the present `/openapi.json` (`npm run golden:openapi`) and prints the changes since the recorded one. Incompatible
 * changes are recorded with `-- --incompatible` only.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { judge, presentDocument, textOf } from "./judge.ts"

const file = `${import.meta.dirname}/recorded.json`
const present = presentDocument()
const { compatible, incompatible } = await judge(JSON.parse(readFileSync(file, "utf8")), present)
for (const line of incompatible) console.log(`incompatible  ${line}`)
for (const line of compatible) console.log(`compatible    ${line}`)
if (incompatible.length > 0 && !process.argv.includes("--incompatible")) {
  console.error(
    "Nothing was recorded: incompatible changes need `-- --incompatible`, see .github/VERSIONS.md.",
  )
  process.exit(1)
}
writeFileSync(file, textOf(present))
