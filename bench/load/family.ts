/**
 * A process and all that descend from it, from Linux's /proc. Each of them may end at any moment.
 */
import { type ChildProcess, execFileSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync } from "node:fs"

export interface Stat {
  readonly parent: number
  readonly ownTicks: number
  /** Of children that ended and were waited for. */
  readonly endedTicks: number
}

/** `undefined`: the process has ended. */
export const statOf = (pid: number): Stat | undefined => {
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

/**
 * Calls `act` with each member until a listing has no new one: a member may start another before
 * `act` has reached it.
 */
const withEach = (
  root: number,
  act: (pid: number) => void,
  list: (root: number) => ReadonlyArray<number>,
): void => {
  const reached = new Set<number>()
  for (let found = list(root); found.length > 0; ) {
    for (const pid of found) {
      reached.add(pid)
      try {
        act(pid)
      } catch (error) {
        if (statOf(pid) !== undefined) throw error
      }
    }
    found = list(root).filter((pid) => !reached.has(pid))
  }
}

/**
 * Sends a signal to a process and all that descend from it; one that ends meanwhile needs none.
 * Without /proc only the process gets it.
 */
export const signalFamily = (root: number, signal: NodeJS.Signals, list = familyOf): void => {
  if (hasProc) withEach(root, (pid) => process.kill(pid, signal), list)
  else process.kill(root, signal)
}

/**
 * Binds all threads of the processes and their descendants to the first core; so are those that
 * they start later.
 */
export const pinToOneCore = (roots: ReadonlyArray<number>): void => {
  const pin = (pid: number) => {
    const args = ["--all-tasks", "--cpu-list", "--pid", "0", String(pid)]
    execFileSync("taskset", args, { stdio: "ignore" })
  }
  for (const root of roots) withEach(root, pin, familyOf)
}

/** How a server of a bench ends. */
export type Ending = "in order" | "killed"

/**
 * Ends a child and waits for its end: in order by `signal`, killed with all that descend from it,
 * which else outlive it.
 */
export const endChild = async (
  child: ChildProcess,
  how: Ending,
  signal: NodeJS.Signals,
): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  if (how === "killed") signalFamily(child.pid!, "SIGKILL")
  else child.kill(signal)
  await ended
}
