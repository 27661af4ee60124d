/**
 * Scans databases in child processes (`scanProcess.ts`). A child scans one database at a time.
 * After an intact database it is reused, since starting Node costs more than the scan of a small
 * database and a server of a cluster opens 16 databases. It ends after `scanIdleMs` without a scan.
 * A child that found damage or failed is not reused.
 *
 * Idle children belong to the process. They do not keep the process alive, and they end with it,
 * since their input ends.
 */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { ProcessChannel } from "../Channel.ts"
import { keyName } from "../SealedValue.ts"
import { dataFile } from "./environment.ts"
import type { FromScan, Scanned, ScanOptions, ScanPosition } from "./scan.ts"

export type OnScanning = (done: number, total: number) => void

/**
 * `fault`: the damage, as a sentence. `failed`: the scan could not run, so the state of the
 * database is unknown.
 */
type ScanOutcome = Scanned | { readonly fault: string } | { readonly failed: string }

type Scanner = ProcessChannel<ScanOptions, FromScan>

const waiting = new Set<Scanner>()

const program = fileURLToPath(new URL("scanProcess.ts", import.meta.url))

const take = (): Scanner => {
  for (const scanner of waiting) {
    waiting.delete(scanner)
    if (scanner.isOpen) return scanner
  }
  return new ProcessChannel(
    spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "ignore"] }),
  )
}

/** Signals that can end a process when it reads a damaged or missing page. */
const signalsOfDamage = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTRAP"]

/** Scans an existing database in a child process. */
export const runScan = (
  options: ScanOptions,
  onScanning: OnScanning = () => {},
): Effect.Effect<ScanOutcome> =>
  Effect.callback((resume) => {
    const scanner = take()
    let at: ScanPosition = { table: "", done: 0, total: 0 }
    const end = (outcome: ScanOutcome): void => {
      if ("fault" in outcome || "failed" in outcome) void scanner.end()
      else {
        waiting.add(scanner)
        // It ends unless another scan comes.
        scanner.listen(undefined, limits.scanIdleMs)
      }
      resume(Effect.succeed(outcome))
    }
    const damaged = (words: string) =>
      end({ fault: `The database ${dataFile(options.folder)} is damaged: ${words}` })
    const heard = (message: FromScan): void => {
      if ("at" in message) {
        at = message.at
        onScanning(at.done, at.total)
      } else if ("scanned" in message) end(message.scanned)
      else if ("fault" in message) damaged(message.fault)
      else if ("thrown" in message) damaged(`${reading(at)} failed: ${message.thrown}`)
      else end(message)
    }
    const ended = (code: number | null, signal: string | null, error?: Error): void => {
      if (error !== undefined) end({ failed: error.message })
      else if (signal !== null && signalsOfDamage.includes(signal)) {
        damaged(`${reading(at)} ended the process that checks it by ${signal}`)
      } else end({ failed: `The process that checks the database ended with ${signal ?? code}` })
    }
    scanner.listen({ heard, ended }, limits.workerSilenceMs)
    scanner.tell(options)
    return Effect.promise(() => scanner.end())
  })

const reading = ({ after, table }: ScanPosition): string => {
  if (table === "") return "opening it"
  const where = after === undefined ? "" : `, after key ${keyName(Buffer.from(after, "hex"))},`
  return `reading table ${table}${where}`
}
