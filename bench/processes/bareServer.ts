/** What HTTP and JSON alone cost: parses each body, answers the bytes it was given, and does nothing else. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { answer } from "../children.ts"

await answer(({ reply }: { readonly reply: string }) => {
  const bytes = Buffer.from(reply)
  const headers = { "content-type": "application/json", "content-length": bytes.length }
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200, headers)
      response.end(bytes)
    })
  })
  return new Promise<{ readonly port: number }>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve({ port: (server.address() as AddressInfo).port })
    })
  })
})
