/**
 * Load in an open loop: events are sent at a steady rate without waiting for replies, as from many
 * independent callers. Latency counts from the moment at which an event was due. An event without a
 * free connection is not sent, as behind a proxy with an exhausted pool.
 *
 * The report has the quantiles of the whole time, and medians of the quantiles of each second: if
 * the machine sometimes stalls for a second, the 99th percentile of the whole time is the stall.
 *
 * wrk has no open loop; hey and h2load measure from the moment of sending. The report has the
 * processor time of the load for each event.
 */
import { connect, type Socket } from "node:net"
import { answer, onEnd } from "../children.ts"
import { userChooser, userCount } from "../events.ts"
import { median } from "../statistics.ts"
import { type Address, Latencies, PreparedRequest, readReplies } from "../wire.ts"

export interface OpenLoadOptions extends Address {
  readonly perSecond: number
  /** Events are of that many users; `userCount` by default. */
  readonly users?: number
  readonly choice?: "uniform" | "zipf"
  /** How many requests can be under way. */
  readonly connections: number
  readonly warmUpSeconds: number
  /** At most: a message ends it sooner. */
  readonly measureSeconds: number
}

/** Of the measured time, except `acceptedInAll`. Times are milliseconds, medians of the seconds. */
export interface OpenLoadReport {
  /** How many seconds were measured. */
  readonly seconds: number
  readonly offered: number
  /** Offered when all connections were waiting for answers. */
  readonly unsent: number
  readonly accepted: number
  /** Answered with 503 `overloaded` and Retry-After. */
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly refusedP50Ms: number
  readonly refusedP99Ms: number
  readonly acceptedInAll: number
  /** Requests whose connection broke: whether they were applied is unknown. */
  readonly broken: number
  /** The longest time in which the load itself did not run. */
  readonly longestPauseMs: number
  /** The share of the time in which the load itself was busy, 0 to 1. */
  readonly utilization: number
  /** Of all accepted events of the measured time. */
  readonly whole: WholeTime
  /** The longest latency of each second. */
  readonly longestMs: ReadonlyArray<number>
  /** Processor time of the load for each event sent, in microseconds. */
  readonly loadUs: number
}

export interface WholeTime {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** Pairs of an upper bound and the number of events. */
  readonly histogram: ReadonlyArray<readonly [microseconds: number, count: number]>
}

interface Connection {
  readonly socket: Socket
  readonly request: PreparedRequest
  /** `undefined`: nothing is under way. */
  dueAt: number | undefined
}

/** Of requests that were due in one second. */
interface Second {
  readonly accepted: Latencies
  readonly refused: Latencies
}

const tickMs = 1

