/**
 * For a process with a limit on address space (`ulimit -v`). If the limit is too low, ends the
 * process with one sentence: otherwise V8 would abort, or a thread would not start. If the limit
 * suffices, starts the process again without the 10 GiB that V8 reserves behind each memory of
 * WebAssembly, also for the processes that it starts. In JavaScript, and before all other files,
 * since loading takes address space as well.
 */
import { readFileSync } from "node:fs"

const gibibyte = 1024 ** 3
const bytesMin = 12 * gibibyte
const misconfigured = 78
const withoutReserve = "--disable-wasm-trap-handler"

const limitBytes = () => {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1")
    return Number(/^Max address space +(\d+) /m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    // Only Linux reports the limit.
    return Number.POSITIVE_INFINITY
  }
}

const bytes = limitBytes()
if (bytes < bytesMin) {
  console.error(
    `laurel: The limit on address space (ulimit -v) is ${(bytes / gibibyte).toFixed(1)} GiB, and Laurel needs ${bytesMin / gibibyte} GiB, most of which is only reserved. Raise or remove the limit.`,
  )
  process.exit(misconfigured)
}
const { NODE_OPTIONS = "" } = process.env
if (bytes !== Number.POSITIVE_INFINITY && !NODE_OPTIONS.includes(withoutReserve)) {
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, {
    ...process.env,
    NODE_OPTIONS: `${NODE_OPTIONS} ${withoutReserve}`,
  })
}
