/** An old Node is refused in one sentence, by the command and before the tests. */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

const source = resolve(import.meta.dirname, "../../src")

/** Runs a program under this Node, which claims to be another version. */
const runAs = (version: string, program: string, ...args: ReadonlyArray<string>) => {
  const claim = `Object.defineProperty(process.versions, "node", { value: "${version}" })`
  const preload = `data:text/javascript,${encodeURIComponent(claim)}`
  return spawnSync(process.execPath, ["--import", preload, resolve(source, program), ...args], {
    encoding: "utf8",
  })
}

describe("a Node that is too old", () => {
  it.each(["laurel.js", "requireNode.js"])("is refused by %s in one sentence", (program) => {
    const { status, stderr, stdout } = runAs("25.9.0", program, "--version")
    expect(stderr).toBe(
      "laurel: Node 26 or newer is required, and this is 25.9.0: run `npm ci`, which installs it, and start Laurel with `npm start` or `npm run laurel`\n",
    )
    expect(stdout).toBe("")
    expect(status).toBe(69)
  })

  it("is one below 26", () => {
    const { status, stdout } = runAs("26.0.0", "laurel.js", "--version")
    expect(stdout).toMatch(/^laurel v\d/)
    expect(status).toBe(0)
  })
})
