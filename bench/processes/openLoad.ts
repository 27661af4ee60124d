/**
 * Load in an open loop: events are sent at a steady rate without waiting for replies, as from many
 * independent callers. Latency counts from the moment at which an event was due, so a late tick of
 * the load counts as well. An event without a free connection is not sent, as behind a proxy with
 * an exhausted pool: it has no latency, so quantiles are of the others.
 *
 * wrk has no open loop; hey and h2load measure from the moment of sending.
 */
import { connect, type Socket } from "node:net"
import { answer, onEnd } from "../children.ts"
import { userChooser, userCount } from "../events.ts"
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

/** Of the measured time, except `acceptedInAll`. */
export interface OpenLoadReport {
  /** How many seconds were measured. */
  readonly seconds: number
  readonly offered: number
  /** Offered when all connections were waiting for answers. */
  readonly unsent: number
  readonly accepted: number
  /** Answered with 503 `overloaded` and Retry-After. */
  readonly refused: number
  readonly acceptedInAll: number
  /** Requests whose connection broke: whether they were applied is unknown. */
  readonly broken: number
  /** The longest time in which the load itself did not run. */
  readonly longestPauseMs: number
  /** The share of the time in which the load itself was busy, 0 to 1. */
  readonly utilization: number
  /** Latencies of the accepted events. */
  readonly whole: Quantiles
  /** Times until an event was refused. */
  readonly refusals: Quantiles
  /** The longest latency of each second. */
  readonly longestMs: ReadonlyArray<number>
  /** Processor time of the load for each event sent, in microseconds. */
  readonly loadUs: number
}

/** 0 where there are none. */
export interface Quantiles {
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

const quantilesOf = (latencies: Latencies): Quantiles => ({
  p50Ms: latencies.quantileMs(0.5),
  p99Ms: latencies.quantileMs(0.99),
  p999Ms: latencies.quantileMs(0.999),
  maxMs: latencies.maxMs,
  histogram: latencies.histogram(),
})

const tickMs = 1

const run = (options: OpenLoadOptions): Promise<OpenLoadReport> =>
  new Promise((resolve, reject) => {
    /** The longest latency of the events that were due in each second. */
    const longestMs: Array<number> = new Array(options.measureSeconds).fill(0)
    let durationMs = (options.warmUpSeconds + options.measureSeconds) * 1_000
    const idle: Array<Connection> = []
    let offered = 0
    let unsent = 0
    let acceptedInAll = 0
    let broken = 0
    let startedAt = 0
    let tickedAt = 0
    let longestPauseMs = 0
    /** Events that have been due so far, and those of them that were sent. */
    let passed = 0
    let sent = 0
    let open = 0
    let loop = performance.eventLoopUtilization()
    let processor = process.cpuUsage()
    let utilization = 0
    let loadUs = 0
    let ending = false
    const accepted = new Latencies()
    const refused = new Latencies()
    const chooseUser = userChooser(options.users ?? userCount, options.choice ?? "uniform")

    const secondOf = (dueAt: number): number =>
      Math.floor((dueAt - startedAt) / 1_000) - options.warmUpSeconds
    const isMeasured = (second: number): boolean => second >= 0 && second < longestMs.length

    // Whole seconds are measured.
    onEnd(() => {
      const sinceMs = performance.now() - startedAt - options.warmUpSeconds * 1_000
      const wanted = Math.max(1, Math.ceil(sinceMs / 1_000))
      if (wanted >= longestMs.length) return
      longestMs.length = wanted
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
        if (isMeasured(second)) {
          accepted.add(tookMs)
          longestMs[second] = Math.max(longestMs[second]!, tookMs)
        }
      } else if (status === 503 && text.includes("\r\nRetry-After: ")) {
        if (isMeasured(second)) refused.add(tookMs)
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
      while (passed < due) {
        const dueAt = startedAt + (passed++ * 1_000) / options.perSecond
        const measured = isMeasured(secondOf(dueAt))
        if (measured) offered++
        // Connections take turns: the server closes idle connections.
        const connection = idle.shift()
        if (connection === undefined) {
          if (measured) unsent++
          continue
        }
        sent++
        connection.dueAt = dueAt
        connection.socket.write(connection.request.renew())
      }
      if (now - startedAt < durationMs) {
        setTimeout(tick, tickMs)
        return
      }
      utilization = performance.eventLoopUtilization(loop).utilization
      const { system, user } = process.cpuUsage(processor)
      loadUs = (system + user) / Math.max(1, sent)
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

    const report = (): OpenLoadReport => ({
      seconds: longestMs.length,
      offered,
      unsent,
      accepted: accepted.total,
      refused: refused.total,
      acceptedInAll,
      broken,
      longestPauseMs,
      utilization,
      whole: quantilesOf(accepted),
      refusals: quantilesOf(refused),
      longestMs,
      loadUs,
    })

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
