/**
 * Loaded into the server with `--import`: at SIGUSR2 it writes the longest turn of the event loop
 * since the last one to the file that `LONGEST_TURN_FILE` names, as JSON: by the clock, which also
 * counts while the machine runs something else, and in processor time of the thread. Both include
 * up to `everyMs` of what ran before. Only the server itself does so, not what it starts.
 */
import { renameSync, writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const everyMs = 2
const file = process.env.LONGEST_TURN_FILE
if (isMainThread && file !== undefined && process.argv.includes("serve")) {
  const processorMs = () => {
    // Linux counts a running thread's time up to now for this call only; else it may be 4 ms old.
    process.cpuUsage()
    const { system, user } = process.threadCpuUsage()
    return (system + user) / 1_000
  }
  let longest = { clockMs: 0, processorMs: 0 }
  let last = { clockMs: performance.now(), processorMs: processorMs() }
  setInterval(() => {
    const now = { clockMs: performance.now(), processorMs: processorMs() }
    longest = {
      clockMs: Math.max(longest.clockMs, now.clockMs - last.clockMs - everyMs),
      processorMs: Math.max(longest.processorMs, now.processorMs - last.processorMs),
    }
    last = now
  }, everyMs).unref()
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.new`, JSON.stringify(longest))
    renameSync(`${file}.new`, file)
    longest = { clockMs: 0, processorMs: 0 }
  })
}
