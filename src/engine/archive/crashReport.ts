/**
 * Runs after a signal has ended a server (`WorkerHost`), as LMDB does at a damaged page: scans the database and prints the
 * damage, or nothing. It changes nothing, and loads nothing of Effect, so that it costs little if
 * the database is whole.
 */
import { spawnSync } from "node:child_process"
import path from "node:path"
import { limits } from "../../Limits.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { ScanListener, scanArguments } from "../../storage/lmdb/ScanOutcome.ts"

const folder = path.join(process.argv[2]!, "live")
const options = { folder, whole: true }
const { signal, status, stdout } = spawnSync(process.execPath, scanArguments(options), {
  encoding: "utf8",
  maxBuffer: Number.POSITIVE_INFINITY,
  stdio: ["ignore", "pipe", "ignore"],
  // The server's standard error stays open until then, and a supervisor may wait for its end.
  timeout: limits.crashScanMs,
  killSignal: "SIGKILL",
})
const listener = new ScanListener(folder)
for (const line of stdout.split("\n")) if (line !== "") listener.hear(line)
const outcome = listener.ended(status, signal)
if ("fault" in outcome)
  console.error(`laurel: The server has ended. ${outcome.fault}. ${rebuildHint}.`)
