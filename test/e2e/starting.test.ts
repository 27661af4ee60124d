import { type AddressInfo, createServer } from "node:net"
import { describe, expect, it } from "vitest"
import { Server, temporaryFolder } from "./program.ts"

/** A port that nobody has at the moment. */
const freePort = (): Promise<number> =>
  new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => found(port))
    })
  })

const batches = 15
const batch = (number: number) => ({
  events: Array.from({ length: 1_000 }, (_, index) => ({
    userId: `u${number}-${index}`,
    action: "COUNT",
  })),
})

describe("A start that takes its time", () => {
  it("is alive at once, reports its progress, refuses operations, and then serves", async () => {
    const folder = await temporaryFolder()
    const variables = { LAUREL_SNAPSHOT_INTERVAL: "1 hour" }
    const first = await Server.start(folder, variables)
    const key = await first.createKey()
    for (let number = 0; number < batches; number++) {
      await first.request(key, "POST", "/v1/events/batch", batch(number))
    }
    // Without a last snapshot the next start has all of them to replay.
    await first.stop("SIGKILL")

    const port = await freePort()
    const server = new Server(folder, { ...variables, LAUREL_PORT: String(port) })
    server.url = `http://127.0.0.1:${port}`
    const ask = (path: string) => fetch(server.url + path).catch(() => undefined)
    const sentences = new Set<string>()
    let ready: Response | undefined
    while (ready === undefined) {
      const reply = await ask("/readyz")
      if (reply === undefined) continue
      if (reply.status === 200) {
        ready = reply
        continue
      }
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"])
      const problem = (await reply.json()) as { readonly code: string; readonly detail: string }
      expect(problem.code).toBe("starting")
      sentences.add(problem.detail)
      expect((await ask("/healthz"))?.status).toBe(200)
    }
    expect(await ready.json()).toEqual({ status: "ok" })
    expect([...sentences].join("\n")).toMatch(
      /^Replaying the journal: [\d,]+ of 15,0\d\d records\.$/m,
    )
    const { body } = await server.request(key, "GET", `/v1/users/u${batches - 1}-999`)
    expect(body.id).toBe(`u${batches - 1}-999`)
    expect(await server.stop()).toBe(0)
  })
})
