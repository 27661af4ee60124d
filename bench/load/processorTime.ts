/** Processor time and memory of processes, with all their threads and children, from Linux's /proc. */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"

/** Clock ticks are hundredths of a second on every Linux that Node runs on. */
const microsecondsPerTick = 10_000

interface Stat {
  readonly parent: number
  readonly ownTicks: number
  /** Of children that ended and were waited for. */
  readonly endedTicks: number
}

const statOf = (pid: number): Stat | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name before it may hold spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(") ") + 2).split(" ")
    const number = (place: number) => Number(fields[place])
    return {
      parent: number(1),
      ownTicks: number(11) + number(12),
      endedTicks: number(13) + number(14),
    }
  } catch {
    return undefined
  }
}

/** Whether this machine has /proc: without it, costs are left out. */
export const hasProc = existsSync("/proc/self/stat")

/** A process and all that descend from it. */
export const familyOf = (root: number): ReadonlyArray<number> => {
  const children = new Map<number, Array<number>>()
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? statOf(Number(name))?.parent : undefined
    if (parent === undefined) continue
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [Number(name)])
    else siblings.push(Number(name))
  }
  const family = [root]
  // Grows while it is walked.
  for (const pid of family) family.push(...(children.get(pid) ?? []))
  return family
}

/** Processor time so far of all threads of the processes and their descendants, in microseconds. */
export const processorUs = (roots: ReadonlyArray<number>): number => {
  if (!hasProc || roots.length === 0) return Number.NaN
  const ticks = roots.flatMap(familyOf).map((pid) => {
    const stat = statOf(pid)
    return stat === undefined ? 0 : stat.ownTicks + stat.endedTicks
  })
  return ticks.reduce((sum, each) => sum + each, 0) * microsecondsPerTick
}

/** Binds all threads of the processes and their descendants to the first core; so are those that they start later. */
export const pinToOneCore = (roots: ReadonlyArray<number>): void => {
  for (const pid of roots.flatMap(familyOf)) {
    execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", "0", String(pid)], {
      stdio: "ignore",
    })
  }
}

/** Private memory of the processes and their descendants, in bytes: pages of files, as LMDB maps them, do not count. */
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
