/**
 * Keep-alive connections to the internal ports of owners. A stream takes a connection for as long as it lasts, so streams
 * have connections of their own: a short request does not look for a free one among them.
 */
import { Pool } from "undici"
import { limits } from "../Limits.ts"

interface Connections {
  readonly short: Pool
  readonly streams: Pool
}

export class OwnerConnections {
  readonly #all = new Map<string, Connections>()

  to(address: string, isStream: boolean): Pool {
    let found = this.#all.get(address)
    if (found === undefined) {
      found = { short: poolTo(address), streams: poolTo(address) }
      this.#all.set(address, found)
    }
    return isStream ? found.streams : found.short
  }

  /** Ends connections to others than these, after the requests in progress. */
  keep(addresses: ReadonlySet<string>): void {
    for (const [address, { short, streams }] of this.#all) {
      if (addresses.has(address)) continue
      this.#all.delete(address)
      void short.close().catch(() => {})
      void streams.close().catch(() => {})
    }
  }

  async close(): Promise<void> {
    const all = [...this.#all.values()].flatMap(({ short, streams }) => [short, streams])
    this.#all.clear()
    await Promise.all(all.map((pool) => pool.destroy().catch(() => {})))
  }
}

const poolTo = (address: string): Pool =>
  new Pool(`http://${address}`, {
    connections: null,
    pipelining: 1,
    connect: { timeout: limits.forwardConnectMs },
    headersTimeout: limits.forwardSilenceMs,
    bodyTimeout: limits.forwardSilenceMs,
    keepAliveTimeout: limits.forwardKeepAliveMs,
  })
