import { describe, expect, it } from "vitest"
import { AllowedRanges } from "../../../src/webhooks/send/AddressGuard.ts"
import { makeConnector } from "../../../src/webhooks/send/Connector.ts"
import { Receiver } from "../Receiver.ts"

/** Connects to a receiver of loopback by the address to which its name leads. */
const connecting = async (address: string, allowed: ReadonlyArray<string>) => {
  const receiver = await Receiver.start()
  const connect = makeConnector({
    allowed: new AllowedRanges(allowed),
    resolve: async () => [address],
    timeoutMs: 5_000,
  })
  const target = { hostname: "receiver.test", port: String(receiver.port), protocol: "http:" }
  try {
    return await new Promise<string>((connected) => {
      connect({ ...target, host: target.hostname }, (error, socket) => {
        if (error !== null) return connected(`${error.name}: ${error.message}`)
        connected(`to ${socket?.remoteAddress}`)
        socket?.destroy()
      })
    })
  } finally {
    await receiver.stop()
  }
}

describe("A connection", () => {
  it("goes to the allowed address", async () => {
    expect(await connecting("127.0.0.1", ["127.0.0.0/8"])).toBe("to 127.0.0.1")
  })

  it("is refused if an allowed address leads to a refused one", async () => {
    // The system connects 0.0.0.0 to itself.
    expect(await connecting("0.0.0.0", ["0.0.0.0/32"])).toMatch(
      /The connection led to 127\.0\.0\.1/,
    )
    expect(await connecting("0.0.0.0", ["0.0.0.0/32", "127.0.0.0/8"])).toBe("to 127.0.0.1")
  })
})
