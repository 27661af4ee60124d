import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { familyOf, hasProc, pinToOneCore, signalFamily } from "../../../bench/load/family.ts"

/** Two shells, one within the other, that wait for their input to end. */
const startFamily = async (): Promise<ChildProcess> => {
  const child = spawn("sh", ["-c", "sh -c 'echo up; read line'; true"], { stdio: "pipe" })
  await once(child.stdout!, "data")
  return child
}

const end = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, "close")
  child.stdin!.end()
  await ended
}

const stateOf = (pid: number): string =>
  /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]!

const endedPid = async (): Promise<number> => {
  const child = await startFamily()
  const pid = familyOf(child.pid!).at(-1)!
  await end(child)
  return pid
}

describe.runIf(hasProc)("a family of processes", () => {
  it("is the process and what it started", async () => {
    const child = await startFamily()
    expect(familyOf(child.pid!)).toEqual([child.pid, expect.any(Number)])
    await end(child)
  })

  it("stops and continues as a whole", async () => {
    const child = await startFamily()
    const family = familyOf(child.pid!)
    signalFamily(child.pid!, "SIGSTOP")
    for (const pid of family) await expect.poll(() => stateOf(pid)).toBe("T")
    signalFamily(child.pid!, "SIGCONT")
    for (const pid of family) await expect.poll(() => stateOf(pid)).toBe("S")
    await end(child)
  })

  it("is signalled although one has ended since it was listed", async () => {
    const ended = await endedPid()
    const child = await startFamily()
    const family = familyOf(child.pid!)
    signalFamily(child.pid!, "SIGSTOP", () => [ended, ...family])
    for (const pid of family) await expect.poll(() => stateOf(pid)).toBe("T")
    signalFamily(child.pid!, "SIGCONT")
    await end(child)
  })

  it("is signalled with one that started after the first listing", async () => {
    const child = await startFamily()
    const [root, late] = familyOf(child.pid!)
    let listings = 0
    signalFamily(root!, "SIGSTOP", () => (listings++ === 0 ? [root!] : [root!, late!]))
    await expect.poll(() => stateOf(late!)).toBe("T")
    signalFamily(root!, "SIGCONT")
    await end(child)
  })

  it("is bound to one core, also where the process has ended", async () => {
    const child = await startFamily()
    pinToOneCore([await endedPid(), child.pid!])
    for (const pid of familyOf(child.pid!)) {
      expect(readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(/^Cpus_allowed_list:\s+0$/m)
    }
    await end(child)
  })
})
