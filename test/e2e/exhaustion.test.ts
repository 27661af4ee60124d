/** A machine that has too little: descriptors, space, permission; and callers who only hold connections. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { type Reply, Running, Server, temporaryFolder } from "./program.ts"

const isRoot = process.getuid?.() === 0
const event = (userId: string) => ({ userId, action: "A" })

/** As many connections as asked for; those that the server does not take are gone at once. */
const hold = async (server: Server, count: number): Promise<ReadonlyArray<Socket>> => {
  const { hostname, port } = new URL(server.url)
  const sockets: Array<Socket> = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(500, count - sockets.length) }, () => {
      const socket = connect(Number(port), hostname)
      socket.on("error", () => {})
      return socket
    })
    sockets.push(...some)
    await Promise.all(some.map((socket) => once(socket, "connect").catch(() => {})))
  }
  return sockets
}

/** One request on a connection that is open already. */
const ask = async (socket: Socket, key: string, userId: string): Promise<string> => {
  const body = JSON.stringify(event(userId))
  socket.write(
    `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const [reply] = await once(socket, "data")
  return String(reply).slice(9, 12)
}

/** Every file with its bytes. */
const contents = async (folder: string): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile()) found.set(file, (await readFile(file)).toString("latin1"))
  }
  return found
}

const openFilesMax = (): number => Number(execFileSync("sh", ["-c", "ulimit -Hn"]).toString())

describe("A server without free file descriptors", () => {
  it("continues to answer open connections, and accepts others once descriptors are free", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder, {}, "ulimit -n 128")
    const key = await server.firstKey()
    const [early] = await hold(server, 1)
    expect(await ask(early!, key, "before")).toBe("200")
    const idle = await hold(server, 300)
    for (let n = 0; n < 20; n++) expect(await ask(early!, key, `during${n}`)).toBe("200")
    for (const socket of idle) socket.destroy()
    // Some of the new ones may still be dropped until the server has noticed.
    await expect
      .poll(() =>
        server
          .request(key, "POST", "/v1/events", event("after"))
          .then(({ status }) => status)
          .catch(() => 0),
      )
      .toBe(200)
    expect(await server.stop()).toBe(0)
    const again = await Server.start(folder)
    for (const userId of ["before", "during0", "during19", "after"]) {
      expect((await again.request(key, "GET", `/v1/users/${userId}`)).status).toBe(200)
    }
  })
})

describe("10,000 idle connections", () => {
  it.skipIf(openFilesMax() < 11_000)("keep nobody else waiting, and cost little", async () => {
    const server = await Server.start(await temporaryFolder(), {}, "ulimit -n 11000")
    const key = await server.firstKey()
    const resident = () =>
      Number(execFileSync("ps", ["-o", "rss=", "-p", String(server.process.pid)])) / 1_024
    const before = resident()
    const sockets = await hold(server, 10_000)
    expect((await server.request(key, "POST", "/v1/events", event("u"))).status).toBe(200)
    expect(resident() - before).toBeLessThan(200)
    for (const socket of sockets) socket.destroy()
    expect((await server.request(key, "GET", "/v1/users/u")).status).toBe(200)
  })
})

describe("A data directory that can not be written", () => {
  /** Root may write everywhere, so a start of its own is made as somebody else. */
  const asNobody = isRoot ? 'set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' : ":"
  const start = async (folder: string) => {
    const variables = { LAUREL_DATA_DIR: folder, LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }
    const running = new Running(["serve"], variables, asNobody)
    return { code: await running.ended, stderr: running.stderr.text }
  }

  it("stops the start with the reason, and nothing is left behind", async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o555)
    const ended = await start(join(folder, "data"))
    expect(ended.code).toBe(73)
    expect(ended.stderr).toMatch(
      /^laurel: Cannot use the data directory \S+: make folder \S+: EACCES\. This process runs as user \S+, who has no permission\. Change the owner of the folder \(chown\), or set LAUREL_DATA_DIR to a folder of this user\.$/m,
    )
    await chmod(folder, 0o755)
    expect(await readdir(folder)).toEqual([])
  })

  it("stops the start also when there is data, which stays as it is", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const key = await first.firstKey()
    await first.request(key, "POST", "/v1/events", event("u"))
    await first.stop()
    execFileSync("chmod", ["-R", "a-w,a+rX", folder])
    const before = await contents(folder)
    const ended = await start(folder)
    expect(ended.code).toBe(73)
    expect(ended.stderr).toMatch(
      /^laurel: Cannot use the data directory .* This process runs as user \S+, who has no permission\. /m,
    )
    expect(await contents(folder)).toEqual(before)
    execFileSync("chmod", ["-R", "u+w", folder])
  })
})

/** A file system of its own of so many bytes; `undefined` where this user may not mount one. */
const mounted = async (mebibytes: number): Promise<string | undefined> => {
  const folder = await temporaryFolder()
  try {
    const options = `size=${mebibytes}m,mode=777`
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" })
  } catch {
    return undefined
  }
  onTestFinished(() => {
    execFileSync("umount", ["-l", folder])
  })
  return folder
}

describe("A full disk", () => {
  it.skipIf(!isRoot)(
    "refuses writes, loses nothing, serves reads, and goes on by itself once there is space",
    async ({ skip }) => {
      const folder = await mounted(160)
      if (folder === undefined) return skip("no file system can be mounted here")
      const data = join(folder, "data")
      await mkdir(data)
      const server = await Server.start(data, { LAUREL_SNAPSHOT_INTERVAL: "100 millis" })
      const key = await server.firstKey()
      expect((await server.request(key, "POST", "/v1/events", event("before"))).status).toBe(200)
      // Less space is left than the server wants to keep free.
      const ballast = join(folder, "ballast")
      await writeFile(ballast, Buffer.alloc(100 * 1024 * 1024))
      const acknowledged = ["before"]
      const send = async (userId: string) => {
        const large = { ...event(userId), metadata: { text: "x".repeat(10_000) } }
        const reply = await server.request(key, "POST", "/v1/events", large)
        if (reply.status === 200) acknowledged.push(userId)
        return reply
      }
      // Until one waits for space: later ones are refused at once.
      const waiting: Array<Promise<Reply>> = []
      for (let n = 0; server.stderr.text.match(/Disk full: refusing writes/) === null; n++) {
        waiting.push(send(`u${n}`))
        await Promise.race([waiting.at(-1), server.stderr.waitFor(/Disk full: refusing writes/)])
      }
      const { body: refusal, status } = await send("refused")
      expect([status, refusal.code]).toEqual([503, "storage_unavailable"])
      expect((await server.request(key, "GET", "/v1/users/before")).status).toBe(200)
      expect((await server.request(key, "GET", "/v1/users/refused")).status).toBe(404)
      await rm(ballast)
      expect(await Promise.all(waiting.map(async (reply) => (await reply).status))).toEqual(
        waiting.map(() => 200),
      )
      expect((await send("after")).status).toBe(200)
      expect(await server.stop()).toBe(0)
      const again = await Server.start(data)
      for (const userId of [acknowledged.at(-1)!, "before", "after"]) {
        expect((await again.request(key, "GET", `/v1/users/${userId}`)).status).toBe(200)
      }
      const { body: all } = await again.request(key, "GET", "/v1/users?limit=1")
      expect(all.total).toBe(acknowledged.length)
      await again.stop()
    },
  )
})
