/** How much the server reads of forms that arrive slowly or from another site. */
import { connect, type Socket } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { type DashboardServer, startDashboard } from "./fixture.ts"

let server: DashboardServer
beforeAll(async () => {
  server = await startDashboard()
})
const sockets: Array<Socket> = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => server.stop())

interface Asked {
  readonly socket: Socket
  /** The status of the first reply: 100 if the server wants the body. */
  readonly status: number
}

/** Sends the head of a form, and waits for the reply before it sends the body. */
const announce = (
  fields: Record<string, string> = {},
  localAddress = "127.0.0.1",
): Promise<Asked> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(server.url)
    const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress })
    sockets.push(socket)
    const all = {
      host: `localhost:${port}`,
      "sec-fetch-site": "same-origin",
      "content-length": "7",
      expect: "100-continue",
      ...fields,
    }
    const lines = Object.entries(all).map(([name, text]) => `${name}: ${text}\r\n`)
    socket.setEncoding("latin1")
    socket.once("data", (text: string) => resolve({ socket, status: Number(text.slice(9, 12)) }))
    socket.on("error", reject)
    socket.write(`POST /dashboard/sign-in HTTP/1.1\r\n${lines.join("")}\r\n`)
  })

const statusOf = async (fields: Record<string, string> = {}, localAddress?: string) =>
  (await announce(fields, localAddress)).status

const rest = async ({ socket }: Asked): Promise<string> => {
  const reply = new Promise<string>((resolve) => socket.once("data", resolve))
  socket.write("email=a")
  return await reply
}

describe("The body of a form", () => {
  it("is read if the form comes from a page of the dashboard under its own host name", async () => {
    const asked = await announce()
    expect(asked.status).toBe(100)
    expect(await rest(asked)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it("is not read under another host name, from another site, or above the bound", async () => {
    expect(await statusOf({ host: "evil.example" })).toBe(421)
    expect(await statusOf({ "sec-fetch-site": "cross-site" })).toBe(403)
    expect(await statusOf({ "content-length": String(limits.pageBodyBytesMax + 1) })).toBe(413)
  })

  it("is not read while its network sends as many as it may; each one that ends makes room", async () => {
    const all = Array.from({ length: limits.pageBodiesOfNetworkMax }, () => announce())
    const asked = await Promise.all(all)
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([100]))
    expect(await statusOf()).toBe(503)
    expect(await rest(asked[0]!)).toMatch(/^HTTP\/1\.1 200 /)
    const again = await announce()
    expect(again.status).toBe(100)
    expect(await statusOf()).toBe(503)
    // A caller that disconnects in the middle makes room, too.
    again.socket.destroy()
    await expect.poll(() => statusOf()).toBe(100)
  })

  // Only Linux has every address of 127.0.0.0/8 by default.
  it.runIf(process.platform === "linux")(
    "is read from another network while one sends as many as it may, up to the bound of all networks",
    async () => {
      const networks = limits.pageBodiesMax / limits.pageBodiesOfNetworkMax
      for (let network = 1; network <= networks; network++) {
        const all = Array.from({ length: limits.pageBodiesOfNetworkMax }, () =>
          statusOf({}, `127.0.2.${network}`),
        )
        expect(new Set(await Promise.all(all))).toEqual(new Set([100]))
      }
      expect(await statusOf({}, "127.0.2.250")).toBe(503)
    },
  )

  it("counts among the bodies in memory, and is refused if there is no room", async () => {
    const small = await startDashboard({}, { bounds: { bodiesBytesMax: 5 } })
    try {
      const reply = await fetch(`${small.url}/dashboard/sign-in`, {
        method: "POST",
        headers: { "sec-fetch-site": "same-origin" },
        body: new URLSearchParams({ email: "ada" }),
      })
      expect(reply.status).toBe(503)
      expect((await fetch(`${small.url}/dashboard/sign-in`)).status).toBe(200)
    } finally {
      await small.stop()
    }
  })
})
