/** Ports for programs that cannot choose one themselves, or that keep theirs across starts. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import net from "node:net"

/**
 * Free ports, all different. They are below those that the system gives to connections and to port 0, so that nobody else
 * takes them before a program listens, or while the program restarts.
 */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const found = new Set<number>()
  while (found.size < count) {
    const port = randomInt(10_000, 32_768)
    const server = net.createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.on("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true))
    })
    if (!isFree) continue
    found.add(port)
    await once(server.close(), "close")
  }
  return [...found]
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!
