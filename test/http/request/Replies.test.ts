/** Real requests and replies. The test decides when a turn of the event loop ends. */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { Replies } from "../../../src/http/request/Exchange.ts"
import { limits } from "../../../src/Limits.ts"
import { connectTo, received } from "../fixture.ts"

const ends: Array<() => void> = []
const endTurn = (): void => {
  for (const end of ends.splice(0)) end()
}
const sockets: Array<Socket> = []
const server = createServer()
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  if (server.listening) await new Promise((resolve) => server.close(resolve))
})

/**
 * The responses of a number of connections, each with its head written, and the text that each
 * receives.
 */
const begin = async (count: number) => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const responses: Array<ServerResponse> = []
  const all = new Promise<void>((resolve) => {
    server.removeAllListeners("request").on("request", (_request, response) => {
      response.writeHead(200, ["Content-Length", "2", "Connection", "close"])
      if (responses.push(response) === count) resolve()
    })
  })
  const texts: Array<Promise<string>> = []
  for (let each = 0; each < count; each++) {
    const socket = await connectTo(port)
    sockets.push(socket)
    texts.push(received(socket))
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  }
  await all
  return { responses, texts }
}

describe("The replies of a turn", () => {
  it("are sent at its end", async () => {
    const { responses, texts } = await begin(3)
    const replies = new Replies({ now: () => 0, atEnd: (end) => ends.push(end) })
    for (const response of responses) replies.add(response, "ok")
    expect(ends).toHaveLength(1)
    expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([false, false, false])
    endTurn()
    for (const text of await Promise.all(texts)) expect(text).toMatch(/\r\n\r\nok$/)
  })

  it("are sent earlier once repliesTogetherMax are ready", async () => {
    const most = limits.repliesTogetherMax
    const { responses } = await begin(most)
    const replies = new Replies({ now: () => 0, atEnd: (end) => ends.push(end) })
    const sent = () => responses.filter(({ writableEnded }) => writableEnded).length
    for (const response of responses.slice(1)) replies.add(response, "ok")
    expect(sent()).toBe(0)
    replies.add(responses[0]!, "ok")
    expect(sent()).toBe(most)
    endTurn()
  })

  it("are sent to the other callers if one caller has disconnected", async () => {
    const { responses, texts } = await begin(2)
    const replies = new Replies({ now: () => 0, atEnd: (end) => ends.push(end) })
    for (const response of responses) replies.add(response, "ok")
    const gone = new Promise((resolve) => responses[0]!.once("close", resolve))
    sockets[0]!.destroy()
    await gone
    endTurn()
    expect(await texts[1]).toMatch(/\r\n\r\nok$/)
  })

  it("are sent at the end of the turn of the first request, with one callback", () => {
    const replies = new Replies({ now: () => 0, atEnd: (end) => ends.push(end) })
    replies.awaitEnd()
    replies.awaitEnd()
    expect(ends).toHaveLength(1)
    endTurn()
    replies.awaitEnd()
    expect(ends.splice(0)).toHaveLength(1)
  })
})
