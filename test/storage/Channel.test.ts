/** The channel to a process of its own. */
import { spawn } from "node:child_process"
import { expect, it } from "vitest"
import { ProcessChannel } from "../../src/storage/Channel.ts"

const started = () =>
  new ProcessChannel<string, string>(
    spawn(process.execPath, ["-e", "process.stdin.resume()"], {
      stdio: ["pipe", "pipe", "ignore"],
    }),
  )

it("A process that was killed takes no orders, also before its end is reported", async () => {
  const channel = started()
  const ended = new Promise<string | null>((resolve) =>
    channel.listen({ heard: () => {}, ended: (_, signal) => resolve(signal) }),
  )
  expect(channel.isOpen).toBe(true)
  channel.kill()
  expect(channel.isOpen).toBe(false)
  expect(await ended).toBe("SIGKILL")
})
