/**
 * The process of scans: takes options as an argument, then as lines of its input until that ends,
 * and prints progress and result of one database after the other as lines (`ScanOutcome`). A
 * damaged database may end it by a signal.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { createInterface } from "node:readline"
import { DamagedDatabase } from "./PageCheck.ts"
import type { FromScan, ScanArguments } from "./ScanOutcome.ts"
import { scan } from "./scan.ts"

const say = (message: FromScan): void => {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

/** LMDB's own codes; all others are the system's. */
const isLmdb = (code: unknown): boolean => typeof code === "number" && code < 0

/** A child of its own for each folder would cost more than the scan of a small database. */
const scanAll = async (options: string): Promise<void> => {
  const { folders, whole } = JSON.parse(options) as ScanArguments
  for (const folder of folders) {
    try {
      say({ scanned: await scan({ folder, whole }, (at) => say({ at })) })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (error instanceof DamagedDatabase) say({ fault: message })
      else if (isLmdb(code) || code === undefined) say({ thrown: message })
      else say({ failed: message })
    }
  }
}

await scanAll(process.argv[2]!)
flushCompileCache()
for await (const line of createInterface({ input: process.stdin })) await scanAll(line)
// By a signal: after reading, an orderly exit of Node has hung for ever, joining a thread of its
// own. All is said by now.
process.kill(process.pid, "SIGKILL")
