/**
 * `npm run test:advisories`: whether the registry knows an advisory about a package of the lock file. Fails on any. Where the registry
 * does not answer, says that nothing was scanned, and does not fail: a build without a network stays possible.
 */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { scanOf } from "./advisories.ts"

const { error, stdout } = spawnSync(
  "npm",
  ["audit", "--json", "--package-lock-only", "--fetch-retries=0", "--fetch-timeout=20000"],
  { cwd: resolve(import.meta.dirname, "../.."), encoding: "utf8", maxBuffer: 64 * 1_024 * 1_024 },
)
const { lines, outcome } = scanOf(
  error === undefined ? stdout : JSON.stringify({ message: error.message }),
)
const words = {
  clean: "No advisory is about a package of the lock file.",
  vulnerable: "Advisories about packages of the lock file:",
  skipped: "SKIPPED: the lock file was not compared with advisories.",
}
process.stdout.write(`${[words[outcome], ...lines].join("\n")}\n`)
process.exit(outcome === "vulnerable" ? 1 : 0)
