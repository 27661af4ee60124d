/**
 * A pooler before PostgreSQL, as far as sessions go: clients share its sessions, each for a transaction or for as long as it
 * stays, and get process ids of its own. npm has no PgBouncer.
 */
import { once } from "node:events"
import net, { type AddressInfo, type Socket } from "node:net"

interface PoolerOptions {
  readonly mode: "transaction" | "session"
  /** Of the sessions that are free: the one released first, or last. */
  readonly picks: "first" | "last"
}

/** A session with PostgreSQL. */
interface Session {
  readonly socket: Socket
  client: Client | undefined
}

interface Client {
  readonly socket: Socket
  session: Session | undefined
}

const readyForQuery = 0x5a
const backendKey = 0x4b
const authentication = 0x52
const idle = 0x49

export class Pooler {
  readonly #server: net.Server
  readonly #options: PoolerOptions
  readonly #upstream: number
  readonly #free: Array<Session> = []
  readonly #sockets = new Set<Socket>()

  private constructor(upstream: number, options: PoolerOptions) {
    this.#upstream = upstream
    this.#options = options
    this.#server = net.createServer((socket) => this.#accept(socket))
  }

  static async listen(upstream: number, options: PoolerOptions): Promise<Pooler> {
    const pooler = new Pooler(upstream, options)
    pooler.#server.listen(0, "127.0.0.1")
    await once(pooler.#server, "listening")
    return pooler
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on("error", () => {})
    const client: Client = { socket, session: undefined }
    let startup: Buffer | undefined
    socket.on("data", async (chunk: Buffer) => {
      if (startup === undefined) {
        startup = chunk
        socket.write(message(authentication, Buffer.from([0, 0, 0, 0])))
        socket.write(message(backendKey, Buffer.from([0x7f, 0, 0, 1, 0, 0, 0, 1])))
        socket.write(message(readyForQuery, Buffer.from([idle])))
        return
      }
      socket.pause()
      client.session ??= await this.#take(startup, client)
      client.session.socket.write(chunk)
      socket.resume()
    })
    socket.on("close", () => {
      if (client.session !== undefined) this.#release(client.session)
    })
  }

  async #take(startup: Buffer, client: Client): Promise<Session> {
    const free = this.#options.picks === "first" ? this.#free.shift() : this.#free.pop()
    if (free !== undefined) {
      free.client = client
      return free
    }
    const socket = net.connect(this.#upstream, "127.0.0.1")
    this.#sockets.add(socket)
    socket.on("error", () => {})
    const session: Session = { socket, client: undefined }
    socket.write(startup)
    await new Promise<void>((begun) => {
      let isBegun = false
      let rest = Buffer.alloc(0)
      socket.on("data", (chunk: Buffer) => {
        const its = session.client
        if (isBegun) its?.socket.write(chunk)
        rest = Buffer.concat([rest, chunk])
        let isReady = false
        while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
          const end = 1 + rest.readUInt32BE(1)
          isReady = rest[0] === readyForQuery && rest[5] === idle
          rest = rest.subarray(end)
        }
        if (!isReady) return
        if (!isBegun) begun()
        else if (this.#options.mode === "transaction") this.#release(session)
        isBegun = true
      })
    })
    session.client = client
    return session
  }

  #release(session: Session): void {
    if (session.client === undefined) return
    session.client.session = undefined
    session.client = undefined
    this.#free.push(session)
  }
}

const message = (kind: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head[0] = kind
  head.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
