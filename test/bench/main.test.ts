import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { describe, expect, it } from "vitest"

const main = path.resolve(import.meta.dirname, "../../bench/main.ts")
const run = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [main, ...args], { encoding: "utf8" })

describe("npm run bench", () => {
  it("ends with 64 where the command line is wrong", () => {
    const { status, stderr, stdout } = run("nothing")
    expect([status, stdout]).toEqual([64, ""])
    expect(stderr).toMatch(/^No bench is called nothing\.\n\nnpm run bench/)
  })

  it("says what it does, and which bench runs in full in spite of --quick", () => {
    const { stderr, stdout } = run("asks", "--quick")
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d {2}1 of 1: asks$/m)
    expect(stderr).not.toContain("does not heed")
    expect(stdout).toMatch(/^asks: 64 callers, one at a time each /m)
  })

  it("goes on after a bench that failed, names each that did, and ends with 1", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "laurel-bench-test-"))
    try {
      const json = path.join(folder, "results.json")
      // A port that no client may use.
      const target = ["--url", "http://127.0.0.1:1", "--key", "none"]
      const { status, stderr } = run("single", "zipf", ...target, "--json", json)
      expect(status).toBe(1)
      expect(stderr).toMatch(/^single failed: .*fetch failed/m)
      expect(stderr).toMatch(/^Failed: single, zipf$/m)
      expect(JSON.parse(readFileSync(json, "utf8"))).toMatchObject({ lines: [] })
      // The key is a secret.
      expect(readFileSync(json, "utf8")).not.toContain("none")
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
