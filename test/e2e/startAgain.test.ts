/** The V8 options of a server fit the memory of its machine, with each starter. */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, it } from "vitest"

const source = resolve(import.meta.dirname, "../../src")
const mebibyte = 1024 ** 2

/** Node prints its options of V8's heap, once it has a young generation, and ends. */
const tellsOptions = `
  const own = process.execArgv.filter((option) => /semi-space-size|growing|external/.test(option))
  if (own.some((option) => option.includes("semi-space-size"))) {
    console.log(own.join(" "))
    process.exit()
  }
`

/** Runs a starter in a machine or container with so much memory. */
const run = (
  starter: string,
  memory: number,
  args = ["serve", "--help"],
  options = "",
  nodeArgs: ReadonlyArray<string> = [],
) => {
  const preload = `process.constrainedMemory = () => ${memory}; ${tellsOptions}`
  // In base64: the names of the options must not appear in NODE_OPTIONS.
  const url = `data:text/javascript;base64,${Buffer.from(preload).toString("base64")}`
  const NODE_OPTIONS = `--import ${url} ${options}`
  const [program, ...before] = starter.endsWith(".sh") ? ["sh"] : [process.execPath, ...nodeArgs]
  const { stdout } = spawnSync(program!, [...before, resolve(source, starter), ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, NODE_OPTIONS },
  })
  return stdout.trim()
}
const sizesOf = (mebibytes: number) =>
  `--max-semi-space-size=${mebibytes} --min-semi-space-size=${mebibytes}`
const optionsOf = (mebibytes: number) =>
  mebibytes < 64
    ? sizesOf(mebibytes)
    : `${sizesOf(mebibytes)} --heap-growing-percent=100 --external-memory-accounted-in-global-limit`

describe("A server's heap", () => {
  it.each([
    [512, 8],
    [1_024, 16],
    [2_047, 16],
    [2_048, 32],
    [4_096, 64],
    [65_536, 64],
  ])(
    "suits a memory of %i MiB with semi-spaces of %i MiB, and from 64 MiB on with fewer full collections, by each starter",
    (memory, expected) => {
      expect(run("laurel.js", memory * mebibyte)).toBe(optionsOf(expected))
      expect(run("laurel.sh", memory * mebibyte)).toBe(optionsOf(expected))
    },
  )

  it("is the same without a command, which serves, too", () => {
    expect(run("laurel.sh", 4_096 * mebibyte, [])).toBe(optionsOf(64))
  })

  it("has a young generation that is a small part, if it is small", () => {
    const small = run("laurel.js", 65_536 * mebibyte, undefined, "--max-old-space-size=64")
    expect(small).toBe(optionsOf(8))
  })

  it("has no such options if an operator gives one, nor in another command", () => {
    const given = "--max-semi-space-size=24"
    expect(run("laurel.sh", 4_096 * mebibyte, undefined, given)).toMatch(/^DESCRIPTION/)
    expect(run("laurel.sh", 4_096 * mebibyte, ["keys", "--help"])).toMatch(/^DESCRIPTION/)
  })

  it("keeps the growth that an operator gives", () => {
    const growth = "--heap-growing-percent=50"
    expect(run("laurel.js", 4_096 * mebibyte, undefined, "", [growth])).toBe(
      `${growth} ${sizesOf(64)} --external-memory-accounted-in-global-limit`,
    )
  })

  it("has a larger young generation than those of its threads", () => {
    const script = `
      import { getHeapStatistics } from "node:v8"
      import { Worker } from "node:worker_threads"
      await import(${JSON.stringify(pathToFileURL(resolve(source, "startAgain.js")).href)})
      const tell = 'import { getHeapStatistics } from "node:v8";'
        + 'import { parentPort } from "node:worker_threads";'
        + 'parentPort.postMessage(getHeapStatistics().heap_size_limit)'
      const resourceLimits = { maxYoungGenerationSizeMb: 8 }
      new Worker(new URL("data:text/javascript," + tell), { resourceLimits }).on("message", (bytes) => {
        console.log((getHeapStatistics().heap_size_limit - bytes) / 2 ** 20)
      })
    `
    const options = [...sizesOf(64).split(" "), "--max-old-space-size=512"]
    const { stdout } = spawnSync(
      process.execPath,
      [...options, "--input-type=module", "--eval", script],
      { encoding: "utf8" },
    )
    expect(Number(stdout)).toBeGreaterThan(150)
  })
})
