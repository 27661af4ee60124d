/**
 * Hostile callers: each has a connection of its own and sends its request at a fixed interval,
 * whatever the replies. A caller skips a turn while its last request has no reply. Runs until the
 * message to end.
 */
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { answer, onEnd } from "../children.ts"

export interface HostileOptions {
  readonly port: number
  /** The pause between two requests of one caller. */
  readonly everyMs: number
  readonly callers: ReadonlyArray<HostileCaller>
}

export interface HostileCaller {
  readonly name: string
  readonly path: string
  readonly key: string
  /** The file that has the body: it is larger than an argument of a process may be. */
  readonly bodyFile: string
  /** How often the request is sent at a time, pipelined. */
  readonly together: number
}

/** By the name of the caller. */
export type HostileReport = Readonly<Record<string, HostileCounts>>

/** Requests that were sent, answered with a success, and refused. */
export interface HostileCounts {
  sent: number
  accepted: number
  refused: number
  /** How often it was its turn, and how often it then still waited for a reply. */
  turns: number
  skipped: number
}

const statusLength = "HTTP/1.1 200".length

/** Sends until `ending`, then closes its connection. */
const attack = (
  { bodyFile, key, path, together }: HostileCaller,
  port: number,
  counts: HostileCounts,
) => {
  const body = readFileSync(bodyFile)
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const request = Buffer.concat([Buffer.from(head), body])
  const bytes = together === 1 ? request : Buffer.concat(Array(together).fill(request))
  let left = 0
  let ended = false
  const open = () => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true })
    // Replies to pipelined requests come together; only their status lines are looked at.
    let rest = ""
    socket.on("data", (chunk: Buffer) => {
      const text = rest + chunk.toString("latin1")
      let end = 0
      for (const { 0: found, 1: status, index } of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        end = index + found.length
        left--
        if (Number(status) < 300) counts.accepted++
        else counts.refused++
      }
      rest = text.slice(Math.max(end, text.length - statusLength))
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      left = 0
      if (!ended) connection = open()
    })
    return socket
  }
  let connection = open()
  return {
    send: () => {
      counts.turns++
      if (left > 0) {
        counts.skipped++
        return
      }
      left = together
      counts.sent += together
      connection.write(bytes)
    },
    end: () => {
      ended = true
      connection.destroy()
    },
  }
}

await answer(({ callers, everyMs, port }: HostileOptions): Promise<HostileReport> => {
  const report: Record<string, HostileCounts> = {}
  const attackers = callers.map((caller) => {
    report[caller.name] ??= { sent: 0, accepted: 0, refused: 0, turns: 0, skipped: 0 }
    return attack(caller, port, report[caller.name]!)
  })
  let next = 0
  const timer = setInterval(
    () => attackers[next++ % attackers.length]!.send(),
    everyMs / attackers.length,
  )
  return new Promise((resolve) => {
    onEnd(() => {
      clearInterval(timer)
      for (const attacker of attackers) attacker.end()
      resolve(report)
    })
  })
})
