/** A TCP proxy between a client and PostgreSQL, which cuts connections at chosen moments. */
import { once } from "node:events"
import net, { type AddressInfo } from "node:net"

export class TcpProxy {
  readonly #server: net.Server
  readonly #pairs = new Set<readonly [client: net.Socket, upstream: net.Socket]>()
  #cutAt: "request" | "answer" | undefined
  #cuts = 0
  #isDown = false
  #isSilent = false

  private constructor(port: number) {
    this.#server = net.createServer((client) => {
      if (this.#isDown) return client.destroy()
      const upstream = net.connect(port, "127.0.0.1")
      const pair = [client, upstream] as const
      this.#pairs.add(pair)
      const end = () => {
        this.#pairs.delete(pair)
        client.destroy()
        upstream.destroy()
      }
      for (const socket of pair) socket.on("error", end).on("close", end)
      client.on("data", (bytes: Buffer) => {
        if (this.#isSilent) return
        if (this.#cutAt === "request" && bytes.includes(this.#marker)) return this.#cut(end)
        if (bytes.includes(this.#marker)) this.#marked.add(upstream)
        upstream.write(bytes)
      })
      upstream.on("data", (bytes: Buffer) => {
        if (this.#isSilent) return
        // The answer is here: the statement was carried out.
        if (this.#cutAt === "answer" && this.#marked.has(upstream)) return this.#cut(end)
        client.write(bytes)
      })
    })
  }

  /** Bytes of the request that is to be cut, and where they went through. */
  #marker = Buffer.from("\0")
  readonly #marked = new WeakSet<net.Socket>()

  static async before(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port)
    proxy.#server.listen(0, "127.0.0.1")
    await once(proxy.#server, "listening")
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that were cut by `cutNext`. */
  get cuts(): number {
    return this.#cuts
  }

  /** Cuts the connection of the next request that has `marker`: before PostgreSQL gets it, or before its answer comes back. */
  cutNext(at: "request" | "answer", marker: string): void {
    this.#marker = Buffer.from(marker)
    this.#cutAt = at
  }

  #cut(end: () => void): void {
    this.#cutAt = undefined
    this.#cuts++
    end()
  }

  /** Refuses connections, and cuts those that are open. */
  down(): void {
    this.#isDown = true
    for (const [client] of this.#pairs) client.destroy()
  }

  up(): void {
    this.#isDown = false
  }

  /** Swallows all bytes from now on, on connections that stay open; or no longer. */
  set silent(isSilent: boolean) {
    this.#isSilent = isSilent
  }

  async close(): Promise<void> {
    this.down()
    this.#server.close()
    await once(this.#server, "close")
  }
}
