/**
 * Scans of databases in child processes (`scanProcess.ts`), one database at a time in each. A child
 * that has scanned a sound database takes the next one, and ends after `scanIdleMs` without any:
 * starting Node costs more than the scan of a small database, and a server of a cluster opens 16. A
 * child that found damage, or failed, is not used again.
 *
 * The children that wait belong to the process. They do not keep it alive, and end with it, since
 * their input ends.
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
    // Its end tells of the same.
    this.process.on("error", () => {})
    this.process.stdin.on("error", () => {})
  }

  begin({ folder, whole }: ScanOptions): void {
    clearTimeout(this.#end)
    for (const each of this.#handles) each.ref()
    this.process.stdin.write(`${JSON.stringify({ folders: [folder], whole })}\n`)
  }

  /** Waits for another scan; `over` is called where there is none. */
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
