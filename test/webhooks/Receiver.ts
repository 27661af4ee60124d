/** A receiver of webhooks on a real socket of loopback, which answers as a test wants. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { verifyWebhook } from "../../src/webhooks/send/Signature.ts"

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of all kinds
  readonly message: any
}

export type Answer = (response: ServerResponse, received: Received, socket: Socket) => void

export const answer =
  (status: number, headers: Record<string, string> = {}, body = ""): Answer =>
  (response) => {
    response.writeHead(status, headers).end(body)
  }

export class Receiver {
  readonly received: Array<Received> = []
  /** Its reply; 204 unless set. */
  answer: Answer = answer(204)
  connections = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<() => void>()
  readonly #scheme: string

  private constructor(tls: { readonly key: string; readonly cert: string } | undefined) {
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      this.#receive(request, response)
    this.#scheme = tls === undefined ? "http" : "https"
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
    this.#server.keepAliveTimeout = 0
    this.#server.on("connection", (socket: Socket) => {
      this.connections++
      this.#sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => this.#sockets.delete(socket))
    })
  }

  static async start(tls?: { readonly key: string; readonly cert: string }): Promise<Receiver> {
    const receiver = new Receiver(tls)
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", () => resolve()))
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(host = "127.0.0.1", path = "/hook"): string {
    return `${this.#scheme}://${host}:${this.port}${path}`
  }

  /** Open connections. */
  get open(): number {
    return this.#sockets.size
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString()
      const received = {
        path: request.url ?? "",
        headers: request.headers,
        body,
        message: body.startsWith("{") ? JSON.parse(body) : undefined,
      }
      this.received.push(received)
      this.answer(response, received, request.socket)
      for (const look of [...this.#waiting]) look()
    })
  }

  /** Resolves when `holds`, which is looked at with every request. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  atLeast(count: number): Promise<void> {
    return this.until(() => this.received.length >= count)
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

/** Whether `secret` has signed a request, at whatever time it says. */
export const isSignedBy = (secret: string, { body, headers }: Received): boolean =>
  verifyWebhook({ secret, headers, body, now: Number(headers["webhook-timestamp"]) * 1_000 })
