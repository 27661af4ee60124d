/**
 * Receivers of webhooks that outlive the servers that are killed: one that takes everything, one that refuses and hangs
 * now and then. They check signatures and remember what they answered with 2xx, and when.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { verifyWebhook } from "../../src/webhooks/send/Signature.ts"
import type { Random } from "../simulation/random.ts"

export const hookPaths = ["/steady", "/failing"] as const
export type HookPath = (typeof hookPaths)[number]

export class Hooks {
  readonly secrets = new Map<HookPath, string>()
  readonly faults: Array<string> = []
  /** The ids of events and rewards that the steady one was told of. */
  readonly told = new Set<string>()
  attempts = 0
  /** Messages that came again after a 2xx. */
  again = 0
  /** The longest time from a 2xx to the kill that made its message come again. */
  againMsMax = 0
  /** When servers were killed, and when the last that they had sent was here; epoch milliseconds, in order. */
  readonly #kills: Array<{ readonly at: number; readonly through: number }> = []
  readonly #sockets = new Set<Socket>()
  /** By path and id, when it was last answered with 2xx. */
  readonly #succeeded = new Map<string, number>()
  readonly #random: Random
  readonly #forgottenMs: number
  readonly #server: Server

  /**
   * A kill forgets what was answered at most `forgottenMs` before: the outcomes are written every 200 ms, later on a busy
   * machine.
   */
  constructor(random: Random, forgottenMs: number) {
    this.#random = random
    this.#forgottenMs = forgottenMs
    this.#server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => {})
      response.on("error", () => {})
      request.on("end", () => this.#receive(request, response, Buffer.concat(chunks).toString()))
    })
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => this.#sockets.delete(socket))
    })
  }

  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done))
  }

  url(path: HookPath): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** The server is gone since `at`, epoch milliseconds; ends when all that it had sent is here. */
  async killed(at: number): Promise<void> {
    await new Promise<void>((drained) => {
      const look = () => {
        if (this.#sockets.size === 0) drained()
        else for (const socket of this.#sockets) socket.once("close", look)
      }
      look()
    })
    this.#kills.push({ at, through: Date.now() })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((done) => this.#server.close(() => done()))
  }

  #receive({ headers, url }: IncomingMessage, response: ServerResponse, body: string): void {
    this.attempts++
    const path = url as HookPath
    const secret = this.secrets.get(path)
    // Between the webhook's creation and the answer that has its secret, nothing can be checked.
    if (secret !== undefined && !verifyWebhook({ secret, headers, body })) {
      this.faults.push(`${path}: ${headers["webhook-id"]} has a wrong signature`)
    }
    const name = `${path} ${headers["webhook-id"]}`
    this.#look(name)
    const status = path === "/steady" ? 204 : this.#answer()
    // It hangs until the server gives up or is gone.
    if (status === undefined) return
    if (status < 300) {
      this.#succeeded.set(name, Date.now())
      if (path === "/steady") for (const [id] of body.matchAll(/(evt|rwd)_\w+/g)) this.told.add(id)
    }
    response.writeHead(status, status === 429 ? { "retry-after": "1" } : {}).end()
  }

  #answer(): number | undefined {
    const kind = this.#random.next()
    if (kind < 0.002) return undefined
    return kind < 0.1 ? this.#random.pick([429, 500, 503]) : 200
  }

  /** Whether a message comes again that was answered with 2xx longer before any kill than a kill forgets. */
  #look(name: string): void {
    const at = this.#succeeded.get(name)
    if (at === undefined) return
    this.again++
    const kill = this.#kills.findLast(({ through }, index) => {
      const before = this.#kills[index - 1]
      return at <= through && (before === undefined || at > before.through)
    })
    const passedMs = kill === undefined ? Number.POSITIVE_INFINITY : Math.max(0, kill.at - at)
    if (passedMs > this.#forgottenMs) {
      this.faults.push(
        `${name} came again ${Date.now() - at} ms after its 2xx, the next kill was ${passedMs} ms after it`,
      )
    } else this.againMsMax = Math.max(this.againMsMax, passedMs)
  }
}
