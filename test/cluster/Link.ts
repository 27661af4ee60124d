/**
 * A network path between two processes: a TCP proxy that can hold or delay bytes, or refuse
 * connections. While it is `silent`, it holds all bytes and closes of connections, like a firewall
 * that drops packets: neither end notices. Afterwards the connections that both ends still have
 * continue.
 */
import { once } from "node:events"
import net, { type AddressInfo } from "node:net"

/** `refused`: open connections are reset, and new connections are refused. */
export type LinkState = "open" | "silent" | "refused"

export class Link {
  /** Delays each answer by this time. */
  delayMs = 0
  readonly #server: net.Server
  readonly #target: number
  readonly #sockets = new Set<net.Socket>()
  readonly #waiting = new Set<net.Socket>()
  #state: LinkState = "open"

  private constructor(target: number) {
    this.#target = target
    this.#server = net.createServer({ pauseOnConnect: true }, (client) => {
      this.#keep(client)
      if (this.#state === "refused") client.resetAndDestroy()
      else if (this.#state === "silent") this.#waiting.add(client)
      else this.#join(client)
    })
  }

  /** In front of a port of this machine. */
  static async to(target: number): Promise<Link> {
    const link = new Link(target)
    link.#server.listen(0, "127.0.0.1")
    await once(link.#server, "listening")
    return link
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  set(state: LinkState): void {
    this.#state = state
    if (state === "refused") {
      for (const socket of this.#sockets) socket.resetAndDestroy()
    } else {
      // What is not read is not passed on, and the end of a connection is read, too.
      for (const socket of this.#sockets) state === "silent" ? socket.pause() : socket.resume()
    }
    if (state === "silent") return
    for (const client of this.#waiting) if (!client.destroyed) this.#join(client)
    this.#waiting.clear()
  }

  async close(): Promise<void> {
    this.set("refused")
    this.#server.close()
    await once(this.#server, "close")
  }

  #keep(socket: net.Socket): void {
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket))
  }

  #join(client: net.Socket): void {
    const upstream = net.connect(this.#target, "127.0.0.1")
    this.#keep(upstream)
    for (const [from, to, isAnswer] of [
      [client, upstream, false],
      [upstream, client, true],
    ] as const) {
      const later = (pass: () => void): void => {
        if (isAnswer && this.delayMs > 0) setTimeout(pass, this.delayMs)
        else pass()
      }
      from.on("data", (bytes: Buffer) => later(() => to.write(bytes)))
      from.on("close", () => later(() => to.destroySoon()))
    }
    if (this.#state === "open") client.resume()
  }
}
