/** A proxy in front of a server that cuts replies: the request reaches the server, the reply does not reach the client. */

import type { AddressInfo } from "node:net"
import { connect, createServer, type Server, type Socket } from "node:net"

export class CuttingProxy {
  /** For each of the next replies, the bytes that still pass before the connection is cut. */
  readonly cuts: Array<number> = []
  /** Whether it accepts connections; otherwise the network is away. */
  online = true
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(target: () => number) {
    this.#server = createServer((client) => {
      this.#sockets.add(client)
      client.on("close", () => this.#sockets.delete(client)).on("error", () => {})
      if (!this.online) return client.destroy()
      const upstream = connect(target(), "127.0.0.1")
      upstream.on("error", () => client.destroy()).on("close", () => client.destroy())
      client.on("close", () => upstream.destroy())
      client.on("data", (bytes) => upstream.write(bytes))
      upstream.on("data", (bytes: Buffer) => {
        const bytesLeft = this.cuts.shift()
        if (bytesLeft === undefined) client.write(bytes)
        else client.write(bytes.subarray(0, bytesLeft), () => client.destroy())
      })
    })
  }

  listen(): Promise<void> {
    return new Promise((done) => this.#server.listen(0, "127.0.0.1", done))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  goOffline(): void {
    this.online = false
    for (const socket of this.#sockets) socket.destroy()
  }

  goOnline(): void {
    this.online = true
  }

  close(): void {
    this.goOffline()
    this.#server.close()
  }
}
