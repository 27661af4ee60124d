/** Where and on what a bench ran, so that its numbers can be compared. */
import { execFileSync } from "node:child_process"
import { availableParallelism, cpus, totalmem } from "node:os"

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly node: string
  /** Abbreviated; `+` after it: the working tree differs from it. */
  readonly commit: string
}

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, {
    cwd: import.meta.dirname,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim()

const commit = (): string => {
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no") !== ""
    return git("rev-parse", "--short", "HEAD") + (changed ? "+" : "")
  } catch {
    return "unknown"
  }
}

export const describeMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  commit: commit(),
})

export const formatMachine = (machine: Machine): string =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ` +
  `Node ${machine.node}; commit ${machine.commit}`
