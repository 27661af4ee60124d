/**
 * The process that a server leaves behind when it was ended by a signal (`WorkerHost`), as LMDB ends it at a damaged page:
 * scans the database and says what is damaged; else it is silent. It changes nothing, and loads nothing of Effect, so
 * that the end of a server whose database is whole costs little.
 */
import { spawnSync } from "node:child_process"
import path from "node:path"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { ScanListener, scanArguments } from "../../storage/lmdb/ScanOutcome.ts"

const folder = path.join(process.argv[2]!, "live")
const options = { folder, whole: true, exclusive: false }
const { signal, status, stdout } = spawnSync(process.execPath, scanArguments(options), {
  encoding: "utf8",
  maxBuffer: Number.POSITIVE_INFINITY,
  stdio: ["ignore", "pipe", "ignore"],
})
const listener = new ScanListener(folder)
for (const line of stdout.split("\n")) if (line !== "") listener.hear(line)
const outcome = listener.ended(status, signal)
if ("fault" in outcome)
  console.error(`laurel: The server has ended. ${outcome.fault}. ${rebuildHint}.`)
