/**
 * The load: connections that each send one request, wait for its reply and send the next (a closed loop).
 *
 * It must cost less than what it measures, so it speaks HTTP/1.1 over bare sockets: requests are made
 * beforehand and only their events' ids are written anew; of a reply the status line, Content-Length and the
 * start of the body are looked at. Its own utilisation is reported, since near 1 it would be the limit.
 */
import { connect, type Socket } from "node:net"
import { answer } from "../children.ts"
import { newEventId, randomEvent } from "../events.ts"

export interface LoadOptions {
  readonly port: number
  readonly path: string
  readonly key: string
  readonly connections: number
  /** 1: the body is the event itself; more: a batch. */
  readonly eventsPerRequest: number
  readonly withIds: boolean
  readonly warmUpMs: number
  readonly measureMs: number
}

/** Times are milliseconds; `events`, `requests` and latencies are those of the measured time. */
export interface LoadReport {
  readonly requests: number
  readonly events: number
  readonly durationMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** All events that were answered, those of the warm-up too. */
  readonly eventsInAll: number
  /** The share of the measured time in which the load itself was busy, 0 to 1. */
  readonly utilization: number
  /** The body of one reply. */
  readonly reply: string
}

const requestsPerConnection = { single: 512, batch: 16 }
const idLength = newEventId().length

class PreparedRequest {
  readonly bytes: Buffer
  readonly #idOffsets: ReadonlyArray<number>

  constructor({ eventsPerRequest, key, path, port, withIds }: LoadOptions) {
    const events = Array.from({ length: eventsPerRequest }, () => randomEvent(withIds))
    const body = JSON.stringify(eventsPerRequest === 1 ? events[0] : { events })
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
    this.bytes = Buffer.from(head + body)
    const offsets: Array<number> = []
    const before = '"id":"'
    let at = this.bytes.indexOf(before, head.length)
    while (at >= 0) {
      offsets.push(at + before.length)
      at = this.bytes.indexOf(before, at + before.length + idLength)
    }
    this.#idOffsets = offsets
  }

  /** Gives every event an id that was never used. Only when the last reply is in: the socket may hold the bytes until then. */
  renew(): Buffer {
    for (const offset of this.#idOffsets) this.bytes.write(newEventId(), offset, "latin1")
    return this.bytes
  }
}

class Latencies {
  /** Microseconds, the last place for everything longer. */
  readonly #counts = new Uint32Array(2_000_001)
  #total = 0

  add(ms: number): void {
    this.#total++
    this.#counts[Math.min(this.#counts.length - 1, Math.round(ms * 1_000))]!++
  }

  quantileMs(share: number): number {
    let left = Math.ceil(this.#total * share)
    let microseconds = 0
    while (left > 0) left -= this.#counts[microseconds++]!
    return (microseconds - 1) / 1_000
  }
}

/** Reads replies off one socket; calls back at the end of each. */
const readReplies = (socket: Socket, onReply: (status: number, start: string) => void): void => {
  const startLength = 2_048
  let head: Buffer | undefined
  let left = 0
  let status = 0
  let start = ""
  socket.on("data", (chunk: Buffer) => {
    let at = 0
    if (left === 0) {
      const received = head === undefined ? chunk : Buffer.concat([head, chunk])
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) {
        head = received
        return
      }
      head = undefined
      chunk = received
      at = end + 4
      const text = received.toString("latin1", 0, at)
      const length = /\r\ncontent-length: *(\d+)/i.exec(text)
      if (length === null) throw new Error(`A reply without Content-Length: ${text}`)
      status = Number(text.slice(9, 12))
      left = Number(length[1])
      start = ""
    }
    if (start.length < startLength) start += chunk.toString("latin1", at, at + startLength)
    left -= chunk.length - at
    if (left < 0) throw new Error("A reply is longer than its Content-Length")
    if (left === 0) onReply(status, start)
  })
}

const run = (options: LoadOptions): Promise<LoadReport> =>
  new Promise((resolve, reject) => {
    const { connections, eventsPerRequest, measureMs, port, warmUpMs } = options
    const single = eventsPerRequest === 1
    const expected = single ? '"duplicate":false' : `"accepted":${eventsPerRequest},`
    const latencies = new Latencies()
    const prepared = single ? requestsPerConnection.single : requestsPerConnection.batch
    let measuring = false
    let ending = false
    let requests = 0
    let requestsInAll = 0
    let reply = ""
    let open = connections
    let startedAt = 0
    let endedAt = 0
    let idle = performance.eventLoopUtilization()
    let utilization = 0

    const closed = (): void => {
      if (--open > 0) return
      resolve({
        requests,
        events: requests * eventsPerRequest,
        durationMs: endedAt - startedAt,
        p50Ms: latencies.quantileMs(0.5),
        p99Ms: latencies.quantileMs(0.99),
        eventsInAll: requestsInAll * eventsPerRequest,
        utilization,
        reply,
      })
    }

    const converse = (): void => {
      const bodies = Array.from({ length: prepared }, () => new PreparedRequest(options))
      const socket = connect({ port, host: "127.0.0.1", noDelay: true })
      let next = 0
      let sentAt = 0
      const send = (): void => {
        const bytes = bodies[next]!.renew()
        next = (next + 1) % prepared
        sentAt = performance.now()
        socket.write(bytes)
      }
      readReplies(socket, (status, start) => {
        requestsInAll++
        if (measuring) {
          requests++
          latencies.add(performance.now() - sentAt)
        }
        if (status !== 200 || !start.includes(expected)) {
          reject(new Error(`Status ${status}: ${start}`))
          return
        }
        if (reply === "") reply = start
        if (ending) socket.end()
        else send()
      })
      socket.on("error", reject)
      socket.on("close", closed)
      send()
    }
    for (let connection = 0; connection < connections; connection++) converse()

    setTimeout(() => {
      measuring = true
      idle = performance.eventLoopUtilization()
      startedAt = performance.now()
      setTimeout(() => {
        measuring = false
        ending = true
        endedAt = performance.now()
        utilization = performance.eventLoopUtilization(idle).utilization
      }, measureMs)
    }, warmUpMs)
  })

await answer(run)
