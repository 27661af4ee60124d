/**
 * Runs after a signal has ended a server (`WorkerHost`), as LMDB does at a damaged page: scans its
 * databases and prints the damage, or nothing. It changes nothing, and loads nothing of Effect, so
 * that it costs little if the databases are whole.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import path from "node:path"
import { limits } from "../../Limits.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { ScanListener, scanArguments } from "../../storage/lmdb/ScanOutcome.ts"

// The server's standard error stays open until then, and a supervisor may wait for its end.
const deadline = performance.now() + limits.crashScanMs

/**
 * Scans folders in one process and reports damage; returns the folders after the one that ended the
 * process.
 */
const report = (folders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { signal, status, stdout } = spawnSync(
    process.execPath,
    scanArguments({ folders, whole: true }),
    {
      encoding: "utf8",
      maxBuffer: Number.POSITIVE_INFINITY,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: Math.max(1, Math.round(deadline - performance.now())),
      killSignal: "SIGKILL",
    },
  )
  const lines = stdout.split("\n").filter((line) => line !== "")
  for (const [index, folder] of folders.entries()) {
    const listener = new ScanListener(folder)
    while (!listener.isOver && lines.length > 0) listener.hear(JSON.parse(lines.shift()!))
    const isEnd = !listener.isOver
    const outcome = listener.ended(status, signal)
    if ("fault" in outcome) {
      console.error(`laurel: The server has ended. ${outcome.fault}. ${rebuildHint}.`)
    }
    // This one ended the process.
    if (isEnd) return folders.slice(index + 1)
  }
  return []
}

const directories = JSON.parse(process.argv[2]!) as ReadonlyArray<string>
// A partition may never have been here.
let rest: ReadonlyArray<string> = directories
  .map((directory) => path.join(directory, "live"))
  .filter((folder) => existsSync(folder))
while (rest.length > 0) rest = report(rest)
