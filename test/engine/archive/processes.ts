/** Finds the processes of jobs. */
import { readdir, readFile } from "node:fs/promises"

/** The process that does a job for `host`: the child of its shell. */
export const workerOf = async (host: number): Promise<number> => {
  for (const shell of await childrenOf(host)) {
    for (const child of await childrenOf(shell)) return child
  }
  throw new Error("no job is running")
}

/** By what each process says of its parent: the list that the system keeps of children may miss some. */
const childrenOf = async (pid: number): Promise<ReadonlyArray<number>> => {
  const children: Array<number> = []
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue
    const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => "")
    if (new RegExp(`^PPid:\t${pid}$`, "m").test(status)) children.push(Number(name))
  }
  return children
}
