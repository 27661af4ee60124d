import { spawn } from "node:child_process"
import { request } from "node:http"
import { describe, expect, it, onTestFinished } from "vitest"
import { Output, readServerFile, root, Server, temporaryFolder } from "./program.ts"

const eventsSent = 50

describe("A server stopped by a signal", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`ends in order on ${signal} with exit code 0, and the next has all data without replay`, async () => {
      const folder = await temporaryFolder()
      const first = await Server.start(folder)
      const key = await first.firstKey()
      await first.request(key, "POST", "/v1/rules", { action: "A", reward: { xp: 3 } })
      for (let sent = 0; sent < eventsSent; sent++) {
        const event = { userId: `u${sent % 5}`, action: "A" }
        expect((await first.request(key, "POST", "/v1/events", event)).status).toBe(200)
      }
      expect(await first.stop(signal)).toBe(0)
      expect(first.stderr.text).toContain(`"annotations":{"signal":"${signal}"}`)

      const second = await Server.start(folder)
      expect(second.stderr.text).toMatch(/"users":5,"recordsReplayed":0,/)
      const { body } = await second.request(key, "GET", "/v1/leaderboard")
      expect(body.total).toBe(5)
      for (const { xp } of body.entries) expect(xp).toBe((eventsSent / 5) * 3)
      expect(await second.stop(signal)).toBe(0)
    })
  }

  it("continues when the readers of its output and of its log go away", async () => {
    const folder = await temporaryFolder()
    const server = new Server(folder)
    server.process.stdout!.destroy()
    await server.stderr.waitFor(/"message":"Ready"/)
    const { url } = await readServerFile(folder)
    const status = async () => (await fetch(`${url}/readyz`)).status
    expect(await status()).toBe(200)
    server.process.stderr!.destroy()
    expect(await status()).toBe(200)
    // The end is logged, too.
    expect(await server.stop()).toBe(0)
  })

  it("lets a request under way finish, and takes no new connection", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const key = await server.firstKey()
    const body = JSON.stringify({ userId: "slow", action: "A" })
    const slow = request(`${server.url}/v1/events`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
        Expect: "100-continue",
      },
    })
    const answered = new Promise<number>((status, failed) => {
      slow.on("response", (response) => {
        response.resume()
        status(response.statusCode!)
      })
      slow.on("error", failed)
    })
    // The server asks for the body, so it has the request.
    await new Promise<void>((continued) => {
      slow.on("continue", continued)
      slow.flushHeaders()
    })
    const ended = server.stop()
    await server.stderr.waitFor(/"message":"Stopping"/)
    await expectRefused(server.url)
    slow.end(body)
    expect(await answered).toBe(200)
    expect(await ended).toBe(0)
    const again = await Server.start(folder)
    expect((await again.request(key, "GET", "/v1/users/slow")).status).toBe(200)
  })

  it("ends at once on a second signal, and nothing acknowledged is lost", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder, { LAUREL_SHUTDOWN_GRACE: "1 hour" })
    const key = await server.firstKey()
    const event = { userId: "u", action: "A" }
    expect((await server.request(key, "POST", "/v1/events", event)).status).toBe(200)
    // A request whose body never comes would hold the server for an hour.
    const stuck = request(`${server.url}/v1/events`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Length": 10, Expect: "100-continue" },
    })
    stuck.on("error", () => {})
    await new Promise<void>((asked) => {
      stuck.on("continue", asked)
      stuck.on("response", () => asked())
      stuck.flushHeaders()
    })
    server.process.kill("SIGTERM")
    await server.stderr.waitFor(/"message":"Stopping"/)
    expect(await server.stop("SIGINT")).toBe(130)
    const again = await Server.start(folder)
    expect((await again.request(key, "GET", "/v1/users/u")).status).toBe(200)
  })

  it("hears the signal that npm gets", async () => {
    const folder = await temporaryFolder()
    const env = {
      PATH: process.env.PATH ?? "",
      LAUREL_DATA_DIR: folder,
      LAUREL_PORT: "0",
      LAUREL_ADMIN_PORT: "0",
    }
    const npm = spawn("npm", ["start"], { cwd: root, env, stdio: "pipe" })
    const log = new Output(npm.stderr)
    const ended = new Promise((code) => npm.on("close", code))
    await log.waitFor(/"message":"Ready".*\n/)
    const { pid } = await readServerFile(folder)
    onTestFinished(() => {
      // Gone already, unless the signal stayed with npm.
      try {
        process.kill(pid, "SIGKILL")
      } catch {}
    })
    npm.kill("SIGTERM")
    expect(await ended).toBe(0)
    expect(log.text).toContain('"message":"Stopped"')
  })

  it("stops also before it is ready", async () => {
    const server = new Server(await temporaryFolder())
    await server.stderr.waitFor(/Opened the data directory/)
    expect(await server.stop()).toBe(0)
  })
})

/** New connections are refused from some moment after the signal on. */
const expectRefused = async (url: string): Promise<void> => {
  for (;;) {
    const outcome = await fetch(`${url}/healthz`).then(
      (response) => response.status,
      (error: Error) => (error.cause as NodeJS.ErrnoException).code,
    )
    if (outcome === "ECONNREFUSED") return
    expect([200, 503, "ECONNRESET", "UND_ERR_SOCKET"]).toContain(outcome)
  }
}
