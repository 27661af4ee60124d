/**
 * Starts the process again, in the same process id, where Node must be started with other options.
 * In JavaScript, and before all other files: loading takes time and address space as well.
 *
 * - A server gets a larger young generation, sized to the memory of the machine or container. V8
 *   copies what is alive whenever the young generation is full. What a request needs lives for a few
 *   milliseconds, so the larger the young generation is, the less of it is alive and copied. V8
 *   starts with 1 MiB and enlarges it by what survives, which is little here, so it stays small.
 *   The options of Node that an operator gives, also in `NODE_OPTIONS`, take precedence.
 * - From the largest young generation on, the old generation may double between two full
 *   collections, and buffers may grow by 30 %. Most of a server's state is in buffers, so V8's
 *   heap is small, and V8 would collect all of it, with a pause, whenever a tenth is new or 64 MiB
 *   of buffers are.
 * - A process with a limit on address space (`ulimit -v`) runs without the 10 GiB that V8 reserves
 *   behind each memory of WebAssembly, also in the processes that it starts. If the limit is too
 *   low, the process ends with one sentence: otherwise V8 would abort, or a thread would not start.
 */
import { readFileSync } from "node:fs"
import { totalmem } from "node:os"
import { getHeapStatistics, setFlagsFromString } from "node:v8"

const gibibyte = 1024 ** 3
const addressBytesMin = 12 * gibibyte
const misconfigured = 78
const withoutReserve = "--disable-wasm-trap-handler"
/** The young generation may grow to three semi-spaces: 1/21 of the memory, 3/16 of the heap. */
const memoryPerSemiSpace = 64
const heapPerSemiSpace = 16
const semiSpaceMebibytesMin = 8
const semiSpaceMebibytesMax = 64
const semiSpace = "semi-space-size"
/** Twice the heap that is alive; for buffers V8's own factor, 1.3. */
const fewerFullCollections = [
  "--heap-growing-percent=100",
  "--external-memory-accounted-in-global-limit",
]

const addressBytes = () => {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1")
    return Number(/^Max address space +(\d+) /m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    // Only Linux reports the limit.
    return Number.POSITIVE_INFINITY
  }
}

/** The size that V8 gives both semi-spaces, a power of two. */
const semiSpaceMebibytes = () => {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const heap = getHeapStatistics().heap_size_limit
  const bytes = Math.min(memory / memoryPerSemiSpace, heap / heapPerSemiSpace)
  const most = Math.min(bytes / 1024 ** 2, semiSpaceMebibytesMax)
  let mebibytes = semiSpaceMebibytesMin
  while (mebibytes * 2 <= most) mebibytes *= 2
  return mebibytes
}

const bytes = addressBytes()
if (bytes < addressBytesMin) {
  console.error(
    `laurel: The limit on address space (ulimit -v) is ${(bytes / gibibyte).toFixed(1)} GiB, and Laurel needs ${addressBytesMin / gibibyte} GiB, most of which is only reserved. Raise or remove the limit.`,
  )
  process.exit(misconfigured)
}

const { NODE_OPTIONS = "" } = process.env
const nodeOptions = []
const ownOptions = []
if (bytes !== Number.POSITIVE_INFINITY && !NODE_OPTIONS.includes(withoutReserve)) {
  nodeOptions.push(withoutReserve)
}
const given = [NODE_OPTIONS, ...process.execArgv].join(" ")
const isSized = given.includes(semiSpace)
/** @param {string} option */
const isNotGiven = (option) => !given.includes(option.replace(/^--|=.*/g, ""))
// A channel, which `node --watch` gives, would be lost, and a profiler's signals would end the
// process.
const mustStay = process.channel !== undefined || /--(cpu-)?prof/.test(given)
const [, , command = "serve"] = process.argv
if (command === "serve" && !isSized && !mustStay) {
  const size = semiSpaceMebibytes()
  ownOptions.push(`--max-${semiSpace}=${size}`, `--min-${semiSpace}=${size}`)
  if (size === semiSpaceMebibytesMax) ownOptions.push(...fewerFullCollections.filter(isNotGiven))
}
if (nodeOptions.length + ownOptions.length > 0) {
  process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, ...ownOptions, ...process.argv.slice(1)],
    { ...process.env, NODE_OPTIONS: [NODE_OPTIONS, ...nodeOptions].join(" ").trim() },
  )
}
// From here on the options would apply to threads, against the sizes that their owners give them.
if (process.execArgv.some((option) => option.includes(semiSpace))) {
  setFlagsFromString(`--max-${semiSpace}=0`)
  setFlagsFromString(`--min-${semiSpace}=0`)
}
