/** Makes a key for the sandbox of the project `school`, writes it into .env, and applies definitions.json. */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"

const laurel = (args, env = {}) =>
  execFileSync("npx", ["laurel", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  })

let key = process.env.LAUREL_KEY
if (!key) {
  key = laurel(["keys", "create", "--project", "school", "--environment", "sandbox"]).trim()
  writeFileSync(
    ".env",
    readFileSync(".env", "utf8").replace(/^LAUREL_KEY=.*$/m, `LAUREL_KEY=${key}`),
  )
}
process.stdout.write(
  laurel(["definitions", "apply", "definitions.json", "--yes"], { LAUREL_KEY: key }),
)