const run = (options: OpenLoadOptions): Promise<OpenLoadReport> =>
  new Promise((resolve, reject) => {
    const seconds = Array.from({ length: options.measureSeconds }, (): Second => {
      return { accepted: new Latencies(), refused: new Latencies() }
    })
    let durationMs = (options.warmUpSeconds + options.measureSeconds) * 1_000
    const idle: Array<Connection> = []
    let offered = 0
    let unsent = 0
    let acceptedInAll = 0
    let broken = 0
    let startedAt = 0
    let tickedAt = 0
    let longestPauseMs = 0
    let sent = 0
    let open = 0
    let loop = performance.eventLoopUtilization()
    let processor = process.cpuUsage()
    let utilization = 0
    let loadUs = 0
    let ending = false
    const whole = new Latencies()
    const chooseUser = userChooser(options.users ?? userCount, options.choice ?? "uniform")

    const secondOf = (dueAt: number): Second | undefined =>
      seconds[Math.floor((dueAt - startedAt) / 1_000) - options.warmUpSeconds]

    // Whole seconds are measured.
    onEnd(() => {
      const sinceMs = performance.now() - startedAt - options.warmUpSeconds * 1_000
      const wanted = Math.max(1, Math.ceil(sinceMs / 1_000))
      if (wanted >= seconds.length) return
      seconds.length = wanted
      durationMs = (options.warmUpSeconds + wanted) * 1_000
    })

    const rest = (connection: Connection): void => {
      connection.dueAt = undefined
      if (ending) connection.socket.end()
      else idle.push(connection)
    }

    const answered = (connection: Connection, status: number, text: string): void => {
      const dueAt = connection.dueAt!
      const tookMs = performance.now() - dueAt
      const second = secondOf(dueAt)
      if (status === 200) {
        acceptedInAll++
        if (second !== undefined) {
          second.accepted.add(tookMs)
          whole.add(tookMs)
        }
      } else if (status === 503 && text.includes("\r\nRetry-After: ")) {
        second?.refused.add(tookMs)
      } else if (status !== 408) {
        // 408 is the reply to a connection that was idle too long before its first request.
        reject(new Error(`Status ${status}: ${text}`))
        return
      }
      rest(connection)
    }

    const tick = (): void => {
      const now = performance.now()
      longestPauseMs = Math.max(longestPauseMs, now - tickedAt)
      tickedAt = now
      const due = ((now - startedAt) * options.perSecond) / 1_000
      while (sent < due) {
        const dueAt = startedAt + (sent++ * 1_000) / options.perSecond
        const measured = secondOf(dueAt) !== undefined
        if (measured) offered++
        // Connections take turns: the server closes idle connections.
        const connection = idle.shift()
        if (connection === undefined) {
          if (measured) unsent++
          continue
        }
        connection.dueAt = dueAt
        connection.socket.write(connection.request.renew())
      }
      if (now - startedAt < durationMs) {
        setTimeout(tick, tickMs)
        return
      }
      utilization = performance.eventLoopUtilization(loop).utilization
      const { system, user } = process.cpuUsage(processor)
      loadUs = (system + user) / sent
      ending = true
      for (const { socket } of idle) socket.end()
    }

    const begin = (): void => {
      startedAt = performance.now()
      tickedAt = startedAt
      loop = performance.eventLoopUtilization()
      processor = process.cpuUsage()
      tick()
    }

    const report = (): OpenLoadReport => {
      const of = (latencies: (second: Second) => Latencies, share: number): number =>
        median(seconds.map((second) => latencies(second).quantileMs(share)))
      const count = (latencies: (second: Second) => Latencies): number =>
        seconds.reduce((sum, second) => sum + latencies(second).total, 0)
      const accepted = (second: Second) => second.accepted
      const refused = (second: Second) => second.refused
      return {
        seconds: seconds.length,
        offered,
        unsent,
        accepted: count(accepted),
        refused: count(refused),
        p50Ms: of(accepted, 0.5),
        p99Ms: of(accepted, 0.99),
        refusedP50Ms: of(refused, 0.5),
        refusedP99Ms: of(refused, 0.99),
        acceptedInAll,
        broken,
        longestPauseMs,
        utilization,
        whole: {
          p50Ms: whole.quantileMs(0.5),
          p99Ms: whole.quantileMs(0.99),
          p999Ms: whole.quantileMs(0.999),
          maxMs: whole.maxMs,
          histogram: whole.histogram(),
        },
        longestMs: seconds.map((second) => accepted(second).maxMs),
        loadUs,
      }
    }

    const converse = (): void => {
      const { host = "127.0.0.1", port } = options
      const socket = connect({ port, host, noDelay: true })
      const request = new PreparedRequest(options, chooseUser)
      const connection: Connection = { socket, request, dueAt: undefined }
      readReplies(socket, (status, start, head) => answered(connection, status, head + start))
      socket.on("error", () => {})
      socket.once("connect", () => {
        open++
        if (startedAt !== 0) rest(connection)
        else if (idle.push(connection) === options.connections) begin()
      })
      socket.on("close", () => {
        if (connection.dueAt !== undefined) broken++
        const place = idle.indexOf(connection)
        if (place >= 0) idle.splice(place, 1)
        open--
        if (!ending) converse()
        else if (open === 0) resolve(report())
      })
    }
    for (let count = 0; count < options.connections; count++) converse()
  })

await answer(run)
