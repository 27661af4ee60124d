/** Where and on what a bench ran, so that its numbers can be compared. */
import { execFileSync } from "node:child_process"
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { availableParallelism, cpus, tmpdir, totalmem } from "node:os"
import path from "node:path"

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly node: string
  /** Time to append 4 KiB to a file of the temporary folder and flush them, in microseconds. */
  readonly flushUs: { readonly p50: number; readonly p99: number }
  /**
   * The share of the processors' time that other processes took, the largest in the seconds before
   * the benches; `undefined` where it was not measured.
   */
  readonly busyPercent?: number
  /** Abbreviated hash; with `+` if the working tree has changes. */
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

const flushes = 300

const measureFlush = (): Machine["flushUs"] => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-flush-"))
  try {
    const file = openSync(path.join(folder, "file"), "w")
    const bytes = Buffer.alloc(4_096, 0x61)
    const times = Float64Array.from({ length: flushes }, () => {
      const startedAt = performance.now()
      writeSync(file, bytes)
      fdatasyncSync(file)
      return (performance.now() - startedAt) * 1_000
    }).sort()
    closeSync(file)
    const at = (share: number) => Math.round(times[Math.floor(flushes * share)]!)
    return { p50: at(0.5), p99: at(0.99) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const describeMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  flushUs: measureFlush(),
  commit: commit(),
})

const sampleMs = 1_000

/**
 * The share of the processors' time that all processes use now, while this process is idle. It
 * excludes time stolen by other machines.
 */
export const sampleBusyPercent = async (): Promise<number> => {
  const sum = () => {
    const times = cpus().map((cpu) => cpu.times)
    const idle = times.reduce((total, each) => total + each.idle, 0)
    const all = times.reduce(
      (total, { idle, irq, nice, sys, user }) => total + idle + irq + nice + sys + user,
      0,
    )
    return { idle, all }
  }
  const before = sum()
  await new Promise((resolve) => setTimeout(resolve, sampleMs))
  const after = sum()
  const all = after.all - before.all
  return all === 0 ? 0 : Math.max(0, (1 - (after.idle - before.idle) / all) * 100)
}

/** From this share on, the machine counts as busy. */
const busyPercentMax = 10

/** A warning that other processes used the machine; empty if it was idle or not measured. */
export const busyWarning = ({ busyPercent = 0 }: Pick<Machine, "busyPercent">): string =>
  busyPercent > busyPercentMax
    ? `The machine was busy: other processes took up to ${Math.round(busyPercent)} % of the processors.`
    : ""

export const formatMachine = (machine: Machine): string =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ` +
  `write and fdatasync ${machine.flushUs.p50} µs (99 %: ${machine.flushUs.p99}); ` +
  `Node ${machine.node}; commit ${machine.commit}`
