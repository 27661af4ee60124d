/**
 * Mutation testing: `npm run test:mutation -- [--seed N] [--count N] [--minutes N] [FOLDER…]` changes the modules of
 * the folders (by default `src/engine`, `src/storage`, `src/webhooks`) in one place at a time, in a copy of the tree,
 * and prints which changes the tests nearest to the module let through. Each of those is either no change of
 * behaviour, or a missing test. The seed is printed, and gives the same changes again.
 */
import { spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { parseArgs } from "node:util"
import { type Mutant, mutantsOf } from "./mutants.ts"
import { Tests } from "./tests.ts"

const root = path.resolve(import.meta.dirname, "../..")
/** Those of the layers above would take too long for each change. */
const testFolders = ["engine", "simulation", "storage", "webhooks"]
/** How many tests are run at least, and for how long: at first, and where those let a change through. */
const first = { least: 1, budgetMs: 5_000 }
const second = { least: 4, budgetMs: 40_000 }
const vitestMsMax = 180_000
const heapMebibytes = 3_000

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    count: { type: "string", default: "50" },
    minutes: { type: "string", default: "600" },
  },
})
const folders = positionals.length > 0 ? positionals : ["src/engine", "src/storage", "src/webhooks"]

/** A seeded generator of numbers from 0 to 1 (mulberry32). */
const generator = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

const shuffled = <A>(all: ReadonlyArray<A>, random: () => number): ReadonlyArray<A> =>
  all
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)

const filesIn = (folder: string, suffix: string): ReadonlyArray<string> =>
  fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(suffix))
    .map((name) => path.join(folder, name))
    .sort()

/** A copy of the tree to change; its `node_modules` has links to the packages, so caches are its own. */
const copyTree = (): string => {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), "laurel-mutation-"))
  for (const name of ["src", "test", "snapshots/README.md", "package.json", "README.md"]) {
    fs.cpSync(path.join(root, name), path.join(copy, name), { recursive: true })
  }
  for (const name of ["tmp", "node_modules"]) fs.mkdirSync(path.join(copy, name))
  for (const name of fs.readdirSync(path.join(root, "node_modules"))) {
    if (name === ".cache" || name === ".vite") continue
    fs.symlinkSync(path.join(root, "node_modules", name), path.join(copy, "node_modules", name))
  }
  return copy
}

interface Ended {
  /** Of vitest; `null` where its time was over. */
  readonly code: number | null
  readonly output: string
}

/** Runs vitest in the copy; all that it has started ends with it. */
const vitest = (...args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((ended) => {
    const all = ["run", "--config", "test/vitest.config.ts", "--maxWorkers", "1", ...args]
    const program = path.join(root, "node_modules/vitest/vitest.mjs")
    const env = {
      ...process.env,
      NODE_OPTIONS: `--max-old-space-size=${heapMebibytes}`,
      // The remains of a run that was cut off go with the copy.
      TMPDIR: path.resolve("tmp"),
    }
    const child = spawn(process.execPath, [program, ...all], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env,
    })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-100_000)
      })
    }
    const end = () => {
      try {
        process.kill(-child.pid!, "SIGKILL")
      } catch {
        // It has ended with all of its processes.
      }
    }
    const timer = setTimeout(end, vitestMsMax)
    child.on("close", (code) => {
      clearTimeout(timer)
      end()
      ended({ code, output })
    })
  })

/** The test files that pass, and how long each takes. */
const baseline = async (): Promise<ReadonlyMap<string, number>> => {
  const ms = new Map<string, number>()
  const file = path.resolve("baseline.json")
  for (const folder of testFolders) {
    fs.rmSync(file, { force: true })
    await vitest(`test/${folder}/`, "--reporter", "json", "--outputFile", file)
    if (!fs.existsSync(file)) continue
    const { testResults } = JSON.parse(fs.readFileSync(file, "utf8"))
    for (const { endTime, name, startTime, status } of testResults) {
      const test = path.relative(process.cwd(), name)
      if (status === "passed") ms.set(test, endTime - startTime)
      else console.log(`left out, since it fails without a change: ${test}`)
    }
  }
  return ms
}

type Verdict = "killed" | "timeout" | "survived"

/** Runs the nearest tests, and more of them where those let the change through. */
const judge = async (mutant: Mutant, tests: Tests): Promise<Verdict> => {
  const source = fs.readFileSync(mutant.file, "utf8")
  fs.writeFileSync(
    mutant.file,
    `${source.slice(0, mutant.start)}${mutant.after}${source.slice(mutant.end)}`,
  )
  try {
    const few = tests.of(mutant.file, first.least, first.budgetMs)
    const more = tests
      .of(mutant.file, second.least, second.budgetMs)
      .filter((test) => !few.includes(test))
    for (const some of [few, more]) {
      if (some.length === 0) continue
      const { code } = await vitest("--bail", "1", "--testTimeout", "30000", ...some)
      if (code === null) return "timeout"
      if (code !== 0) return "killed"
    }
    return "survived"
  } finally {
    fs.writeFileSync(mutant.file, source)
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").slice(0, 100)

const copy = copyTree()
process.on("exit", () => fs.rmSync(copy, { recursive: true, force: true }))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1))
process.chdir(copy)

const seed = Number(values.seed)
const until = Date.now() + Number(values.minutes) * 60_000
const modules = folders.flatMap((folder) => filesIn(folder, ".ts"))
const all = modules.flatMap((file) => mutantsOf(file, fs.readFileSync(file, "utf8")))
const sample = shuffled(all, generator(seed)).slice(0, Number(values.count))
console.log(`seed ${seed}: ${sample.length} of ${all.length} changes in ${modules.length} modules`)

const tests = new Tests(await baseline())
const counts: Record<Verdict, number> = { killed: 0, timeout: 0, survived: 0 }
for (const mutant of sample) {
  if (Date.now() > until) break
  const verdict = await judge(mutant, tests)
  counts[verdict]++
  const { after, before, file, line, rule } = mutant
  console.log(
    `${verdict.padEnd(8)} ${file}:${line} ${rule}: ${oneLine(before)} → ${oneLine(after)}`,
  )
}
console.log(JSON.stringify({ seed, ...counts }))
