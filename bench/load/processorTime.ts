/**
 * Processor time and memory of processes, with all their threads and children, from Linux's /proc.
 */
import { readFileSync } from "node:fs"
import { familyOf, hasProc, statOf } from "./family.ts"

/** Clock ticks are hundredths of a second on every Linux that Node runs on. */
const microsecondsPerTick = 10_000

/** Processor time so far of all threads of the processes and their descendants, in microseconds. */
export const processorUs = (roots: ReadonlyArray<number>): number => {
  if (!hasProc || roots.length === 0) return Number.NaN
  const ticks = roots.flatMap(familyOf).map((pid) => {
    const stat = statOf(pid)
    return stat === undefined ? 0 : stat.ownTicks + stat.endedTicks
  })
  return ticks.reduce((sum, each) => sum + each, 0) * microsecondsPerTick
}

/**
 * Private memory of the processes and their descendants, in bytes: pages of files, as LMDB maps
 * them, do not count.
 */
export const anonymousBytes = (roots: ReadonlyArray<number>): number => {
  if (!hasProc || roots.length === 0) return Number.NaN
  const kibibytes = roots.flatMap(familyOf).map((pid) => {
    try {
      return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
    } catch {
      return 0
    }
  })
  return kibibytes.reduce((sum, each) => sum + each, 0) * 1_024
}
