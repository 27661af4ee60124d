import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { expect, it } from "vitest"
import { longestTurn, longestTurnSettings } from "../../bench/longestTurn.ts"

/** At each line of its input it takes 50 ms of processor time in one turn. */
const program = `
  const spend = () => {
    const before = process.threadCpuUsage()
    let spent
    do {
      process.cpuUsage()
      spent = process.threadCpuUsage(before)
    } while (spent.user + spent.system < 50_000)
    console.log("done")
  }
  process.stdin.on("data", spend)
  console.log("up")
`

it("The longest turn is found by the clock and in processor time, and forgotten when it is read", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-turn-test-"))
  const file = path.join(folder, "turn")
  const child = spawn(process.execPath, ["-e", program, "serve"], {
    env: { ...process.env, ...longestTurnSettings(file) },
    stdio: ["pipe", "pipe", "inherit"],
  })
  try {
    await once(child.stdout, "data")
    const before = await longestTurn({ pid: child.pid! }, file)
    child.stdin.write("\n")
    await once(child.stdout, "data")
    const spent = await longestTurn({ pid: child.pid! }, file)
    expect(spent.clockMs).toBeGreaterThanOrEqual(49)
    expect(spent.processorMs).toBeGreaterThanOrEqual(49)
    expect(before).not.toEqual(spent)
    // Two questions follow each other: the second one's turns are other ones.
    expect(await longestTurn({ pid: child.pid! }, file)).not.toEqual(spent)
  } finally {
    child.kill("SIGKILL")
    rmSync(folder, { recursive: true })
  }
})
