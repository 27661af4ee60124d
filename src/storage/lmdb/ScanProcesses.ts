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
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { ProcessChannel } from "../Channel.ts"
import {
  type FromScan,
  type ScanArguments,
  ScanListener,
  type ScanOutcome,
  scanArguments,
} from "./ScanOutcome.ts"
import type { ScanOptions } from "./scan.ts"

export type OnScanning = (done: number, total: number) => void

type Scanner = ProcessChannel<ScanArguments, FromScan>

const waiting = new Set<Scanner>()

const take = (): Scanner => {
  for (const scanner of waiting) {
    waiting.delete(scanner)
    if (scanner.isOpen) return scanner
  }
  const node = scanArguments({ folders: [], whole: true })
  return new ProcessChannel(spawn(process.execPath, node, { stdio: ["pipe", "pipe", "ignore"] }))
}

/** Scans an existing database in a child process. */
export const runScan = (
  options: ScanOptions,
  onScanning: OnScanning = () => {},
): Effect.Effect<ScanOutcome> =>
  Effect.callback((resume) => {
    const scanner = take()
    const scan = new ScanListener(options.folder)
    const end = (outcome: ScanOutcome): void => {
      if ("fault" in outcome || "failed" in outcome) void scanner.end()
      else {
        waiting.add(scanner)
        // It ends unless another scan comes.
        scanner.listen(undefined, limits.scanIdleMs)
      }
      resume(Effect.succeed(outcome))
    }
    scanner.listen(
      {
        heard: (message) => {
          const at = scan.hear(message)
          if (at !== undefined) onScanning(at.done, at.total)
          else end(scan.ended(null, null))
        },
        ended: (code, signal, error) =>
          end(error === undefined ? scan.ended(code, signal) : { failed: error.message }),
      },
      limits.workerSilenceMs,
    )
    scanner.tell({ folders: [options.folder], whole: options.whole })
    return Effect.promise(() => scanner.end())
  })
