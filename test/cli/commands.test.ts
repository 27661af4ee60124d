/** The help for tests that run commands. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { waitMs } from "../waitMs.ts"
import { commandEnd, endedWithin } from "./commands.ts"

describe("A command that a test waits for", () => {
  it("fails the test with its output so far if it takes too long, and not otherwise", async () => {
    let output = ""
    const never = endedWithin(20, new Promise<never>(() => {}), () => `late: ${output}`)
    output = "half"
    await expect(never).rejects.toThrow("late: half")
    expect(await endedWithin(waitMs, Promise.resolve(7), () => output)).toBe(7)
    const failed = Promise.reject(new Error("its own failure"))
    await expect(endedWithin(waitMs, failed, () => output)).rejects.toThrow("its own failure")
  })

  it("is interrupted then, and gives the console back", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1")
    onTestFinished(() => {
      silent.closeAllConnections()
      silent.close()
    })
    await once(silent, "listening")
    const { port } = silent.address() as AddressInfo
    const at = ["--url", `http://127.0.0.1:${port}/`, "--key", "lk_test_key"]
    const ended = commandEnd(["listen", ...at, "--forward-to", "3000"], "/nowhere", 20)
    await expect(ended).rejects.toThrow(/^laurel listen .* has not ended after 20 ms:\n/)
    await vi.waitFor(() => expect(vi.isMockFunction(console.log)).toBe(false), waitMs)
  })
})
