/**
 * The process that scans (`ScanProcesses.ts`). It takes options from the lines of its input until
 * the input ends. It prints the progress and the result of one database after another as lines. A
 * damaged database may end the process by a signal.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { createInterface } from "node:readline"
import { DamagedDatabase } from "./PageCheck.ts"
import { type FromScan, type ScanOptions, scan } from "./scan.ts"

const say = (message: FromScan): void => {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

/** Whether `code` is one of LMDB's own codes; all others are codes of the system. */
const isLmdb = (code: unknown): boolean => typeof code === "number" && code < 0

const report = async (options: ScanOptions): Promise<void> => {
  try {
    say({ scanned: await scan(options, (at) => say({ at })) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof DamagedDatabase) say({ fault: message })
    else if (isLmdb(code) || code === undefined) say({ thrown: message })
    else say({ failed: message })
  }
}

flushCompileCache()
for await (const line of createInterface({ input: process.stdin })) await report(JSON.parse(line))
// Ends by a signal, since a regular exit of Node has hung forever while it joined one of its
// threads. All output is written by now.
process.kill(process.pid, "SIGKILL")
