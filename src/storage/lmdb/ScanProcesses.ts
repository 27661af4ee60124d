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
import type { Socket } from "node:net"
import { createInterface, type Interface } from "node:readline"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { ScanListener, type ScanOutcome, scanArguments } from "./ScanOutcome.ts"
import type { ScanOptions } from "./scan.ts"

export type OnScanning = (done: number, total: number) => void

class ScanChild {
  readonly process = spawn(process.execPath, scanArguments({ folders: [], whole: true }), {
    stdio: ["pipe", "pipe", "ignore"],
  })
  readonly lines: Interface
  #end: NodeJS.Timeout | undefined

  constructor() {
    this.lines = createInterface({ input: this.process.stdout })
    // The end of the process reports the same error.
    this.process.on("error", () => {})
    this.process.stdin.on("error", () => {})
  }

  begin({ folder, whole }: ScanOptions): void {
    clearTimeout(this.#end)
    for (const each of this.#handles) each.ref()
    this.process.stdin.write(`${JSON.stringify({ folders: [folder], whole })}\n`)
  }

  /** Waits for another scan. Calls `over` and ends the child if none comes. */
  rest(over: () => void): void {
    this.#end = setTimeout(() => {
      over()
      this.kill()
    }, limits.scanIdleMs).unref()
    for (const each of this.#handles) each.unref()
  }

  kill(): void {
    this.process.kill("SIGKILL")
  }

  get #handles() {
    return [this.process, this.process.stdin as Socket, this.process.stdout as Socket]
  }
}

const waiting = new Set<ScanChild>()

const take = (): ScanChild => {
  for (const child of waiting) {
    waiting.delete(child)
    if (child.process.exitCode === null && child.process.signalCode === null) return child
  }
  return new ScanChild()
}

/** Scans an existing database in a child process. */
export const runScan = (
  options: ScanOptions,
  onScanning: OnScanning = () => {},
): Effect.Effect<ScanOutcome> =>
  Effect.callback((resume) => {
    const child = take()
    const silence = setTimeout(() => child.kill(), limits.workerSilenceMs)
    const listener = new ScanListener(options.folder)
    const end = (outcome: ScanOutcome): void => {
      clearTimeout(silence)
      child.lines.off("line", hear)
      child.process.off("error", failed).off("close", closed)
      if ("fault" in outcome || "failed" in outcome) child.kill()
      else {
        waiting.add(child)
        child.rest(() => waiting.delete(child))
      }
      resume(Effect.succeed(outcome))
    }
    const hear = (line: string): void => {
      silence.refresh()
      const at = listener.hear(line)
      if (at !== undefined) onScanning(at.done, at.total)
      else end(listener.ended(null, null))
    }
    const failed = ({ message }: Error): void => end({ failed: message })
    const closed = (code: number | null, signal: string | null): void =>
      end(listener.ended(code, signal))
    child.lines.on("line", hear)
    child.process.on("error", failed).on("close", closed)
    child.begin(options)
    return Effect.sync(() => {
      clearTimeout(silence)
      child.kill()
    })
  })
