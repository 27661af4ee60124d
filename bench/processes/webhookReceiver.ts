/**
 * Receives webhooks: keeps the first messages, counts all, answers 204 to each. `GET` returns the
 * count.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { answer } from "../children.ts"

export interface KeptMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ReceiverCount {
  readonly count: number
  /** When the last one came, milliseconds of this process. */
  readonly lastAt: number
  readonly now: number
  readonly kept: ReadonlyArray<KeptMessage>
}

const keptMax = 100

await answer(() => {
  const kept: Array<KeptMessage> = []
  let count = 0
  let lastAt = 0
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      const told: ReceiverCount = {
        count,
        lastAt,
        now: performance.now(),
        kept: request.url === "/kept" ? kept : [],
      }
      response.end(JSON.stringify(told))
      return
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      count++
      lastAt = performance.now()
      if (kept.length < keptMax) {
        const { connection: _, host: __, "content-length": ___, ...headers } = request.headers
        kept.push({
          headers: headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
        })
      }
      response.writeHead(204).end()
    })
  })
  return new Promise<{ readonly port: number }>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({ port: (server.address() as AddressInfo).port }))
  })
})
