/**
 * Loaded into the server with `--import`: at SIGUSR2 it writes the longest turn of the event loop
 * since the last one to the file that `LONGEST_TURN_FILE` names, as JSON: by the clock, which also
 * counts while the machine runs something else, and in processor time of the thread. Both include
 * up to `everyMs` of what ran before. Only the server itself does so, not what it starts.
 *
 * It looks in each iteration of the loop that happens anyway. A timer would wake the server, which
 * costs more than the look.
 */
import { renameSync, writeFileSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

const everyMs = 2
const file = process.env.LONGEST_TURN_FILE
if (isMainThread && file !== undefined && process.argv.includes("serve")) {
  const look = () => {
    // Linux counts a running thread's time up to now for this call only; else it may be 4 ms old.
    process.cpuUsage()
    const { system, user } = process.threadCpuUsage()
    const { idleTime } = performance.nodeTiming
    return { at: performance.now(), idleMs: idleTime, processorMs: (system + user) / 1_000 }
  }
  let longest = { clockMs: 0, processorMs: 0 }
  let last = look()
  const turn = () => {
    // Without a reference the loop still waits for events, and calls back once it has some.
    setImmediate(turn).unref()
    if (performance.now() - last.at < everyMs) return
    const now = look()
    longest = {
      clockMs: Math.max(longest.clockMs, now.at - last.at - (now.idleMs - last.idleMs)),
      processorMs: Math.max(longest.processorMs, now.processorMs - last.processorMs),
    }
    last = now
  }
  turn()
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.new`, JSON.stringify(longest))
    renameSync(`${file}.new`, file)
    longest = { clockMs: 0, processorMs: 0 }
  })
}
