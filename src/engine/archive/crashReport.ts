/**
 * Runs after a signal has ended a server (`WorkerHost`), as LMDB does at a damaged page: scans its databases and prints the
 * damage, or nothing. It changes nothing, and loads nothing of Effect, so that it costs little if
 * the databases are whole.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import path from "node:path"
import { limits } from "../../Limits.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { ScanListener, scanArguments } from "../../storage/lmdb/ScanOutcome.ts"

// The server's standard error stays open until then, and a supervisor may wait for its end.
const deadline = performance.now() + limits.crashScanMs

const report = (folder: string): void => {
  const { signal, status, stdout } = spawnSync(
    process.execPath,
    scanArguments({ folder, whole: true }),
    {
      encoding: "utf8",
      maxBuffer: Number.POSITIVE_INFINITY,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: Math.max(1, Math.round(deadline - performance.now())),
      killSignal: "SIGKILL",
    },
  )
  const listener = new ScanListener(folder)
  for (const line of stdout.split("\n")) if (line !== "") listener.hear(line)
  const outcome = listener.ended(status, signal)
  if ("fault" in outcome) {
    console.error(`laurel: The server has ended. ${outcome.fault}. ${rebuildHint}.`)
  }
}

const directories = JSON.parse(process.argv[2]!) as ReadonlyArray<string>
for (const directory of directories) {
  const folder = path.join(directory, "live")
  // A partition may never have been here.
  if (existsSync(folder)) report(folder)
}
