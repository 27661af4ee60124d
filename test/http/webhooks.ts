/** Helpers for tests of webhooks over HTTP: servers that may send to loopback, and receivers. */
import type { MessageKind } from "../../src/domain/message/MessageKind.ts"
import { AllowedRanges } from "../../src/webhooks/send/AddressGuard.ts"
import { Receiver } from "../webhooks/Receiver.ts"
import { startServer, type TestServer, type TestServerOptions } from "./fixture.ts"

export const webhookUrls = { allowed: new AllowedRanges(["127.0.0.0/8"]), requireHttps: true }
const ends: Array<() => Promise<void>> = []

/** Closes everything that a test has opened. */
export const endAll = async (): Promise<void> => {
  for (const end of ends.splice(0).toReversed()) await end()
}

export const starting = async (options: TestServerOptions = {}) => {
  const server = await startServer({ webhookUrls, ...options })
  ends.push(() => server.stop())
  return server
}
export const receiving = async () => {
  const receiver = await Receiver.start()
  ends.push(() => receiver.stop())
  return receiver
}

export const asking = (server: TestServer) => {
  const ask = async (method: string, path: string, body?: unknown) => {
    const { json, status, text } = await server.call(method, path, { body })
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
    return json
  }
  return {
    ask,
    register: (receiver: Receiver, events: ReadonlyArray<string> = ["*"], path = "/hook") =>
      ask("POST", "/v1/webhooks", { url: receiver.url("127.0.0.1", path), events }),
    track: (userId: string, action: string, more: object = {}) =>
      ask("POST", "/v1/events", { userId, action, ...more }),
    grant: (userId: string, body: object = { type: "xp", amount: 5 }) =>
      ask("POST", `/v1/users/${userId}/rewards`, body),
  }
}

export const kindsOf = ({ received }: Receiver): ReadonlyArray<MessageKind> =>
  received.map(({ message }) => message.type)

/** Repeats a request until its reply `holds`. */
export const until = async <A>(
  look: () => Promise<A>,
  holds: (found: A) => boolean,
): Promise<A> => {
  while (true) {
    const found = await look()
    if (holds(found)) return found
    await new Promise((resolve) => setImmediate(resolve))
  }
}
