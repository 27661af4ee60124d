/**
 * The load: connections that each send one request, wait for its reply and send the next (a closed loop).
 *
 * It must cost less than what it measures, so it speaks HTTP/1.1 over bare sockets: requests are made
 * beforehand and only their events' ids are written anew; of a reply the status line, Content-Length and the
 * start of the body are looked at. Its own utilisation is reported, since near 1 it would be the limit.
 */
import { connect } from "node:net"
import { answer } from "../children.ts"
import { Latencies, PreparedRequest, type RequestShape, readReplies } from "../wire.ts"

export interface LoadOptions extends RequestShape {
  readonly connections: number
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
