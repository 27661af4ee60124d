/** A process that stands still, as in a virtual machine that is suspended, while the disk has work of it. */
import { rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { Server, temporaryFolder } from "./program.ts"

/** Longer than the deadline that the hook sets. */
const standstillMs = 4_000
const hook = resolve(import.meta.dirname, "heldDisk.ts")

const event = (id: string) => ({ userId: "u1", action: "TAP", id })

const serverWithHeldDisk = async () => {
  const folder = await temporaryFolder()
  const held = join(await temporaryFolder(), "held")
  const server = await Server.start(folder, {
    NODE_OPTIONS: `--import=${hook}`,
    HELD_CALL: held,
    LAUREL_SNAPSHOT_INTERVAL: "1 second",
    LAUREL_ARCHIVE_INTERVAL: "off",
  })
  const key = await server.createKey()
  const send = (id: string) => server.request(key, "POST", "/v1/events", event(id))
  expect((await send("first")).status).toBe(200)
  return { held, send, server }
}

const standStill = async (server: Server) => {
  server.process.kill("SIGSTOP")
  await setTimeout(standstillMs)
}

describe("A server that stands still for longer than a write may take", () => {
  it("with a commit at the disk answers it, and all that follows", async () => {
    const { held, send, server } = await serverWithHeldDisk()
    await writeFile(held, "writev")
    const second = send("second")
    await server.stderr.waitFor(/held writev/)
    await standStill(server)
    await rm(held)
    server.process.kill("SIGCONT")
    expect((await second).body).toMatchObject({ duplicate: false })
    expect((await send("second")).body).toMatchObject({ duplicate: true })
    expect(await server.stop()).toBe(0)
  })

  it("with a snapshot on its way to the disk continues", async () => {
    const { held, send, server } = await serverWithHeldDisk()
    await writeFile(held, "statfs")
    expect((await send("second")).status).toBe(200)
    await server.stderr.waitFor(/held statfs/)
    await standStill(server)
    await rm(held)
    server.process.kill("SIGCONT")
    expect((await send("third")).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })

  it("and whose disk does not answer afterwards either ends with 74", async () => {
    const { held, send, server } = await serverWithHeldDisk()
    await writeFile(held, "writev")
    const second = send("second").catch(() => "no reply")
    await server.stderr.waitFor(/held writev/)
    await standStill(server)
    server.process.kill("SIGCONT")
    expect(await server.ended).toBe(74)
    expect(await second).toBe("no reply")
  })
})
