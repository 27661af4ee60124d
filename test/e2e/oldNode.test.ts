/** A Node that cannot run Laurel is refused in one sentence. */
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
  it("is refused in one sentence", () => {
    const { status, stderr, stdout } = runAs("25.9.0", "laurel.js", "--version")
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

describe("a Node that does not start", () => {
  it("is named with what it needs, as by npm start", () => {
    const { status, stderr } = spawnSync("/bin/sh", [resolve(source, "laurel.sh"), "--version"], {
      encoding: "utf8",
      // No program is there, as where the loader finds no library of it.
      env: { PATH: "/nowhere" },
    })
    expect(stderr).toMatch(
      /^laurel: the Node 26 that npm installed does not start .* libatomic1\n$/,
    )
    expect(status).toBe(69)
  })

  it("is not claimed of one that does", () => {
    const { status, stdout } = spawnSync("sh", [resolve(source, "laurel.sh"), "--version"], {
      encoding: "utf8",
    })
    expect(stdout).toMatch(/^laurel v\d/)
    expect(status).toBe(0)
  })
})
